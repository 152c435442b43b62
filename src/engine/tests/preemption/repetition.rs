//! Nobody is evicted in vain, again and again.

use super::*;

/// The room is made, and the node refuses the preemptor for the same reason all the same: the
/// filters of this profile do not follow hypotheses.
fn in_vain(driver: &mut Driver) -> Vec<String> {
    driver.wait(Duration::from_secs(30));
    driver.schedule();
    driver
        .evictions()
        .into_iter()
        .map(|(_, name)| name)
        .collect()
}

#[test]
fn two_that_take_and_make_room_in_turn_stop() {
    let mut driver = Driver::preempting([node("n", 1)]);
    driver.pod(&low("v0"));
    let preemptor = pod("preemptor", 10);
    driver.pod(&preemptor);
    let mut evicted = 0;
    for round in 0..10 {
        let names = in_vain(&mut driver);
        if names.is_empty() {
            break;
        }
        evicted += 1;
        let uid = PodUid::of(&low(&names[0]).object());
        let id = driver.engine.cache().preemptions.eviction_of(&uid).unwrap();
        driver.complete(id, done());
        driver.delete(&low(&names[0]));
        // Somebody else places another pod there before the preemptor's turn.
        driver.pod(&low(&format!("v{}", round + 1)));
    }
    assert_eq!(evicted, 3);
    // After a while it may try again.
    driver.wait(Duration::from_mins(5));
    assert_eq!(in_vain(&mut driver).len(), 1);
}

#[test]
fn a_node_that_changed_is_tried_again() {
    let mut driver = Driver::preempting([node("n", 1)]);
    driver.pod(&low("v0"));
    driver.pod(&pod("preemptor", 10));
    for round in 0..3 {
        driver.wait(Duration::from_secs(30));
        driver.preempt();
        driver.delete(&low(&format!("v{round}")));
        driver.pod(&low(&format!("v{}", round + 1)));
    }
    assert_eq!(in_vain(&mut driver), [""; 0]);
    driver.node(&node("n", 1).label("changed", "yes"));
    assert_eq!(in_vain(&mut driver), ["v3"]);
}
