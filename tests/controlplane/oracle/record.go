package main

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// A record is everything about one attempt. An absent key equals an empty value.
type record struct {
	Pod        string               `json:"pod"`
	Outcome    string               `json:"outcome"`
	Node       string               `json:"node,omitempty"`
	Feasible   []string             `json:"feasible,omitempty"`
	Best       []string             `json:"best,omitempty"`
	Scores     map[string]nodeScore `json:"scores,omitempty"`
	Rejections map[string]rejection `json:"rejections,omitempty"`
	Message    string               `json:"message,omitempty"`
	Nominated  string               `json:"nominated,omitempty"`
	Victims    []string             `json:"victims,omitempty"`
}

// A nodeScore is the score of a node.
type nodeScore struct {
	Total   int64                  `json:"total"`
	Plugins map[string]pluginScore `json:"plugins"`
}

// A pluginScore is what a plugin gives a node.
type pluginScore struct {
	Raw        int64 `json:"raw"`
	Normalized int64 `json:"normalized"`
	Weighted   int64 `json:"weighted"`
}

// A rejection is why a node does not fit.
type rejection struct {
	Plugin       string   `json:"plugin"`
	Reasons      []string `json:"reasons"`
	Unresolvable bool     `json:"unresolvable"`
}

// gatedRecord is the record of a pod that a PreEnqueue plugin keeps out of the queue.
func gatedRecord(pod *v1.Pod, message string) record {
	return record{
		Pod:       podName(pod),
		Outcome:   "gated",
		Message:   message,
		Nominated: pod.Status.NominatedNodeName,
	}
}

// record is the record of a concluded attempt in a cluster with the given nodes.
func (a *attempt) record(nodes []*v1.Node) record {
	result := record{
		Pod:     podName(a.pod),
		Message: a.status.Message(),
		Victims: a.victims,
	}
	slices.Sort(result.Victims)
	switch {
	case a.status.IsSuccess():
		result.Outcome = "scheduled"
		result.Node = a.node
	case a.status.IsRejected():
		result.Outcome = "unschedulable"
	default:
		result.Outcome = "error"
	}
	result.Nominated = a.pod.Status.NominatedNodeName
	if !a.status.IsSuccess() && a.nominating.Mode() == fwk.ModeOverride {
		result.Nominated = a.nominating.NominatedNodeName
	}
	a.describeNodes(&result, nodes)
	return result
}

// describeNodes tells about each node what the attempt found. An attempt that failed found nothing.
func (a *attempt) describeNodes(result *record, nodes []*v1.Node) {
	fitError, unfit := a.unfit.(*framework.FitError)
	if a.unfit != nil && !unfit {
		return
	}
	if !unfit {
		result.Feasible = a.feasible()
		result.Best, result.Scores = a.totals()
	}
	for _, node := range nodes {
		status := a.statusOf(node.Name)
		if unfit {
			status = fitError.Diagnosis.NodeToStatus.Get(node.Name)
		}
		if status == nil || status.IsSuccess() {
			continue
		}
		if result.Rejections == nil {
			result.Rejections = map[string]rejection{}
		}
		result.Rejections[node.Name] = newRejection(status)
	}
}

func newRejection(status *fwk.Status) rejection {
	return rejection{
		Plugin:       status.Plugin(),
		Reasons:      slices.Concat([]string{}, status.Reasons()),
		Unresolvable: status.Code() == fwk.UnschedulableAndUnresolvable,
	}
}

// totals are the nodes with the highest total and all scores. A single feasible node is the best
// and is not scored.
func (a *attempt) totals() ([]string, map[string]nodeScore) {
	if len(a.scores) == 0 {
		return a.feasible(), nil
	}
	var best []string
	var highest int64
	scores := map[string]nodeScore{}
	for _, node := range a.scores {
		if best == nil || node.TotalScore > highest {
			best, highest = nil, node.TotalScore
		}
		if node.TotalScore == highest {
			best = append(best, node.Name)
		}
		plugins := map[string]pluginScore{}
		for i, weighted := range node.Scores {
			plugins[weighted.Name] = pluginScore{
				Raw:        node.RawScores[i].Score,
				Normalized: weighted.Score / a.weights[weighted.Name],
				Weighted:   weighted.Score,
			}
		}
		scores[node.Name] = nodeScore{node.TotalScore, plugins}
	}
	slices.Sort(best)
	return best, scores
}

func podName(pod *v1.Pod) string {
	return pod.Namespace + "/" + pod.Name
}
