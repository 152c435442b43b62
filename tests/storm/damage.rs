//! What a storm has cost.

use std::fmt;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};

use crate::sea::{BUDGETS, CLASS, Size};

/// Counted when it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damage {
    /// High pods with a node.
    pub(crate) placed: usize,
    /// Low pods that are gone: nobody else deletes.
    pub(crate) victims: usize,
    /// Of those, how many were of each of the [`BUDGETS`].
    of_budget: [usize; 3],
    /// How many more than their budgets allow.
    pub(crate) violations: usize,
    /// From the first high pod until all are placed.
    pub(crate) duration: Duration,
}

impl Damage {
    pub(crate) const HEADER: &str = "                 placed  victims  violations  seconds";

    pub(crate) async fn assess(
        client: &Client,
        size: Size,
        duration: Duration,
    ) -> anyhow::Result<Self> {
        let pods: Api<Pod> = Api::default_namespaced(client.clone());
        let pods = pods.list(&ListParams::default()).await?.items;
        let of_class = |class: &'static str| {
            let pods = pods.iter();
            pods.filter(move |pod| pod.labels().get(CLASS).is_some_and(|label| label == class))
        };
        let placed = of_class("high").filter(|pod| has_node(pod)).count();
        let of_budget = BUDGETS.map(|budget| {
            let left = of_class("low").filter(|pod| {
                let app = pod.labels().get("app");
                app.is_some_and(|app| app == budget.app)
            });
            size.nodes * budget.pods_per_node - left.count()
        });
        let broken = BUDGETS.iter().zip(of_budget);
        let broken = broken.map(|(budget, gone)| gone.saturating_sub(budget.allowed(size)));
        Ok(Self {
            placed,
            victims: of_budget.iter().sum(),
            of_budget,
            violations: broken.sum(),
            duration,
        })
    }
}

pub(crate) fn has_node(pod: &Pod) -> bool {
    let spec = pod.spec.as_ref();
    spec.is_some_and(|spec| spec.node_name.is_some())
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.duration.as_secs_f64();
        let [free, closed, half] = self.of_budget;
        write!(
            f,
            "{:>7} {:>8} {:>21} {:>11} {seconds:>8.1}",
            self.placed,
            self.victims,
            format!("({free}, {closed}, {half})"),
            self.violations
        )
    }
}
