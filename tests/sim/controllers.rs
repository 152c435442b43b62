//! What others do in a cluster: kubelets, the collector of pods, and those who bind and make volumes.

use bayplan::model::object_key::ObjectKey;
use serde_json::{Value, json};

use crate::api_server::{ApiServer, Kind, key_of, text};
use crate::generator::dice::Dice;

/// How eager they are: of 100 things to do, how many are done at a time.
pub(crate) fn sync(api: &mut ApiServer, dice: &mut Dice, eagerness: usize) {
    sync_pods(api, dice, eagerness);
    sync_claims(api, dice, eagerness);
}

fn sync_pods(api: &mut ApiServer, dice: &mut Dice, eagerness: usize) {
    for key in api.keys(Kind::Pod) {
        if !dice.chance(eagerness) {
            continue;
        }
        let Some(pod) = api.get(Kind::Pod, &key) else {
            continue;
        };
        let node = text(pod, "/spec/nodeName").to_owned();
        let is_ending = !pod["metadata"]["deletionTimestamp"].is_null();
        let is_lost = !node.is_empty() && api.get(Kind::Node, &ObjectKey::new("", &node)).is_none();
        if is_ending || is_lost {
            api.remove(Kind::Pod, &key);
        } else if !node.is_empty() && text(pod, "/status/phase").is_empty() {
            let time = api.time();
            api.update(Kind::Pod, &key, |pod| {
                pod["status"]["phase"] = "Running".into();
                pod["status"]["startTime"] = time;
            });
        }
    }
}

/// Binds claims that a volume is reserved for, and makes volumes for those that have a node.
fn sync_claims(api: &mut ApiServer, dice: &mut Dice, eagerness: usize) {
    for key in api.keys(Kind::PersistentVolumeClaim) {
        if !dice.chance(eagerness) {
            continue;
        }
        let claim = api.get(Kind::PersistentVolumeClaim, &key);
        let unbound = claim.filter(|claim| {
            text(claim, "/spec/volumeName").is_empty()
                && claim["metadata"]["deletionTimestamp"].is_null()
        });
        let Some(claim) = unbound.cloned() else {
            continue;
        };
        let reserved = api
            .list(Kind::PersistentVolume)
            .find(|(_, volume)| is_reserved(volume, &claim));
        if let Some(name) = reserved.map(|(name, _)| name.clone()) {
            bind_claim(api, &key, &name);
            continue;
        }
        let annotation = "/metadata/annotations/volume.kubernetes.io~1selected-node";
        let node = text(&claim, annotation).to_owned();
        if node.is_empty() {
            continue;
        }
        if eagerness < 100 && dice.chance(25) {
            // Provisioning failed: another node is to be tried.
            api.update(Kind::PersistentVolumeClaim, &key, |claim| {
                if let Some(kept) = claim["metadata"]["annotations"].as_object_mut() {
                    kept.remove("volume.kubernetes.io/selected-node");
                }
            });
        } else {
            provision(api, &key, &claim);
        }
    }
}

fn is_reserved(volume: &Value, claim: &Value) -> bool {
    let uid = text(volume, "/spec/claimRef/uid");
    !uid.is_empty() && uid == text(claim, "/metadata/uid")
}

fn bind_claim(api: &mut ApiServer, claim: &ObjectKey, volume: &ObjectKey) {
    api.update(Kind::PersistentVolume, volume, |volume| {
        volume["status"]["phase"] = "Bound".into();
    });
    api.update(Kind::PersistentVolumeClaim, claim, |claim| {
        claim["spec"]["volumeName"] = (&*volume.name).into();
        claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = "yes".into();
        claim["status"]["phase"] = "Bound".into();
    });
}

fn provision(api: &mut ApiServer, key: &ObjectKey, claim: &Value) {
    let name = format!("made-for-{}-{}", key.namespace, key.name);
    let volume = ObjectKey::new("", &name);
    api.remove(Kind::PersistentVolume, &volume);
    let reference = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "namespace": &*key.namespace, "name": &*key.name, "uid": claim["metadata"]["uid"]});
    let made = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {"capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": claim["spec"]["accessModes"], "claimRef": reference,
            "storageClassName": claim["spec"]["storageClassName"],
            "csi": {"driver": "csi.example.com", "volumeHandle": name}},
        "status": {"phase": "Available"}});
    let volume = key_of(&made);
    api.create(made);
    bind_claim(api, key, &volume);
}
