//! What a cluster is mostly about.

use crate::generator::dice::Dice;
use crate::generator::families::{Families, Family};

/// Where every family has its say, few of them decide: a pod that fits nowhere for want of CPU shows
/// nothing of its volumes. Some clusters therefore leave room for one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focus {
    /// A little of everything.
    Mixed,
    /// Nodes with ample room, so that volumes decide.
    Storage,
    /// Full nodes, and pods that are worth more than those that run.
    Eviction,
}

impl Focus {
    /// One of those whose family the run has.
    pub(super) fn draw(families: &Families, dice: &mut Dice) -> Self {
        let drawn = match dice.below(100) {
            0..=34 => Self::Storage,
            35..=71 => Self::Eviction,
            _ => Self::Mixed,
        };
        if drawn.family().is_none_or(|family| families.has(family)) {
            drawn
        } else {
            Self::Mixed
        }
    }

    /// The family that is always there.
    pub(super) const fn family(self) -> Option<Family> {
        match self {
            Self::Mixed => None,
            Self::Storage => Some(Family::Volumes),
            Self::Eviction => Some(Family::Preemption),
        }
    }

    /// Of 100 clusters, how many have a given other family.
    pub(super) const fn share_of_families(self) -> usize {
        match self {
            Self::Mixed => 60,
            Self::Storage => 30,
            Self::Eviction => 25,
        }
    }

    /// Of 100 pods, how many have volumes.
    pub(super) const fn share_of_volumes(self) -> usize {
        match self {
            Self::Mixed | Self::Eviction => 35,
            Self::Storage => 90,
        }
    }

    /// Of 100 pods, between how many and how many run already.
    pub(super) const fn share_of_running(self) -> (usize, usize) {
        match self {
            Self::Mixed => (10, 50),
            Self::Storage => (10, 35),
            Self::Eviction => (40, 65),
        }
    }

    /// Of 100 containers, how many are large: of pods that run and of pods that wait.
    pub(super) fn pressure(self, dice: &mut Dice, families: usize) -> (usize, usize) {
        match self {
            // The fewer families refuse nodes, the more is left to the requests.
            Self::Mixed => {
                let drawn = *dice.pick(&[&5, &10, &25]) + 4 * 10_usize.saturating_sub(families);
                (drawn, drawn)
            }
            Self::Storage => (2, 5),
            Self::Eviction => (75, 80),
        }
    }
}
