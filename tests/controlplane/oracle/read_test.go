package main

import (
	"strings"
	"testing"
)

func read(text string) ([]object, error) {
	return readObjects([]source{{"c.yaml", []byte(text)}})
}

func TestDocumentsAreCountedWithoutEmptyOnesAndListsAreTakenApart(t *testing.T) {
	objects, err := read(`# only a comment
---
--- {apiVersion: v1, kind: Node}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod}
- {apiVersion: policy/v1, kind: PodDisruptionBudget}
---
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range objects {
		got = append(got, object.kind.name+" "+object.place.String())
	}
	want := "Node c.yaml, document 1|Pod c.yaml, document 2, item 1|PodDisruptionBudget c.yaml, document 2, item 2"
	if strings.Join(got, "|") != want {
		t.Errorf("got %q", got)
	}
}

func TestWhatCannotBeReadIsRefusedWithItsPlace(t *testing.T) {
	node := "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n---\n"
	cases := map[string]string{
		"a: b: c":                          "c.yaml, document 2: not valid YAML",
		"text":                             "c.yaml, document 2: not a Kubernetes object",
		"{apiVersion: v1}":                 "c.yaml, document 2: not a Kubernetes object: it has no apiVersion or no kind",
		"{apiVersion: apps/v1, kind: Pod}": "c.yaml, document 2: the kind Pod of apps/v1 has no place",
		"{apiVersion: v1, kind: Pod}":      "c.yaml, document 2: the Pod has no metadata.name",
		"{apiVersion: v1, kind: Node, metadata: {name: n1}}":                                "c.yaml, document 2: the Node \"n1\" was given before (c.yaml, document 1)",
		"{apiVersion: v1, kind: Node, metadata: {name: m}, status: {capacity: {cpu: x}}}":   "c.yaml, document 2: the Node cannot be read: quantities must match",
		"{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {priorityClassName: none}}": "c.yaml, document 2: no PriorityClass \"none\" for the pod \"default/p\"",
	}
	for text, want := range cases {
		_, err := readCluster([]source{{"c.yaml", []byte(node + text)}}, false)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
