package main

import (
	"cmp"
	"context"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// What a preemption can be about. These words decide nothing: a run of random clusters counts them,
// to see that it has met every kind.
const (
	oneCandidate    = "one candidate"
	violatesBudgets = "a budget is violated"
	sparesPods      = "lower pods are spared"
)

// criteria are the reasons for which upstream prefers a candidate, in its order.
var criteria = []struct {
	name string
	cost func(*extenderv1.Victims) int64
}{
	{"decided by budgets", func(v *extenderv1.Victims) int64 { return v.NumPDBViolations }},
	{"decided by the highest priority", func(v *extenderv1.Victims) int64 {
		return int64(corev1helpers.PodPriority(v.Pods[0]))
	}},
	{"decided by the sum of priorities", func(v *extenderv1.Victims) int64 {
		var sum int64
		for _, pod := range v.Pods {
			sum += int64(corev1helpers.PodPriority(pod)) - math.MinInt32
		}
		return sum
	}},
	{"decided by the number of victims", func(v *extenderv1.Victims) int64 { return int64(len(v.Pods)) }},
	{"decided by the start", func(v *extenderv1.Victims) int64 {
		return -util.GetEarliestPodStartTime(v).UnixNano()
	}},
}

// decidedBy is the first criterion by which one candidate is better than all others.
func decidedBy(candidates map[string]*extenderv1.Victims) string {
	var left []*extenderv1.Victims
	for _, victims := range candidates {
		left = append(left, victims)
	}
	for _, criterion := range criteria {
		lowest := slices.MinFunc(left, func(a, b *extenderv1.Victims) int {
			return cmp.Compare(criterion.cost(a), criterion.cost(b))
		})
		left = slices.DeleteFunc(left, func(victims *extenderv1.Victims) bool {
			return criterion.cost(victims) > criterion.cost(lowest)
		})
		if len(left) == 1 {
			return criterion.name
		}
	}
	return "decided by name"
}

// SelectVictimsOnNode asks upstream, and notes on which nodes pods of a lower priority may stay.
func (p orderedPreemption) SelectVictimsOnNode(ctx context.Context, state fwk.CycleState, preemptor *v1.Pod, node fwk.NodeInfo, possible []*preemption.DomainVictim, budgets []*policyv1.PodDisruptionBudget) ([]*v1.Pod, int, *fwk.Status) {
	lower := 0
	for _, victim := range possible {
		if victim.Priority() < corev1helpers.PodPriority(preemptor) {
			lower++
		}
	}
	victims, violations, status := p.Interface.SelectVictimsOnNode(ctx, state, preemptor, node, possible, budgets)
	if status.IsSuccess() && len(victims) < lower {
		p.profile.current.sparing.Insert(node.Node().Name)
	}
	return victims, violations, status
}

// notePreemption notes what the choice of a candidate was about.
func (a *attempt) notePreemption(chosen preemption.Candidate) {
	if a.chosenBy == "" {
		a.chosenBy = oneCandidate
	}
	a.exercised = []string{a.chosenBy}
	if chosen.Victims().NumPDBViolations > 0 {
		a.exercised = append(a.exercised, violatesBudgets)
	}
	if a.sparing.Has(chosen.Name()) {
		a.exercised = append(a.exercised, sparesPods)
	}
}
