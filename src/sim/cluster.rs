//! The cluster of the files: objects completed, checked and decoded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::apis::scheduler_profile::SchedulerProfile;
use crate::engine::cache::listers::{Listed, ListedEvent, ObjectEvent};
use crate::model::objects::{self, Namespace, Node, Pod};
use crate::model::timestamp::Timestamp;
use crate::sim::defaulting::{self, PriorityClasses};
use crate::sim::document::{self, NamedDocument, Object, Place};
use crate::sim::error::SimError;

/// An object with its place in the files.
#[derive(Debug)]
pub(super) struct Given<T> {
    pub(super) place: Place,
    pub(super) object: T,
}

/// What decisions read, in the order of the files.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    pub(super) nodes: Vec<Given<Node>>,
    pub(super) pods: Vec<Given<Pod>>,
    /// What plugins look up by name; namespaces that are named but not given included.
    pub(super) listed: Vec<ListedEvent>,
    namespaces: BTreeSet<String>,
    pub(super) profiles: Vec<Given<SchedulerProfile>>,
    /// The latest time in the files.
    pub(super) latest: Timestamp,
}

impl Cluster {
    /// Reads all documents.
    pub(super) fn read(documents: Vec<NamedDocument>) -> Result<Self, SimError> {
        let mut cluster = Self::default();
        for object in complete(documents)? {
            cluster.add(object)?;
        }
        cluster.add_missing_namespaces();
        Ok(cluster)
    }

    fn add(&mut self, object: Object) -> Result<(), SimError> {
        match object.kind.name {
            "Node" => {
                let node = decode::<Node>(object)?;
                self.note_time(node.object.metadata.creation_timestamp.as_ref());
                self.nodes.push(node);
            }
            "Pod" => {
                let pod = decode::<Pod>(object)?;
                self.note_time(pod.object.metadata.creation_timestamp.as_ref());
                self.note_time(pod.object.status.start_time.as_ref());
                self.pods.push(pod);
            }
            "Namespace" => {
                let namespace = decode::<Namespace>(object)?.object;
                self.namespaces.extend(namespace.metadata.name.clone());
                self.list(namespace);
            }
            "SchedulerProfile" => self.profiles.push(decode(object)?),
            "Service" => self.add_listed::<objects::Service>(object)?,
            "ReplicationController" => self.add_listed::<objects::ReplicationController>(object)?,
            "ReplicaSet" => self.add_listed::<objects::ReplicaSet>(object)?,
            "StatefulSet" => self.add_listed::<objects::StatefulSet>(object)?,
            "PodDisruptionBudget" => self.add_listed::<objects::PodDisruptionBudget>(object)?,
            "PersistentVolume" => self.add_listed::<objects::PersistentVolume>(object)?,
            "PersistentVolumeClaim" => self.add_listed::<objects::PersistentVolumeClaim>(object)?,
            "StorageClass" => self.add_listed::<objects::StorageClass>(object)?,
            "CSINode" => self.add_listed::<objects::CsiNode>(object)?,
            "CSIDriver" => self.add_listed::<objects::CsiDriver>(object)?,
            "CSIStorageCapacity" => self.add_listed::<objects::CsiStorageCapacity>(object)?,
            "VolumeAttachment" => self.add_listed::<objects::VolumeAttachment>(object)?,
            // Kinds that no plugin of this release reads.
            _ => {}
        }
        Ok(())
    }

    fn add_listed<K: Listed + DeserializeOwned>(&mut self, object: Object) -> Result<(), SimError> {
        let object = decode::<K>(object)?.object;
        self.list(object);
        Ok(())
    }

    fn list<K: Listed>(&mut self, object: K) {
        self.listed
            .push(K::event(ObjectEvent::Applied(Arc::new(object))));
    }

    fn note_time(&mut self, time: Option<&Time>) {
        let time = time.map(|time| Timestamp::from(time.0));
        self.latest = self.latest.max(time.unwrap_or_default());
    }

    fn add_missing_namespaces(&mut self) {
        let named = self
            .pods
            .iter()
            .filter_map(|pod| pod.object.metadata.namespace.clone());
        let missing: BTreeSet<_> = named
            .filter(|name| !self.namespaces.contains(name))
            .collect();
        for name in missing {
            let mut namespace = Namespace::default();
            let label = ("kubernetes.io/metadata.name".to_owned(), name.clone());
            namespace.metadata.labels = Some(BTreeMap::from([label]));
            namespace.metadata.name = Some(name);
            self.list(namespace);
        }
    }
}

/// The objects of the documents as the API server would have stored them.
pub(super) fn complete(documents: Vec<NamedDocument>) -> Result<Vec<Object>, SimError> {
    let mut objects = document::objects(documents)?;
    check_names(&objects)?;
    let classes = priority_classes(&objects)?;
    for (ordinal, object) in objects.iter_mut().enumerate() {
        let completed = defaulting::complete(object.kind, &mut object.value, ordinal, &classes);
        completed.map_err(|unfit| {
            SimError::document(object.place.clone(), unfit.problem, unfit.remedy)
        })?;
    }
    Ok(objects)
}

/// Every object has a name, and no two of a kind have the same.
fn check_names(objects: &[Object]) -> Result<(), SimError> {
    let mut seen = BTreeMap::<(&str, String), &Place>::new();
    for object in objects {
        let (place, kind) = (object.place.clone(), object.kind.name);
        let Some(name) = defaulting::name(object.kind, &object.value) else {
            return Err(SimError::document(
                place,
                format!("the {kind} has no metadata.name"),
                "give it a name",
            ));
        };
        if let Some(earlier) = seen.insert((kind, name.clone()), &object.place) {
            return Err(SimError::document(
                place,
                format!("the {kind} {name:?} was given before ({earlier})"),
                "remove one of the two",
            ));
        }
    }
    Ok(())
}

fn priority_classes(objects: &[Object]) -> Result<PriorityClasses, SimError> {
    let mut classes = PriorityClasses::default();
    for object in objects {
        if object.kind.name == "PriorityClass" {
            classes.add(&object.value).map_err(|unfit| {
                SimError::document(object.place.clone(), unfit.problem, unfit.remedy)
            })?;
        }
    }
    Ok(classes)
}

/// Decodes the object; an error names the field.
fn decode<T: DeserializeOwned>(object: Object) -> Result<Given<T>, SimError> {
    let Object { place, kind, value } = object;
    let name = defaulting::name(kind, &value).unwrap_or_default();
    match serde_path_to_error::deserialize::<Value, T>(value) {
        Ok(object) => Ok(Given { place, object }),
        Err(error) => {
            let (path, cause) = (error.path().to_string(), error.into_inner());
            let problem = format!(
                "{path} of the {} {name:?} cannot be read: {cause}",
                kind.name
            );
            Err(SimError::document(place, problem, "correct the field"))
        }
    }
}
