//! The conditions of a profile.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::kubernetes::profiles::Judged;

/// The longest message of a condition (`metav1.Condition`).
const MESSAGE_MAX: usize = 32_768;

/// What the conditions should say; `active` is the generation that the engine runs. The time of a
/// change is kept where nothing changed.
pub(super) fn conditions(judged: &Judged, active: Option<i64>, now: &Time) -> Vec<Condition> {
    let generation = judged.object.metadata.generation.unwrap_or(0);
    let accepted = match judged.problems.first() {
        None => ("Accepted", true, "Valid", "the profile is valid".to_owned()),
        Some(first) => {
            let all: Vec<String> = judged.problems.iter().map(ToString::to_string).collect();
            ("Accepted", false, first.reason.as_str(), all.join("; "))
        }
    };
    let is_active = active == Some(generation);
    let active_condition = match active {
        Some(running) if is_active => (
            "Active",
            true,
            "Running",
            format!("generation {running} is running"),
        ),
        Some(running) => {
            let text = format!("generation {running} is running instead of {generation}");
            ("Active", false, "OlderGeneration", text)
        }
        None => (
            "Active",
            false,
            "NotRunning",
            "no generation is running".to_owned(),
        ),
    };
    let is_degraded = active.is_some() && !is_active && !judged.problems.is_empty();
    let degraded = if is_degraded {
        let text = "the last valid generation goes on running until the profile is corrected";
        ("Degraded", true, "LastKnownGood", text.to_owned())
    } else {
        (
            "Degraded",
            false,
            "AsSpecified",
            "nothing is switched off".to_owned(),
        )
    };
    let is_ready = accepted.1 && is_active;
    let ready = if is_ready {
        (
            "Ready",
            true,
            "Running",
            "pods of this profile are being scheduled".to_owned(),
        )
    } else {
        (
            "Ready",
            false,
            "NotReady",
            "see the conditions Accepted and Active".to_owned(),
        )
    };
    [accepted, active_condition, degraded, ready]
        .into_iter()
        .map(|(type_, status, reason, message)| {
            condition(judged, type_, status, reason, &message, generation, now)
        })
        .collect()
}

fn condition(
    judged: &Judged,
    type_: &str,
    status: bool,
    reason: &str,
    message: &str,
    generation: i64,
    now: &Time,
) -> Condition {
    let status = if status { "True" } else { "False" };
    let before = judged
        .object
        .status
        .as_ref()
        .and_then(|s| s.conditions.iter().find(|c| c.type_ == type_));
    let since = before.filter(|before| before.status == status);
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.chars().take(MESSAGE_MAX / 4).collect(),
        observed_generation: Some(generation),
        last_transition_time: since.map_or_else(|| now.clone(), |c| c.last_transition_time.clone()),
    }
}
