//! Crowds of pods that fit nowhere, and what they mean for pods of a lower priority.

use super::*;

const CROWD: usize = 50;

fn small_node() -> NodeBuilder {
    make_node("n").allocatable(&[("cpu", "2"), ("pods", "1000")])
}

/// A node with a pod of `priority` on it, and a crowd that was refused.
fn with_crowd(running: &PodBuilder) -> Driver {
    let mut driver = Driver::new([small_node()]);
    let disabled = json!({"disabled": [{"name": "DefaultPreemption"}]});
    driver.profile(json!({"schedulerName": "bayplan", "plugins": {"multiPoint": disabled}}));
    driver.pod(running);
    for number in 0..CROWD {
        let name = format!("high-{number}");
        driver.pod(&make_pod(&name).priority(10).request("cpu", "2"));
        driver.message();
    }
    assert_eq!(driver.engine.queue().count(Place::Unschedulable), CROWD);
    driver
}

fn running(priority: i32) -> PodBuilder {
    let pod = make_pod("running").priority(priority);
    pod.request("cpu", "500m").on("n")
}

fn low() -> PodBuilder {
    make_pod("low").priority(-1).request("cpu", "100m")
}

#[test]
fn a_crowd_that_a_departure_cannot_help_stays_where_it_is() {
    let mut driver = with_crowd(&running(10));
    let other = make_pod("other").priority(10).request("cpu", "1").on("n");
    driver.pod(&other);
    driver.delete(&running(10));
    assert_eq!(driver.engine.queue().count(Place::Unschedulable), CROWD);
    driver.pod(&low());
    assert_eq!(driver.placed(), "n");
}

#[test]
fn a_crowd_that_backs_off_does_not_hold_up_a_lower_priority() {
    let mut driver = with_crowd(&running(0));
    driver.delete(&running(0));
    assert_eq!(driver.engine.queue().count(Place::Backoff), CROWD);
    driver.pod(&low());
    assert_eq!(driver.placed(), "n");
}

#[test]
fn a_crowd_that_is_ready_goes_first_once_and_then_the_lower_priority_has_its_turn() {
    let mut driver = with_crowd(&running(0));
    // Evictions are conceivable, so that the departure may matter to all of them.
    driver.pod(&make_pod("stays").priority(0).request("cpu", "1").on("n"));
    driver.delete(&running(0));
    driver.wait(Duration::from_secs(3));
    assert_eq!(driver.engine.queue().count(Place::Active), CROWD);
    driver.pod(&low());
    for _ in 0..CROWD {
        driver.message();
    }
    assert_eq!(driver.placed(), "n");
}
