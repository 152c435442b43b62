//! Odd objects: what the API server would refuse, and what it takes and nobody means. They come from
//! files, from older versions and from admission that went wrong.

mod oddities;

use serde_json::{Value, json};

use crate::generator::Plan;
use crate::generator::families::Family;
use crate::generator::odd::oddities::ODDITIES;

/// Changes a few fields of a few objects.
pub(super) fn make_odd(plan: &mut Plan, objects: &mut [Value]) {
    if !plan.families.has(Family::Odd) {
        return;
    }
    for _ in 0..plan.dice.between(1, 8) {
        let (kind, pointer, texts) = ODDITIES[plan.dice.below(ODDITIES.len())];
        let mut there: Vec<_> = objects
            .iter_mut()
            .filter(|object| object["kind"] == kind && has_place(object, pointer))
            .collect();
        if there.is_empty() {
            continue;
        }
        let at = plan.dice.below(there.len());
        let value = serde_json::from_str(plan.dice.pick(texts)).expect("the text must be JSON");
        set(there[at], pointer, value);
    }
}

fn keys(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|key| key.replace("~1", "/"))
}

/// Whether the lists on the way are there: objects are made, items of lists are not.
fn has_place(object: &Value, pointer: &str) -> bool {
    let mut place = Some(object);
    keys(pointer).all(|key| {
        let is_item = key.parse::<usize>().is_ok();
        place = match place {
            Some(Value::Array(items)) => key.parse::<usize>().ok().and_then(|at| items.get(at)),
            Some(Value::Object(fields)) => fields.get(&key),
            _ => None,
        };
        !is_item || place.is_some()
    })
}

/// Puts a value at a place that there is.
fn set(object: &mut Value, pointer: &str, value: Value) {
    let mut place = object;
    for key in keys(pointer) {
        if let Ok(at) = key.parse::<usize>() {
            place = &mut place[at];
            continue;
        }
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[key];
    }
    *place = value;
}
