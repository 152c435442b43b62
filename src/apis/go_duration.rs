//! Durations as Go writes them: `15s`, `1m30s`, `200ms`. Flags, the configuration file and plugin
//! arguments use them, as Kubernetes does (`metav1.Duration`).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Go's units from large to small, with their length in nanoseconds. Both micro signs are valid.
const UNITS: [(&str, u64); 8] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ns", 1),
];

/// The longest duration that Go can hold, in nanoseconds: about 292 years.
const MAX_NANOS: u128 = i64::MAX as u128;

/// A duration that is never negative, written and read in Go's notation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoDuration(pub Duration);

/// Why a text is no [`GoDuration`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseDurationError {
    /// The text does not follow Go's notation.
    #[error("{0:?} is not a duration, write for example 15s, 1m30s or 200ms")]
    Syntax(String),
    /// A number without a unit, the most frequent mistake.
    #[error("{0:?} has no unit, write for example {0}s")]
    MissingUnit(String),
    /// A negative duration means nothing in any of our settings.
    #[error("{0:?} is negative, a duration must be 0s or longer")]
    Negative(String),
    /// More than Go's 292 years.
    #[error("{0:?} is too long, a duration must be shorter than 2540400h")]
    TooLong(String),
}

impl GoDuration {
    /// A duration of whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(Duration::from_secs(secs))
    }
}

impl From<GoDuration> for Duration {
    fn from(value: GoDuration) -> Self {
        value.0
    }
}

impl From<Duration> for GoDuration {
    fn from(value: Duration) -> Self {
        Self(value)
    }
}

impl FromStr for GoDuration {
    type Err = ParseDurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let syntax = || ParseDurationError::Syntax(text.to_owned());
        if text.starts_with('-') && text != "-0" {
            return Err(ParseDurationError::Negative(text.to_owned()));
        }
        let mut rest = text.trim_start_matches(['+', '-']);
        if text.len() - rest.len() > 1 || rest.is_empty() {
            return Err(syntax());
        }
        if rest == "0" {
            return Ok(Self::default());
        }
        if rest.bytes().all(|b| b.is_ascii_digit()) {
            return Err(ParseDurationError::MissingUnit(text.to_owned()));
        }
        let mut nanos: u128 = 0;
        while !rest.is_empty() {
            let number_end = rest
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .ok_or_else(syntax)?;
            let (number, tail) = rest.split_at(number_end);
            let unit_end = tail
                .find(|c: char| c.is_ascii_digit() || c == '.')
                .unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(unit_end);
            let (_, unit_nanos) = UNITS
                .iter()
                .find(|(name, _)| *name == unit)
                .ok_or_else(syntax)?;
            nanos += scaled(number, *unit_nanos).ok_or_else(syntax)?;
            if nanos > MAX_NANOS {
                return Err(ParseDurationError::TooLong(text.to_owned()));
            }
            rest = tail;
        }
        let nanos = u64::try_from(nanos).map_err(|_| syntax())?;
        Ok(Self(Duration::from_nanos(nanos)))
    }
}

/// `number` (digits with at most one point) times `unit`, saturating above [`MAX_NANOS`].
fn scaled(number: &str, unit: u64) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let over = MAX_NANOS + 1;
    let nanos = if whole.is_empty() {
        0
    } else {
        whole
            .parse::<u64>()
            .map_or(over, |whole| u128::from(whole) * u128::from(unit))
    };
    // Eighteen digits are more than an hour has nanoseconds; what follows cannot count.
    let fraction = &fraction[..fraction.len().min(18)];
    let mut numerator = 0;
    let mut denominator = 1;
    for digit in fraction.bytes() {
        numerator = numerator * 10 + u128::from(digit - b'0');
        denominator *= 10;
    }
    let nanos = nanos + numerator * u128::from(unit) / denominator;
    Some(nanos.min(over))
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        if nanos == 0 {
            return f.write_str("0s");
        }
        if nanos < 1_000_000_000 {
            let (unit, length) = match nanos {
                1_000_000.. => ("ms", 1_000_000),
                1_000.. => ("\u{b5}s", 1_000),
                _ => ("ns", 1),
            };
            write_decimal(f, nanos, length)?;
            return f.write_str(unit);
        }
        let secs = self.0.as_secs();
        let (hours, minutes) = (secs / 3600, secs / 60 % 60);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if hours > 0 || minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        write_decimal(f, nanos % 60_000_000_000, 1_000_000_000)?;
        f.write_str("s")
    }
}

/// Writes `nanos / unit` with as many decimals as it needs.
fn write_decimal(f: &mut fmt::Formatter<'_>, nanos: u128, unit: u128) -> fmt::Result {
    write!(f, "{}", nanos / unit)?;
    let fraction = nanos % unit;
    if fraction > 0 {
        let width = unit.ilog10() as usize;
        let digits = format!("{fraction:0width$}");
        write!(f, ".{}", digits.trim_end_matches('0'))?;
    }
    Ok(())
}

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for GoDuration {
    fn schema_name() -> Cow<'static, str> {
        "GoDuration".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "duration", "maxLength": 32 })
    }
}

#[cfg(test)]
mod tests;
