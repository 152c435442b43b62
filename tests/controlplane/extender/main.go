// Extender is an HTTP extender for tests, written with upstream's own types: what it is sent must
// be readable for them, and what it answers is what they write. It judges nodes by their names and
// obeys annotations of the pod; GET /calls tells what it was asked.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// Annotations of the pod that say how it is to be treated.
const (
	annotationError    = "extender.test/error"    // answer with this error
	annotationCode     = "extender.test/code"     // answer with this status code
	annotationDelay    = "extender.test/delay"    // answer after this time
	annotationStranger = "extender.test/stranger" // name this node as well
	annotationGarbage  = "extender.test/garbage"  // answer with this text
	annotationVictims  = "extender.test/victims"  // "none": name no victims
)

// call is what the extender was asked.
type call struct {
	// Who asks: the first part of the path.
	Who   string   `json:"who"`
	Verb  string   `json:"verb"`
	Pod   string   `json:"pod"`
	Nodes []string `json:"nodes"`
	// ByName: only the names of nodes came.
	ByName bool `json:"byName"`
	// Whole: the pod has its image, and every node its annotations and capacity.
	Whole bool `json:"whole"`
}

type server struct {
	client kubernetes.Interface
	mutex  sync.Mutex
	calls  []call
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "extender: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	address := flag.String("address", "127.0.0.1:0", "`HOST:PORT` to listen at")
	secure := flag.String("secure-address", "", "`HOST:PORT` to listen at over TLS, too, for those who show a certificate")
	certFile := flag.String("tls-cert-file", "", "`FILE` with the certificate of the secure address")
	keyFile := flag.String("tls-private-key-file", "", "`FILE` with its key")
	clientCAFile := flag.String("client-ca-file", "", "`FILE` with whom certificates of clients must be from")
	kubeconfig := flag.String("kubeconfig", "", "`FILE` with the rights to bind pods")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	s := &server{client: client}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /calls", s.tell)
	mux.HandleFunc("POST /{who}/filter", s.filter)
	mux.HandleFunc("POST /{who}/prioritize", s.prioritize)
	mux.HandleFunc("POST /{who}/bind", s.bind)
	mux.HandleFunc("POST /{who}/preempt", s.preempt)
	fmt.Printf("listening at %s\n", *address)
	ended := make(chan error)
	go func() { ended <- http.ListenAndServe(*address, mux) }()
	if *secure != "" {
		config, err := requireCertificates(*clientCAFile)
		if err != nil {
			return err
		}
		server := &http.Server{Addr: *secure, Handler: mux, TLSConfig: config}
		go func() { ended <- server.ListenAndServeTLS(*certFile, *keyFile) }()
	}
	return <-ended
}

func requireCertificates(caFile string) (*tls.Config, error) {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", caFile)
	}
	return &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}, nil
}

func (s *server) tell(w http.ResponseWriter, _ *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	answer(w, s.calls)
}

func (s *server) note(r *http.Request, c call) {
	c.Who = r.PathValue("who")
	c.Verb = r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.calls = append(s.calls, c)
}

func (s *server) filter(w http.ResponseWriter, r *http.Request) {
	var args extenderv1.ExtenderArgs
	if !read(w, r, &args) {
		return
	}
	s.note(r, describe(&args))
	if obeyed(w, r, args.Pod) {
		return
	}
	result := extenderv1.ExtenderFilterResult{
		FailedNodes:                extenderv1.FailedNodesMap{},
		FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{},
		Error:                      args.Pod.Annotations[annotationError],
	}
	judge := func(name string) bool {
		switch prefix, _, _ := strings.Cut(name, "-"); prefix {
		case "no":
			result.FailedNodes[name] = "the extender says no"
		case "never":
			result.FailedAndUnresolvableNodes[name] = "the extender says never"
		case "gone":
		default:
			return true
		}
		return false
	}
	if args.NodeNames != nil {
		names := []string{}
		for _, name := range *args.NodeNames {
			if judge(name) {
				names = append(names, name)
			}
		}
		if stranger := args.Pod.Annotations[annotationStranger]; stranger != "" {
			names = append(names, stranger)
		}
		result.NodeNames = &names
	} else if args.Nodes != nil {
		result.Nodes = &v1.NodeList{}
		for _, node := range args.Nodes.Items {
			if judge(node.Name) {
				result.Nodes.Items = append(result.Nodes.Items, node)
			}
		}
	}
	answer(w, result)
}

// prioritize takes the last digit of the name.
func (s *server) prioritize(w http.ResponseWriter, r *http.Request) {
	var args extenderv1.ExtenderArgs
	if !read(w, r, &args) {
		return
	}
	s.note(r, describe(&args))
	if obeyed(w, r, args.Pod) {
		return
	}
	list := extenderv1.HostPriorityList{}
	for _, name := range names(&args) {
		score, _ := strconv.ParseInt(name[len(name)-1:], 10, 64)
		list = append(list, extenderv1.HostPriority{Host: name, Score: score})
	}
	answer(w, list)
}

func (s *server) bind(w http.ResponseWriter, r *http.Request) {
	var args extenderv1.ExtenderBindingArgs
	if !read(w, r, &args) {
		return
	}
	s.note(r, call{Pod: args.PodName, Nodes: []string{args.Node}})
	if strings.HasPrefix(args.PodName, "unbound-") {
		answer(w, extenderv1.ExtenderBindingResult{Error: "the extender does not bind"})
		return
	}
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: args.PodNamespace, Name: args.PodName, UID: args.PodUID},
		Target:     v1.ObjectReference{Kind: "Node", Name: args.Node},
	}
	err := s.client.CoreV1().Pods(args.PodNamespace).Bind(context.Background(), binding, metav1.CreateOptions{})
	switch {
	case err != nil:
		answer(w, extenderv1.ExtenderBindingResult{Error: err.Error()})
	case strings.HasPrefix(args.PodName, "unsaid-"):
		// Bound, and nobody is told.
		http.Error(w, "the answer got lost", http.StatusInternalServerError)
	default:
		answer(w, extenderv1.ExtenderBindingResult{})
	}
}

// preempt lets no node whose name begins with "no" lose its pods.
func (s *server) preempt(w http.ResponseWriter, r *http.Request) {
	var args extenderv1.ExtenderPreemptionArgs
	if !read(w, r, &args) {
		return
	}
	c := call{Pod: args.Pod.Name, ByName: args.NodeNameToMetaVictims != nil, Whole: isWhole(args.Pod)}
	offered := args.NodeNameToMetaVictims
	if offered == nil {
		offered = map[string]*extenderv1.MetaVictims{}
		for name, victims := range args.NodeNameToVictims {
			meta := &extenderv1.MetaVictims{NumPDBViolations: victims.NumPDBViolations}
			for _, pod := range victims.Pods {
				c.Whole = c.Whole && isWhole(pod)
				meta.Pods = append(meta.Pods, &extenderv1.MetaPod{UID: string(pod.UID)})
			}
			offered[name] = meta
		}
	}
	for name := range offered {
		c.Nodes = append(c.Nodes, name)
	}
	s.note(r, c)
	if obeyed(w, r, args.Pod) {
		return
	}
	result := extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{}}
	for name, victims := range offered {
		if strings.HasPrefix(name, "no-") {
			continue
		}
		if args.Pod.Annotations[annotationVictims] == "none" {
			victims = &extenderv1.MetaVictims{}
		}
		result.NodeNameToMetaVictims[name] = victims
	}
	answer(w, result)
}

// obeyed does what the pod's annotations ask for and tells whether that is all.
func obeyed(w http.ResponseWriter, r *http.Request, pod *v1.Pod) bool {
	if delay, err := time.ParseDuration(pod.Annotations[annotationDelay]); err == nil {
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return true
		}
	}
	if code, err := strconv.Atoi(pod.Annotations[annotationCode]); err == nil {
		http.Error(w, "as the pod wants it", code)
		return true
	}
	if garbage, ok := pod.Annotations[annotationGarbage]; ok {
		fmt.Fprint(w, garbage)
		return true
	}
	return false
}

func describe(args *extenderv1.ExtenderArgs) call {
	c := call{Pod: args.Pod.Name, Nodes: names(args), ByName: args.NodeNames != nil, Whole: isWhole(args.Pod)}
	if args.Nodes != nil {
		for _, node := range args.Nodes.Items {
			isWhole := len(node.Annotations) > 0 && len(node.Status.Capacity) > 0
			c.Whole = c.Whole && isWhole
		}
	}
	return c
}

func isWhole(pod *v1.Pod) bool {
	return len(pod.Spec.Containers) > 0 && pod.Spec.Containers[0].Image != "" && pod.UID != "" &&
		len(pod.ManagedFields) == 0
}

func names(args *extenderv1.ExtenderArgs) []string {
	if args.NodeNames != nil {
		return *args.NodeNames
	}
	names := []string{}
	if args.Nodes != nil {
		for _, node := range args.Nodes.Items {
			names = append(names, node.Name)
		}
	}
	return names
}

func read(w http.ResponseWriter, r *http.Request, args any) bool {
	err := json.NewDecoder(r.Body).Decode(args)
	if err == nil && r.ContentLength < 0 {
		err = errors.New("the length of the body is not told")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

func answer(w http.ResponseWriter, result any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(result); err != nil {
		fmt.Fprintf(os.Stderr, "extender: %v\n", err)
	}
}
