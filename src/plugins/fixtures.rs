//! Objects and small clusters for the tests of plugins and engine.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::engine::cache::Cache;
use crate::engine::cache::listers::{Listed, ObjectEvent};
use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::extension_points::{Change, FilterVerdict, PreFilterVerdict};
use crate::engine::framework::reservations::Reservations;
use crate::engine::framework::{ClusterEventKind, CycleState, Plugin, QueueingHint};
use crate::model::object_key::ObjectKey;
use crate::model::objects::{Node, Pod};
use crate::model::pod_info::PodInfo;
use crate::model::symbols::SymbolScope;
use crate::model::vocabulary::Vocabulary;

/// A pod being described.
#[derive(Clone, Debug)]
pub(crate) struct PodBuilder(Value);

/// A node being described.
#[derive(Clone, Debug)]
pub(crate) struct NodeBuilder(Value);

/// Describes the pod `default/NAME` with one container `c`.
pub(crate) fn make_pod(name: &str) -> PodBuilder {
    PodBuilder(json!({
        "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}")},
        "spec": {"schedulerName": "bayplan", "containers": [{"name": "c"}]},
        "status": {},
    }))
}

/// Describes a node with ample room and its host name as a label.
pub(crate) fn make_node(name: &str) -> NodeBuilder {
    NodeBuilder(json!({
        "metadata": {"name": name, "uid": format!("uid-{name}"),
            "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {"allocatable": {"cpu": "1000", "memory": "1000Gi", "pods": "1000"}},
    }))
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                match into.get_mut(&key) {
                    Some(known) if known.is_object() => merge(known, value),
                    _ => {
                        into.insert(key, value);
                    }
                }
            }
        }
        (into, from) => *into = from,
    }
}

fn push(into: &mut Value, key: &str, item: Value) {
    let Value::Object(into) = into else {
        panic!("{into} must be an object")
    };
    let list = into.entry(key).or_insert_with(|| json!([]));
    list.as_array_mut()
        .expect("the field must be a list")
        .push(item);
}

impl PodBuilder {
    fn container(&mut self) -> &mut Value {
        &mut self.0["spec"]["containers"][0]
    }

    pub(crate) fn spec(mut self, spec: Value) -> Self {
        merge(&mut self.0["spec"], spec);
        self
    }

    pub(crate) fn status(mut self, status: Value) -> Self {
        merge(&mut self.0["status"], status);
        self
    }

    pub(crate) fn metadata(mut self, metadata: Value) -> Self {
        merge(&mut self.0["metadata"], metadata);
        self
    }

    pub(crate) fn label(self, key: &str, value: &str) -> Self {
        self.metadata(json!({"labels": {key: value}}))
    }

    pub(crate) fn on(self, node: &str) -> Self {
        self.spec(json!({"nodeName": node}))
    }

    pub(crate) fn node_name(self, node: &str) -> Self {
        self.on(node)
    }

    pub(crate) fn priority(self, priority: i32) -> Self {
        self.spec(json!({"priority": priority}))
    }

    pub(crate) fn scheduler(self, name: &str) -> Self {
        self.spec(json!({"schedulerName": name}))
    }

    pub(crate) fn node_selector(self, key: &str, value: &str) -> Self {
        self.spec(json!({"nodeSelector": {key: value}}))
    }

    pub(crate) fn gate(mut self, name: &str) -> Self {
        push(
            &mut self.0["spec"],
            "schedulingGates",
            json!({"name": name}),
        );
        self
    }

    pub(crate) fn toleration(
        mut self,
        key: &str,
        operator: &str,
        value: &str,
        effect: &str,
    ) -> Self {
        let toleration =
            json!({"key": key, "operator": operator, "value": value, "effect": effect});
        push(&mut self.0["spec"], "tolerations", toleration);
        self
    }

    pub(crate) fn request(mut self, resource: &str, quantity: &str) -> Self {
        merge(
            self.container(),
            json!({"resources": {"requests": {resource: quantity}}}),
        );
        self
    }

    pub(crate) fn image(mut self, image: &str) -> Self {
        self.container()["image"] = image.into();
        self
    }

    pub(crate) fn host_port(mut self, ip: &str, protocol: &str, port: i32) -> Self {
        let port = json!({"hostIP": ip, "protocol": protocol, "hostPort": port});
        push(self.container(), "ports", port);
        self
    }

    pub(crate) fn object(&self) -> Pod {
        serde_json::from_value(self.0.clone()).expect("a described pod must decode")
    }
}

impl NodeBuilder {
    pub(crate) fn label(mut self, key: &str, value: &str) -> Self {
        self.0["metadata"]["labels"][key] = value.into();
        self
    }

    pub(crate) fn taint(mut self, key: &str, value: &str, effect: &str) -> Self {
        push(
            &mut self.0["spec"],
            "taints",
            json!({"key": key, "value": value, "effect": effect}),
        );
        self
    }

    pub(crate) fn unschedulable(mut self) -> Self {
        self.0["spec"]["unschedulable"] = true.into();
        self
    }

    pub(crate) fn allocatable(mut self, amounts: &[(&str, &str)]) -> Self {
        let amounts: Map<String, Value> = amounts
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).into()))
            .collect();
        self.0["status"]["allocatable"] = amounts.into();
        self
    }

    pub(crate) fn status(mut self, status: Value) -> Self {
        merge(&mut self.0["status"], status);
        self
    }

    pub(crate) fn image(mut self, names: &[&str], size: i64) -> Self {
        push(
            &mut self.0["status"],
            "images",
            json!({"names": names, "sizeBytes": size}),
        );
        self
    }

    pub(crate) fn object(&self) -> Node {
        serde_json::from_value(self.0.clone()).expect("a described node must decode")
    }
}

/// A few nodes, pods on them, and the pod in question.
#[derive(Debug)]
pub(crate) struct Cluster {
    cache: Cache,
    pod: Option<PodInfo>,
    gone: Option<PodInfo>,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            cache: Cache::new(1),
            pod: None,
            gone: None,
        }
    }
}

impl Cluster {
    pub(crate) fn new(nodes: impl IntoIterator<Item = NodeBuilder>) -> Self {
        let mut cluster = Self::default();
        for node in nodes {
            cluster
                .cache
                .apply_node(&node.object())
                .expect("a described node must be valid");
        }
        cluster
    }

    fn compile_pod(&mut self, pod: &PodBuilder) -> PodInfo {
        let vocabulary: &mut Vocabulary = &mut self.cache.vocabulary;
        vocabulary
            .compile_pod(&pod.object())
            .expect("a described pod must be valid")
    }

    pub(crate) fn with_running(mut self, pod: &PodBuilder) -> Self {
        let pod = self.compile_pod(pod);
        assert!(
            self.cache.add_pod(pod).is_none(),
            "a running pod must be described once"
        );
        self
    }

    pub(crate) fn with_pod(mut self, pod: &PodBuilder) -> Self {
        self.pod = Some(self.compile_pod(pod));
        self
    }

    /// A pod that was on a node until now.
    pub(crate) fn with_gone(mut self, pod: &PodBuilder) -> Self {
        self.gone = Some(self.compile_pod(pod));
        self
    }

    /// What plugins hold for pods on their way.
    pub(crate) fn set_reservations(&mut self, reservations: Reservations) {
        self.cache.reservations = reservations;
    }

    pub(crate) fn take_reservations(&mut self) -> Reservations {
        std::mem::take(&mut self.cache.reservations)
    }

    /// Adds an object that plugins look up by name.
    pub(crate) fn with_listed<K: Listed + DeserializeOwned>(mut self, object: Value) -> Self {
        let object = serde_json::from_value(object).expect("a described object must decode");
        self.cache
            .apply_listed(K::event(ObjectEvent::Applied(Arc::new(object))));
        self
    }

    pub(crate) fn compile<T>(&mut self, build: impl FnOnce(&mut SymbolScope<'_>) -> T) -> T {
        let mut scope = self.cache.vocabulary.symbols_mut().scope();
        build(&mut scope)
    }

    pub(crate) fn snapshot(&self) -> Snapshot<'_> {
        self.cache.snapshot()
    }

    pub(crate) fn view(&self) -> PodView<'_> {
        self.snapshot()
            .view(self.pod.as_ref().expect("the test must name a pod"))
    }

    fn nodes(&self) -> Vec<NodeView<'_>> {
        self.snapshot().nodes().collect()
    }

    /// What the plugin says and remembers at `PreFilter`.
    pub(crate) fn pre_filter(&self, plugin: &impl Plugin) -> (CycleState, PreFilterVerdict) {
        let mut state = CycleState::default();
        let verdict = plugin
            .as_pre_filter()
            .map(|pre_filter| pre_filter.pre_filter(&mut state, &self.view(), &self.snapshot()));
        (state, verdict.unwrap_or(PreFilterVerdict::Proceed))
    }

    /// Whether the change of `object` or of something on `node` may help the pod.
    pub(crate) fn hint(
        &self,
        plugin: &impl Plugin,
        event: ClusterEventKind,
        node: Option<&str>,
        object: Option<&ObjectKey>,
    ) -> QueueingHint {
        self.hint_about(plugin, event, node, None, object)
    }

    /// Whether a change of the pod called `other`, which runs or is gone, may help the pod.
    pub(crate) fn hint_about(
        &self,
        plugin: &impl Plugin,
        event: ClusterEventKind,
        node: Option<&str>,
        other: Option<&str>,
        object: Option<&ObjectKey>,
    ) -> QueueingHint {
        let extensions = plugin.enqueue_extensions().expect("the plugin must hint");
        let known = self.cache.pods().chain(&self.gone);
        let mut known = known.filter(|pod| Some(&*pod.key.name) == other);
        let change = Change {
            event,
            node: node.and_then(|name| self.snapshot().node(name)),
            other: known.next().map(|pod| self.snapshot().view(pod)),
            object,
            cluster: self.snapshot(),
        };
        extensions.queueing_hint(&change, &self.view())
    }

    /// Counts what the plugin reads about the pod, as the engine does before an attempt.
    pub(crate) fn counted(mut self, plugin: &impl Plugin) -> Self {
        let mut terms = Vec::new();
        if let Some(reader) = plugin.as_topology_reader() {
            reader.counted_terms(&self.view(), &self.snapshot(), &mut terms);
        }
        for term in terms {
            self.cache.count_term(term);
        }
        self
    }

    /// What `PreFilter` and then `Filter` say on every node, in the order of description; `Fits`
    /// everywhere if `PreFilter` leaves the plugin out.
    pub(crate) fn pre_filter_and_filter(&self, plugin: &impl Plugin) -> Vec<FilterVerdict> {
        let filter = plugin.as_filter().expect("the plugin must filter");
        let pre_filter = plugin.as_pre_filter().expect("the plugin must pre-filter");
        let mut state = CycleState::default();
        match pre_filter.pre_filter(&mut state, &self.view(), &self.snapshot()) {
            PreFilterVerdict::Skip => vec![FilterVerdict::Fits; self.nodes().len()],
            _ => self
                .nodes()
                .iter()
                .map(|node| filter.filter(&state, &self.view(), node))
                .collect(),
        }
    }

    /// The verdict of the plugin on every node, in the order of description.
    pub(crate) fn filter(&self, plugin: &impl Plugin) -> Vec<FilterVerdict> {
        let filter = plugin.as_filter().expect("the plugin must filter");
        let (state, _) = self.pre_filter(plugin);
        self.nodes()
            .iter()
            .map(|node| filter.filter(&state, &self.view(), node))
            .collect()
    }

    /// Raw and normalised scores of every node, in the order of description.
    pub(crate) fn scores(&self, plugin: &impl Plugin) -> (Vec<i64>, Vec<i64>) {
        let (score, nodes) = (
            plugin.as_score().expect("the plugin must score"),
            self.nodes(),
        );
        let mut state = CycleState::default();
        if let Some(pre_score) = plugin.as_pre_score() {
            pre_score.pre_score(&mut state, &self.view(), &nodes);
        }
        let raw: Vec<i64> = nodes
            .iter()
            .map(|node| {
                score
                    .score(&state, &self.view(), node)
                    .expect("the score must be given")
            })
            .collect();
        let mut normalized = raw.clone();
        score
            .normalize(&state, &self.view(), &nodes, &mut normalized)
            .expect("the scores must be normalised");
        (raw, normalized)
    }
}
