//! Who said no in an attempt.

use std::collections::BTreeSet;

use crate::engine::diagnosis::Diagnosis;
use crate::engine::framework::PluginName;

/// Why an attempt gave no node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejectors {
    /// Plugins that said no. Empty with `pending`: the attempt failed with an error.
    pub unschedulable: BTreeSet<PluginName>,
    /// Plugins that wait for something outside.
    pub pending: BTreeSet<PluginName>,
}

impl Rejectors {
    /// The attempt failed with an error: nobody said no.
    pub fn error() -> Self {
        Self::default()
    }

    /// Those who said no in an attempt.
    pub fn of(diagnosis: &Diagnosis) -> Self {
        Self {
            unschedulable: diagnosis.unschedulable_plugins.clone(),
            pending: diagnosis.pending_plugins.clone(),
        }
    }

    pub(super) fn is_error(&self) -> bool {
        self.unschedulable.is_empty() && self.pending.is_empty()
    }
}
