//! Outside answers in the middle of a cycle: the engine asks, suspends the attempt, and resumes it
//! when the answers are there. What was judged before is judged again, since the cluster has moved
//! on.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::apis::extender::Extender as Config;
use crate::engine::cache::snapshot::PodView;
use crate::engine::framework::plugin::PluginName;
use crate::model::pod_info::{PodKey, PodUid};
use crate::model::symbols::{Symbol, SymbolScope};

/// The plugin name of nodes that an extender rejected (`framework.ExtenderName`).
pub const EXTENDER: PluginName = "Extender";

/// An extender of a profile, compiled (`HTTPExtender`).
#[derive(Clone, Debug)]
pub struct Extender {
    /// How it is asked, and about what.
    pub config: Arc<Config>,
    managed: Vec<Symbol>,
}

/// What is asked. An attempt asks each extender each thing once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Who is asked.
    pub extender: Arc<Config>,
    /// Its place among the extenders of the profile.
    pub position: usize,
    /// Which attempt of the pod asks.
    pub attempt: u32,
    /// What about.
    pub subject: Subject,
}

/// What a question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Which of the nodes will do.
    Filter {
        /// The nodes that passed the filters and the extenders before.
        nodes: Vec<Arc<str>>,
        /// The only node is the one that the pod is nominated for.
        promised: bool,
    },
    /// How good the nodes are.
    Prioritize {
        /// The nodes that will do.
        nodes: Vec<Arc<str>>,
    },
    /// On which nodes room may be made, and whom each is to lose.
    Preempt {
        /// The nodes where evictions help.
        candidates: Candidates,
        /// The names of the pods that are to go.
        names: BTreeMap<PodUid, PodKey>,
    },
}

/// Nodes where room could be made, by name.
pub type Candidates = BTreeMap<Arc<str>, Victims>;

/// Whom a node is to lose (`extenderv1.MetaVictims`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Victims {
    /// The pods, the most important first.
    pub pods: Vec<PodUid>,
    /// How many of them a budget protects.
    pub violations: i64,
}

/// What was answered. An attempt that resumes holds the answers it has got so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To [`Subject::Filter`].
    Filtered(Filtered),
    /// To [`Subject::Prioritize`]: scores 0..=10 by node; missing is 0.
    Prioritized(BTreeMap<Arc<str>, i64>),
    /// To [`Subject::Preempt`]: the nodes that are left, and whom each is to lose.
    Preempted(Candidates),
    /// There is none, for this reason.
    Failed(String),
}

/// Which nodes will do (`ExtenderFilterResult`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filtered {
    /// The nodes that will do.
    pub nodes: Vec<Arc<str>>,
    /// The answer names nodes instead of showing them: a name that was not asked about is an error.
    pub by_name: bool,
    /// Nodes that will not do, each with the text why. Evictions could help.
    pub failed: BTreeMap<Arc<str>, String>,
    /// Likewise, and evictions cannot help.
    pub unresolvable: BTreeMap<Arc<str>, String>,
}

/// What the extenders of a profile make of the candidates of a preemption.
pub trait PreemptionExtenders {
    /// Whether one is to be asked about the pod at all.
    fn are_asked(&self) -> bool;

    /// Lets each narrow what the ones before have left (`callExtenders`).
    fn process(&self, candidates: Candidates) -> Processed;
}

/// The answer of [`PreemptionExtenders::process`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Processed {
    /// These are left.
    Left(Candidates),
    /// This has to be asked first; the attempt waits.
    Ask(Box<Question>),
    /// One that must not be ignored failed.
    Failed(String),
}

impl Extender {
    /// Compiles `config`; the names that it needs are interned in `scope`.
    pub fn compile(config: Arc<Config>, scope: &mut SymbolScope<'_>) -> Self {
        let managed = config.managed_resources.iter();
        let managed = managed
            .map(|resource| scope.intern(&resource.name))
            .collect();
        Self { config, managed }
    }

    /// Whether it is asked about `pod`: it manages nothing in particular, or something that the
    /// containers request (`IsInterested`). The API server has made requests of limits.
    pub fn is_interested(&self, pod: &PodView<'_>) -> bool {
        self.managed.is_empty()
            || self
                .managed
                .iter()
                .any(|name| pod.class.requests.scalar(*name).is_some())
    }

    /// Whether it filters (`IsFilter`).
    pub fn filters(&self) -> bool {
        !self.config.filter_verb.is_empty()
    }

    /// Whether it scores (`IsPrioritizer`).
    pub fn prioritizes(&self) -> bool {
        !self.config.prioritize_verb.is_empty()
    }

    /// Whether it has a say in preemptions (`SupportsPreemption`).
    pub fn preempts(&self) -> bool {
        !self.config.preempt_verb.is_empty()
    }

    /// Whether it binds (`IsBinder`).
    pub fn binds(&self) -> bool {
        !self.config.bind_verb.is_empty()
    }
}

impl Question {
    /// Whether `other` asks the same of the same extender, maybe about other nodes.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let same_subject = match (&self.subject, &other.subject) {
            (
                Subject::Filter { promised, .. },
                Subject::Filter {
                    promised: other, ..
                },
            ) => promised == other,
            (Subject::Prioritize { .. }, Subject::Prioritize { .. })
            | (Subject::Preempt { .. }, Subject::Preempt { .. }) => true,
            _ => false,
        };
        same_subject && self.position == other.position && self.extender == other.extender
    }
}
