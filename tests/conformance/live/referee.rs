//! Says whether two schedulers agree about a pod.

use serde_json::{Value, json};

use crate::live::arena::Match;
use crate::live::fate::Fate;
use crate::oracle::Oracle;
use crate::subject;

/// Judges one match after the other.
pub(crate) struct Referee {
    oracle: Oracle,
}

impl Referee {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let oracle = Oracle::start(None)?;
        Ok(Self { oracle })
    }

    /// What they disagree about, in a sentence.
    pub(crate) fn difference(&mut self, played: &Match) -> anyhow::Result<Option<String>> {
        Ok(match (&played.upstream, &played.bayplan) {
            (Fate::Placed(upstream), Fate::Placed(bayplan)) => {
                self.misplaced(&played.cluster, upstream, bayplan)?
            }
            (Fate::Refused(upstream), Fate::Refused(bayplan)) => {
                let differ = upstream != bayplan;
                differ.then(|| format!("kube-scheduler says {upstream:?}, Bayplan {bayplan:?}"))
            }
            (upstream, bayplan) => Some(format!(
                "kube-scheduler: {upstream:?}, Bayplan: {bayplan:?}"
            )),
        })
    }

    /// Each node must be among the other's best.
    fn misplaced(
        &mut self,
        cluster: &[Value],
        upstream: &str,
        bayplan: &str,
    ) -> anyhow::Result<Option<String>> {
        let theirs = self
            .oracle
            .decide(cluster, &[], true)?
            .map(|answer| answer.records);
        let ours = subject::bayplan(cluster);
        let pod = cluster.last().map_or(Value::Null, |pod| {
            let part = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
            format!("{}/{}", part("namespace"), part("name")).into()
        });
        Ok(match (best(theirs, &pod), best(ours, &pod)) {
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

/// The best nodes of the pod; it is the only one that waits.
fn best(records: Result<Vec<Value>, String>, pod: &Value) -> Result<Vec<Value>, String> {
    let records = records?;
    match &records[..] {
        [record] if record["pod"] == *pod => {
            Ok(record["best"].as_array().cloned().unwrap_or_default())
        }
        other => Err(format!("{} pods were decided, not just {pod}", other.len())),
    }
}
