//! Volumes of all kinds: storage classes, drivers and their limits, and what stands around claims.

mod claims;

use serde_json::{Value, json};

pub(super) use claims::add;

use crate::generator::Plan;
use crate::generator::families::Family;

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
    objects.extend(capacities(plan));
    let count = plan.dice.between(4, 14);
    let volumes: Vec<_> = (0..count).map(|_| free_volume(plan)).collect();
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
        class("capacity", DRIVERS[1], "WaitForFirstConsumer"),
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
                if plan.dice.chance(75) {
                    driver["allocatable"]["count"] = (*plan.dice.pick(&[&1, &1, &2, &4])).into();
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

fn capacities(plan: &mut Plan) -> Vec<Value> {
    let mut objects = Vec::new();
    for zone in ["z1", "z2", "z3"] {
        if plan.dice.chance(85) {
            let mut object = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
                "metadata": {"name": format!("capacity-{zone}"), "namespace": "default"},
                "storageClassName": "capacity",
                "nodeTopology": {"matchLabels": {ZONE: zone}},
                "capacity": plan.dice.pick(&["0", "7Gi", "20Gi", "100Gi"])});
            if plan.dice.chance(30) {
                object["maximumVolumeSize"] = plan.dice.pick(&["2Gi", "50Gi"]).into();
            }
            objects.push(object);
        }
    }
    objects
}

/// A volume that waits for a claim.
fn free_volume(plan: &mut Plan) -> Value {
    let class = plan.dice.pick(&["static", "static", "late"]);
    let mut volume = volume(plan, class);
    volume["status"]["phase"] = plan
        .dice
        .pick(&["Available", "Available", "Available", "Released", "Pending"])
        .into();
    volume
}

/// A volume with a number of its own. No two have the same size, since upstream takes any of those.
fn volume(plan: &mut Plan, class: &str) -> Value {
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
    add_place(plan, &mut volume);
    volume
}

fn add_source(plan: &mut Plan, spec: &mut Value, number: usize) {
    match plan.dice.below(14) {
        0 => spec["gcePersistentDisk"] = json!({"pdName": format!("pd-{number}")}),
        1 => spec["nfs"] = json!({"server": "nfs.example.com", "path": "/"}),
        2 => {
            let is_faulty = plan.dice.chance(20);
            spec["awsElasticBlockStore"] = json!({"volumeID": ebs_volume(plan, is_faulty)});
        }
        3 => {
            let is_faulty = plan.dice.chance(20);
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
fn ebs_volume(plan: &mut Plan, is_faulty: bool) -> &'static str {
    if is_faulty {
        return "aws://z1/d1";
    }
    plan.dice
        .pick(&["d1", "d2", "aws://z1/vol-1", "vol-1", "aws:///vol-2"])
}

/// A disk of Azure; a faulty one is not managed and cannot be translated for its driver.
fn azure_disk(plan: &mut Plan, is_faulty: bool) -> Value {
    if is_faulty {
        let address = "https://example.blob.core.windows.net/vhds/d1.vhd";
        return json!({"diskName": "d", "diskURI": address, "kind": "Dedicated"});
    }
    let addresses = ["/subscriptions/s/d1", "/subscriptions/s/d2"];
    json!({"diskName": "d", "diskURI": plan.dice.pick(&addresses), "kind": "Managed"})
}

/// Ties a volume to nodes, by affinity or by the labels that came before it.
fn add_place(plan: &mut Plan, volume: &mut Value) {
    let at = plan.dice.below(plan.nodes.len());
    let (key, value) = match plan.dice.below(10) {
        0 | 1 => ("kubernetes.io/hostname", plan.nodes[at].clone()),
        2..=4 => (ZONE, plan.dice.pick(&["z1", "z2", "z3"]).to_owned()),
        5 | 6 => {
            let key = plan.dice.pick(&[
                ZONE,
                "topology.kubernetes.io/region",
                "failure-domain.beta.kubernetes.io/zone",
            ]);
            volume["metadata"]["labels"][key] = match key {
                "topology.kubernetes.io/region" => plan.dice.pick(&["r1", "r2"]),
                _ => plan.dice.pick(&["z1", "z2", "z1__z3"]),
            }
            .into();
            return;
        }
        _ => return,
    };
    volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] =
        json!([{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]);
}
