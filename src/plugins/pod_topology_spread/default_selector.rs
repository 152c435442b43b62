//! The selector of pods that are alike: what their services and their controller select
//! (`helper.DefaultSelector`).

use std::collections::BTreeMap;

use crate::engine::cache::listers::Listers;
use crate::engine::cache::snapshot::PodView;
use crate::model::controller_ref::{ControllerKind, ControllerRef};
use crate::model::label_selector::{LabelRequirement, LabelSelector};
use crate::model::symbols::Symbol;

/// The selector of everything if neither service nor controller is known.
pub(super) fn default_selector(pod: &PodView<'_>, listers: &Listers) -> LabelSelector {
    let mut labels = service_labels(pod, listers);
    let controller = pod.info.controller.as_ref();
    let controller = controller.and_then(|controller| selection(controller, pod, listers));
    let mut requirements = Vec::new();
    match controller {
        Some(Selection::Labels(own)) => labels.extend(own),
        Some(Selection::Selector(own)) => requirements.extend_from_slice(own.requirements()),
        None => {}
    }
    let labels = labels
        .into_iter()
        .map(|(key, value)| LabelRequirement::In(key, Box::from([value])));
    LabelSelector::of(requirements.into_iter().chain(labels).collect())
}

type Labels = BTreeMap<Symbol, Symbol>;

/// What a controller selects.
enum Selection {
    Labels(Labels),
    Selector(LabelSelector),
}

/// The labels by which services select the pod. They are all the pod's own, so none contradicts
/// another.
fn service_labels(pod: &PodView<'_>, listers: &Listers) -> Labels {
    let services = listers.services.in_namespace(&pod.info.key.namespace);
    let selecting = services.filter_map(|service| {
        let labels = compiled(&service.spec.selector, pod);
        let selects = labels
            .iter()
            .all(|(key, value)| pod.labels.get(*key) == Some(*value));
        selects.then_some(labels)
    });
    selecting.flatten().collect()
}

fn compiled(labels: &BTreeMap<String, String>, pod: &PodView<'_>) -> Labels {
    let symbol = |text: &String| pod.symbols.get_or_unheld(text);
    labels
        .iter()
        .map(|(key, value)| (symbol(key), symbol(value)))
        .collect()
}

/// `None` if the controller is not known, or its selector cannot be read.
fn selection(
    controller: &ControllerRef,
    pod: &PodView<'_>,
    listers: &Listers,
) -> Option<Selection> {
    let (namespace, name) = (&*pod.info.key.namespace, &*controller.name);
    let selector = match controller.kind {
        ControllerKind::ReplicationController => {
            let found = listers.replication_controllers.get(namespace, name)?;
            return Some(Selection::Labels(compiled(&found.spec.selector, pod)));
        }
        ControllerKind::ReplicaSet => {
            let found = listers.replica_sets.get(namespace, name)?;
            found.spec.selector.as_ref()
        }
        ControllerKind::StatefulSet => {
            let found = listers.stateful_sets.get(namespace, name)?;
            found.spec.selector.as_ref()
        }
    };
    let compiled = LabelSelector::compile_unheld(selector, pod.symbols);
    compiled.ok().map(Selection::Selector)
}
