//! Where the two are known to decide otherwise. Each rule has its row in `docs/compatibility.md`,
//! takes exactly what it is about out of both records, and is never a tolerance.

use bayplan::model::quantity::Quantity;
use serde_json::{Map, Value};

/// Takes what it is about out of Bayplan's and out of upstream's record of a pod.
pub(crate) type Deviation = fn(&mut Value);

/// All of them.
pub(crate) const DEVIATIONS: [Deviation; 1] = [order_of_extended_resources];

/// `NodeResourcesFit` of upstream walks a Go map of extended resources and huge pages: the order of
/// their reasons on a node is random. Bayplan's is by name.
fn order_of_extended_resources(record: &mut Value) {
    let is_fixed = |reason: &Value| {
        let names = ["cpu", "memory", "ephemeral-storage"];
        let insufficient = reason
            .as_str()
            .and_then(|text| text.strip_prefix("Insufficient "));
        insufficient.is_none_or(|name| names.contains(&name))
    };
    let rejections = record.get_mut("rejections").and_then(Value::as_object_mut);
    for rejection in rejections.into_iter().flat_map(Map::values_mut) {
        if rejection["plugin"] == "NodeResourcesFit"
            && let Some(reasons) = rejection.get_mut("reasons").and_then(Value::as_array_mut)
        {
            let fixed = reasons.iter().take_while(|reason| is_fixed(reason)).count();
            reasons[fixed..].sort_by_key(ToString::to_string);
        }
    }
}

/// Says of an object that no cluster with it can be compared: it is left out for both.
pub(crate) type Omission = fn(&Value) -> bool;

/// All of them.
pub(crate) const OMISSIONS: [Omission; 4] = [
    has_uncountable_amount,
    asks_for_less_than_nothing,
    tells_no_capacity,
    grows_when_it_is_looked_at,
];

/// Amounts near and beyond what 64 bits hold: upstream's arithmetic wraps or gives 0, Bayplan's
/// saturates.
fn has_uncountable_amount(object: &Value) -> bool {
    const HOLDERS: [&str; 6] = [
        "requests",
        "limits",
        "overhead",
        "allocatable",
        "capacity",
        "maximumVolumeSize",
    ];
    match object {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            HOLDERS.contains(&name.as_str()) && holds_uncountable(value)
                || has_uncountable_amount(value)
        }),
        Value::Array(items) => items.iter().any(has_uncountable_amount),
        _ => false,
    }
}

/// A pod with a negative request: once on a node, upstream gives that node scores over 100, and every
/// attempt of other pods fails. For Bayplan such a request takes nothing.
fn asks_for_less_than_nothing(object: &Value) -> bool {
    fn is_negative(amounts: &Value) -> bool {
        match amounts {
            Value::Object(amounts) => amounts.values().any(is_negative),
            Value::Array(items) => items.iter().any(is_negative),
            Value::String(text) => {
                Quantity::parse(text).is_ok_and(|amount| amount < Quantity::ZERO)
            }
            Value::Number(number) => number.as_f64().is_some_and(|number| number < 0.0),
            _ => false,
        }
    }
    let spec = &object["spec"];
    let containers = ["containers", "initContainers"].map(|list| spec[list].as_array());
    let mut containers = containers.into_iter().flatten().flatten();
    object["kind"] == "Pod"
        && (is_negative(&spec["overhead"])
            || is_negative(&spec["resources"])
            || containers.any(|container| is_negative(&container["resources"])))
}

/// Storage of which only the largest volume is known: upstream panics when it scores a node for a
/// volume that fits. For Bayplan such storage has no score.
fn tells_no_capacity(object: &Value) -> bool {
    object["kind"] == "CSIStorageCapacity"
        && object["capacity"].is_null()
        && !object["maximumVolumeSize"].is_null()
}

/// A pod with requests of its own, overhead and a fraction of a binary unit (`0.5Gi`): upstream's
/// `PodRequests` adds the overhead to the very number that the pod holds, again with every look. The
/// API server writes whole numbers, so that only clusters from files have such pods.
fn grows_when_it_is_looked_at(object: &Value) -> bool {
    fn has_fraction(amounts: &Value) -> bool {
        match amounts {
            Value::Object(amounts) => amounts.values().any(has_fraction),
            Value::Array(items) => items.iter().any(has_fraction),
            Value::String(text) => text.contains('.') && text.ends_with('i'),
            _ => false,
        }
    }
    let spec = &object["spec"];
    object["kind"] == "Pod"
        && !spec["overhead"].is_null()
        && !spec["resources"].is_null()
        && (has_fraction(&spec["resources"]) || has_fraction(&spec["containers"]))
}

fn holds_uncountable(amounts: &Value) -> bool {
    /// In units. Thousandths of it, a hundred times it, and sums of a few stay below 2^63.
    const COUNTABLE: u64 = 1_000_000_000_000_000;
    match amounts {
        Value::Object(amounts) => amounts.values().any(holds_uncountable),
        Value::String(text) => {
            Quantity::parse(text).is_ok_and(|amount| amount.units().unsigned_abs() > COUNTABLE)
        }
        _ => false,
    }
}
