//! Budgets of disruption: which victims they protect (`FilterVictimsWithPDBViolation`).

use crate::engine::cache::snapshot::{PodView, Snapshot};
use crate::model::label_selector::LabelSelector;
use crate::model::objects::PodDisruptionBudget;

/// The budgets that select pods.
#[derive(Debug)]
pub(super) struct Budgets<'a> {
    /// By namespace and name.
    all: Vec<Budget<'a>>,
    cluster: Snapshot<'a>,
    /// Evictions may not be in the status of budgets yet.
    evicted_lately: bool,
}

#[derive(Debug)]
struct Budget<'a> {
    namespace: &'a str,
    selector: LabelSelector,
    object: &'a PodDisruptionBudget,
    /// How many of its pods may go.
    allowed: i32,
}

impl<'a> Budgets<'a> {
    /// The budgets of the cluster. One without a selector, with an empty or with an invalid one
    /// selects nothing. With `evicted_lately` their status may be behind: what they allow is
    /// bounded by the pods that are not on their way out.
    pub(super) fn of(cluster: Snapshot<'a>, evicted_lately: bool) -> Self {
        let symbols = cluster.vocabulary().symbols();
        let budgets = cluster.listers().pod_disruption_budgets.iter();
        let budget = |object: &'a std::sync::Arc<PodDisruptionBudget>| {
            let selector = object.spec.selector.as_ref();
            let selector = LabelSelector::compile_unheld(selector, symbols).ok()?;
            (!selector.is_everything()).then(|| Budget {
                namespace: object.metadata.namespace.as_deref().unwrap_or_default(),
                selector,
                object,
                allowed: object.status.disruptions_allowed,
            })
        };
        let mut budgets = Self {
            all: budgets.filter_map(budget).collect(),
            cluster,
            evicted_lately,
        };
        if evicted_lately && !budgets.all.is_empty() {
            budgets.recount();
        }
        budgets
    }

    /// No more may go than stay beyond the desired ones. A budget allows no more than that when its
    /// status is up to date, since a healthy pod is one that stays.
    fn recount(&mut self) {
        let mut staying = vec![0_i32; self.all.len()];
        let pods = self.cluster.nodes().flat_map(|node| node.pods());
        for pod in pods.filter(|pod| !is_going(pod, self.cluster)) {
            let budgets = self.all.iter().zip(&mut staying);
            for (_, staying) in budgets.filter(|(budget, _)| budget.is_for(&pod)) {
                *staying = staying.saturating_add(1);
            }
        }
        for (budget, staying) in self.all.iter_mut().zip(staying) {
            let spare = staying.saturating_sub(budget.object.status.desired_healthy);
            budget.allowed = budget.allowed.min(spare);
        }
    }

    /// Splits `pods`, the most important first, into those whose eviction a budget does not allow
    /// any more, and the others.
    pub(super) fn split<'p>(&self, pods: Vec<PodView<'p>>) -> (Vec<PodView<'p>>, Vec<PodView<'p>>) {
        let mut allowed: Vec<i32> = self.all.iter().map(|budget| budget.allowed).collect();
        pods.into_iter()
            .partition(|pod| self.is_violated(pod, &mut allowed))
    }

    /// Takes the eviction of `pod` from what is `allowed`.
    fn is_violated(&self, pod: &PodView<'_>, allowed: &mut [i32]) -> bool {
        // Whoever goes anyway was taken from the budgets when they were counted anew.
        let is_counted = self.evicted_lately && is_going(pod, self.cluster);
        if pod.labels.pairs().is_empty() || is_counted {
            return false;
        }
        for (budget, allowed) in self.all.iter().zip(allowed) {
            let disrupted = &budget.object.status.disrupted_pods;
            // An eviction that was let through before is not counted twice.
            if budget.is_for(pod) && !disrupted.contains_key(&*pod.info.key.name) {
                *allowed = allowed.saturating_sub(1);
                if *allowed < 0 {
                    return true;
                }
            }
        }
        false
    }
}

impl Budget<'_> {
    fn is_for(&self, pod: &PodView<'_>) -> bool {
        *self.namespace == *pod.info.key.namespace && self.selector.matches(pod.labels)
    }
}

/// Whether the pod is on its way out, or is about to be evicted.
fn is_going(pod: &PodView<'_>, cluster: Snapshot<'_>) -> bool {
    pod.info.is_terminating || cluster.is_victim(&pod.info.uid)
}
