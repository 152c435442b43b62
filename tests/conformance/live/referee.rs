//! Says whether two schedulers agree about a pod.

use bayplan::apis::plugin_catalog::PluginCatalog;
use bayplan::apis::upstream_plugins::DEFAULT_PLUGINS;
use bayplan::plugins::registry::LiveRegistry;
use serde_json::{Value, json};

use crate::live::arena::{Fate, Match};
use crate::oracle::Oracle;
use crate::subject;

/// The plugins that decide in a real cluster.
pub(crate) fn live_plugins() -> Vec<&'static str> {
    let there = LiveRegistry.names();
    let default = DEFAULT_PLUGINS.iter().map(|plugin| plugin.name);
    default.filter(|name| there.contains(name)).collect()
}

/// Upstream's default profile without the plugins that do not decide.
pub(crate) fn profile() -> Value {
    let there = live_plugins();
    let default = DEFAULT_PLUGINS.iter().map(|plugin| plugin.name);
    let missing = default.filter(|name| !there.contains(name));
    let missing: Vec<_> = missing.map(|name| json!({"name": name})).collect();
    json!({"apiVersion": "bayplan.dev/v1alpha1", "kind": "SchedulerProfile",
        "metadata": {"name": "default"},
        "spec": {"schedulerName": "default-scheduler",
            "plugins": {"multiPoint": {"disabled": missing}}}})
}

/// Judges one match after the other.
pub(crate) struct Referee {
    oracle: Oracle,
    pub(crate) placed: usize,
    pub(crate) refused: usize,
    /// Sentences.
    pub(crate) differences: Vec<String>,
}

impl Referee {
    pub(crate) fn start() -> anyhow::Result<Self> {
        Ok(Self {
            oracle: Oracle::start(None)?,
            placed: 0,
            refused: 0,
            differences: Vec::new(),
        })
    }

    pub(crate) fn judge(&mut self, seed: u64, played: &Match) -> anyhow::Result<()> {
        let difference = match (&played.upstream, &played.bayplan) {
            (Fate::Placed(upstream), Fate::Placed(bayplan)) => {
                self.placed += 1;
                self.misplaced(&played.cluster, upstream, bayplan)?
            }
            (Fate::Refused(upstream), Fate::Refused(bayplan)) => {
                self.refused += 1;
                let differ = upstream != bayplan;
                differ.then(|| format!("kube-scheduler says {upstream:?}, Bayplan {bayplan:?}"))
            }
            (upstream, bayplan) => Some(format!(
                "kube-scheduler: {upstream:?}, Bayplan: {bayplan:?}"
            )),
        };
        let pod = played.cluster.last().map(|pod| &pod["metadata"]["name"]);
        let sentence = difference.map(|text| format!("seed {seed}, {pod:?}: {text}"));
        self.differences.extend(sentence);
        Ok(())
    }

    /// Each node must be among the other's best.
    fn misplaced(
        &mut self,
        cluster: &[Value],
        upstream: &str,
        bayplan: &str,
    ) -> anyhow::Result<Option<String>> {
        let mut cluster = cluster.to_vec();
        cluster.insert(0, profile());
        let theirs = self.oracle.decide(&cluster, &[])?;
        let theirs = theirs.map(|answer| answer.records);
        let ours = subject::bayplan(&cluster);
        Ok(match (best(theirs), best(ours)) {
            (Ok(theirs), Ok(ours)) => {
                let agree = theirs.contains(&json!(bayplan)) && ours.contains(&json!(upstream));
                (!agree).then(|| {
                    format!(
                        "Bayplan chose {bayplan}, upstream's best are {theirs:?}; \
                         kube-scheduler chose {upstream}, Bayplan's best are {ours:?}"
                    )
                })
            }
            (Err(error), _) | (_, Err(error)) => Some(error),
        })
    }
}

/// The best nodes of the one pod that waits.
fn best(records: Result<Vec<Value>, String>) -> Result<Vec<Value>, String> {
    let records = records?;
    let [record] = &records[..] else {
        return Err(format!(
            "{} pods were decided instead of one",
            records.len()
        ));
    };
    Ok(record["best"].as_array().cloned().unwrap_or_default())
}
