use std::collections::BTreeSet;

use super::*;

/// A population that is full, and everything that happens in so many steps.
fn played(running: usize, rate: usize, steps: usize) -> (Vec<Step>, Population) {
    let mut population = Population::new(running, rate);
    let mut all = population.fill();
    for _ in 0..steps {
        all.extend(population.advance());
    }
    (all, population)
}

#[test]
fn the_first_pods_all_fit_and_are_as_many_as_asked_for() {
    let (steps, _) = played(1_000, 20, 0);
    let pods: Vec<Pod> = made(&steps).collect();
    assert_eq!(pods.len(), 1_000);
    assert!(pods.iter().all(|pod| pod.kind() != Kind::Misfit));
}

#[test]
fn as_many_pods_fit_however_many_came() {
    let mut population = Population::new(1_000, 20);
    let mut there = 0_usize;
    for step in population.fill() {
        there += usize::from(matches!(step, Step::Make(_)));
    }
    for _ in 0..5_000 {
        for step in population.advance() {
            match step {
                Step::Make(pod) if pod.kind() != Kind::Misfit => there += 1,
                Step::Delete(pod) if pod.kind() != Kind::Misfit => there -= 1,
                _ => {}
            }
        }
        assert_eq!(there, 1_000);
    }
}

#[test]
fn pods_that_never_fit_go_after_a_while_and_stay_few() {
    let (steps, population) = played(10_000, 20, 20_000);
    // A seventh of those that come within 50 s.
    let few = 20 * 50 / 7;
    assert!(population.misfits.len().abs_diff(few) <= 1);
    assert!(deleted(&steps).any(|pod| pod.kind() == Kind::Misfit));
}

#[test]
fn every_gate_opens_after_its_pod_came_and_before_it_goes() {
    let (steps, mut population) = played(1_000, 20, 5_000);
    let mut behind = BTreeSet::new();
    // The first pods have a node, and no gate.
    let first = Population::new(1_000, 20).fill().len();
    for step in &steps[first..] {
        match step {
            Step::Make(pod) if pod.kind() == Kind::Gated => assert!(behind.insert(pod.number)),
            Step::OpenGate(pod) => assert!(behind.remove(&pod.number)),
            Step::Delete(pod) => assert!(!behind.contains(&pod.number)),
            _ => {}
        }
    }
    assert!(!behind.is_empty());
    for step in population.open_all() {
        assert!(matches!(step, Step::OpenGate(pod) if behind.remove(&pod.number)));
    }
    assert!(behind.is_empty());
}

#[test]
fn a_namespace_is_there_before_its_pods_and_until_they_are_gone() {
    // One that is replaced faster than a misfit would go by its time alone.
    for (running, rate) in [(1_000, 20), (100, 50), (10_000, 1)] {
        let (steps, _) = played(running, rate, running * 5);
        let (mut namespaces, mut pods) = (BTreeSet::new(), BTreeSet::new());
        let mut dropped = 0;
        for step in &steps {
            match step {
                Step::MakeNamespace(name) => assert!(namespaces.insert(name.clone())),
                Step::Make(pod) => {
                    assert!(namespaces.contains(&pod.namespace()));
                    pods.insert((pod.namespace(), pod.number));
                }
                Step::Delete(pod) => assert!(pods.remove(&(pod.namespace(), pod.number))),
                Step::DropNamespace(name) => {
                    assert!(namespaces.remove(name), "{name}");
                    assert!(!pods.iter().any(|(namespace, _)| namespace == name));
                    dropped += 1;
                }
                Step::OpenGate(_) => {}
            }
        }
        assert!(dropped > 20, "{dropped}");
        assert!(namespaces.len() <= NAMESPACES * 2, "{namespaces:?}");
    }
}

#[test]
fn a_pods_name_says_whether_it_fits() {
    let (steps, _) = played(100, 5, 700);
    for pod in made(&steps) {
        assert_eq!(fits(&pod.name()), pod.kind() != Kind::Misfit);
    }
}

fn made(steps: &[Step]) -> impl Iterator<Item = Pod> {
    steps.iter().filter_map(|step| match step {
        Step::Make(pod) => Some(*pod),
        _ => None,
    })
}

fn deleted(steps: &[Step]) -> impl Iterator<Item = Pod> {
    steps.iter().filter_map(|step| match step {
        Step::Delete(pod) => Some(*pod),
        _ => None,
    })
}
