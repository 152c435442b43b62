// Oracle prints what kube-scheduler decides for the pending pods of cluster files, without a
// cluster: one decision record a line. Every judgement is upstream's own code; what is here reads,
// wraps and prints.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

const usage = `Usage: oracle [--config FILE] [--stateless] [--profile NAME] [--validate] FILE...
       oracle --serve

Prints what kube-scheduler decides for the pending pods of cluster files (- is standard input), one
decision record a line; ties are by name.

`

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(os.Stderr, "oracle: %v\n", err)
		}
		os.Exit(2)
	}
}

func run(arguments []string, input io.Reader, output io.Writer) error {
	flags := flag.NewFlagSet("oracle", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	var request request
	flags.StringVar(&request.Config, "config", "", "`FILE` with a KubeSchedulerConfiguration; without it the default profile decides for all pods")
	flags.BoolVar(&request.Stateless, "stateless", false, "decide each pod against the files alone")
	flags.StringVar(&request.Profile, "profile", "", "let the profile with the schedulerName `NAME` decide for all pods")
	flags.BoolVar(&request.Validate, "validate", false, "refuse pods that the API server would not create")
	isServer := flags.Bool("serve", false, "answer requests, one a line on standard input: {\"files\": [...], \"cluster\": \"YAML\",\n"+
		"\"config\": \"FILE\", \"configuration\": \"YAML\", \"profile\": \"NAME\", \"stateless\": bool, \"validate\": bool};\n"+
		"each answer is a line with {\"records\": [...]} or {\"error\": \"...\"}")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if err := quieten(); err != nil {
		return err
	}
	if *isServer {
		return serve(input, output)
	}
	if request.Files = flags.Args(); len(request.Files) == 0 {
		return errors.New("no cluster file is given; see oracle --help")
	}
	answer, err := request.answer()
	if err != nil {
		return err
	}
	encoder := newEncoder(output)
	for _, record := range answer.Records {
		if err := encoder.Encode(record); err != nil {
			return err
		}
	}
	return nil
}

// quieten turns off what would make decisions depend on time or chance, and the logs.
func quieten() error {
	klog.SetLogger(logr.Discard())
	// The usual handlers wait between errors.
	utilruntime.ErrorHandlers = nil
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		"SchedulerAsyncPreemption": false,
		"OpportunisticBatching":    false,
	})
}

func newEncoder(output io.Writer) *json.Encoder {
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	return encoder
}
