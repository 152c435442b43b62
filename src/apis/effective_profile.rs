//! A profile as it runs: the defaults applied, the plugins of every extension point in order, the
//! arguments complete and checked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use crate::apis::extender::{self, Extender};
use crate::apis::extension_point::{ExtensionPoint, ExtensionPoints};
use crate::apis::plugin_args::EffectivePluginArgs;
use crate::apis::plugin_catalog::PluginCatalog;
use crate::apis::plugin_sets::PluginSets;
use crate::apis::profile_problem::{ProblemReason, ProfileProblem, did_you_mean};
use crate::apis::scheduler_profile::{PluginSet, SchedulerProfileSpec};
use crate::apis::upstream_plugins;

/// A plugin that runs at an extension point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnabledPlugin {
    /// The name of the plugin.
    pub name: String,
    /// At `Score` the weight of the plugin, 1 or more; 0 at every other extension point.
    pub weight: i64,
}

/// A valid profile, ready to be built into plugins.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EffectiveProfile {
    /// Pods with this `spec.schedulerName` belong to the profile.
    pub scheduler_name: String,
    /// 0 to 100; 0 lets the size of the cluster decide.
    pub percentage_of_nodes_to_score: i32,
    /// The arguments of all plugins, those that do not run included.
    pub args: EffectivePluginArgs,
    /// The extenders in the order in which they are asked.
    #[serde(skip)]
    pub extenders: Vec<Arc<Extender>>,
    plugins: BTreeMap<ExtensionPoint, Vec<EnabledPlugin>>,
    /// Default plugins of kube-scheduler that Bayplan does not have yet, each with the extension
    /// points at which this profile would run it. None left: the profile disables it.
    missing_plugins: BTreeMap<&'static str, ExtensionPoints>,
}

impl EffectiveProfile {
    /// Applies defaults and upstream's merge rules to `spec` and checks the result.
    ///
    /// Default plugins that `catalog` lacks are left out. A plugin that the profile itself enables
    /// or configures must be there.
    ///
    /// # Errors
    /// Everything that is wrong with the profile, in the order of its fields.
    pub fn try_new(
        spec: &SchedulerProfileSpec,
        catalog: &dyn PluginCatalog,
    ) -> Result<Self, Vec<ProfileProblem>> {
        let mut problems = check_scalars(spec);
        problems.extend(check_plugin_names(spec, catalog));
        problems.extend(check_weights(spec));
        let args = EffectivePluginArgs::try_new(&spec.plugin_config, "spec.pluginConfig")
            .map_err(|found| problems.extend(found));
        problems.extend(extender::check(&spec.extenders, "spec.extenders"));
        // Unknown names have no extension points: expanding them would only repeat the problem.
        if !problems.is_empty() {
            return Err(problems);
        }
        let (plugins, missing_plugins) = expand(spec, catalog).map_err(|found| vec![found])?;
        let mut args = args.unwrap_or_default();
        if let Some(ignored) = extender::ignored_resources(&spec.extenders) {
            args.node_resources_fit.ignored_resources = ignored;
        }
        let profile = Self {
            scheduler_name: spec.scheduler_name.clone(),
            percentage_of_nodes_to_score: spec.percentage_of_nodes_to_score,
            args,
            extenders: extender::in_order(&spec.extenders),
            plugins,
            missing_plugins,
        };
        let problems = profile.check_required_plugins();
        if problems.is_empty() {
            Ok(profile)
        } else {
            Err(problems)
        }
    }

    /// The plugins that run at `point`, in order.
    pub fn plugins_at(&self, point: ExtensionPoint) -> &[EnabledPlugin] {
        self.plugins.get(&point).map_or(&[], Vec::as_slice)
    }

    /// The names of all plugins that run at some extension point, each once, sorted.
    pub fn plugin_names(&self) -> BTreeSet<&str> {
        self.plugins
            .values()
            .flatten()
            .map(|plugin| plugin.name.as_str())
            .collect()
    }

    /// Would `plugin`, which is not implemented yet, run at `point` in kube-scheduler under this
    /// profile? If so, a pod that needs it must not be placed.
    pub fn misses(&self, plugin: &str, point: ExtensionPoint) -> bool {
        self.missing_plugins
            .get(plugin)
            .is_some_and(|points| points.contains(point))
    }

    /// The plugins that are not implemented yet and that the profile disables everywhere, sorted.
    pub fn disabled_missing(&self) -> impl Iterator<Item = &'static str> {
        self.missing_plugins
            .iter()
            .filter(|(_, points)| points.is_empty())
            .map(|(name, _)| *name)
    }

    /// What keeps this profile from running beside `others`, each given with the name of its
    /// object. The caller decides who goes first: upstream has no such conflict between objects.
    pub fn conflicts_with<'a>(
        &self,
        others: impl IntoIterator<Item = (&'a str, &'a Self)>,
    ) -> Vec<ProfileProblem> {
        let mut problems = Vec::new();
        for (name, other) in others {
            if other.scheduler_name == self.scheduler_name {
                problems.push(ProfileProblem::new(
                    ProblemReason::SchedulerNameTaken,
                    "spec.schedulerName",
                    format!(
                        "the profile {name:?} already answers to {:?}",
                        self.scheduler_name
                    ),
                    "use another schedulerName or delete one of the two profiles",
                ));
            }
            let queue_sort = ExtensionPoint::QueueSort;
            if other.plugins_at(queue_sort) != self.plugins_at(queue_sort) {
                problems.push(ProfileProblem::new(
                    ProblemReason::QueueSortMismatch,
                    "spec.plugins.queueSort",
                    // Upstream's text (`profile.NewMap`).
                    format!(
                        "different queue sort plugins for profile {:?}: {:?}, first: {:?}",
                        self.scheduler_name,
                        self.queue_sort(),
                        other.queue_sort()
                    ),
                    "use the same queueSort plugin in all profiles",
                ));
            }
        }
        problems
    }

    /// The plugin that orders the queue.
    fn queue_sort(&self) -> &str {
        let plugins = self.plugins_at(ExtensionPoint::QueueSort).first();
        plugins.map_or("", |plugin| &plugin.name)
    }

    /// Exactly one plugin orders the queue and at least one binds (`NewFramework`).
    fn check_required_plugins(&self) -> Vec<ProfileProblem> {
        let mut problems = Vec::new();
        let reason = ProblemReason::InvalidPluginSet;
        let sorting = self.plugins_at(ExtensionPoint::QueueSort).len();
        if sorting != 1 {
            problems.push(ProfileProblem::new(
                reason,
                "spec.plugins.queueSort",
                format!("exactly one plugin must sort the queue, not {sorting}"),
                "enable PrioritySort and no other one",
            ));
        }
        if self.plugins_at(ExtensionPoint::Bind).is_empty() {
            problems.push(ProfileProblem::new(
                reason,
                "spec.plugins.bind",
                "no plugin binds pods",
                "enable DefaultBinder",
            ));
        }
        problems
    }
}

type Expanded = (
    BTreeMap<ExtensionPoint, Vec<EnabledPlugin>>,
    BTreeMap<&'static str, ExtensionPoints>,
);

/// Expands all extension points and sets the plugins apart that `catalog` does not have.
fn expand(
    spec: &SchedulerProfileSpec,
    catalog: &dyn PluginCatalog,
) -> Result<Expanded, ProfileProblem> {
    let defaults = &upstream_plugins::DEFAULT_PLUGINS;
    let mut missing: BTreeMap<_, _> = defaults
        .iter()
        .filter(|plugin| catalog.extension_points(plugin.name).is_none())
        .map(|plugin| (plugin.name, ExtensionPoints::NONE))
        .collect();
    let sets = PluginSets::new(&spec.plugins, defaults, |name| {
        let upstream = || upstream_plugins::find(name).map(|plugin| plugin.points);
        catalog
            .extension_points(name)
            .or_else(upstream)
            .unwrap_or_default()
    });
    let mut plugins = BTreeMap::new();
    for point in ExtensionPoint::ALL {
        let mut enabled = Vec::new();
        for plugin in sets.expand(point)? {
            match missing.get_mut(plugin.name) {
                Some(points) => points.insert(point),
                None => enabled.push(EnabledPlugin {
                    name: plugin.name.to_owned(),
                    weight: plugin.weight,
                }),
            }
        }
        plugins.insert(point, enabled);
    }
    Ok((plugins, missing))
}

/// The fields that are no lists. The CRD bounds them too; files do not pass through it.
fn check_scalars(spec: &SchedulerProfileSpec) -> Vec<ProfileProblem> {
    let mut problems = Vec::new();
    if spec.scheduler_name.is_empty() {
        problems.push(ProfileProblem::new(
            ProblemReason::InvalidSpec,
            "spec.schedulerName",
            "the name is empty",
            "give the name that pods put in spec.schedulerName",
        ));
    }
    if !(0..=100).contains(&spec.percentage_of_nodes_to_score) {
        problems.push(ProfileProblem::new(
            ProblemReason::InvalidSpec,
            "spec.percentageOfNodesToScore",
            format!("{} is out of range", spec.percentage_of_nodes_to_score),
            "use a number from 0 to 100",
        ));
    }
    problems
}

/// Every set of the profile with the name of its field.
fn all_sets(spec: &SchedulerProfileSpec) -> impl Iterator<Item = (&'static str, &PluginSet)> {
    let own = |point: ExtensionPoint| (point.field_name(), spec.plugins.at(point));
    std::iter::once(("multiPoint", &spec.plugins.multi_point))
        .chain(ExtensionPoint::ALL.into_iter().map(own))
}

/// Every plugin that is enabled or configured must be implemented; every plugin that is disabled
/// must be one that kube-scheduler or Bayplan has.
fn check_plugin_names(
    spec: &SchedulerProfileSpec,
    catalog: &dyn PluginCatalog,
) -> Vec<ProfileProblem> {
    let mut problems = Vec::new();
    for (field, set) in all_sets(spec) {
        for (i, plugin) in set.enabled.iter().enumerate() {
            let field = format!("spec.plugins.{field}.enabled[{i}].name");
            problems.extend(check_implemented(&plugin.name, field, catalog));
        }
        for (i, plugin) in set.disabled.iter().enumerate() {
            let known = plugin.name == "*"
                || upstream_plugins::find(&plugin.name).is_some()
                || catalog.extension_points(&plugin.name).is_some();
            if !known {
                let field = format!("spec.plugins.{field}.disabled[{i}].name");
                problems.push(unknown_plugin(&plugin.name, field, catalog));
            }
        }
    }
    for (plugin, field) in spec.plugin_config.configured() {
        let field = format!("spec.pluginConfig.{field}");
        problems.extend(check_implemented(plugin, field, catalog));
    }
    problems
}

fn check_implemented(
    name: &str,
    field: String,
    catalog: &dyn PluginCatalog,
) -> Option<ProfileProblem> {
    if catalog.extension_points(name).is_some() {
        return None;
    }
    if upstream_plugins::find(name).is_none() {
        return Some(unknown_plugin(name, field, catalog));
    }
    Some(ProfileProblem::new(
        ProblemReason::PluginNotImplemented,
        field,
        format!("the plugin {name} of kube-scheduler is not implemented yet"),
        "remove it, or schedule the pods that need it with kube-scheduler",
    ))
}

fn unknown_plugin(name: &str, field: String, catalog: &dyn PluginCatalog) -> ProfileProblem {
    let reason = ProblemReason::UnknownPlugin;
    if upstream_plugins::REMOVED_PLUGINS.contains(&name) {
        return ProfileProblem::new(
            reason,
            field,
            format!("kube-scheduler no longer has the plugin {name}"),
            "remove it: NodeVolumeLimits covers the limits of all volume drivers",
        );
    }
    let names = catalog.names();
    let remedy = match did_you_mean(name, names.iter().copied()) {
        Some(likely) => format!("did you mean {likely}?"),
        None => format!("use one of {}", names.join(", ")),
    };
    ProfileProblem::new(
        reason,
        field,
        format!("there is no plugin {name:?}"),
        remedy,
    )
}

/// Weights are not negative and stand only where scores are weighted.
fn check_weights(spec: &SchedulerProfileSpec) -> Vec<ProfileProblem> {
    let mut problems = Vec::new();
    for (field, set) in all_sets(spec) {
        for (i, plugin) in set.enabled.iter().enumerate() {
            let Some(weight) = plugin.weight else {
                continue;
            };
            let at = format!("spec.plugins.{field}.enabled[{i}].weight");
            let reason = ProblemReason::InvalidPluginSet;
            if weight < 0 {
                let message = format!("{weight} is negative");
                problems.push(ProfileProblem::new(reason, at, message, "use 1 or more"));
            } else if field != "multiPoint" && field != "score" {
                problems.push(ProfileProblem::new(
                    reason,
                    at,
                    "weights have a meaning under score and multiPoint only",
                    "remove the weight",
                ));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests;
