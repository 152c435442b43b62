//! HTTP extenders end to end: an extender that is written with upstream's own types is asked by an
//! unmodified kube-scheduler and by Bayplan about the same pods, on a real API server. Both must
//! come to the same node or say the same words, and ask the same.
#![cfg(feature = "live")]
#![expect(
    clippy::panic_in_result_fn,
    reason = "a failed assertion is how a test fails"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "real processes live in real time"
)]

mod arena;
mod certificates;
#[path = "../harness/mod.rs"]
mod harness;
mod preemption;
mod slow;

use serde_json::{Value, json};

use arena::{Address, Arena, Fate, Flavour, pod};
use certificates::SERVER_NAME;

/// An extended resource that no node reports.
const MANAGED: &str = "extender.test/managed";

/// What the nodes are called says how the extender judges them; the last digit is the score.
const NODES: [&str; 6] = ["yes-1", "yes-7", "yes-3", "no-9", "never-8", "gone-9"];

/// The extender knows the nodes.
fn names(at: &Address) -> Value {
    json!([{"urlPrefix": at.url, "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 5,
        "nodeCacheCapable": true}])
}

/// It does not, and binds; it is asked about what it manages only.
fn nodes(at: &Address) -> Value {
    json!([{"urlPrefix": at.url, "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 5,
        "bindVerb": "bind", "managedResources": [{"name": MANAGED, "ignoredByScheduler": true}]}])
}

/// One that may be ignored is down, and comes first in the list.
fn down(at: &Address) -> Value {
    json!([{"urlPrefix": "http://127.0.0.1:9/nobody", "filterVerb": "filter", "bindVerb": "bind",
            "prioritizeVerb": "prioritize", "weight": 9, "ignorable": true},
        {"urlPrefix": at.url, "filterVerb": "filter", "nodeCacheCapable": true}])
}

/// One that may not is down.
fn dead(_: &Address) -> Value {
    json!([{"urlPrefix": "http://127.0.0.1:9/nobody/", "filterVerb": "filter",
        "nodeCacheCapable": true}])
}

/// It wants a certificate, and has one in another name than its address.
fn secure(at: &Address) -> Value {
    let files = &at.certificates;
    json!([{"urlPrefix": at.secure_url, "filterVerb": "filter", "prioritizeVerb": "prioritize",
        "weight": 5, "nodeCacheCapable": true, "enableHTTPS": true,
        "tlsConfig": {"serverName": SERVER_NAME, "caFile": files.authority,
            "certFile": files.client, "keyFile": files.client_key}}])
}

/// A certificate is wanted, and there is none to show.
fn uncertified(at: &Address) -> Value {
    let mut extenders = secure(at);
    let tls = json!({"serverName": SERVER_NAME, "caFile": at.certificates.authority});
    extenders[0]["tlsConfig"] = tls;
    extenders
}

/// The extender's certificate is from somebody who is not trusted.
fn untrusted(at: &Address) -> Value {
    let mut extenders = secure(at);
    extenders[0]["tlsConfig"]["caFile"] = json!(at.certificates.stranger);
    extenders
}

/// A pod that only the node called `name` takes.
fn only(name: &str, node: &str) -> Value {
    let mut pod = pod(name);
    pod["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": node});
    pod
}

/// A pod whose annotations tell the extender what to do.
fn told(name: &str, annotation: &str, value: &str) -> Value {
    let mut pod = pod(name);
    pod["metadata"]["annotations"] = json!({format!("extender.test/{annotation}"): value});
    pod
}

/// A pod that requests what the extender manages.
fn managed(name: &str) -> Value {
    let mut pod = pod(name);
    let amounts = json!({"cpu": "100m", MANAGED: "3"});
    pod["spec"]["containers"][0]["resources"] =
        json!({"requests": amounts, "limits": {MANAGED: "3"}});
    pod
}

fn placed(node: &str) -> Fate {
    Fate::Placed(node.to_owned())
}

fn failed(message: &str) -> Fate {
    Fate::refused("SchedulerError", message)
}

#[tokio::test]
async fn pods_are_decided_as_kube_scheduler_decides_them() -> anyhow::Result<()> {
    let flavours: [Flavour; 7] = [
        ("names", names),
        ("nodes", nodes),
        ("down", down),
        ("dead", dead),
        ("secure", secure),
        ("uncertified", uncertified),
        ("untrusted", untrusted),
    ];
    let arena = Arena::start(&NODES, &flavours).await?;

    // Filter and prioritize.
    arena.agree("names", &pod("free"), placed("yes-7")).await?;
    arena
        .agree("names", &only("one", "yes-1"), placed("yes-1"))
        .await?;
    for (name, node) in [("no", "no-9"), ("never", "never-8"), ("gone", "gone-9")] {
        arena.agree_on_refusal("names", &only(name, node)).await?;
    }
    let mut both = pod("both");
    both["spec"]["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/hostname",
            "operator": "In", "values": ["no-9", "never-8", "gone-9"]}]}]}}});
    arena.agree_on_refusal("names", &both).await?;

    // Errors.
    let error = told("error", "error", "the extender had a bad day");
    arena
        .agree("names", &error, failed("the extender had a bad day"))
        .await?;
    arena
        .agree_on_refusal("names", &told("stranger", "stranger", "nowhere"))
        .await?;
    arena
        .agree_on_refusal("names", &told("code", "code", "503"))
        .await?;
    arena
        .agree_on_refusal("names", &told("empty", "garbage", ""))
        .await?;
    arena
        .agree_on_refusal("names", &told("cut", "garbage", "{\"NodeNames\": ["))
        .await?;

    // Whole nodes, managed resources, and an extender that binds.
    arena
        .agree("nodes", &managed("outside"), placed("yes-7"))
        .await?;
    arena.agree_on_node("nodes", &pod("plain")).await?;
    arena
        .agree(
            "nodes",
            &managed("unbound-1"),
            failed("the extender does not bind"),
        )
        .await?;
    arena.agree_on_node("nodes", &managed("unsaid-1")).await?;

    // Extenders that are down.
    arena.agree_on_node("down", &pod("ignored")).await?;
    arena
        .agree_on_refusal("down", &only("ignored-no", "no-9"))
        .await?;
    arena.agree_on_refusal("dead", &pod("nobody")).await?;

    // TLS.
    arena
        .agree("secure", &pod("secret"), placed("yes-7"))
        .await?;
    for flavour in ["uncertified", "untrusted"] {
        arena.agree_on_failure(flavour, &pod("secret")).await?;
    }

    assert_asked_alike(&flavours, &arena.calls().await?);
    arena.stop()
}

/// Both asked the same, in the same order, and sent whole objects.
fn assert_asked_alike(flavours: &[Flavour], calls: &[Value]) {
    for &(flavour, _) in flavours {
        let of = |who: &str| -> Vec<&Value> {
            let who = format!("{who}-{flavour}");
            calls.iter().filter(|call| call["who"] == *who).collect()
        };
        let (upstream, bayplan) = (of("upstream"), of("bayplan"));
        assert_eq!(arena::asked(&upstream), arena::asked(&bayplan), "{flavour}");
        let is_silent = ["dead", "uncertified", "untrusted"].contains(&flavour);
        assert!(bayplan.is_empty() == is_silent, "{flavour}");
        for call in upstream.iter().chain(&bayplan) {
            assert!(call["whole"] == true || call["verb"] == "bind", "{call}");
        }
    }
}
