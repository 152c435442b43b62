//! The volumes of a pod, and the claims behind them.

use serde_json::{Value, json};

use crate::generator::Plan;
use crate::generator::focus::Focus;
use crate::generator::volumes::CAPACITY_CLASSES;
use crate::generator::volumes::persistent::{azure_disk, ebs_volume, volume};

/// Gives the pod volumes; returns the objects that are made for them.
pub(in super::super) fn add(plan: &mut Plan, pod: &mut Value) -> Vec<Value> {
    let mut objects = Vec::new();
    let mut volumes = pod["spec"]["volumes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let count = *plan.dice.pick(&[&1, &1, &1, &2, &3]);
    for index in 0..count {
        let mut made = one(plan, pod, index, &mut objects);
        made["name"] = format!("v{index}").into();
        volumes.push(made);
    }
    pod["spec"]["volumes"] = volumes.into();
    objects
}

fn one(plan: &mut Plan, pod: &Value, index: usize, objects: &mut Vec<Value>) -> Value {
    let namespace = text(&pod["metadata"]["namespace"]);
    let [inline_disks, shared_claims] = match plan.focus {
        Focus::Storage => [20, 25],
        Focus::Mixed | Focus::Eviction => [17, 17],
    };
    if plan.dice.chance(inline_disks) {
        return inline(plan);
    }
    if plan.dice.chance(shared_claims) {
        return shared(plan, &namespace);
    }
    match plan.dice.below(80) {
        0..=7 => ephemeral(plan, pod, index, objects),
        8 | 9 => reference("missing"),
        _ => {
            plan.volumes += 1;
            let name = format!("claim-{:02}", plan.volumes);
            claim(plan, &namespace, &name, objects);
            plan.claims.push((namespace, name.clone()));
            reference(&name)
        }
    }
}

/// A claim that another pod of the namespace names too.
fn shared(plan: &mut Plan, namespace: &str) -> Value {
    let known = plan.claims.iter();
    let known: Vec<_> = known.filter(|(space, _)| space == namespace).collect();
    match known.len() {
        0 => json!({"emptyDir": {}}),
        count => reference(&known[plan.dice.below(count)].1.clone()),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn reference(claim: &str) -> Value {
    json!({"persistentVolumeClaim": {"claimName": claim}})
}

/// Disks that a pod names itself.
fn inline(plan: &mut Plan) -> Value {
    let which = plan.dice.below(10);
    if which == 4 {
        let is_faulty = plan.takes_faulty_volume(3);
        return json!({"azureDisk": azure_disk(plan, is_faulty)});
    }
    if which == 5 {
        let is_faulty = plan.takes_faulty_volume(3);
        return json!({"awsElasticBlockStore": {"volumeID": ebs_volume(plan, is_faulty)}});
    }
    let dice = &mut plan.dice;
    let read_only = dice.chance(40);
    match which {
        0 => {
            json!({"gcePersistentDisk": {"pdName": dice.pick(&["d1", "d2"]), "readOnly": read_only}})
        }
        1 => json!({"awsElasticBlockStore": {"volumeID": dice.pick(&["d1", "d2"]),
            "readOnly": read_only}}),
        2 => json!({"rbd": {"monitors": dice.some(&["m1", "m2", "m3"], 60).into_iter()
                .chain(["m4"]).collect::<Vec<_>>(),
            "image": dice.pick(&["i1", "i2"]), "pool": "rbd", "readOnly": read_only}}),
        6 => json!({"cinder": {"volumeID": dice.pick(&["d1", "d2", "d3"])}}),
        7 => json!({"portworxVolume": {"volumeID": dice.pick(&["d1", "d2", "d3"])}}),
        _ => json!({"iscsi": {"targetPortal": "10.0.0.1:3260", "lun": 0,
            "iqn": dice.pick(&["iqn.2024-01.com.example:a", "iqn.2024-01.com.example:b"]),
            "readOnly": read_only}}),
    }
}

/// A volume whose claim is made for the pod: there, missing, or somebody else's.
fn ephemeral(plan: &mut Plan, pod: &Value, index: usize, objects: &mut Vec<Value>) -> Value {
    let (namespace, name) = (
        text(&pod["metadata"]["namespace"]),
        text(&pod["metadata"]["name"]),
    );
    let claim_name = format!("{name}-v{index}");
    if plan.dice.chance(80) {
        claim(plan, &namespace, &claim_name, objects);
        let uid = if plan.takes_faulty_volume(15) {
            "somebody-else".to_owned()
        } else {
            format!("{namespace}/{name}")
        };
        let owned = objects
            .iter_mut()
            .rev()
            .find(|object| object["kind"] == "PersistentVolumeClaim");
        if let Some(owned) = owned {
            owned["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "Pod",
                "name": name, "uid": uid, "controller": true}]);
        }
    }
    json!({"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"],
        "storageClassName": "late", "resources": {"requests": {"storage": "1Gi"}}}}}})
}

/// A claim in one of the states that claims get into, and the volume that it is bound to.
fn claim(plan: &mut Plan, namespace: &str, name: &str, objects: &mut Vec<Value>) {
    let mode = plan
        .dice
        .pick(&["ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"]);
    let [first, second] = CAPACITY_CLASSES;
    let class = match plan.focus {
        Focus::Storage => plan.dice.pick(&[
            "late", "zonal", "static", "static", "static", first, first, first, first, second,
            second, second, "in-tree",
        ]),
        Focus::Mixed | Focus::Eviction => plan.dice.pick(&[
            "late", "zonal", "static", "static", first, second, "in-tree",
        ]),
    };
    let size = plan.dice.pick(&["1Gi", "1Gi", "2Gi", "3Gi", "5Gi", "30Gi"]);
    let mut claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"accessModes": [mode], "storageClassName": class,
            "resources": {"requests": {"storage": size}}},
        "status": {"phase": "Pending"}});
    let odd_claims = if plan.focus == Focus::Storage { 8 } else { 20 };
    if plan.dice.chance(28) {
        bind(plan, &mut claim, objects);
    } else if plan.dice.chance(odd_claims) {
        make_odd(plan, &mut claim);
    }
    objects.push(claim);
}

/// A claim that most pods cannot use.
fn make_odd(plan: &mut Plan, claim: &mut Value) {
    match plan.dice.below(5) {
        0 => claim["spec"]["storageClassName"] = "immediate".into(),
        1 => claim["spec"]["storageClassName"] = plan.dice.pick(&["nowhere", ""]).into(),
        2 => {
            claim["spec"]["volumeName"] = "pv-missing".into();
            complete(claim);
        }
        3 => {
            claim["metadata"]["deletionTimestamp"] = "2024-01-01T01:00:00Z".into();
            claim["metadata"]["finalizers"] = json!(["kubernetes.io/pvc-protection"]);
        }
        _ => {
            let at = plan.dice.below(plan.nodes.len());
            claim["metadata"]["annotations"] =
                json!({"volume.kubernetes.io/selected-node": plan.nodes[at]});
        }
    }
}

fn complete(claim: &mut Value) {
    claim["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "true"});
    claim["status"]["phase"] = "Bound".into();
}

/// Binds the claim to a volume of its own.
fn bind(plan: &mut Plan, claim: &mut Value, objects: &mut Vec<Value>) {
    let class = text(&claim["spec"]["storageClassName"]);
    let mut volume = volume(plan, &class, 65);
    let (namespace, name) = (&claim["metadata"]["namespace"], &claim["metadata"]["name"]);
    volume["spec"]["claimRef"] = json!({"kind": "PersistentVolumeClaim", "apiVersion": "v1",
        "namespace": namespace, "name": name, "uid": format!("{}/{}", text(namespace), text(name))});
    volume["spec"]["accessModes"] = claim["spec"]["accessModes"].clone();
    volume["status"]["phase"] = "Bound".into();
    claim["spec"]["volumeName"] = volume["metadata"]["name"].clone();
    complete(claim);
    objects.push(volume);
}
