//! Whatever happens in whatever order, each pod is in exactly one place and none is forgotten.

use proptest::collection::vec;
use proptest::prelude::{Just, any, prop_oneof, proptest};
use proptest::strategy::Strategy as Generator;

use super::*;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const EVENTS: [ClusterEventKind; 3] = [
    NODE_ADDED,
    POD_DELETED,
    ClusterEventKind::wildcard("Everything"),
];

#[derive(Clone, Debug)]
enum Operation {
    Add(usize, i32),
    Update(usize, i32, bool),
    Delete(usize),
    Pop,
    Requeue(usize, u8),
    Done(usize),
    PutBack(bool),
    Event(usize, Option<usize>),
    Activate(usize),
    Gate(usize, bool),
    Wait(u64),
}

fn operation() -> impl Generator<Value = Operation> {
    let pod = 0..NAMES.len();
    prop_oneof![
        1 => (pod.clone(), -2..3).prop_map(|(pod, priority)| Operation::Add(pod, priority)),
        1 => (pod.clone(), -2..3, any::<bool>())
            .prop_map(|(pod, priority, gates)| Operation::Update(pod, priority, gates)),
        1 => pod.clone().prop_map(Operation::Delete),
        3 => Just(Operation::Pop),
        3 => (pod.clone(), 0..4_u8).prop_map(|(pod, why)| Operation::Requeue(pod, why)),
        1 => pod.clone().prop_map(Operation::Done),
        1 => any::<bool>().prop_map(Operation::PutBack),
        2 => (0..EVENTS.len(), proptest::option::of(pod.clone()))
            .prop_map(|(event, pod)| Operation::Event(event, pod)),
        1 => pod.clone().prop_map(Operation::Activate),
        1 => (pod, any::<bool>()).prop_map(|(pod, shut)| Operation::Gate(pod, shut)),
        2 => (0..400_000_u64).prop_map(Operation::Wait),
    ]
}

fn rejectors(why: u8) -> Rejectors {
    match why {
        0 => Rejectors::error(),
        1 => by(&[FIT]),
        2 => pending(WAIT),
        _ => by(&[FIT, GATE]),
    }
}

/// The queue with the pods that it should have.
struct Model {
    script: Script,
    here: BTreeSet<&'static str>,
    binding: Vec<QueuedPod>,
}

impl Model {
    fn new() -> Self {
        let mut script = Script::new();
        script.plugins.scope = HintScope::Class;
        script.hint(FIT, NODE_ADDED, true);
        script.hint(FIT, POD_DELETED, false);
        script.hint(WAIT, POD_DELETED, true);
        script.hint(GATE, GATES_GONE, true);
        Self {
            script,
            here: BTreeSet::new(),
            binding: Vec::new(),
        }
    }

    fn is_binding(&self, name: &str) -> bool {
        self.binding.iter().any(|pod| pod.info.uid == uid(name))
    }

    fn apply(&mut self, operation: &Operation) {
        let script = &mut self.script;
        match *operation {
            // A pod on its way to a node is the engine's and does not come by the watch.
            Operation::Add(pod, _) | Operation::Update(pod, ..)
                if self.binding.iter().any(|p| p.info.uid == uid(NAMES[pod])) => {}
            Operation::Add(pod, priority) => {
                script.add_with_priority(NAMES[pod], priority);
                self.here.insert(NAMES[pod]);
            }
            Operation::Update(pod, priority, gates) => {
                let event = if gates { GATES_GONE } else { LABEL_CHANGED };
                script.update(NAMES[pod], priority, event);
                self.here.insert(NAMES[pod]);
            }
            Operation::Delete(pod) => {
                let was_here = self.here.remove(NAMES[pod]);
                assert_eq!(script.queue.delete(&uid(NAMES[pod])).is_some(), was_here);
            }
            Operation::Pop => {
                script.pop();
            }
            Operation::Requeue(pod, why) => script.requeue(NAMES[pod], rejectors(why)),
            Operation::Done(pod) => {
                if let Some(queued) = script.queue.done(&uid(NAMES[pod])) {
                    self.here.remove(NAMES[pod]);
                    self.binding.push(queued);
                }
            }
            Operation::PutBack(is_error) => self.put_back(is_error),
            Operation::Event(event, pod) => script.move_all(&RecordedChange {
                pod: pod.map(|pod| uid(NAMES[pod])),
                ..RecordedChange::of(EVENTS[event])
            }),
            Operation::Activate(pod) => script.activate(NAMES[pod]),
            Operation::Gate(pod, true) => script.gate(NAMES[pod]),
            Operation::Gate(pod, false) => script.ungate(NAMES[pod]),
            Operation::Wait(millis) => script.wait(Duration::from_millis(millis)),
        }
    }

    fn put_back(&mut self, is_error: bool) {
        let Some(pod) = self.binding.pop() else {
            return;
        };
        let name = NAMES.into_iter().find(|name| pod.info.uid == uid(name));
        self.here.extend(name);
        let why = rejectors(u8::from(!is_error));
        let script = &mut self.script;
        script.queue.put_back(script.now, pod, why, &script.plugins);
    }

    fn check(&self) {
        self.script.check();
        for name in NAMES {
            let is_here = self.here.contains(name);
            assert_eq!(self.script.place(name).is_some(), is_here, "{name}");
            assert!(!(is_here && self.is_binding(name)));
        }
        let places = [
            Place::Active,
            Place::Backoff,
            Place::Unschedulable,
            Place::Gated,
            Place::InFlight,
        ];
        let counted: usize = places
            .map(|place| self.script.queue.count(place))
            .iter()
            .sum();
        assert_eq!(counted, self.here.len());
    }

    /// Ends all attempts and opens all gates; then every pod must come up again within the flush.
    fn assert_nobody_is_forgotten(mut self) {
        self.script.plugins.gated.clear();
        for name in NAMES {
            self.script.requeue(name, by(&[FIT]));
        }
        for _ in 0..24 {
            self.script.wait(Duration::from_secs(30));
        }
        let popped: BTreeSet<String> = self.script.pop_all().into_iter().collect();
        let here: BTreeSet<String> = self.here.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(popped, here);
    }
}

proptest! {
    #[test]
    fn each_pod_is_in_one_place_and_comes_up_again(operations in vec(operation(), 1..80)) {
        let mut model = Model::new();
        for operation in &operations {
            model.apply(operation);
            model.check();
        }
        model.assert_nobody_is_forgotten();
    }
}
