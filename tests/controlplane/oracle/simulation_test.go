package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if err := quieten(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const threeNodes = `
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: 2, memory: 8Gi, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}, status: {allocatable: {cpu: 2, memory: 8Gi, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n3, labels: {kubernetes.io/hostname: n3}}, status: {allocatable: {cpu: 2, memory: 8Gi, pods: 10}}}
`

func answers(t *testing.T, request request) map[string]record {
	t.Helper()
	answer, err := request.answer()
	if err != nil {
		t.Fatal(err)
	}
	byPod := map[string]record{}
	for _, record := range answer.Records {
		byPod[strings.TrimPrefix(record.Pod, "default/")] = record
	}
	return byPod
}

// threePods are bound one to a node, which they fill; the other pods come after them.
func threePods(others string) string {
	var text strings.Builder
	text.WriteString(threeNodes)
	for _, node := range []string{"n3", "n1", "n2"} {
		fmt.Fprintf(&text, `
---
{apiVersion: v1, kind: Pod, metadata: {name: on-%[1]s}, spec: {nodeName: %[1]s, containers: [{name: c, resources: {requests: {cpu: 2}}}]},
 status: {startTime: "2024-01-01T00:00:00Z"}}`, node)
	}
	text.WriteString(others)
	return text.String()
}

func TestTiesAreByNameAndPodsAreBoundOneAfterTheOther(t *testing.T) {
	var cluster strings.Builder
	cluster.WriteString(threeNodes)
	for i := range 4 {
		fmt.Fprintf(&cluster, "\n---\n{apiVersion: v1, kind: Pod, metadata: {name: p%d}, spec: {containers: [{name: c, resources: {requests: {cpu: 2}}}]}}", i)
	}
	got := answers(t, request{Cluster: cluster.String()})
	for pod, node := range map[string]string{"p0": "n1", "p1": "n2", "p2": "n3", "p3": ""} {
		if got[pod].Node != node {
			t.Errorf("%s went to %q", pod, got[pod].Node)
		}
	}
	alone := answers(t, request{Cluster: cluster.String(), Stateless: true})
	for pod, record := range alone {
		if record.Node != "n1" || len(record.Best) != 3 {
			t.Errorf("alone, %s went to %q of %q", pod, record.Node, record.Best)
		}
	}
}

func TestPreemptionNotesVictimsAndKeepsTheNomination(t *testing.T) {
	const preemptor = `
---
{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {priority: 100, containers: [{name: c, resources: {requests: {cpu: 2}}}]}}`
	got := answers(t, request{Cluster: threePods(fmt.Sprintf(preemptor, "first") + fmt.Sprintf(preemptor, "second"))})
	for pod, node := range map[string]string{"first": "n1", "second": "n2"} {
		record := got[pod]
		if record.Nominated != node || len(record.Victims) != 1 || record.Victims[0] != "default/on-"+node {
			t.Errorf("%s: %+v", pod, record)
		}
	}
}

func TestPreemptionTakesTheBetterCandidateBeforeTheFirst(t *testing.T) {
	const later = `
---
{apiVersion: v1, kind: Node, metadata: {name: n4}, status: {allocatable: {cpu: 2, memory: 8Gi, pods: 10}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: on-n4}, spec: {nodeName: n4, containers: [{name: c, resources: {requests: {cpu: 2}}}]},
 status: {startTime: "2024-01-01T00:00:01Z"}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {priority: 100, containers: [{name: c, resources: {requests: {cpu: 2}}}]}}`
	for range 10 {
		if got := answers(t, request{Cluster: threePods(later)})["p"]; got.Nominated != "n4" {
			t.Fatalf("%+v", got)
		}
	}
}

func TestNominationOfALowerPriorityIsClearedByPreemption(t *testing.T) {
	got := answers(t, request{Cluster: threePods(`
---
{apiVersion: v1, kind: Pod, metadata: {name: high}, spec: {priority: 100, containers: [{name: c, resources: {requests: {cpu: 2}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: low}, spec: {preemptionPolicy: Never, containers: [{name: c, resources: {requests: {cpu: 2}}}]},
 status: {nominatedNodeName: n1}}`)})
	if got["high"].Nominated != "n1" || got["low"].Nominated != "" {
		t.Errorf("%+v", got)
	}
}

func TestNominatedNodeThatFitsIsTheOnlyOneLookedAt(t *testing.T) {
	got := answers(t, request{Cluster: threeNodes + `
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c}]
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n2]}]}]}}}
status: {nominatedNodeName: n2}`})["p"]
	if got.Node != "n2" || len(got.Feasible) != 1 || len(got.Rejections) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestNominationsOfTheFilesOutliveAttemptsThatAreTakenBack(t *testing.T) {
	const cluster = threeNodes + `
---
{apiVersion: v1, kind: Pod, metadata: {name: nominated}, spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}, status: {nominatedNodeName: n1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: after}, spec: {containers: [{name: c, resources: {requests: {cpu: 1500m}}}]}}`
	got := answers(t, request{Cluster: cluster, Stateless: true})
	if got["nominated"].Node != "n1" || got["after"].Node != "n2" || got["after"].Rejections["n1"].Plugin != "NodeResourcesFit" {
		t.Errorf("%+v", got)
	}
}

func TestDevicesStayWithTheClaimThatGotThem(t *testing.T) {
	var cluster strings.Builder
	cluster.WriteString(threeNodes + `
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: example.com, nodeName: n2,
 pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: [{name: g}]}}`)
	for _, name := range []string{"first", "second"} {
		fmt.Fprintf(&cluster, `
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: %[1]s}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: %[1]s}, spec: {resourceClaims: [{name: x, resourceClaimName: %[1]s}], containers: [{name: c, resources: {claims: [{name: x}]}}]}}`, name)
	}
	got := answers(t, request{Cluster: cluster.String()})
	if got["first"].Node != "n2" || got["second"].Outcome != "unschedulable" {
		t.Errorf("%+v", got)
	}
	alone := answers(t, request{Cluster: cluster.String(), Stateless: true})
	if alone["first"].Node != "n2" || alone["second"].Node != "n2" {
		t.Errorf("%+v", alone)
	}
}

func TestVolumesOfEqualSizeAreTakenByNameAndStayTaken(t *testing.T) {
	var cluster strings.Builder
	cluster.WriteString(threeNodes)
	cluster.WriteString(`
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}`)
	// b is of n2, a and c of n1; only a claim for a leaves c.
	for name, node := range map[string]string{"a": "n1", "b": "n2", "c": "n1"} {
		fmt.Fprintf(&cluster, `
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: %s}, status: {phase: Available}, spec: {capacity: {storage: 10Gi}, accessModes: [ReadWriteOnce],
 storageClassName: local, local: {path: /x}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%s]}]}]}}}}`, name, node)
	}
	for i := range 4 {
		fmt.Fprintf(&cluster, `
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c%[1]d}, spec: {storageClassName: local, accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p%[1]d}, spec: {containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: c%[1]d}}]}}`, i)
	}
	var first string
	for range 5 {
		got := answers(t, request{Cluster: cluster.String()})
		if nodes := got["p0"].Node + got["p1"].Node + got["p2"].Node + got["p3"].Node; strings.Count(nodes, "n1") != 2 || strings.Count(nodes, "n2") != 1 {
			t.Fatalf("the pods went to %s", nodes)
		}
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(text)
		} else if first != string(text) {
			t.Fatalf("first %s\nthen %s", first, text)
		}
	}
}

func TestGatedAndTerminatingPodsGetNoAttempt(t *testing.T) {
	got := answers(t, request{Cluster: threeNodes + `
---
{apiVersion: v1, kind: Pod, metadata: {name: gated}, spec: {schedulingGates: [{name: example.com/wait}], containers: [{name: c}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: gone, deletionTimestamp: "2024-01-01T00:00:00Z"}, spec: {containers: [{name: c}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: ended}, spec: {containers: [{name: c}]}, status: {phase: Failed}}`})
	want := record{Pod: "default/gated", Outcome: "gated", Message: "Scheduling is blocked due to non-empty scheduling gates"}
	if len(got) != 1 || fmt.Sprint(got["gated"]) != fmt.Sprint(want) {
		t.Errorf("%+v", got)
	}
}

func TestProfilesOfAConfigurationDecideForThePodsThatNameThem(t *testing.T) {
	const configuration = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: ours
  plugins: {score: {disabled: [{name: TaintToleration}], enabled: [{name: NodeResourcesFit, weight: 7}]}}
`
	const cluster = threeNodes + `
---
{apiVersion: v1, kind: Pod, metadata: {name: ours}, spec: {schedulerName: ours, containers: [{name: c}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: other}, spec: {schedulerName: other, containers: [{name: c}]}}`
	got := answers(t, request{Cluster: cluster, Configuration: configuration})
	if len(got) != 1 {
		t.Errorf("%+v", got)
	}
	for node, score := range got["ours"].Scores {
		fit := score.Plugins["NodeResourcesFit"]
		if _, found := score.Plugins["TaintToleration"]; found || fit.Weighted != 7*fit.Normalized {
			t.Errorf("%s: %+v", node, score)
		}
	}
	if all := answers(t, request{Cluster: cluster, Configuration: configuration, Profile: "ours"}); len(all) != 2 {
		t.Errorf("%+v", all)
	}
	if _, err := (&request{Cluster: threeNodes + `
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}`, Configuration: configuration}).answer(); err == nil {
		t.Error("a configuration for none of the pods is accepted")
	}
}

func TestServerLeavesNothingRunning(t *testing.T) {
	line, err := json.Marshal(request{Cluster: threePods("")})
	if err != nil {
		t.Fatal(err)
	}
	serveLines := func(lines int) {
		if err := serve(strings.NewReader(strings.Repeat(string(line)+"\n", lines)), &strings.Builder{}); err != nil {
			t.Fatal(err)
		}
	}
	serveLines(1)
	before := runtime.NumGoroutine()
	serveLines(30)
	// What was told to stop stops a little later.
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}

func TestServerAnswersEveryLine(t *testing.T) {
	var output strings.Builder
	input := `{"cluster": "{apiVersion: v1, kind: Node, metadata: {name: n1}}"}` + "\n" + `nonsense` + "\n" + `{}` + "\n"
	if err := serve(strings.NewReader(input), &output); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(output.String()), "\n")
	if len(lines) != 3 || lines[0] != `{"records":[]}` || !strings.HasPrefix(lines[1], `{"error":"the request cannot be read`) ||
		lines[2] != `{"error":"the request names no files and holds no cluster"}` {
		t.Errorf("%q", lines)
	}
}
