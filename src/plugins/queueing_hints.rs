//! Which changes wake the pods that each plugin rejected: the rules of upstream's
//! `EventsToRegister` and hints, plugin by plugin. What differs is in `docs/compatibility.md`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::apis::effective_profile::EffectiveProfile;
use crate::apis::plugin_args::{InterPodAffinityArgs, VolumeBindingArgs};
use crate::apis::scheduler_profile::SchedulerProfileSpec;
use crate::engine::framework::{ActionType, ClusterEventKind, EventResource, Plugin, QueueingHint};
use crate::model::object_key::ObjectKey;
use crate::model::objects::{CsiStorageCapacity, PersistentVolumeClaim};
use crate::model::symbols::Symbols;
use crate::plugins::fixtures::{Cluster, NodeBuilder, PodBuilder, make_node, make_pod};
use crate::plugins::inter_pod_affinity::InterPodAffinity;
use crate::plugins::node_affinity::NodeAffinity;
use crate::plugins::node_declared_features::NodeDeclaredFeatures;
use crate::plugins::node_ports::NodePorts;
use crate::plugins::node_resources_fit::NodeResourcesFit;
use crate::plugins::node_resources_fit::scoring::{ResourceWeights, Strategy};
use crate::plugins::node_unschedulable::NodeUnschedulable;
use crate::plugins::node_volume_limits::NodeVolumeLimits;
use crate::plugins::registry::Registry;
use crate::plugins::taint_toleration::TaintToleration;
use crate::plugins::volume_binding::VolumeBinding;

const POD_ADDED: ClusterEventKind = assigned(ActionType::ADD);
const POD_GONE: ClusterEventKind = assigned(ActionType::DELETE);
const POD_RELABELLED: ClusterEventKind = assigned(ActionType::UPDATE_POD_LABEL);
const POD_SMALLER: ClusterEventKind = assigned(ActionType::UPDATE_POD_SCALE_DOWN);
const NODE_ADDED: ClusterEventKind = node(ActionType::ADD);
const NODE_GONE: ClusterEventKind = node(ActionType::DELETE);
const NODE_RELABELLED: ClusterEventKind = node(ActionType::UPDATE_NODE_LABEL);
const NODE_LARGER: ClusterEventKind = node(ActionType::UPDATE_NODE_ALLOCATABLE);
const TAINTS: ClusterEventKind = node(ActionType::UPDATE_NODE_TAINT);
const TOLERATIONS: ClusterEventKind = target(ActionType::UPDATE_POD_TOLERATION);
const OWN_LABELS: ClusterEventKind = target(ActionType::UPDATE_POD_LABEL);
const OWN_UPDATE: ClusterEventKind = target(ActionType::UPDATE);

const fn assigned(action: ActionType) -> ClusterEventKind {
    ClusterEventKind::new(EventResource::AssignedPod, action)
}

const fn node(action: ActionType) -> ClusterEventKind {
    ClusterEventKind::new(EventResource::Node, action)
}

const fn target(action: ActionType) -> ClusterEventKind {
    ClusterEventKind::new(EventResource::TargetPod, action)
}

/// Whether the event wakes the pod; the node and the other pod are those it is about.
fn wakes(
    cluster: &Cluster,
    plugin: &impl Plugin,
    event: ClusterEventKind,
    about: (Option<&str>, Option<&str>),
) -> bool {
    let hint = cluster.hint_about(plugin, event, about.0, about.1, None);
    hint == QueueingHint::Queue
}

/// What a plugin registers, by resource; `None` stands for every event.
fn registered(plugin: &dyn Plugin) -> Option<BTreeMap<EventResource, ActionType>> {
    let mut events = BTreeMap::<_, ActionType>::new();
    for event in plugin.enqueue_extensions()?.events_to_register() {
        let actions = events.entry(event.resource).or_default();
        *actions = actions.or(event.action);
    }
    Some(events)
}

/// What upstream's plugin registers, with what is added here.
fn expected(plugin: &str) -> Option<Vec<(EventResource, ActionType)>> {
    use ActionType as A;
    use EventResource as R;
    const POD: A = A::ADD.or(A::UPDATE_POD_LABEL).or(A::DELETE);
    const KEPT: A = A::ADD.or(A::UPDATE);
    const LABELS: A = A::ADD.or(A::UPDATE_NODE_LABEL);
    Some(match plugin {
        "NodeName" => vec![(R::Node, A::ADD)],
        "NodeUnschedulable" | "TaintToleration" => vec![
            (R::Node, A::ADD.or(A::UPDATE_NODE_TAINT)),
            (R::TargetPod, A::UPDATE_POD_TOLERATION),
        ],
        "NodeAffinity" => vec![(R::Node, LABELS)],
        "NodePorts" => vec![(R::AssignedPod, A::DELETE), (R::Node, A::ADD)],
        "NodeResourcesFit" => vec![
            (R::AssignedPod, A::DELETE.or(A::UPDATE_POD_SCALE_DOWN)),
            (R::Node, A::ADD.or(A::UPDATE_NODE_ALLOCATABLE)),
            (R::TargetPod, A::UPDATE_POD_SCALE_DOWN),
        ],
        // Upstream does not hear of nodes that go.
        "VolumeRestrictions" => vec![
            (R::AssignedPod, A::DELETE),
            (R::Node, A::ADD.or(A::DELETE)),
            (R::PersistentVolumeClaim, A::ADD),
        ],
        // Upstream does not hear of nodes, nor of pods that come, and of claims and volumes only of
        // new claims.
        "NodeVolumeLimits" => vec![
            (R::Node, A::ADD),
            (R::CsiNode, KEPT.or(A::DELETE)),
            (R::AssignedPod, A::ADD.or(A::DELETE)),
            (R::PersistentVolumeClaim, KEPT.or(A::DELETE)),
            (R::PersistentVolume, A::ADD.or(A::DELETE)),
            (R::VolumeAttachment, A::DELETE),
        ],
        // Upstream does not hear of drivers that go.
        "VolumeBinding" => vec![
            (R::StorageClass, KEPT),
            (R::PersistentVolumeClaim, KEPT),
            (R::PersistentVolume, KEPT),
            (R::Node, LABELS),
            (R::CsiNode, KEPT),
            (R::CsiDriver, A::UPDATE.or(A::DELETE)),
            (R::CsiStorageCapacity, KEPT),
        ],
        "VolumeZone" => vec![
            (R::StorageClass, A::ADD),
            (R::Node, LABELS),
            (R::PersistentVolumeClaim, KEPT),
            (R::PersistentVolume, KEPT),
        ],
        // Upstream hears of labels of pods only; the beginning of a deletion is any update.
        "PodTopologySpread" => vec![
            (R::AssignedPod, KEPT.or(A::DELETE)),
            (
                R::TargetPod,
                A::UPDATE_POD_TOLERATION.or(A::UPDATE_POD_LABEL),
            ),
            (R::Node, LABELS.or(A::DELETE).or(A::UPDATE_NODE_TAINT)),
        ],
        // Upstream does not hear of nodes that go, nor of namespaces.
        "InterPodAffinity" => vec![
            (R::AssignedPod, POD),
            (R::TargetPod, A::UPDATE_POD_LABEL),
            (R::Node, LABELS.or(A::DELETE)),
            (R::Namespace, KEPT.or(A::DELETE)),
        ],
        "NodeDeclaredFeatures" => vec![
            (R::Node, A::ADD.or(A::UPDATE_NODE_DECLARED_FEATURE)),
            (R::TargetPod, A::UPDATE),
        ],
        "SchedulingGates" => vec![(R::TargetPod, A::UPDATE_POD_SCHEDULING_GATES_ELIMINATED)],
        _ => return None,
    })
}

#[test]
fn plugins_register_what_upstreams_register() {
    let spec: SchedulerProfileSpec =
        serde_json::from_value(json!({"schedulerName": "bayplan"})).unwrap();
    let profile = EffectiveProfile::try_new(&spec, &Registry).unwrap();
    let profile = Registry.build(&profile, 1, &mut Symbols::new(1)).unwrap();
    let points = &profile.points;
    let rejecting = [&points.pre_enqueue, &points.pre_filter, &points.filter];
    let indices: BTreeSet<usize> = rejecting.into_iter().flatten().copied().collect();
    let mut seen = 0;
    for plugin in indices.into_iter().map(|index| profile.plugin(index)) {
        if let Some(expected) = expected(plugin.name()) {
            let expected = expected.into_iter().collect();
            assert_eq!(registered(plugin), Some(expected), "{}", plugin.name());
            seen += 1;
        }
    }
    assert_eq!(seen, 14, "a plugin that rejects pods is not in the list");
}

fn fit() -> NodeResourcesFit {
    NodeResourcesFit {
        ignored_resources: BTreeSet::new(),
        ignored_resource_groups: BTreeSet::new(),
        strategy: Strategy::LeastAllocated,
        resources: ResourceWeights([].into()),
    }
}

fn two_cores(name: &str) -> NodeBuilder {
    make_node(name).allocatable(&[("cpu", "2"), ("pods", "10")])
}

fn cores(name: &str, cpu: &str) -> PodBuilder {
    make_pod(name).request("cpu", cpu)
}

/// A node with two cores of which a pod has one and a half.
fn crowded(wanted: &PodBuilder) -> Cluster {
    Cluster::new([two_cores("n")])
        .with_running(&cores("stays", "1500m").on("n"))
        .with_gone(&cores("gone", "100m").on("n"))
        .with_pod(wanted)
}

#[test]
fn fit_hopes_for_room_that_is_enough() {
    let (fit, about) = (fit(), (Some("n"), Some("gone")));
    for (cpu, may_fit) in [("500m", true), ("501m", false)] {
        let cluster = crowded(&cores("p", cpu));
        for event in [POD_GONE, POD_SMALLER, NODE_ADDED, NODE_LARGER] {
            assert_eq!(wakes(&cluster, &fit, event, about), may_fit, "{event}");
        }
        let smaller = target(ActionType::UPDATE_POD_SCALE_DOWN);
        assert!(wakes(&cluster, &fit, smaller, (None, None)));
    }
}

#[test]
fn fit_hopes_for_evictions_wherever_a_pod_that_may_have_been_in_the_way_leaves() {
    let (fit, preemptor) = (fit(), cores("p", "2").priority(10));
    let cluster = crowded(&preemptor);
    assert!(wakes(&cluster, &fit, POD_GONE, (Some("n"), Some("gone"))));
    assert!(wakes(&cluster, &fit, POD_GONE, (None, None)));
    assert!(wakes(&cluster, &fit, NODE_LARGER, (Some("n"), None)));
    let polite = preemptor.spec(json!({"preemptionPolicy": "Never"}));
    let cluster = crowded(&polite);
    assert!(!wakes(&cluster, &fit, POD_GONE, (Some("n"), Some("gone"))));
    let too_large = crowded(&cores("p", "3").priority(10));
    assert!(!wakes(&too_large, &fit, NODE_LARGER, (Some("n"), None)));
}

#[test]
fn ports_hope_for_the_departure_of_a_pod_that_had_one_of_them() {
    let with_port = |name: &str, ip: &str, port| make_pod(name).host_port(ip, "TCP", port).on("n");
    let wanted = make_pod("p").host_port("", "TCP", 80);
    for (port, had_it) in [(80, true), (81, false)] {
        // Another pod still has the port on another address: it may be the one to evict.
        let cluster = Cluster::new([make_node("n")])
            .with_running(&with_port("stays", "10.0.0.2", 80))
            .with_gone(&with_port("gone", "10.0.0.1", port))
            .with_pod(&wanted);
        let about = (Some("n"), Some("gone"));
        assert_eq!(
            wakes(&cluster, &NodePorts, POD_GONE, about),
            had_it,
            "{port}"
        );
        assert!(wakes(&cluster, &NodePorts, POD_GONE, (Some("n"), None)));
        assert!(wakes(&cluster, &NodePorts, NODE_ADDED, (Some("n"), None)));
    }
}

#[test]
fn taints_and_cordons_hope_for_nodes_that_are_open() {
    let nodes = || {
        [
            make_node("open"),
            make_node("shut").taint("a", "", "NoSchedule"),
        ]
    };
    let cluster = Cluster::new(nodes()).with_pod(&make_pod("p"));
    for event in [NODE_ADDED, TAINTS] {
        assert!(wakes(
            &cluster,
            &TaintToleration,
            event,
            (Some("open"), None)
        ));
        assert!(!wakes(
            &cluster,
            &TaintToleration,
            event,
            (Some("shut"), None)
        ));
    }
    assert!(wakes(&cluster, &TaintToleration, TOLERATIONS, (None, None)));
    let mut cluster = Cluster::new([make_node("open"), make_node("shut").unschedulable()])
        .with_pod(&make_pod("p"));
    let plugin = cluster.compile(NodeUnschedulable::new);
    for event in [NODE_ADDED, TAINTS] {
        assert!(wakes(&cluster, &plugin, event, (Some("open"), None)));
        assert!(!wakes(&cluster, &plugin, event, (Some("shut"), None)));
    }
    assert!(!wakes(&cluster, &plugin, TOLERATIONS, (None, None)));
    let tolerant = make_pod("p").toleration("", "Exists", "", "");
    let cluster = cluster.with_pod(&tolerant);
    assert!(wakes(&cluster, &plugin, TOLERATIONS, (None, None)));
}

#[test]
fn node_affinity_hopes_for_nodes_that_suit() {
    let mut cluster = Cluster::new([make_node("a").label("disk", "ssd"), make_node("b")])
        .with_pod(&make_pod("p").node_selector("disk", "ssd"));
    let plugin = cluster.compile(|scope| NodeAffinity::try_new(None, scope).unwrap());
    for event in [NODE_ADDED, NODE_RELABELLED] {
        assert!(wakes(&cluster, &plugin, event, (Some("a"), None)));
        assert!(!wakes(&cluster, &plugin, event, (Some("b"), None)));
    }
}

#[test]
fn declared_features_hope_for_nodes_that_have_them_and_for_other_needs() {
    let declares =
        |name: &str, feature: &str| make_node(name).status(json!({"declaredFeatures": [feature]}));
    let needs = json!({"containers": [{"name": "c",
        "restartPolicyRules": [{"action": "RestartAllContainers"}]}]});
    let cluster = Cluster::new([
        declares("a", "RestartAllContainersOnContainerExits"),
        declares("b", "VolumeBindMountOptions"),
    ])
    .with_pod(&make_pod("p").spec(needs));
    let features_changed = node(ActionType::UPDATE_NODE_DECLARED_FEATURE);
    for event in [NODE_ADDED, features_changed] {
        assert!(wakes(
            &cluster,
            &NodeDeclaredFeatures,
            event,
            (Some("a"), None)
        ));
        assert!(!wakes(
            &cluster,
            &NodeDeclaredFeatures,
            event,
            (Some("b"), None)
        ));
    }
    assert!(wakes(
        &cluster,
        &NodeDeclaredFeatures,
        OWN_UPDATE,
        (None, None)
    ));
}

#[test]
fn volume_limits_hope_for_pods_that_had_volumes() {
    let with_claim = json!({"volumes": [
        {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]});
    let with_volume = |name: &str| make_pod(name).spec(with_claim.clone());
    for (gone, had_volumes) in [(with_volume("gone"), true), (make_pod("gone"), false)] {
        let cluster = Cluster::new([make_node("n")])
            .with_running(&make_pod("less").on("n"))
            .with_gone(&gone.on("n"))
            .with_pod(&with_volume("p").priority(1));
        let about = (Some("n"), Some("gone"));
        assert_eq!(
            wakes(&cluster, &NodeVolumeLimits, POD_GONE, about),
            had_volumes
        );
        assert!(wakes(
            &cluster,
            &NodeVolumeLimits,
            POD_GONE,
            (Some("n"), None)
        ));
    }
}

fn affinity_to(kind: &str, app: &str) -> Value {
    json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}}]}}})
}

/// A node in a zone and one in none; a web pod that runs and one that is gone.
fn zoned(wanted: &PodBuilder) -> Cluster {
    let pod = |name: &str, app: &str| make_pod(name).label("app", app).on("a");
    Cluster::new([make_node("a").label("zone", "1"), make_node("b")])
        .with_running(&pod("web", "web"))
        .with_running(&pod("other", "other"))
        .with_gone(&pod("gone", "web"))
        .with_pod(wanted)
}

#[test]
fn affinity_hopes_for_pods_that_it_wants_and_for_nodes_that_may_bring_them() {
    let plugin = InterPodAffinity::new(&InterPodAffinityArgs::default());
    let cluster = zoned(&make_pod("p").spec(affinity_to("podAffinity", "web")));
    let wakes = |event, node, other| wakes(&cluster, &plugin, event, (node, other));
    let (a, b) = (Some("a"), Some("b"));
    for event in [POD_ADDED, POD_RELABELLED] {
        assert!(wakes(event, a, Some("web")));
        assert!(!wakes(event, a, Some("other")));
    }
    assert!(!wakes(POD_GONE, a, Some("gone")), "it was wanted");
    assert!(wakes(POD_GONE, a, None), "it is not known");
    assert!(wakes(OWN_LABELS, None, None));
    assert!(wakes(NODE_ADDED, a, None));
    assert!(!wakes(NODE_ADDED, b, None));
    assert!(wakes(NODE_RELABELLED, b, None), "a label may have gone");
    assert!(wakes(NODE_GONE, None, None));
}

#[test]
fn anti_affinity_hopes_for_the_departure_of_those_who_stand_in_the_way() {
    let plugin = InterPodAffinity::new(&InterPodAffinityArgs::default());
    let anti = |app| affinity_to("podAntiAffinity", app);
    let (a, gone) = (Some("a"), Some("gone"));
    for (app, stood_in_the_way) in [("web", true), ("db", false)] {
        let cluster = zoned(&make_pod("p").spec(anti(app)));
        let wakes = |event, other| wakes(&cluster, &plugin, event, (a, other));
        assert_eq!(wakes(POD_GONE, gone), stood_in_the_way);
        assert_eq!(wakes(POD_RELABELLED, Some("web")), !stood_in_the_way);
        assert!(!wakes(POD_ADDED, Some("web")));
        assert!(wakes(NODE_ADDED, None));
    }
    for (app, kept_it_away) in [("p", true), ("q", false)] {
        let gone = make_pod("gone").spec(anti(app)).on("a");
        let cluster = zoned(&make_pod("p").label("app", "p")).with_gone(&gone);
        let about = (a, Some("gone"));
        assert_eq!(wakes(&cluster, &plugin, POD_GONE, about), kept_it_away);
        assert!(wakes(&cluster, &plugin, NODE_ADDED, (Some("b"), None)));
    }
}

#[test]
fn the_last_of_a_kind_leaves_room_for_a_first_one() {
    let plugin = InterPodAffinity::new(&InterPodAffinityArgs::default());
    let web = make_pod("p").label("app", "web");
    let cluster = zoned(&web.spec(affinity_to("podAffinity", "web")));
    assert!(wakes(
        &cluster,
        &plugin,
        POD_GONE,
        (Some("a"), Some("gone"))
    ));
}

#[test]
fn affinity_hopes_for_labels_of_namespaces_that_terms_look_at() {
    let plugin = InterPodAffinity::new(&InterPodAffinityArgs::default());
    let wakes = |cluster: &Cluster, name: &str| {
        let key = ObjectKey::new("", name);
        let hints = [ActionType::UPDATE, ActionType::DELETE].map(|action| {
            let changed = ClusterEventKind::new(EventResource::Namespace, action);
            cluster.hint(&plugin, changed, None, Some(&key))
        });
        assert_eq!(hints[0], hints[1]);
        hints[0] == QueueingHint::Queue
    };
    let cluster = zoned(&make_pod("p").spec(affinity_to("podAffinity", "web")));
    assert!(wakes(&cluster, "default"), "terms of others may look at it");
    assert!(!wakes(&cluster, "other"));
    let mut by_label = affinity_to("podAffinity", "web");
    by_label["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]["namespaceSelector"] =
        json!({"matchLabels": {"team": "a"}});
    assert!(wakes(&zoned(&make_pod("p").spec(by_label)), "other"));
}

#[test]
fn volume_binding_hopes_for_space_and_classes_of_its_own_claims() {
    let plugin = VolumeBinding::new(&VolumeBindingArgs::default());
    let claim = json!({"metadata": {"name": "c", "namespace": "default"},
        "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "10Gi"}}}});
    let volumes = json!({"volumes": [
        {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]});
    let capacity = |name: &str, class: &str, size: &str| {
        json!({"metadata": {"name": name, "namespace": "kube-system"},
            "storageClassName": class, "capacity": size})
    };
    let cluster = Cluster::new([make_node("n")])
        .with_listed::<PersistentVolumeClaim>(claim)
        .with_listed::<CsiStorageCapacity>(capacity("large", "fast", "10Gi"))
        .with_listed::<CsiStorageCapacity>(capacity("small", "fast", "9Gi"))
        .with_listed::<CsiStorageCapacity>(capacity("other", "slow", "10Gi"))
        .with_pod(&make_pod("p").spec(volumes));
    let wakes = |resource, action, key: &ObjectKey| {
        let event = ClusterEventKind::new(resource, action);
        cluster.hint(&plugin, event, None, Some(key)) == QueueingHint::Queue
    };
    for action in [ActionType::ADD, ActionType::UPDATE] {
        for (name, may_help) in [("large", true), ("small", false), ("other", false)] {
            let key = ObjectKey::new("kube-system", name);
            let space = EventResource::CsiStorageCapacity;
            assert_eq!(wakes(space, action, &key), may_help, "{name}");
        }
        for (name, may_help) in [("fast", true), ("slow", false)] {
            let key = ObjectKey::new("", name);
            let class = EventResource::StorageClass;
            assert_eq!(wakes(class, action, &key), may_help, "{name}");
        }
    }
}
