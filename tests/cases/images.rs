//! Images that nodes have already.

use serde_json::json;

use crate::builders::{node, pod};
use crate::verdict::decide;

fn with_image(name: &str, bytes: i64) -> serde_json::Value {
    let mut node = node(name, "4");
    node["status"]["images"] = json!([{"names": ["registry.example/main:1"], "sizeBytes": bytes}]);
    node
}

// CASES C26; A13.152
#[test]
fn a_small_image_on_one_node_of_three_is_worth_nothing() {
    let verdict = decide!([
        with_image("n3", 76_595_659),
        node("n1", "4"),
        node("n2", "4"),
        pod("q", json!({}))
    ]);
    assert_eq!(verdict.raw_score("q", "n3", "ImageLocality"), 0);
    assert_eq!(verdict.of("q").best.len(), 3);
    assert_eq!(verdict.node("q"), Some("n1"));
}

// CASES A13.152, A13.153: the kind
#[test]
fn a_large_image_on_one_node_of_three_draws_the_pod() {
    let verdict = decide!([
        with_image("n3", 1_500_000_000),
        node("n1", "4"),
        node("n2", "4"),
        pod("q", json!({}))
    ]);
    assert_eq!(verdict.raw_score("q", "n3", "ImageLocality"), 46);
    assert_eq!(verdict.node("q"), Some("n3"));
}
