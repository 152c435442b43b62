package main

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
)

// client takes the scheduler's writes. Only the clearing of nominations is of interest.
func (s *simulation) client() *fake.Clientset {
	client := &fake.Clientset{}
	client.AddReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchAction)
		s.cleared = append(s.cleared, patch.GetNamespace()+"/"+patch.GetName())
		return true, &v1.Pod{}, nil
	})
	client.AddReactor("update", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, action.(clienttesting.UpdateAction).GetObject(), nil
	})
	return client
}

// noEvents takes the scheduler's events.
type noEvents struct{}

func (noEvents) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

func (n noEvents) WithLogger(klog.Logger) events.EventRecorderLogger { return n }
