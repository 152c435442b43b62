package main

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// A staticInformer serves objects that are put into it, without a server. Handlers are told at
// once, in the goroutine that puts an object in: nothing runs beside the attempts, so the order of
// events, and with it every decision, is the same each time.
type staticInformer struct {
	store    sortedIndexer
	handlers []cache.ResourceEventHandler
}

// A sortedIndexer lists in the order of names. A plain one lists at random, and of two volumes of
// the same size the scheduler takes the one that is listed first.
type sortedIndexer struct {
	cache.Indexer
}

// serveStatically makes a factory serve a kind by hand.
func serveStatically(factory informers.SharedInformerFactory, kind runtime.Object) *staticInformer {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	informer := &staticInformer{store: sortedIndexer{store}}
	factory.InformerFor(kind, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return informer })
	return informer
}

// set adds or updates an object and tells the handlers.
func (i *staticInformer) set(object runtime.Object) error {
	old, found, err := i.store.Get(object)
	if err != nil {
		return err
	}
	if err := i.store.Update(object); err != nil {
		return err
	}
	for _, handler := range i.handlers {
		if found {
			handler.OnUpdate(old, object)
		} else {
			handler.OnAdd(object, true)
		}
	}
	return nil
}

// An informerSet holds the informers of a scheduler by the type of their objects.
type informerSet map[reflect.Type]*staticInformer

// serveAll makes a factory serve every given kind by hand.
func serveAll(factory informers.SharedInformerFactory, kinds ...runtime.Object) informerSet {
	informers := informerSet{}
	for _, kind := range kinds {
		informers[reflect.TypeOf(kind)] = serveStatically(factory, kind)
	}
	return informers
}

// set hands an object to the informer of its type.
func (s informerSet) set(object runtime.Object) error {
	informer, found := s[reflect.TypeOf(object)]
	if !found {
		return fmt.Errorf("nothing serves objects of the type %T", object)
	}
	return informer.set(object)
}

// pod is a pod as the informer has it now.
func (s informerSet) pod(key string) (*v1.Pod, bool) {
	object, found, err := s[reflect.TypeFor[*v1.Pod]()].store.GetByKey(key)
	if err != nil || !found {
		return nil, false
	}
	pod, ok := object.(*v1.Pod)
	return pod, ok
}

func (i *staticInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, handler)
	for _, object := range i.store.List() {
		handler.OnAdd(object, true)
	}
	return synced{}, nil
}

func (i *staticInformer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(handler)
}

func (i *staticInformer) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(handler)
}

func (i *staticInformer) RemoveEventHandler(cache.ResourceEventHandlerRegistration) error { return nil }
func (i *staticInformer) GetStore() cache.Store                                           { return i.store }
func (i *staticInformer) GetIndexer() cache.Indexer                                       { return i.store }
func (i *staticInformer) GetController() cache.Controller                                 { return nil }
func (i *staticInformer) Run(<-chan struct{})                                             {}
func (i *staticInformer) RunWithContext(context.Context)                                  {}
func (i *staticInformer) HasSynced() bool                                                 { return true }
func (i *staticInformer) HasSyncedChecker() cache.DoneChecker                             { return synced{} }
func (i *staticInformer) LastSyncResourceVersion() string                                 { return "" }
func (i *staticInformer) IsStopped() bool                                                 { return false }
func (i *staticInformer) SetTransform(cache.TransformFunc) error                          { return nil }
func (i *staticInformer) SetWatchErrorHandler(cache.WatchErrorHandler) error              { return nil }
func (i *staticInformer) AddIndexers(indexers cache.Indexers) error {
	return i.store.AddIndexers(indexers)
}

func (i *staticInformer) SetWatchErrorHandlerWithContext(cache.WatchErrorHandlerWithContext) error {
	return nil
}

func (s sortedIndexer) List() []any { return sorted(s.Indexer.List()) }

func (s sortedIndexer) Index(name string, object any) ([]any, error) {
	objects, err := s.Indexer.Index(name, object)
	return sorted(objects), err
}

func (s sortedIndexer) ByIndex(name, value string) ([]any, error) {
	objects, err := s.Indexer.ByIndex(name, value)
	return sorted(objects), err
}

func sorted(objects []any) []any {
	slices.SortFunc(objects, func(a, b any) int { return cmp.Compare(key(a), key(b)) })
	return objects
}

// key is namespace/name; every object in an indexer has one.
func key(object any) string {
	name, err := cache.MetaNamespaceKeyFunc(object)
	if err != nil {
		return ""
	}
	return name
}

// synced says that everything has been told.
type synced struct{}

var closed = func() chan struct{} {
	channel := make(chan struct{})
	close(channel)
	return channel
}()

func (synced) HasSynced() bool                     { return true }
func (synced) HasSyncedChecker() cache.DoneChecker { return synced{} }
func (synced) Name() string                        { return "static informer" }
func (synced) Done() <-chan struct{}               { return closed }
