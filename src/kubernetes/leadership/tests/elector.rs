//! Whole candidates: who leads when, and never two at once.

use std::time::Duration;

use serde_json::json;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{advance, sleep},
};
use tokio_util::sync::CancellationToken;

use crate::kubernetes::{
    clock::Clock,
    leadership::{
        Leadership, Standing,
        elector::{Elector, Loss, Outcome},
        fake_lease::{FakeLeases, Faults, Line},
        heartbeat::Heartbeat,
        settings::ElectionSettings,
        stats::ElectionStats,
    },
};

struct Replica {
    leadership: Leadership,
    clock: Clock,
    line: Line,
    stats: ElectionStats,
    stop: CancellationToken,
    task: JoinHandle<Outcome>,
    heart: JoinHandle<()>,
}

impl Replica {
    fn start(server: &FakeLeases, identity: &str) -> Self {
        let (line, clock, stats) = (Line::default(), Clock::steady(), ElectionStats::default());
        let heartbeat = Heartbeat::new(clock.clone());
        let stop = CancellationToken::new();
        let standing = watch::Sender::new(Standing::Standby);
        let leadership = Leadership::elected(clock.clone(), standing.subscribe());
        let elector = Elector::new(
            &server.client(&line),
            ElectionSettings {
                lease_name: "bayplan".into(),
                lease_namespace: "kube-system".into(),
                identity: identity.into(),
                lease_duration: Duration::from_secs(15),
                renew_deadline: Duration::from_secs(10),
                retry_period: Duration::from_secs(2),
                heartbeat_limit: Duration::from_secs(10),
            },
            clock.clone(),
            heartbeat.clone(),
            stats.clone(),
            standing,
        );
        let task = tokio::spawn(elector.run(stop.clone()));
        let heart = tokio::spawn(async move {
            loop {
                heartbeat.beat();
                sleep(Duration::from_secs(1)).await;
            }
        });
        Self {
            leadership,
            clock,
            line,
            stats,
            stop,
            task,
            heart,
        }
    }

    async fn leading(server: &FakeLeases, identity: &str) -> Self {
        let replica = Self::start(server, identity);
        assert!(replica.leadership.wait_until_leading().await);
        replica
    }

    /// As SIGKILL does it.
    fn kill(&self) {
        self.task.abort();
        self.heart.abort();
    }

    async fn time_until_leading(&self) -> Duration {
        let start = self.clock.now();
        assert!(self.leadership.wait_until_leading().await);
        self.clock.now() - start
    }

    async fn time_until_lost(&self) -> Duration {
        let start = self.clock.now();
        self.leadership.wait_until_lost().await;
        self.clock.now() - start
    }

    fn cut_off(&self) {
        self.line.set(Faults {
            black_hole: true,
            ..Faults::default()
        });
    }
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_stops_by_itself_before_another_one_starts() {
    let server = FakeLeases::default();
    let a = Replica::leading(&server, "a").await;
    let b = Replica::start(&server, "b");
    sleep(Duration::from_secs(61)).await;
    assert!(a.leadership.is_leading());
    a.cut_off();
    let (lost, led) = tokio::join!(a.time_until_lost(), b.time_until_leading());
    // The last renewal was sent 1 s before.
    assert!((8.9..=10.0).contains(&seconds(lost)), "{lost:?}");
    assert!((13.9..=17.1).contains(&seconds(led)), "{led:?}");
    assert_eq!(a.task.await.unwrap(), Outcome::Lost(Loss::DeadlinePassed));
}

#[tokio::test(start_paused = true)]
async fn after_a_kill_at_any_moment_the_standby_leads_within_lease_and_retry_period() {
    for step in 0..40 {
        let server = FakeLeases::default();
        let a = Replica::leading(&server, "a").await;
        sleep(Duration::from_millis(700)).await;
        let b = Replica::start(&server, "b");
        sleep(Duration::from_millis(20_000 + 50 * step)).await;
        a.kill();
        let led = b.time_until_leading().await;
        assert!((12.9..=17.1).contains(&seconds(led)), "{step}: {led:?}");
        b.kill();
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_release_the_standby_leads_within_a_retry_period() {
    let server = FakeLeases::default();
    let a = Replica::leading(&server, "a").await;
    let b = Replica::start(&server, "b");
    sleep(Duration::from_secs(30)).await;
    a.stop.cancel();
    let (outcome, led) = tokio::join!(a.task, b.time_until_leading());
    assert_eq!(outcome.unwrap(), Outcome::Released);
    assert!(!a.leadership.is_leading());
    assert!(seconds(led) <= 2.1, "{led:?}");
    assert_eq!(b.leadership.term().unwrap().to_string(), "uid-1/1");
}

#[tokio::test(start_paused = true)]
async fn a_leader_keeps_its_term_over_many_renewals_and_short_outages() {
    let server = FakeLeases::default();
    let a = Replica::leading(&server, "a").await;
    let b = Replica::start(&server, "b");
    let term = a.leadership.term();
    for _ in 0..20 {
        a.line.set(Faults {
            refuse: Some(503),
            ..Faults::default()
        });
        sleep(Duration::from_secs(5)).await;
        a.line.set(Faults::default());
        sleep(Duration::from_secs(6)).await;
        assert!(a.leadership.is_leading() && !b.leadership.is_leading());
    }
    assert_eq!(a.leadership.term(), term);
    let numbers = a.stats.read();
    assert!(
        numbers.failures >= 40 && numbers.renewals >= 40,
        "{numbers:?}"
    );
    assert!(
        numbers.slack_min.unwrap() < Duration::from_secs(5),
        "{numbers:?}"
    );
    assert_eq!(numbers.transitions, 1);
}

#[tokio::test(start_paused = true)]
async fn an_edit_between_read_and_write_costs_a_second_look_and_not_the_leadership() {
    let server = FakeLeases::default();
    let a = Replica::leading(&server, "a").await;
    a.line.set(Faults {
        write_delay: Duration::from_millis(300),
        ..Faults::default()
    });
    sleep(Duration::from_millis(2_150)).await;
    server.edit(|lease| lease["metadata"]["labels"]["touched"] = json!("yes"));
    sleep(Duration::from_mins(1)).await;
    assert!(a.leadership.is_leading());
    let numbers = a.stats.read();
    assert_eq!((numbers.conflicts, numbers.failures), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_acquisition_whose_answer_was_lost_is_recognised_at_the_next_look() {
    let server = FakeLeases::default();
    let line_cut = Faults {
        lose_write_answers: true,
        ..Faults::default()
    };
    let a = Replica::start(&server, "a");
    a.line.set(line_cut);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(server.holder(), "a");
    assert!(!a.leadership.is_leading());
    a.line.set(Faults::default());
    assert!(seconds(a.time_until_leading().await) <= 4.0);
}

#[tokio::test(start_paused = true)]
async fn a_process_stopped_longer_than_its_deadline_does_not_lead_for_a_moment_when_it_goes_on() {
    let server = FakeLeases::default();
    let a = Replica::leading(&server, "a").await;
    assert!(a.leadership.write_timeout().is_some());
    // Time passes without any task of the process running.
    advance(Duration::from_secs(12)).await;
    assert!(!a.leadership.is_leading());
    assert_eq!(a.leadership.write_timeout(), None);
    assert_eq!(a.task.await.unwrap(), Outcome::Lost(Loss::DeadlinePassed));
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_jumps_ends_the_leadership_at_once() {
    for step in [3_600_000_000, -30_000_000] {
        let server = FakeLeases::default();
        let a = Replica::leading(&server, "a").await;
        sleep(Duration::from_secs(5)).await;
        a.clock.step_wall(step);
        assert!(!a.leadership.is_leading());
        assert_eq!(a.task.await.unwrap(), Outcome::Lost(Loss::ClockJumped));
    }
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_jumps_on_a_standby_gives_it_nothing() {
    let server = FakeLeases::default();
    let a = Replica::leading(&server, "a").await;
    let b = Replica::start(&server, "b");
    sleep(Duration::from_secs(5)).await;
    b.clock.step_wall(3_600_000_000);
    sleep(Duration::from_mins(1)).await;
    assert!(a.leadership.is_leading() && !b.leadership.is_leading());
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_scheduling_loop_hangs_lets_the_lease_go() {
    let server = FakeLeases::default();
    let a = Replica::leading(&server, "a").await;
    let b = Replica::start(&server, "b");
    sleep(Duration::from_mins(1)).await;
    a.heart.abort();
    let (lost, led) = tokio::join!(a.time_until_lost(), b.time_until_leading());
    assert!((17.9..=20.1).contains(&seconds(lost)), "{lost:?}");
    assert!((22.9..=27.1).contains(&seconds(led)), "{led:?}");
    assert_eq!(a.task.await.unwrap(), Outcome::Lost(Loss::LoopHung));
}

#[tokio::test(start_paused = true)]
async fn a_lease_deleted_under_the_leader_gives_one_new_leader_after_the_old_one_has_stopped() {
    let server = FakeLeases::default();
    let a = Replica::leading(&server, "a").await;
    let b = Replica::start(&server, "b");
    sleep(Duration::from_secs(31)).await;
    server.delete();
    let (lost, led) = tokio::join!(a.time_until_lost(), b.time_until_leading());
    assert!(seconds(lost) <= 2.1, "{lost:?}");
    assert!((12.9..=15.1).contains(&seconds(led)), "{led:?}");
    assert_eq!(a.task.await.unwrap(), Outcome::Lost(Loss::TakenOver));
    assert_eq!(b.leadership.term().unwrap().to_string(), "uid-2/0");
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_is_stopped_leaves_the_lease_alone() {
    let server = FakeLeases::default();
    let a = Replica::leading(&server, "a").await;
    let b = Replica::start(&server, "b");
    sleep(Duration::from_secs(5)).await;
    b.stop.cancel();
    assert_eq!(b.task.await.unwrap(), Outcome::Released);
    assert!(!b.leadership.wait_until_leading().await);
    assert_eq!(server.holder(), "a");
    assert!(a.leadership.is_leading());
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_a_stranger_names_waits_until_the_leader_has_stopped() {
    let server = FakeLeases::default();
    let a = Replica::leading(&server, "a").await;
    let b = Replica::start(&server, "b");
    sleep(Duration::from_secs(31)).await;
    a.cut_off();
    server.edit(|lease| lease["spec"]["holderIdentity"] = json!("b"));
    let (lost, led) = tokio::join!(a.time_until_lost(), b.time_until_leading());
    assert!(lost < led, "{lost:?} {led:?}");
    assert!(seconds(led) <= 17.1, "{led:?}");
    assert_ne!(b.leadership.term().unwrap().to_string(), "uid-1/0");
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_is_stopped_while_it_acquires_gives_the_lease_back() {
    let server = FakeLeases::default();
    let a = Replica::start(&server, "a");
    a.line.set(Faults {
        write_delay: Duration::from_millis(300),
        ..Faults::default()
    });
    sleep(Duration::from_millis(100)).await;
    a.stop.cancel();
    assert_eq!(a.task.await.unwrap(), Outcome::Released);
    assert!(!a.leadership.wait_until_leading().await);
    // Whatever is still on its way has arrived by now.
    sleep(Duration::from_secs(1)).await;
    assert_eq!(server.holder(), "");
    let b = Replica::start(&server, "b");
    assert!(seconds(b.time_until_leading().await) < 0.1);
}

#[tokio::test(start_paused = true)]
async fn a_standby_without_an_api_server_stops_in_bounded_time() {
    let server = FakeLeases::default();
    let a = Replica::start(&server, "a");
    a.cut_off();
    sleep(Duration::from_mins(1)).await;
    a.stop.cancel();
    let start = a.clock.now();
    assert_eq!(a.task.await.unwrap(), Outcome::Released);
    assert!(seconds(a.clock.now() - start) <= 3.4);
}

#[tokio::test(start_paused = true)]
async fn a_release_into_a_black_hole_ends_in_bounded_time() {
    let server = FakeLeases::default();
    let a = Replica::leading(&server, "a").await;
    a.cut_off();
    a.stop.cancel();
    let start = a.clock.now();
    assert_eq!(a.task.await.unwrap(), Outcome::Released);
    assert!(seconds(a.clock.now() - start) <= 3.4);
}

#[tokio::test(start_paused = true)]
async fn a_write_may_take_four_seconds_or_what_is_left_less_one() {
    let server = FakeLeases::default();
    let a = Replica::leading(&server, "a").await;
    assert_eq!(a.leadership.write_timeout(), Some(Duration::from_secs(4)));
    a.cut_off();
    sleep(Duration::from_secs(7)).await;
    let left = seconds(a.leadership.write_timeout().unwrap());
    assert!((1.9..=2.0).contains(&left), "{left}");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(a.leadership.write_timeout(), None);
    assert!(a.leadership.is_leading());
}

#[tokio::test(start_paused = true)]
async fn without_election_it_leads_always_and_in_no_term() {
    let leadership = Leadership::always();
    advance(Duration::from_hours(1_000)).await;
    assert_eq!(leadership.write_timeout(), Some(Duration::from_secs(4)));
    assert!(leadership.wait_until_leading().await);
    assert_eq!(leadership.term(), None);
}
