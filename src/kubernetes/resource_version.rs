//! Resource versions as numbers.

use std::{fmt, str::FromStr};

/// A `metadata.resourceVersion`. Comparing two of one resource as numbers is allowed since Kubernetes 1.35 (KEP-5504);
/// before, they were etcd revisions, which are numbers too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceVersion(u64);

/// A resource version that is no number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "resource version {0:?} is not a number: bayplan needs an API server whose resource versions can be compared"
)]
pub struct InvalidResourceVersion(String);

impl FromStr for ResourceVersion {
    type Err = InvalidResourceVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if is_number => Ok(Self(number)),
            _ => Err(InvalidResourceVersion(text.to_owned())),
        }
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers_and_not_as_text() {
        let version = |text: &str| ResourceVersion::from_str(text).unwrap();
        assert!(version("9") < version("10"));
        assert_eq!(version("184467440737").to_string(), "184467440737");
    }

    #[test]
    fn what_is_no_number_is_refused_by_name() {
        for text in ["", "abc", "-1", "+1", "1.0", "99999999999999999999999"] {
            let error = ResourceVersion::from_str(text).unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }
}
