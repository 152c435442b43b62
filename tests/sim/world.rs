//! One history: a cluster, a scheduler and everything between them, on a clock of its own.

use std::collections::BTreeMap;
use std::time::Duration;

use bayplan::engine::EngineConfig;
use bayplan::engine::effect::{EffectFailure, EffectOutcome, FailureKind};
use bayplan::model::object_key::ObjectKey;
use bayplan::model::pod_info::PodUid;
use bayplan::model::timestamp::Timestamp;

use crate::api_server::{ApiServer, KINDS, Kind};
use crate::controllers;
use crate::executor::{Ended, Executor, Started};
use crate::generator::Size;
use crate::generator::dice::Dice;
use crate::pool::Pool;
use crate::replica::{Came, Replica};
use crate::steps::{self, Action};
use crate::watches::Watches;

/// When histories begin.
const BEGINNING: Timestamp = Timestamp::from_seconds(1_704_200_000);

/// Cycles in a row before the loop looks at what happened meanwhile, as the driver has it.
const CYCLES_PER_TURN: usize = 64;

/// Turns without time going on.
const TURNS_MAX: usize = 10_000;

/// How large clusters become.
const SIZE: Size = Size {
    nodes: 10,
    pods: 30,
};

/// One step of a history.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Its place in the history of the seed, from which its dice follow.
    pub(crate) index: u64,
    pub(crate) action: Action,
    /// Since the step before.
    pub(crate) wait: Duration,
}

/// Something that is to happen.
#[derive(Debug)]
enum Happening {
    Step(usize),
    Controllers,
    /// Messages of watches are due.
    Watches,
    CarryOut(PodUid, u64),
    Complete(PodUid, u64, Box<Ended>),
    /// A new process starts.
    Start,
    /// The loop turns.
    Turn,
}

/// A history under way.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) pool: Pool,
    pub(crate) api: ApiServer,
    pub(crate) replica: Option<Replica>,
    steps: Vec<Step>,
    watches: Watches,
    executor: Executor,
    /// Which process this is: calls of earlier ones end with them.
    term: u64,
    agenda: BTreeMap<(Timestamp, u64), Happening>,
    scheduled: u64,
    pub(crate) now: Timestamp,
    /// The version that must be seen before anything is decided, once nothing is under way.
    barrier: Option<u64>,
    catching_up: bool,
    faults: bool,
    broken: Vec<(Kind, ObjectKey)>,
    profiles: usize,
    pub(crate) findings: Vec<String>,
    pub(crate) tally: Tally,
    trace: bool,
}

/// What happened in a history, in numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) attempts: u64,
    pub(crate) audits: u64,
    pub(crate) rescued: u64,
    pub(crate) restarts: u64,
    pub(crate) panics: u64,
    pub(crate) bound: u64,
    pub(crate) faults: u64,
}

/// The steps of the history of `seed`.
pub(crate) fn steps_of(seed: u64) -> Vec<Step> {
    let mut dice = Dice::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5eed);
    let count = dice.between(20, 70);
    let step = |index| {
        let action = steps::draw(&mut dice);
        let milliseconds = match (action, dice.below(10)) {
            (Action::Wait, _) => dice.between(10_000, 400_000),
            (_, 0..=3) => 0,
            (_, 4..=6) => dice.between(1, 200),
            _ => dice.between(200, 8_000),
        };
        let wait = Duration::from_millis(milliseconds as u64);
        Step {
            index,
            action,
            wait,
        }
    };
    (0..count as u64).map(step).collect()
}

impl World {
    /// The cluster of `seed` before anything happens.
    pub(crate) fn new(seed: u64, steps: Vec<Step>, trace: bool) -> Result<Self, String> {
        let pool = Pool::new(seed, SIZE)?;
        let mut dice = Dice::new(seed ^ 0xfa17);
        let faults = *dice.pick(&[&0, &5, &15, &40]);
        let mut world = Self {
            seed,
            pool,
            api: ApiServer::default(),
            replica: None,
            steps,
            watches: Watches::default(),
            executor: Executor::new(seed, faults),
            term: 0,
            agenda: BTreeMap::new(),
            scheduled: 0,
            now: BEGINNING,
            barrier: None,
            catching_up: true,
            faults: true,
            broken: Vec::new(),
            profiles: 0,
            findings: Vec::new(),
            tally: Tally::default(),
            trace,
        };
        world.api.tell_time(seconds(BEGINNING));
        world.populate(&mut dice);
        let mut at = BEGINNING + Duration::from_secs(1);
        for index in 0..world.steps.len() {
            at = at + world.steps[index].wait;
            world.push(at, Happening::Step(index));
        }
        world.push(BEGINNING, Happening::Start);
        world.push(BEGINNING, Happening::Controllers);
        Ok(world)
    }

    fn populate(&mut self, dice: &mut Dice) {
        for object in self.pool.others.clone() {
            if dice.chance(85) {
                self.api.create(object);
            }
        }
        for node in self.pool.nodes.clone() {
            if dice.chance(75) {
                self.api.create(node);
            }
        }
        for pod in self.pool.pods.clone() {
            if dice.chance(50) {
                self.api.create(pod);
            }
        }
    }

    fn push(&mut self, at: Timestamp, happening: Happening) {
        self.scheduled += 1;
        self.agenda.insert((at, self.scheduled), happening);
    }

    /// Runs until everything that is to happen by itself until `end` has happened.
    pub(crate) fn run_until(&mut self, end: Timestamp) {
        let mut turns = 0;
        while let Some(at) = self.next_time().filter(|at| *at <= end) {
            turns = if at > self.now { 0 } else { turns + 1 };
            self.now = self.now.max(at);
            self.turn();
            if turns > TURNS_MAX {
                return self
                    .findings
                    .push("the loop does not come to rest".to_owned());
            }
            if self.findings.len() > 20 {
                return;
            }
        }
        self.now = self.now.max(end);
    }

    /// When the last step is taken.
    pub(crate) fn last_step(&self) -> Timestamp {
        let waits = self.steps.iter().map(|step| step.wait);
        BEGINNING + Duration::from_secs(1) + waits.sum()
    }

    fn next_time(&self) -> Option<Timestamp> {
        let agenda = self.agenda.keys().next().map(|(at, _)| *at);
        let replica = self.replica.as_ref();
        let engine = replica.and_then(|replica| replica.engine().next_deadline());
        agenda.into_iter().chain(engine).min()
    }

    fn turn(&mut self) {
        self.api.tell_time(seconds(self.now));
        if let Some(replica) = &mut self.replica {
            let came = replica.tick(self.now);
            self.after(came);
        }
        while let Some(entry) = self
            .agenda
            .first_entry()
            .filter(|entry| entry.key().0 <= self.now)
        {
            let happening = entry.remove();
            self.happen(happening);
            self.send_changes();
        }
        self.catch_up();
        self.decide();
        self.send_changes();
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Step(index) => self.take_step(self.steps[index]),
            Happening::Controllers => {
                let mut dice = self.dice(11);
                let eagerness = if self.faults { 50 } else { 100 };
                controllers::sync(&mut self.api, &mut dice, eagerness);
                let pause = Duration::from_millis(dice.between(500, 4_000) as u64);
                self.push(self.now + pause, Happening::Controllers);
            }
            Happening::Watches => {
                let mut dice = self.dice(12);
                for event in self.watches.due(self.now, &mut dice) {
                    if let Some(replica) = &mut self.replica {
                        let came = replica.tell(event);
                        self.after(came);
                    }
                }
            }
            Happening::CarryOut(uid, term) if term == self.term => {
                if let Some(ended) = self.executor.carry_out(&uid, &mut self.api) {
                    let at = self.now + ended.after;
                    self.push(at, Happening::Complete(uid, term, Box::new(ended)));
                }
            }
            Happening::Complete(uid, term, ended) if term == self.term => {
                let started = self.executor.finish(&uid);
                self.start_call(started);
                self.complete(*ended);
            }
            Happening::Start => self.start(),
            Happening::CarryOut(..) | Happening::Complete(..) | Happening::Turn => {}
        }
    }

    /// Dice that depend on the seed and on how much has happened so far.
    fn dice(&self, salt: u64) -> Dice {
        Dice::new(self.seed ^ (self.scheduled << 8) ^ salt)
    }

    fn complete(&mut self, ended: Ended) {
        if !matches!(ended.outcome, EffectOutcome::Done { .. }) {
            self.tally.faults += 1;
        }
        if let Some(replica) = &mut self.replica {
            let came = replica.complete(ended.id, ended.outcome);
            self.after(came);
        }
    }

    /// Hands effects over, and looks after what became of the process.
    fn after(&mut self, came: Came) {
        let Some(replica) = &mut self.replica else {
            return;
        };
        self.findings.extend(replica.take_findings());
        for effect in replica.take_effects() {
            let (ended, started) = self.executor.submit(effect);
            self.start_call(started);
            if let Some(ended) = ended {
                let at = self.now + ended.after;
                self.push(
                    at,
                    Happening::Complete(PodUid("".into()), self.term, Box::new(ended)),
                );
            }
        }
        self.findings.extend(self.executor.take_findings());
        match came {
            Came::Back => {}
            Came::Recovered => {
                self.tally.panics += 1;
                self.catching_up = true;
                self.barrier = None;
            }
            Came::Ended => {
                self.tally.panics += 1;
                self.end_process(false);
            }
        }
    }

    fn start_call(&mut self, started: Option<Started>) {
        if let Some(Started { uid, after }) = started {
            self.push(self.now + after, Happening::CarryOut(uid, self.term));
        }
    }

    /// Tells the watches what happened at the API server.
    fn send_changes(&mut self) {
        for change in self.api.take_changes() {
            let mut dice = Dice::new(self.seed ^ (change.version() << 16) ^ 0xd);
            let after = match dice.below(12) {
                0 => dice.between(500, 5_000),
                1..=4 => 0,
                _ => dice.between(1, 100),
            };
            let after = Duration::from_millis(after as u64);
            let at = self.watches.send(change, self.now, after);
            self.push(at, Happening::Watches);
        }
    }

    /// Whether the watches have caught up, once nothing is under way.
    fn catch_up(&mut self) {
        if !self.catching_up || self.replica.is_none() {
            return;
        }
        if self.barrier.is_none() && self.executor.is_idle() {
            self.barrier = Some(self.api.version());
        }
        if self
            .barrier
            .is_some_and(|version| self.watches.have_seen(version))
        {
            self.catching_up = false;
        }
    }

    fn decide(&mut self) {
        if self.catching_up {
            return;
        }
        if self.faults && self.dice(14).chance(5) {
            // The dispatcher has no room for a moment.
            return self.push(self.now + Duration::from_millis(100), Happening::Turn);
        }
        for _ in 0..CYCLES_PER_TURN {
            let (Some(replica), api) = (&mut self.replica, &self.api) else {
                return;
            };
            let ours_on = |node: &str| api.ours_on(node).collect();
            match replica.decide(ours_on) {
                Ok(Some(_)) => self.after(Came::Back),
                Ok(None) => return self.after(Came::Back),
                Err(came) => return self.after(came),
            }
        }
        self.push(self.now, Happening::Turn);
    }

    /// Writes a line, if somebody wants to see what happens.
    pub(crate) fn trace(&self, line: impl FnOnce() -> String) {
        if self.trace {
            eprintln!("{}", line());
        }
    }

    fn take_step(&mut self, step: Step) {
        self.trace(|| format!("{:?} step {} {:?}", self.now, step.index, step.action));
        let mut dice = Dice::new(self.seed ^ (step.index + 1).wrapping_mul(0x1234_5678_9abc_def1));
        let (pool, api) = (&self.pool, &mut self.api);
        match step.action {
            Action::CreatePods => steps::create_pods(pool, api, &mut dice),
            Action::DeletePod => steps::delete_pod(api, &mut dice),
            Action::RecreatePod => steps::recreate_pod(pool, api, &mut dice),
            Action::ChangePod => steps::change_pod(api, &mut dice),
            Action::EndPod => steps::end_pod(api, &mut dice),
            Action::BindByOther => steps::bind_by_other(api, &mut dice),
            Action::CreateNode => steps::create_node(pool, api, &mut dice),
            Action::DeleteNode => steps::delete_node(pool, api, &mut dice),
            Action::ChangeNode => steps::change_node(pool, api, &mut dice),
            Action::Other => steps::change_other(pool, api, &mut dice),
            Action::Break => self.broken.extend(steps::break_object(api, &mut dice)),
            Action::Relist => self.relist(&mut dice),
            Action::LoseLeadership => self.end_process(true),
            Action::ChangeProfiles => self.change_profiles(&mut dice),
            Action::Wait => {}
        }
    }

    /// The watch of a kind, mostly of pods, breaks.
    fn relist(&mut self, dice: &mut Dice) {
        let kind = match dice.below(4) {
            0 => KINDS[dice.below(KINDS.len())],
            1 => Kind::Node,
            _ => Kind::Pod,
        };
        self.send_changes();
        let after = Duration::from_millis(dice.between(0, 3_000) as u64);
        let at = self.watches.list(&self.api, kind, self.now + after);
        self.push(at, Happening::Watches);
    }

    /// All profiles, all but one, or the default one in place of the first.
    fn change_profiles(&mut self, dice: &mut Dice) {
        self.profiles = dice.below(3);
        let profiles = self.running_profiles();
        if let Some(replica) = &mut self.replica {
            let came = replica.change_profiles(profiles);
            self.after(came);
        }
    }

    pub(crate) fn running_profiles(
        &self,
    ) -> Vec<bayplan::apis::effective_profile::EffectiveProfile> {
        let mut profiles = self.pool.profiles.clone();
        match self.profiles {
            0 => {}
            1 => profiles[0] = self.pool.default.clone(),
            _ => {
                profiles.pop();
            }
        }
        profiles
    }

    /// The process ends, by a panic or since it does not lead any more; another one starts.
    fn end_process(&mut self, tells: bool) {
        let ended = self.executor.stop(&mut self.api);
        if let (true, Some(mut replica)) = (tells, self.replica.take()) {
            for id in ended {
                replica.complete(id, not_leading());
            }
            self.findings.extend(replica.take_findings());
            self.add_to_tally(&replica);
        } else if let Some(replica) = self.replica.take() {
            self.add_to_tally(&replica);
        }
        self.tally.restarts += 1;
        self.push(self.now + Duration::from_secs(5), Happening::Start);
    }

    fn add_to_tally(&mut self, replica: &Replica) {
        self.tally.attempts += replica.attempts;
        self.tally.audits += replica.audits;
        self.tally.rescued += replica.rescued;
    }

    fn start(&mut self) {
        if self.replica.is_some() {
            return;
        }
        self.term += 1;
        let faults = if self.faults { self.executor.faults } else { 0 };
        self.executor = Executor::new(self.seed ^ self.term, faults);
        self.watches = Watches::default();
        self.api.take_changes();
        let mut dice = self.dice(15);
        for kind in KINDS {
            let after = Duration::from_millis(dice.between(0, 1_500) as u64);
            let at = self.watches.list(&self.api, kind, self.now + after);
            self.push(at, Happening::Watches);
        }
        self.barrier = None;
        self.catching_up = true;
        let config = EngineConfig {
            seed: self.seed,
            ..EngineConfig::default()
        };
        let mut replica = Replica::new(config, self.running_profiles(), self.now, self.trace);
        self.findings.extend(replica.take_findings());
        self.replica = Some(replica);
    }

    /// Nothing goes wrong any more.
    pub(crate) fn stop_faults(&mut self) {
        self.faults = false;
        self.executor.faults = 0;
        for (kind, key) in std::mem::take(&mut self.broken) {
            steps::mend_object(&mut self.api, kind, &key);
        }
        steps::defuse(&mut self.api);
        self.push(self.now, Happening::Turn);
    }

    /// The history is over.
    pub(crate) fn close(&mut self) {
        if let Some(mut replica) = self.replica.take() {
            self.findings.extend(replica.take_findings());
            self.add_to_tally(&replica);
            self.replica = Some(replica);
        }
    }

    /// Whether effects are under way.
    pub(crate) fn is_busy(&self) -> bool {
        !self.executor.is_idle() || self.catching_up
    }

    /// Effects under way and what is awaited, for people.
    pub(crate) fn is_undecided(&self, uid: &PodUid) -> bool {
        self.replica
            .as_ref()
            .is_some_and(|replica| replica.has_set_aside(uid))
    }
}

fn not_leading() -> EffectOutcome {
    EffectOutcome::Failed(EffectFailure {
        kind: FailureKind::NotLeading,
        message: "this replica does not lead any more".to_owned(),
    })
}

fn seconds(time: Timestamp) -> i64 {
    time.as_micros().div_euclid(1_000_000)
}
