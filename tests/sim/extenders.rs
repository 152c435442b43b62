//! HTTP extenders of a history. What one says follows from the names of the pod and of the nodes, so
//! that two schedulers that ask it are told the same; now and then it fails or talks nonsense.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bayplan::engine::framework::extender::{
    Answer, Candidates, Filtered, Question, Subject, Victims,
};
use bayplan::model::pod_info::{PodKey, PodUid};
use serde_json::{Value, json};

use crate::generator::dice::Dice;

/// How long an extender may take (`DefaultExtenderTimeout`).
const TIMEOUT: Duration = Duration::from_secs(5);

/// Extenders for a profile: mostly none.
pub(crate) fn draw(dice: &mut Dice) -> Value {
    if !dice.chance(35) {
        return json!([]);
    }
    let count = dice.between(1, 2);
    let binder = dice.below(4);
    let extenders = (0..count).map(|index| {
        let mut extender = json!({"urlPrefix": format!("http://extender-{index}"),
            "nodeCacheCapable": dice.chance(50), "ignorable": dice.chance(40)});
        for (verb, percent) in [("filter", 70), ("prioritize", 60), ("preempt", 60)] {
            if dice.chance(percent) {
                extender[format!("{verb}Verb")] = verb.into();
            }
        }
        if index == binder {
            extender["bindVerb"] = "bind".into();
        }
        extender["weight"] = dice.between(1, 3).into();
        if index == 0 && dice.chance(30) {
            extender["managedResources"] = json!([{"name": "example.com/gpu"}]);
        }
        extender
    });
    extenders.collect()
}

/// What an extender that works says.
pub(crate) fn answer(question: &Question, pod: &PodKey) -> Answer {
    let throw = |node: &str| Dice::new(hash(&[&question.extender.url_prefix, &pod.name, node]));
    match &question.subject {
        Subject::Filter { nodes, .. } => {
            let mut filtered = Filtered {
                by_name: question.extender.node_cache_capable,
                ..Filtered::default()
            };
            for node in nodes {
                let said = || format!("node {node} is not for pod {}", pod.name);
                match throw(node).below(12) {
                    0 => drop(filtered.failed.insert(Arc::clone(node), said())),
                    1 => drop(filtered.unresolvable.insert(Arc::clone(node), said())),
                    // Left out without a word.
                    2 => {}
                    _ => filtered.nodes.push(Arc::clone(node)),
                }
            }
            Answer::Filtered(filtered)
        }
        Subject::Prioritize { nodes } => {
            let score = |node: &Arc<str>| {
                let score = i64::try_from(throw(node).below(11)).unwrap_or(0);
                (Arc::clone(node), score)
            };
            Answer::Prioritized(nodes.iter().map(score).collect())
        }
        Subject::Preempt { candidates, .. } => {
            let left = candidates.iter();
            let left = left.filter(|(node, _)| throw(node).chance(80));
            Answer::Preempted(
                left.map(|(node, victims)| (Arc::clone(node), victims.clone()))
                    .collect(),
            )
        }
    }
}

/// What it says if something is wrong, and after how long.
pub(crate) fn nonsense(question: &Question, dice: &mut Dice) -> (Answer, Duration) {
    let answer = match (dice.below(4), &question.subject) {
        (0, _) => {
            let message = "context deadline exceeded".to_owned();
            return (Answer::Failed(message), TIMEOUT);
        }
        (1, Subject::Filter { .. }) => Answer::Filtered(Filtered {
            nodes: vec!["nowhere".into()],
            by_name: true,
            ..Filtered::default()
        }),
        (1, Subject::Preempt { candidates, .. }) => {
            let stranger = |node: &Arc<str>| {
                let pods = vec![PodUid("stranger".into())];
                let victims = Victims {
                    pods,
                    violations: 0,
                };
                (Arc::clone(node), victims)
            };
            Answer::Preempted(candidates.keys().map(stranger).collect())
        }
        (2, Subject::Prioritize { .. }) => Answer::Preempted(Candidates::new()),
        (2, _) => Answer::Prioritized(BTreeMap::new()),
        _ => Answer::Failed("connection refused".to_owned()),
    };
    (answer, Duration::from_millis(3))
}

/// FNV-1a.
fn hash(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
