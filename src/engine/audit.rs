//! Whether the engine's books agree with the objects: an invariant checker.
//!
//! Its caller knows the cluster by other means, such as the history of a simulation, and tells it
//! in a [`Truth`]. The checker counts everything once more from the objects, by name and text:
//! it shares nothing with the columns, counters and indices that it checks but the meaning of a
//! single pod's requests ([`pod_requests`](crate::model::requests::pod_requests)).
//!
//! It costs O(cluster × terms) and is meant for tests and simulations; [`Auditor::audit_places`] is
//! the part that costs O(cluster).

mod bounds;
mod expected;
mod leftovers;
mod nodes;
mod placement;
mod places;
mod preemptions;
mod readings;
mod reservations;
mod selector;
mod terms;
#[cfg(test)]
mod tests;
mod topology;
mod vocabulary;

pub use leftovers::audit_leftovers;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::engine::Engine;
use crate::engine::audit::expected::Expected;
use crate::engine::audit::readings::Readings;
use crate::engine::effect::EffectId;
use crate::model::objects::{Namespace, Node, Pod};
use crate::model::pod_info::{PodKey, PodUid};

/// What an engine must know: the objects as it was told of them last, and its own decisions.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// Nodes by name.
    pub nodes: BTreeMap<String, Arc<Node>>,
    /// Pods by name, without those that are set aside.
    pub pods: BTreeMap<PodKey, Arc<Pod>>,
    /// Namespaces by name.
    pub namespaces: BTreeMap<String, Arc<Namespace>>,
    /// The `schedulerName`s that are answered for.
    pub profiles: BTreeSet<String>,
    /// Pods that the engine has placed, until it was told that they have a node, are gone, or are
    /// not bound after all.
    pub placed: BTreeMap<PodUid, Placement>,
    /// Effects that were handed over and have not been reported yet.
    pub under_way: BTreeSet<EffectId>,
    /// The nodes on which pods without a node hold room; all others hold none.
    pub nominations: BTreeMap<PodUid, Nominated>,
    /// The version that objects had after the engine had them written, each as
    /// [`Reserved::object`](crate::engine::framework::reservations::Reserved::object).
    pub written: BTreeMap<String, u64>,
}

/// Where a pod without a node holds room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nominated {
    /// By what its object said last, or by what was decided since.
    pub node: Option<String>,
    /// Or there: it was decided, and the object has named older nominations only.
    pub decided: Option<String>,
}

/// A decision that the watch has not confirmed yet.
#[derive(Clone, Debug)]
pub struct Placement {
    /// The node.
    pub node: Arc<str>,
    /// The pod as it was decided about.
    pub pod: Arc<Pod>,
    /// The engine was told that the binding is done.
    pub is_bound: bool,
}

/// Something that is not as it should be: one sentence, with the names of the objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding(pub String);

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What was found so far.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, sentence: String) {
        self.0.push(Finding(sentence));
    }

    /// Finds it wrong unless both are equal.
    fn expect<T: PartialEq + fmt::Debug>(
        &mut self,
        what: impl FnOnce() -> String,
        has: &T,
        want: &T,
    ) {
        if has != want {
            self.add(format!("{} is {has:?} and should be {want:?}", what()));
        }
    }
}

/// A checker that remembers what it has read in an object, for as long as the object is there.
#[derive(Debug, Default)]
pub struct Auditor(Readings);

impl Auditor {
    /// Everything about `engine` that does not agree with `truth`, or not with itself.
    pub fn audit(&mut self, engine: &Engine, truth: &Truth) -> Vec<Finding> {
        let mut findings = self.audit_order(engine, truth);
        let expected = Expected::of(truth, &self.0);
        nodes::audit(engine, &expected, &mut findings);
        topology::audit(engine, truth, &expected, &mut findings);
        vocabulary::audit(engine, &mut findings);
        findings.0
    }

    /// Why the node called `node` does not take `pod` by what the engine was told, `others` being on
    /// it beside the pods of `truth`: no room, a port in use, a taint, a cordon, a label that is
    /// missing. Only for profiles that filter by all of these.
    pub fn audit_placement<'a>(
        &mut self,
        truth: &'a Truth,
        pod: &Pod,
        node: &'a str,
        others: impl IntoIterator<Item = &'a Pod>,
    ) -> Vec<Finding> {
        self.0.read(truth);
        placement::audit(&self.0, truth, pod, node, others)
    }

    /// The part that is cheap, without any recount: where each pod is, what is waited for, whose
    /// room is held, and what is bounded.
    pub fn audit_places(&mut self, engine: &Engine, truth: &Truth) -> Vec<Finding> {
        self.audit_order(engine, truth).0
    }

    fn audit_order(&mut self, engine: &Engine, truth: &Truth) -> Findings {
        self.0.read(truth);
        let mut findings = Findings::default();
        places::audit(engine, truth, &self.0, &mut findings);
        preemptions::audit(engine, truth, &mut findings);
        reservations::audit(engine, truth, &mut findings);
        bounds::audit(engine, truth, &mut findings);
        findings
    }
}
