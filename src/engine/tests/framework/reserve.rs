//! `Reserve` and what undoes it.

use super::*;

#[test]
fn a_refused_reservation_undoes_all_last_first() {
    let first = Probe::new("first");
    let mut second = Probe::new("second");
    second.log = Arc::clone(&first.log);
    second.refuses_reserve = true;
    let third = Probe {
        name: "third",
        ..first.clone()
    };
    let log = Arc::clone(&first.log);
    let mut driver = Driver::new([small("n")]).with_probes(&[first, second, third], &json!([]));
    let pod = make_pod("p").request("cpu", "1");
    driver.pod(&pod);
    let message = "0/1 nodes are available: 1 nothing to reserve.";
    assert_eq!(driver.message(), message);
    let undone = ["unreserve third", "unreserve second", "unreserve first"];
    let calls = [&["reserve first", "reserve second"][..], &undone].concat();
    assert_eq!(*log.lock().unwrap(), calls);
    assert_eq!(driver.engine.cache_size().pods, 0);
    driver.delete(&pod);
    driver.assert_empty();
    assert_eq!(*log.lock().unwrap(), calls, "nothing is undone twice");
}

#[test]
fn a_binder_that_passes_leaves_it_to_the_next_and_all_are_told_of_the_binding() {
    let probe = Probe::new("probe");
    let log = Arc::clone(&probe.log);
    let mut driver = Driver::new([small("n")]).with_probes(&[probe], &json!([]));
    driver.pod(&make_pod("p"));
    driver.placed();
    let bind = driver.action("pod_binding");
    driver.complete(bind, done());
    let calls = ["reserve probe", "pass probe", "bound probe"];
    assert_eq!(*log.lock().unwrap(), calls);
}
