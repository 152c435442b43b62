package main

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

func readPods(t *testing.T, text string) map[string]pod {
	t.Helper()
	cluster, err := readCluster([]source{{"c.yaml", []byte(text)}}, false)
	if err != nil {
		t.Fatal(err)
	}
	pods := map[string]pod{}
	for _, pod := range cluster.pods {
		pods[pod.Name] = pod
	}
	return pods
}

func TestIdentityAndTimesAreGivenByThePlaceInTheFiles(t *testing.T) {
	pods := readPods(t, `
{apiVersion: bayplan.dev/v1alpha1, kind: SchedulerProfile, metadata: {name: default}}
---
{apiVersion: v1, kind: Pod, metadata: {name: bound}, spec: {nodeName: n1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: given, namespace: x, uid: u, creationTimestamp: "2020-01-01T00:00:00Z"}}
`)
	bound, given := pods["bound"], pods["given"]
	created := time.Date(2024, time.January, 1, 0, 0, 1, 0, time.UTC)
	if bound.UID != "default/bound" || !bound.CreationTimestamp.Equal(bound.Status.StartTime) ||
		!bound.CreationTimestamp.UTC().Equal(created) || bound.Status.Phase != v1.PodRunning {
		t.Errorf("the bound pod is %+v", bound.Pod)
	}
	if given.UID != "u" || given.CreationTimestamp.UTC().Year() != 2020 || given.Status.Phase != v1.PodPending {
		t.Errorf("the pod with an identity is %+v", given.Pod)
	}
}

func TestPrioritiesComeFromClassesUnlessThePodSaysItsOwn(t *testing.T) {
	pods := readPods(t, `
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: default}, value: 5, globalDefault: true, preemptionPolicy: Never}
---
{apiVersion: v1, kind: Pod, metadata: {name: plain}}
---
{apiVersion: v1, kind: Pod, metadata: {name: system}, spec: {priorityClassName: system-node-critical}}
---
{apiVersion: v1, kind: Pod, metadata: {name: own}, spec: {priority: 7, preemptionPolicy: PreemptLowerPriority}}
---
{apiVersion: v1, kind: Pod, metadata: {name: printed}, spec: {priority: 9, priorityClassName: gone}}
`)
	cases := map[string]struct {
		priority int32
		policy   v1.PreemptionPolicy
	}{
		"plain":   {5, v1.PreemptNever},
		"system":  {2000001000, v1.PreemptLowerPriority},
		"own":     {7, v1.PreemptLowerPriority},
		"printed": {9, v1.PreemptLowerPriority},
	}
	for name, want := range cases {
		spec := pods[name].Spec
		if *spec.Priority != want.priority || *spec.PreemptionPolicy != want.policy {
			t.Errorf("%s: got %d %s, want %v", name, *spec.Priority, *spec.PreemptionPolicy, want)
		}
	}
}

func TestLabelKeysAreMergedOnce(t *testing.T) {
	pods := readPods(t, `
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: web, hash: x}}
spec:
  topologySpreadConstraints:
  - {topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [hash],
     labelSelector: {matchExpressions: [{key: hash, operator: In, values: [x]}]}}
  - {topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [hash, absent], labelSelector: {}}
  - {topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [hash]}
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 1, podAffinityTerm: {topologyKey: zone, mismatchLabelKeys: [hash],
         labelSelector: {matchExpressions: [{key: hash, operator: NotIn, values: [x]}]}}}
`)
	spec := pods["p"].Spec
	for i, want := range []int{1, 1} {
		if got := len(spec.TopologySpreadConstraints[i].LabelSelector.MatchExpressions); got != want {
			t.Errorf("constraint %d has %d expressions", i, got)
		}
	}
	if selector := spec.TopologySpreadConstraints[2].LabelSelector; selector != nil {
		t.Errorf("a constraint without a selector got %v", selector)
	}
	term := spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm
	if got := term.LabelSelector.MatchExpressions; len(got) != 1 || got[0].Operator != "NotIn" {
		t.Errorf("the term has %v", got)
	}
}
