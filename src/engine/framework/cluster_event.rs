//! What can happen in a cluster that may make a rejected pod fit.

use std::fmt;

/// The kind of object that changed (`framework.EventResource`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventResource {
    /// A pod that has a node, by the API server or as assumed.
    AssignedPod,
    /// A pod that has none, other than the one that is asked about.
    UnscheduledPod,
    /// The rejected pod itself.
    TargetPod,
    /// A node.
    Node,
    /// A namespace. Upstream has no such event.
    Namespace,
    /// A persistent volume.
    PersistentVolume,
    /// A claim on a volume.
    PersistentVolumeClaim,
    /// A storage class.
    StorageClass,
    /// What a CSI driver says of a node.
    CsiNode,
    /// A CSI driver.
    CsiDriver,
    /// Free capacity of a CSI driver.
    CsiStorageCapacity,
    /// A volume being attached.
    VolumeAttachment,
    /// A claim on devices.
    ResourceClaim,
    /// Devices of a node.
    ResourceSlice,
    /// A class of devices.
    DeviceClass,
    /// Anything; moves every pod.
    Wildcard,
}

/// What was done to the object, a set of bits (`framework.ActionType`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionType(u32);

/// A kind of change, as plugins register for it and as it is told to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterEventKind {
    /// What changed.
    pub resource: EventResource,
    /// How.
    pub action: ActionType,
    /// A name of its own instead of resource and action (`UnschedulableTimeout`, …).
    pub label: Option<&'static str>,
}

/// Whether a change may help a pod that the plugin rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueingHint {
    /// It cannot help.
    Skip,
    /// Try again.
    Queue,
}

/// What the hints of a plugin read of a pod: pods that have it in common get the same hints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HintScope {
    /// Its class, its priority and whether it evicts others.
    Class,
    /// Beside these its namespace, its labels and its controller.
    Labels,
    /// Anything, its name for instance.
    #[default]
    Pod,
}

// === impl QueueingHint ===

impl QueueingHint {
    /// Try again if the change may help.
    pub fn queue_if(may_help: bool) -> Self {
        if may_help { Self::Queue } else { Self::Skip }
    }
}

// === impl ActionType ===

impl ActionType {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// The object is new.
    pub const ADD: Self = Self(1);
    /// The object is gone.
    pub const DELETE: Self = Self(1 << 1);
    /// Allocatable of a node changed.
    pub const UPDATE_NODE_ALLOCATABLE: Self = Self(1 << 2);
    /// Labels of a node changed.
    pub const UPDATE_NODE_LABEL: Self = Self(1 << 3);
    /// Taints or the cordon of a node changed.
    pub const UPDATE_NODE_TAINT: Self = Self(1 << 4);
    /// Conditions of a node changed.
    pub const UPDATE_NODE_CONDITION: Self = Self(1 << 5);
    /// Annotations of a node changed.
    pub const UPDATE_NODE_ANNOTATION: Self = Self(1 << 6);
    /// Declared features of a node changed.
    pub const UPDATE_NODE_DECLARED_FEATURE: Self = Self(1 << 7);
    /// Labels of a pod changed.
    pub const UPDATE_POD_LABEL: Self = Self(1 << 8);
    /// A pod needs less than before.
    pub const UPDATE_POD_SCALE_DOWN: Self = Self(1 << 9);
    /// A pod needs more than before.
    pub const UPDATE_POD_SCALE_UP: Self = Self(1 << 10);
    /// A pod tolerates more than before.
    pub const UPDATE_POD_TOLERATION: Self = Self(1 << 11);
    /// The last gate of a pod was removed.
    pub const UPDATE_POD_SCHEDULING_GATES_ELIMINATED: Self = Self(1 << 12);
    /// A claim made for the pod came to be.
    pub const UPDATE_POD_GENERATED_RESOURCE_CLAIM: Self = Self(1 << 13);
    /// Any change of an object that stays.
    pub const UPDATE: Self = Self(((1 << 14) - 1) & !0b11);
    /// Everything.
    pub const ALL: Self = Self((1 << 14) - 1);

    /// Both.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether they have something in common.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether all of `other` is in it.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether it is nothing.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The single actions in the set.
    pub fn each(self) -> impl Iterator<Item = Self> {
        (0..14)
            .map(|bit| Self(1 << bit))
            .filter(move |bit| self.intersects(*bit))
    }

    fn label(self) -> &'static str {
        match self {
            Self::ADD => "Add",
            Self::DELETE => "Delete",
            Self::UPDATE_NODE_ALLOCATABLE => "UpdateNodeAllocatable",
            Self::UPDATE_NODE_LABEL => "UpdateNodeLabel",
            Self::UPDATE_NODE_TAINT => "UpdateNodeTaint",
            Self::UPDATE_NODE_CONDITION => "UpdateNodeCondition",
            Self::UPDATE_NODE_ANNOTATION => "UpdateNodeAnnotation",
            Self::UPDATE_NODE_DECLARED_FEATURE => "UpdateNodeDeclaredFeature",
            Self::UPDATE_POD_LABEL => "UpdatePodLabel",
            Self::UPDATE_POD_SCALE_DOWN => "UpdatePodScaleDown",
            Self::UPDATE_POD_SCALE_UP => "UpdatePodScaleUp",
            Self::UPDATE_POD_TOLERATION => "UpdatePodToleration",
            Self::UPDATE_POD_SCHEDULING_GATES_ELIMINATED => "UpdatePodSchedulingGatesEliminated",
            Self::UPDATE_POD_GENERATED_RESOURCE_CLAIM => "UpdatePodGeneratedResourceClaim",
            Self::ALL => "All",
            _ => "Update",
        }
    }
}

// === impl ClusterEventKind ===

impl ClusterEventKind {
    /// A change of `resource` by `action`.
    pub const fn new(resource: EventResource, action: ActionType) -> Self {
        Self {
            resource,
            action,
            label: None,
        }
    }

    /// An event with a name of its own that moves every pod it is about.
    pub const fn wildcard(label: &'static str) -> Self {
        Self {
            resource: EventResource::Wildcard,
            action: ActionType::ALL,
            label: Some(label),
        }
    }

    /// Pods that waited too long in the unschedulable pool (`EventUnschedulableTimeout`).
    pub const UNSCHEDULABLE_TIMEOUT: Self = Self::wildcard("UnschedulableTimeout");
    /// A plugin woke the pod (`EventForceActivate`).
    pub const FORCE_ACTIVATE: Self = Self::wildcard("ForceActivate");
    /// An attempt failed (`EventScheduleAttemptFailure`).
    pub const SCHEDULE_ATTEMPT_FAILURE: Self = Self::wildcard("ScheduleAttemptFailure");
    /// The backoff ended (`EventBackoffComplete`).
    pub const BACKOFF_COMPLETE: Self = Self::wildcard("BackoffComplete");
    /// Taken from the backoff queue early, as nothing else was ready (`PopFromBackoffQ`).
    pub const POP_FROM_BACKOFF_QUEUE: Self = Self::wildcard("PopFromBackoffQ");

    /// Whether it moves every pod.
    pub fn is_wildcard(&self) -> bool {
        self.resource == EventResource::Wildcard
    }

    /// Whether a plugin that registered `self` is to be asked about `happened`
    /// (`MatchClusterEvents`). An update of no particular kind concerns only those who registered
    /// for any update.
    pub fn matches(&self, happened: &Self) -> bool {
        let is_general = happened.action == ActionType::UPDATE;
        self.is_wildcard()
            || (self.resource == happened.resource
                && self.action.intersects(happened.action)
                && (!is_general || self.action.contains(ActionType::UPDATE)))
    }
}

impl fmt::Display for ClusterEventKind {
    /// The label of metrics: `AssignedPodDelete`, `NodeUpdateNodeTaint`, `UnschedulableTimeout`.
    /// An object that changed in several ways goes by the first of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(label) = self.label {
            return f.write_str(label);
        }
        let whole = [ActionType::ALL, ActionType::UPDATE].contains(&self.action);
        let first = self
            .action
            .each()
            .next()
            .filter(|_| !whole)
            .unwrap_or(self.action);
        write!(f, "{}{}", self.resource.label(), first.label())
    }
}

// === impl EventResource ===

impl EventResource {
    fn label(self) -> &'static str {
        match self {
            Self::AssignedPod => "AssignedPod",
            Self::UnscheduledPod => "UnscheduledPod",
            Self::TargetPod => "TargetPod",
            Self::Node => "Node",
            Self::Namespace => "Namespace",
            Self::PersistentVolume => "PersistentVolume",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            Self::StorageClass => "storage.k8s.io/StorageClass",
            Self::CsiNode => "storage.k8s.io/CSINode",
            Self::CsiDriver => "storage.k8s.io/CSIDriver",
            Self::CsiStorageCapacity => "storage.k8s.io/CSIStorageCapacity",
            Self::VolumeAttachment => "storage.k8s.io/VolumeAttachment",
            Self::ResourceClaim => "resource.k8s.io/ResourceClaim",
            Self::ResourceSlice => "resource.k8s.io/ResourceSlice",
            Self::DeviceClass => "resource.k8s.io/DeviceClass",
            Self::Wildcard => "*",
        }
    }
}
