//! Priorities from priority classes (`plugin/pkg/admission/priority`).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::sim::defaulting::{Unfit, set_default};

/// `scheduling.SystemCriticalPriority`.
const SYSTEM_CLUSTER_CRITICAL: i32 = 2_000_000_000;
/// `scheduling.SystemCriticalPriority + 1000`.
const SYSTEM_NODE_CRITICAL: i32 = 2_000_001_000;
/// What a pod gets when no class says otherwise.
const PREEMPT_LOWER_PRIORITY: &str = "PreemptLowerPriority";

/// The priority classes of the files, and the two that every cluster has.
#[derive(Debug)]
pub(in crate::sim) struct PriorityClasses {
    by_name: BTreeMap<String, Class>,
    /// The one for pods that name none.
    default: Option<Class>,
}

#[derive(Clone, Debug)]
struct Class {
    value: i32,
    preemption_policy: String,
}

impl Default for PriorityClasses {
    fn default() -> Self {
        let system = |name: &str, value| (name.to_owned(), Class::new(value, None));
        Self {
            by_name: BTreeMap::from([
                system("system-cluster-critical", SYSTEM_CLUSTER_CRITICAL),
                system("system-node-critical", SYSTEM_NODE_CRITICAL),
            ]),
            default: None,
        }
    }
}

impl Class {
    fn new(value: i32, preemption_policy: Option<&str>) -> Self {
        let policy = preemption_policy.unwrap_or(PREEMPT_LOWER_PRIORITY);
        Self {
            value,
            preemption_policy: policy.to_owned(),
        }
    }
}

impl PriorityClasses {
    /// Adds the class of a `PriorityClass` object. Of several defaults the lowest counts.
    pub(in crate::sim) fn add(&mut self, object: &Value) -> Result<(), Unfit> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let value = match &object["value"] {
            Value::Null => Some(0),
            value => value.as_i64().and_then(|value| i32::try_from(value).ok()),
        };
        let value = value.ok_or_else(|| Unfit {
            problem: format!("the value of the PriorityClass {name:?} is no 32-bit integer"),
            remedy: "give it a number".to_owned(),
        })?;
        let class = Class::new(value, object["preemptionPolicy"].as_str());
        let is_default = object["globalDefault"] == json!(true);
        if is_default
            && self
                .default
                .as_ref()
                .is_none_or(|other| other.value > value)
        {
            self.default = Some(class.clone());
        }
        self.by_name.insert(name.to_owned(), class);
        Ok(())
    }

    /// Writes priority and preemption policy into the `spec` of the pod called `pod`.
    pub(super) fn resolve(&self, spec: &mut Value, pod: &str) -> Result<(), Unfit> {
        let named = spec["priorityClassName"]
            .as_str()
            .filter(|name| !name.is_empty());
        let class = match named {
            None => self.default.clone().unwrap_or_else(|| Class::new(0, None)),
            Some(name) => match self.by_name.get(name) {
                Some(class) => class.clone(),
                // A pod that `kubectl` printed brings what the class said.
                None if spec["priority"].is_number() => Class::new(0, None),
                None => {
                    return Err(Unfit {
                        problem: format!("no PriorityClass {name:?} for the pod {pod:?}"),
                        remedy: "add the class to the files, or spec.priority to the pod"
                            .to_owned(),
                    });
                }
            },
        };
        set_default(spec, "priority", || class.value.into());
        set_default(spec, "preemptionPolicy", || class.preemption_policy.into());
        Ok(())
    }
}
