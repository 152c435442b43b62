//! Families of features: what a cluster may be made of, and which plugins that is for.

use std::collections::BTreeSet;
use std::str::FromStr;

use crate::generator::dice::Dice;

/// Of 100 clusters, how many have a given family.
const SHARE_OF_CLUSTERS: usize = 60;

/// A family of features that is in a cluster or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Family {
    /// Resources, sidecars, overhead, terminating and ended pods; always there.
    Basic,
    Taints,
    NodeAffinity,
    Ports,
    Images,
    Gates,
    /// Priority classes, and with them the order of the queue.
    Priorities,
    /// Requests of pods as a whole.
    PodLevel,
    /// Pods whose granted resources differ from the requested ones.
    Resize,
    /// Spread constraints of pods.
    Spread,
    /// Services and owners, from which constraints follow that nobody wrote.
    Owners,
    PodAffinity,
    Volumes,
    /// Disruption budgets, nominated pods and pods that are worth less than others.
    Preemption,
    /// Features that nodes declare and pods need.
    DeclaredFeatures,
    /// Profiles with other plugins, weights and arguments.
    Profiles,
}

/// What is known about a family.
struct Description {
    family: Family,
    name: &'static str,
    /// The plugins without which the family makes no sense.
    plugins: &'static [&'static str],
    /// Plugins that must refuse a node somewhere when the family is on.
    rejecting: &'static [&'static str],
    /// Plugins that must tell nodes apart somewhere when the family is on.
    scoring: &'static [&'static str],
}

const fn described(
    family: Family,
    name: &'static str,
    plugins: &'static [&'static str],
    rejecting: &'static [&'static str],
    scoring: &'static [&'static str],
) -> Description {
    Description {
        family,
        name,
        plugins,
        rejecting,
        scoring,
    }
}

const VOLUME_PLUGINS: [&str; 4] = [
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
];

const FAMILIES: [Description; 16] = [
    described(
        Family::Basic,
        "basic",
        &[],
        &["NodeResourcesFit"],
        &["NodeResourcesFit", "NodeResourcesBalancedAllocation"],
    ),
    described(
        Family::Taints,
        "taints",
        &[],
        &["TaintToleration", "NodeUnschedulable"],
        &["TaintToleration"],
    ),
    described(
        Family::NodeAffinity,
        "nodeaffinity",
        &[],
        &["NodeAffinity"],
        &["NodeAffinity"],
    ),
    described(Family::Ports, "ports", &[], &["NodePorts"], &[]),
    described(Family::Images, "images", &[], &[], &["ImageLocality"]),
    described(Family::Gates, "gates", &[], &[], &[]),
    described(Family::Priorities, "priorities", &[], &[], &[]),
    described(Family::PodLevel, "podlevel", &[], &[], &[]),
    described(Family::Resize, "resize", &[], &[], &[]),
    described(
        Family::Spread,
        "spread",
        &["PodTopologySpread"],
        &["PodTopologySpread"],
        &["PodTopologySpread"],
    ),
    described(
        Family::Owners,
        "owners",
        &["PodTopologySpread"],
        &[],
        &["PodTopologySpread"],
    ),
    described(
        Family::PodAffinity,
        "podaffinity",
        &["InterPodAffinity"],
        &["InterPodAffinity"],
        &["InterPodAffinity"],
    ),
    described(
        Family::Volumes,
        "volumes",
        &VOLUME_PLUGINS,
        &VOLUME_PLUGINS,
        &["VolumeBinding"],
    ),
    described(
        Family::Preemption,
        "preemption",
        &["DefaultPreemption"],
        &[],
        &[],
    ),
    described(
        Family::DeclaredFeatures,
        "declaredfeatures",
        &["NodeDeclaredFeatures"],
        &["NodeDeclaredFeatures"],
        &[],
    ),
    described(Family::Profiles, "profiles", &[], &[], &[]),
];

fn description(family: Family) -> &'static Description {
    let found = FAMILIES.iter().find(|known| known.family == family);
    found.expect("every family must be described")
}

/// A set of families.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Families(BTreeSet<Family>);

impl Families {
    /// Those whose plugins are among `there`: a family is on as soon as its plugins are.
    pub(crate) fn of_plugins(there: &[&str]) -> Self {
        let is_there = |known: &&Description| {
            let mut plugins = known.plugins.iter();
            plugins.all(|plugin| there.contains(plugin))
        };
        let families = FAMILIES.iter().filter(is_there);
        Self(families.map(|known| known.family).collect())
    }

    pub(crate) fn has(&self, family: Family) -> bool {
        self.0.contains(&family)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// What one cluster is made of: the basics, and some of the others.
    pub(crate) fn draw(&self, dice: &mut Dice) -> Self {
        let is_drawn =
            |family: &&Family| dice.chance(SHARE_OF_CLUSTERS) || **family == Family::Basic;
        Self(self.0.iter().filter(is_drawn).copied().collect())
    }

    /// The plugins that must refuse a node somewhere.
    pub(crate) fn rejecting(&self) -> BTreeSet<&'static str> {
        let plugins = self.0.iter().flat_map(|one| description(*one).rejecting);
        plugins.copied().collect()
    }

    /// The plugins that must tell nodes apart somewhere.
    pub(crate) fn scoring(&self) -> BTreeSet<&'static str> {
        let plugins = self.0.iter().flat_map(|one| description(*one).scoring);
        plugins.copied().collect()
    }

    /// The names, joined by commas.
    pub(crate) fn names(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|one| description(*one).name).collect();
        names.join(",")
    }
}

impl FromStr for Families {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let find = |name: &str| {
            let found = FAMILIES.iter().find(|known| known.name == name);
            found.map(|known| known.family).ok_or_else(|| {
                let names: Vec<_> = FAMILIES.iter().map(|known| known.name).collect();
                format!("no family {name:?}: use some of {}", names.join(", "))
            })
        };
        if text == "all" {
            let families = FAMILIES.iter().map(|known| known.family);
            return Ok(Self(families.collect()));
        }
        let names = text.split(',').map(str::trim);
        let mut families = names.map(find).collect::<Result<BTreeSet<_>, _>>()?;
        families.insert(Family::Basic);
        Ok(Self(families))
    }
}
