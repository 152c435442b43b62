//! What the API server would have written into the objects of a cluster file.
//!
//! Applied once, on the JSON, so that files written by hand and files printed by `kubectl` read
//! alike. What is there already is kept. Sources: `pkg/apis/core/v1/defaults.go`,
//! `pkg/apis/storage/v1/defaults.go`, `pkg/registry/core/pod/strategy.go`,
//! `plugin/pkg/admission/priority`.

mod label_keys;
mod pod;
mod priority;

pub(super) use priority::PriorityClasses;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use crate::sim::document::Kind;

/// 2024-01-01T00:00:00Z: when the first object of a cluster file is created, if it does not say.
const FIRST_CREATION: i64 = 1_704_067_200;

/// The namespace of objects that name none (`metav1.NamespaceDefault`).
const DEFAULT_NAMESPACE: &str = "default";

/// `v1.LabelMetadataName`.
const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Why an object cannot be completed.
#[derive(Debug)]
pub(super) struct Unfit {
    pub(super) problem: String,
    pub(super) remedy: String,
}

/// `name`, or `namespace/name` for kinds in namespaces; `None` without a name.
pub(super) fn name(kind: &Kind, object: &Value) -> Option<String> {
    let metadata = object.get("metadata")?;
    let text = |field| {
        let text = metadata.get(field).and_then(Value::as_str);
        text.filter(|text| !text.is_empty())
    };
    let name = text("name")?;
    Some(if kind.is_namespaced {
        format!("{}/{name}", text("namespace").unwrap_or(DEFAULT_NAMESPACE))
    } else {
        name.to_owned()
    })
}

/// Completes an object, the `ordinal`-th of the files counted from 0.
pub(super) fn complete(
    kind: &Kind,
    object: &mut Value,
    ordinal: usize,
    classes: &PriorityClasses,
) -> Result<(), Unfit> {
    let uid = name(kind, object).unwrap_or_default();
    let metadata = object_at(object, "metadata");
    if kind.is_namespaced {
        set_default(metadata, "namespace", || DEFAULT_NAMESPACE.into());
    }
    set_default(metadata, "uid", || uid.as_str().into());
    set_default(metadata, "creationTimestamp", || creation_time(ordinal));
    match kind.name {
        "Node" => complete_node(object),
        "Namespace" => {
            // `SetDefaults_Namespace` writes it whatever was there.
            let labels = object_at(object_at(object, "metadata"), "labels");
            if let Value::Object(labels) = labels {
                labels.insert(NAMESPACE_NAME_LABEL.to_owned(), uid.into());
            }
        }
        "Pod" => pod::complete(object, &uid, classes)?,
        "ReplicationController" => complete_replication_controller(object),
        "StorageClass" => set_default(object, "volumeBindingMode", || "Immediate".into()),
        "PersistentVolume" => quantities_as_texts(object.pointer_mut("/spec/capacity")),
        "PersistentVolumeClaim" => {
            quantities_as_texts(object.pointer_mut("/spec/resources/requests"));
        }
        _ => {}
    }
    Ok(())
}

fn creation_time(ordinal: usize) -> Value {
    let seconds = SignedDuration::from_secs(i64::try_from(ordinal).unwrap_or(i64::MAX));
    let first = Timestamp::from_second(FIRST_CREATION).unwrap_or_default();
    let time = first.checked_add(seconds).unwrap_or(Timestamp::MAX);
    json!(time.to_string())
}

/// Allocatable room is the capacity unless the node says less.
fn complete_node(node: &mut Value) {
    let status = object_at(node, "status");
    let capacity = status.get("capacity").cloned().unwrap_or_default();
    if !capacity.is_null() {
        set_default(status, "allocatable", || capacity);
    }
    quantities_as_texts(status.get_mut("allocatable"));
}

/// Without a selector the labels of the template select (`SetDefaults_ReplicationController`).
fn complete_replication_controller(controller: &mut Value) {
    let labels = controller.pointer("/spec/template/metadata/labels");
    let Some(labels) = labels.filter(|labels| labels.is_object()).cloned() else {
        return;
    };
    let spec = object_at(controller, "spec");
    let is_given = match spec.get("selector") {
        None | Some(Value::Null) => false,
        Some(Value::Object(selector)) => !selector.is_empty(),
        Some(_) => true,
    };
    if let (false, Value::Object(spec)) = (is_given, spec) {
        spec.insert("selector".to_owned(), labels);
    }
}

/// Quantities may be written as numbers, which the API server turns into texts.
fn quantities_as_texts(amounts: Option<&mut Value>) {
    let amounts = amounts.and_then(Value::as_object_mut);
    for amount in amounts.into_iter().flat_map(Map::values_mut) {
        if let Value::Number(number) = amount {
            *amount = number.to_string().into();
        }
    }
}

/// Sets a field that is absent or `null`.
fn set_default(object: &mut Value, field: &str, value: impl FnOnce() -> Value) {
    let Value::Object(object) = object else {
        return;
    };
    let known = object.entry(field).or_insert(Value::Null);
    if known.is_null() {
        *known = value();
    }
}

/// The object in `field`, made if it is absent or `null`.
fn object_at<'a>(object: &'a mut Value, field: &str) -> &'a mut Value {
    set_default(object, field, || json!({}));
    // Indexing a value that is no object would panic; decoding refuses it later.
    match object {
        Value::Object(object) => object.entry(field).or_insert(Value::Null),
        other => other,
    }
}

/// The items of the list in `field`.
fn items_at<'a>(object: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = object.get_mut(field).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

#[cfg(test)]
mod tests;
