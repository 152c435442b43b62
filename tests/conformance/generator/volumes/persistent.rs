//! Persistent volumes: what is behind them, and where they are.

use serde_json::{Value, json};

use crate::generator::Plan;
use crate::generator::volumes::{DRIVERS, ZONE};

/// How a volume tells its place by labels, in today's and in older form.
const LABELS: [&str; 4] = [
    ZONE,
    ZONE,
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
];

/// A volume that waits for a claim.
pub(super) fn free(plan: &mut Plan) -> Value {
    let class = plan.dice.pick(&["static", "static", "late"]);
    let mut volume = volume(plan, class, 15);
    volume["status"]["phase"] = plan
        .dice
        .pick(&[
            "Available",
            "Available",
            "Available",
            "Available",
            "Available",
            "Released",
            "Pending",
        ])
        .into();
    volume
}

/// A volume with a number of its own, and with a place that is told by labels in `labeled` of 100. No
/// two have the same size, since upstream takes any of those.
pub(super) fn volume(plan: &mut Plan, class: &str, labeled: usize) -> Value {
    plan.volumes += 1;
    let number = plan.volumes;
    let mode = plan.dice.pick(&[
        "ReadWriteOnce",
        "ReadWriteOnce",
        "ReadWriteMany",
        "ReadWriteOncePod",
    ]);
    let mut volume = json!({"apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": format!("pv-{number:02}"), "labels": {}},
        "spec": {"capacity": {"storage": format!("{}Mi", 1024 * plan.dice.between(1, 8) + number)},
            "accessModes": [mode], "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": class}});
    add_source(plan, &mut volume["spec"], number);
    add_place(plan, &mut volume, labeled);
    volume
}

fn add_source(plan: &mut Plan, spec: &mut Value, number: usize) {
    match plan.dice.below(14) {
        0 => spec["gcePersistentDisk"] = json!({"pdName": format!("pd-{number}")}),
        1 => spec["nfs"] = json!({"server": "nfs.example.com", "path": "/"}),
        2 => {
            let is_faulty = plan.dice.chance(5);
            spec["awsElasticBlockStore"] = json!({"volumeID": ebs_volume(plan, is_faulty)});
        }
        3 => {
            let is_faulty = plan.dice.chance(5);
            spec["azureDisk"] = azure_disk(plan, is_faulty);
        }
        4 => spec["cinder"] = json!({"volumeID": plan.dice.pick(&["d1", "d2"])}),
        5 => spec["portworxVolume"] = json!({"volumeID": plan.dice.pick(&["d1", "d2"])}),
        driver => {
            let driver = DRIVERS[usize::from(driver == 6)];
            // Two volumes may be the same one behind the driver.
            let handle = format!(
                "handle-{}",
                number - number % 2 * usize::from(driver.len() < 15)
            );
            spec["csi"] = json!({"driver": driver, "volumeHandle": handle});
        }
    }
}

/// A disk of AWS; a faulty one cannot be translated for its driver.
pub(super) fn ebs_volume(plan: &mut Plan, is_faulty: bool) -> &'static str {
    if is_faulty {
        return "aws://z1/d1";
    }
    plan.dice
        .pick(&["d1", "d2", "aws://z1/vol-1", "vol-1", "aws:///vol-2"])
}

/// A disk of Azure; a faulty one is not managed and cannot be translated for its driver.
pub(super) fn azure_disk(plan: &mut Plan, is_faulty: bool) -> Value {
    if is_faulty {
        let address = "https://example.blob.core.windows.net/vhds/d1.vhd";
        return json!({"diskName": "d", "diskURI": address, "kind": "Dedicated"});
    }
    let addresses = ["/subscriptions/s/d1", "/subscriptions/s/d2"];
    json!({"diskName": "d", "diskURI": plan.dice.pick(&addresses), "kind": "Managed"})
}

/// Ties a volume to nodes: by labels in `labeled` of 100, else mostly by affinity.
fn add_place(plan: &mut Plan, volume: &mut Value, labeled: usize) {
    if plan.dice.chance(labeled) {
        let key = plan.dice.pick(&LABELS);
        let value = if key.ends_with("region") {
            plan.dice.pick(&["r1", "r2"])
        } else {
            plan.dice.pick(&["z1", "z2", "z3", "z1__z3"])
        };
        volume["metadata"]["labels"][key] = value.into();
        return;
    }
    let at = plan.dice.below(plan.nodes.len());
    let (key, value) = match plan.dice.below(8) {
        0 | 1 => ("kubernetes.io/hostname", plan.nodes[at].clone()),
        2..=4 => (ZONE, plan.dice.pick(&["z1", "z2", "z3"]).to_owned()),
        _ => return,
    };
    volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] =
        json!([{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]);
}
