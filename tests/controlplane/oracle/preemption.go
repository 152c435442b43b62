package main

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// watchPreemption lets the profile's preemption look at all candidates, break ties by name, and
// only note its victims.
func (p *profile) watchPreemption() {
	for _, extension := range p.EnqueueExtensions() {
		plugin, ok := extension.(*defaultpreemption.DefaultPreemption)
		if !ok {
			continue
		}
		plugin.Evaluator.Interface = orderedPreemption{plugin.Evaluator.Interface, p}
		plugin.MoreImportantVictim = p.isMoreImportant
		plugin.Executor.PreemptPod = func(_ context.Context, chosen preemption.Candidate, _ preemption.ExecutorPreemptor, victim *v1.Pod, _ string) (bool, error) {
			if len(p.current.victims) == 0 {
				p.current.notePreemption(chosen)
			}
			p.current.victims = append(p.current.victims, podName(victim))
			return false, nil
		}
	}
}

// isMoreImportant asks upstream, whose sort is not stable: of more than twelve pods, equal ones come
// in no particular order. Here they keep the one that they have on the node, as fewer do.
func (p *profile) isMoreImportant(one, other preemption.Victim) bool {
	if preemption.MoreImportantVictim(one, other) {
		return true
	}
	return !preemption.MoreImportantVictim(other, one) && p.placeOnNode(one) < p.placeOnNode(other)
}

func (p *profile) placeOnNode(victim preemption.Victim) int {
	pod := victim.Pods()[0].GetPod()
	node, err := p.SnapshotSharedLister().NodeInfos().Get(pod.Spec.NodeName)
	if err != nil {
		return 0
	}
	return slices.IndexFunc(node.GetPods(), func(other fwk.PodInfo) bool {
		return other.GetPod().UID == pod.UID
	})
}

// orderedPreemption is upstream's preemption without chance.
type orderedPreemption struct {
	preemption.Interface
	profile *profile
}

// GetOffsetAndNumCandidates looks at every node, from the first.
func (p orderedPreemption) GetOffsetAndNumCandidates(nodes int32) (int32, int32) {
	return 0, nodes
}

// OrderedScoreFuncs prefers the candidate that upstream prefers to all others, and of equal ones
// the one whose name comes first.
func (p orderedPreemption) OrderedScoreFuncs(ctx context.Context, victims map[string]*extenderv1.Victims) []func(string) int64 {
	p.profile.current.chosenBy = decidedBy(victims)
	names := make([]string, 0, len(victims))
	for name := range victims {
		names = append(names, name)
	}
	slices.Sort(names)
	best := names[0]
	for _, name := range names[1:] {
		if p.isBetter(ctx, candidate{name, victims[name]}, candidate{best, victims[best]}) {
			best = name
		}
	}
	return []func(string) int64{func(name string) int64 {
		if name == best {
			return 1
		}
		return 0
	}}
}

// isBetter asks upstream to choose between two. It would take one of two equal candidates at random,
// so the other one gets an advantage that is smaller than any difference there can be: its victims
// started a nanosecond later, which is the last thing looked at, and times are in seconds.
func (p orderedPreemption) isBetter(ctx context.Context, one, other candidate) bool {
	evaluator := preemption.Evaluator{Interface: p.Interface}
	chosen := evaluator.SelectCandidate(ctx, []preemption.Candidate{one, other.aLittleLater()})
	return chosen.Name() == one.name
}

// A candidate is a node with the pods that would have to go.
type candidate struct {
	name    string
	victims *extenderv1.Victims
}

func (c candidate) Name() string                 { return c.name }
func (c candidate) Victims() *extenderv1.Victims { return c.victims }
func (c candidate) NumPodGroupDisruptions() int  { return 0 }

func (c candidate) aLittleLater() candidate {
	later := &extenderv1.Victims{NumPDBViolations: c.victims.NumPDBViolations}
	for _, victim := range c.victims.Pods {
		copied := *victim
		if start := victim.Status.StartTime; start != nil {
			copied.Status.StartTime = &metav1.Time{Time: start.Add(time.Nanosecond)}
		}
		later.Pods = append(later.Pods, &copied)
	}
	return candidate{c.name, later}
}
