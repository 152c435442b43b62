//! Volumes of all kinds: storage classes, drivers and their limits, and what stands around claims.

mod capacities;
mod claims;
mod persistent;

use serde_json::{Value, json};

pub(super) use claims::add;

use crate::generator::Plan;
use crate::generator::families::Family;
use crate::generator::focus::Focus;

/// A driver whose free storage is not published, and one whose is.
const DRIVERS: [&str; 2] = ["csi.example.com", "capacity.example.com"];

/// Drivers that took over disks of clouds.
const CLOUD_DRIVERS: [&str; 5] = [
    "pd.csi.storage.gke.io",
    "ebs.csi.aws.com",
    "disk.csi.azure.com",
    "cinder.csi.openstack.org",
    "pxd.portworx.com",
];

/// The classes of the driver whose free storage is published.
const CAPACITY_CLASSES: [&str; 2] = ["capacity", "capacity-2"];

const ZONE: &str = "topology.kubernetes.io/zone";

/// Objects that claims need beside them.
pub(super) fn storage(plan: &mut Plan) -> Vec<Value> {
    if !plan.families.has(Family::Volumes) {
        return Vec::new();
    }
    let mut objects = classes();
    objects.extend(DRIVERS.map(|name| {
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name},
            "spec": {"storageCapacity": name == DRIVERS[1], "attachRequired": true,
                "preventPodSchedulingIfMissing": name == DRIVERS[0] && plan.dice.chance(40)}})
    }));
    objects.extend(csi_nodes(plan));
    for class in CAPACITY_CLASSES {
        objects.extend(capacities::capacities(plan, class));
    }
    let count = match plan.focus {
        Focus::Storage => plan.dice.between(15, 40),
        Focus::Mixed | Focus::Eviction => plan.dice.between(4, 14),
    };
    let volumes: Vec<_> = (0..count).map(|_| persistent::free(plan)).collect();
    objects.extend(attachments(plan, &volumes));
    objects.extend(volumes);
    objects
}

/// Volumes that are attached to nodes, some of which do not exist.
fn attachments(plan: &mut Plan, volumes: &[Value]) -> Vec<Value> {
    let count = plan.dice.between(0, 6);
    let attachment = |number: usize| {
        let at = plan.dice.below(plan.nodes.len());
        let volume = match plan.dice.below(5) {
            0 => "pv-missing".into(),
            _ => volumes[plan.dice.below(volumes.len())]["metadata"]["name"].clone(),
        };
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "metadata": {"name": format!("attachment-{number}")},
            "spec": {"attacher": plan.dice.pick(&DRIVERS), "nodeName": plan.nodes[at],
                "source": {"persistentVolumeName": volume}}})
    };
    (0..count).map(attachment).collect()
}

fn classes() -> Vec<Value> {
    let class = |name: &str, provisioner: &str, mode: &str| {
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": provisioner, "volumeBindingMode": mode})
    };
    let mut zonal = class("zonal", DRIVERS[0], "WaitForFirstConsumer");
    zonal["allowedTopologies"] =
        json!([{"matchLabelExpressions": [{"key": ZONE, "values": ["z1", "z2"]}]}]);
    vec![
        class("late", DRIVERS[0], "WaitForFirstConsumer"),
        zonal,
        class("immediate", DRIVERS[0], "Immediate"),
        class(
            "static",
            "kubernetes.io/no-provisioner",
            "WaitForFirstConsumer",
        ),
        class(CAPACITY_CLASSES[0], DRIVERS[1], "WaitForFirstConsumer"),
        class(CAPACITY_CLASSES[1], DRIVERS[1], "WaitForFirstConsumer"),
        class("in-tree", "kubernetes.io/gce-pd", "WaitForFirstConsumer"),
    ]
}

/// What each node can attach; some nodes have no driver.
fn csi_nodes(plan: &mut Plan) -> Vec<Value> {
    let nodes = plan.nodes.clone();
    let mut objects = Vec::new();
    for node in nodes {
        if plan.dice.chance(10) {
            continue;
        }
        let drivers: Vec<_> = plan
            .dice
            .some(&[&DRIVERS[..], &CLOUD_DRIVERS[..]].concat(), 85)
            .into_iter()
            .map(|name| {
                let mut driver = json!({"name": name, "nodeID": node, "topologyKeys": [ZONE]});
                // Small, but not so that nothing else is ever asked.
                let (percent, counts) = if name == DRIVERS[1] {
                    (40, [&2, &2, &4, &8])
                } else {
                    (75, [&1, &1, &2, &4])
                };
                if plan.dice.chance(percent) {
                    driver["allocatable"]["count"] = (*plan.dice.pick(&counts)).into();
                }
                driver
            })
            .collect();
        objects.push(
            json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": node},
                "spec": {"drivers": drivers}}),
        );
    }
    objects
}
