//! The feature gates of kube-scheduler 1.37.2, and what Bayplan does about each (`PARITY` 3.5).
//!
//! Bayplan has no switches of its own behind them: a gate is accepted if it asks for what Bayplan
//! does anyway, and refused by name otherwise.

use crate::apis::profile_problem::did_you_mean;

/// What Bayplan does about a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureGateState {
    /// General and locked on in 1.37: kube-scheduler cannot switch it off either.
    Locked,
    /// Bayplan always does it.
    Always,
    /// Bayplan does not have it.
    Missing,
}

/// A feature gate of kube-scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGate {
    /// The name of the gate.
    pub name: &'static str,
    /// What Bayplan does about it.
    pub state: FeatureGateState,
}

/// A feature gate that cannot be set as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeatureGateError {
    /// It is a gate, but not one of kube-scheduler, or a misspelling.
    #[error("kube-scheduler 1.37 has no feature gate {name:?}; {remedy}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// A suggestion, or where the gate may belong.
        remedy: String,
    },
    /// It was asked for.
    #[error("Bayplan does not have the feature gate {0} yet; remove it or set it to false")]
    Missing(&'static str),
    /// It was to be switched off.
    #[error("the feature gate {0} cannot be switched off; remove it or set it to true")]
    AlwaysOn(&'static str),
}

impl FeatureGateError {
    /// The name as it was given.
    pub fn name(&self) -> &str {
        match self {
            Self::Unknown { name, .. } => name,
            Self::Missing(name) | Self::AlwaysOn(name) => name,
        }
    }
}

const fn gate(name: &'static str, state: FeatureGateState) -> FeatureGate {
    FeatureGate { name, state }
}

/// All gates that kube-scheduler 1.37.2 reads, by name.
pub const FEATURE_GATES: [FeatureGate; 47] = {
    use FeatureGateState::{Always, Locked, Missing};
    [
        gate("ComponentFlagz", Missing),
        gate("ComponentStatusz", Missing),
        gate("CompositePodGroup", Missing),
        gate("CoordinatedLeaderElection", Missing),
        gate("DRAAdminAccess", Locked),
        gate("DRAConsumableCapacity", Missing),
        gate("DRADerivedAttributes", Missing),
        gate("DRADeviceBindingConditions", Missing),
        gate("DRADeviceCompatibilityGroups", Missing),
        gate("DRADeviceTaintRules", Missing),
        gate("DRADeviceTaints", Missing),
        gate("DRAExtendedResource", Locked),
        gate("DRAFractionalCapacityRange", Missing),
        gate("DRAListTypeAttributes", Missing),
        gate("DRANodeAllocatableResources", Missing),
        gate("DRAOptionalNodeOperations", Missing),
        gate("DRAPartitionableDevices", Missing),
        gate("DRAPrioritizedList", Locked),
        gate("DRAResourceClaimDeviceStatus", Locked),
        gate("DRASchedulerFilterTimeout", Missing),
        gate("DRAWorkloadResourceClaims", Missing),
        gate("DynamicResourceAllocation", Locked),
        gate("GenericWorkload", Missing),
        gate("InPlacePodLevelResourcesVerticalScaling", Always),
        gate("InPlacePodVerticalScaling", Locked),
        gate("InPlacePodVerticalScalingSchedulerPreemption", Missing),
        gate("InterPodAffinityHostnameFastPath", Missing),
        gate("MatchLabelKeysInPodAffinity", Locked),
        gate("MatchLabelKeysInPodTopologySpread", Always),
        gate("MatchLabelKeysInPodTopologySpreadSelectorMerge", Always),
        gate("MutableCSINodeAllocatableCount", Locked),
        gate("NodeDeclaredFeatures", Locked),
        gate("NodeInclusionPolicyInPodTopologySpread", Locked),
        gate("NominatedNodeNameForExpectation", Always),
        gate("OpportunisticBatching", Missing),
        gate("PodGroupPreemptionPolicy", Missing),
        gate("PodLevelResources", Always),
        gate("PodSchedulingReadiness", Locked),
        gate("SchedulerAsyncAPICalls", Always),
        gate("SchedulerAsyncPreemption", Missing),
        gate("SchedulerPopFromBackoffQ", Always),
        gate("SchedulerPreQueueingHints", Missing),
        gate("StorageCapacityScoring", Always),
        gate("TaintTolerationComparisonOperators", Missing),
        gate("TopologyAwareWorkloadScheduling", Missing),
        gate("VolumeAttributesClass", Locked),
        gate("VolumeLimitScaling", Always),
    ]
};

/// May the gate `name` be set to `value`?
pub(super) fn check(name: &str, value: bool) -> Result<(), FeatureGateError> {
    let Some(gate) = FEATURE_GATES.iter().find(|gate| gate.name == name) else {
        let known = FEATURE_GATES.iter().map(|gate| gate.name);
        let remedy = match did_you_mean(name, known) {
            Some(likely) => format!("did you mean {likely}?"),
            None => "remove it, gates of other components have no meaning here".to_owned(),
        };
        return Err(FeatureGateError::Unknown {
            name: name.to_owned(),
            remedy,
        });
    };
    match (gate.state, value) {
        (FeatureGateState::Missing, true) => Err(FeatureGateError::Missing(gate.name)),
        (FeatureGateState::Locked | FeatureGateState::Always, false) => {
            Err(FeatureGateError::AlwaysOn(gate.name))
        }
        (FeatureGateState::Missing, false)
        | (FeatureGateState::Locked | FeatureGateState::Always, true) => Ok(()),
    }
}
