//! kube-leader-election under the guard: the cases in which the crate alone gives two leaders or none.

use std::time::Duration;

use kube_leader_election::{Error, LeaseLock, LeaseLockParams, LeaseLockResult};
use serde_json::json;
use tokio::time::advance;

use crate::kubernetes::{
    clock::Clock,
    leadership::{
        fake_lease::{FakeLeases, Faults, Line},
        guard::Guard,
        record::Observation,
    },
};

const LEASE: Duration = Duration::from_secs(15);

struct Candidate {
    lock: LeaseLock,
    line: Line,
}

impl Candidate {
    fn new(server: &FakeLeases, identity: &str) -> Self {
        let line = Line::default();
        let guard = Guard::new(Clock::steady(), Observation::new(identity.into(), LEASE));
        let lock = LeaseLock::new(
            guard.client(&server.client(&line)),
            "kube-system",
            LeaseLockParams {
                holder_id: identity.into(),
                lease_name: "bayplan".into(),
                lease_ttl: LEASE,
            },
        );
        Self { lock, line }
    }

    async fn look(&self) -> &'static str {
        match self.lock.try_acquire_or_renew().await {
            Ok(LeaseLockResult::Acquired(_)) => "acquired",
            Ok(LeaseLockResult::NotAcquired(_)) => "not acquired",
            Err(
                Error::AcquireLease(kube::Error::Api(status))
                | Error::RenewLease(kube::Error::Api(status))
                | Error::CreateLease(kube::Error::Api(status)),
            ) if status.code == 409 => "conflict",
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_candidates_that_read_the_same_expired_lease_one_acquires() {
    let server = FakeLeases::default();
    let (dead, a, b) = (
        Candidate::new(&server, "dead"),
        Candidate::new(&server, "a"),
        Candidate::new(&server, "b"),
    );
    assert_eq!(dead.look().await, "acquired");
    assert_eq!(
        (a.look().await, b.look().await),
        ("not acquired", "not acquired")
    );
    advance(LEASE).await;
    for candidate in [&a, &b] {
        candidate.line.set(Faults {
            write_delay: Duration::from_millis(100),
            ..Faults::default()
        });
    }
    let (a, b) = tokio::join!(a.look(), b.look());
    let mut outcomes = [a, b];
    outcomes.sort_unstable();
    assert_eq!(outcomes, ["acquired", "conflict"]);
}

#[tokio::test(start_paused = true)]
async fn of_two_candidates_that_find_no_lease_one_creates_it() {
    let server = FakeLeases::default();
    let (a, b) = (Candidate::new(&server, "a"), Candidate::new(&server, "b"));
    for candidate in [&a, &b] {
        candidate.line.set(Faults {
            write_delay: Duration::from_millis(100),
            ..Faults::default()
        });
    }
    let (a, b) = tokio::join!(a.look(), b.look());
    let mut outcomes = [a, b];
    outcomes.sort_unstable();
    assert_eq!(outcomes, ["acquired", "conflict"]);
    assert_eq!(
        server.lease()["metadata"]["labels"]["app.kubernetes.io/name"],
        "bayplan"
    );
}

#[tokio::test(start_paused = true)]
async fn a_leader_paused_between_read_and_write_while_another_took_over_gets_a_conflict() {
    let server = FakeLeases::default();
    let (a, b) = (Candidate::new(&server, "a"), Candidate::new(&server, "b"));
    assert_eq!(a.look().await, "acquired");
    assert_eq!(b.look().await, "not acquired");
    a.line.set(Faults {
        write_delay: Duration::from_secs(20),
        ..Faults::default()
    });
    let others = async {
        tokio::time::sleep(LEASE).await;
        b.look().await
    };
    assert_eq!(tokio::join!(a.look(), others), ("conflict", "acquired"));
    assert_eq!(server.holder(), "b");
}

#[tokio::test(start_paused = true)]
async fn a_lease_whose_holder_has_a_skewed_clock_stays_held_while_it_is_renewed() {
    let server = FakeLeases::default();
    let (a, b) = (Candidate::new(&server, "a"), Candidate::new(&server, "b"));
    // Decades behind the clock that kube-leader-election reads, but different each time.
    let times = [
        "2001-01-01T00:00:00.000000Z",
        "2001-01-01T00:00:02.000000Z",
        "2001-01-01T00:00:04.000000Z",
    ];
    for renew_time in times.iter().cycle().take(20) {
        a.line.set(Faults {
            renew_time: Some(renew_time),
            ..Faults::default()
        });
        assert_eq!(a.look().await, "acquired");
        assert_eq!(b.look().await, "not acquired");
        advance(Duration::from_secs(2)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_without_holder_is_acquired_at_once() {
    for spec in [
        json!({"leaseDurationSeconds": 15}),
        json!({"holderIdentity": "", "leaseDurationSeconds": 15}),
    ] {
        let server = FakeLeases::default();
        server.edit(|lease| lease["spec"] = spec);
        assert_eq!(Candidate::new(&server, "a").look().await, "acquired");
        assert_eq!(server.holder(), "a");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_with_an_empty_or_no_spec_is_acquired_at_once() {
    let server = FakeLeases::default();
    server.edit(|lease| lease["spec"] = json!({}));
    assert_eq!(Candidate::new(&server, "a").look().await, "acquired");
    let server = FakeLeases::default();
    server.edit(|_| {});
    assert_eq!(Candidate::new(&server, "a").look().await, "acquired");
}

#[tokio::test(start_paused = true)]
async fn labels_edited_every_second_do_not_prolong_the_lease_of_a_dead_holder() {
    let server = FakeLeases::default();
    let (dead, a) = (
        Candidate::new(&server, "dead"),
        Candidate::new(&server, "a"),
    );
    assert_eq!(dead.look().await, "acquired");
    for second in 0..15 {
        assert_eq!(a.look().await, "not acquired", "second {second}");
        advance(Duration::from_secs(1)).await;
        server.edit(|lease| lease["metadata"]["labels"]["touched"] = json!(second.to_string()));
    }
    assert_eq!(a.look().await, "acquired");
}

#[tokio::test(start_paused = true)]
async fn a_lease_deleted_or_emptied_by_hand_is_waited_out() {
    for emptied in [None, Some(json!({})), Some(json!({"holderIdentity": ""}))] {
        let server = FakeLeases::default();
        let (a, b) = (Candidate::new(&server, "a"), Candidate::new(&server, "b"));
        assert_eq!(a.look().await, "acquired");
        assert_eq!(b.look().await, "not acquired");
        match emptied.clone() {
            Some(spec) => server.edit(|lease| lease["spec"] = spec),
            None => server.delete(),
        }
        advance(Duration::from_millis(14_999)).await;
        assert_eq!(b.look().await, "not acquired", "{emptied:?}");
        advance(Duration::from_millis(1)).await;
        assert_eq!(b.look().await, "acquired", "{emptied:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_was_deleted_or_emptied_does_not_take_it_back() {
    for emptied in [
        None,
        Some(json!({})),
        Some(json!({"leaseDurationSeconds": 1})),
    ] {
        let server = FakeLeases::default();
        let a = Candidate::new(&server, "a");
        assert_eq!(a.look().await, "acquired");
        match emptied.clone() {
            Some(spec) => server.edit(|lease| lease["spec"] = spec),
            None => server.delete(),
        }
        assert_eq!(a.look().await, "not acquired", "{emptied:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_holder_written_by_a_stranger_is_believed_and_waited_out() {
    let server = FakeLeases::default();
    let (a, b) = (Candidate::new(&server, "a"), Candidate::new(&server, "b"));
    assert_eq!(a.look().await, "acquired");
    server.edit(|lease| lease["spec"]["holderIdentity"] = json!("stranger"));
    assert_eq!(
        (a.look().await, b.look().await),
        ("not acquired", "not acquired")
    );
    advance(LEASE).await;
    assert_eq!(b.look().await, "acquired");
    assert_eq!(a.look().await, "not acquired");
}

#[tokio::test(start_paused = true)]
async fn absurd_durations_neither_shorten_nor_lock_the_lease() {
    for (seconds, held) in [(0, 15), (-1, 15), (1_000_000_000, 3_600)] {
        let server = FakeLeases::default();
        server.edit(|lease| {
            lease["spec"] = json!({"holderIdentity": "dead", "leaseDurationSeconds": seconds});
        });
        let a = Candidate::new(&server, "a");
        assert_eq!(a.look().await, "not acquired", "{seconds}");
        advance(Duration::from_secs(held - 1)).await;
        assert_eq!(a.look().await, "not acquired", "{seconds}");
        advance(Duration::from_secs(1)).await;
        assert_eq!(a.look().await, "acquired", "{seconds}");
        assert_eq!(server.lease()["spec"]["leaseDurationSeconds"], 15);
    }
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_free_at_once_and_unknown_fields_survive() {
    let server = FakeLeases::default();
    let (a, b) = (Candidate::new(&server, "a"), Candidate::new(&server, "b"));
    assert_eq!(a.look().await, "acquired");
    server.edit(|lease| {
        lease["spec"]["strategy"] = json!("OldestEmulationVersion");
        lease["spec"]["preferredHolder"] = json!("c");
    });
    assert_eq!(b.look().await, "not acquired");
    a.lock.step_down().await.unwrap();
    assert_eq!(b.look().await, "acquired");
    let spec = &server.lease()["spec"];
    assert_eq!(
        (
            &spec["strategy"],
            &spec["preferredHolder"],
            &spec["leaseTransitions"]
        ),
        (&json!("OldestEmulationVersion"), &json!("c"), &json!(1))
    );
}

#[tokio::test(start_paused = true)]
async fn one_read_pays_for_one_write() {
    let server = FakeLeases::default();
    let guard = Guard::new(Clock::steady(), Observation::new("a".into(), LEASE));
    let client = guard.client(&server.client(&Line::default()));
    server.edit(|lease| lease["spec"] = json!({}));
    let leases: kube::Api<k8s_openapi::api::coordination::v1::Lease> =
        kube::Api::namespaced(client, "kube-system");
    let patch = kube::api::Patch::Merge(json!({"spec": {"holderIdentity": "a"}}));
    let params = kube::api::PatchParams::default();
    let code = |result: kube::Result<_>| match result {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(code(leases.patch("bayplan", &params, &patch).await), 409);
    leases.get("bayplan").await.unwrap();
    assert_eq!(code(leases.patch("bayplan", &params, &patch).await), 200);
    assert_eq!(code(leases.patch("bayplan", &params, &patch).await), 409);
}
