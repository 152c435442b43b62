//! The syntax of label keys and values, which names of resources and topology keys share
//! (`IsQualifiedName` and `IsValidLabelValue` of Kubernetes).

/// Longest name part of a key, and longest value.
const MAX_NAME: usize = 63;
/// Longest prefix of a key: a DNS subdomain.
const MAX_PREFIX: usize = 253;

/// Checks `key`: `name` or `prefix/name`. The error says what is wrong, without a full stop.
pub(crate) fn check_key(key: &str) -> Result<(), String> {
    let name = match key.split_once('/') {
        Some((prefix, _)) if !is_dns_subdomain(prefix) => {
            return Err(format!("{prefix:?} in {key:?} is not a DNS name"));
        }
        Some((_, name)) => name,
        None => key,
    };
    if name.is_empty() || !is_name(name) {
        return Err(format!(
            "{key:?} is not a label key: its name takes up to {MAX_NAME} letters, digits, '-', '_' \
             and '.', with a letter or digit at both ends"
        ));
    }
    Ok(())
}

/// Checks a label's value, which may be empty. The error says what is wrong, without a full stop.
pub(crate) fn check_value(value: &str) -> Result<(), String> {
    if value.is_empty() || is_name(value) {
        return Ok(());
    }
    Err(format!(
        "{value:?} is not a label value: it takes up to {MAX_NAME} letters, digits, '-', '_' and \
         '.', with a letter or digit at both ends"
    ))
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let at_end = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= MAX_NAME
        && at_end(bytes.first())
        && at_end(bytes.last())
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
}

/// Is `text` a DNS subdomain, as names of most objects are?
pub(crate) fn is_dns_subdomain(text: &str) -> bool {
    let is_part = |part: &str| {
        let alphanumeric = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let bytes = part.as_bytes();
        bytes.first().is_some_and(alphanumeric)
            && bytes.last().is_some_and(alphanumeric)
            && bytes.iter().all(|b| alphanumeric(b) || *b == b'-')
    };
    text.len() <= MAX_PREFIX && text.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_follow_kubernetes() {
        for key in ["cpu", "example.com/gpu", "a.b-c_d", "1", &"a".repeat(63)] {
            assert_eq!(check_key(key), Ok(()), "{key}");
        }
        for key in [
            "",
            "/gpu",
            "example.com/",
            "Example.com/gpu",
            "a/b/c",
            "-a",
            "a b",
            "a..b/c",
        ] {
            assert!(check_key(key).is_err(), "{key}");
        }
        assert!(check_key(&"a".repeat(64)).is_err());
        for value in ["", "zone-1", "V1.2_x"] {
            assert_eq!(check_value(value), Ok(()), "{value}");
        }
        for value in ["-", "a b", "a/b"] {
            assert!(check_value(value).is_err(), "{value}");
        }
    }
}
