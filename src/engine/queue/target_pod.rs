//! What an update of a pending pod changed (`PodSchedulingPropertiesChange`).

use crate::engine::framework::ActionType;
use crate::model::pod_class::PodClass;
use crate::model::pod_info::PodInfo;
use crate::model::resources::Resources;

/// What differs between two versions of a pod. `None` stands for an update that changes nothing
/// that scheduling reads.
pub fn target_pod_change(
    old: (&PodInfo, &PodClass),
    new: (&PodInfo, &PodClass),
) -> Option<ActionType> {
    let ((old, old_class), (new, new_class)) = (old, new);
    let mut change = ActionType::NONE;
    if old.labels != new.labels {
        change = change.or(ActionType::UPDATE_POD_LABEL);
    }
    if any_less(&new_class.requests, &old_class.requests) {
        change = change.or(ActionType::UPDATE_POD_SCALE_DOWN);
    }
    if any_less(&old_class.requests, &new_class.requests) {
        change = change.or(ActionType::UPDATE_POD_SCALE_UP);
    }
    if new.scheduling_gates.is_empty() && !old.scheduling_gates.is_empty() {
        change = change.or(ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED);
    }
    if old_class.tolerations != new_class.tolerations {
        change = change.or(ActionType::UPDATE_POD_TOLERATION);
    }
    if !change.is_none() {
        return Some(change);
    }
    let differs = old.class != new.class
        || old.priority != new.priority
        || old.scheduling_gates != new.scheduling_gates
        || old.never_preempts != new.never_preempts;
    // Upstream's general update: it asks only plugins that registered for any update.
    differs.then_some(ActionType::UPDATE)
}

/// Whether `amounts` are less than `others` in some resource.
pub(crate) fn any_less(amounts: &Resources, others: &Resources) -> bool {
    amounts.milli_cpu < others.milli_cpu
        || amounts.memory < others.memory
        || amounts.ephemeral_storage < others.ephemeral_storage
        || others
            .scalars()
            .iter()
            .any(|&(name, amount)| amounts.scalar(name).unwrap_or(0) < amount)
}
