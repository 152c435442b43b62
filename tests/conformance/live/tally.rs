//! Which families of features the pods had that were decided: an empty test must not pass.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::live::fate::Fate;

/// Whether a pod of a cluster, as a server shows both, has what the family is about.
type Trait = fn(&Value, &[Value]) -> bool;

/// The families of the generator, by its names.
const FAMILIES: [(&str, Trait); 14] = [
    ("taints", |pod, _| !pod["spec"]["tolerations"].is_null()),
    ("nodeaffinity", |pod, _| {
        let spec = &pod["spec"];
        !spec["nodeSelector"].is_null() || !spec["affinity"]["nodeAffinity"].is_null()
    }),
    ("ports", |pod, _| {
        let mut ports = containers(pod).flat_map(|container| items(&container["ports"]));
        ports.any(|port| !port["hostPort"].is_null())
    }),
    ("images", |_, cluster| {
        let mut nodes = of_kind(cluster, "Node");
        nodes.any(|node| items(&node["status"]["images"]).next().is_some())
    }),
    ("gates", |pod, _| !pod["spec"]["schedulingGates"].is_null()),
    ("priorities", |pod, _| {
        !pod["spec"]["priorityClassName"].is_null()
    }),
    ("podlevel", |pod, _| !pod["spec"]["resources"].is_null()),
    ("resize", |_, cluster| {
        let mut pods = of_kind(cluster, "Pod");
        pods.any(|pod| items(&pod["status"]["containerStatuses"]).next().is_some())
    }),
    ("spread", |pod, _| {
        !pod["spec"]["topologySpreadConstraints"].is_null()
    }),
    ("owners", |pod, cluster| {
        let mut owners = items(&pod["metadata"]["ownerReferences"]);
        let is_there = |owner: &Value| {
            let mut objects = cluster.iter();
            objects.any(|object| {
                object["kind"] == owner["kind"] && object["metadata"]["name"] == owner["name"]
            })
        };
        owners.any(is_there)
    }),
    ("podaffinity", |pod, _| {
        let affinity = &pod["spec"]["affinity"];
        !affinity["podAffinity"].is_null() || !affinity["podAntiAffinity"].is_null()
    }),
    ("volumes", |pod, _| {
        let mut volumes = items(&pod["spec"]["volumes"]);
        volumes.any(|volume| volume["emptyDir"].is_null() && volume["image"].is_null())
    }),
    ("declaredfeatures", |pod, _| {
        containers(pod).any(|container| !container["restartPolicyRules"].is_null())
    }),
    ("profiles", |_, cluster| {
        of_kind(cluster, "SchedulerProfile").any(|profile| {
            profile["metadata"]["name"] != "default" // That of a cluster without any.
        })
    }),
];

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn of_kind<'a>(cluster: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    cluster.iter().filter(move |object| object["kind"] == kind)
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["containers", "initContainers"].map(|list| items(&pod["spec"][list]));
    lists.into_iter().flatten()
}

/// The families that a pod stands for.
pub(crate) fn families(pod: &Value, cluster: &[Value]) -> Vec<&'static str> {
    let shown = FAMILIES.iter().filter(|(_, has)| has(pod, cluster));
    shown.map(|(name, _)| *name).collect()
}

/// Counts of the pods that were placed and refused, by family.
#[derive(Debug)]
pub(crate) struct Tally {
    counts: BTreeMap<&'static str, [usize; 2]>,
    /// Pods for which others were evicted.
    pub(crate) evicting: usize,
    /// Pods that the API server did not take.
    pub(crate) not_taken: usize,
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            counts: FAMILIES.iter().map(|(name, _)| (*name, [0; 2])).collect(),
            evicting: 0,
            not_taken: 0,
        }
    }

    /// Notes what became of a pod as the generator made it.
    pub(crate) fn add(&mut self, pod: &Value, cluster: &[Value], fate: &Fate) {
        let outcome = usize::from(matches!(fate, Fate::Refused(_)));
        if let Fate::Refused(refusal) = fate {
            self.evicting += usize::from(!refusal.victims.is_empty());
        }
        for family in families(pod, cluster) {
            self.counts.entry(family).or_default()[outcome] += 1;
        }
    }

    /// Families of which not both outcomes have been seen.
    pub(crate) fn unseen(&self) -> Vec<String> {
        let unseen = self.counts.iter().filter(|(_, counts)| counts.contains(&0));
        let no_evictions =
            (self.evicting == 0).then(|| "preemption: nobody was evicted".to_owned());
        let unseen = unseen.map(|(family, [placed, refused])| {
            format!("{family}: {placed} pods were placed, {refused} refused")
        });
        unseen.chain(no_evictions).collect()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<18} {:>7} {:>7}", "family", "placed", "refused")?;
        for (family, [placed, refused]) in &self.counts {
            writeln!(f, "{family:<18} {placed:>7} {refused:>7}")?;
        }
        writeln!(
            f,
            "for {} of the refused others were evicted",
            self.evicting
        )?;
        let count = self.not_taken;
        write!(f, "{count} pods were not taken by the API server")
    }
}
