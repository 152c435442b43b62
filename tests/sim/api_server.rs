//! An API server that keeps objects as JSON, numbers every change, and checks bindings.

use std::collections::{BTreeMap, BTreeSet};

use bayplan::model::object_key::ObjectKey;
use bayplan::model::pod_info::{PodKey, PodUid};
use serde_json::{Value, json};

/// A kind that schedulers watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Node,
    Pod,
    Namespace,
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    PodDisruptionBudget,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CsiNode,
    CsiDriver,
    CsiStorageCapacity,
    VolumeAttachment,
}

/// All kinds, in the order in which a loop takes what happened: pods last.
pub(crate) const KINDS: [Kind; 15] = [
    Kind::Node,
    Kind::Namespace,
    Kind::Service,
    Kind::ReplicationController,
    Kind::ReplicaSet,
    Kind::StatefulSet,
    Kind::PodDisruptionBudget,
    Kind::PersistentVolume,
    Kind::PersistentVolumeClaim,
    Kind::StorageClass,
    Kind::CsiNode,
    Kind::CsiDriver,
    Kind::CsiStorageCapacity,
    Kind::VolumeAttachment,
    Kind::Pod,
];

/// A change of an object.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) kind: Kind,
    /// The object as it is now, or as it was when it was deleted.
    pub(crate) object: Value,
    pub(crate) is_deletion: bool,
}

/// Why a write was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// There is no such object, or another one of the name, or it is being deleted.
    Gone,
    /// The pod is on this node already.
    Bound(String),
    /// It was written for another version.
    Conflict,
}

/// The objects and what happened to them.
#[derive(Debug, Default)]
pub(crate) struct ApiServer {
    objects: BTreeMap<Kind, BTreeMap<ObjectKey, Value>>,
    version: u64,
    /// Those that were given, ever.
    uids: BTreeSet<(Kind, String)>,
    /// Seconds since the epoch.
    now: i64,
    /// Not yet told to the watches.
    changes: Vec<Change>,
    /// Pods that the scheduler under test has bound, by UID, with the node.
    bound_by_us: BTreeMap<String, String>,
}

impl Change {
    /// The number of the change.
    pub(crate) fn version(&self) -> u64 {
        text(&self.object, "/metadata/resourceVersion")
            .parse()
            .unwrap_or(0)
    }
}

impl Kind {
    /// The kind by the name that objects have in `kind`.
    pub(crate) fn of(object: &Value) -> Option<Self> {
        Some(match object["kind"].as_str()? {
            "Node" => Self::Node,
            "Pod" => Self::Pod,
            "Namespace" => Self::Namespace,
            "Service" => Self::Service,
            "ReplicationController" => Self::ReplicationController,
            "ReplicaSet" => Self::ReplicaSet,
            "StatefulSet" => Self::StatefulSet,
            "PodDisruptionBudget" => Self::PodDisruptionBudget,
            "PersistentVolume" => Self::PersistentVolume,
            "PersistentVolumeClaim" => Self::PersistentVolumeClaim,
            "StorageClass" => Self::StorageClass,
            "CSINode" => Self::CsiNode,
            "CSIDriver" => Self::CsiDriver,
            "CSIStorageCapacity" => Self::CsiStorageCapacity,
            "VolumeAttachment" => Self::VolumeAttachment,
            _ => return None,
        })
    }
}

/// Namespace and name of an object.
pub(crate) fn key_of(object: &Value) -> ObjectKey {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    ObjectKey::new(text("namespace"), text("name"))
}

/// The text in `pointer`, or the empty one.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    // `Value::pointer` copies each name on the way.
    let mut names = pointer.split('/').skip(1);
    let found = if pointer.contains('~') {
        object.pointer(pointer)
    } else {
        names.try_fold(object, |object, name| object.get(name))
    };
    found.and_then(Value::as_str).unwrap_or_default()
}

impl ApiServer {
    pub(crate) fn tell_time(&mut self, seconds: i64) {
        self.now = self.now.max(seconds);
    }

    /// The time as objects have it.
    pub(crate) fn time(&self) -> Value {
        let time = jiff::Timestamp::from_second(self.now);
        json!(time.unwrap_or_default().to_string())
    }

    pub(crate) fn get(&self, kind: Kind, key: &ObjectKey) -> Option<&Value> {
        self.objects.get(&kind)?.get(key)
    }

    /// All objects of a kind, by name.
    pub(crate) fn list(&self, kind: Kind) -> impl Iterator<Item = (&ObjectKey, &Value)> {
        self.objects.get(&kind).into_iter().flatten()
    }

    pub(crate) fn keys(&self, kind: Kind) -> Vec<ObjectKey> {
        self.list(kind).map(|(key, _)| key.clone()).collect()
    }

    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.objects.get(&kind).map_or(0, BTreeMap::len)
    }

    /// The number of the last change.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// What happened since the last call.
    pub(crate) fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Stores an object under a UID of its own, unless there is one of the name.
    pub(crate) fn create(&mut self, mut object: Value) {
        let Some(kind) = Kind::of(&object) else {
            return;
        };
        let key = key_of(&object);
        if self.get(kind, &key).is_some() {
            return;
        }
        let mut uid = text(&object, "/metadata/uid").to_owned();
        if uid.is_empty() {
            uid = key.to_string();
        }
        if !self.uids.insert((kind, uid.clone())) {
            uid = format!("{uid}#{}", self.uids.len());
            self.uids.insert((kind, uid.clone()));
        }
        object["metadata"]["uid"] = uid.into();
        object["metadata"]["creationTimestamp"] = self.time();
        object["metadata"]["generation"] = 1.into();
        self.store(kind, key, object);
    }

    /// Changes an object, if it is there and `change` does anything.
    pub(crate) fn update(&mut self, kind: Kind, key: &ObjectKey, change: impl FnOnce(&mut Value)) {
        let Some(known) = self.get(kind, key) else {
            return;
        };
        let mut object = known.clone();
        change(&mut object);
        if object != *known {
            if object["spec"] != known["spec"] {
                let generation = object["metadata"]["generation"].as_i64().unwrap_or(0);
                object["metadata"]["generation"] = (generation + 1).into();
            }
            self.store(kind, key.clone(), object);
        }
    }

    fn store(&mut self, kind: Kind, key: ObjectKey, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.changes.push(Change {
            kind,
            object: object.clone(),
            is_deletion: false,
        });
        self.objects.entry(kind).or_default().insert(key, object);
    }

    /// Removes an object.
    pub(crate) fn remove(&mut self, kind: Kind, key: &ObjectKey) {
        let objects = self.objects.entry(kind).or_default();
        let Some(mut object) = objects.remove(key) else {
            return;
        };
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.bound_by_us.remove(text(&object, "/metadata/uid"));
        self.changes.push(Change {
            kind,
            object,
            is_deletion: true,
        });
    }

    /// Deletes a pod: at once, or it is ending from now on.
    pub(crate) fn delete_pod(&mut self, key: &ObjectKey, is_graceful: bool) {
        if !is_graceful {
            return self.remove(Kind::Pod, key);
        }
        let time = self.time();
        self.update(Kind::Pod, key, |pod| {
            if pod["metadata"]["deletionTimestamp"].is_null() {
                pod["metadata"]["deletionTimestamp"] = time;
            }
        });
    }

    /// The pod called `key`, if it is the one of `uid`.
    pub(crate) fn pod(&self, key: &ObjectKey, uid: &str) -> Option<&Value> {
        let pod = self.get(Kind::Pod, key)?;
        (text(pod, "/metadata/uid") == uid).then_some(pod)
    }

    /// POST `pods/binding` (`assignPod` of the registry).
    pub(crate) fn bind(&mut self, key: &ObjectKey, uid: &str, node: &str) -> Result<(), Refused> {
        let Some(pod) = self.pod(key, uid) else {
            return Err(Refused::Gone);
        };
        let bound = text(pod, "/spec/nodeName");
        if !bound.is_empty() {
            return Err(Refused::Bound(bound.to_owned()));
        }
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            return Err(Refused::Gone);
        }
        if pod["spec"]["schedulingGates"]
            .as_array()
            .is_some_and(|gates| !gates.is_empty())
        {
            return Err(Refused::Conflict);
        }
        self.update(Kind::Pod, key, |pod| {
            pod["spec"]["nodeName"] = node.into();
            pod["status"]["nominatedNodeName"] = Value::Null;
            pod["status"]["conditions"] = json!([{"type": "PodScheduled", "status": "True"}]);
        });
        Ok(())
    }

    /// The binding that was just carried out is ours.
    pub(crate) fn note_ours(&mut self, uid: &str, node: &str) {
        self.bound_by_us.insert(uid.to_owned(), node.to_owned());
    }

    /// Where we have bound the pod called `uid`, which is still there.
    pub(crate) fn bound_by_us(&self, uid: &str) -> Option<&str> {
        self.bound_by_us.get(uid).map(String::as_str)
    }

    /// Pods on `node` that we have bound, and that still hold their room.
    pub(crate) fn ours_on(&self, node: &str) -> impl Iterator<Item = (PodKey, PodUid)> {
        let ours = self.list(Kind::Pod).filter(move |(_, pod)| {
            let ended = matches!(text(pod, "/status/phase"), "Succeeded" | "Failed");
            !ended && self.bound_by_us(text(pod, "/metadata/uid")) == Some(node)
        });
        ours.map(|(key, pod)| (key.clone(), PodUid(text(pod, "/metadata/uid").into())))
    }
}
