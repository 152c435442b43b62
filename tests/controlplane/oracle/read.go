package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// A source is the text of one cluster file.
type source struct {
	name string
	text []byte
}

// A place is where an object stands; it prints as "cluster.yaml, document 3, item 2".
type place struct {
	file     string
	document int
	// 0 outside of a List.
	item int
}

// An object is one Kubernetes object of the files, still as JSON.
type object struct {
	place place
	kind  *kind
	json  []byte
}

// A kind may stand in a cluster file.
type kind struct {
	group, name  string
	isNamespaced bool
	// The version that the scheduler reads.
	version schema.GroupVersion
}

var kinds = []*kind{
	clusterWide("", "Node"),
	namespaced("", "Pod"),
	clusterWide("", "Namespace"),
	namespaced("", "Service"),
	namespaced("", "ReplicationController"),
	namespaced("apps", "ReplicaSet"),
	namespaced("apps", "StatefulSet"),
	clusterWide("", "PersistentVolume"),
	namespaced("", "PersistentVolumeClaim"),
	clusterWide("storage.k8s.io", "StorageClass"),
	clusterWide("storage.k8s.io", "CSINode"),
	clusterWide("storage.k8s.io", "CSIDriver"),
	namespaced("storage.k8s.io", "CSIStorageCapacity"),
	clusterWide("storage.k8s.io", "VolumeAttachment"),
	namespaced("policy", "PodDisruptionBudget"),
	clusterWide("scheduling.k8s.io", "PriorityClass"),
	namespaced("resource.k8s.io", "ResourceClaim"),
	clusterWide("resource.k8s.io", "ResourceSlice"),
	clusterWide("resource.k8s.io", "DeviceClass"),
	// Passed over: the configuration of the oracle is a KubeSchedulerConfiguration.
	clusterWide("bayplan.dev", "SchedulerProfile"),
}

func clusterWide(group, name string) *kind {
	return &kind{group, name, false, schema.GroupVersion{Group: group, Version: "v1"}}
}

func namespaced(group, name string) *kind {
	return &kind{group, name, true, schema.GroupVersion{Group: group, Version: "v1"}}
}

func (p place) String() string {
	text := fmt.Sprintf("%s, document %d", p.file, p.document)
	if p.item > 0 {
		text += fmt.Sprintf(", item %d", p.item)
	}
	return text
}

// errorf says what is wrong at the place.
func (p place) errorf(format string, arguments ...any) error {
	return fmt.Errorf("%s: %w", p, fmt.Errorf(format, arguments...))
}

// readSource reads a file, or standard input for "-".
func readSource(path string) (source, error) {
	if path == "-" {
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return source{}, fmt.Errorf("standard input cannot be read: %w", err)
		}
		return source{"standard input", text}, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return source{}, fmt.Errorf("the cluster file cannot be read: %w", err)
	}
	return source{path, text}, nil
}

// readObjects reads the objects of all sources in their order, lists taken apart.
func readObjects(sources []source) ([]object, error) {
	var objects []object
	for _, source := range sources {
		position := place{file: source.name}
		for _, text := range splitDocuments(source.text) {
			position.document++
			document, err := yaml.YAMLToJSONStrict(text)
			if err != nil {
				return nil, position.errorf("not valid YAML: %w", err)
			}
			if bytes.Equal(document, []byte("null")) {
				position.document--
				continue
			}
			if objects, err = appendObjects(objects, position, document); err != nil {
				return nil, err
			}
		}
	}
	return objects, nil
}

// splitDocuments cuts at the lines that begin a document. Nothing but comments and directives is
// no document.
func splitDocuments(text []byte) [][]byte {
	var documents [][]byte
	var current []string
	flush := func() {
		for _, line := range current {
			line = strings.TrimSpace(line)
			if line != "" && line[0] != '#' && line[0] != '%' {
				documents = append(documents, []byte(strings.Join(current, "")))
				break
			}
		}
		current = nil
	}
	for _, line := range strings.SplitAfter(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		if rest, found := strings.CutPrefix(line, "---"); found && (rest == "" || strings.ContainsAny(rest[:1], " \t\r\n")) {
			flush()
			// Content may follow on the line of the marker.
			line = rest
		}
		current = append(current, line)
	}
	flush()
	return documents
}

// appendObjects adds the object of a document, or the items of a List.
func appendObjects(objects []object, position place, document []byte) ([]object, error) {
	var head struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(document, &head); err != nil {
		return nil, position.errorf("not a Kubernetes object: %w", err)
	}
	if head.APIVersion == "" || head.Kind == "" {
		return nil, position.errorf("not a Kubernetes object: it has no apiVersion or no kind")
	}
	if head.APIVersion == "v1" && head.Kind == "List" {
		for index, item := range head.Items {
			position.item = index + 1
			var err error
			if objects, err = appendObjects(objects, position, item); err != nil {
				return nil, err
			}
		}
		return objects, nil
	}
	kind, err := findKind(head.APIVersion, head.Kind)
	if err != nil {
		return nil, position.errorf("%w", err)
	}
	return append(objects, object{position, kind, document}), nil
}

func findKind(apiVersion, name string) (*kind, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		if kind.group == version.Group && kind.name == name {
			return kind, nil
		}
		names[i] = kind.name
	}
	return nil, fmt.Errorf("the kind %s of %s has no place in a cluster file, which holds %s",
		name, apiVersion, strings.Join(names, ", "))
}
