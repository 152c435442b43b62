//! Bayplan against a real API server, installed by its chart, run under the chart's rights.
#![expect(
    clippy::panic_in_result_fn,
    reason = "a failed assertion is how a test fails"
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, PodCondition};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

mod harness;

use harness::bayplan::{Installation, NAMESPACE, RELEASE, Replica};
use harness::builders::{PodBuilder, make_node, make_pod, make_priority_class};
use harness::checker::{check_binds, check_history};
use harness::control_plane::{ControlPlane, Options};
use harness::history::History;
use harness::kubelet::FakeKubelet;
use harness::process::Signal;
use harness::volumes::PodVolumes;
use harness::{create, wait};

/// Generous: the machine may be building something else.
const PATIENCE: Duration = Duration::from_mins(2);

fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_bayplan"))
}

fn pod(name: &str) -> PodBuilder {
    make_pod(name).scheduler("bayplan").requests("100m", "64Mi")
}

/// A pod beside which no other one has room on its node.
fn whole_node(name: &str) -> PodBuilder {
    pod(name).requests("3", "64Mi")
}

/// A control plane with Bayplan installed and nodes.
struct Cluster {
    control_plane: ControlPlane,
    installation: Installation,
    history: History,
    _kubelet: FakeKubelet,
}

impl Cluster {
    async fn start(nodes: usize) -> anyhow::Result<Self> {
        let control_plane = ControlPlane::start(Options::default()).await?;
        let client = control_plane.client();
        let installation = Installation::install(&control_plane, binary(), &[]).await?;
        let history = History::start(client.clone()).await?;
        let kubelet = FakeKubelet::start(client.clone());
        let node = |i| make_node(&format!("n{i}")).build();
        create::nodes(&client, (0..nodes).map(node).collect()).await?;
        Ok(Self {
            control_plane,
            installation,
            history,
            _kubelet: kubelet,
        })
    }

    async fn replica(&self) -> anyhow::Result<Replica> {
        self.installation.start(&self.control_plane).await
    }

    async fn create(&self, pods: Vec<PodBuilder>) -> anyhow::Result<()> {
        let pods = pods.into_iter().map(PodBuilder::build).collect();
        create::pods(&self.control_plane.client(), pods).await?;
        Ok(())
    }

    /// Creates a pod whose volumes can be on `node` only, and binds them when they are reserved.
    async fn run_with_volumes(&self, name: &str, node: &str) -> anyhow::Result<()> {
        let bound = self.history.bound_pods();
        let client = self.control_plane.client();
        let volumes = PodVolumes::create(client, pod(name).build(), node).await?;
        volumes.until_reserved(node, PATIENCE).await?;
        assert_eq!(self.history.bound_pods(), bound, "bound before its volumes");
        volumes.bind(node).await?;
        self.until_bound(bound + 1).await
    }

    async fn until_bound(&self, count: usize) -> anyhow::Result<()> {
        wait::until("pods to be bound", PATIENCE, async || {
            Ok((self.history.bound_pods() >= count).then_some(()))
        })
        .await
    }

    /// The node of a pod, once it has one.
    async fn until_placed(&self, name: &str) -> anyhow::Result<String> {
        wait::until(&format!("{name} to be placed"), PATIENCE, async || {
            let spec = self.pods().get(name).await?.spec;
            Ok(spec.and_then(|spec| spec.node_name))
        })
        .await
    }

    /// Reason and message of `PodScheduled` = `False`, once it holds `part`.
    async fn until_refused(&self, name: &str, part: &str) -> anyhow::Result<(String, String)> {
        let pods: Api<Pod> = Api::default_namespaced(self.control_plane.client());
        wait::until(
            &format!("{name} to be refused with {part:?}"),
            PATIENCE,
            async || {
                let status = pods.get(name).await?.status.unwrap_or_default();
                let condition = status
                    .conditions
                    .into_iter()
                    .flatten()
                    .find(|c| c.type_ == "PodScheduled");
                Ok(condition.and_then(|condition| {
                    let message = condition.message.unwrap_or_default();
                    message
                        .contains(part)
                        .then(|| (condition.reason.unwrap_or_default(), message))
                }))
            },
        )
        .await
    }

    fn pods(&self) -> Api<Pod> {
        Api::default_namespaced(self.control_plane.client())
    }

    /// Fills two nodes with pods of these names and priority classes, out of `low`, `middle` and
    /// `high`, which it makes. A finalizer keeps the pods where they are when they are deleted.
    async fn fill(&self, pods: &[(&str, &str)]) -> anyhow::Result<()> {
        let client = self.control_plane.client();
        let classes: Api<PriorityClass> = Api::all(client.clone());
        for (name, priority) in [("low", 10), ("middle", 100), ("high", 1000)] {
            let class = make_priority_class(name, priority);
            classes.create(&PostParams::default(), &class).await?;
        }
        let pods = pods.iter().map(|(name, class)| {
            let mut pod = whole_node(name).priority_class(class).build();
            pod.metadata.finalizers = Some(vec!["example.com/kept".to_owned()]);
            pod
        });
        create::pods(&client, pods.collect()).await?;
        self.until_bound(2).await
    }

    fn profiles(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("bayplan.dev", "v1alpha1", "SchedulerProfile");
        Api::all_with(self.control_plane.client(), &ApiResource::from_gvk(&kind))
    }

    /// The condition that says why a pod is being deleted, once it is.
    async fn until_victim(&self, name: &str) -> anyhow::Result<PodCondition> {
        wait::until(&format!("{name} to be evicted"), PATIENCE, async || {
            let pod = self.pods().get(name).await?;
            let conditions = pod.status.and_then(|status| status.conditions);
            let is_deleted = pod.metadata.deletion_timestamp.is_some();
            let mut targets = conditions.into_iter().flatten();
            let target = targets.find(|c| c.type_ == "DisruptionTarget" && c.status == "True");
            Ok(target.filter(|_| is_deleted))
        })
        .await
    }

    /// The note of an event about a pod and the UID of the related one, once there is such an
    /// event.
    async fn until_event(&self, name: &str, reason: &str) -> anyhow::Result<(String, String)> {
        let events: Api<Event> = Api::default_namespaced(self.control_plane.client());
        wait::until(&format!("{reason} of {name}"), PATIENCE, async || {
            let all = events.list(&ListParams::default()).await?;
            let event = all.into_iter().find(|event| {
                let regarding = event.regarding.as_ref().and_then(|r| r.name.as_deref());
                regarding == Some(name) && event.reason.as_deref() == Some(reason)
            });
            Ok(event.map(|event| {
                let related = event.related.and_then(|related| related.uid);
                (event.note.unwrap_or_default(), related.unwrap_or_default())
            }))
        })
        .await
    }

    /// Waits until a condition of a profile has this status and reason.
    async fn until_condition(&self, profile: &str, condition: [&str; 3]) -> anyhow::Result<()> {
        wait::until(
            &format!("profile {profile}: {condition:?}"),
            PATIENCE,
            async || {
                let object = self.profiles().get(profile).await?;
                let conditions = object.data["status"]["conditions"].clone();
                let holds = conditions.as_array().into_iter().flatten().any(|c| {
                    [&c["type"], &c["status"], &c["reason"]]
                        == condition.map(|text| json!(text)).each_ref()
                });
                Ok(holds.then_some(()))
            },
        )
        .await
    }

    async fn edit(&self, profile: &str, plugins: Value) -> anyhow::Result<()> {
        let patch = Patch::Merge(json!({"spec": {"plugins": plugins}}));
        self.profiles()
            .patch(profile, &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }

    /// No pod waited for an event that no hint took.
    async fn assert_hints_sufficed(&self, replica: &Replica) -> anyhow::Result<()> {
        replica.check_hints(&self.control_plane.kubeconfig()).await
    }

    async fn assert_history_is_clean(&self) -> anyhow::Result<()> {
        self.history.settle(PATIENCE).await?;
        self.history.is_complete()?;
        assert_eq!(check_history(&self.history.records()), []);
        assert_eq!(check_binds(&self.control_plane.audit_log().binds()?), []);
        Ok(())
    }
}

#[tokio::test]
async fn a_released_leader_is_followed_within_seconds() -> anyhow::Result<()> {
    let cluster = Cluster::start(10).await?;
    let mut replicas = vec![cluster.replica().await?, cluster.replica().await?];
    let leader = cluster
        .installation
        .wait_for_leader(&cluster.control_plane, &replicas, PATIENCE)
        .await?;
    cluster
        .create((0..50).map(|i| pod(&format!("a{i}"))).collect())
        .await?;
    cluster.until_bound(50).await?;

    let mut old = replicas.remove(leader);
    old.process.signal(Signal::Term)?;
    cluster
        .create((0..50).map(|i| pod(&format!("b{i}"))).collect())
        .await?;
    let status = old.process.wait(PATIENCE).await?;
    assert_eq!(status.code(), Some(0), "{}", old.process.log_tail(10));
    cluster.until_bound(100).await?;
    let next = cluster.installation.leader(&cluster.control_plane).await?;
    assert_eq!(next, replicas[0].identity);
    cluster.assert_hints_sufficed(&replicas[0]).await?;
    cluster.assert_history_is_clean().await?;
    cluster.control_plane.stop()
}

#[tokio::test]
async fn a_leader_whose_lease_is_taken_ends_with_1() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let mut replicas = vec![cluster.replica().await?];
    cluster
        .installation
        .wait_for_leader(&cluster.control_plane, &replicas, PATIENCE)
        .await?;
    cluster
        .control_plane
        .kubectl(&[
            "patch",
            "lease",
            RELEASE,
            "-n",
            NAMESPACE,
            "--type=merge",
            "-p",
            r#"{"spec":{"holderIdentity":"stranger"}}"#,
        ])
        .await?;
    let status = replicas[0].process.wait(PATIENCE).await?;
    assert_eq!(status.code(), Some(1));
    assert!(
        replicas[0]
            .process
            .log_tail(20)
            .contains("leaderelection lost")
    );
    cluster.control_plane.stop()
}

#[tokio::test]
async fn a_bad_profile_keeps_the_last_good_one_running_and_says_so() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    let replica = cluster.replica().await?;
    cluster
        .until_condition("bayplan", ["Ready", "True", "Running"])
        .await?;

    cluster
        .edit(
            "bayplan",
            json!({"filter": {"enabled": [{"name": "DynamicResources"}]}}),
        )
        .await?;
    cluster
        .until_condition("bayplan", ["Accepted", "False", "PluginNotImplemented"])
        .await?;
    cluster
        .until_condition("bayplan", ["Degraded", "True", "LastKnownGood"])
        .await?;
    cluster.create(vec![pod("meanwhile")]).await?;
    cluster.until_bound(1).await?;

    cluster
        .edit(
            "bayplan",
            json!({"filter": {"enabled": []},
        "multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}),
        )
        .await?;
    cluster
        .until_condition("bayplan", ["Ready", "True", "Running"])
        .await?;
    // Nobody looks at resources any more.
    cluster
        .create(vec![pod("huge").requests("64", "64Mi")])
        .await?;
    cluster.until_bound(2).await?;

    let other = json!({"apiVersion": "bayplan.dev/v1alpha1", "kind": "SchedulerProfile",
        "metadata": {"name": "other"}, "spec": {"schedulerName": "bayplan"}});
    let other: DynamicObject = serde_json::from_value(other)?;
    cluster
        .profiles()
        .create(&PostParams::default(), &other)
        .await?;
    cluster
        .until_condition("other", ["Accepted", "False", "SchedulerNameTaken"])
        .await?;
    cluster
        .until_condition("bayplan", ["Ready", "True", "Running"])
        .await?;
    cluster.assert_hints_sufficed(&replica).await?;
    cluster.control_plane.stop()
}

#[tokio::test]
async fn one_bad_object_is_set_aside_and_the_rest_goes_on() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let replica = cluster.replica().await?;
    // The API server takes operators that it does not know in preferred terms of running pods, and
    // required terms that match nothing.
    let odd = pod("odd").node_affinity_in("kubernetes.io/hostname", &["no-such-node"]);
    cluster.create(vec![odd, pod("good")]).await?;
    cluster.until_bound(1).await?;
    let (reason, message) = cluster.until_refused("odd", "node affinity").await?;
    assert_eq!(reason, "Unschedulable");
    assert_eq!(
        message,
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. preemption: \
         0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    );
    let mut device = pod("device").build();
    let claim = json!({"name": "gpu", "resourceClaimName": "gpu"});
    if let Some(spec) = &mut device.spec {
        spec.resource_claims = Some(vec![serde_json::from_value(claim)?]);
    }
    create::pods(&cluster.control_plane.client(), vec![device]).await?;
    let (reason, _) = cluster.until_refused("device", "DynamicResources").await?;
    assert_eq!(reason, "Unschedulable");
    cluster.assert_hints_sufficed(&replica).await?;
    cluster.control_plane.stop()
}

/// How often an extension point was timed that ended well.
#[tokio::test]
async fn a_pod_is_bound_when_its_volumes_are() -> anyhow::Result<()> {
    let cluster = Cluster::start(3).await?;
    let replica = cluster.replica().await?;
    cluster.run_with_volumes("data", "n1").await?;
    let pods: Api<Pod> = Api::default_namespaced(cluster.control_plane.client());
    let spec = pods.get("data").await?.spec.unwrap_or_default();
    assert_eq!(spec.node_name.as_deref(), Some("n1"));
    cluster.assert_hints_sufficed(&replica).await?;
    cluster.assert_history_is_clean().await?;
    cluster.control_plane.stop()
}

fn timed(metrics: &str, point: &str) -> u64 {
    let count = format!(
        "scheduler_framework_extension_point_duration_seconds_count{{\
         extension_point=\"{point}\",status=\"Success\",profile=\"bayplan\"}} "
    );
    let line = metrics.lines().find_map(|line| line.strip_prefix(&count));
    line.and_then(|count| count.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn a_high_pod_takes_the_room_of_the_least_important_one() -> anyhow::Result<()> {
    let cluster = Cluster::start(2).await?;
    let replica = cluster.replica().await?;
    cluster
        .fill(&[("low", "low"), ("middle", "middle")])
        .await?;
    let node = cluster.until_placed("low").await?;

    let high = whole_node("high").priority_class("high");
    cluster.create(vec![high]).await?;
    let (_, message) = cluster
        .until_refused("high", "preempting 1 victims")
        .await?;
    let expected = format!(
        "0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential placement \
         for pod on node {node}, preempting 1 victims"
    );
    assert_eq!(message, expected);
    let high = cluster.pods().get("high").await?;
    let nominated = high.status.and_then(|status| status.nominated_node_name);
    assert_eq!(nominated.as_deref(), Some(&*node));
    let uid = high.metadata.uid.unwrap_or_default();
    let condition = cluster.until_victim("low").await?;
    assert_eq!(condition.reason.as_deref(), Some("PreemptionByScheduler"));
    let message = "bayplan: preempting to accommodate a higher priority pod";
    assert_eq!(condition.message.as_deref(), Some(message));
    let (text, related) = cluster.until_event("low", "Preempted").await?;
    assert_eq!(text, format!("Preempted by pod {uid} on node {node}"));
    assert_eq!(related, uid);

    // It waits for the victim to go, and then takes its place.
    let unchained = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let parameters = PatchParams::default();
    cluster.pods().patch("low", &parameters, &unchained).await?;
    assert_eq!(cluster.until_placed("high").await?, node);
    let middle = cluster.pods().get("middle").await?;
    assert!(middle.metadata.deletion_timestamp.is_none());
    cluster.assert_history_is_clean().await?;
    cluster.assert_hints_sufficed(&replica).await?;
    cluster.control_plane.stop()
}

#[tokio::test]
async fn the_rights_of_the_chart_are_what_is_used() -> anyhow::Result<()> {
    let cluster = Cluster::start(1).await?;
    let mut replica = cluster.replica().await?;
    // Refused twice with the same words, so that the event becomes a series.
    cluster
        .create(vec![pod("huge").requests("64", "64Mi"), pod("fits")])
        .await?;
    cluster.until_bound(1).await?;
    cluster.until_refused("huge", "Insufficient cpu").await?;
    let kubeconfig = cluster.control_plane.kubeconfig();
    let metrics = replica.get(&kubeconfig, "/metrics").await?;
    assert!(
        metrics.contains(
            r#"scheduler_schedule_attempts_total{result="scheduled",profile="bayplan"} 1"#
        ),
        "{metrics}"
    );
    for point in ["Filter", "Bind"] {
        assert!(timed(&metrics, point) > 0, "{point} in {metrics}");
    }
    assert!(
        metrics.contains("leader_election_master_status{name=\"bayplan\"} 1"),
        "{metrics}"
    );
    assert_eq!(replica.get(&kubeconfig, "/readyz").await?, "ok");
    cluster
        .until_condition("bayplan", ["Ready", "True", "Running"])
        .await?;
    cluster.run_with_volumes("data", "n0").await?;
    let classes: Api<PriorityClass> = Api::all(cluster.control_plane.client());
    let class = make_priority_class("high", 1000);
    classes.create(&PostParams::default(), &class).await?;
    // It is all of the node, so that all the others go.
    let high = pod("high").requests("4", "64Mi").priority_class("high");
    cluster.create(vec![high]).await?;
    cluster.until_placed("high").await?;
    cluster.assert_hints_sufficed(&replica).await?;
    replica.process.signal(Signal::Term)?;
    replica.process.wait(PATIENCE).await?;

    let (granted, used, denied) = rights(&cluster).await?;
    assert_eq!(
        denied,
        BTreeSet::new(),
        "calls that the chart does not allow"
    );
    // Only in doubt is a pod asked, and only a repetition makes a series of an event; the
    // reactions to both are tested elsewhere.
    let rare = ["get pods", "patch events"].map(str::to_owned);
    let unused: Vec<_> = granted
        .difference(&used)
        .filter(|right| !rare.contains(right))
        .collect();
    assert!(unused.is_empty(), "rights that nothing used: {unused:?}");
    cluster.control_plane.stop()
}

/// What the chart grants, what was used, what was refused: `verb resource[/subresource]`.
async fn rights(
    cluster: &Cluster,
) -> anyhow::Result<(BTreeSet<String>, BTreeSet<String>, BTreeSet<String>)> {
    let client = cluster.control_plane.client();
    let ours = ListParams::default().labels(&format!("app.kubernetes.io/instance={RELEASE}"));
    let cluster_roles: Api<ClusterRole> = Api::all(client.clone());
    let roles: Api<Role> = Api::namespaced(client, NAMESPACE);
    let mut granted_rules: Vec<PolicyRule> = Vec::new();
    for role in cluster_roles.list(&ours).await? {
        let aggregated = role
            .metadata
            .labels
            .iter()
            .flatten()
            .any(|(key, _)| key.contains("aggregate-to"));
        if !aggregated {
            granted_rules.extend(role.rules.into_iter().flatten());
        }
    }
    for role in roles.list(&ours).await? {
        granted_rules.extend(role.rules.into_iter().flatten());
    }
    let granted = granted_rules
        .iter()
        .flat_map(|rule| {
            let resources = rule.resources.iter().flatten();
            resources.flat_map(|resource| {
                rule.verbs
                    .iter()
                    .map(move |verb| format!("{verb} {resource}"))
            })
        })
        .collect();
    let account = format!("system:serviceaccount:{NAMESPACE}:{RELEASE}");
    let (mut used, mut denied) = (BTreeSet::new(), BTreeSet::new());
    for event in cluster.control_plane.audit_log().events()? {
        let Some(object) = event.object_ref.filter(|_| event.user.username == account) else {
            continue;
        };
        let resource = match object.subresource.as_str() {
            "" => object.resource,
            subresource => format!("{}/{subresource}", object.resource),
        };
        let call = format!("{} {resource}", event.verb);
        if event
            .response_status
            .is_some_and(|status| status.code == 403)
        {
            denied.insert(call.clone());
        }
        used.insert(call);
    }
    Ok((granted, used, denied))
}

#[tokio::test]
async fn wrong_kubeconfigs_are_told_in_one_sentence() -> anyhow::Result<()> {
    for (name, text) in [("missing", None), ("garbage", Some("clusters: 7"))] {
        let folder = std::env::temp_dir().join(format!("bayplan-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let path = folder.join("config");
        if let Some(text) = text {
            std::fs::write(&path, text)?;
        }
        let output = tokio::process::Command::new(binary())
            .args(["run", "--secure-port=0", "--bind-address=127.0.0.1"])
            .arg(format!("--kubeconfig={}", path.display()))
            .output()
            .await?;
        std::fs::remove_dir_all(&folder)?;
        let error = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains("check --kubeconfig"), "{error}");
    }
    Ok(())
}
