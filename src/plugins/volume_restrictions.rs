//! `VolumeRestrictions`: disks that take one pod at a time, and claims with the access mode
//! `ReadWriteOncePod`.

use std::collections::BTreeSet;

use crate::engine::cache::listers::Listers;
use crate::engine::cache::snapshot::{NodeView, PodView, Snapshot};
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::extension_points::{
    Change, EnqueueExtensions, FilterPlugin, FilterVerdict, PreFilterExtensions, PreFilterPlugin,
    PreFilterVerdict,
};
use crate::engine::framework::{
    ActionType, ClusterEventKind, CycleState, EventResource, Plugin, PluginError, PluginName,
    QueueingHint, Rejection,
};
use crate::model::pod_volume::PodVolume;
use crate::model::symbols::Symbol;
use crate::plugins::claims;

pub(crate) const NAME: &str = "VolumeRestrictions";
pub(crate) const REASON_DISK: &str = "node(s) had no available disk";
pub(crate) const REASON_CLAIM: &str = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";

/// The access mode of claims that one pod in the cluster may use.
const READ_WRITE_ONCE_POD: &str = "ReadWriteOncePod";

/// The plugin.
#[derive(Debug)]
pub(crate) struct VolumeRestrictions;

/// What is known of the pod's claims that one pod may use.
#[derive(Clone, Debug)]
struct ExclusiveClaims {
    names: BTreeSet<Symbol>,
    /// How many uses by other pods there are.
    uses: i64,
}

impl ExclusiveClaims {
    /// Counts the claims that pods with a node use. The error is the text about a claim that does
    /// not exist.
    fn of(pod: &PodView<'_>, cluster: Snapshot<'_>) -> Result<Self, String> {
        let names = exclusive_names(pod, cluster.listers())?;
        let uses = if names.is_empty() {
            0
        } else {
            count_used(&names, pod, cluster)
        };
        Ok(Self { names, uses })
    }

    /// How often `other` names one of the claims. Upstream does not compare the namespaces here.
    fn uses_by(&self, other: &PodView<'_>) -> i64 {
        let used = claims::named(other).filter(|name| self.names.contains(name));
        i64::try_from(used.count()).unwrap_or(i64::MAX)
    }
}

fn exclusive_names(pod: &PodView<'_>, listers: &Listers) -> Result<BTreeSet<Symbol>, String> {
    let mut names = BTreeSet::new();
    for name in claims::named(pod) {
        let claim = claims::find(pod, pod.symbols.text(name), listers)?;
        let mut modes = claim.spec.access_modes.iter().flatten();
        if modes.any(|mode| mode == READ_WRITE_ONCE_POD) {
            names.insert(name);
        }
    }
    Ok(names)
}

/// How many of the claims are in use, each once (`IsPVCUsedByPods`).
fn count_used(names: &BTreeSet<Symbol>, pod: &PodView<'_>, cluster: Snapshot<'_>) -> i64 {
    let mut used = BTreeSet::new();
    for other in cluster.nodes().flat_map(|node| node.pods()) {
        if other.class.claim_namespace == pod.class.claim_namespace {
            used.extend(claims::named(&other).filter(|name| names.contains(name)));
        }
    }
    i64::try_from(used.len()).unwrap_or(i64::MAX)
}

/// Whether the volume is a disk that pods may have to themselves (`needsRestrictionsCheck`).
fn is_disk(volume: &PodVolume) -> bool {
    matches!(
        volume,
        PodVolume::GcePersistentDisk { .. }
            | PodVolume::AwsElasticBlockStore { .. }
            | PodVolume::Rbd { .. }
            | PodVolume::Iscsi { .. }
    )
}

/// Whether two volumes are one disk that cannot be used twice (`isVolumeConflict`).
fn conflict(volume: &PodVolume, other: &PodVolume) -> bool {
    use PodVolume::{AwsElasticBlockStore, GcePersistentDisk, Iscsi, Rbd};
    match (volume, other) {
        (
            GcePersistentDisk { pd_name, read_only },
            GcePersistentDisk {
                pd_name: other_name,
                read_only: other_only,
            },
        ) => pd_name == other_name && !(*read_only && *other_only),
        (
            AwsElasticBlockStore { volume_id, .. },
            AwsElasticBlockStore {
                volume_id: other_id,
                ..
            },
        ) => volume_id == other_id,
        (
            Iscsi { iqn, read_only },
            Iscsi {
                iqn: other_iqn,
                read_only: other_only,
            },
        ) => iqn == other_iqn && !(*read_only && *other_only),
        (
            Rbd {
                monitors,
                pool,
                image,
                read_only,
            },
            Rbd {
                monitors: other_monitors,
                pool: other_pool,
                image: other_image,
                read_only: other_only,
            },
        ) => {
            monitors.iter().any(|name| other_monitors.contains(name))
                && (pool, image) == (other_pool, other_image)
                && !(*read_only && *other_only)
        }
        _ => false,
    }
}

/// Whether both pods name a claim. Its access mode is not looked at, as upstream.
fn share_a_claim(pod: &PodView<'_>, other: &PodView<'_>) -> bool {
    other.class.claim_namespace == pod.class.claim_namespace
        && claims::named(other).any(|name| claims::named(pod).any(|own| own == name))
}

/// Whether the pods have a disk that they cannot both have on one node.
fn share_a_disk(pod: &PodView<'_>, other: &PodView<'_>) -> bool {
    let mut disks = pod.class.volumes.iter().filter(|volume| is_disk(volume));
    disks.any(|disk| {
        let mut others = other.class.volumes.iter();
        others.any(|volume| conflict(disk, volume))
    })
}

/// Whether no pod on the node has a disk of the pod (`satisfyVolumeConflicts`).
fn disks_are_free(pod: &PodView<'_>, node: &NodeView<'_>) -> bool {
    let mut disks = pod.class.volumes.iter().filter(|volume| is_disk(volume));
    disks.all(|disk| {
        !node.pods().any(|other| {
            other
                .class
                .volumes
                .iter()
                .any(|volume| conflict(disk, volume))
        })
    })
}

impl Plugin for VolumeRestrictions {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_class_plugin(&self) -> Option<&dyn ClassPlugin> {
        Some(self)
    }

    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }

    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }

    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl ClassPlugin for VolumeRestrictions {
    /// What is known of volumes changes beside the nodes.
    fn inputs(&self, pod: &PodView<'_>, _: &Snapshot<'_>) -> Option<Vec<u64>> {
        pod.class.volumes.is_empty().then(Vec::new)
    }
}

impl PreFilterPlugin for VolumeRestrictions {
    fn pre_filter(
        &self,
        state: &mut CycleState,
        pod: &PodView<'_>,
        cluster: &Snapshot<'_>,
    ) -> PreFilterVerdict {
        let claims = match ExclusiveClaims::of(pod, *cluster) {
            Ok(claims) => claims,
            Err(reason) => {
                return PreFilterVerdict::Rejected(Rejection::unresolvable(NAME, reason));
            }
        };
        if claims.uses == 0 && !pod.class.volumes.iter().any(is_disk) {
            return PreFilterVerdict::Skip;
        }
        state.write(claims);
        PreFilterVerdict::Proceed
    }

    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        Some(self)
    }
}

impl PreFilterExtensions for VolumeRestrictions {
    fn add_pod(
        &self,
        state: &mut CycleState,
        _: &PodView<'_>,
        added: &PodView<'_>,
        _: &NodeView<'_>,
    ) {
        if let Some(claims) = state.read_mut::<ExclusiveClaims>() {
            claims.uses += claims.uses_by(added);
        }
    }

    fn remove_pod(
        &self,
        state: &mut CycleState,
        _: &PodView<'_>,
        removed: &PodView<'_>,
        _: &NodeView<'_>,
    ) {
        if let Some(claims) = state.read_mut::<ExclusiveClaims>() {
            claims.uses -= claims.uses_by(removed);
        }
    }
}

impl FilterPlugin for VolumeRestrictions {
    fn filter(&self, state: &CycleState, pod: &PodView<'_>, node: &NodeView<'_>) -> FilterVerdict {
        if !disks_are_free(pod, node) {
            return FilterVerdict::Rejected(Rejection::unschedulable(NAME, REASON_DISK));
        }
        match state.read::<ExclusiveClaims>() {
            None => FilterVerdict::Failed(PluginError {
                plugin: NAME,
                message: "cannot read \"PreFilterVolumeRestrictions\" from cycleState".to_owned(),
            }),
            Some(claims) if claims.uses > 0 => {
                FilterVerdict::Rejected(Rejection::unschedulable(NAME, REASON_CLAIM))
            }
            Some(_) => FilterVerdict::Fits,
        }
    }
}

impl EnqueueExtensions for VolumeRestrictions {
    fn events_to_register(&self) -> &[ClusterEventKind] {
        const EVENTS: [ClusterEventKind; 3] = [
            ClusterEventKind::new(EventResource::AssignedPod, ActionType::DELETE),
            // Upstream hears of new nodes only. Pods on a node that is gone use no claims any more.
            ClusterEventKind::new(EventResource::Node, ActionType::ADD.or(ActionType::DELETE)),
            ClusterEventKind::new(EventResource::PersistentVolumeClaim, ActionType::ADD),
        ];
        &EVENTS
    }

    fn queueing_hint(&self, change: &Change<'_>, pod: &PodView<'_>) -> QueueingHint {
        match change.event.resource {
            // Upstream asks for the pod's namespace first, which leaves out disks that pods of
            // other namespaces release.
            EventResource::AssignedPod => QueueingHint::queue_if(
                change
                    .other
                    .is_none_or(|other| share_a_disk(pod, &other) || share_a_claim(pod, &other)),
            ),
            EventResource::Node if change.event.action.intersects(ActionType::DELETE) => {
                QueueingHint::queue_if(claims::named(pod).next().is_some())
            }
            EventResource::PersistentVolumeClaim => {
                QueueingHint::queue_if(change.object.is_some_and(|key| claims::names(pod, key)))
            }
            _ => QueueingHint::Queue,
        }
    }
}

#[cfg(test)]
mod tests;
