//! Stands in for the plugins that do not exist yet: a pod that needs one of them is not placed
//! wrongly but reported with a reason that says so.
//!
//! Not a plugin of upstream's, and gone when the plugins are there. A profile that disables the
//! missing plugin by name takes the need away, as it does upstream.

use std::collections::BTreeSet;

use crate::apis::effective_profile::EffectiveProfile;
use crate::apis::extension_point::ExtensionPoint;
use crate::engine::cache::snapshot::{PodView, Snapshot};
use crate::engine::framework::class_plugin::ClassPlugin;
use crate::engine::framework::extension_points::{
    EnqueueExtensions, PreFilterPlugin, PreFilterVerdict,
};
use crate::engine::framework::{
    ActionType, ClusterEventKind, CycleState, EventResource, Plugin, PluginName, Reason, Rejection,
    RejectionKind,
};
use crate::model::pod_class::UnimplementedNeeds as Needs;

pub(crate) const NAME: &str = "UnimplementedNeeds";

/// The stand-in, with the plugins that kube-scheduler would run under the profile and that are
/// missing.
#[derive(Debug)]
pub(crate) struct UnimplementedNeeds {
    missing: BTreeSet<&'static str>,
}

/// A need, and the plugins that see to it; any of them enabled means that the need stands.
type Need = (fn(&Needs) -> bool, &'static [&'static str], &'static str);

const NEEDS: [Need; 1] = [(
    |needs| needs.resource_claims,
    &["DynamicResources"],
    "pod uses resource claims (DynamicResources), which this release of Bayplan does not have",
)];

impl UnimplementedNeeds {
    pub(crate) fn of(profile: &EffectiveProfile) -> Self {
        let judges = |plugin: &&&str| {
            profile.misses(plugin, ExtensionPoint::PreFilter)
                || profile.misses(plugin, ExtensionPoint::Filter)
        };
        Self {
            missing: NEEDS
                .iter()
                .flat_map(|need| need.1)
                .filter(judges)
                .copied()
                .collect(),
        }
    }

    fn reasons(&self, needs: &Needs) -> impl Iterator<Item = Reason> {
        NEEDS
            .iter()
            .filter(|(has, plugins, _)| {
                has(needs) && plugins.iter().any(|plugin| self.missing.contains(plugin))
            })
            .map(|(_, _, reason)| Reason::from(*reason))
    }
}

impl Plugin for UnimplementedNeeds {
    fn name(&self) -> PluginName {
        NAME
    }

    fn as_class_plugin(&self) -> Option<&dyn ClassPlugin> {
        Some(self)
    }

    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }

    fn enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl ClassPlugin for UnimplementedNeeds {}

impl PreFilterPlugin for UnimplementedNeeds {
    fn pre_filter(
        &self,
        _: &mut CycleState,
        pod: &PodView<'_>,
        _: &Snapshot<'_>,
    ) -> PreFilterVerdict {
        let reasons: smallvec::SmallVec<[Reason; 1]> =
            self.reasons(&pod.class.unimplemented).collect();
        if reasons.is_empty() {
            return PreFilterVerdict::Skip;
        }
        PreFilterVerdict::Rejected(Rejection {
            kind: RejectionKind::UnschedulableAndUnresolvable,
            plugin: NAME,
            reasons,
        })
    }
}

impl EnqueueExtensions for UnimplementedNeeds {
    /// No change of the cluster helps; a change of the pod may.
    fn events_to_register(&self) -> &[ClusterEventKind] {
        const EVENTS: [ClusterEventKind; 1] = [ClusterEventKind::new(
            EventResource::TargetPod,
            ActionType::UPDATE,
        )];
        &EVENTS
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plugins::fixtures::{Cluster, PodBuilder, make_pod};
    use crate::plugins::registry::Registry;

    fn message(pod: &PodBuilder, disabled: &[&str]) -> Option<String> {
        let cluster = Cluster::default().with_pod(pod);
        let disabled: Vec<_> = disabled.iter().map(|name| json!({"name": name})).collect();
        let spec = serde_json::from_value(json!({"schedulerName": "bayplan",
            "plugins": {"multiPoint": {"disabled": disabled}}}))
        .unwrap();
        let plugin = UnimplementedNeeds::of(&EffectiveProfile::try_new(&spec, &Registry).unwrap());
        match plugin.pre_filter(
            &mut CycleState::default(),
            &cluster.view(),
            &cluster.snapshot(),
        ) {
            PreFilterVerdict::Rejected(rejection) => Some(rejection.message()),
            _ => None,
        }
    }

    #[test]
    fn pods_that_need_a_missing_plugin_are_told_which() {
        let anti_affinity = json!({"affinity": {"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}});
        let claim = json!({"volumes": [
            {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]});
        let device = json!({"resourceClaims": [{"name": "gpu"}]});
        let config = json!({"volumes": [{"name": "v", "configMap": {"name": "c"}}]});
        for (spec, plugin) in [
            (anti_affinity, None),
            (claim, None),
            (device, Some("DynamicResources")),
            (config, None),
        ] {
            let message = message(&make_pod("p").spec(spec.clone()), &[]);
            match plugin {
                Some(plugin) => assert!(message.unwrap().contains(plugin), "{spec}"),
                None => assert_eq!(message, None, "{spec}"),
            }
        }
    }

    #[test]
    fn a_profile_that_disables_the_plugin_takes_the_need_away() {
        let pod = make_pod("p").spec(json!({"resourceClaims": [{"name": "gpu"}]}));
        assert_eq!(message(&pod, &["DynamicResources"]), None);
    }
}
