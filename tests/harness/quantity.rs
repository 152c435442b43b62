//! Exact quantities, read independently of the library.

use anyhow::{Context, ensure};

/// Billionths, so that every suffix down to `n` is a whole number.
pub(crate) type Nano = i128;

/// One unit.
pub(crate) const ONE: Nano = 1_000_000_000;

/// Reads a Kubernetes quantity such as `250m`, `1.5Gi`, `2e3` or `12`. What is finer than a
/// billionth is rounded up, as the API does.
pub(crate) fn parse(text: &str) -> anyhow::Result<Nano> {
    parse_exact(text).with_context(|| format!("{text:?} is no quantity"))
}

fn parse_exact(text: &str) -> anyhow::Result<Nano> {
    let end = text
        .find(|c: char| !matches!(c, '0'..='9' | '.' | '+' | '-'))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (multiplier, divisor) = scale(suffix)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let (negative, whole) = match whole.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, whole.strip_prefix('+').unwrap_or(whole)),
    };
    let digits = format!("{whole}{fraction}");
    ensure!(
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()),
        "no digits"
    );
    let mantissa: i128 = digits.parse()?;
    let places = power(10, u32::try_from(fraction.len())?)?;
    let numerator = mantissa.checked_mul(multiplier).context("too large")?;
    let denominator = divisor.checked_mul(places).context("too fine")?;
    let rounded = numerator / denominator + i128::from(numerator % denominator > 0);
    Ok(if negative { -rounded } else { rounded })
}

/// Multiplier (in billionths) and divisor of a suffix.
fn scale(suffix: &str) -> anyhow::Result<(i128, i128)> {
    const DECIMAL: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let index = |table: [&str; 7]| table.iter().position(|entry| *entry == suffix);
    match suffix {
        "n" => return Ok((1, 1)),
        "u" => return Ok((1_000, 1)),
        "m" => return Ok((1_000_000, 1)),
        _ => {}
    }
    if let Some(index) = index(DECIMAL) {
        return Ok((ONE * power(1000, u32::try_from(index)?)?, 1));
    }
    if let Some(index) = index(BINARY) {
        return Ok((ONE * power(1024, u32::try_from(index)?)?, 1));
    }
    let exponent = suffix.strip_prefix(['e', 'E']).context("unknown suffix")?;
    let exponent: i32 = exponent.parse()?;
    let factor = power(10, exponent.unsigned_abs())?;
    Ok(if exponent < 0 {
        (ONE, factor)
    } else {
        (ONE * factor, 1)
    })
}

fn power(base: i128, exponent: u32) -> anyhow::Result<i128> {
    ensure!(exponent <= 27, "too large");
    base.checked_pow(exponent).context("too large")
}

/// The quantity as a person reads it: `1.5`, `4`.
pub(crate) fn display(nano: Nano) -> String {
    let (whole, rest) = (nano / ONE, (nano % ONE).abs());
    if rest == 0 {
        return whole.to_string();
    }
    let fraction = format!("{rest:09}");
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}
