//! Voices from outside.

use super::*;
use crate::engine::framework::extender::{Answer, Question};

#[derive(Debug)]
struct Outside;

impl Extender for Outside {
    fn name(&self) -> PluginName {
        "outside"
    }

    fn question(&self, pod: &PodView<'_>, feasible: &[NodeView<'_>]) -> Option<Question> {
        (&*pod.info.key.name == "asked").then(|| Question {
            extender: self.name(),
            nodes: feasible.iter().map(|n| Arc::clone(n.name())).collect(),
        })
    }
}

/// A driver whose pod `asked` is suspended, and the question.
fn suspended() -> (Driver, EffectId) {
    let nodes = [small("a"), small("b")];
    let mut driver = Driver::new(nodes).with_probes(&[], vec![Arc::new(Outside)]);
    driver.pod(&make_pod("asked").request("cpu", "1"));
    assert_eq!(driver.outcome(), Outcome::Suspended);
    let question = driver.action("extender");
    (driver, question)
}

fn opinion(rejected: &[(&str, &'static str)]) -> EffectOutcome {
    let rejected = rejected.iter().map(|(n, why)| ((*n).into(), (*why).into()));
    EffectOutcome::Answered(Answer::Opinion {
        rejected: rejected.collect(),
        scores: std::collections::BTreeMap::new(),
        weight: 1,
    })
}

#[test]
fn others_go_on_meanwhile_and_the_answer_is_judged_against_the_cluster_as_it_is() {
    let (mut driver, question) = suspended();
    driver.pod(
        &make_pod("other")
            .request("cpu", "1")
            .node_selector("kubernetes.io/hostname", "a"),
    );
    assert_eq!(driver.placed(), "a");
    assert!(driver.schedule().is_none());
    driver.complete(question, opinion(&[("b", "not there")]));
    assert_eq!(
        driver.message(),
        "0/2 nodes are available: 1 Insufficient cpu, 1 not there."
    );
}

#[test]
fn an_answer_that_is_late_or_comes_twice_is_ignored() {
    let (mut driver, question) = suspended();
    driver.complete(question, opinion(&[("a", "not there")]));
    driver.complete(question, opinion(&[]));
    assert_eq!(driver.placed(), "b");
    assert!(driver.schedule().is_none());
    let (mut driver, question) = suspended();
    driver.delete(&make_pod("asked"));
    driver.complete(question, opinion(&[]));
    assert!(driver.schedule().is_none());
    driver.assert_empty();
}

#[test]
fn without_an_answer_the_attempt_fails_unless_it_may_be_ignored() {
    let answered = EffectOutcome::Answered(Answer::Failed("no reply".to_owned()));
    for outcome in [answered, failed("no reply")] {
        let (mut driver, question) = suspended();
        driver.complete(question, outcome);
        let message = "no reply".to_owned();
        assert_eq!(driver.outcome(), Outcome::Error { message });
    }
    let (mut driver, question) = suspended();
    driver.complete(question, EffectOutcome::Answered(Answer::Ignored));
    driver.placed();
}

#[test]
fn a_node_that_the_extender_was_not_asked_about_is_not_taken() {
    let (mut driver, question) = suspended();
    driver.node(&make_node("late"));
    driver.complete(question, opinion(&[("a", "no"), ("b", "no")]));
    assert_eq!(
        driver.message(),
        "0/3 nodes are available: 1 node(s) fit only after the extender was asked, 2 no."
    );
    assert_eq!(driver.place(&make_pod("asked")), Some(Place::Backoff));
}
