package main

import (
	"fmt"
	"os"

	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"sigs.k8s.io/yaml"
)

// Every node is scored unless a configuration says otherwise.
const everyNode int32 = 100

// A configuration says which profiles decide.
type configuration struct {
	*config.KubeSchedulerConfiguration
	// Whether the one profile decides for every pod, whatever the pod names.
	decidesAll bool
}

// readConfiguration reads a KubeSchedulerConfiguration file.
func readConfiguration(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	return text, nil
}

// newConfiguration decodes a KubeSchedulerConfiguration; without one upstream's default profile
// decides for all pods. With a profile's schedulerName that profile does.
func newConfiguration(name string, text []byte, profile string) (*configuration, error) {
	result := &configuration{}
	var err error
	if len(text) == 0 {
		result.KubeSchedulerConfiguration, err = latest.Default()
		result.decidesAll = true
	} else {
		result.KubeSchedulerConfiguration, err = decodeConfiguration(text)
	}
	if err == nil {
		err = result.prepare(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if profile == "" {
		return result, nil
	}
	for _, candidate := range result.Profiles {
		if candidate.SchedulerName == profile {
			result.Profiles = []config.KubeSchedulerProfile{candidate}
			result.decidesAll = true
			return result, nil
		}
	}
	return nil, fmt.Errorf("%s has no profile with the schedulerName %q", name, profile)
}

func decodeConfiguration(text []byte) (*config.KubeSchedulerConfiguration, error) {
	decoded, version, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	decodedConfiguration, ok := decoded.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("a KubeSchedulerConfiguration is expected, not a %s", version.Kind)
	}
	// Conversion clears it.
	decodedConfiguration.APIVersion = version.GroupVersion().String()
	return decodedConfiguration, nil
}

// prepare validates the configuration and makes it score every node, if `text` does not say how
// many.
func (c *configuration) prepare(text []byte) error {
	if err := validation.ValidateKubeSchedulerConfiguration(c.KubeSchedulerConfiguration); err != nil {
		return err
	}
	if len(c.Extenders) > 0 {
		return fmt.Errorf("extenders are not asked by the oracle; remove them")
	}
	var given struct {
		Percentage *int32 `json:"percentageOfNodesToScore"`
	}
	if err := yaml.Unmarshal(text, &given); err != nil {
		return err
	}
	if given.Percentage == nil {
		percentage := everyNode
		c.PercentageOfNodesToScore = &percentage
	}
	return nil
}

// answersFor is the schedulerName of the profile that decides for a pod that names `scheduler`.
func (c *configuration) answersFor(scheduler string) (string, bool) {
	if c.decidesAll {
		return c.Profiles[0].SchedulerName, true
	}
	for _, profile := range c.Profiles {
		if profile.SchedulerName == scheduler {
			return scheduler, true
		}
	}
	return "", false
}
