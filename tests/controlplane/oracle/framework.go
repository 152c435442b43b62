package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// An attempt is one scheduling attempt as it was watched.
type attempt struct {
	pod     *v1.Pod
	weights map[string]int64
	// Nodes that a filter refused.
	refused map[string]*fwk.Status
	// Nodes that the PreFilter plugins left, and the plugins that left any out.
	preFilter  *fwk.PreFilterResult
	preFilters sets.Set[string]
	// What is said of the nodes that the PreFilter plugins left out.
	leftOut *fwk.Status
	// How often filtering began.
	passes int
	scores []fwk.NodePluginScores

	// The node that was found, and why none was.
	node  string
	unfit error
	// The end: success after binding, else what the failure handler was told.
	status     *fwk.Status
	nominating *fwk.NominatingInfo
	victims    []string

	// What the preemption was about: by what the candidate was chosen, and the nodes on which pods
	// of a lower priority may stay.
	chosenBy  string
	sparing   sets.Set[string]
	exercised []string
}

// A profile is upstream's framework of a profile, watched on its way through an attempt. Everything
// that waits for a cluster is left out; ties are by name.
type profile struct {
	framework.Framework
	weights map[string]int64
	// Take the pod back as soon as it is reserved.
	stateless bool
	current   *attempt
	// Told when the attempt has ended; a binding ends in a goroutine of its own.
	ended chan struct{}
}

func newProfile(upstream framework.Framework, stateless bool) *profile {
	weights := map[string]int64{}
	for _, plugin := range upstream.ListPlugins().Score.Enabled {
		weights[plugin.Name] = int64(plugin.Weight)
	}
	return &profile{Framework: upstream, weights: weights, stateless: stateless, ended: make(chan struct{}, 1)}
}

// begin watches an attempt to schedule a pod.
func (p *profile) begin(pod *v1.Pod) *attempt {
	p.current = &attempt{pod: pod, weights: p.weights, refused: map[string]*fwk.Status{},
		sparing: sets.New[string]()}
	return p.current
}

func (p *profile) RunPreFilterPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod) (*fwk.PreFilterResult, *fwk.Status, sets.Set[string]) {
	result, status, plugins := p.Framework.RunPreFilterPlugins(ctx, state, pod)
	p.current.preFilter, p.current.preFilters = result, plugins
	return result, status, plugins
}

// PercentageOfNodesToScore is what upstream asks for when it begins to filter: once for the
// nominated node, if there is one, and once for all. The set of plugins is the one that upstream
// goes on to change, so the text is upstream's (findNodesThatFitPod).
func (p *profile) PercentageOfNodesToScore() *int32 {
	p.current.passes++
	if !p.current.preFilter.AllNodes() {
		p.current.leftOut = fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
			fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(p.current.preFilters)))
	}
	return p.Framework.PercentageOfNodesToScore()
}

func (p *profile) RunFilterPluginsWithNominatedPods(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	status := p.Framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
	if !status.IsSuccess() {
		p.current.refused[node.Node().Name] = status
	}
	return status
}

// RunPostFilterPlugins shows the nodes in the order of their names, not at random.
func (p *profile) RunPostFilterPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, statuses fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	return p.Framework.RunPostFilterPlugins(ctx, state, pod, orderedStatuses{statuses})
}

type orderedStatuses struct {
	fwk.NodeToStatusReader
}

func (s orderedStatuses) NodesForStatusCode(lister fwk.NodeInfoLister, code fwk.Code) ([]fwk.NodeInfo, error) {
	nodes, err := s.NodeToStatusReader.NodesForStatusCode(lister, code)
	// The list may be the scheduler's own.
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b fwk.NodeInfo) int { return cmp.Compare(a.Node().Name, b.Node().Name) })
	return nodes, err
}

// RunScorePlugins keeps the scores and lets the first name win a tie.
func (p *profile) RunScorePlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodePluginScores, *fwk.Status) {
	scores, status := p.Framework.RunScorePlugins(ctx, state, pod, nodes)
	slices.SortFunc(scores, func(a, b fwk.NodePluginScores) int { return cmp.Compare(a.Name, b.Name) })
	for i := range scores {
		scores[i].Randomizer = len(scores) - i
	}
	// Upstream sorts its own slice.
	p.current.scores = slices.Clone(scores)
	return scores, status
}

// RunPermitPlugins ends a stateless attempt: upstream itself then takes everything back.
func (p *profile) RunPermitPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) (map[string]time.Duration, *fwk.Status) {
	waits, status := p.Framework.RunPermitPlugins(ctx, state, pod, node)
	if p.stateless && status.IsSuccess() {
		p.current.status = fwk.NewStatus(fwk.Success)
		return nil, fwk.NewStatus(fwk.Unschedulable, "taken back: each pod is decided alone")
	}
	return waits, status
}

// RunPreBindPreFlights has nothing to do: no node is nominated on the way to the binding.
func (p *profile) RunPreBindPreFlights(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status {
	return fwk.NewStatus(fwk.Skip)
}

// RunPreBindPlugins does not wait for controllers: what Reserve assumed of volumes and claims stays.
func (p *profile) RunPreBindPlugins(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status {
	return nil
}

// RunBindPlugins succeeds.
func (p *profile) RunBindPlugins(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status {
	return nil
}

// RunPostBindPlugins is the end of an attempt that succeeded.
func (p *profile) RunPostBindPlugins(context.Context, fwk.CycleState, *v1.Pod, string) {
	p.current.status = fwk.NewStatus(fwk.Success)
	p.end()
}

func (p *profile) end() {
	p.ended <- struct{}{}
}

// feasible are the nodes that fitted.
func (a *attempt) feasible() []string {
	if len(a.scores) == 0 {
		return []string{a.node}
	}
	names := make([]string, len(a.scores))
	for i, node := range a.scores {
		names[i] = node.Name
	}
	return names
}

// statusOf is why a node did not fit, of an attempt that found a node: nil if it fitted or was not
// looked at.
func (a *attempt) statusOf(node string) *fwk.Status {
	if status, found := a.refused[node]; found {
		return status
	}
	// If the nominated node fits, no other is looked at.
	isNominated := a.passes == 1 && a.node == a.pod.Status.NominatedNodeName
	if isNominated || a.leftOut == nil || a.preFilter.NodeNames.Has(node) {
		return nil
	}
	return a.leftOut
}
