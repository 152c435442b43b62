//! Can a volume be made for a claim on a node (`checkVolumeProvisions`)?

use crate::engine::cache::listers::Listers;
use crate::model::node_selector::NodeLabels;
use crate::model::objects::{CsiStorageCapacity, PersistentVolumeClaim, StorageClass};
use crate::model::quantity::Quantity;
use crate::model::symbols::Symbols;
use crate::plugins::volume_binding::find_matching::requested_if_any;
use crate::plugins::volume_binding::place::{ByPlace, Place};

/// The provisioner of classes whose volumes are made by hand (`NotSupportedProvisioner`).
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// Where volumes for a claim can be made.
#[derive(Clone, Debug)]
pub(super) struct Provisioning {
    /// `None`: the class makes no volumes.
    place: Option<Place>,
    space: Space,
}

/// The free capacity that counts for a claim.
#[derive(Clone, Debug)]
enum Space {
    /// The driver does not tell.
    NotTracked,
    /// The capacities that are large enough, by name; each in bytes.
    Tracked(ByPlace<Option<i64>>),
}

/// What there is for a claim on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Provision {
    /// No volume can be made there.
    Impossible,
    /// There is not enough space.
    NoSpace,
    /// A volume can be made; the free bytes, where the driver tells them.
    Possible(Option<i64>),
}

impl Provisioning {
    pub(super) fn of(
        claim: &PersistentVolumeClaim,
        class: &StorageClass,
        listers: &Listers,
        symbols: &Symbols,
    ) -> Self {
        let makes_volumes = !class.provisioner.is_empty() && class.provisioner != NO_PROVISIONER;
        Self {
            place: makes_volumes.then(|| Place::of_topologies(&class.allowed_topologies, symbols)),
            space: Space::of(claim, class, listers, symbols),
        }
    }

    pub(super) fn on(&self, node: &impl NodeLabels) -> Provision {
        if !self
            .place
            .as_ref()
            .is_some_and(|place| place.contains(node))
        {
            return Provision::Impossible;
        }
        match &self.space {
            Space::NotTracked => Provision::Possible(None),
            Space::Tracked(capacities) => match capacities.first(node, |_| true) {
                Some(bytes) => Provision::Possible(*bytes),
                None => Provision::NoSpace,
            },
        }
    }
}

impl Space {
    /// Mirrors `hasEnoughCapacity`. Of several capacities that will do the first by namespace and
    /// name counts, where upstream takes any.
    fn of(
        claim: &PersistentVolumeClaim,
        class: &StorageClass,
        listers: &Listers,
        symbols: &Symbols,
    ) -> Self {
        let driver = listers.csi_drivers.get("", &class.provisioner);
        let is_tracked = driver.is_some_and(|driver| driver.spec.storage_capacity);
        let (true, Some(size)) = (is_tracked, requested_if_any(claim)) else {
            return Self::NotTracked;
        };
        let class = class.metadata.name.as_deref().unwrap_or_default();
        let capacities = listers.csi_storage_capacities.iter();
        let large_enough = capacities.filter(|capacity| {
            capacity.storage_class_name == class
                && volume_limit(capacity).is_some_and(|limit| limit.units() >= size.units())
        });
        Self::Tracked(ByPlace::new(large_enough.filter_map(|capacity| {
            let place = Place::of_selector(capacity.node_topology.as_ref()?, symbols);
            let free = capacity.capacity.as_ref();
            let free = free.and_then(|text| Quantity::parse(&text.0).ok());
            Some((place, free.map(Quantity::units)))
        })))
    }
}

/// The largest volume that can be made (`volumeLimit`).
pub(super) fn volume_limit(capacity: &CsiStorageCapacity) -> Option<Quantity> {
    let text = capacity
        .maximum_volume_size
        .as_ref()
        .or(capacity.capacity.as_ref())?;
    Quantity::parse(&text.0).ok()
}
