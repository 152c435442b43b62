//! Objects in which every field that is decoded has a value.

use serde_json::{Value, json};

/// What the API server wants to know before it takes the pods.
pub(crate) fn surroundings() -> Vec<Value> {
    vec![
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": "courteous"}, "value": 7, "preemptionPolicy": "Never"}),
        json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass",
            "metadata": {"name": "heavy"}, "handler": "any",
            "overhead": {"podFixed": {"cpu": "1500u", "memory": "0.5Gi"}}}),
    ]
}

/// Nodes and pods; those named `gone` are to be deleted.
pub(crate) fn objects() -> Vec<Value> {
    let mut objects = vec![rich_node(), bare_node("gone"), bare_node("bare")];
    objects.extend([pod("rich", &rich_spec(), &rich_status()), leaving_pod()]);
    objects.extend([
        bare_pod("bare"),
        bare_pod("gone"),
        empty_pod(),
        generated_pod(),
    ]);
    objects
}

fn pod(name: &str, spec: &Value, status: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": name, "namespace": "default",
        "labels": {"app": "web", "empty": ""},
        "annotations": {"volume.kubernetes.io/kept": "yes", "example.com/dropped": "x".repeat(300),
            "pv.kubernetes.io/kept": "a \"quoted\" ünïcode"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web",
            "uid": "4a0e1d3c-7f0b-4bb4-8f0b-6a1f0c8f9b11", "controller": true,
            "blockOwnerDeletion": true},
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "other"}],
    }, "spec": spec, "status": status})
}

fn leaving_pod() -> Value {
    let spec = json!({"containers": [{"name": "main", "image": "nginx"}], "nodeName": "bare"});
    let mut pod = pod("leaving", &spec, &json!({"phase": "Running"}));
    pod["metadata"]["finalizers"] = json!(["example.com/held"]);
    pod
}

fn bare_pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {}, "annotations": {}},
        "spec": {"containers": [{"name": "main", "image": "nginx"}]}})
}

fn generated_pod() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web-x1", "generateName": "web-", "namespace": "default"},
        "spec": {"containers": [{"name": "main", "image": "nginx"}]}})
}

/// Values behind pointers that are there, but empty.
fn empty_pod() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "empty", "namespace": "default"},
        "spec": {
            "affinity": {"podAffinity": {}, "nodeAffinity": {}, "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "namespaceSelector": {}, "labelSelector": {}}]}},
            "nodeSelector": {}, "hostUsers": true, "priorityClassName": "",
            "schedulingGates": [{"name": "example.com/gate"}],
            "tolerations": [{"operator": "Exists"}, {"key": "a", "operator": "Exists",
                "effect": "NoExecute", "tolerationSeconds": 0}],
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
                "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}],
            "volumes": [{"name": "scratch", "emptyDir": {}}, {"name": "config",
                "configMap": {"name": "config"}}],
            "containers": [{"name": "main", "image": "nginx", "resources": {"requests": {}},
                "ports": [{"containerPort": 80}],
                "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]}],
        },
        "status": {"conditions": [{"type": "Ready", "status": "False"}],
            "containerStatuses": [{"name": "main", "ready": false, "restartCount": 0, "image": "",
                "imageID": "", "resources": {}, "allocatedResources": {}}]}})
}

fn rich_spec() -> Value {
    json!({
        "schedulerName": "bayplan", "priorityClassName": "courteous",
        "runtimeClassName": "heavy", "hostNetwork": true, "hostUsers": true,
        "nodeSelector": {"disk": "ssd", "empty": ""},
        "affinity": affinity(),
        "tolerations": [{"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute",
            "tolerationSeconds": 30}],
        "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector(), "minDomains": 3,
            "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor",
            "matchLabelKeys": ["pod-template-hash"]}],
        "resources": {"requests": {"cpu": "2500m", "memory": "3Gi"},
            "limits": {"cpu": "4", "memory": "4Gi"}},
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}],
        "volumes": volumes(),
        "initContainers": [{"name": "sidecar", "image": "busybox", "restartPolicy": "Always",
            "resources": {"requests": {"memory": "1e6", "cpu": "0.1"}}}],
        "containers": [{
            "name": "main", "image": "nginx:1.27", "restartPolicy": "Never",
            "restartPolicyRules": [{"action": "Restart",
                "exitCodes": {"operator": "In", "values": [42]}}],
            "env": [{"name": "A", "value": "B"}],
            "ports": [{"containerPort": 8080, "hostPort": 8080, "hostIP": "10.0.0.1",
                "protocol": "UDP"}],
            "resources": {"requests": {"cpu": "1", "memory": "1073741824",
                "example.com/dongle": "2"}, "limits": {"example.com/dongle": "2"}},
            "volumeMounts": [{"name": "claim", "mountPath": "/plain"},
                {"name": "claim", "mountPath": "/data", "bindMountOptions": ["noexec", "nodev"]}],
        }],
    })
}

fn selector() -> Value {
    json!({"matchLabels": {"app": "web"}, "matchExpressions": [
        {"key": "tier", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "DoesNotExist"}]})
}

fn affinity() -> Value {
    let node_term = json!({
        "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]},
            {"key": "disk", "operator": "Exists"}],
        "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n9"]}]});
    let near = |key: &str| {
        json!({"labelSelector": selector(), "namespaces": ["default", "team-a"],
            "topologyKey": key, "namespaceSelector": selector(),
            "matchLabelKeys": ["version"], "mismatchLabelKeys": ["tenant"]})
    };
    let both = |key: &str| {
        json!({"requiredDuringSchedulingIgnoredDuringExecution": [near(key)],
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 5, "podAffinityTerm": near("kubernetes.io/hostname")}]})
    };
    json!({
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [node_term]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 11, "preference": node_term}]},
        "podAffinity": both("zone"), "podAntiAffinity": both("rack")})
}

fn volumes() -> Value {
    json!([
        {"name": "claim", "persistentVolumeClaim": {"claimName": "data", "readOnly": true}},
        {"name": "made", "ephemeral": {"volumeClaimTemplate": {"spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}},
        {"name": "gce", "gcePersistentDisk": {"pdName": "disk", "readOnly": true}},
        {"name": "aws", "awsElasticBlockStore": {"volumeID": "vol-1"}},
        {"name": "rbd", "rbd": {"monitors": ["m1", "m2"], "image": "image", "pool": "pool",
            "readOnly": true}},
        {"name": "iscsi", "iscsi": {"targetPortal": "10.0.0.1:3260", "lun": 1, "readOnly": true,
            "iqn": "iqn.2001-04.com.example:storage.disk1"}},
        {"name": "azure", "azureDisk": {"diskName": "disk", "kind": "Managed",
            "diskURI": "/subscriptions/1/resourceGroups/2/providers/3/disks/4"}},
        {"name": "cinder", "cinder": {"volumeID": "vol-2"}},
        {"name": "portworx", "portworxVolume": {"volumeID": "vol-3"}},
        {"name": "image", "image": {"reference": "registry.example.com/data:1"}},
    ])
}

fn rich_status() -> Value {
    json!({
        "phase": "Running", "nominatedNodeName": "rich", "startTime": "2024-02-29T23:59:58Z",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/5 nodes are available", "observedGeneration": 2,
            "lastTransitionTime": "2024-01-01T00:00:00Z"}],
        "resources": {"requests": {"cpu": "2", "memory": "2Gi"}},
        "allocatedResources": {"cpu": "2200m", "memory": "2Gi"},
        "containerStatuses": [{"name": "main", "ready": true, "restartCount": 1, "image": "nginx",
            "imageID": "sha256:1", "allocatedResources": {"cpu": "1", "memory": "1Gi"},
            "resources": {"requests": {"cpu": "900m", "memory": "1Gi"}}}],
        "initContainerStatuses": [{"name": "sidecar", "ready": true, "restartCount": 0,
            "image": "busybox", "imageID": "sha256:2", "allocatedResources": {"cpu": "100m"},
            "resources": {"requests": {"cpu": "100m"}}}],
    })
}

fn bare_node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {},
        "status": {"images": [{"names": ["a"]}]}})
}

fn rich_node() -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "rich", "labels": {"zone": "a", "disk": "ssd"},
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}},
        "spec": {"unschedulable": true, "taints": [
            {"key": "a", "value": "b", "effect": "NoExecute", "timeAdded": "2024-01-01T00:00:01Z"},
            {"key": "c", "effect": "NoSchedule"}]},
        "status": {
            "capacity": {"cpu": "8", "memory": "33Gi", "pods": "110"},
            "allocatable": {"cpu": "7910m", "memory": "32.5Gi", "pods": "110",
                "ephemeral-storage": "100e9", "example.com/dongle": "4"},
            "images": [{"names": ["nginx:1.27", "nginx@sha256:1"], "sizeBytes": 187_654_321}],
            "declaredFeatures": ["FeatureA", "FeatureB"]}})
}
