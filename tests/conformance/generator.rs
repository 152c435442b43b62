//! Random clusters, nasty but valid: the same seed gives the same cluster, byte by byte.
//!
//! There are few label values, so that constraints meet; about a third of the pods fit nowhere.

mod containers;
pub(crate) mod dice;
pub(crate) mod families;
mod focus;
mod node_affinity;
mod nodes;
mod odd;
mod owners;
mod pod_affinity;
mod pods;
mod ports;
mod preemption;
mod profiles;
mod selectors;
mod spread;
mod taints;
mod volumes;

use serde_json::{Value, json};

use crate::generator::dice::Dice;
use crate::generator::families::{Families, Family};
use crate::generator::focus::Focus;

/// Namespaces that pods live in. The last is never given as an object.
const NAMESPACES: [&str; 4] = ["default", "team-a", "team-b", "unlisted"];

/// How large a cluster becomes at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Nodes: from a third of it to all of it, and less where pods are to be evicted.
    pub(crate) nodes: usize,
    /// Pods, those that run already included.
    pub(crate) pods: usize,
}

/// What the parts of a cluster are made from.
#[derive(Debug)]
struct Plan {
    dice: Dice,
    focus: Focus,
    families: Families,
    /// The plugins that profiles may name.
    plugins: Vec<&'static str>,
    /// Names of the nodes.
    nodes: Vec<String>,
    /// Names of the scheduler profiles; none means upstream's default one.
    schedulers: Vec<String>,
    /// Of 100 containers, how many are large: of pods that run and of pods that wait.
    pressure: (usize, usize),
    /// Whether most running pods have started at the same time.
    started_together: bool,
    /// Volumes and claims so far, which are numbered.
    volumes: usize,
    /// Whether a pod has a volume that fails attempts. With two of them it would be chance which
    /// one upstream, which judges nodes in parallel, meets first.
    has_faulty_volume: bool,
    /// Claims that pods may share, by namespace and name.
    claims: Vec<(String, String)>,
}

impl Plan {
    /// Whether the cluster has the family and the throw of `percent` succeeds.
    fn wants(&mut self, family: Family, percent: usize) -> bool {
        self.families.has(family) && self.dice.chance(percent)
    }

    /// True once at most, if the throw of `percent` succeeds: the pod may get a faulty volume.
    fn takes_faulty_volume(&mut self, percent: usize) -> bool {
        let takes = self.dice.chance(percent) && !self.has_faulty_volume;
        self.has_faulty_volume |= takes;
        takes
    }
}

/// A cluster.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) objects: Vec<Value>,
    /// Whether the API server would take all of it.
    pub(crate) is_valid: bool,
}

/// The cluster of `seed`; its profiles name none but `plugins`.
pub(crate) fn generate(
    seed: u64,
    size: Size,
    families: &Families,
    plugins: &[&'static str],
) -> Cluster {
    let mut dice = Dice::new(seed);
    let focus = Focus::draw(families, &mut dice);
    let families = families.draw(focus, &mut dice);
    let mut node_count = dice.between(size.nodes.div_ceil(3).max(1), size.nodes.max(1));
    if focus == Focus::Eviction {
        // Full, so that somebody has to go.
        node_count = node_count.div_ceil(4).max(2);
    }
    let pressure = focus.pressure(&mut dice, families.count());
    let started_together = focus == Focus::Eviction && dice.chance(40);
    let mut plan = Plan {
        dice,
        focus,
        families,
        plugins: plugins.to_vec(),
        nodes: (1..=node_count).map(|n| format!("n{n:02}")).collect(),
        schedulers: Vec::new(),
        pressure,
        started_together,
        volumes: 0,
        has_faulty_volume: false,
        claims: Vec::new(),
    };
    let mut objects = profiles::profiles(&mut plan);
    objects.extend(namespaces());
    objects.extend(preemption::priority_classes(&mut plan));
    objects.extend(nodes::nodes(&mut plan));
    objects.extend(owners::owners(&plan));
    objects.extend(volumes::storage(&mut plan));
    let pods = pods::pods(&mut plan, size.pods);
    objects.extend(preemption::budgets(&mut plan, &pods));
    objects.extend(pods);
    odd::make_odd(&mut plan, &mut objects);
    Cluster {
        objects,
        is_valid: !plan.families.has(Family::Odd),
    }
}

fn namespaces() -> impl Iterator<Item = Value> {
    let labels = [
        json!({"team": "a", "env": "prod"}),
        json!({"team": "b", "env": "test"}),
    ];
    let named = NAMESPACES[1..].iter().zip(labels);
    named.map(|(name, labels)| {
        json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": labels}})
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { nodes: 9, pods: 20 };

    #[test]
    fn the_same_seed_gives_the_same_cluster_and_another_one_another() {
        let families: Families = "all".parse().unwrap();
        let text =
            |seed| serde_json::to_string(&generate(seed, SIZE, &families, &[]).objects).unwrap();
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
    }

    #[test]
    fn families_are_read_by_name() {
        let families: Families = "taints,ports".parse().unwrap();
        assert_eq!(families.names(), "basic,taints,ports");
        let error = "taint".parse::<Families>().unwrap_err();
        assert!(error.starts_with("no family \"taint\": use some of basic, taints,"));
    }
}
