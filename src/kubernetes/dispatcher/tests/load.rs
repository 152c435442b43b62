//! Many effects at once.

use super::fake_api::Fault;
use super::{DONE, EffectOutcome, Rig, bind, condition, millis, secs};
use crate::kubernetes::dispatcher::{CALLS_IN_FLIGHT, CAPACITY};

#[tokio::test(start_paused = true)]
async fn a_full_dispatcher_says_so_until_an_effect_ends() {
    let mut rig = Rig::start();
    rig.api.disturb_all_writes(Fault::Delay(secs(1)));
    for number in 0..CAPACITY {
        assert!(rig.handle.has_room(), "{number}");
        let name = format!("p{number}");
        rig.api.add_pod(&name);
        rig.submit(&name, bind("n1"));
    }
    assert!(!rig.handle.has_room());
    assert_eq!(rig.handle.load(), CAPACITY);
    tokio::time::sleep(millis(999)).await;
    assert!(!rig.handle.has_room());
    assert_eq!(rig.completion().await.1, DONE);
    assert!(rig.handle.has_room());
    rig.handle.wait_until_idle().await;
    assert_eq!(rig.handle.load(), 0);
    assert_eq!(rig.api.seen().len(), CAPACITY);
}

#[tokio::test(start_paused = true)]
async fn superseded_effects_free_their_room() {
    let mut rig = Rig::start();
    rig.api.disturb_all_writes(Fault::Delay(secs(1)));
    for _ in 0..10 {
        rig.submit("p", condition("x"));
        tokio::time::sleep(millis(1)).await;
    }
    // One is in flight and one waits.
    assert_eq!(rig.handle.load(), 2);
    rig.handle.wait_until_idle().await;
    let mut superseded = 0;
    for _ in 0..10 {
        superseded += usize::from(rig.completion().await.1 == EffectOutcome::Superseded);
    }
    assert_eq!(superseded, 8);
    assert_eq!(rig.api.methods(), ["PATCH", "PATCH"]);
}

#[tokio::test(start_paused = true)]
async fn many_pods_are_written_at_once_but_not_more_than_the_limit() {
    let mut rig = Rig::start();
    rig.api.disturb_all_writes(Fault::Delay(secs(1)));
    for number in 0..3 * CALLS_IN_FLIGHT {
        let name = format!("p{number}");
        rig.api.add_pod(&name);
        rig.submit(&name, bind("n1"));
    }
    rig.handle.wait_until_idle().await;
    assert_eq!(rig.elapsed(), secs(3));
    assert_eq!(rig.api.most_in_flight(), (CALLS_IN_FLIGHT, 1));
}

#[tokio::test(start_paused = true)]
async fn a_stop_sends_nothing_that_waits() {
    let mut rig = Rig::start();
    rig.api.disturb_all_writes(Fault::Delay(secs(1)));
    for number in 0..2 * CALLS_IN_FLIGHT {
        let name = format!("p{number}");
        rig.api.add_pod(&name);
        rig.submit(&name, bind("n1"));
    }
    tokio::time::sleep(millis(500)).await;
    rig.stop.cancel();
    (&mut rig.running).await.unwrap().unwrap();
    assert_eq!(rig.elapsed(), secs(1));
    assert_eq!(rig.api.seen().len(), CALLS_IN_FLIGHT);
}
