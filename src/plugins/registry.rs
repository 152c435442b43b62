//! The registry: which plugins there are, and how a profile is built from them.

use std::sync::Arc;

use thiserror::Error;

use crate::apis::effective_profile::EffectiveProfile;
use crate::apis::extension_point::{ExtensionPoint, ExtensionPoints as PointSet};
use crate::apis::plugin_args::{
    EffectivePluginArgs, ResourceSpec, ScoringStrategy, ScoringStrategyType,
};
use crate::apis::plugin_catalog::PluginCatalog;
use crate::apis::upstream_plugins;
use crate::engine::framework::Plugin;
use crate::engine::framework::extender::Extender;
use crate::engine::framework::profile::{ExtensionPoints, Profile};
use crate::model::resources::Resource;
use crate::model::symbols::{SymbolScope, Symbols};
use crate::plugins::default_binder::{self, DefaultBinder};
use crate::plugins::default_preemption::{self, DefaultPreemption};
use crate::plugins::image_locality::{self, ImageLocality};
use crate::plugins::inter_pod_affinity::{self, InterPodAffinity};
use crate::plugins::node_affinity::{self, NodeAffinity};
use crate::plugins::node_declared_features::{self, NodeDeclaredFeatures};
use crate::plugins::node_name::{self, NodeName};
use crate::plugins::node_ports::{self, NodePorts};
use crate::plugins::node_resources_balanced_allocation::{self, NodeResourcesBalancedAllocation};
use crate::plugins::node_resources_fit::scoring::{ResourceWeights, Strategy};
use crate::plugins::node_resources_fit::{self, NodeResourcesFit, resource};
use crate::plugins::node_unschedulable::{self, NodeUnschedulable};
use crate::plugins::node_volume_limits::{self, NodeVolumeLimits};
use crate::plugins::pod_topology_spread::{self, PodTopologySpread};
use crate::plugins::priority_sort::{self, PrioritySort};
use crate::plugins::scheduling_gates::{self, SchedulingGates};
use crate::plugins::taint_toleration::{self, TaintToleration};
use crate::plugins::unimplemented_needs::UnimplementedNeeds;
use crate::plugins::volume_binding::{self, VolumeBinding};
use crate::plugins::volume_restrictions::{self, VolumeRestrictions};
use crate::plugins::volume_zone::{self, VolumeZone};

type Built = Result<Arc<dyn Plugin>, String>;
type Factory = fn(&EffectivePluginArgs, &mut SymbolScope<'_>) -> Built;

/// Every plugin with its factory. A new plugin is registered here and nowhere else.
const PLUGINS: &[(&str, Factory)] = &[
    (scheduling_gates::NAME, |_, _| Ok(Arc::new(SchedulingGates))),
    (priority_sort::NAME, |_, _| Ok(Arc::new(PrioritySort))),
    (node_name::NAME, |_, _| Ok(Arc::new(NodeName))),
    (node_unschedulable::NAME, |_, scope| {
        Ok(Arc::new(NodeUnschedulable::new(scope)))
    }),
    (taint_toleration::NAME, |_, _| Ok(Arc::new(TaintToleration))),
    (node_affinity::NAME, |args, scope| {
        let added = args.node_affinity.added_affinity.as_ref();
        Ok(Arc::new(NodeAffinity::try_new(added, scope)?))
    }),
    (node_ports::NAME, |_, _| Ok(Arc::new(NodePorts))),
    (node_resources_fit::NAME, |args, scope| {
        let args = &args.node_resources_fit;
        Ok(Arc::new(NodeResourcesFit {
            ignored_resources: args.ignored_resources.iter().cloned().collect(),
            ignored_resource_groups: args.ignored_resource_groups.iter().cloned().collect(),
            strategy: strategy(&args.scoring_strategy),
            resources: weights(&args.scoring_strategy.resources, scope),
        }))
    }),
    (volume_restrictions::NAME, |_, _| {
        Ok(Arc::new(VolumeRestrictions))
    }),
    (node_volume_limits::NAME, |_, _| {
        Ok(Arc::new(NodeVolumeLimits))
    }),
    (volume_binding::NAME, |args, _| {
        Ok(Arc::new(VolumeBinding::new(&args.volume_binding)))
    }),
    (volume_zone::NAME, |_, _| Ok(Arc::new(VolumeZone))),
    (inter_pod_affinity::NAME, |args, _| {
        Ok(Arc::new(InterPodAffinity::new(&args.inter_pod_affinity)))
    }),
    (default_preemption::NAME, |args, _| {
        let args = &args.default_preemption;
        Ok(Arc::new(DefaultPreemption::new(args)))
    }),
    (node_resources_balanced_allocation::NAME, |args, scope| {
        let resources = weights(&args.node_resources_balanced_allocation.resources, scope);
        Ok(Arc::new(NodeResourcesBalancedAllocation { resources }))
    }),
    (pod_topology_spread::NAME, |args, scope| {
        let args = &args.pod_topology_spread;
        Ok(Arc::new(PodTopologySpread::new(args, scope)))
    }),
    (image_locality::NAME, |_, _| Ok(Arc::new(ImageLocality))),
    (default_binder::NAME, |_, _| Ok(Arc::new(DefaultBinder))),
    (node_declared_features::NAME, |_, _| {
        Ok(Arc::new(NodeDeclaredFeatures))
    }),
];

/// The plugins of this build.
#[derive(Clone, Copy, Debug, Default)]
pub struct Registry;

/// A profile that cannot be built although its arguments were accepted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("plugin {plugin:?} of profile {profile:?} cannot be made: {reason}")]
pub struct BuildError {
    /// The `schedulerName` of the profile.
    pub profile: String,
    /// The plugin.
    pub plugin: String,
    /// What is wrong with its arguments.
    pub reason: String,
}

impl PluginCatalog for Registry {
    fn extension_points(&self, name: &str) -> Option<PointSet> {
        find(name)?;
        Some(upstream_plugins::find(name)?.points)
    }

    fn names(&self) -> Vec<&str> {
        PLUGINS.iter().map(|(name, _)| *name).collect()
    }
}

fn find(name: &str) -> Option<Factory> {
    PLUGINS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, factory)| *factory)
}

impl Registry {
    /// Builds the plugins of `profile`. What their arguments hold in `symbols` stays with the
    /// profile.
    pub fn build(
        &self,
        profile: &EffectiveProfile,
        generation: i64,
        symbols: &mut Symbols,
    ) -> Result<Profile, BuildError> {
        let mut scope = symbols.scope();
        match build_plugins(profile, &mut scope) {
            Ok(plugins) => {
                let extenders = profile.extenders.iter().cloned();
                let extenders = extenders.map(|config| Extender::compile(config, &mut scope));
                let extenders = extenders.collect();
                let points = extension_points(profile, &plugins);
                Ok(Profile {
                    scheduler_name: profile.scheduler_name.as_str().into(),
                    generation,
                    percentage_of_nodes_to_score: profile.percentage_of_nodes_to_score,
                    plugins,
                    points,
                    extenders,
                    held: scope.finish(),
                })
            }
            Err(error) => {
                scope.abandon();
                Err(error)
            }
        }
    }
}

/// The plugins of the profile, once each, and the stand-in for those that are missing.
fn build_plugins(
    profile: &EffectiveProfile,
    scope: &mut SymbolScope<'_>,
) -> Result<Vec<Arc<dyn Plugin>>, BuildError> {
    let mut plugins: Vec<Arc<dyn Plugin>> = vec![Arc::new(UnimplementedNeeds::of(profile))];
    for name in profile.plugin_names() {
        let built = match find(name) {
            Some(factory) => factory(&profile.args, scope),
            None => Err("this release does not have it".to_owned()),
        };
        plugins.push(built.map_err(|reason| BuildError {
            profile: profile.scheduler_name.clone(),
            plugin: name.to_owned(),
            reason,
        })?);
    }
    Ok(plugins)
}

/// The order at each extension point. The stand-in is asked first at `PreFilter`.
fn extension_points(profile: &EffectiveProfile, plugins: &[Arc<dyn Plugin>]) -> ExtensionPoints {
    let at = |point: ExtensionPoint| -> Vec<(usize, i64)> {
        let index = |name: &str| plugins.iter().position(|plugin| plugin.name() == name);
        let enabled = profile.plugins_at(point).iter();
        enabled
            .filter_map(|plugin| Some((index(&plugin.name)?, plugin.weight)))
            .collect()
    };
    let order = |point| {
        at(point)
            .into_iter()
            .map(|(index, _)| index)
            .collect::<Vec<_>>()
    };
    let mut pre_filter = vec![0];
    pre_filter.extend(order(ExtensionPoint::PreFilter));
    ExtensionPoints {
        pre_enqueue: order(ExtensionPoint::PreEnqueue),
        queue_sort: order(ExtensionPoint::QueueSort)
            .first()
            .copied()
            .unwrap_or(0),
        pre_filter,
        filter: order(ExtensionPoint::Filter),
        post_filter: order(ExtensionPoint::PostFilter),
        pre_score: order(ExtensionPoint::PreScore),
        score: at(ExtensionPoint::Score),
        reserve: order(ExtensionPoint::Reserve),
        permit: order(ExtensionPoint::Permit),
        pre_bind: order(ExtensionPoint::PreBind),
        bind: order(ExtensionPoint::Bind),
        post_bind: order(ExtensionPoint::PostBind),
    }
}

fn weights(resources: &[ResourceSpec], scope: &mut SymbolScope<'_>) -> ResourceWeights {
    let weight = |spec: &ResourceSpec| -> (Resource, i64) {
        (
            resource(&spec.name, &mut |name| scope.intern(name)),
            spec.weight,
        )
    };
    ResourceWeights(resources.iter().map(weight).collect())
}

/// Scores of a shape are given as 0..=10 and count as 0..=100.
fn strategy(args: &ScoringStrategy) -> Strategy {
    match args.r#type {
        ScoringStrategyType::LeastAllocated => Strategy::LeastAllocated,
        ScoringStrategyType::MostAllocated => Strategy::MostAllocated,
        ScoringStrategyType::RequestedToCapacityRatio => {
            let shape = args
                .requested_to_capacity_ratio
                .iter()
                .flat_map(|ratio| &ratio.shape);
            Strategy::RequestedToCapacityRatio(
                shape
                    .map(|p| (i64::from(p.utilization), i64::from(p.score) * 10))
                    .collect(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apis::scheduler_profile::SchedulerProfileSpec;

    fn build(spec: serde_json::Value) -> (Profile, Symbols) {
        let spec: SchedulerProfileSpec = serde_json::from_value(spec).unwrap();
        let effective = EffectiveProfile::try_new(&spec, &Registry).unwrap();
        let mut symbols = Symbols::new(1);
        (
            Registry.build(&effective, 1, &mut symbols).unwrap(),
            symbols,
        )
    }

    #[test]
    fn the_default_profile_has_upstreams_order_and_weights() {
        let (profile, _) = build(serde_json::json!({"schedulerName": "bayplan"}));
        let names = |indices: &[usize]| {
            indices
                .iter()
                .map(|index| profile.plugin(*index).name())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names(&profile.points.filter),
            [
                "NodeName",
                "NodeUnschedulable",
                "TaintToleration",
                "NodeAffinity",
                "NodePorts",
                "NodeResourcesFit",
                "VolumeRestrictions",
                "NodeVolumeLimits",
                "VolumeBinding",
                "VolumeZone",
                "PodTopologySpread",
                "InterPodAffinity",
                "NodeDeclaredFeatures"
            ]
        );
        let scores: Vec<_> = profile
            .points
            .score
            .iter()
            .map(|(i, weight)| (profile.plugin(*i).name(), *weight))
            .collect();
        assert_eq!(
            scores,
            [
                ("TaintToleration", 3),
                ("NodeAffinity", 2),
                ("NodeResourcesFit", 1),
                ("VolumeBinding", 1),
                ("PodTopologySpread", 2),
                ("InterPodAffinity", 2),
                ("NodeResourcesBalancedAllocation", 1),
                ("ImageLocality", 1)
            ]
        );
        assert_eq!(names(&profile.points.bind), ["DefaultBinder"]);
        assert_eq!(
            profile.plugin(profile.points.queue_sort).name(),
            "PrioritySort"
        );
    }

    #[test]
    fn every_plugin_that_judges_nodes_says_what_of_it_can_be_kept() {
        let (profile, _) = build(serde_json::json!({"schedulerName": "bayplan"}));
        for (index, plugin) in crate::engine::classes::judging(&profile) {
            assert!(plugin.is_some(), "{}", profile.plugin(index).name());
        }
    }

    #[test]
    fn a_released_profile_leaves_no_symbol_behind() {
        let (profile, mut symbols) = build(serde_json::json!({
            "schedulerName": "s",
            "pluginConfig": {"nodeResourcesFit": {"scoringStrategy": {
                "type": "MostAllocated", "resources": [{"name": "example.com/gpu", "weight": 5}]}}}}));
        assert!(symbols.get("example.com/gpu").is_some());
        symbols.release(profile.held);
        assert!(symbols.is_empty());
    }
}
