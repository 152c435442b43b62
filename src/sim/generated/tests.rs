use super::*;

/// All decisions, and the summary.
fn decide(options: &str, seed: u64) -> (Vec<GeneratedDecision>, GeneratedSummary) {
    let simulate = SimulateOptions {
        seed,
        ..SimulateOptions::default()
    };
    let mut decisions = Vec::new();
    let keep = |decision: &GeneratedDecision| {
        decisions.push(decision.clone());
        ControlFlow::Continue(())
    };
    let options = options.parse().unwrap();
    let summary = run(Vec::new(), &simulate, &options, |_| (), keep).unwrap();
    (decisions, summary)
}

fn problem(options: &str) -> String {
    options.parse::<GenerateOptions>().unwrap_err().to_string()
}

#[test]
fn the_same_options_and_seed_give_the_same_decisions() {
    let options = "nodes=60,pods=300,running=2";
    assert_eq!(decide(options, 7), decide(options, 7));
    assert_ne!(decide(options, 7).0, decide(options, 8).0);
}

#[test]
fn each_shape_gets_what_it_asks_for() {
    let (decisions, summary) = decide("nodes=200,pods=500,zones=5", 1);
    assert_eq!(decisions.len(), 500);
    let shape = |shape| &summary.shapes[&shape];
    let apart = shape(Shape::AntiAffinityHost);
    assert_eq!((apart.scheduled, apart.by_node.len()), (100, 100));
    assert_eq!(shape(Shape::SpreadZone).by_zone.values().max(), Some(&20));
    assert_eq!(shape(Shape::AffinityZone).by_zone.len(), 1);
    let zones = &shape(Shape::NodeAffinityZone).by_zone;
    assert_eq!(zones.keys().collect::<Vec<_>>(), [&0]);
}

#[test]
fn pods_that_fit_nowhere_are_refused_with_the_reason() {
    let (_, summary) = decide("nodes=10,pods=100,workload=anti-affinity-host", 1);
    let apart = &summary.shapes[&Shape::AntiAffinityHost];
    assert_eq!(apart.scheduled + apart.refused, 100);
    assert!(apart.scheduled <= 10);
    let message = apart.first_refusal.as_deref().unwrap();
    assert!(message.starts_with("0/10 nodes are available"), "{message}");
}

#[test]
fn a_run_ends_when_it_is_told_to() {
    let options = "nodes=5,pods=50".parse().unwrap();
    let stop = |_: &GeneratedDecision| ControlFlow::Break(());
    let summary = run(
        Vec::new(),
        &SimulateOptions::default(),
        &options,
        |_| (),
        stop,
    );
    assert_eq!(summary.unwrap().shapes[&Shape::Plain].scheduled, 1);
}

#[test]
fn options_that_cannot_be_used_are_told() {
    assert_eq!(
        problem("nodes=0,pods=1"),
        "nodes must be a whole number from 1 to 10000000, not \"0\""
    );
    assert_eq!(problem("nodes=5"), "pods= is missing; write nodes=N,pods=M");
    assert!(problem("nodes=5,pods=1,speed=9").starts_with("\"speed=9\" is not understood"));
    assert!(problem("nodes=5,pods=1,workload=odd").starts_with("there is no workload \"odd\""));
}
