package main

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// A simulation is upstream's scheduler with a cluster, driven one attempt at a time.
type simulation struct {
	scheduler *scheduler.Scheduler
	profiles  map[string]*profile
	informers informerSet
	nodes     []*v1.Node
	stateless bool
	// When the next pod starts.
	nextStart time.Time
	// Pods whose nomination the attempt wants cleared, as namespace/name.
	cleared []string
	// The pod of the attempt.
	next *v1.Pod
	logs klog.Logger
	// How often a kind of preemption occurred.
	preemptions map[string]int
}

// decide decides every pending pod of a cluster once, in queue order.
func decide(cluster *cluster, configuration *configuration, stateless bool) (*answer, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer func() {
		cancel()
		// The scheduler listens for a debugging signal and never stops listening.
		signal.Reset(syscall.SIGUSR2)
	}()
	mine, err := assign(cluster, configuration)
	if err != nil {
		return nil, err
	}
	simulation, err := newSimulation(ctx, cluster, configuration, stateless)
	if err != nil {
		return nil, err
	}
	answer := &answer{Records: []record{}}
	for _, pod := range mine {
		record, decided, err := simulation.decide(ctx, pod)
		if err != nil {
			return nil, fmt.Errorf("pod %q: %w", podName(pod.Pod), err)
		}
		if decided {
			answer.Records = append(answer.Records, record)
		}
	}
	answer.Preemptions = simulation.preemptions
	return answer, nil
}

// assign gives the pending pods to the profiles that decide for them. Those of others are left.
func assign(cluster *cluster, configuration *configuration) ([]pod, error) {
	var mine, others []pod
	for _, pod := range cluster.pending() {
		if name, ok := configuration.answersFor(pod.Spec.SchedulerName); ok {
			pod.Spec.SchedulerName = name
			mine = append(mine, pod)
		} else {
			others = append(others, pod)
		}
	}
	if len(mine) == 0 && len(others) > 0 {
		return nil, fmt.Errorf("no pending pod names a profile of the configuration: pod %q has the schedulerName %q; "+
			"correct it, or choose a profile for all pods with --profile NAME",
			podName(others[0].Pod), others[0].Spec.SchedulerName)
	}
	return mine, nil
}

func newSimulation(ctx context.Context, cluster *cluster, configuration *configuration, stateless bool) (*simulation, error) {
	simulation := &simulation{
		profiles:    map[string]*profile{},
		preemptions: map[string]int{},
		nodes:       cluster.nodes,
		stateless:   stateless,
		nextStart:   cluster.latest.Add(time.Second),
		logs:        klog.FromContext(ctx),
	}
	client := simulation.client()
	factory := informers.NewSharedInformerFactory(client, 0)
	simulation.informers = serveAll(factory,
		&v1.Node{}, &v1.Pod{}, &v1.Namespace{}, &v1.Service{}, &v1.ReplicationController{}, &appsv1.ReplicaSet{},
		&appsv1.StatefulSet{}, &v1.PersistentVolume{}, &v1.PersistentVolumeClaim{}, &storagev1.StorageClass{},
		&storagev1.CSINode{}, &storagev1.CSIDriver{}, &storagev1.CSIStorageCapacity{}, &storagev1.VolumeAttachment{},
		&policyv1.PodDisruptionBudget{}, &resourcev1.ResourceClaim{}, &resourcev1.ResourceSlice{},
		&resourcev1.DeviceClass{}, &resourcev1.DeviceTaintRule{})
	upstream, err := scheduler.New(ctx, client, factory, nil, func(string) events.EventRecorderLogger { return noEvents{} },
		scheduler.WithComponentConfigVersion(configuration.APIVersion),
		scheduler.WithProfiles(configuration.Profiles...),
		scheduler.WithPercentageOfNodesToScore(configuration.PercentageOfNodesToScore),
		// The first of several errors is then always the same.
		scheduler.WithParallelism(1))
	if err != nil {
		return nil, fmt.Errorf("the scheduler cannot be made: %w", err)
	}
	simulation.watch(upstream)
	return simulation, simulation.load(cluster)
}

// watch takes the scheduler's steps into our hands.
func (s *simulation) watch(upstream *scheduler.Scheduler) {
	s.scheduler = upstream
	for name, framework := range upstream.Profiles {
		profile := newProfile(framework, s.stateless)
		profile.watchPreemption()
		s.profiles[name] = profile
		upstream.Profiles[name] = profile
	}
	upstream.NextEntity = s.nextEntity
	upstream.FailureHandler = s.handleFailure
	schedulePod := upstream.SchedulePod
	upstream.SchedulePod = func(ctx context.Context, framework framework.Framework, state fwk.CycleState, pod *framework.QueuedPodInfo) (scheduler.ScheduleResult, error) {
		result, err := schedulePod(ctx, framework, state, pod)
		attempt := s.profiles[framework.ProfileName()].current
		attempt.node, attempt.unfit = result.SuggestedHost, err
		return result, err
	}
}

// load fills the informers: pods last, so that they find everything they refer to.
func (s *simulation) load(cluster *cluster) error {
	for _, object := range cluster.others {
		if err := s.informers.set(object); err != nil {
			return err
		}
	}
	for _, node := range cluster.nodes {
		if err := s.informers.set(node); err != nil {
			return err
		}
	}
	for _, pod := range cluster.pods {
		// A real informer asks for no others.
		if !isTerminal(pod.Pod) {
			if err := s.informers.set(pod.Pod); err != nil {
				return err
			}
		}
	}
	return nil
}

// decide decides one pod. One that is being deleted gets no attempt.
func (s *simulation) decide(ctx context.Context, pending pod) (record, bool, error) {
	pod, found := s.informers.pod(podName(pending.Pod))
	if !found {
		return record{}, false, fmt.Errorf("the informer has lost it")
	}
	profile := s.profiles[pod.Spec.SchedulerName]
	if message, gated := gate(ctx, profile, pod, pending.gated); gated {
		return gatedRecord(pod, message), true, nil
	}
	if pod.DeletionTimestamp != nil {
		return record{}, false, nil
	}
	attempt := profile.begin(pod)
	s.next, s.cleared = pod, nil
	s.scheduler.ScheduleOne(ctx)
	<-profile.ended
	for _, kind := range attempt.exercised {
		s.preemptions[kind]++
	}
	return attempt.record(s.nodes), true, s.conclude(attempt)
}

// gate asks the PreEnqueue plugins whether the pod may be queued.
func gate(ctx context.Context, profile *profile, pod *v1.Pod, created string) (string, bool) {
	for _, plugin := range profile.PreEnqueuePlugins() {
		status := plugin.PreEnqueue(ctx, pod)
		if status.IsSuccess() {
			continue
		}
		if len(pod.Spec.SchedulingGates) > 0 {
			return created, true
		}
		return status.Message(), true
	}
	return "", false
}

// nextEntity hands the scheduler the pod of the attempt. The pod stays in the queue as well: a pod
// that is nominated and not there would lose its spec.
func (s *simulation) nextEntity(klog.Logger) (framework.QueuedEntityInfo, error) {
	// Upstream's queue ignores the error too: a bad term matches nothing.
	info, _ := framework.NewPodInfo(s.next)
	now := time.Now()
	parameters := framework.QueueingParams{
		Timestamp:               now,
		InitialAttemptTimestamp: &now,
		Attempts:                1,
		UnschedulablePlugins:    sets.New[string](),
	}
	return &framework.QueuedPodInfo{PodInfo: info, QueueingParams: parameters}, nil
}

// handleFailure notes how the attempt failed and keeps the nomination, as upstream does.
func (s *simulation) handleFailure(ctx context.Context, framework framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status, nominating *fwk.NominatingInfo, _ time.Time) {
	profile := s.profiles[framework.ProfileName()]
	defer profile.end()
	attempt := profile.current
	if attempt.status != nil {
		// A stateless attempt that succeeded is taken back.
		return
	}
	attempt.status, attempt.nominating = status, nominating
	if !s.stateless {
		s.scheduler.SchedulingQueue.AddNominatedPod(s.logs, info.PodInfo, nominating)
	}
}

// conclude makes the cluster what it is after the attempt.
func (s *simulation) conclude(attempt *attempt) error {
	if s.stateless {
		// Assuming the pod dropped its nomination.
		if info, _ := framework.NewPodInfo(attempt.pod); attempt.status.IsSuccess() {
			s.scheduler.SchedulingQueue.AddNominatedPod(s.logs, info, nil)
		}
		return nil
	}
	if attempt.status.IsSuccess() {
		bound := attempt.pod.DeepCopy()
		bound.Spec.NodeName = attempt.node
		bound.Status.Phase = v1.PodRunning
		bound.Status.StartTime = &metav1.Time{Time: s.nextStart}
		s.nextStart = s.nextStart.Add(time.Second)
		return s.update(bound)
	}
	for _, name := range s.cleared {
		if pod, found := s.informers.pod(name); found {
			cleared := pod.DeepCopy()
			cleared.Status.NominatedNodeName = ""
			if err := s.update(cleared); err != nil {
				return err
			}
		}
	}
	return nil
}

// update puts a changed pod into the informer, under a higher version: the scheduler overlooks a
// change without one.
func (s *simulation) update(pod *v1.Pod) error {
	pod.ResourceVersion += "0"
	return s.informers.set(pod)
}
