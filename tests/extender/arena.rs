//! A real cluster with an extender, Bayplan, and a kube-scheduler for every flavour of extenders.

use std::path::Path;
use std::time::Duration;

use bayplan::apis::plugin_catalog::PluginCatalog;
use bayplan::apis::upstream_plugins::DEFAULT_PLUGINS;
use bayplan::plugins::registry::Registry;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::certificates::Certificates;
use crate::harness::bayplan::{Installation, Replica};
use crate::harness::control_plane::{ControlPlane, Options, free_port};
use crate::harness::process::Process;
use crate::harness::{binaries, objects, wait};

/// Generous: the machine may be building something else.
const PATIENCE: Duration = Duration::from_mins(2);

/// A name, and its extenders when the one that runs is here.
pub(crate) type Flavour = (&'static str, fn(&Address) -> Value);

/// Where one scheduler finds the extender.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) url: String,
    /// Only for those who show a certificate.
    pub(crate) secure_url: String,
    pub(crate) certificates: Certificates,
}

/// What became of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It got this node.
    Placed(String),
    /// Reason and message of `PodScheduled`, and the note of the event.
    Refused([String; 3]),
}

impl Fate {
    /// Condition and event say the same.
    pub(crate) fn refused(reason: &str, message: &str) -> Self {
        Self::Refused([reason, message, message].map(str::to_owned))
    }
}

/// A pod that nearly every node takes.
pub(crate) fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "c", "image": "i",
            "resources": {"requests": {"cpu": "100m"}}}]}})
}

/// Whom the calls were about and what they asked, without what may differ.
pub(crate) fn asked(calls: &[&Value]) -> Vec<Value> {
    let asked = calls.iter().map(|call| {
        let mut nodes: Vec<String> =
            serde_json::from_value(call["nodes"].clone()).unwrap_or_default();
        // Upstream looks at nodes in an order of its own.
        nodes.sort_unstable();
        json!([call["verb"], call["pod"], nodes, call["byName"]])
    });
    let mut asked: Vec<Value> = asked.collect();
    // A pod that failed is tried again until it is deleted.
    asked.dedup();
    asked
}

/// A running cluster. Dropping it ends all of it.
pub(crate) struct Arena {
    upstream: Vec<Process>,
    replica: Replica,
    extender: Extender,
    control_plane: ControlPlane,
}

impl Arena {
    /// With these nodes, and both schedulers for each flavour.
    pub(crate) async fn start(nodes: &[&str], flavours: &[Flavour]) -> anyhow::Result<Self> {
        let control_plane = ControlPlane::start(Options::default()).await?;
        let client = control_plane.client();
        objects::create(&client, nodes.iter().map(|name| node(name))).await?;
        let extender = Extender::start(&control_plane).await?;

        let binary = Path::new(env!("CARGO_BIN_EXE_bayplan"));
        let installation = Installation::install(&control_plane, binary, &[]).await?;
        let profiles = flavours.iter().map(|(flavour, extenders)| {
            let name = format!("bayplan-{flavour}");
            let extenders = extenders(&extender.address_for(&name));
            json!({"apiVersion": "bayplan.dev/v1alpha1", "kind": "SchedulerProfile",
                "metadata": {"name": name},
                "spec": {"schedulerName": name, "extenders": extenders,
                    "plugins": {"multiPoint": {"disabled": missing()}}}})
        });
        objects::create(&client, profiles).await?;
        let replica = installation.start(&control_plane).await?;
        let mut upstream = Vec::new();
        for (flavour, extenders) in flavours {
            let name = format!("upstream-{flavour}");
            let extenders = extenders(&extender.address_for(&name));
            let profile = json!({"schedulerName": name,
                "plugins": {"multiPoint": {"disabled": missing()}}});
            let configuration = json!({"profiles": [profile], "extenders": extenders});
            let kubeconfig = control_plane.kubeconfig();
            upstream.push(control_plane.kube_scheduler(configuration, &kubeconfig)?);
        }
        Ok(Self {
            upstream,
            replica,
            extender,
            control_plane,
        })
    }

    /// Both do this with the pod.
    pub(crate) async fn agree(
        &self,
        flavour: &str,
        pod: &Value,
        wanted: Fate,
    ) -> anyhow::Result<()> {
        let (upstream, bayplan) = self.both(flavour, pod).await?;
        assert_eq!(upstream, wanted, "kube-scheduler");
        assert_eq!(bayplan, wanted, "Bayplan");
        Ok(())
    }

    /// Both refuse the pod in the same words.
    pub(crate) async fn agree_on_refusal(&self, flavour: &str, pod: &Value) -> anyhow::Result<()> {
        let (upstream, mut bayplan) = self.both(flavour, pod).await?;
        // Each has an address of its own.
        if let Fate::Refused(words) = &mut bayplan {
            let [ours, theirs] = ["bayplan", "upstream"].map(|who| format!("{who}-{flavour}"));
            for text in words {
                *text = text.replace(&ours, &theirs);
            }
        }
        assert_eq!(upstream, bayplan, "{flavour}: {}", pod["metadata"]["name"]);
        assert!(matches!(bayplan, Fate::Refused(_)), "{bayplan:?}");
        Ok(())
    }

    /// Both fail to ask, each in the words of its own TLS library; kube-scheduler's vary.
    pub(crate) async fn agree_on_failure(&self, flavour: &str, pod: &Value) -> anyhow::Result<()> {
        let (upstream, bayplan) = self.both(flavour, pod).await?;
        for (who, fate) in [("upstream", upstream), ("bayplan", bayplan)] {
            let Fate::Refused([reason, message, note]) = fate else {
                anyhow::bail!("{flavour}, {who}: {fate:?}");
            };
            assert_eq!(reason, "SchedulerError", "{flavour}");
            assert!(message.starts_with("Post \"https://"), "{message}");
            assert_eq!(message, note);
            let names_it = message.to_lowercase().contains("certificate");
            assert!(names_it || who == "upstream", "{message}");
        }
        Ok(())
    }

    /// Both place the pod, on whatever node.
    pub(crate) async fn agree_on_node(&self, flavour: &str, pod: &Value) -> anyhow::Result<()> {
        let fates = self.both(flavour, pod).await?;
        assert!(
            matches!(fates, (Fate::Placed(_), Fate::Placed(_))),
            "{flavour}: {fates:?}"
        );
        Ok(())
    }

    async fn both(&self, flavour: &str, pod: &Value) -> anyhow::Result<(Fate, Fate)> {
        let upstream = self.decided(&format!("upstream-{flavour}"), pod).await?;
        let bayplan = self.decided(&format!("bayplan-{flavour}"), pod).await?;
        Ok((upstream, bayplan))
    }

    /// What a scheduler makes of the pod, which is removed afterwards.
    async fn decided(&self, scheduler: &str, pod: &Value) -> anyhow::Result<Fate> {
        let pod = self.create(scheduler, pod).await?;
        let name = pod.name_any();
        let what = format!("{name} to be decided by {scheduler}");
        let fate = wait::until(&what, PATIENCE, async || self.fate(&pod).await).await?;
        let now = DeleteParams::default().grace_period(0);
        self.pods().delete(&name, &now).await?;
        Ok(fate)
    }

    pub(crate) async fn create(&self, scheduler: &str, pod: &Value) -> anyhow::Result<Pod> {
        let mut pod = pod.clone();
        pod["spec"]["schedulerName"] = scheduler.into();
        let pod: Pod = serde_json::from_value(pod)?;
        Ok(self.pods().create(&PostParams::default(), &pod).await?)
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        let client: Client = self.control_plane.client();
        Api::namespaced(client, "default")
    }

    pub(crate) async fn fate(&self, pod: &Pod) -> anyhow::Result<Option<Fate>> {
        let uid = pod.uid();
        let pod = self.pods().get(&pod.name_any()).await?;
        if let Some(node) = pod.spec.and_then(|spec| spec.node_name) {
            return Ok(Some(Fate::Placed(node)));
        }
        let conditions = pod.status.and_then(|status| status.conditions);
        let mut conditions = conditions.into_iter().flatten();
        let Some(condition) = conditions.find(|c| c.type_ == "PodScheduled") else {
            return Ok(None);
        };
        let note = self.note(uid.as_deref()).await?;
        Ok(note.map(|note| {
            let [reason, message] =
                [condition.reason, condition.message].map(Option::unwrap_or_default);
            Fate::Refused([reason, message, note])
        }))
    }

    async fn note(&self, uid: Option<&str>) -> anyhow::Result<Option<String>> {
        let events: Api<Event> = Api::all(self.control_plane.client());
        let failed = ListParams::default().fields("reason=FailedScheduling");
        let events = events.list(&failed).await?.items.into_iter();
        let mut ours = events.filter(|event| {
            let regarding = event.regarding.as_ref();
            regarding.and_then(|regarding| regarding.uid.as_deref()) == uid
        });
        Ok(ours.next().and_then(|event| event.note))
    }

    /// What the extender was asked so far.
    pub(crate) async fn calls(&self) -> anyhow::Result<Vec<Value>> {
        let address: http::Uri = format!("http://{}", self.extender.address).parse()?;
        let client = Client::try_from(kube::Config::new(address))?;
        let request = http::Request::get("/calls").body(Vec::new())?;
        Ok(client.request(request).await?)
    }

    /// Makes priority classes.
    pub(crate) async fn priorities(&self, classes: &[(&str, i32)]) -> anyhow::Result<()> {
        let classes = classes.iter().map(|(name, value)| {
            json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": name}, "value": value})
        });
        objects::create(&self.control_plane.client(), classes).await
    }

    pub(crate) fn stop(self) -> anyhow::Result<()> {
        drop((self.upstream, self.replica, self.extender.process));
        self.control_plane.stop()
    }
}

/// Default plugins that Bayplan does not have: neither runs them.
fn missing() -> Vec<Value> {
    let there = Registry.names();
    let default = DEFAULT_PLUGINS.iter().map(|plugin| plugin.name);
    let missing = default.filter(|name| !there.contains(name));
    missing.map(|name| json!({"name": name})).collect()
}

fn node(name: &str) -> Value {
    let amounts = json!({"cpu": "4", "memory": "16Gi", "pods": "110"});
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "annotations": {"seen": "whole"},
            "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": amounts, "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}]}})
}

/// The extender, which listens with and without TLS.
struct Extender {
    process: Process,
    address: String,
    secure_address: String,
    certificates: Certificates,
}

impl Extender {
    async fn start(control_plane: &ControlPlane) -> anyhow::Result<Self> {
        let binary = binaries::extra("extender").await?;
        let [address, secure_address] =
            [free_port()?, free_port()?].map(|p| format!("127.0.0.1:{p}"));
        let certificates = Certificates::create(control_plane.folder())?;
        let mut command = std::process::Command::new(binary);
        let file = |flag: &str, file: &Path| format!("--{flag}={}", file.display());
        command.args([
            format!("--address={address}"),
            format!("--secure-address={secure_address}"),
            file("tls-cert-file", &certificates.server),
            file("tls-private-key-file", &certificates.server_key),
            file("client-ca-file", &certificates.authority),
            file("kubeconfig", &control_plane.kubeconfig()),
        ]);
        let log = control_plane.log_file("extender");
        let process = Process::spawn("extender", command, &log)?;
        for address in [&address, &secure_address] {
            wait::until("the extender to listen", PATIENCE, async || {
                Ok(std::net::TcpStream::connect(address).ok().map(drop))
            })
            .await?;
        }
        Ok(Self {
            process,
            address,
            secure_address,
            certificates,
        })
    }

    /// The first part of the path says who asks.
    fn address_for(&self, who: &str) -> Address {
        Address {
            url: format!("http://{}/{who}", self.address),
            secure_url: format!("https://{}/{who}", self.secure_address),
            certificates: self.certificates.clone(),
        }
    }
}
