//! Why no node fits, and the sentence that says so (`framework.Diagnosis`, `framework.FitError`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::engine::framework::plugin::PluginName;
use crate::engine::framework::status::{Reason, Rejection, RejectionKind};

/// What upstream answers in a cluster without nodes (`ErrNoNodesAvailable`).
pub const NO_NODES_AVAILABLE: &str = "no nodes available to schedule pods";

/// Why an attempt found no node, counted by plugin and reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// Nodes in the cluster.
    pub node_count: usize,
    /// What a `PreFilter` plugin said of the pod as a whole.
    pub pre_filter_message: String,
    /// What the `PostFilter` plugins add.
    pub post_filter_message: String,
    /// How many nodes each plugin refused for each reason.
    pub rejections: BTreeMap<(PluginName, Reason), usize>,
    /// Nodes that evictions could free.
    pub resolvable_count: usize,
    /// Plugins whose events may help.
    pub unschedulable_plugins: BTreeSet<PluginName>,
    /// Plugins that wait for something outside; their events skip the backoff.
    pub pending_plugins: BTreeSet<PluginName>,
}

impl Diagnosis {
    /// The diagnosis of a pod that was refused on the way to the one node that was chosen for it.
    pub fn of_chosen_node(rejection: &Rejection) -> Self {
        let mut diagnosis = Self {
            node_count: 1,
            ..Self::default()
        };
        diagnosis.add(rejection, 1);
        diagnosis
    }

    /// Notes that `count` nodes were refused, and by whom.
    pub fn add(&mut self, rejection: &Rejection, count: usize) {
        for reason in &rejection.reasons {
            *self
                .rejections
                .entry((rejection.plugin, reason.clone()))
                .or_default() += count;
        }
        if !rejection.is_unresolvable() {
            self.resolvable_count += count;
        }
        self.add_plugin(rejection);
    }

    /// Notes who refused (`AddPluginStatus`).
    pub fn add_plugin(&mut self, rejection: &Rejection) {
        if rejection.plugin.is_empty() {
            return;
        }
        match rejection.kind {
            RejectionKind::Pending => self.pending_plugins.insert(rejection.plugin),
            RejectionKind::Unschedulable | RejectionKind::UnschedulableAndUnresolvable => {
                self.unschedulable_plugins.insert(rejection.plugin)
            }
        };
    }
}

/// The sentence of conditions and events (`FitError.Error`): reasons with their counts, sorted as
/// texts, so that `10 x` comes before `2 y`.
impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0/{} nodes are available:", self.node_count)?;
        if self.pre_filter_message.is_empty() {
            let mut counts = BTreeMap::<&str, usize>::new();
            for ((_, reason), count) in &self.rejections {
                *counts.entry(reason).or_default() += count;
            }
            let mut parts: Vec<_> = counts
                .iter()
                .map(|(reason, count)| format!("{count} {reason}"))
                .collect();
            parts.sort_unstable();
            if !parts.is_empty() {
                write!(f, " {}.", parts.join(", "))?;
            }
        } else {
            write!(f, " {}.", self.pre_filter_message)?;
        }
        if !self.post_filter_message.is_empty() {
            write!(f, " {}", self.post_filter_message)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_over_plugins_and_sorted_as_texts() {
        let mut diagnosis = Diagnosis {
            node_count: 14,
            ..Diagnosis::default()
        };
        diagnosis.add(
            &Rejection::unschedulable("NodeResourcesFit", "Insufficient cpu"),
            10,
        );
        let mut both = Rejection::unschedulable("NodeResourcesFit", "Insufficient memory");
        both.reasons.push("Insufficient cpu".into());
        diagnosis.add(&both, 2);
        diagnosis.add(
            &Rejection::unresolvable("NodeName", "node(s) didn't match"),
            2,
        );
        diagnosis.post_filter_message = "preemption: not today.".into();
        assert_eq!(
            diagnosis.to_string(),
            "0/14 nodes are available: 12 Insufficient cpu, 2 Insufficient memory, \
             2 node(s) didn't match. preemption: not today."
        );
        assert_eq!(diagnosis.resolvable_count, 12);
    }

    #[test]
    fn the_message_of_a_pre_filter_replaces_the_counts() {
        let mut diagnosis = Diagnosis {
            node_count: 3,
            ..Diagnosis::default()
        };
        let rejection = Rejection::unresolvable("NodeAffinity", "pod affinity terms conflict");
        diagnosis.add(&rejection, 3);
        diagnosis.pre_filter_message = rejection.message();
        assert_eq!(
            diagnosis.to_string(),
            "0/3 nodes are available: pod affinity terms conflict."
        );
    }
}
