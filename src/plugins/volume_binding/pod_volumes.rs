//! What the claims of a pod come to on a node (`FindPodVolumes`).

use std::sync::Arc;

use smallvec::SmallVec;

use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::Reason;
use crate::model::objects::{PersistentVolume, PersistentVolumeClaim};
use crate::plugins::volume_binding::assumed::EffectiveVolumes;
use crate::plugins::volume_binding::claims::{self, SortedClaims};
use crate::plugins::volume_binding::find_matching::{Candidates, requested};
use crate::plugins::volume_binding::migration::VolumePlace;
use crate::plugins::volume_binding::provisioning::{Provision, Provisioning};

pub(super) const REASON_NODE_CONFLICT: &str =
    "node(s) didn't match PersistentVolume's node affinity";
pub(super) const REASON_BIND_CONFLICT: &str =
    "node(s) didn't find available persistent volumes to bind";
pub(super) const REASON_NOT_ENOUGH_SPACE: &str = "node(s) did not have enough free storage";
pub(super) const REASON_NO_SUCH_VOLUME: &str =
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

/// The claims of a pod during one attempt, with all that does not depend on the node.
#[derive(Clone, Debug)]
pub(super) struct PodVolumes {
    /// Where the volumes of bound claims can be used; `None` if a volume is not there.
    bound: Arc<[Option<VolumePlace>]>,
    /// Claims to be bound when the node is known, smallest first.
    delayed: Arc<[DelayedClaim]>,
}

/// A claim to be bound when the node is known.
#[derive(Clone, Debug)]
struct DelayedClaim {
    claim: Arc<PersistentVolumeClaim>,
    /// Volumes that it can take, or why they cannot be told; `None` if a volume is already being
    /// made for it.
    candidates: Option<Result<Candidates, String>>,
    provisioning: Provisioning,
}

/// Volumes that are there for claims, and the claims that are left.
type Matched<'a> = (Vec<StaticBinding>, Vec<&'a DelayedClaim>);

/// What a pod takes on a node.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeVolumes {
    /// Volumes that are there (`StaticBindings`).
    pub(super) bindings: Vec<StaticBinding>,
    /// Volumes to be made (`DynamicProvisions`).
    pub(super) provisions: Vec<DynamicProvision>,
}

/// A volume for a claim.
#[derive(Clone, Debug)]
pub(super) struct StaticBinding {
    pub(super) claim: Arc<PersistentVolumeClaim>,
    pub(super) volume: Arc<PersistentVolume>,
}

/// A claim for which a volume is to be made.
#[derive(Clone, Debug)]
pub(super) struct DynamicProvision {
    pub(super) claim: Arc<PersistentVolumeClaim>,
    /// The capacity that was found on the node, where the driver tells it.
    pub(super) free_bytes: Option<i64>,
}

/// Whether the claims of a pod can be met on a node.
#[derive(Debug)]
pub(super) enum Found {
    Volumes(NodeVolumes),
    /// All reasons, in upstream's order.
    Conflicts(SmallVec<[Reason; 1]>),
}

// === impl DynamicProvision ===

impl DynamicProvision {
    pub(super) fn class(&self) -> &str {
        claims::claim_class(&self.claim)
    }
}

// === impl PodVolumes ===

impl PodVolumes {
    pub(super) fn of(pod: &PodView<'_>, sorted: SortedClaims, cluster: Snapshot<'_>) -> Self {
        let volumes = EffectiveVolumes::of(cluster);
        let (listers, symbols) = (cluster.listers(), pod.symbols);
        let bound = sorted.bound.iter().map(|claim| {
            let volume = volumes.volume(claims::volume_name(claim))?;
            Some(VolumePlace::of(volume, symbols))
        });
        let delayed = sorted.delayed.into_iter().map(|(claim, class)| {
            let candidates = claims::selected_node(&claim).is_none().then(|| {
                let volumes = volumes.volumes_of_class(claims::claim_class(&claim));
                Candidates::of(&claim, volumes, symbols)
            });
            let provisioning = Provisioning::of(&claim, &class, listers, symbols);
            DelayedClaim {
                claim,
                candidates,
                provisioning,
            }
        });
        Self {
            bound: bound.collect(),
            delayed: delayed.collect(),
        }
    }

    /// Whether every claim is bound: nothing is to be reserved.
    pub(super) fn are_all_bound(&self) -> bool {
        self.delayed.is_empty()
    }

    /// Judges one node. An error ends the attempt.
    pub(super) fn on(&self, node: &NodeView<'_>) -> Result<Found, String> {
        let (places_match, volumes_exist) = self.check_bound(node)?;
        let (mut is_bindable, mut has_space) = (true, true);
        let mut found = NodeVolumes::default();
        match self.find_volumes(node)? {
            None => is_bindable = false,
            Some((bindings, to_provision)) => {
                found.bindings = bindings;
                for delayed in to_provision {
                    match delayed.provisioning.on(node) {
                        Provision::Possible(free_bytes) => {
                            let claim = Arc::clone(&delayed.claim);
                            found
                                .provisions
                                .push(DynamicProvision { claim, free_bytes });
                            continue;
                        }
                        Provision::Impossible => is_bindable = false,
                        Provision::NoSpace => has_space = false,
                    }
                    break;
                }
            }
        }
        let reasons: SmallVec<[Reason; 1]> = [
            (places_match, REASON_NODE_CONFLICT),
            (is_bindable, REASON_BIND_CONFLICT),
            (has_space, REASON_NOT_ENOUGH_SPACE),
            (volumes_exist, REASON_NO_SUCH_VOLUME),
        ]
        .into_iter()
        .filter(|(holds, _)| !holds)
        .map(|(_, reason)| Reason::from(reason))
        .collect();
        Ok(if reasons.is_empty() {
            Found::Volumes(found)
        } else {
            Found::Conflicts(reasons)
        })
    }

    /// Whether the volumes of bound claims can be used on the node, and whether they exist. The
    /// first that says no decides (`checkBoundClaims`).
    fn check_bound(&self, node: &NodeView<'_>) -> Result<(bool, bool), String> {
        for place in &*self.bound {
            match place {
                None => return Ok((true, false)),
                Some(place) if !place.contains(node)? => return Ok((false, true)),
                Some(_) => {}
            }
        }
        Ok((true, true))
    }

    /// `None` if a volume is being made for another node.
    fn find_volumes(&self, node: &NodeView<'_>) -> Result<Option<Matched<'_>>, String> {
        let mut to_provision = Vec::new();
        let mut to_match = Vec::new();
        for delayed in &*self.delayed {
            match (&delayed.candidates, claims::selected_node(&delayed.claim)) {
                (_, Some(selected)) if selected != &**node.name() => return Ok(None),
                (Some(candidates), _) => to_match.push((delayed, candidates)),
                (None, _) => to_provision.push(delayed),
            }
        }
        to_match.sort_by_key(|(delayed, _)| requested(&delayed.claim));
        let mut bindings = Vec::<StaticBinding>::new();
        for (delayed, candidates) in to_match {
            let candidates = candidates.as_ref().map_err(Clone::clone)?;
            let is_taken = |volume: &PersistentVolume| {
                let mut bindings = bindings.iter();
                bindings.any(|binding| binding.volume.metadata.name == volume.metadata.name)
            };
            match candidates.find(node, is_taken).map(Arc::clone) {
                Some(volume) => bindings.push(StaticBinding {
                    claim: Arc::clone(&delayed.claim),
                    volume,
                }),
                None => to_provision.push(delayed),
            }
        }
        Ok(Some((bindings, to_provision)))
    }
}
