//! Arguments as `name=value` words, as the Makefile passes them on.

use std::str::FromStr;

use anyhow::Context;

/// Takes the words apart; what begins with `--` is cargo's.
pub(crate) fn pairs(words: &[String]) -> anyhow::Result<Vec<(&str, &str)>> {
    let words = words.iter().filter(|word| !word.starts_with("--"));
    words
        .map(|word| {
            let pair = word.split_once('=');
            pair.with_context(|| format!("{word:?} is no name=value"))
        })
        .collect()
}

/// The value as a number.
pub(crate) fn number<T: FromStr>(name: &str, value: &str) -> anyhow::Result<T> {
    let number = value.parse().ok();
    number.with_context(|| format!("{name}={value:?} must be a number"))
}
