//! Work before the binding.

use super::*;

fn worker(name: PluginName, allow_parallel: bool) -> Probe {
    Probe {
        work: Some(allow_parallel),
        ..Probe::new(name)
    }
}

#[test]
fn the_node_is_written_first_then_the_work_is_done_then_the_pod_is_bound() {
    let mut driver = Driver::new([small("n")]).with_probes(&[worker("w", false)], &json!([]));
    driver.pod(&make_pod("p"));
    driver.placed();
    for name in ["pod_status_patch", "w"] {
        let id = driver.action(name);
        driver.complete(id, done());
    }
    driver.action("pod_binding");
}

#[test]
fn neighbours_that_allow_it_work_beside_each_other_and_the_others_wait() {
    let workers = [
        worker("a", true),
        Probe::new("idle"),
        worker("b", true),
        worker("alone", false),
    ];
    let mut driver = Driver::new([small("n")]).with_probes(&workers, &json!([]));
    driver.pod(&make_pod("p"));
    driver.placed();
    let nomination = driver.action("pod_status_patch");
    driver.complete(nomination, done());
    let [(a, "a"), (b, "b")] = driver.actions()[..] else {
        panic!("a and b must work, and nobody else")
    };
    driver.complete(b, done());
    assert!(driver.actions().is_empty());
    driver.complete(a, done());
    let alone = driver.action("alone");
    driver.complete(alone, done());
    driver.action("pod_binding");
}

#[test]
fn work_that_fails_frees_everything() {
    let workers = [worker("a", true), worker("b", true)];
    let log = Arc::clone(&workers[0].log);
    let mut driver = Driver::new([small("n")]).with_probes(&workers, &json!([]));
    let pod = make_pod("p").request("cpu", "1");
    driver.pod(&pod);
    driver.placed();
    let nomination = driver.action("pod_status_patch");
    driver.complete(nomination, failed("nominations are not needed to go on"));
    let work = driver.actions();
    driver.complete(work[0].0, failed("no disk"));
    assert_eq!(driver.engine.cache_size().pods, 0);
    assert_eq!(driver.place(&pod), Some(Place::Backoff));
    assert_eq!(driver.events(), ["FailedScheduling"]);
    driver.complete(work[1].0, done());
    assert_eq!(*log.lock().unwrap(), ["reserve a", "unreserve a"]);
    driver.delete(&pod);
    driver.assert_empty();
}

#[test]
fn a_pod_that_is_deleted_in_the_middle_leaves_nothing() {
    let probe = worker("w", false);
    let log = Arc::clone(&probe.log);
    let mut driver = Driver::new([small("n")]).with_probes(&[probe], &json!([]));
    let pod = make_pod("p").request("cpu", "1");
    driver.pod(&pod);
    driver.placed();
    let nomination = driver.action("pod_status_patch");
    driver.complete(nomination, done());
    let work = driver.action("w");
    driver.delete(&pod);
    driver.assert_empty();
    driver.complete(work, done());
    assert!(driver.actions().is_empty());
    assert_eq!(*log.lock().unwrap(), ["reserve w", "unreserve w"]);
}
