//! Families of features: what a cluster may be made of, and which plugins that is for.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use crate::generator::dice::Dice;
use crate::generator::focus::Focus;

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
    /// Objects that nobody means, most of which the API server would refuse.
    Odd,
}

/// Plugins, each with the share of records in percent in which it must do its part.
pub(crate) type Floors = [(&'static str, usize)];

/// What is known about a family.
struct Description {
    family: Family,
    name: &'static str,
    /// The plugins without which the family makes no sense.
    plugins: &'static [&'static str],
    /// Plugins that must refuse nodes when the family is on.
    rejecting: &'static Floors,
    /// Plugins that must tell nodes apart when the family is on.
    scoring: &'static Floors,
}

const fn described(
    family: Family,
    name: &'static str,
    plugins: &'static [&'static str],
    rejecting: &'static Floors,
    scoring: &'static Floors,
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

const FAMILIES: [Description; 17] = [
    described(
        Family::Basic,
        "basic",
        &[],
        &[("NodeResourcesFit", 40)],
        &[
            ("NodeResourcesFit", 20),
            ("NodeResourcesBalancedAllocation", 20),
        ],
    ),
    described(
        Family::Taints,
        "taints",
        &[],
        &[("TaintToleration", 15), ("NodeUnschedulable", 10)],
        &[("TaintToleration", 5)],
    ),
    described(
        Family::NodeAffinity,
        "nodeaffinity",
        &[],
        &[("NodeAffinity", 6)],
        &[("NodeAffinity", 3)],
    ),
    described(Family::Ports, "ports", &[], &[("NodePorts", 4)], &[]),
    described(Family::Images, "images", &[], &[], &[("ImageLocality", 8)]),
    described(Family::Gates, "gates", &[], &[], &[]),
    described(Family::Priorities, "priorities", &[], &[], &[]),
    described(Family::PodLevel, "podlevel", &[], &[], &[]),
    described(Family::Resize, "resize", &[], &[], &[]),
    described(
        Family::Spread,
        "spread",
        &["PodTopologySpread"],
        &[("PodTopologySpread", 4)],
        &[("PodTopologySpread", 6)],
    ),
    described(
        Family::Owners,
        "owners",
        &["PodTopologySpread"],
        &[],
        &[("PodTopologySpread", 1)],
    ),
    described(
        Family::PodAffinity,
        "podaffinity",
        &["InterPodAffinity"],
        &[("InterPodAffinity", 5)],
        &[("InterPodAffinity", 6)],
    ),
    described(
        Family::Volumes,
        "volumes",
        &VOLUME_PLUGINS,
        &[
            ("VolumeRestrictions", 4),
            ("NodeVolumeLimits", 5),
            ("VolumeBinding", 10),
            ("VolumeZone", 4),
        ],
        &[("VolumeBinding", 3)],
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
        &[("NodeDeclaredFeatures", 3)],
        &[],
    ),
    described(Family::Profiles, "profiles", &[], &[], &[]),
    described(Family::Odd, "odd", &[], &[], &[]),
];

fn description(family: Family) -> &'static Description {
    let found = FAMILIES.iter().find(|known| known.family == family);
    found.expect("every family must be described")
}

/// A set of families.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Families(BTreeSet<Family>);

impl Families {
    /// Those whose plugins are among `there`: a family is on as soon as its plugins are. Odd objects
    /// are not among them.
    pub(crate) fn of_plugins(there: &[&str]) -> Self {
        let is_there = |known: &&Description| {
            let mut plugins = known.plugins.iter();
            plugins.all(|plugin| there.contains(plugin))
        };
        let families = FAMILIES.iter().filter(is_there);
        let families = families.filter(|known| known.family != Family::Odd);
        Self(families.map(|known| known.family).collect())
    }

    /// These, and odd objects.
    pub(crate) fn with_odd_objects(&self) -> Self {
        let odd = [Family::Odd];
        Self(self.0.iter().copied().chain(odd).collect())
    }

    pub(crate) fn has(&self, family: Family) -> bool {
        self.0.contains(&family)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// What one cluster is made of: the basics, what it is about, and some of the others.
    pub(super) fn draw(&self, focus: Focus, dice: &mut Dice) -> Self {
        let is_drawn = |family: &&Family| {
            let is_sure =
                matches!(family, Family::Basic | Family::Odd) || focus.family() == Some(**family);
            dice.chance(focus.share_of_families()) || is_sure
        };
        Self(self.0.iter().filter(is_drawn).copied().collect())
    }

    /// The plugins that must refuse nodes, with the share of records in percent.
    pub(crate) fn rejecting(&self) -> BTreeMap<&'static str, usize> {
        self.highest(|known| known.rejecting)
    }

    /// The plugins that must tell nodes apart, with the share of records in percent.
    pub(crate) fn scoring(&self) -> BTreeMap<&'static str, usize> {
        self.highest(|known| known.scoring)
    }

    fn highest(
        &self,
        floors: impl Fn(&'static Description) -> &'static Floors,
    ) -> BTreeMap<&'static str, usize> {
        let mut highest = BTreeMap::new();
        let all = self.0.iter().flat_map(|one| floors(description(*one)));
        for (plugin, floor) in all {
            let known = highest.entry(*plugin).or_default();
            *known = (*floor).max(*known);
        }
        highest
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
