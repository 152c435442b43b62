//! Why the nodes will not do, as `PostFilter` plugins ask about it: node by node, or as it is kept
//! for the class of the pod.

use std::collections::BTreeMap;

use crate::engine::cache::nodes::Slot;
use crate::engine::classes::ranking::Ranking;
use crate::engine::classes::standing::Standing;
use crate::engine::diagnosis::Diagnosis;
use crate::engine::framework::failed_attempt::Refusals;
use crate::engine::framework::{Rejection, RejectionKind};
use crate::engine::scheduling_cycle::Evaluation;

/// What an evaluation found.
#[derive(Debug)]
pub(super) struct EachRefusal<'e> {
    by_slot: Vec<Option<&'e Rejection>>,
    others: Option<&'e Rejection>,
    helpable: usize,
}

/// What is kept of the class of the pod, none of whose nodes will do.
#[derive(Debug)]
pub(super) struct KeptRefusals<'c> {
    pub(super) standing: &'c Standing,
    pub(super) ranking: &'c Ranking,
    /// Why the places will not do, by the index of the group.
    pub(super) places: BTreeMap<u32, Rejection>,
    /// Why nodes will not do on which other pods hold room.
    pub(super) promised: BTreeMap<Slot, Rejection>,
}

fn is_helpable(refusal: &Rejection) -> bool {
    refusal.kind == RejectionKind::Unschedulable
}

// === impl EachRefusal ===

impl<'e> EachRefusal<'e> {
    pub(super) fn of(evaluation: &'e Evaluation<'_>, nodes: usize) -> Self {
        let mut by_slot = Vec::new();
        for (node, refusal) in &evaluation.rejected {
            let index = node.slot().index();
            if by_slot.len() <= index {
                by_slot.resize(index + 1, None);
            }
            by_slot[index] = Some(refusal);
        }
        let refusals = evaluation.rejected.iter().map(|(_, refusal)| refusal);
        let looked_at = refusals.filter(|refusal| is_helpable(refusal)).count();
        let others = evaluation.not_looked_at.as_ref();
        let not_looked_at = match others {
            Some(refusal) if is_helpable(refusal) => nodes - evaluation.rejected.len(),
            _ => 0,
        };
        Self {
            by_slot,
            others,
            helpable: looked_at + not_looked_at,
        }
    }
}

impl Refusals for EachRefusal<'_> {
    fn of(&self, slot: Slot) -> Option<&Rejection> {
        let looked_at = self.by_slot.get(slot.index()).copied().flatten();
        looked_at.or(self.others)
    }

    fn of_others(&self) -> Option<&Rejection> {
        self.others
    }

    fn helpable_count(&self) -> usize {
        self.helpable
    }
}

// === impl KeptRefusals ===

impl<'c> KeptRefusals<'c> {
    /// No refusals but those that nodes give for themselves.
    pub(super) fn new(standing: &'c Standing, ranking: &'c Ranking) -> Self {
        Self {
            standing,
            ranking,
            places: BTreeMap::new(),
            promised: BTreeMap::new(),
        }
    }

    /// Each refusal with how many nodes have it; one may come several times.
    fn counts(&self) -> impl Iterator<Item = (&Rejection, usize)> {
        let groups = self.ranking.groups();
        let places = groups.filter_map(|(group, nodes)| {
            let refusal = self.places.get(&group)?;
            Some((refusal, nodes.nodes().len()))
        });
        let promised = self.promised.values().map(|refusal| (refusal, 1));
        self.standing
            .refusals
            .counts()
            .chain(places)
            .chain(promised)
    }

    /// The refusals counted, in a cluster of `nodes` nodes.
    pub(super) fn diagnosis(&self, nodes: usize) -> Diagnosis {
        let mut diagnosis = Diagnosis {
            node_count: nodes,
            ..Diagnosis::default()
        };
        for (refusal, count) in self.counts() {
            diagnosis.add(refusal, count);
        }
        diagnosis
    }
}

impl Refusals for KeptRefusals<'_> {
    fn of(&self, slot: Slot) -> Option<&Rejection> {
        if let Some(refusal) = self.promised.get(&slot) {
            return Some(refusal);
        }
        match self.ranking.group_of(slot) {
            Some(group) => self.places.get(&group),
            None => self.standing.refusals.of(slot),
        }
    }

    fn of_others(&self) -> Option<&Rejection> {
        None
    }

    fn helpable_count(&self) -> usize {
        let helpable = self.counts().filter(|(refusal, _)| is_helpable(refusal));
        helpable.map(|(_, count)| count).sum()
    }
}
