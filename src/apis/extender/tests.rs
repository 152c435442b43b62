//! Extenders as users write them, and what is refused.

#![expect(
    clippy::needless_pass_by_value,
    reason = "json!(…) reads better without a &"
)]

use serde_json::{Value, json};

use super::*;

fn extender(fields: Value) -> Extender {
    let mut extender = json!({"urlPrefix": "http://outside:1/x"});
    let all = extender.as_object_mut().unwrap();
    all.extend(fields.as_object().unwrap().clone());
    serde_json::from_value(extender).unwrap()
}

fn problems(extenders: &[Value]) -> Vec<String> {
    let extenders: Vec<_> = extenders.iter().cloned().map(extender).collect();
    let problems = check(&extenders, "spec.extenders");
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_left_out_has_upstreams_default() {
    let plain = extender(json!({}));
    assert_eq!(plain.timeout(), Duration::from_secs(5));
    assert_eq!(
        serde_json::to_value(&plain).unwrap(),
        json!({"urlPrefix": "http://outside:1/x", "httpTimeout": "5s"})
    );
    let zero = extender(json!({"httpTimeout": "0s"}));
    assert_eq!(zero.timeout(), Duration::from_secs(5));
}

#[test]
fn fields_are_called_as_upstream_calls_them() {
    let all = json!({
        "urlPrefix": "https://outside", "filterVerb": "f", "preemptVerb": "p",
        "prioritizeVerb": "s", "weight": 3, "bindVerb": "b", "enableHTTPS": true,
        "tlsConfig": {"insecure": true, "serverName": "n", "certFile": "a", "keyFile": "b",
            "caFile": "c", "certData": "eA==", "keyData": "eQ==", "caData": "eg=="},
        "httpTimeout": "200ms", "nodeCacheCapable": true,
        "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": true}],
        "ignorable": true,
    });
    let read: Extender = serde_json::from_value(all.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), all);
}

#[test]
fn keys_are_never_printed() {
    let tls = extender(json!({"tlsConfig": {"keyData": "c2VjcmV0", "certData": "c2VjcmV0"}}));
    let printed = format!("{tls:?}");
    assert!(printed.contains("key_data: \"set\""), "{printed}");
    for form in ["secret", "c2VjcmV0", "115, 101"] {
        assert!(!printed.contains(form), "{printed}");
    }
}

#[test]
fn one_extender_binds_and_a_prioritizing_one_has_a_weight() {
    let found = problems(&[
        json!({"prioritizeVerb": "p", "bindVerb": "b"}),
        json!({"bindVerb": "b"}),
    ]);
    assert_eq!(
        found,
        [
            "spec.extenders[0].weight: 0 is not positive, but the extender prioritizes; must have \
             a positive weight applied to it",
            "spec.extenders: found 2 extenders implementing bind; only one extender can implement \
             bind",
        ]
    );
}

#[test]
fn managed_resources_are_extended_ones_and_named_once() {
    let managed = |name: &str| json!({"managedResources": [{"name": name}]});
    let found = problems(&[
        managed("example.com/gpu"),
        managed("example.com/gpu"),
        managed("cpu"),
        managed("kubernetes.io/x"),
        managed("a b"),
    ]);
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[0].starts_with("spec.extenders[1].managedResources[0].name: "));
    assert!(found[1].contains("\"cpu\" is an invalid extended resource name"));
    assert!(found[2].contains("\"kubernetes.io/x\" is an invalid extended resource name"));
    assert!(found[3].contains("is not a label key"));
}

#[test]
fn addresses_are_http_and_hold_no_secrets() {
    let at = |url: &str| json!({"urlPrefix": url});
    assert_eq!(problems(&[at("https://[::1]:8/x/")]), [""; 0]);
    for (url, wanted) in [
        ("outside:1", "is no HTTP address"),
        ("ftp://outside", "is no HTTP address"),
        ("http:///x", "has no host"),
        ("http://me:secret@outside", "holds a user or a password"),
        ("http://outside?a=b", "no verb can follow"),
    ] {
        let found = problems(&[at(url)]);
        assert!(found.len() == 1 && found[0].contains(wanted), "{found:?}");
        assert!(!found[0].contains("secret"), "{found:?}");
    }
}

#[test]
fn certificates_fit_together() {
    let tls = |config: Value| json!({"tlsConfig": config});
    let found = problems(&[
        tls(json!({"insecure": true, "caFile": "x"})),
        tls(json!({"certFile": "x"})),
        tls(json!({"certFile": "x", "keyData": "eA=="})),
    ]);
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn those_that_may_be_ignored_are_asked_last() {
    let named = |name: &str, ignorable| {
        extender(json!({"urlPrefix": format!("http://{name}"), "ignorable": ignorable}))
    };
    let given = [
        named("a", true),
        named("b", false),
        named("c", true),
        named("d", false),
    ];
    let order = in_order(&given);
    let order: Vec<_> = order.iter().map(|extender| &*extender.url_prefix).collect();
    assert_eq!(order, ["http://b", "http://d", "http://a", "http://c"]);
}
