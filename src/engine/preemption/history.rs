//! What is remembered of preemptions that were carried out, so that none is repeated in vain.
//!
//! A pod whose victims are gone and that still does not fit the node, for the reason for which it
//! did not fit before, although nobody else came to the node: there the dry run was wrong, and
//! would be again. The node is no candidate for that pod until something of the two changes, or
//! for [`MEMORY`]. Where others came, room is made again, but only [`TRIES_MAX`] times in a row.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::engine::cache::snapshot::Snapshot;
use crate::engine::framework::Rejection;
use crate::engine::framework::earlier_preemptions::VainNode;
use crate::engine::preemption::RememberedView;
use crate::model::pod_info::{PodInfo, PodUid};
use crate::model::timestamp::Timestamp;

/// How long a preemption is remembered: as long as a pod waits for an event at most
/// (`DefaultPodMaxInUnschedulablePodsDuration`).
const MEMORY: Duration = Duration::from_mins(5);

/// How often a pod makes room on one node that others take. Two schedulers that place and evict
/// in turn stop here.
const TRIES_MAX: u32 = 3;

/// Nodes that are remembered for one pod at most.
const NODES_MAX: usize = 64;

/// Preemptions of the last minutes by preemptor.
#[derive(Debug, Default)]
pub(super) struct History(BTreeMap<PodUid, Vec<Tried>>);

/// A node on which room was made for a pod.
#[derive(Debug)]
struct Tried {
    node: Arc<str>,
    /// Why the pod did not fit before.
    refused: Option<Rejection>,
    /// Who stayed on the node.
    stayed: BTreeSet<PodUid>,
    times: u32,
    last: Timestamp,
    /// All victims have gone.
    room_made: bool,
    /// Some should have gone long ago and have not.
    is_overdue: bool,
}

// === impl History ===

impl History {
    /// Victims on `node` are about to be evicted for the pod; `stayed` are the others there.
    pub(super) fn note(
        &mut self,
        preemptor: &PodUid,
        node: &Arc<str>,
        refused: Option<&Rejection>,
        stayed: BTreeSet<PodUid>,
        now: Timestamp,
    ) {
        let tries = self.0.entry(preemptor.clone()).or_default();
        let known = tries.iter().position(|tried| tried.node == *node);
        let earlier = known.map(|at| tries.remove(at));
        let again = earlier.filter(|tried| tried.refused.as_ref() == refused);
        if tries.len() >= NODES_MAX {
            tries.remove(0);
        }
        tries.push(Tried {
            node: Arc::clone(node),
            refused: refused.cloned(),
            stayed,
            times: again.map_or(0, |tried| tried.times) + 1,
            last: now,
            room_made: false,
            is_overdue: false,
        });
    }

    /// All victims on `node` have gone.
    pub(super) fn room_made(&mut self, preemptor: &PodUid, node: &str) {
        if let Some(tried) = self.tried(preemptor, node) {
            tried.room_made = true;
            tried.is_overdue = false;
        }
    }

    /// The evictions on `node` came to nothing, which was not the fault of the choice.
    pub(super) fn not_tried(&mut self, preemptor: &PodUid, node: &str) {
        if let Some(tried) = self.tried(preemptor, node) {
            tried.times -= 1;
        }
    }

    /// Victims on `node` should have gone long ago.
    pub(super) fn overdue(&mut self, preemptor: &PodUid, node: &Arc<str>, now: Timestamp) {
        if self.tried(preemptor, node).is_none() {
            // They were evicted by an earlier leader.
            self.note(preemptor, node, None, BTreeSet::new(), now);
        }
        if let Some(tried) = self.tried(preemptor, node) {
            tried.is_overdue = true;
            tried.last = now;
        }
    }

    fn tried(&mut self, preemptor: &PodUid, node: &str) -> Option<&mut Tried> {
        let tries = self.0.get_mut(preemptor)?;
        tries.iter_mut().find(|tried| *tried.node == *node)
    }

    /// The pod is gone, placed, or another one than it was.
    pub(super) fn forget(&mut self, preemptor: &PodUid) {
        self.0.remove(preemptor);
    }

    /// The node is another one than it was. Gives the pods that were kept from it.
    pub(super) fn forget_node(&mut self, node: &str) -> Vec<PodUid> {
        self.forget_where(|tried| *tried.node == *node)
    }

    /// The nodes on which evictions for `pod` would be in vain.
    pub(super) fn vain_nodes(&self, pod: &PodInfo, cluster: Snapshot<'_>) -> Vec<VainNode> {
        let tries = self.0.get(&pod.uid).into_iter().flatten();
        tries
            .filter(|tried| tried.is_in_vain(pod, cluster))
            .map(|tried| VainNode {
                node: Arc::clone(&tried.node),
                refused: tried.refused.clone().filter(|_| !tried.is_overdue),
            })
            .collect()
    }

    pub(super) fn views(&self) -> impl Iterator<Item = RememberedView<'_>> {
        self.0.iter().flat_map(|(preemptor, tries)| {
            tries.iter().map(move |tried| RememberedView {
                preemptor,
                node: &tried.node,
                forgotten_at: tried.last + MEMORY,
            })
        })
    }

    pub(super) fn next_expiry(&self) -> Option<Timestamp> {
        let tries = self.0.values().flatten();
        tries.map(|tried| tried.last + MEMORY).min()
    }

    /// Forgets what is too old. Gives the pods that were kept from a node.
    pub(super) fn expire(&mut self, now: Timestamp) -> Vec<PodUid> {
        self.forget_where(|tried| tried.last + MEMORY <= now)
    }

    fn forget_where(&mut self, forgets: impl Fn(&Tried) -> bool) -> Vec<PodUid> {
        let mut kept_away = Vec::new();
        self.0.retain(|preemptor, tries| {
            let forgotten = tries.extract_if(.., |tried| forgets(tried));
            if forgotten.filter(Tried::may_be_in_vain).count() > 0 {
                kept_away.push(preemptor.clone());
            }
            !tries.is_empty()
        });
        kept_away
    }
}

// === impl Tried ===

impl Tried {
    /// Whether further evictions would be in vain, or may be if nobody came to the node.
    fn may_be_in_vain(&self) -> bool {
        self.is_overdue || self.times >= TRIES_MAX || self.room_made
    }

    fn is_in_vain(&self, pod: &PodInfo, cluster: Snapshot<'_>) -> bool {
        let others_came = || {
            let on_node = cluster.node(&self.node).into_iter();
            let came = on_node
                .flat_map(|node| node.pods().collect::<Vec<_>>())
                .any(|other| !self.stayed.contains(&other.info.uid));
            came || cluster
                .nominated_pods(&self.node)
                .any(|other| other.info.uid != pod.uid && other.info.priority >= pod.priority)
        };
        self.may_be_in_vain() && (self.is_overdue || self.times >= TRIES_MAX || !others_came())
    }
}
