//! What storage drivers say about their free room.

use serde_json::{Value, json};

use crate::generator::Plan;
use crate::generator::volumes::ZONE;

/// The capacities of a class. No node is in two of them: of several that are large enough upstream
/// takes any.
pub(super) fn capacities(plan: &mut Plan, class: &str) -> Vec<Value> {
    let topologies = topologies(plan);
    let mut objects = Vec::new();
    for (number, topology) in topologies.into_iter().enumerate() {
        if plan.dice.chance(12) {
            continue;
        }
        let capacity = plan
            .dice
            .pick(&["0", "7Gi", "20Gi", "20Gi", "45Gi", "60Gi", "100Gi", "1Ti"]);
        let mut object = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
            "metadata": {"name": format!("{class}-{number}"), "namespace": "default"},
            "storageClassName": class, "nodeTopology": topology, "capacity": capacity});
        if plan.dice.chance(20) {
            object["maximumVolumeSize"] = plan.dice.pick(&["2Gi", "50Gi"]).into();
        }
        objects.push(object);
    }
    objects
}

/// Selectors of nodes of which none overlap.
fn topologies(plan: &mut Plan) -> Vec<Value> {
    let of = |key: &str, values: &[&str]| -> Vec<Value> {
        let labels = values.iter();
        labels
            .map(|value| json!({"matchLabels": {key: value}}))
            .collect()
    };
    match plan.dice.below(20) {
        0..=8 => of(ZONE, &["z1", "z2", "z3"]),
        9..=12 => {
            let names: Vec<_> = plan.nodes.iter().map(String::as_str).collect();
            of("kubernetes.io/hostname", &names)
        }
        13 | 14 => of("topology.kubernetes.io/region", &["r1", "r2"]),
        15 | 16 => of("disk", &["ssd", "hdd", ""]),
        17 | 18 => ["In", "NotIn"]
            .map(|operator| {
                json!({"matchExpressions": [{"key": ZONE, "operator": operator,
                    "values": ["z1", "z2"]}]})
            })
            .into(),
        _ => vec![json!({})],
    }
}
