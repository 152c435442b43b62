//! Every pod is in exactly one place, and in the one where the objects want it.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::Engine;
use crate::engine::audit::readings::Readings;
use crate::engine::audit::{Findings, Nominated, Placement, Truth};
use crate::engine::binding_cycle::{BindingView, StageView};
use crate::engine::queue::Place;
use crate::model::objects::Pod;
use crate::model::pod_info::{PodInfo, PodKey, PodUid};

/// Where a pod is, by each of the books.
struct Whereabouts<'a> {
    queue: Option<Place>,
    node: Option<&'a PodInfo>,
    is_assumed: bool,
    binding: Option<&'a BindingView<'a>>,
    is_suspended: bool,
    is_parked: bool,
    /// For which node.
    nominated: Option<&'a str>,
}

/// The books of all pods.
struct Books<'a> {
    engine: &'a Engine,
    bindings: BTreeMap<&'a PodUid, BindingView<'a>>,
    nominations: BTreeMap<&'a PodUid, &'a str>,
}

pub(super) fn audit(engine: &Engine, truth: &Truth, readings: &Readings, findings: &mut Findings) {
    let bindings = engine.bindings.views().map(|view| (view.uid, view));
    let nominations = engine.cache.nominator.iter();
    let books = Books {
        engine,
        bindings: bindings.collect(),
        nominations: nominations.map(|(node, pod)| (&pod.uid, &**node)).collect(),
    };
    for (key, pod) in &truth.pods {
        let uid = readings.uid(pod);
        let found = books.whereabouts(&uid);
        let placed = truth.placed.get(&uid);
        let can_be_read = readings.pod(pod).is_some();
        let problem = if can_be_read && !pod.is_terminal() {
            found.problem(pod, placed, truth)
        } else {
            found.nowhere("has ended or cannot be read and should be nowhere")
        };
        match problem {
            None => {
                Books::audit_nomination(key, &found, truth.nominations.get(&uid), findings);
                if found.queue.is_some() {
                    books.compare(key, &uid, pod, findings);
                }
            }
            Some(problem) => findings.add(format!("pod {key} {problem}; it is {}", found.text())),
        }
    }
    books.audit_strangers(truth, readings, findings);
    books.audit_known(findings);
    audit_queue_counts(engine, findings);
    audit_quarantine(engine, truth, readings, findings);
}

impl<'a> Books<'a> {
    fn whereabouts(&self, uid: &PodUid) -> Whereabouts<'_> {
        Whereabouts {
            queue: self.engine.queue.place(uid),
            node: self.engine.cache.pod(uid),
            is_assumed: self.engine.cache.is_assumed(uid),
            binding: self.bindings.get(uid),
            is_suspended: self.engine.suspensions.contains(uid),
            is_parked: self.engine.suspensions.has_parked(uid),
            nominated: self.nominations.get(uid).copied(),
        }
    }

    /// Every pod of every book, with how it is called there.
    fn pods(&self) -> impl Iterator<Item = (&'a PodUid, &'a PodKey, &'static str)> {
        let engine = self.engine;
        let queued = engine.queue.pods();
        let queued = queued.map(|(pod, _)| (&pod.info.uid, &pod.info.key, "in the queue"));
        let cached = engine.cache.pods();
        let cached = cached.map(|pod| (&pod.uid, &pod.key, "on a node"));
        let nominated = engine.cache.nominator.iter();
        let nominated = nominated.map(|(_, pod)| (&pod.uid, &pod.key, "nominated"));
        queued.chain(cached).chain(nominated)
    }

    /// No book has a pod that is not there.
    fn audit_strangers(&self, truth: &Truth, readings: &Readings, findings: &mut Findings) {
        for (uid, key, place) in self.pods() {
            let there = truth.pods.get(key);
            if there.is_none_or(|pod| readings.uid(pod) != *uid) {
                findings.add(format!("pod {key} ({uid}) is {place} and is gone"));
            }
        }
        let mut others: Vec<(&PodUid, &str)> = Vec::new();
        others.extend(self.bindings.keys().map(|uid| (*uid, "on its way")));
        others.extend(self.engine.cache.assumed().map(|uid| (uid, "assumed")));
        let suspended = self.engine.suspensions.suspended();
        others.extend(suspended.map(|uid| (uid, "suspended")));
        let resumable = self.engine.suspensions.resumable();
        others.extend(resumable.map(|uid| (uid, "about to be resumed")));
        if others.is_empty() {
            return;
        }
        let pods = truth.pods.values();
        let there: BTreeSet<PodUid> = pods.map(|pod| readings.uid(pod)).collect();
        for (uid, place) in others {
            if !there.contains(uid) {
                findings.add(format!("a pod ({uid}) is {place} and is gone"));
            }
        }
    }

    /// The names of all pods that are somewhere, and of no others.
    fn audit_known(&self, findings: &mut Findings) {
        let known = &self.engine.known;
        let mut somewhere = 0;
        for (uid, key, place) in self.pods() {
            // Each once: who waits at `Permit` or holds room by a nomination is in two books.
            let is_queued = place != "in the queue" && self.engine.queue.get(uid).is_some();
            let is_placed = place == "nominated" && self.engine.cache.pod(uid).is_some();
            somewhere += usize::from(!is_queued && !is_placed);
            if known.get(key) != Some(uid) {
                let known = known.get(key);
                findings.add(format!(
                    "pod {key} ({uid}) is {place} and known as {known:?}"
                ));
            }
        }
        if somewhere == known.len() {
            return;
        }
        let somewhere: BTreeMap<&PodKey, &PodUid> =
            self.pods().map(|(uid, key, _)| (key, uid)).collect();
        for (key, uid) in known {
            if somewhere.get(key) != Some(&uid) {
                findings.add(format!("pod {key} ({uid}) is known and nowhere"));
            }
        }
    }

    /// The pod holds room where its object, or a decision that is newer, says so.
    fn audit_nomination(
        key: &PodKey,
        found: &Whereabouts<'_>,
        wanted: Option<&Nominated>,
        findings: &mut Findings,
    ) {
        let has = found.nominated;
        let decided = wanted.and_then(|wanted| wanted.decided.as_deref());
        let wanted = wanted.and_then(|wanted| wanted.node.as_deref());
        if decided.is_none() || has != decided {
            findings.expect(|| format!("the nomination of pod {key}"), &has, &wanted);
        }
    }

    /// What the books say of the pod is what its object says.
    fn compare(&self, key: &PodKey, uid: &PodUid, pod: &Pod, findings: &mut Findings) {
        let Some(queued) = self.engine.queue.get(uid) else {
            return;
        };
        let (info, about) = (&queued.info, |what: &str| {
            format!("the {what} of queued pod {key}")
        });
        findings.expect(|| about("name"), &info.key, key);
        let priority = pod.spec.priority.unwrap_or(0);
        findings.expect(|| about("priority"), &info.priority, &priority);
        let gates: Vec<&str> = info.scheduling_gates.iter().map(|gate| &**gate).collect();
        let wanted = pod.spec.scheduling_gates.iter();
        let wanted: Vec<&str> = wanted.map(|gate| gate.name.as_str()).collect();
        findings.expect(|| about("gates"), &gates, &wanted);
        let named = pod.status.nominated_node_name.as_deref();
        let named = named.filter(|node| !node.is_empty());
        findings.expect(|| about("node"), &info.nominated_node.as_deref(), &named);
        let terminating = pod.metadata.deletion_timestamp.is_some();
        findings.expect(|| about("termination"), &info.is_terminating, &terminating);
        let symbols = self.engine.cache.vocabulary.symbols();
        let labels = self.engine.cache.vocabulary.label_set(info.labels);
        let pairs = labels.labels.pairs().iter();
        let labels = pairs.map(|(key, value)| (symbols.text(*key), symbols.text(*value)));
        let wanted = pod.metadata.labels.as_ref();
        let same = |(key, value)| {
            wanted
                .and_then(|wanted| wanted.get(key))
                .map(|text| &**text)
                == Some(value)
        };
        let count = wanted.map_or(0, BTreeMap::len);
        if labels.len() != count || !labels.clone().all(same) {
            let labels: BTreeMap<&str, &str> = labels.collect();
            findings.add(format!(
                "{} are {labels:?} and should be {wanted:?}",
                about("labels")
            ));
        }
    }
}

impl Whereabouts<'_> {
    /// What is wrong with where the pod is.
    fn problem(&self, pod: &Pod, placed: Option<&Placement>, truth: &Truth) -> Option<String> {
        if let Some(node) = pod.bound_node() {
            return self.bound(node);
        }
        if let Some(placement) = placed {
            return self.on_its_way(placement);
        }
        if !truth.profiles.contains(pod.profile_name()) {
            return self.nowhere("is another scheduler's and should be nowhere");
        }
        self.pending(pod)
    }

    fn nowhere(&self, problem: &str) -> Option<String> {
        let is_nowhere = self.queue.is_none()
            && self.node.is_none()
            && self.binding.is_none()
            && !self.is_suspended;
        (!is_nowhere).then(|| problem.to_owned())
    }

    fn bound(&self, node: &str) -> Option<String> {
        let is_there = self.is_on(node) && !self.is_assumed;
        // Our own binding may be confirmed before its completion comes.
        let ours = self
            .binding
            .is_none_or(|binding| binding.stage == StageView::Binding && binding.node == node);
        let is_elsewhere = self.queue.is_some() || self.is_suspended || self.nominated.is_some();
        (!is_there || !ours || is_elsewhere).then(|| format!("should be on node {node} alone"))
    }

    fn on_its_way(&self, placement: &Placement) -> Option<String> {
        let node = &placement.node;
        let is_there = self.is_on(node) && self.is_assumed && self.nominated.is_none();
        let binding = match self.binding {
            None => placement.is_bound && self.queue.is_none(),
            Some(binding) => {
                let waits = binding.stage == StageView::Waiting;
                let queue = waits.then_some(Place::InFlight);
                !placement.is_bound
                    && binding.node == &**node
                    && self.queue == queue
                    && binding.queued.is_some() != waits
            }
        };
        let is_right = is_there && binding && !self.is_suspended;
        let state = if placement.is_bound {
            "bound and assumed"
        } else {
            "on its way to"
        };
        (!is_right).then(|| format!("should be {state} on node {node}"))
    }

    fn pending(&self, pod: &Pod) -> Option<String> {
        if self.node.is_some() || self.is_assumed || self.binding.is_some() {
            return Some("has no node and should wait".to_owned());
        }
        // A pod that is being deleted leaves the queue when it is tried.
        if self.queue.is_none() && pod.metadata.deletion_timestamp.is_none() {
            return Some("should be in the queue".to_owned());
        }
        let in_flight = self.queue == Some(Place::InFlight);
        let asks = self.is_suspended || self.is_parked;
        (in_flight && !asks || self.is_suspended && !in_flight)
            .then(|| "is in flight without a question, or asks without being in flight".to_owned())
    }

    fn is_on(&self, node: &str) -> bool {
        self.node
            .is_some_and(|pod| pod.node_name.as_deref() == Some(node))
    }

    fn text(&self) -> String {
        let mut places = Vec::new();
        places.extend(self.queue.map(|place| format!("in the queue ({place:?})")));
        places.extend(self.node.map(|pod| {
            let node = pod.node_name.as_deref().unwrap_or_default();
            let how = if self.is_assumed { "assumed on" } else { "on" };
            format!("{how} node {node}")
        }));
        places.extend(
            self.binding.map(|binding| {
                format!("on its way to node {} ({:?})", binding.node, binding.stage)
            }),
        );
        places.extend(
            self.nominated
                .map(|node| format!("nominated for node {node}")),
        );
        places.extend(self.is_suspended.then(|| "suspended".to_owned()));
        if places.is_empty() {
            return "nowhere".to_owned();
        }
        places.join(" and ")
    }
}

/// The counts of the queue's places are those of its pods.
fn audit_queue_counts(engine: &Engine, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    let mut counts = BTreeMap::<Place, usize>::new();
    for (pod, place) in engine.queue.pods() {
        if !seen.insert(&pod.info.uid) {
            findings.add(format!("pod {} is in the queue twice", pod.info.key));
        }
        *counts.entry(place).or_default() += 1;
        if (place == Place::Gated) != pod.gating_plugin.is_some() {
            let gate = pod.gating_plugin;
            findings.add(format!(
                "pod {} is in {place:?}, gated by {gate:?}",
                pod.info.key
            ));
        }
    }
    let places = [
        Place::Active,
        Place::Backoff,
        Place::Unschedulable,
        Place::Gated,
        Place::InFlight,
    ];
    for place in places {
        let count = counts.get(&place).copied().unwrap_or(0);
        findings.expect(
            || format!("the count of {place:?}"),
            &engine.queue.count(place),
            &count,
        );
    }
}

/// What cannot be read is in quarantine, and nothing else.
fn audit_quarantine(engine: &Engine, truth: &Truth, readings: &Readings, findings: &mut Findings) {
    let nodes = truth
        .nodes
        .iter()
        .filter(|(_, node)| readings.node(node).is_none());
    let nodes = nodes.map(|(name, _)| format!("node {name}"));
    let answered =
        |pod: &Pod| pod.bound_node().is_some() || truth.profiles.contains(pod.profile_name());
    let pods = truth.pods.iter();
    let pods =
        pods.filter(|(_, pod)| readings.pod(pod).is_none() && !pod.is_terminal() && answered(pod));
    let pods = pods.map(|(key, _)| format!("pod {key}"));
    let wanted: BTreeSet<String> = nodes.chain(pods).collect();
    let has: BTreeSet<String> = engine.quarantine.iter().map(|(name, _)| name).collect();
    findings.expect(|| "the quarantine".to_owned(), &has, &wanted);
}
