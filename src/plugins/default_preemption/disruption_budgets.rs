//! Budgets of disruption: which victims they protect (`FilterVictimsWithPDBViolation`).

use crate::engine::cache::snapshot::{PodView, Snapshot};
use crate::model::label_selector::LabelSelector;
use crate::model::objects::PodDisruptionBudget;

/// The budgets that select pods, by namespace and name.
#[derive(Debug)]
pub(super) struct Budgets<'a>(Vec<Budget<'a>>);

#[derive(Debug)]
struct Budget<'a> {
    namespace: &'a str,
    selector: LabelSelector,
    object: &'a PodDisruptionBudget,
}

impl<'a> Budgets<'a> {
    /// The budgets of the cluster. One without a selector, with an empty or with an invalid one
    /// selects nothing.
    pub(super) fn of(cluster: Snapshot<'a>) -> Self {
        let symbols = cluster.vocabulary().symbols();
        let budgets = cluster.listers().pod_disruption_budgets.iter();
        let budget = |object: &'a std::sync::Arc<PodDisruptionBudget>| {
            let selector = object.spec.selector.as_ref();
            let selector = LabelSelector::compile_unheld(selector, symbols).ok()?;
            (!selector.is_everything()).then(|| Budget {
                namespace: object.metadata.namespace.as_deref().unwrap_or_default(),
                selector,
                object,
            })
        };
        Self(budgets.filter_map(budget).collect())
    }

    /// Splits `pods`, the most important first, into those whose eviction a budget does not allow
    /// any more, and the others.
    pub(super) fn split<'p>(&self, pods: Vec<PodView<'p>>) -> (Vec<PodView<'p>>, Vec<PodView<'p>>) {
        let mut allowed: Vec<i32> = self
            .0
            .iter()
            .map(|budget| budget.object.status.disruptions_allowed)
            .collect();
        pods.into_iter()
            .partition(|pod| self.is_violated(pod, &mut allowed))
    }

    /// Takes the eviction of `pod` from what is `allowed`.
    fn is_violated(&self, pod: &PodView<'_>, allowed: &mut [i32]) -> bool {
        if pod.labels.pairs().is_empty() {
            return false;
        }
        for (budget, allowed) in self.0.iter().zip(allowed) {
            let disrupted = &budget.object.status.disrupted_pods;
            // An eviction that was let through before is not counted twice.
            if *budget.namespace == *pod.info.key.namespace
                && budget.selector.matches(pod.labels)
                && !disrupted.contains_key(&*pod.info.key.name)
            {
                *allowed = allowed.saturating_sub(1);
                if *allowed < 0 {
                    return true;
                }
            }
        }
        false
    }
}
