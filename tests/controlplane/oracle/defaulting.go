package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	schedulinglisters "k8s.io/client-go/listers/scheduling/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	schedulingdefaults "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	priorityadmission "k8s.io/kubernetes/plugin/pkg/admission/priority"

	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

// When the first object of the files is created, if it does not say.
var firstCreation = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)

// A head is the metadata that is looked at before an object is decoded.
type head struct {
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
}

// checkNames sees to it that every object has a name and that no two of a kind have the same.
func checkNames(objects []object) error {
	seen := map[string]place{}
	for _, object := range objects {
		var head head
		if err := json.Unmarshal(object.json, &head); err != nil {
			return object.place.errorf("the metadata of the %s cannot be read: %w", object.kind.name, err)
		}
		name := head.Metadata.Name
		if name == "" {
			return object.place.errorf("the %s has no metadata.name", object.kind.name)
		}
		if object.kind.isNamespaced {
			namespace := head.Metadata.Namespace
			if namespace == "" {
				namespace = metav1.NamespaceDefault
			}
			name = namespace + "/" + name
		}
		key := object.kind.name + " " + name
		if earlier, found := seen[key]; found {
			return object.place.errorf("the %s %q was given before (%s)", object.kind.name, name, earlier)
		}
		seen[key] = object.place
	}
	return nil
}

// decodeDefaulted decodes an object as the API server would: defaults applied, in the version that
// the scheduler reads.
func decodeDefaulted(object object, ordinal int) (runtime.Object, error) {
	decoder := legacyscheme.Codecs.UniversalDecoder(object.kind.version)
	decoded, _, err := decoder.Decode(object.json, nil, nil)
	if err != nil {
		return nil, object.place.errorf("the %s cannot be read: %w", object.kind.name, err)
	}
	completeMetadata(decoded.(metav1.Object), object.kind, ordinal)
	return decoded, nil
}

// completeMetadata sets what the API server would have set on creation.
func completeMetadata(object metav1.Object, kind *kind, ordinal int) {
	uid := object.GetName()
	if kind.isNamespaced {
		if object.GetNamespace() == "" {
			object.SetNamespace(metav1.NamespaceDefault)
		}
		uid = object.GetNamespace() + "/" + uid
	}
	if object.GetUID() == "" {
		object.SetUID(types.UID(uid))
	}
	created := object.GetCreationTimestamp()
	if created.IsZero() {
		object.SetCreationTimestamp(metav1.NewTime(firstCreation.Add(time.Duration(ordinal) * time.Second)))
	}
	// The assume caches compare versions.
	if object.GetResourceVersion() == "" {
		object.SetResourceVersion(strconv.Itoa(ordinal + 1))
	}
}

// A podCreation does to pods what the API server does on their creation.
type podCreation struct {
	classes    schedulinglisters.PriorityClassLister
	priorities *priorityadmission.Plugin
	validate   bool
}

// newPodCreation knows the priority classes of the files and the two that every cluster has.
func newPodCreation(classes []*schedulingv1.PriorityClass, validate bool) (*podCreation, error) {
	factory := informers.NewSharedInformerFactory(nil, 0)
	served := serveStatically(factory, &schedulingv1.PriorityClass{})
	for _, class := range append(schedulingdefaults.SystemPriorityClasses(), classes...) {
		legacyscheme.Scheme.Default(class)
		if err := served.set(class); err != nil {
			return nil, err
		}
	}
	priorities := priorityadmission.NewPlugin()
	priorities.SetExternalKubeInformerFactory(factory)
	lister := factory.Scheduling().V1().PriorityClasses().Lister()
	return &podCreation{lister, priorities, validate}, nil
}

// create decodes a pod and completes it. Its status is kept.
func (c *podCreation) create(object object, ordinal int) (pod, error) {
	decoded, _, err := legacyscheme.Codecs.UniversalDecoder().Decode(object.json, nil, nil)
	if err != nil {
		return pod{}, object.place.errorf("the Pod cannot be read: %w", err)
	}
	internal := decoded.(*core.Pod)
	completeMetadata(internal, object.kind, ordinal)
	if err := c.resolvePriority(internal); err != nil {
		return pod{}, object.place.errorf("%w", err)
	}
	status := internal.Status
	removeMergedLabelKeys(internal)
	if c.validate {
		if err := validateAsCreated(internal); err != nil {
			return pod{}, object.place.errorf("the API server would refuse the Pod: %w", err)
		}
	}
	podregistry.Strategy.PrepareForCreate(context.Background(), internal)
	created := internal.Status
	internal.Status = status
	versioned := &v1.Pod{}
	if err := legacyscheme.Scheme.Convert(internal, versioned, nil); err != nil {
		return pod{}, object.place.errorf("the Pod cannot be converted: %w", err)
	}
	completeStatus(versioned)
	result := pod{Pod: versioned}
	for _, condition := range created.Conditions {
		if condition.Type == core.PodScheduled {
			result.gated = condition.Message
		}
	}
	return result, nil
}

// validateAsCreated asks the API server's validation about the pod as a user sends it.
func validateAsCreated(given *core.Pod) error {
	sent := given.DeepCopy()
	sent.ResourceVersion = ""
	podregistry.Strategy.PrepareForCreate(context.Background(), sent)
	return podregistry.Strategy.Validate(context.Background(), sent).ToAggregate()
}

// resolvePriority lets the admission plugin work out priority and preemption policy. What the pod
// says itself counts: a pod that a server printed brings what its class said.
func (c *podCreation) resolvePriority(pod *core.Pod) error {
	priority, policy := pod.Spec.Priority, pod.Spec.PreemptionPolicy
	defer func() {
		if priority != nil {
			pod.Spec.Priority = priority
		}
		if policy != nil {
			pod.Spec.PreemptionPolicy = policy
		}
	}()
	if name := pod.Spec.PriorityClassName; name != "" {
		if _, err := c.classes.Get(name); err != nil && priority != nil {
			lower := core.PreemptLowerPriority
			pod.Spec.PreemptionPolicy = &lower
			return nil
		} else if err != nil {
			return fmt.Errorf("no PriorityClass %q for the pod \"%s/%s\"; add the class to the files, or "+
				"spec.priority to the pod", name, pod.Namespace, pod.Name)
		}
	}
	pod.Spec.Priority, pod.Spec.PreemptionPolicy = nil, nil
	attributes := admission.NewAttributesRecord(pod, nil, core.Kind("Pod").WithVersion(""), pod.Namespace, pod.Name,
		core.Resource("pods").WithVersion(""), "", admission.Create, &metav1.CreateOptions{}, false, nil)
	return c.priorities.Admit(context.Background(), attributes, nil)
}

// completeStatus lets a bound pod run since it was created, unless it says otherwise.
func completeStatus(pod *v1.Pod) {
	if pod.Spec.NodeName == "" {
		if pod.Status.Phase == "" {
			pod.Status.Phase = v1.PodPending
		}
		return
	}
	if pod.Status.Phase == "" {
		pod.Status.Phase = v1.PodRunning
	}
	if pod.Status.StartTime == nil {
		created := pod.CreationTimestamp
		pod.Status.StartTime = &created
	}
}
