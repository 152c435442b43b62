//! Features that nodes declare and pods need (`component-helpers/nodedeclaredfeatures`).

use crate::model::objects::pod::PodSpec;

/// A feature by name, and what makes a pod need it when it is placed.
type Feature = (&'static str, fn(&PodSpec) -> bool);

/// The features that kube-scheduler 1.37 knows (`features.AllFeatures`), sorted by name. Those that no
/// pod needs matter to updates of pods, or to plugins that look at them themselves.
const KNOWN: [Feature; 9] = [
    ("DRANodeAllocatableResources", |_| false),
    ("DRAOptionalNodeOperations", |_| false),
    ("ExtendWebSocketsToKubelet", |_| false),
    ("InPlacePodLevelResourcesVerticalScaling", |_| false),
    ("InPlacePodVerticalScalingInitContainers", |_| false),
    ("InPlacePodVerticalScalingMemoryBackedVolumes", |_| false),
    (
        "RestartAllContainersOnContainerExits",
        restarts_all_containers,
    ),
    (
        "UserNamespacesHostNetworkSupport",
        has_user_namespace_on_host_network,
    ),
    ("VolumeBindMountOptions", has_bind_mount_options),
];

/// A set of features that are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FeatureSet(u16);

impl FeatureSet {
    /// What a node declares, which is sorted; features that are not known are left out (`TryMap`).
    pub fn declared(features: &[String]) -> Self {
        let mut set = Self::default();
        let mut declared = features.iter().peekable();
        for (index, (name, _)) in KNOWN.iter().enumerate() {
            // As upstream, which walks both lists once: what is out of order is not found.
            while declared
                .next_if(|feature| feature.as_str() < *name)
                .is_some()
            {}
            if declared
                .next_if(|feature| feature.as_str() == *name)
                .is_some()
            {
                set.0 |= 1 << index;
            }
        }
        set
    }

    /// What a pod needs of its node (`InferForPodScheduling`).
    pub fn required(spec: &PodSpec) -> Self {
        let mut set = Self::default();
        for (index, (_, needs)) in KNOWN.iter().enumerate() {
            if needs(spec) {
                set.0 |= 1 << index;
            }
        }
        set
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `other` has all of these.
    pub fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }
}

fn restarts_all_containers(spec: &PodSpec) -> bool {
    let mut containers = spec.containers.iter().chain(&spec.init_containers);
    containers.any(|container| {
        let mut rules = container.restart_policy_rules.iter();
        rules.any(|rule| rule.action == "RestartAllContainers")
    })
}

fn has_user_namespace_on_host_network(spec: &PodSpec) -> bool {
    spec.host_network && spec.host_users == Some(false)
}

fn has_bind_mount_options(spec: &PodSpec) -> bool {
    let containers = spec.containers.iter().chain(&spec.init_containers);
    containers
        .chain(&spec.ephemeral_containers)
        .any(|container| !container.volume_mounts.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn required(spec: serde_json::Value) -> FeatureSet {
        FeatureSet::required(&serde_json::from_value(spec).unwrap())
    }

    fn declared(features: &[&str]) -> FeatureSet {
        let features: Vec<String> = features.iter().map(|f| (*f).to_owned()).collect();
        FeatureSet::declared(&features)
    }

    #[test]
    fn the_known_features_are_sorted() {
        assert!(KNOWN.is_sorted_by_key(|(name, _)| *name));
    }

    #[test]
    fn what_nodes_declare_and_nobody_knows_is_left_out() {
        let known = declared(&["VolumeBindMountOptions"]);
        assert_eq!(declared(&["A", "VolumeBindMountOptions", "Z"]), known);
        assert_eq!(declared(&["A", "Z"]), FeatureSet::default());
        assert_eq!(
            declared(&["Z", "VolumeBindMountOptions"]),
            FeatureSet::default()
        );
    }

    #[test]
    fn pods_need_what_their_spec_uses() {
        let rule =
            |action| json!([{"action": action, "exitCodes": {"operator": "In", "values": [1]}}]);
        let restarts = declared(&["RestartAllContainersOnContainerExits"]);
        for list in ["containers", "initContainers"] {
            let spec = |action| json!({list: [{"name": "c", "restartPolicyRules": rule(action)}]});
            assert_eq!(required(spec("RestartAllContainers")), restarts);
            assert!(required(spec("Restart")).is_empty());
        }
        let mounts = declared(&["VolumeBindMountOptions"]);
        for list in ["containers", "initContainers", "ephemeralContainers"] {
            let spec = |options| {
                json!({list: [{"name": "c", "volumeMounts": [
                    {"name": "a", "mountPath": "/a"},
                    {"name": "b", "mountPath": "/b", "bindMountOptions": options}]}]})
            };
            assert_eq!(required(spec(json!(["noexec"]))), mounts);
            assert!(required(spec(json!([]))).is_empty());
            assert!(required(spec(json!(null))).is_empty());
        }
        let network = declared(&["UserNamespacesHostNetworkSupport"]);
        assert_eq!(
            required(json!({"hostNetwork": true, "hostUsers": false})),
            network
        );
        for spec in [
            json!({"hostNetwork": true}),
            json!({"hostUsers": false}),
            json!({"hostNetwork": true, "hostUsers": true}),
        ] {
            assert!(required(spec).is_empty());
        }
    }
}
