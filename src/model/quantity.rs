//! Resource quantities (`500m`, `1Gi`, `1e3`), exact.
//!
//! Mirrors `k8s.io/apimachinery/pkg/api/resource`: a number with a decimal, binary or exponent
//! suffix, no finer than nano (finer parts round away from zero), values above 2^63-1 capped.

use thiserror::Error;

/// An exact amount in units of 10^-9.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity(i128);

/// A text that is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "quantity {text:?} is not a number with an optional suffix such as m, k, Ki, M, Mi, G or Gi"
)]
pub struct InvalidQuantity {
    /// The text as it was written, cut to 64 characters.
    pub text: String,
}

const NANOS_PER_UNIT: i128 = 1_000_000_000;
const NANOS_PER_MILLI: i128 = 1_000_000;

/// Upstream caps at 2^63-1 units (`maxAllowed` in quantity.go).
const MAX: i128 = (i64::MAX as i128) * NANOS_PER_UNIT;

// === impl Quantity ===

impl Quantity {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// `value` whole units.
    pub const fn from_units(value: i64) -> Self {
        Self(value as i128 * NANOS_PER_UNIT)
    }

    /// `value` thousandths.
    pub const fn from_millis(value: i64) -> Self {
        Self(value as i128 * NANOS_PER_MILLI)
    }

    /// Parses `text` as the API server does; space around it does not count.
    pub fn parse(text: &str) -> Result<Self, InvalidQuantity> {
        parse(text.trim()).ok_or_else(|| InvalidQuantity {
            text: text.chars().take(64).collect(),
        })
    }

    /// Whole units, rounded up (`Quantity.Value`).
    pub fn units(self) -> i64 {
        saturate(div_ceil(self.0, NANOS_PER_UNIT))
    }

    /// Thousandths, rounded up (`Quantity.MilliValue`).
    pub fn millis(self) -> i64 {
        saturate(div_ceil(self.0, NANOS_PER_MILLI))
    }

    /// Whether the amount is zero.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum, saturating.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

fn saturate(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// Division that rounds away from zero, as upstream's scaling does.
fn div_ceil(value: i128, by: i128) -> i128 {
    let quotient = value / by;
    if value % by == 0 {
        quotient
    } else {
        quotient + value.signum()
    }
}

fn parse(text: &str) -> Option<Quantity> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let number_end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(number_end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let scale = Scale::parse(suffix)?;
    let nanos = scale.nanos(whole, fraction);
    Some(Quantity(if negative { -nanos } else { nanos }))
}

enum Scale {
    /// A power of ten.
    Decimal(i32),
    /// A power of two.
    Binary(u32),
}

impl Scale {
    fn parse(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "n" => Self::Decimal(-9),
            "u" => Self::Decimal(-6),
            "m" => Self::Decimal(-3),
            "" => Self::Decimal(0),
            "k" => Self::Decimal(3),
            "M" => Self::Decimal(6),
            "G" => Self::Decimal(9),
            "T" => Self::Decimal(12),
            "P" => Self::Decimal(15),
            "E" => Self::Decimal(18),
            "Ki" => Self::Binary(10),
            "Mi" => Self::Binary(20),
            "Gi" => Self::Binary(30),
            "Ti" => Self::Binary(40),
            "Pi" => Self::Binary(50),
            "Ei" => Self::Binary(60),
            _ => {
                let exponent = suffix.strip_prefix(['e', 'E'])?;
                let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
                if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                    return None;
                }
                // Beyond ±1000 every number is capped or rounds to the least amount alike.
                let magnitude = digits
                    .parse::<i32>()
                    .map_or(1_000, |value| value.min(1_000));
                Self::Decimal(if exponent.starts_with('-') {
                    -magnitude
                } else {
                    magnitude
                })
            }
        })
    }

    /// The amount in nanos: exact, capped at [`MAX`], finer parts rounded up.
    fn nanos(&self, whole: &str, fraction: &str) -> i128 {
        match *self {
            Self::Decimal(exponent) => decimal_nanos(whole, fraction, exponent + 9),
            Self::Binary(shift) => {
                let units = decimal_nanos(whole, fraction, 9);
                // The fraction of a binary quantity keeps nanos of the unit before the shift; ten
                // digits more are kept by splitting whole and fraction.
                let whole_nanos = decimal_nanos(whole, "", 9);
                let fraction_picos = decimal_nanos("0", fraction, 18);
                let scaled_fraction =
                    div_ceil(fraction_picos.saturating_mul(1 << shift), NANOS_PER_UNIT);
                if units >= MAX {
                    return MAX;
                }
                whole_nanos
                    .saturating_mul(1 << shift)
                    .saturating_add(scaled_fraction)
                    .min(MAX)
            }
        }
    }
}

/// `whole.fraction` × 10^`exponent`, rounded up to an integer and capped at [`MAX`].
fn decimal_nanos(whole: &str, fraction: &str, exponent: i32) -> i128 {
    let mut value: i128 = 0;
    let mut inexact = false;
    let mut remaining = exponent;
    let whole_digits = i32::try_from(whole.len()).unwrap_or(i32::MAX);
    for (position, digit) in (0_i32..).zip(whole.bytes().chain(fraction.bytes())) {
        let digit = i128::from(digit - b'0');
        // The decimal place of this digit in the result.
        let place = whole_digits
            .saturating_sub(1)
            .saturating_sub(position)
            .saturating_add(exponent);
        if place < 0 {
            inexact |= digit != 0;
            continue;
        }
        value = value.saturating_mul(10).saturating_add(digit);
        if value > MAX {
            return MAX;
        }
        remaining = place;
    }
    if value != 0 {
        for _ in 0..remaining.max(0) {
            value = value.saturating_mul(10);
            if value > MAX {
                return MAX;
            }
        }
    }
    if inexact { (value + 1).min(MAX) } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(text: &str) -> i64 {
        Quantity::parse(text).unwrap().millis()
    }

    fn units(text: &str) -> i64 {
        Quantity::parse(text).unwrap().units()
    }

    #[test]
    fn suffixes_scale_by_ten_and_by_two() {
        assert_eq!(millis("100m"), 100);
        assert_eq!(millis("2"), 2_000);
        assert_eq!(millis("1.5"), 1_500);
        assert_eq!(units("1Ki"), 1_024);
        assert_eq!(units("1.5Gi"), 1_610_612_736);
        assert_eq!(units("0.1Gi"), 107_374_183);
        assert_eq!(units("12E"), i64::MAX);
        assert_eq!(units("1e3"), 1_000);
        assert_eq!(units("1E-3"), 1);
        assert_eq!(units("+5"), 5);
        assert_eq!(units(".5"), 1);
        assert_eq!(units("5."), 5);
        assert_eq!(units("-3"), -3);
    }

    #[test]
    fn finer_parts_round_up() {
        assert_eq!(millis("1u"), 1);
        assert_eq!(units("100m"), 1);
        assert_eq!(millis("0.0000000001"), 1);
        assert_eq!(units("-100m"), -1);
    }

    #[test]
    fn huge_numbers_are_capped() {
        assert_eq!(units("1e400"), i64::MAX);
        assert_eq!(
            units("99999999999999999999999999999999999999999999"),
            i64::MAX
        );
        assert_eq!(units("10Ei"), i64::MAX);
        assert_eq!(units("0e999999999999"), 0);
        assert_eq!(millis("9223372036854775807"), i64::MAX);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "", "abc", "1.2.3", "1x", "--1", "1 Gi", "e3", "-", ".", "1e", "1e+", "١",
        ] {
            assert!(Quantity::parse(text).is_err(), "{text:?} must not parse");
        }
    }
}
