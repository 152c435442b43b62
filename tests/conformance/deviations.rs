//! Where the two are known to decide otherwise. Each rule has its row in `docs/compatibility.md`,
//! takes exactly what it is about out of both records, and is never a tolerance.

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
