//! Forgets classes and standings that nobody comes for any more: workloads and namespaces come and
//! go, and each of these has an entry for every node.

use crate::engine::classes::Classes;
use crate::model::map::IdMap;
use crate::model::vocabulary::{PodClassId, Vocabulary};

/// Something is forgotten when so many pods in a row were of other classes: judging all nodes anew
/// costs as much as some hundreds of pods of a known class, so it hardly shows.
const DISUSED_AFTER: u64 = 16_384;
/// The same where there is no pod of the class left. A Job whose pods come one after the other, or
/// a Deployment that is scaled to nothing, soon has others.
const GONE_AFTER: u64 = 1_024;

impl Classes {
    /// Forgets what was not used for long.
    pub(super) fn forget_disused(&mut self, vocabulary: &mut Vocabulary) {
        let of_classes = self.kept.values().map(|kept| kept.last_used);
        let of_standings = self.standings.values().map(|kept| kept.last_used);
        let longest = of_classes.chain(of_standings).min().unwrap_or(self.uses);
        if self.uses.saturating_sub(longest) <= GONE_AFTER {
            return;
        }
        let own = self.own_references();
        let is_gone = |class: PodClassId| {
            let own = own.get(&class).copied().unwrap_or(0);
            vocabulary.references_to_pod_class(class) <= own
        };
        let uses = self.uses;
        let is_disused = |last_used: u64, class: PodClassId| {
            let unused = uses.saturating_sub(last_used);
            unused > DISUSED_AFTER || (unused > GONE_AFTER && is_gone(class))
        };
        let classes = self.kept.iter();
        let classes: Vec<_> = classes
            .filter(|(_, kept)| is_disused(kept.last_used, kept.pod.class))
            .map(|(key, _)| key.clone())
            .collect();
        let standings = self.standings.iter();
        let standings: Vec<_> = standings
            .filter(|(_, kept)| is_disused(kept.last_used, kept.pod.class))
            .map(|(number, _)| *number)
            .collect();
        for key in &classes {
            self.forget(key, vocabulary);
        }
        for number in standings {
            self.forget_standing(number, vocabulary);
        }
    }

    /// How many references to each class of pods are held here.
    fn own_references(&self) -> IdMap<PodClassId, u32> {
        let mut own = IdMap::default();
        for pod in self.pods() {
            *own.entry(pod.class).or_insert(0) += 1;
        }
        own
    }
}
