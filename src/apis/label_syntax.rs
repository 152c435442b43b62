//! Label keys and values of configuration, judged as Kubernetes does and explained for the person
//! who wrote them.

pub(crate) use crate::model::label_syntax::is_dns_subdomain;
use crate::model::label_syntax::{MAX_NAME, key_problems, value_problems};

/// Checks `key`: `name` or `prefix/name`. The error says what is wrong, without a full stop.
pub(crate) fn check_key(key: &str) -> Result<(), String> {
    if key_problems(key).is_empty() {
        return Ok(());
    }
    Err(match key.split_once('/') {
        Some((prefix, _)) if !is_dns_subdomain(prefix) => {
            format!("{prefix:?} in {key:?} is not a DNS name")
        }
        _ => format!(
            "{key:?} is not a label key: its name takes up to {MAX_NAME} letters, digits, '-', '_' \
             and '.', with a letter or digit at both ends"
        ),
    })
}

/// Checks a label's value, which may be empty. The error says what is wrong, without a full stop.
pub(crate) fn check_value(value: &str) -> Result<(), String> {
    if value_problems(value).is_empty() {
        return Ok(());
    }
    Err(format!(
        "{value:?} is not a label value: it takes up to {MAX_NAME} letters, digits, '-', '_' and \
         '.', with a letter or digit at both ends"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_part_that_is_wrong() {
        let error = |key| check_key(key).unwrap_err();
        assert_eq!(
            error("Example.com/gpu"),
            "\"Example.com\" in \"Example.com/gpu\" is not a DNS name"
        );
        assert!(error("a/b/c").starts_with("\"a/b/c\" is not a label key"));
        assert!(error("").starts_with("\"\" is not a label key"));
        assert_eq!(check_key("example.com/gpu"), Ok(()));
        assert!(check_value("a b").is_err());
        assert_eq!(check_value(""), Ok(()));
    }
}
