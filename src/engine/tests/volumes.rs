//! Volumes on the way from a chosen node to a bound pod.

use serde_json::Value;

use super::*;
use crate::engine::cache::listers::{Listed, ObjectEvent};
use crate::model::objects::{PersistentVolume, PersistentVolumeClaim, StorageClass};

impl Driver {
    /// With a volume and a claim for it.
    fn with_volumes() -> Self {
        let mut driver = Self::new([make_node("n")]);
        driver.spec["pluginConfig"] = json!({"volumeBinding": {"bindTimeoutSeconds": 60}});
        driver.profile(driver.spec.clone());
        driver.listed::<StorageClass>(json!({"metadata": {"name": "local"},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer"}));
        driver.listed::<PersistentVolume>(volume(7, &Value::Null));
        driver.listed::<PersistentVolumeClaim>(claim(5, None));
        driver
    }

    fn listed<K: Listed + serde::de::DeserializeOwned>(&mut self, object: Value) {
        let object = Arc::new(serde_json::from_value(object).unwrap());
        let event = K::event(ObjectEvent::Applied(object));
        self.engine.handle(ClusterEvent::Listed(event));
        self.effects.extend(self.engine.drain_effects());
    }

    /// Takes the effect called `name`, which must be under way.
    fn take(&mut self, name: &str) -> EffectId {
        let mut effects = self.effects.iter();
        let at = effects.position(|effect| effect.action.name() == name);
        let at = at.unwrap_or_else(|| panic!("{name} must be under way"));
        self.effects.remove(at).id
    }

    fn is_under_way(&self, name: &str) -> bool {
        self.effects
            .iter()
            .any(|effect| effect.action.name() == name)
    }

    /// Places the pod and writes its volumes.
    fn write_volumes(&mut self) {
        self.pod(&pod());
        assert_eq!(self.placed(), "n");
        let nomination = self.take("pod_status_patch");
        let done = EffectOutcome::Done {
            resource_version: None,
        };
        self.complete(nomination, done);
        let writes = self.take("volume_binding");
        self.complete(writes, EffectOutcome::Written(vec![Some(8)]));
    }

    fn failure(&self) -> &str {
        fn message(effect: &Effect) -> Option<&str> {
            let EffectAction::PatchStatus(patch) = &effect.action else {
                return None;
            };
            Some(&patch.condition.as_ref()?.message)
        }
        let mut messages = self.effects.iter().filter_map(message);
        messages.next().expect("the pod must have failed")
    }
}

fn pod() -> PodBuilder {
    make_pod("p").spec(json!({"volumes": [
        {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}))
}

fn volume(version: u32, claim_ref: &Value) -> Value {
    json!({"metadata": {"name": "pv", "uid": "uid-pv", "resourceVersion": version.to_string()},
        "spec": {"storageClassName": "local", "capacity": {"storage": "1Gi"},
            "claimRef": claim_ref},
        "status": {"phase": "Available"}})
}

fn reserved(version: u32) -> Value {
    volume(
        version,
        &json!({"namespace": "default", "name": "c", "uid": "uid-c"}),
    )
}

fn claim(version: u32, volume: Option<&str>) -> Value {
    let annotations = volume.map(|_| json!({"pv.kubernetes.io/bind-completed": "yes"}));
    json!({"metadata": {"name": "c", "namespace": "default", "uid": "uid-c",
            "resourceVersion": version.to_string(), "annotations": annotations},
        "spec": {"storageClassName": "local", "volumeName": volume}})
}

#[test]
fn the_pod_is_bound_when_its_volumes_are() {
    let mut driver = Driver::with_volumes();
    driver.write_volumes();
    driver.listed::<PersistentVolume>(reserved(8));
    assert!(!driver.is_under_way("pod_binding"));
    driver.listed::<PersistentVolumeClaim>(claim(9, Some("pv")));
    assert!(driver.is_under_way("pod_binding"));
    assert_eq!(driver.engine.bindings.next_deadline(), None);
}

#[test]
fn what_the_watch_knew_before_the_write_is_no_news() {
    let mut driver = Driver::with_volumes();
    driver.write_volumes();
    driver.listed::<StorageClass>(json!({"metadata": {"name": "other"}}));
    assert!(!driver.is_under_way("pod_binding"));
    assert_eq!(driver.events(), [""; 0]);
}

#[test]
fn volumes_that_are_not_bound_in_time_send_the_pod_back() {
    let mut driver = Driver::with_volumes();
    driver.write_volumes();
    driver.listed::<PersistentVolume>(reserved(8));
    let deadline = driver.now + Duration::from_mins(1);
    assert_eq!(driver.engine.bindings.next_deadline(), Some(deadline));
    driver.wait(Duration::from_mins(1));
    driver.effects.extend(driver.engine.drain_effects());
    assert_eq!(
        driver.failure(),
        "running PreBind plugin \"VolumeBinding\": binding volumes: context deadline exceeded"
    );
    assert_eq!(driver.place(&pod()), Some(Place::Backoff));
}

#[test]
fn a_volume_that_loses_its_claim_sends_the_pod_back_at_once() {
    let mut driver = Driver::with_volumes();
    driver.write_volumes();
    driver.listed::<PersistentVolume>(volume(9, &Value::Null));
    assert_eq!(
        driver.failure(),
        "running PreBind plugin \"VolumeBinding\": binding volumes: ClaimRef got reset for pv \"pv\""
    );
}

#[test]
fn a_node_that_goes_away_meanwhile_sends_the_pod_back() {
    let mut driver = Driver::with_volumes();
    driver.write_volumes();
    let node = Arc::new(make_node("n").object());
    driver.engine.handle(ClusterEvent::NodeDeleted(node));
    driver.effects.extend(driver.engine.drain_effects());
    assert_eq!(
        driver.failure(),
        "running PreBind plugin \"VolumeBinding\": binding volumes: failed to get node \"n\": \
         node \"n\" not found"
    );
}

#[test]
fn volumes_that_cannot_be_written_are_free_again() {
    let mut driver = Driver::with_volumes();
    driver.pod(&pod());
    driver.placed();
    let nomination = driver.take("pod_status_patch");
    let done = EffectOutcome::Done {
        resource_version: None,
    };
    driver.complete(nomination, done);
    let writes = driver.take("volume_binding");
    let failure = EffectFailure {
        kind: FailureKind::Unavailable,
        message: "the object has been modified".to_owned(),
    };
    driver.complete(writes, EffectOutcome::Failed(failure));
    assert_eq!(
        driver.failure(),
        "running PreBind plugin \"VolumeBinding\": the object has been modified"
    );
    driver.wait(Duration::from_secs(5));
    assert_eq!(driver.placed(), "n");
}

#[test]
fn a_pod_that_is_deleted_while_it_waits_leaves_no_wait_behind() {
    let mut driver = Driver::with_volumes();
    driver.write_volumes();
    driver.delete(&pod());
    assert_eq!(driver.engine.bindings.next_deadline(), None);
    driver.assert_empty();
}

#[test]
fn a_pod_that_lacks_a_claim_is_woken_by_it_and_by_no_other() {
    let mut driver = Driver::with_volumes();
    let lacking = make_pod("q").spec(json!({"volumes": [
        {"name": "v", "persistentVolumeClaim": {"claimName": "late"}}]}));
    driver.pod(&lacking);
    assert_eq!(
        driver.message(),
        "0/1 nodes are available: persistentvolumeclaim \"late\" not found."
    );
    driver.listed::<PersistentVolumeClaim>(claim(6, None));
    assert_eq!(driver.place(&lacking), Some(Place::Unschedulable));
    let mut late = claim(6, None);
    late["metadata"]["name"] = "late".into();
    driver.listed::<PersistentVolumeClaim>(late);
    assert_ne!(driver.place(&lacking), Some(Place::Unschedulable));
}
