package main

import (
	"maps"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// victims of the given priorities, all started at a second, of which some violate a budget.
func victims(violations int64, second int, priorities ...int32) *extenderv1.Victims {
	result := &extenderv1.Victims{NumPDBViolations: violations}
	start := metav1.NewTime(firstCreation.Add(time.Duration(second) * time.Second))
	for _, priority := range priorities {
		result.Pods = append(result.Pods, &v1.Pod{
			Spec:   v1.PodSpec{Priority: &priority},
			Status: v1.PodStatus{StartTime: &start},
		})
	}
	return result
}

func TestTheFirstCriterionThatLeavesOneCandidateDecides(t *testing.T) {
	lowest := int32(-1 << 31)
	for expected, others := range map[string][2]*extenderv1.Victims{
		"decided by budgets":               {victims(1, 0, 5), victims(0, 0, 9, 9)},
		"decided by the highest priority":  {victims(0, 0, 9), victims(0, 0, 5, 5)},
		"decided by the sum of priorities": {victims(0, 0, 5, 4), victims(0, 0, 5, 3)},
		"decided by the number of victims": {victims(0, 0, 5, lowest), victims(0, 0, 5)},
		"decided by the start":             {victims(0, 1, 5), victims(0, 2, 5)},
		"decided by name":                  {victims(0, 1, 5), victims(0, 1, 5)},
	} {
		if got := decidedBy(map[string]*extenderv1.Victims{"a": others[0], "b": others[1]}); got != expected {
			t.Errorf("%s instead of %s", got, expected)
		}
	}
}

func TestAnAnswerTellsWhatPreemptionsWereAbout(t *testing.T) {
	request := request{Cluster: threePods(`
---
{apiVersion: v1, kind: Pod, metadata: {name: small}, spec: {nodeName: n1, priority: -1, containers: [{name: c}]},
 status: {startTime: "2024-01-01T00:00:00Z"}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {priority: 100, containers: [{name: c, resources: {requests: {cpu: 2}}}]}}`)}
	answer, err := request.answer()
	if err != nil {
		t.Fatal(err)
	}
	// The small pod on n1 may stay.
	expected := map[string]int{"decided by name": 1, sparesPods: 1}
	if !maps.Equal(answer.Preemptions, expected) {
		t.Errorf("%v instead of %v", answer.Preemptions, expected)
	}
}
