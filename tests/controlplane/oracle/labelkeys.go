package main

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/apis/core"
)

// removeMergedLabelKeys takes the expressions that stand for matchLabelKeys and mismatchLabelKeys
// out of the selectors. A pod that a server printed has them already, and creation, which merges
// them, does not expect them.
func removeMergedLabelKeys(pod *core.Pod) {
	for i := range pod.Spec.TopologySpreadConstraints {
		constraint := &pod.Spec.TopologySpreadConstraints[i]
		removeExpressions(constraint.LabelSelector, constraint.MatchLabelKeys, metav1.LabelSelectorOpIn, pod.Labels)
	}
	if pod.Spec.Affinity == nil {
		return
	}
	if affinity := pod.Spec.Affinity.PodAffinity; affinity != nil {
		removeFromTerms(affinity.RequiredDuringSchedulingIgnoredDuringExecution,
			affinity.PreferredDuringSchedulingIgnoredDuringExecution, pod.Labels)
	}
	if affinity := pod.Spec.Affinity.PodAntiAffinity; affinity != nil {
		removeFromTerms(affinity.RequiredDuringSchedulingIgnoredDuringExecution,
			affinity.PreferredDuringSchedulingIgnoredDuringExecution, pod.Labels)
	}
}

func removeFromTerms(required []core.PodAffinityTerm, preferred []core.WeightedPodAffinityTerm, labels map[string]string) {
	remove := func(term *core.PodAffinityTerm) {
		removeExpressions(term.LabelSelector, term.MatchLabelKeys, metav1.LabelSelectorOpIn, labels)
		removeExpressions(term.LabelSelector, term.MismatchLabelKeys, metav1.LabelSelectorOpNotIn, labels)
	}
	for i := range required {
		remove(&required[i])
	}
	for i := range preferred {
		remove(&preferred[i].PodAffinityTerm)
	}
}

func removeExpressions(selector *metav1.LabelSelector, keys []string, operator metav1.LabelSelectorOperator, labels map[string]string) {
	if selector == nil {
		return
	}
	selector.MatchExpressions = slices.DeleteFunc(selector.MatchExpressions,
		func(expression metav1.LabelSelectorRequirement) bool {
			value, found := labels[expression.Key]
			return found && slices.Contains(keys, expression.Key) && expression.Operator == operator &&
				slices.Equal(expression.Values, []string{value})
		})
}
