//! Which plugins run at which extension point: upstream's merge of a profile with the defaults
//! (`mergePluginSet` in `apis/config/v1/default_plugins.go`) and its expansion of `multiPoint`
//! (`expandMultiPointPlugins` in `framework/runtime/framework.go`), as of v1.37.2.
//!
//! The rules in short:
//! - `disabled` (a name or `*`) drops default plugins; what `enabled` names stays, since enabled
//!   goes before disabled in one set.
//! - A default plugin that the profile enables again is replaced in place and takes the profile's
//!   weight; other enabled plugins follow the defaults.
//! - What an extension point's own set says goes before `multiPoint`. Its plugins that are also in
//!   `multiPoint` come first, then the rest of `multiPoint`, then the rest of the set.
//! - A weight that is left out or 0 is 1.

use std::collections::BTreeSet;

use crate::apis::extension_point::{ExtensionPoint, ExtensionPoints};
use crate::apis::profile_problem::{ProblemReason, ProfileProblem};
use crate::apis::scheduler_profile::{PluginSet, Plugins};
use crate::apis::upstream_plugins::UpstreamPlugin;

/// The name that disables all default plugins of a set.
const ALL: &str = "*";

/// A plugin of the merged `multiPoint` set.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MultiPointPlugin<'a> {
    name: &'a str,
    weight: Option<i32>,
}

/// A plugin that runs at an extension point. The weight means something at `Score` only and is 1
/// or more there; elsewhere it is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PluginAtPoint<'a> {
    pub(super) name: &'a str,
    pub(super) weight: i64,
}

/// Expands the sets of a profile over the default plugins.
#[derive(Debug)]
pub(super) struct PluginSets<'a, F> {
    plugins: &'a Plugins,
    multi_point: Vec<MultiPointPlugin<'a>>,
    points_of: F,
}

impl<'a, F: Fn(&str) -> ExtensionPoints> PluginSets<'a, F> {
    /// Merges the profile's `multiPoint` with `defaults`. `points_of` tells which extension points
    /// a plugin implements.
    pub(super) fn new(plugins: &'a Plugins, defaults: &[UpstreamPlugin], points_of: F) -> Self {
        Self {
            plugins,
            multi_point: merge(defaults, &plugins.multi_point),
            points_of,
        }
    }

    /// The plugins that run at `point`, in order.
    pub(super) fn expand(
        &self,
        point: ExtensionPoint,
    ) -> Result<Vec<PluginAtPoint<'a>>, ProfileProblem> {
        let set = self.plugins.at(point);
        let own = self.own_plugins(point, set)?;
        if set.disabled.iter().any(|plugin| plugin.name == ALL) {
            return Ok(self.weighted(point, own));
        }
        let mut overriding = BTreeSet::new();
        let mut from_multi_point = Vec::new();
        for plugin in &self.multi_point {
            let name = plugin.name;
            if !(self.points_of)(name).contains(point) || set.disables(name) {
                continue;
            }
            if own.contains(&name) {
                overriding.insert(name);
            } else if from_multi_point.contains(&name) {
                return Err(listed_twice("spec.plugins.multiPoint.enabled", name));
            } else {
                from_multi_point.push(name);
            }
        }
        let (mut names, rest): (Vec<_>, Vec<_>) =
            own.into_iter().partition(|name| overriding.contains(name));
        names.extend(from_multi_point);
        names.extend(rest);
        Ok(self.weighted(point, names))
    }

    /// The plugins that the set of `point` itself enables.
    fn own_plugins(
        &self,
        point: ExtensionPoint,
        set: &'a PluginSet,
    ) -> Result<Vec<&'a str>, ProfileProblem> {
        let mut own: Vec<&str> = Vec::with_capacity(set.enabled.len());
        for (i, plugin) in set.enabled.iter().enumerate() {
            let field = format!("spec.plugins.{}.enabled", point.field_name());
            if !(self.points_of)(&plugin.name).contains(point) {
                return Err(ProfileProblem::new(
                    ProblemReason::InvalidPluginSet,
                    format!("{field}[{i}].name"),
                    format!("the plugin {} has no {point}", plugin.name),
                    "enable it where it does something, or under multiPoint",
                ));
            }
            if own.contains(&plugin.name.as_str()) {
                return Err(listed_twice(&field, &plugin.name));
            }
            own.push(&plugin.name);
        }
        Ok(own)
    }

    fn weighted(&self, point: ExtensionPoint, names: Vec<&'a str>) -> Vec<PluginAtPoint<'a>> {
        let weight_of = |name: &str| match point {
            ExtensionPoint::Score => self.score_weight(name),
            _ => 0,
        };
        names
            .into_iter()
            .map(|name| PluginAtPoint {
                name,
                weight: weight_of(name),
            })
            .collect()
    }

    /// The weight under `score` goes before the one under `multiPoint`, even if it is left out
    /// (`getValidScoreWeights`).
    fn score_weight(&self, name: &str) -> i64 {
        let own = self
            .plugins
            .score
            .enabled
            .iter()
            .map(|plugin| (&*plugin.name, plugin.weight));
        let multi_point = self
            .multi_point
            .iter()
            .map(|plugin| (plugin.name, plugin.weight));
        let weight = own.chain(multi_point).find(|(other, _)| *other == name);
        weight
            .and_then(|(_, weight)| weight)
            .filter(|weight| *weight != 0)
            .unwrap_or(1)
            .into()
    }
}

/// Merges `custom` into the default plugins (`mergePluginSet`). Plugins that are listed twice stay
/// twice; the expansion refuses them.
fn merge<'a>(defaults: &[UpstreamPlugin], custom: &'a PluginSet) -> Vec<MultiPointPlugin<'a>> {
    let mut replacing = BTreeSet::new();
    let mut merged = Vec::with_capacity(defaults.len() + custom.enabled.len());
    for default in defaults
        .iter()
        .filter(|default| !custom.disables(default.name))
    {
        let again = custom
            .enabled
            .iter()
            .rposition(|plugin| plugin.name == default.name);
        let weight = match again {
            Some(i) => custom.enabled[i].weight,
            None => default.weight,
        };
        replacing.extend(again);
        merged.push(MultiPointPlugin {
            name: default.name,
            weight,
        });
    }
    for (i, plugin) in custom.enabled.iter().enumerate() {
        if !replacing.contains(&i) {
            merged.push(MultiPointPlugin {
                name: &plugin.name,
                weight: plugin.weight,
            });
        }
    }
    merged
}

fn listed_twice(field: &str, name: &str) -> ProfileProblem {
    ProfileProblem::new(
        ProblemReason::InvalidPluginSet,
        field,
        format!("the plugin {name} is listed twice"),
        "list it once",
    )
}

#[cfg(test)]
mod tests;
