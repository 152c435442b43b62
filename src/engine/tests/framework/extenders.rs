//! Voices from outside.

mod bindings;
mod preemptions;

use std::collections::BTreeMap;

use super::*;
use crate::engine::framework::extender::{Answer, Filtered, Question, Subject};

const MANAGED: &str = "example.com/outside";

/// A driver with nodes of one core each and these extenders.
fn driver(nodes: &[&str], extenders: &serde_json::Value) -> Driver {
    Driver::new(nodes.iter().map(|name| small(name))).with_probes(&[], extenders)
}

/// An extender that filters the pods that request what it manages.
fn filtering() -> serde_json::Value {
    json!([{"urlPrefix": "http://outside", "filterVerb": "filter", "nodeCacheCapable": true,
        "managedResources": [{"name": MANAGED, "ignoredByScheduler": true}]}])
}

/// A pod that the extender is interested in.
fn asked(name: &str) -> PodBuilder {
    make_pod(name).request("cpu", "1").request(MANAGED, "1")
}

impl Driver {
    /// The questions since the last look, each with its address and its nodes.
    fn questions(&mut self) -> Vec<(EffectId, Question)> {
        let effects = self.effects.drain(..);
        let question = |effect: Effect| match effect.action {
            EffectAction::Ask(question) => Some((effect.id, question)),
            _ => None,
        };
        effects.filter_map(question).collect()
    }

    /// The only question.
    fn question(&mut self) -> (EffectId, Question) {
        let mut questions = self.questions();
        assert_eq!(questions.len(), 1, "{questions:?}");
        questions.remove(0)
    }

    /// Lets every open question be answered by `say`, until the pod is decided.
    fn outcome_with(&mut self, say: impl Fn(&str, &[&str]) -> Answer) -> Outcome {
        loop {
            let outcome = self.outcome();
            if outcome != Outcome::Suspended {
                return outcome;
            }
            for (id, question) in self.questions() {
                let nodes: Vec<&str> = match &question.subject {
                    Subject::Filter { nodes, .. } | Subject::Prioritize { nodes } => {
                        nodes.iter().map(|name| &**name).collect()
                    }
                    Subject::Preempt { candidates, .. } => {
                        candidates.keys().map(|name| &**name).collect()
                    }
                };
                let answer = say(&question.extender.url_prefix, &nodes);
                self.complete(id, EffectOutcome::Answered(answer));
            }
        }
    }

    fn message_with(&mut self, say: impl Fn(&str, &[&str]) -> Answer) -> String {
        match self.outcome_with(say) {
            Outcome::Unschedulable { message } | Outcome::Error { message } => message,
            other => panic!("the pod must not be placed, but {other:?}"),
        }
    }

    fn placed_with(&mut self, say: impl Fn(&str, &[&str]) -> Answer) -> String {
        match self.outcome_with(say) {
            Outcome::Scheduled { node } => node.to_string(),
            other => panic!("the pod must be placed, not {other:?}"),
        }
    }
}

fn told(told: &[(&str, &str)]) -> BTreeMap<Arc<str>, String> {
    let told = told.iter();
    told.map(|(node, why)| ((*node).into(), (*why).to_owned()))
        .collect()
}

/// These nodes will do, and the others will not for these reasons.
fn fits(nodes: &[&str], failed: &[(&str, &str)]) -> Answer {
    Answer::Filtered(Filtered {
        nodes: nodes.iter().map(|name| Arc::from(*name)).collect(),
        by_name: true,
        failed: told(failed),
        unresolvable: BTreeMap::new(),
    })
}

fn score(scores: &[(&str, i64)]) -> Answer {
    let scores = scores
        .iter()
        .map(|(node, score)| (Arc::from(*node), *score));
    Answer::Prioritized(scores.collect())
}

/// A driver whose pod `asked` is suspended, and the question.
fn suspended() -> (Driver, EffectId) {
    let mut driver = driver(&["a", "b"], &filtering());
    driver.pod(&asked("asked"));
    assert_eq!(driver.outcome(), Outcome::Suspended);
    let (question, _) = driver.question();
    (driver, question)
}

#[test]
fn others_go_on_meanwhile_and_the_answer_is_judged_against_the_cluster_as_it_is() {
    let (mut driver, question) = suspended();
    let other = make_pod("other").request("cpu", "1");
    driver.pod(&other.node_selector("kubernetes.io/hostname", "a"));
    assert_eq!(driver.placed(), "a");
    assert!(driver.schedule().is_none());
    let answer = fits(&["a"], &[("b", "not there")]);
    driver.complete(question, EffectOutcome::Answered(answer));
    assert_eq!(
        driver.message(),
        "0/2 nodes are available: 1 Insufficient cpu, 1 not there."
    );
}

#[test]
fn pods_of_one_profile_are_asked_about_one_after_the_other_and_by_priority() {
    let (mut driver, question) = suspended();
    driver.pod(&asked("low"));
    assert_eq!(driver.outcome(), Outcome::Suspended);
    driver.pod(&asked("high").priority(9));
    assert_eq!(driver.outcome(), Outcome::Suspended);
    assert_eq!(driver.questions(), [], "they wait for the first");
    driver.complete(question, EffectOutcome::Answered(fits(&["a"], &[])));
    assert_eq!(driver.placed(), "a");
    assert_eq!(driver.outcome(), Outcome::Suspended);
    let (second, question) = driver.question();
    assert_eq!(question.subject, about(&["b"]), "a is taken");
    driver.complete(second, EffectOutcome::Answered(fits(&["b"], &[])));
    let decision = driver.schedule().unwrap();
    assert_eq!(&*decision.pod.name, "high");
    assert_eq!(
        driver.message(),
        "0/2 nodes are available: 2 Insufficient cpu.",
        "no node is left to ask about"
    );
    assert!(driver.schedule().is_none());
}

fn about(nodes: &[&str]) -> Subject {
    Subject::Filter {
        nodes: nodes.iter().map(|name| Arc::from(*name)).collect(),
        promised: false,
    }
}

#[test]
fn a_pod_that_is_gone_makes_way_for_the_next() {
    let (mut driver, _) = suspended();
    for name in ["gone", "next"] {
        driver.pod(&asked(name));
        assert_eq!(driver.outcome(), Outcome::Suspended);
    }
    driver.delete(&asked("gone"));
    driver.delete(&asked("asked"));
    assert_eq!(driver.outcome(), Outcome::Suspended);
    assert_eq!(driver.questions().len(), 1);
    driver.delete(&asked("next"));
    assert!(driver.schedule().is_none());
    driver.assert_empty();
}

#[test]
fn an_answer_that_is_late_or_comes_twice_is_ignored() {
    let (mut driver, question) = suspended();
    let answer = || EffectOutcome::Answered(fits(&["b"], &[]));
    driver.complete(question, answer());
    driver.complete(question, answer());
    assert_eq!(driver.placed(), "b");
    assert!(driver.schedule().is_none());
    let (mut driver, question) = suspended();
    driver.delete(&asked("asked"));
    driver.complete(question, answer());
    assert!(driver.schedule().is_none());
    driver.assert_empty();
}

#[test]
fn an_answer_to_an_earlier_attempt_does_not_count_for_the_next_one() {
    let (mut driver, question) = suspended();
    driver.pod(&asked("waits"));
    assert_eq!(driver.outcome(), Outcome::Suspended);
    // The profile goes and comes back: the attempt is over, and both pods are new.
    driver
        .engine
        .handle(ClusterEvent::ProfilesChanged(Vec::new()));
    let mut driver = driver.with_probes(&[], &filtering());
    for name in ["asked", "waits"] {
        driver.pod(&asked(name));
        assert_eq!(driver.outcome(), Outcome::Suspended);
    }
    let (again, _) = driver.question();
    let answer = |node| EffectOutcome::Answered(fits(&[node], &[]));
    driver.complete(question, answer("a"));
    assert!(driver.schedule().is_none(), "the second question is open");
    driver.complete(again, answer("b"));
    assert_eq!(driver.placed(), "b");
    assert_eq!(driver.outcome(), Outcome::Suspended);
    assert_eq!(driver.questions().len(), 1);
    assert!(driver.schedule().is_none(), "it has one turn");
}

#[test]
fn without_an_answer_the_attempt_fails_with_the_error_as_it_is() {
    let answered = EffectOutcome::Answered(Answer::Failed("no reply".to_owned()));
    for outcome in [answered, failed("no reply")] {
        let (mut driver, question) = suspended();
        driver.complete(question, outcome);
        let message = "no reply".to_owned();
        assert_eq!(driver.outcome(), Outcome::Error { message });
        assert_eq!(driver.place(&asked("asked")), Some(Place::Backoff));
    }
}

#[test]
fn those_that_may_be_ignored_come_last_and_do_no_harm() {
    let mut driver = driver(
        &["a", "b", "c"],
        &json!([
            {"urlPrefix": "http://maybe", "filterVerb": "f", "ignorable": true},
            {"urlPrefix": "http://must", "filterVerb": "f"},
        ]),
    );
    driver.pod(&make_pod("p"));
    let placed = driver.placed_with(|who, nodes| {
        if who == "http://must" {
            return fits(&nodes[1..2], &[]);
        }
        assert_eq!(nodes.len(), 1, "only what the other one left");
        Answer::Failed("down".to_owned())
    });
    assert_eq!(placed, "b");
}

#[test]
fn each_extender_sees_what_the_ones_before_left_and_the_last_word_about_a_node_counts() {
    let extenders = json!([
        {"urlPrefix": "http://1", "filterVerb": "f"},
        {"urlPrefix": "http://2", "filterVerb": "f"},
    ]);
    let mut driver = driver(&["a", "b", "c", "full"], &extenders);
    driver.pod(&make_pod("old").on("full").request("cpu", "1"));
    driver.pod(&make_pod("p").request("cpu", "1"));
    let message = driver.message_with(|who, nodes| {
        if who == "http://1" {
            assert_eq!(nodes, ["a", "b", "c"]);
            // `full` is known better, `x` is unknown, and `c` goes without a word.
            let failed = [("a", "not quite"), ("full", "too full"), ("x", "what")];
            return fits(&["a", "b"], &failed);
        }
        assert_eq!(nodes, ["a", "b"]);
        fits(&[], &[("b", "no")])
    });
    assert_eq!(
        message,
        "0/4 nodes are available: 1 no, 1 not quite, 1 too full, 1 what."
    );
    assert_eq!(
        driver.place(&make_pod("p")),
        Some(Place::Unschedulable),
        "nothing happened meanwhile"
    );
    driver.delete(&make_pod("old").on("full").request("cpu", "1"));
    assert_eq!(
        driver.place(&make_pod("p")),
        Some(Place::Backoff),
        "any event wakes a pod that an extender refused"
    );
}

#[test]
fn what_evictions_cannot_help_is_said_so_and_wins() {
    let mut driver = driver(&["a", "b"], &filtering());
    driver.pod(&asked("p"));
    let decision = loop {
        let decision = driver.schedule().unwrap();
        if decision.outcome != Outcome::Suspended {
            break decision;
        }
        let (id, _) = driver.question();
        let answer = Answer::Filtered(Filtered {
            failed: told(&[("a", "later"), ("b", "later")]),
            unresolvable: told(&[("b", "never")]),
            ..Filtered::default()
        });
        driver.complete(id, EffectOutcome::Answered(answer));
    };
    assert_eq!(
        decision.diagnosis.to_string(),
        "0/2 nodes are available: 1 later, 1 never."
    );
    assert_eq!(decision.diagnosis.resolvable_count, 1);
}

#[test]
fn a_name_that_was_not_asked_about_is_an_error_and_a_node_that_is_shown_is_passed_over() {
    let mut driver = driver(&["a"], &filtering());
    driver.pod(&asked("p"));
    let message = driver.message_with(|_, _| fits(&["a", "other"], &[]));
    assert_eq!(
        message,
        "extender \"http://outside\" claims a filtered node \"other\" which is not found in the \
         input node list"
    );
    driver.wait(Duration::from_secs(10));
    let placed = driver.placed_with(|_, _| {
        Answer::Filtered(Filtered {
            nodes: vec!["a".into(), "other".into()],
            ..Filtered::default()
        })
    });
    assert_eq!(placed, "a");
}

#[test]
fn a_node_that_the_extender_was_not_asked_about_is_not_taken() {
    let (mut driver, question) = suspended();
    driver.node(&small("late"));
    let answer = fits(&[], &[("a", "no"), ("b", "no")]);
    driver.complete(question, EffectOutcome::Answered(answer));
    assert_eq!(
        driver.message(),
        "0/3 nodes are available: 1 node(s) fit only after the extender was asked, 2 no."
    );
    assert_eq!(driver.place(&asked("asked")), Some(Place::Backoff));
}

#[test]
fn a_nominated_node_is_asked_about_alone_and_then_with_the_others() {
    let nominated = asked("p").status(json!({"nominatedNodeName": "b"}));
    let mut driver = driver(&["a", "b"], &filtering());
    driver.pod(&nominated);
    let placed = driver.placed_with(|_, nodes| {
        if nodes == ["b"] {
            return Answer::Failed("not now".to_owned());
        }
        assert_eq!(nodes, ["a", "b"]);
        fits(&["a"], &[])
    });
    assert_eq!(placed, "a");
}

#[test]
fn scores_count_ten_times_their_weight_and_are_asked_for_at_once() {
    let extenders = json!([
        {"urlPrefix": "http://1", "prioritizeVerb": "p", "weight": 1},
        {"urlPrefix": "http://2", "prioritizeVerb": "p", "weight": 3},
        {"urlPrefix": "http://down", "prioritizeVerb": "p", "weight": 9},
    ]);
    let mut driver = driver(&["a", "b", "c"], &extenders);
    driver.pod(&make_pod("p"));
    assert_eq!(driver.outcome(), Outcome::Suspended);
    let questions = driver.questions();
    assert_eq!(questions.len(), 3);
    for ((id, _), answer) in questions.into_iter().zip([
        score(&[("a", 10), ("c", 4)]),
        score(&[("b", 3), ("c", 4), ("unknown", 9)]),
        Answer::Failed("down".to_owned()),
    ]) {
        driver.complete(id, EffectOutcome::Answered(answer));
    }
    let decision = driver.schedule().unwrap();
    let best: BTreeMap<_, _> = decision.best.iter().cloned().collect();
    let at = |node: &str| best[node];
    assert_eq!((at("a") - at("b"), at("c") - at("b")), (100 - 90, 160 - 90));
}

#[test]
fn one_node_is_not_scored() {
    let extenders = json!([{"urlPrefix": "http://1", "prioritizeVerb": "p", "weight": 1}]);
    let mut driver = driver(&["a"], &extenders);
    driver.pod(&make_pod("p"));
    assert_eq!(driver.placed(), "a");
}

#[test]
fn a_search_that_was_cut_short_goes_on_where_it_was() {
    let names: Vec<String> = (0..250).map(|number| format!("n{number:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut driver = Driver::new(names.iter().map(|name| small(name)));
    let spec = json!({"schedulerName": "bayplan", "percentageOfNodesToScore": 1,
        "extenders": [{"urlPrefix": "http://outside", "filterVerb": "f"}]});
    driver.profile(spec);
    driver.pod(&make_pod("p"));
    let mut seen = std::collections::BTreeSet::new();
    for change in ["1", "2", "3"] {
        driver.outcome_with(|_, nodes| {
            assert_eq!(nodes.len(), 100, "as many as are enough");
            fits(&[], &[])
        });
        seen.insert(driver.engine.next_start);
        driver.node(&small("n000").label("changed", change));
        driver.wait(Duration::from_secs(20));
    }
    assert_eq!(seen.len(), 3, "each attempt asks about others: {seen:?}");
}
