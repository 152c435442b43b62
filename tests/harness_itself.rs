//! The instruments of the harness, tried without a control plane.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

mod harness;

use harness::audit::{AuditLog, handovers};
use harness::builders::make_pod;
use harness::checker::{Finding, check_binds, check_history};
use harness::footprint::{self, HostPort};
use harness::history::{Change, PodState, Record};
use harness::process::{Process, Signal};
use harness::quantity::{self, Nano, ONE};
use harness::wait;

#[test]
fn quantities_of_every_notation_are_exact() {
    let cases: [(&str, Nano); 11] = [
        ("0", 0),
        ("250m", ONE / 4),
        ("1.5Gi", 1536 * 1024 * 1024 * ONE),
        ("2e3", 2000 * ONE),
        ("1E", 1_000_000_000_000_000_000 * ONE),
        ("1E3", 1000 * ONE),
        ("5e-1", ONE / 2),
        ("100n", 100),
        ("1.0000000001", ONE + 1),
        ("+.5k", 500 * ONE),
        ("-1", -ONE),
    ];
    for (text, want) in cases {
        assert_eq!(quantity::parse(text).unwrap(), want, "{text}");
    }
}

#[test]
fn what_is_no_quantity_is_refused() {
    for text in ["", "Gi", "1Q", "1.2.3", "1 Gi", "e3", "1e", "--1", "1e99"] {
        assert!(quantity::parse(text).is_err(), "{text}");
    }
}

#[test]
fn sidecars_count_beside_later_init_containers_and_beside_containers() {
    let wants = |cpu: &str| json!({ "requests": { "cpu": cpu } });
    let pod = json!({ "spec": {
        "overhead": { "cpu": "100m" },
        "initContainers": [
            { "name": "early", "resources": wants("3") },
            { "name": "sidecar", "restartPolicy": "Always", "resources": wants("1") },
            { "name": "late", "resources": wants("2500m") },
        ],
        "containers": [{ "name": "main", "resources": wants("2") }],
    }});
    let pod: Pod = serde_json::from_value(pod).unwrap();
    let amounts = footprint::of_pod(&pod).unwrap().amounts;
    assert_eq!(amounts["cpu"], quantity::parse("3600m").unwrap());
    assert_eq!(amounts["pods"], ONE);
}

#[test]
fn port_on_every_address_clashes_with_the_same_port_on_one() {
    let port = |address: &str, protocol: &str| HostPort {
        address: address.to_owned(),
        protocol: protocol.to_owned(),
        port: 80,
    };
    assert!(port("0.0.0.0", "TCP").clashes_with(&port("10.0.0.1", "TCP")));
    assert!(!port("10.0.0.2", "TCP").clashes_with(&port("10.0.0.1", "TCP")));
    assert!(!port("0.0.0.0", "UDP").clashes_with(&port("10.0.0.1", "TCP")));
}

/// The records of one node with 2 CPUs and 2 pods, and of what follows.
fn history(changes: impl IntoIterator<Item = Change>) -> Vec<Record> {
    let allocatable = BTreeMap::from([("cpu".to_owned(), 2 * ONE), ("pods".to_owned(), 2 * ONE)]);
    let node = Change::Node {
        name: "n1".to_owned(),
        allocatable,
    };
    let changes = std::iter::once(node).chain(changes);
    let record = |(at, change)| Record {
        resource_version: at,
        seen: Timestamp::UNIX_EPOCH,
        change,
    };
    (1..).zip(changes).map(record).collect()
}

fn pod(name: &str, cpu: &str, port: i32, node: Option<&str>) -> PodState {
    let pod = make_pod(name).requests(cpu, "1Mi").host_port(port).build();
    let mut footprint = footprint::of_pod(&pod).expect("a pod that was built must be readable");
    footprint.amounts.remove("memory");
    PodState {
        pod: name.to_owned(),
        uid: format!("uid-{name}"),
        node: node.map(str::to_owned),
        ended: false,
        footprint,
    }
}

#[test]
fn pods_that_fit_one_after_the_other_are_no_finding() {
    let first = pod("first", "2", 80, Some("n1"));
    let second = pod("second", "2", 80, None);
    let ended = PodState {
        ended: true,
        ..first.clone()
    };
    let bound = PodState {
        node: Some("n1".to_owned()),
        ..second.clone()
    };
    let records = history([
        Change::Pod(first),
        Change::Pod(second),
        Change::Pod(ended),
        Change::Pod(bound.clone()),
        Change::PodGone { uid: bound.uid },
        Change::Pod(pod("third", "2", 80, Some("n1"))),
    ]);
    assert_eq!(check_history(&records), []);
}

#[test]
fn pod_that_takes_more_than_is_left_is_found_with_the_amounts() {
    let records = history([
        Change::Pod(pod("a", "1500m", 80, Some("n1"))),
        Change::Pod(pod("b", "600m", 81, Some("n1"))),
    ]);
    let messages: Vec<String> = check_history(&records)
        .iter()
        .map(Finding::to_string)
        .collect();
    assert_eq!(
        messages,
        ["pod b brought node n1 to 2.1 of 2 cpu at version 3"]
    );
}

#[test]
fn one_pod_too_many_a_shared_port_a_move_and_an_unknown_node_are_found() {
    let c = pod("c", "0", 82, Some("n1"));
    let moved = PodState {
        node: Some("n2".to_owned()),
        ..c.clone()
    };
    let records = history([
        Change::Pod(pod("a", "0", 80, Some("n1"))),
        Change::Pod(pod("b", "0", 80, Some("n1"))),
        Change::Pod(c),
        Change::Pod(moved),
        Change::Pod(pod("d", "0", 83, Some("n9"))),
    ]);
    let messages: Vec<String> = check_history(&records)
        .iter()
        .map(Finding::to_string)
        .collect();
    assert_eq!(
        messages,
        [
            "pods b and a share port 80 of node n1 at version 3",
            "pod c brought node n1 to 3 of 2 pods at version 4",
            "pod c went from node n1 to n2 at version 5",
            "pod d went to node n9, which did not exist, at version 6",
        ]
    );
}

fn audit_line(second: u32, pod: &str, replica: &str, code: u16) -> String {
    let event = json!({
        "verb": "create",
        "requestURI": format!("/api/v1/namespaces/default/pods/{pod}/binding"),
        "user": {
            "username": "system:serviceaccount:kube-system:bayplan",
            "extra": { "authentication.kubernetes.io/credential-id": [format!("JTI={replica}")] },
        },
        "userAgent": "bayplan/0.1.0",
        "objectRef": {
            "resource": "pods", "subresource": "binding", "namespace": "default", "name": pod,
        },
        "responseStatus": { "code": code },
        "requestObject": {
            "metadata": { "uid": format!("uid-{pod}") }, "target": { "name": "n1" },
        },
        "requestReceivedTimestamp": format!("2026-01-01T00:00:{second:02}.000000Z"),
        "stageTimestamp": format!("2026-01-01T00:00:{second:02}.500000Z"),
    });
    format!("{event}\n")
}

fn audit_log(folder: &Path, lines: &[String]) -> AuditLog {
    let path = folder.join("audit.log");
    std::fs::write(&path, lines.concat()).expect("the log must be written");
    AuditLog::new(path)
}

#[test]
fn handover_lasts_from_the_last_success_of_one_to_the_first_of_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        audit_line(1, "a", "one", 201),
        audit_line(2, "b", "one", 201),
        audit_line(9, "c", "two", 409),
        audit_line(12, "d", "two", 201),
        r#"{"verb":"create","requestURI":"/api/v1/bindings","#.to_owned(),
    ];
    let binds = audit_log(folder.path(), &lines).binds().unwrap();
    assert_eq!(binds.len(), 4);
    assert_eq!(
        (binds[2].pod.as_str(), binds[2].node.as_str()),
        ("default/c", "n1")
    );
    let handovers = handovers(&binds);
    assert_eq!(handovers.len(), 1);
    assert_eq!(handovers[0].gap(), Duration::from_secs(10));
    assert_eq!(handovers[0].to.credential, "JTI=two");
    assert_eq!(check_binds(&binds), []);
}

#[test]
fn second_accepted_bind_of_a_pod_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        audit_line(1, "a", "one", 201),
        audit_line(2, "a", "two", 409),
        audit_line(3, "a", "two", 201),
    ];
    let binds = audit_log(folder.path(), &lines).binds().unwrap();
    let messages: Vec<String> = check_binds(&binds).iter().map(Finding::to_string).collect();
    assert_eq!(messages, ["pod default/a (uid uid-a) was bound 2 times"]);
}

fn sleeper(folder: &Path) -> Process {
    let mut command = Command::new("sleep");
    command.arg("600");
    Process::spawn("sleep", command, &folder.join("sleep.log")).expect("sleep must start")
}

fn is_running(pid: u32) -> bool {
    // A process that nobody has waited for yet keeps its folder; its state is Z then.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[tokio::test]
async fn process_ends_by_signal_or_with_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = sleeper(folder.path());
    assert!(asked.usage().unwrap().peak_rss > 0);
    asked.signal(Signal::Term).unwrap();
    assert!(!asked.wait(Duration::from_secs(10)).await.unwrap().success());
    let dropped = sleeper(folder.path());
    let pid = dropped.id();
    assert!(is_running(pid));
    drop(dropped);
    assert!(!is_running(pid));
}

/// Started by the next test as a process of its own, which is killed.
#[tokio::test]
#[ignore = "the harness that gets killed in killed_harness_leaves_neither_process_nor_folder"]
async fn harness_to_be_killed() {
    let folder = tempfile::Builder::new()
        .disable_cleanup(true)
        .tempdir()
        .unwrap();
    harness::reaper::watch_folder(folder.path()).unwrap();
    let sleeper = sleeper(folder.path());
    println!("started {} {}", sleeper.id(), folder.path().display());
    tokio::time::sleep(Duration::from_secs(30)).await;
}

#[tokio::test]
async fn killed_harness_leaves_neither_process_nor_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "harness_to_be_killed",
        "--exact",
        "--ignored",
        "--nocapture",
    ]);
    let mut killed = Process::spawn("harness", command, &folder.path().join("log")).unwrap();
    let (pid, left) = wait::until("the other harness", Duration::from_secs(20), async || {
        let output = killed.log_tail(100);
        let line = output
            .lines()
            .find_map(|line| line.split_once("started ")?.1.split_once(' '));
        Ok(line.map(|(pid, folder)| (pid.parse::<u32>().unwrap(), folder.to_owned())))
    })
    .await
    .unwrap();
    assert!(is_running(pid) && Path::new(&left).exists());
    killed.signal(Signal::Kill).unwrap();
    wait::until(
        "the end of its process and folder",
        Duration::from_secs(20),
        async || Ok((!is_running(pid) && !Path::new(&left).exists()).then_some(())),
    )
    .await
    .unwrap();
}
