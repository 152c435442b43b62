//! What an observer is told, in which order.

use super::*;
use crate::engine::observer::{CycleObserver, ObservedPoint, StatusCode};

/// Writes down what it is told; a point that begins within another one is a mistake.
#[derive(Clone, Debug, Default)]
struct Recorder(Arc<Mutex<Record>>);

#[derive(Debug, Default)]
struct Record {
    running: Option<ObservedPoint>,
    left: Vec<String>,
}

impl CycleObserver for Recorder {
    fn entered(&self, point: ObservedPoint) {
        let within = self.0.lock().unwrap().running.replace(point);
        assert_eq!(
            within, None,
            "{point:?} must not begin within another point"
        );
    }

    fn left(&self, point: ObservedPoint, status: StatusCode, profile: &Arc<str>) {
        let mut record = self.0.lock().unwrap();
        assert_eq!(record.running.take(), Some(point));
        assert_eq!(&**profile, "bayplan");
        record
            .left
            .push(format!("{} {}", point.name(), status.name()));
    }
}

impl Recorder {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().left)
    }
}

fn observed(nodes: &[&str], probes: &[Probe]) -> (Driver, Recorder) {
    let mut driver = Driver::new(nodes.iter().map(|name| small(name)));
    driver = driver.with_probes(probes, &json!([]));
    let recorder = Recorder::default();
    driver.engine.set_observer(Box::new(recorder.clone()));
    (driver, recorder)
}

const SEARCH: [&str; 3] = ["PreEnqueue Success", "PreFilter Success", "Filter Success"];

#[test]
fn a_pod_that_is_placed_and_bound_meets_the_points_in_order_and_once() {
    let (mut driver, recorder) = observed(&["a", "b"], &[]);
    driver.pod(&make_pod("p").request("cpu", "1"));
    driver.placed();
    let scoring = ["PreScore Success", "Score Success"];
    let placing = ["Reserve Success", "Permit Success", "PreBindPreFlight Skip"];
    let expected = [&SEARCH[..], &scoring, &placing].concat();
    assert_eq!(recorder.take(), expected);
    driver.complete(driver.binding(), done());
    assert_eq!(recorder.take(), ["PostBind Success"]);
}

#[test]
fn a_pod_that_one_node_fits_is_not_scored() {
    let (mut driver, recorder) = observed(&["a"], &[]);
    driver.pod(&make_pod("p"));
    driver.placed();
    assert_eq!(recorder.take()[3..4], ["Reserve Success"]);
}

#[test]
fn a_pod_that_fits_nowhere_meets_post_filter_only_where_a_plugin_has_it() {
    let huge = make_pod("p").request("cpu", "9");
    let (mut driver, recorder) = observed(&["a", "b"], &[]);
    driver.pod(&huge);
    driver.message();
    assert_eq!(recorder.take(), SEARCH);
    let maker = Probe {
        nominates: Some("a"),
        ..Probe::new("maker")
    };
    for (probe, status) in [(maker, "Success"), (Probe::new("idler"), "Unschedulable")] {
        let (mut driver, recorder) = observed(&["a", "b"], &[probe]);
        driver.pod(&huge);
        driver.message();
        assert_eq!(recorder.take()[3..], [format!("PostFilter {status}")]);
    }
}

#[test]
fn a_pre_filter_that_finds_no_node_ends_the_search() {
    let (mut driver, recorder) = observed(&["a"], &[]);
    let elsewhere = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["x"]},
                             {"key": "metadata.name", "operator": "In", "values": ["y"]}]}]}}});
    driver.pod(&make_pod("p").spec(json!({"affinity": elsewhere})));
    driver.message();
    let expected = [
        "PreEnqueue Success",
        "PreFilter UnschedulableAndUnresolvable",
    ];
    assert_eq!(recorder.take()[..2], expected);
}

#[test]
fn a_reservation_that_is_refused_is_undone() {
    let greedy = Probe {
        refuses_reserve: true,
        ..Probe::new("greedy")
    };
    let (mut driver, recorder) = observed(&["a"], &[greedy]);
    driver.pod(&make_pod("p"));
    driver.message();
    let expected = ["Reserve Unschedulable", "Unreserve Success"];
    assert_eq!(recorder.take()[3..5], expected);
}

#[test]
fn a_pod_that_is_held_waits_and_the_wait_has_an_end_of_its_own() {
    let holder = Probe {
        permit: Some(|_, _| PermitVerdict::from(PermitDecision::Wait(Duration::from_secs(5)))),
        ..Probe::new("holder")
    };
    let (mut driver, recorder) = observed(&["a"], &[holder]);
    driver.pod(&make_pod("p"));
    driver.placed();
    assert_eq!(recorder.take()[4..], ["Permit Wait"]);
    driver.wait(Duration::from_secs(5));
    assert_eq!(recorder.take()[..1], ["Unreserve Success"]);
    let observations = driver.engine.take_observations();
    let wait = (Duration::from_secs(5), StatusCode::Unschedulable);
    assert_eq!(observations.permit_waits, [wait]);
    let [failed] = observations.failed_bindings.as_slice() else {
        panic!("the attempt must be over: {observations:?}");
    };
    assert_eq!(failed.result, "unschedulable");
    assert_eq!(failed.since_assumed, Duration::from_secs(5));
}

#[test]
fn work_before_the_binding_lasts_until_its_effect_is_completed() {
    for (outcome, status) in [
        (done(), StatusCode::Success),
        (failed("no disk"), StatusCode::Error),
    ] {
        let worker = Probe {
            work: Some(false),
            ..Probe::new("worker")
        };
        let (mut driver, recorder) = observed(&["a"], &[worker]);
        driver.pod(&make_pod("p"));
        driver.placed();
        assert_eq!(recorder.take()[5..], ["PreBindPreFlight Success"]);
        let nominating = driver.action("pod_status_patch");
        driver.wait(Duration::from_secs(1));
        driver.complete(nominating, done());
        let work = driver.action("worker");
        driver.wait(Duration::from_secs(2));
        driver.complete(work, outcome);
        let timed = driver.engine.take_observations().timed_points;
        let [pre_bind] = timed.as_slice() else {
            panic!("PreBind must have ended once: {timed:?}");
        };
        assert_eq!(pre_bind.point, ObservedPoint::PreBind);
        assert_eq!(pre_bind.status, status);
        assert_eq!(pre_bind.duration, Duration::from_secs(2));
    }
}

#[test]
fn a_binding_that_the_server_refuses_is_a_failed_attempt() {
    for kind in [FailureKind::Refused, FailureKind::AlreadyBound] {
        let (mut driver, _) = observed(&["a"], &[]);
        driver.pod(&make_pod("p"));
        driver.placed();
        driver.wait(Duration::from_secs(1));
        driver.fail_binding(kind);
        let observations = driver.engine.take_observations();
        assert_eq!(observations.bound, []);
        let [failed] = observations.failed_bindings.as_slice() else {
            panic!("the attempt must be over: {observations:?}");
        };
        assert_eq!(failed.result, "error");
        assert_eq!(failed.since_assumed, Duration::from_secs(1));
    }
}
