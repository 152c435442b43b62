//! Budgets of disruption: which victims they protect (`FilterVictimsWithPDBViolation`).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use crate::engine::cache::snapshot::{PodView, Snapshot};
use crate::model::objects::PodDisruptionBudget;

/// The budgets that select pods, by namespace and name.
#[derive(Debug)]
pub(super) struct Budgets<'a>(Vec<Budget<'a>>);

#[derive(Debug)]
struct Budget<'a> {
    namespace: &'a str,
    selector: &'a LabelSelector,
    object: &'a PodDisruptionBudget,
}

impl<'a> Budgets<'a> {
    /// The budgets of the cluster. One without a selector, or with an invalid one, selects
    /// nothing.
    pub(super) fn of(cluster: Snapshot<'a>) -> Self {
        let budgets = cluster.listers().pod_disruption_budgets.iter();
        let budget = |object: &'a std::sync::Arc<PodDisruptionBudget>| {
            let selector = object.spec.selector.as_ref()?;
            (is_valid(selector) && !is_empty(selector)).then(|| Budget {
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
                && selects(budget.selector, pod)
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

fn is_empty(selector: &LabelSelector) -> bool {
    selector.match_labels.iter().flatten().count() == 0
        && selector.match_expressions.iter().flatten().count() == 0
}

fn is_valid(selector: &LabelSelector) -> bool {
    let mut expressions = selector.match_expressions.iter().flatten();
    expressions.all(|expression| {
        let has_values = expression.values.as_ref().is_some_and(|v| !v.is_empty());
        match expression.operator.as_str() {
            "In" | "NotIn" => has_values,
            "Exists" | "DoesNotExist" => !has_values,
            _ => false,
        }
    })
}

fn selects(selector: &LabelSelector, pod: &PodView<'_>) -> bool {
    let mut labels = selector.match_labels.iter().flatten();
    let mut expressions = selector.match_expressions.iter().flatten();
    labels.all(|(key, value)| label(pod, key) == Some(value))
        && expressions.all(|expression| meets(pod, expression))
}

fn label<'p>(pod: &PodView<'p>, key: &str) -> Option<&'p str> {
    let value = pod.labels.get(pod.symbols.get(key)?)?;
    Some(pod.symbols.text(value))
}

fn meets(pod: &PodView<'_>, expression: &LabelSelectorRequirement) -> bool {
    let value = label(pod, &expression.key);
    let is_listed = || {
        let mut values = expression.values.iter().flatten();
        value.is_some_and(|value| values.any(|listed| listed == value))
    };
    match expression.operator.as_str() {
        "In" => is_listed(),
        "NotIn" => !is_listed(),
        "Exists" => value.is_some(),
        _ => value.is_none(),
    }
}
