//! Documents of cluster files: what kinds there may be, and the objects of a `v1/List`.

use std::fmt;

use serde_json::Value;

use crate::apis::profile_problem::did_you_mean;
use crate::sim::error::SimError;

/// One document of a cluster file.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedDocument {
    /// The file as people know it.
    pub file: String,
    /// Which document of the file, counted from 1.
    pub index: usize,
    /// The document. An empty one (`null`) is passed over.
    pub value: Value,
}

/// Where an object stands; prints as `cluster.yaml, document 3, item 2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// Which document of the file, counted from 1.
    pub document: usize,
    /// Which item of the `v1/List`, counted from 1.
    pub item: Option<usize>,
}

/// A kind that a cluster file may hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kind {
    group: &'static str,
    pub(super) name: &'static str,
    pub(super) is_namespaced: bool,
}

/// An object of a known kind.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) place: Place,
    pub(super) kind: &'static Kind,
    pub(super) value: Value,
}

const fn cluster_wide(group: &'static str, name: &'static str) -> Kind {
    Kind {
        group,
        name,
        is_namespaced: false,
    }
}

const fn namespaced(group: &'static str, name: &'static str) -> Kind {
    Kind {
        group,
        name,
        is_namespaced: true,
    }
}

/// The kinds of a cluster file. Which of them a decision reads depends on the plugins.
const KINDS: [Kind; 20] = [
    cluster_wide("", "Node"),
    namespaced("", "Pod"),
    cluster_wide("", "Namespace"),
    namespaced("", "Service"),
    namespaced("", "ReplicationController"),
    namespaced("apps", "ReplicaSet"),
    namespaced("apps", "StatefulSet"),
    cluster_wide("", "PersistentVolume"),
    namespaced("", "PersistentVolumeClaim"),
    cluster_wide("storage.k8s.io", "StorageClass"),
    cluster_wide("storage.k8s.io", "CSINode"),
    cluster_wide("storage.k8s.io", "CSIDriver"),
    namespaced("storage.k8s.io", "CSIStorageCapacity"),
    cluster_wide("storage.k8s.io", "VolumeAttachment"),
    namespaced("policy", "PodDisruptionBudget"),
    cluster_wide("scheduling.k8s.io", "PriorityClass"),
    namespaced("resource.k8s.io", "ResourceClaim"),
    cluster_wide("resource.k8s.io", "ResourceSlice"),
    cluster_wide("resource.k8s.io", "DeviceClass"),
    cluster_wide("bayplan.dev", "SchedulerProfile"),
];

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, document {}", self.file, self.document)?;
        match self.item {
            Some(item) => write!(f, ", item {item}"),
            None => Ok(()),
        }
    }
}

/// The objects of all documents, lists taken apart, in their order.
pub(super) fn objects(documents: Vec<NamedDocument>) -> Result<Vec<Object>, SimError> {
    let mut objects = Vec::new();
    for document in documents {
        let place = Place {
            file: document.file,
            document: document.index,
            item: None,
        };
        if !document.value.is_null() {
            add_objects(place, document.value, &mut objects)?;
        }
    }
    Ok(objects)
}

fn add_objects(place: Place, value: Value, objects: &mut Vec<Object>) -> Result<(), SimError> {
    let (version, kind) = api_type(&place, &value)?;
    if (version, kind) != ("v1", "List") {
        let kind = find_kind(&place, version, kind)?;
        objects.push(Object { place, kind, value });
        return Ok(());
    }
    let items = match value {
        Value::Object(mut list) => list.remove("items").unwrap_or_default(),
        _ => Value::Null,
    };
    match items {
        Value::Null => Ok(()),
        Value::Array(items) => {
            for (index, item) in items.into_iter().enumerate() {
                let place = Place {
                    item: Some(index + 1),
                    ..place.clone()
                };
                add_objects(place, item, objects)?;
            }
            Ok(())
        }
        _ => Err(SimError::document(
            place,
            "the items of the List are no list",
            "write them as `kubectl get -o yaml` does",
        )),
    }
}

/// `apiVersion` and `kind`.
fn api_type<'a>(place: &Place, value: &'a Value) -> Result<(&'a str, &'a str), SimError> {
    let text = |field| {
        let text = value.get(field).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).ok_or_else(|| {
            SimError::document(
                place.clone(),
                format!("not a Kubernetes object: it has no {field}"),
                "write objects as `kubectl get -o yaml` does",
            )
        })
    };
    Ok((text("apiVersion")?, text("kind")?))
}

fn find_kind(place: &Place, version: &str, name: &str) -> Result<&'static Kind, SimError> {
    let group = version.rsplit_once('/').map_or("", |(group, _)| group);
    let known = KINDS
        .iter()
        .find(|kind| kind.group == group && kind.name == name);
    known.ok_or_else(|| {
        let names = KINDS.map(|kind| kind.name);
        let remedy = match did_you_mean(name, names) {
            Some(likely) if likely != name => format!("did you mean {likely}?"),
            Some(_) => "correct the apiVersion".to_owned(),
            None => format!("remove it; a cluster file holds {}", names.join(", ")),
        };
        let problem = format!("the kind {name} of {version} has no place in a cluster file");
        SimError::document(place.clone(), problem, remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<Vec<String>, String> {
        let document = NamedDocument {
            file: "c.yaml".into(),
            index: 2,
            value,
        };
        match objects(vec![document]) {
            Ok(objects) => Ok(objects
                .iter()
                .map(|o| format!("{} {}", o.kind.name, o.place))
                .collect()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn lists_are_taken_apart_and_empty_documents_passed_over() {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "Node"}, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}]});
        assert_eq!(
            read(list).unwrap(),
            [
                "Node c.yaml, document 2, item 1",
                "PodDisruptionBudget c.yaml, document 2, item 2"
            ]
        );
        assert_eq!(read(Value::Null).unwrap(), [""; 0]);
    }

    #[test]
    fn a_kind_that_is_not_known_is_refused_with_its_place() {
        let error = |version: &str, kind: &str| {
            read(json!({"apiVersion": version, "kind": kind})).unwrap_err()
        };
        let deployment = error("apps/v1", "Deployment");
        assert!(
            deployment.starts_with(
                "c.yaml, document 2: the kind Deployment of apps/v1 has no place in a cluster \
                 file; remove it; a cluster file holds Node, Pod,"
            ),
            "{deployment}"
        );
        assert!(error("v1", "pod").ends_with("did you mean Pod?"));
        assert!(error("apps/v1", "Pod").ends_with("correct the apiVersion"));
        assert_eq!(
            read(json!("text")).unwrap_err(),
            "c.yaml, document 2: not a Kubernetes object: it has no apiVersion; write objects as \
             `kubectl get -o yaml` does"
        );
    }
}
