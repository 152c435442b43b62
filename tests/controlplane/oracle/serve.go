package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The longest request: clusters may come inline.
const longestRequest = 256 << 20

// A request names a cluster and who decides.
type request struct {
	Files   []string `json:"files"`
	Cluster string   `json:"cluster"`
	// A file with a KubeSchedulerConfiguration, or its text.
	Config        string `json:"config"`
	Configuration string `json:"configuration"`
	Profile       string `json:"profile"`
	Stateless     bool   `json:"stateless"`
	Validate      bool   `json:"validate"`
}

// An answer holds the records of a request, and how often a kind of preemption occurred in them.
type answer struct {
	Records     []record       `json:"records"`
	Preemptions map[string]int `json:"preemptions,omitempty"`
}

// A refusal says why there are none.
type refusal struct {
	Error string `json:"error"`
}

// serve answers requests, one a line, until the input ends.
func serve(input io.Reader, output io.Writer) error {
	lines := bufio.NewScanner(input)
	lines.Buffer(nil, longestRequest)
	encoder := newEncoder(output)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var reply any
		if answer, err := answerLine(lines.Bytes()); err != nil {
			reply = refusal{err.Error()}
		} else {
			reply = answer
		}
		if err := encoder.Encode(reply); err != nil {
			return err
		}
	}
	return lines.Err()
}

func answerLine(line []byte) (answer *answer, err error) {
	// One bad cluster must not end the others' run.
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("the scheduler panicked: %v", panicked)
		}
	}()
	var request request
	if err := json.Unmarshal(line, &request); err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	return request.answer()
}

// answer decides the pending pods of the request's cluster.
func (r *request) answer() (*answer, error) {
	configuration, err := r.readConfiguration()
	if err != nil {
		return nil, err
	}
	sources, err := r.readSources()
	if err != nil {
		return nil, err
	}
	cluster, err := readCluster(sources, r.Validate)
	if err != nil {
		return nil, err
	}
	return decide(cluster, configuration, r.Stateless)
}

func (r *request) readConfiguration() (*configuration, error) {
	name, text := "the default configuration", []byte(r.Configuration)
	switch {
	case r.Config != "" && r.Configuration != "":
		return nil, errors.New("give config or configuration, not both")
	case r.Config != "":
		name = r.Config
		var err error
		if text, err = readConfiguration(r.Config); err != nil {
			return nil, err
		}
	case r.Configuration != "":
		name = "the configuration of the request"
	}
	return newConfiguration(name, text, r.Profile)
}

func (r *request) readSources() ([]source, error) {
	var sources []source
	for _, path := range r.Files {
		source, err := readSource(path)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	if r.Cluster != "" {
		sources = append(sources, source{"the cluster of the request", []byte(r.Cluster)})
	}
	if len(sources) == 0 {
		return nil, errors.New("the request names no files and holds no cluster")
	}
	return sources, nil
}
