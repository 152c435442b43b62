package main

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// A cluster is what the API server would serve, completed, in the order of the files.
type cluster struct {
	// Everything but pods and nodes.
	others []runtime.Object
	nodes  []*v1.Node
	pods   []pod
	// The latest time in the files.
	latest time.Time
}

// A pod is a pod with what the API server said on its creation.
type pod struct {
	*v1.Pod
	// The text of the condition that a pod with scheduling gates is created with.
	gated string
}

// readCluster reads, completes and decodes all objects.
func readCluster(sources []source, validate bool) (*cluster, error) {
	objects, err := readObjects(sources)
	if err != nil {
		return nil, err
	}
	if err := checkNames(objects); err != nil {
		return nil, err
	}
	cluster := &cluster{}
	var classes []*schedulingv1.PriorityClass
	for ordinal, object := range objects {
		if object.kind.name == "Pod" || object.kind.name == "SchedulerProfile" {
			continue
		}
		decoded, err := decodeDefaulted(object, ordinal)
		if err != nil {
			return nil, err
		}
		switch decoded := decoded.(type) {
		case *v1.Node:
			cluster.nodes = append(cluster.nodes, decoded)
		case *schedulingv1.PriorityClass:
			classes = append(classes, decoded)
		default:
			cluster.others = append(cluster.others, decoded)
		}
		cluster.noteTime(creationTime(decoded))
	}
	creation, err := newPodCreation(classes, validate)
	if err != nil {
		return nil, err
	}
	for ordinal, object := range objects {
		if object.kind.name != "Pod" {
			continue
		}
		created, err := creation.create(object, ordinal)
		if err != nil {
			return nil, err
		}
		cluster.pods = append(cluster.pods, created)
		cluster.noteTime(&created.CreationTimestamp)
		cluster.noteTime(created.Status.StartTime)
	}
	cluster.addMissingNamespaces()
	return cluster, nil
}

func creationTime(decoded runtime.Object) *metav1.Time {
	accessor, err := meta.Accessor(decoded)
	if err != nil {
		return nil
	}
	created := accessor.GetCreationTimestamp()
	return &created
}

func (c *cluster) noteTime(time *metav1.Time) {
	if time != nil && time.After(c.latest) {
		c.latest = time.Time
	}
}

// addMissingNamespaces adds those that pods are in and that the files do not hold.
func (c *cluster) addMissingNamespaces() {
	known := sets.New[string]()
	for _, other := range c.others {
		if namespace, ok := other.(*v1.Namespace); ok {
			known.Insert(namespace.Name)
		}
	}
	for _, pod := range c.pods {
		if known.Has(pod.Namespace) {
			continue
		}
		known.Insert(pod.Namespace)
		namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: pod.Namespace}}
		legacyscheme.Scheme.Default(namespace)
		c.others = append(c.others, namespace)
	}
}

// pending are the pods that wait for a node, in queue order, and are not decided by somebody else.
func (c *cluster) pending() []pod {
	var pending []pod
	for _, pod := range c.pods {
		if pod.Spec.NodeName == "" && !isTerminal(pod.Pod) {
			pending = append(pending, pod)
		}
	}
	slices.SortStableFunc(pending, func(a, b pod) int {
		if *a.Spec.Priority != *b.Spec.Priority {
			// The scheduler takes the highest priority first.
			if *a.Spec.Priority > *b.Spec.Priority {
				return -1
			}
			return 1
		}
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return pending
}

// isTerminal tells whether a pod has ended. The scheduler's informer does not see such a pod.
func isTerminal(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}
