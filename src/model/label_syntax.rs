//! The syntax of label keys and values, which names of resources and topology keys share, and of
//! requirements on labels, in upstream's words.
//!
//! Upstream: `k8s.io/apimachinery/pkg/api/validate/content` and `labels.NewRequirement`.

use crate::model::field_error::{invalid, list};

/// Longest name part of a key, and longest value (`LabelValueMaxLength`).
pub const MAX_NAME: usize = 63;
/// Longest prefix of a key (`DNS1123SubdomainMaxLength`).
const MAX_PREFIX: usize = 253;

const NAME_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
     alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
     validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
     and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
     '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const PREFIX_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
     and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
     validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// What is wrong with a key, `name` or `prefix/name` (`IsLabelKey`); nothing if it is valid.
pub fn key_problems(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let name = match key.split_once('/') {
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a valid label key {NAME_RULE} with an optional DNS subdomain prefix and '/' \
                 (e.g. 'example.com/MyName')"
            )];
        }
        Some(("", name)) => {
            problems.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            if prefix.len() > MAX_PREFIX {
                problems.push(format!("prefix part {}", too_long(MAX_PREFIX)));
            }
            if !are_dns_labels(prefix) {
                problems.push(format!("prefix part {PREFIX_RULE}"));
            }
            name
        }
        None => key,
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > MAX_NAME {
        problems.push(format!("name part {}", too_long(MAX_NAME)));
    }
    if !is_name(name) {
        problems.push(format!("name part {NAME_RULE}"));
    }
    problems
}

/// What is wrong with a label's value (`IsLabelValue`); nothing if it is valid.
pub fn value_problems(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > MAX_NAME {
        problems.push(too_long(MAX_NAME));
    }
    if !value.is_empty() && !is_name(value) {
        problems.push(VALUE_RULE.to_owned());
    }
    problems
}

/// What is wrong with a requirement whose operator is a known one (`labels.NewRequirement`).
/// `path` stands before the names of fields. Absent values are not the same as none in the text.
pub(crate) fn requirement_problems(
    path: &str,
    key: &str,
    operator: &str,
    values: Option<&[String]>,
) -> Vec<String> {
    let mut problems = Vec::new();
    let wrong_key = key_problems(key);
    if !wrong_key.is_empty() {
        problems.push(invalid(&format!("{path}key"), key, &wrong_key.join("; ")));
    }
    let given = values.unwrap_or_default();
    let wrong_count = match (operator, given) {
        ("In" | "NotIn", []) => Some("for 'in', 'notin' operators, values set can't be empty"),
        ("Exists" | "DoesNotExist", [_, ..]) => {
            Some("values set must be empty for exists and does not exist")
        }
        ("Gt" | "Lt", [_]) => None,
        ("Gt" | "Lt", _) => Some("for 'Gt', 'Lt' operators, exactly one value is required"),
        _ => None,
    };
    if let Some(rule) = wrong_count {
        let given = list(values);
        problems.push(format!("{path}values: Invalid value: {given}: {rule}"));
    }
    if matches!(operator, "Gt" | "Lt") {
        for (index, value) in given.iter().enumerate() {
            if value.parse::<i64>().is_err() {
                let rule = "for 'Gt', 'Lt' operators, the value must be an integer";
                problems.push(invalid(&format!("{path}values[{index}]"), value, rule));
            }
        }
    }
    for (index, value) in given.iter().enumerate() {
        let wrong = value_problems(value);
        if !wrong.is_empty() {
            let field = format!("{path}values[{index}][{key}]");
            problems.push(invalid(&field, value, &wrong.join("; ")));
        }
    }
    problems
}

/// Is `text` a DNS subdomain, as names of most objects are?
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= MAX_PREFIX && are_dns_labels(text)
}

fn too_long(length: usize) -> String {
    format!("must be no more than {length} bytes")
}

/// The pattern of names, whatever their length.
fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let at_end = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    at_end(bytes.first())
        && at_end(bytes.last())
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
}

/// The pattern of subdomains, whatever their length.
fn are_dns_labels(text: &str) -> bool {
    let alphanumeric = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.split('.').map(str::as_bytes).all(|label| {
        label.first().is_some_and(alphanumeric)
            && label.last().is_some_and(alphanumeric)
            && label.iter().all(|b| alphanumeric(b) || *b == b'-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_keys_and_values_have_no_problem() {
        for key in ["cpu", "example.com/gpu", "a.b-c_d", "1", &"a".repeat(63)] {
            assert_eq!(key_problems(key), Vec::<String>::new(), "{key}");
        }
        for value in ["", "zone-1", "V1.2_x", &"v".repeat(63)] {
            assert_eq!(value_problems(value), Vec::<String>::new(), "{value}");
        }
    }

    #[test]
    fn every_part_of_a_key_is_judged() {
        let short = |key: &str| -> Vec<String> {
            let problems = key_problems(key).into_iter();
            let first_words = |text: String| text.split(' ').take(5).collect::<Vec<_>>().join(" ");
            problems.map(first_words).collect()
        };
        assert_eq!(
            short(""),
            ["name part must be non-empty", "name part must consist of"]
        );
        assert_eq!(short("a b"), ["name part must consist of"]);
        assert_eq!(short(&"a".repeat(64)), ["name part must be no"]);
        assert_eq!(short("/a"), ["prefix part must be non-empty"]);
        assert_eq!(short("E/a"), ["prefix part a lowercase RFC"]);
        assert_eq!(
            short(&format!("{}/a", "e".repeat(254))),
            ["prefix part must be no"]
        );
        assert_eq!(short("a/b/c"), ["a valid label key must"]);
        assert_eq!(short("a..b/c"), ["prefix part a lowercase RFC"]);
    }
}
