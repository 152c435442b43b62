//! Outside answers in the middle of a cycle: the engine asks, suspends the attempt, and resumes it
//! when the answer comes. What was judged before is judged again, since the cluster has moved on.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::engine::cache::snapshot::{NodeView, PodView};
use crate::engine::framework::plugin::PluginName;
use crate::engine::framework::status::Reason;

/// Somebody outside who narrows and weighs the nodes that fit (an HTTP extender).
pub trait Extender: fmt::Debug + Send + Sync {
    /// Its name, for messages and for the queue.
    fn name(&self) -> PluginName;

    /// The question about `pod` and the nodes that passed the filters; `None` if the pod does not
    /// concern it.
    fn question(&self, pod: &PodView<'_>, feasible: &[NodeView<'_>]) -> Option<Question>;
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Who is asked.
    pub extender: PluginName,
    /// The nodes it is about.
    pub nodes: Vec<Arc<str>>,
}

/// What was answered. An attempt that resumes holds the answers it has got so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An opinion.
    Opinion {
        /// Nodes that will not do, each with the text why.
        rejected: BTreeMap<Arc<str>, Reason>,
        /// Scores 0..=10 by node; missing is 0.
        scores: BTreeMap<Arc<str>, i64>,
        /// What a score of it counts.
        weight: i64,
    },
    /// It could not answer and may be ignored.
    Ignored,
    /// It could not answer: the attempt fails with this text.
    Failed(String),
}
