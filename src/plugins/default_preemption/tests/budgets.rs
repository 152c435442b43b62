//! Pods that a budget of disruption protects.

use super::*;

fn labelled(name: &str, node: &str, priority: i32) -> PodBuilder {
    running(name, node, priority, 1).label("app", "web")
}

fn web() -> Value {
    json!({"matchLabels": {"app": "web"}})
}

#[test]
fn protected_pods_are_put_back_first_even_before_more_important_ones() {
    let pods = || [labelled("protected", "n", 1), running("other", "n", 5, 1)];
    let mut free = by_name([node("n", "2")]).with(pods());
    assert_eq!(free.decide(&preemptor("1")).victims, ["protected"]);
    let mut scene = by_name([node("n", "2")])
        .with(pods())
        .with_budget(&web(), 0, &[]);
    assert_eq!(scene.decide(&preemptor("1")).victims, ["other"]);
}

#[test]
fn a_node_where_no_budget_is_violated_wins_over_cheaper_ones() {
    let pods = || [labelled("a", "n1", 1), running("b", "n2", 9, 1)];
    let nominated = |selector: &Value, allowed, disrupted: &[&str]| {
        let scene = by_name([node("n1", "1"), node("n2", "1")]).with(pods());
        let said = scene
            .with_budget(selector, allowed, disrupted)
            .decide(&preemptor("1"));
        said.nominated.unwrap()
    };
    let expression = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "app", "operator": operator, "values": values}]});
    for (selector, protects) in [
        (web(), true),
        (json!({"matchLabels": {"app": "db"}}), false),
        (expression("In", json!(["web", "db"])), true),
        (expression("NotIn", json!(["web"])), false),
        (expression("Exists", json!([])), true),
        (expression("DoesNotExist", json!([])), false),
        (expression("In", json!([])), false),
        (expression("Sounds", json!(["web"])), false),
        (json!({}), false),
        (Value::Null, false),
    ] {
        let expected = if protects { "n2" } else { "n1" };
        assert_eq!(nominated(&selector, 0, &[]), expected, "{selector}");
    }
    assert_eq!(nominated(&web(), 1, &[]), "n1", "one may go");
    assert_eq!(nominated(&web(), 0, &["a"]), "n1", "it was let go before");
}

#[test]
fn a_budget_pays_for_the_most_important_pods_first() {
    let mut scene = by_name([node("n", "2")])
        .with([labelled("first", "n", 5), labelled("second", "n", 1)])
        .with_budget(&web(), 1, &[]);
    // The budget is spent on the first, so the second is protected and put back first.
    assert_eq!(scene.decide(&preemptor("1")).victims, ["first"]);
}
