//! Odd objects: what the API server would refuse, and what it takes and nobody means. They come from
//! files, from older versions and from admission that went wrong.

use serde_json::{Value, json};

use crate::generator::Plan;
use crate::generator::families::Family;

/// A field of a kind, and JSON texts of values that it should not have.
type Oddity = (&'static str, &'static str, &'static [&'static str]);

/// Changes a few fields of a few objects.
pub(super) fn make_odd(plan: &mut Plan, objects: &mut [Value]) {
    if !plan.families.has(Family::Odd) {
        return;
    }
    for _ in 0..plan.dice.between(1, 8) {
        let (kind, pointer, texts) = ODDITIES[plan.dice.below(ODDITIES.len())];
        let mut there: Vec<_> = objects
            .iter_mut()
            .filter(|object| object["kind"] == kind && has_place(object, pointer))
            .collect();
        if there.is_empty() {
            continue;
        }
        let at = plan.dice.below(there.len());
        let value = serde_json::from_str(plan.dice.pick(texts)).expect("the text must be JSON");
        set(there[at], pointer, value);
    }
}

fn keys(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|key| key.replace("~1", "/"))
}

/// Whether the lists on the way are there: objects are made, items of lists are not.
fn has_place(object: &Value, pointer: &str) -> bool {
    let mut place = Some(object);
    keys(pointer).all(|key| {
        let is_item = key.parse::<usize>().is_ok();
        place = match place {
            Some(Value::Array(items)) => key.parse::<usize>().ok().and_then(|at| items.get(at)),
            Some(Value::Object(fields)) => fields.get(&key),
            _ => None,
        };
        !is_item || place.is_some()
    })
}

/// Puts a value at a place that there is.
fn set(object: &mut Value, pointer: &str, value: Value) {
    let mut place = object;
    for key in keys(pointer) {
        place = match key.parse::<usize>() {
            Ok(at) => &mut place[at],
            Err(_) => {
                if !place.is_object() {
                    *place = json!({});
                }
                &mut place[key]
            }
        };
    }
    *place = value;
}

const SELECTORS: &[&str] = &[
    r#"{"matchExpressions": [{"key": "app", "operator": "Like", "values": ["web"]}]}"#,
    r#"{"matchExpressions": [{"key": "app", "operator": "In", "values": []}]}"#,
    r#"{"matchExpressions": [{"key": "app", "operator": "Exists", "values": ["web"]}]}"#,
    r#"{"matchLabels": {"a b": "c d"}}"#,
    r#"{"matchLabels": {"app": ""}}"#,
    r#"{"matchLabels": {}, "matchExpressions": []}"#,
    r#"{"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "web"]},
        {"key": "app", "operator": "NotIn", "values": ["web"]}]}"#,
    "null",
];

const NODE_TERMS: &[&str] = &[
    "[]",
    "[{}]",
    "null",
    r#"[{"matchExpressions": [{"key": "disk", "operator": "Like", "values": ["ssd"]}]}]"#,
    r#"[{"matchExpressions": [{"key": "generation", "operator": "Gt", "values": ["x"]}]}]"#,
    r#"[{"matchExpressions": [{"key": "generation", "operator": "Lt", "values": ["1", "2"]}]}]"#,
    r#"[{"matchExpressions": [{"key": "a b", "operator": "Exists"}]}, {"matchExpressions":
        [{"key": "disk", "operator": "Exists"}]}]"#,
    r#"[{"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["n01"]}]}]"#,
    r#"[{"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}]"#,
];

const AMOUNTS: &[&str] = &[
    r#""-1""#,
    r#""-500m""#,
    r#""1e-20""#,
    r#""0.1n""#,
    r#""1.5""#,
    r#""1500m""#,
    r#""5.""#,
    r#"".5""#,
    r#""+1""#,
    r#""-0""#,
    r#""1e3""#,
    r#""1E""#,
    r#""1e400""#,
    r#""9e18""#,
    r#""9223372036854775807""#,
    r#""-9223372036854775807""#,
    r#""99999999999Ei""#,
    r#""-1e400""#,
    "2",
    "-3",
    "0.25",
];

const NAMES: &[&str] = &[r#""""#, r#""a b""#, r#""missing""#, r#""-""#, r#""Ünï""#];

const COUNTS: &[&str] = &["0", "-1", "-2147483648", "2147483647", "1"];

#[rustfmt::skip]
const ODDITIES: &[Oddity] = &[
    ("Pod", "/spec/containers/0/resources/requests/cpu", AMOUNTS),
    ("Pod", "/spec/containers/0/resources/requests/cpu", AMOUNTS),
    ("Pod", "/spec/containers/0/resources/requests/memory", AMOUNTS),
    ("Pod", "/spec/containers/0/resources/requests/ephemeral-storage", AMOUNTS),
    ("Pod", "/spec/containers/0/resources/requests/example.com~1gpu", AMOUNTS),
    ("Pod", "/spec/containers/0/resources/requests/hugepages-2Mi", AMOUNTS),
    ("Pod", "/spec/containers/0/resources/requests/pods", AMOUNTS),
    ("Pod", "/spec/containers/0/resources/requests/unheard-of", AMOUNTS),
    ("Pod", "/spec/containers/0/resources/requests/requests.cpu", AMOUNTS),
    ("Pod", "/spec/containers/0/resources/requests/attachable-volumes-x", AMOUNTS),
    ("Pod", "/spec/containers/0/resources/requests/kubernetes.io~1x", AMOUNTS),
    ("Pod", "/spec/containers/0/resources/requests/a~1b~1c", AMOUNTS),
    ("Pod", "/spec/containers/0/resources/limits/cpu", AMOUNTS),
    ("Pod", "/spec/containers/0/resources/limits/memory", AMOUNTS),
    ("Pod", "/spec/initContainers/0/resources/requests/cpu", AMOUNTS),
    ("Pod", "/spec/initContainers/0/restartPolicy", &[r#""Sometimes""#, r#""""#]),
    ("Pod", "/spec/overhead/cpu", AMOUNTS),
    ("Pod", "/spec/overhead/example.com~1gpu", AMOUNTS),
    ("Pod", "/spec/resources/requests/cpu", AMOUNTS),
    ("Pod", "/spec/resources/requests/example.com~1gpu", AMOUNTS),
    ("Pod", "/spec/containers", &["[]", "null"]),
    ("Pod", "/spec/containers/0/name", NAMES),
    ("Pod", "/spec/containers/0/image", &[r#""""#, r#""UPPER:tag@sha256:zz""#, r#"":""#, r#""nginx:""#]),
    ("Pod", "/spec/containers/0/ports", &[
        r#"[{"hostPort": -1}]"#, r#"[{"hostPort": 70000, "containerPort": 70000}]"#,
        r#"[{"hostPort": 80, "protocol": "tcp"}]"#, r#"[{"hostPort": 80, "protocol": "XTP"}]"#,
        r#"[{"hostPort": 80, "hostIP": "nonsense"}]"#, r#"[{"hostPort": 80}, {"hostPort": 80}]"#,
        r#"[{"hostPort": 8080, "hostIP": "::"}]"#, r#"[{"hostPort": 8080, "hostIP": "0.0.0.0"}]"#]),
    ("Pod", "/spec/hostNetwork", &["true", "null"]),
    ("Pod", "/spec/topologySpreadConstraints", &[
        r#"[{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "Sometimes", "labelSelector": {}}]"#,
        r#"[{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "", "labelSelector": {}}]"#,
        r#"[{"maxSkew": 1, "topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "web"}}}]"#,
        r#"[{"topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}]"#,
        r#"[{"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}]"#,
        r#"[{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "Sometimes"},
            {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway",
             "labelSelector": {"matchLabels": {"app": "web"}}}]"#,
        "[]", "null"]),
    ("Pod", "/spec/topologySpreadConstraints/0/whenUnsatisfiable", &[r#""Sometimes""#, r#""""#]),
    ("Pod", "/spec/topologySpreadConstraints/0/maxSkew", COUNTS),
    ("Pod", "/spec/topologySpreadConstraints/0/minDomains", COUNTS),
    ("Pod", "/spec/topologySpreadConstraints/0/topologyKey", NAMES),
    ("Pod", "/spec/topologySpreadConstraints/0/labelSelector", SELECTORS),
    ("Pod", "/spec/topologySpreadConstraints/0/matchLabelKeys", &[r#"["app"]"#, r#"["a b"]"#, r#"["version", "version"]"#]),
    ("Pod", "/spec/topologySpreadConstraints/0/nodeAffinityPolicy", &[r#""Sometimes""#, r#""""#]),
    ("Pod", "/spec/topologySpreadConstraints/0/nodeTaintsPolicy", &[r#""Sometimes""#, r#""""#]),
    ("Pod", "/spec/tolerations", &[
        r#"[{"key": "dedicated", "operator": "Like", "value": "a"}]"#,
        r#"[{"key": "dedicated", "operator": "Exists", "value": "a"}]"#,
        r#"[{"key": "dedicated", "operator": "Lt", "value": "5"}]"#,
        r#"[{"operator": "Equal"}]"#, r#"[{"operator": "Equal", "value": "a"}]"#, r#"[{}]"#,
        r#"[{"operator": "Exists", "effect": "Never"}]"#,
        r#"[{"key": "a b", "operator": "Exists", "effect": ""}]"#]),
    ("Pod", "/spec/nodeSelector", &[r#"{"a b": "c d"}"#, r#"{"": ""}"#, r#"{"disk": "a b"}"#, "null", "{}"]),
    ("Pod", "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms", NODE_TERMS),
    ("Pod", "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution", &[
        r#"[{"weight": 0, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}]"#,
        r#"[{"weight": -5, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}]"#,
        r#"[{"weight": 2147483647, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}]"#,
        r#"[{"weight": 5, "preference": {"matchExpressions": [{"key": "disk", "operator": "Like"}]}}]"#,
        r#"[{"weight": 5, "preference": {}}]"#, r#"[{"weight": 5}]"#, r#"[{}]"#]),
    ("Pod", "/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution", &[
        r#"[{"topologyKey": "", "labelSelector": {}}]"#, r#"[{"topologyKey": "rack"}]"#, "[{}]",
        r#"[{"topologyKey": "rack", "labelSelector": {}, "namespaces": ["", "missing"]}]"#]),
    ("Pod", "/spec/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution", &[
        r#"[{"weight": -100, "podAffinityTerm": {"topologyKey": "rack", "labelSelector": {}}}]"#,
        r#"[{"weight": 2147483647, "podAffinityTerm": {"topologyKey": "rack", "labelSelector": {}}}]"#,
        r#"[{"weight": 0, "podAffinityTerm": {"topologyKey": "rack", "labelSelector": {}}}]"#,
        r#"[{"weight": 5, "podAffinityTerm": {"topologyKey": "", "labelSelector": {}}}]"#, "[{}]"]),
    ("Pod", "/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution", &[
        r#"[{"weight": -100, "podAffinityTerm": {"topologyKey": "rack", "labelSelector": {}}}]"#,
        r#"[{"weight": 2147483647, "podAffinityTerm": {"topologyKey": "rack", "labelSelector": {}}}]"#]),
    ("Pod", "/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/labelSelector", SELECTORS),
    ("Pod", "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/labelSelector", SELECTORS),
    ("Pod", "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/namespaceSelector", SELECTORS),
    ("Pod", "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/topologyKey", NAMES),
    ("Pod", "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/matchLabelKeys", &[
        r#"["app"]"#, r#"["a b"]"#, r#"["version", "version"]"#]),
    ("Pod", "/spec/volumes", &[
        r#"[{"name": "v"}]"#, r#"[{"name": "v", "persistentVolumeClaim": {}}]"#,
        r#"[{"name": "v", "persistentVolumeClaim": {"claimName": ""}}]"#,
        r#"[{"name": "v", "ephemeral": {}}]"#, r#"[{"name": "v", "ephemeral": null}]"#,
        r#"[{"name": "v", "csi": {"driver": ""}}]"#, r#"[{"name": "v", "csi": {"driver": "csi.example.com"}}]"#,
        r#"[{"name": "v", "gcePersistentDisk": {"pdName": ""}}, {"name": "w", "gcePersistentDisk": {"pdName": ""}}]"#,
        r#"[{"name": "v", "awsElasticBlockStore": {"volumeID": ""}}]"#,
        r#"[{"name": "v", "rbd": {"monitors": [], "image": ""}}]"#,
        r#"[{"name": "v", "iscsi": {"targetPortal": "", "iqn": "", "lun": 0}}]"#,
        r#"[{"name": "v", "azureDisk": {"diskName": "", "diskURI": ""}}]"#,
        r#"[{"name": "v", "vsphereVolume": {"volumePath": ""}}]"#,
        r#"[{"name": "v", "cinder": {"volumeID": ""}}]"#]),
    ("Pod", "/spec/priority", &["2147483647", "-2147483648", "0", "null"]),
    ("Pod", "/spec/preemptionPolicy", &[r#""Sometimes""#, r#""Never""#, r#""""#, "null"]),
    ("Pod", "/spec/schedulingGates", &[r#"[{"name": ""}]"#, r#"[{"name": "a"}, {"name": "a"}]"#, "[]", "null"]),
    ("Pod", "/spec/restartPolicy", &[r#""Sometimes""#, r#""Never""#]),
    ("Pod", "/status/nominatedNodeName", NAMES),
    ("Pod", "/status/phase", &[r#""Weird""#, r#""Unknown""#, r#""""#]),
    ("Pod", "/status/startTime", &[r#""1960-01-01T00:00:00Z""#, r#""2999-01-01T00:00:00Z""#, r#""2024-01-01T02:30:00.5Z""#, r#""2024-01-01T02:30:00+02:00""#]),
    ("Pod", "/status/conditions", &[
        r#"[{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]"#,
        r#"[{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]"#,
        r#"[{"type": "PodResizePending", "status": "False", "reason": "Deferred"}]"#, "[{}]", "null"]),
    ("Pod", "/metadata/labels", &["null", "{}", r#"{"app": "", "tier": "a b"}"#]),
    ("Pod", "/metadata/creationTimestamp", &[r#""1960-01-01T00:00:00Z""#, r#""2999-01-01T00:00:00Z""#]),
    ("Pod", "/metadata/ownerReferences", &[
        r#"[{"apiVersion": "a/b/c", "kind": "ReplicaSet", "name": "rs-web", "uid": "x", "controller": true}]"#,
        r#"[{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs-web", "uid": "x", "controller": true},
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "ss-cache", "uid": "y", "controller": true}]"#,
        r#"[{"apiVersion": "apps/v1beta1", "kind": "ReplicaSet", "name": "rs-web", "uid": "x", "controller": true}]"#]),
    ("Node", "/status/allocatable/cpu", AMOUNTS),
    ("Node", "/status/allocatable/cpu", AMOUNTS),
    ("Node", "/status/allocatable/memory", AMOUNTS),
    ("Node", "/status/allocatable/pods", AMOUNTS),
    ("Node", "/status/allocatable/ephemeral-storage", AMOUNTS),
    ("Node", "/status/allocatable/example.com~1gpu", AMOUNTS),
    ("Node", "/status/allocatable/unheard-of", AMOUNTS),
    ("Node", "/status/allocatable/hugepages-2Mi", AMOUNTS),
    ("Node", "/status/allocatable", &["null", "{}"]),
    ("Node", "/status/capacity", &["null", "{}"]),
    ("Node", "/status", &["null", "{}"]),
    ("Node", "/status/images", &[
        "null", "[]", "[{}]", r#"[{"names": null, "sizeBytes": 500000000}]"#,
        r#"[{"names": ["nginx:latest"], "sizeBytes": -1}]"#,
        r#"[{"names": ["nginx:latest"], "sizeBytes": 9223372036854775807}]"#,
        r#"[{"names": ["nginx:latest"], "sizeBytes": 500000000}, {"names": ["nginx:latest"], "sizeBytes": 900000000}]"#,
        r#"[{"names": ["nginx", ":", ""], "sizeBytes": 500000000}]"#]),
    ("Node", "/status/declaredFeatures", &["null", "[]", r#"["RestartAllContainersOnContainerExits", "RestartAllContainersOnContainerExits"]"#, r#"["z", "", "a"]"#]),
    ("Node", "/spec", &["null", "{}"]),
    ("Node", "/spec/unschedulable", &["true", "false", "null"]),
    ("Node", "/spec/taints", &[
        r#"[{"key": "dedicated", "effect": "Never"}]"#, r#"[{"key": "dedicated", "effect": ""}]"#,
        r#"[{"key": "", "effect": "NoSchedule"}]"#, r#"[{"key": "a b", "value": "c d", "effect": "NoSchedule"}]"#,
        r#"[{"key": "dedicated", "effect": "NoSchedule"}, {"key": "dedicated", "effect": "NoSchedule"}]"#,
        r#"[{"key": "dedicated", "effect": "PreferNoSchedule"}, {"key": "dedicated", "effect": "PreferNoSchedule"}]"#,
        "null"]),
    ("Node", "/metadata/labels", &["null", "{}", r#"{"kubernetes.io/hostname": "n01", "rack": ""}"#]),
    ("Node", "/metadata/labels/topology.kubernetes.io~1zone", NAMES),
    ("Node", "/metadata/labels/generation", &[r#""99999999999999999999""#, r#""-5""#, r#""+5""#, r#""1.5""#, r#""""#]),
    ("PersistentVolume", "/spec/capacity", &["null", "{}", r#"{"storage": "-1Gi"}"#, r#"{"storage": "1e400"}"#, r#"{"storage": "0.5"}"#]),
    ("PersistentVolume", "/spec/accessModes", &["null", "[]", r#"["Weird"]"#, r#"["ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany"]"#]),
    ("PersistentVolume", "/spec/nodeAffinity", &["null", "{}", r#"{"required": null}"#]),
    ("PersistentVolume", "/spec/nodeAffinity/required/nodeSelectorTerms", NODE_TERMS),
    ("PersistentVolume", "/spec/storageClassName", NAMES),
    ("PersistentVolume", "/spec/volumeMode", &[r#""Block""#, r#""Weird""#, r#""""#]),
    ("PersistentVolume", "/spec/claimRef", &["null", "{}", r#"{"name": "claim-01"}"#, r#"{"namespace": "default", "name": "claim-01", "uid": "other"}"#]),
    ("PersistentVolume", "/spec/csi", &["null", "{}", r#"{"driver": "", "volumeHandle": ""}"#]),
    ("PersistentVolume", "/status/phase", &[r#""Weird""#, r#""""#, r#""Failed""#]),
    ("PersistentVolume", "/metadata/deletionTimestamp", &[r#""2024-01-01T00:00:00Z""#]),
    ("PersistentVolume", "/metadata/labels/topology.kubernetes.io~1zone", &[r#""""#, r#""__""#, r#""z1__""#, r#""__z1__z1""#]),
    ("PersistentVolumeClaim", "/spec/resources", &["null", "{}", r#"{"requests": {"storage": "-1Gi"}}"#, r#"{"requests": {"storage": "1e400"}}"#, r#"{"requests": {"storage": "0.5"}}"#]),
    ("PersistentVolumeClaim", "/spec/accessModes", &["null", "[]", r#"["Weird"]"#, r#"["ReadWriteOncePod", "ReadWriteOnce"]"#]),
    ("PersistentVolumeClaim", "/spec/storageClassName", &["null", r#""""#, r#""missing""#]),
    ("PersistentVolumeClaim", "/spec/volumeMode", &[r#""Block""#, r#""Weird""#]),
    ("PersistentVolumeClaim", "/spec/volumeName", NAMES),
    ("PersistentVolumeClaim", "/spec/selector", SELECTORS),
    ("PersistentVolumeClaim", "/spec/volumeAttributesClassName", NAMES),
    ("PersistentVolumeClaim", "/spec", &["{}"]),
    ("PersistentVolumeClaim", "/status", &["null", "{}", r#"{"phase": "Weird"}"#, r#"{"phase": "Lost"}"#]),
    ("PersistentVolumeClaim", "/metadata/annotations", &[
        "null", r#"{"pv.kubernetes.io/bind-completed": ""}"#, r#"{"pv.kubernetes.io/bind-completed": "no"}"#,
        r#"{"volume.kubernetes.io/selected-node": ""}"#, r#"{"volume.kubernetes.io/selected-node": "missing"}"#,
        r#"{"volume.kubernetes.io/storage-provisioner": "x"}"#]),
    ("PersistentVolumeClaim", "/metadata/ownerReferences", &["[]", r#"[{"apiVersion": "v1", "kind": "Pod", "name": "", "uid": "", "controller": true}]"#]),
    ("StorageClass", "/provisioner", &[r#""""#, r#""missing.example.com""#, r#""kubernetes.io/no-provisioner""#]),
    ("StorageClass", "/volumeBindingMode", &["null", r#""Weird""#, r#""""#]),
    ("StorageClass", "/allowedTopologies", &[
        "null", "[]", "[{}]", r#"[{"matchLabelExpressions": []}]"#,
        r#"[{"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": []}]}]"#,
        r#"[{"matchLabelExpressions": [{"key": "", "values": [""]}]}]"#,
        r#"[{"matchLabelExpressions": [{"key": "rack", "values": ["1", "1"]}]}, {"matchLabelExpressions": [{"key": "rack", "values": ["2"]}]}]"#]),
    ("CSINode", "/spec/drivers", &["null", "[]"]),
    ("CSINode", "/spec/drivers/0/allocatable/count", COUNTS),
    ("CSINode", "/spec/drivers/0/allocatable", &["null", "{}"]),
    ("CSINode", "/spec/drivers/0/name", NAMES),
    ("CSINode", "/metadata/annotations", &[r#"{"storage.alpha.kubernetes.io/migrated-plugins": ""}"#,
        r#"{"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/gce-pd,kubernetes.io/aws-ebs"}"#]),
    ("CSIDriver", "/spec", &["{}", r#"{"storageCapacity": null}"#, r#"{"attachRequired": false}"#]),
    ("CSIStorageCapacity", "/capacity", &["null", r#""-1Gi""#, r#""1e400""#, r#""0.5""#]),
    ("CSIStorageCapacity", "/maximumVolumeSize", &["null", r#""-1Gi""#, r#""0""#, r#""1e400""#]),
    ("CSIStorageCapacity", "/nodeTopology", SELECTORS),
    ("CSIStorageCapacity", "/storageClassName", NAMES),
    ("VolumeAttachment", "/spec/attacher", NAMES),
    ("VolumeAttachment", "/spec/source", &["null", "{}", r#"{"persistentVolumeName": ""}"#]),
    ("VolumeAttachment", "/spec/nodeName", NAMES),
    ("PodDisruptionBudget", "/spec/selector", SELECTORS),
    ("PodDisruptionBudget", "/status/disruptionsAllowed", &["0", "-1", "-5", "2147483647"]),
    ("PodDisruptionBudget", "/status", &["null", "{}"]),
    ("PodDisruptionBudget", "/spec", &["null", "{}"]),
    ("Namespace", "/metadata/labels", &["null", r#"{"team": ""}"#]),
    ("Service", "/spec/selector", &["null", "{}", r#"{"a b": "c d"}"#, r#"{"tier": ""}"#]),
    ("ReplicaSet", "/spec/selector", SELECTORS),
    ("StatefulSet", "/spec/selector", SELECTORS),
    ("ReplicationController", "/spec/selector", &["null", "{}", r#"{"a b": "c d"}"#]),
    ("PriorityClass", "/value", &["2147483647", "-2147483648"]),
    ("PriorityClass", "/preemptionPolicy", &[r#""Sometimes""#, r#""""#, "null"]),
];
