//! Go's notation, read and written. The expected values are those of `time.ParseDuration` and
//! `time.Duration.String`.

use super::*;

#[test]
fn durations_are_read_as_go_reads_them() {
    for (text, nanos) in [
        ("0", 0),
        ("0s", 0),
        ("-0", 0),
        ("15s", 15_000_000_000),
        ("+5s", 5_000_000_000),
        ("1m30s", 90_000_000_000),
        ("1h15m30.918273645s", 4_530_918_273_645),
        ("1.5h", 5_400_000_000_000),
        (".5s", 500_000_000),
        ("1.s", 1_000_000_000),
        ("200ms", 200_000_000),
        ("12\u{b5}s", 12_000),
        ("12\u{3bc}s", 12_000),
        ("12us", 12_000),
        ("9223372036854775807ns", 9_223_372_036_854_775_807),
        ("0.9223372036854775807h", 3_320_413_933_267),
    ] {
        assert_eq!(
            text.parse(),
            Ok(GoDuration(Duration::from_nanos(nanos))),
            "{text}"
        );
    }
}

#[test]
fn mistakes_are_named() {
    let parse = |text: &str| text.parse::<GoDuration>().unwrap_err();
    let own = str::to_owned;
    assert_eq!(parse("15"), ParseDurationError::MissingUnit(own("15")));
    assert_eq!(parse("-1s"), ParseDurationError::Negative(own("-1s")));
    assert_eq!(
        parse("9223372036854775808ns"),
        ParseDurationError::TooLong(own("9223372036854775808ns"))
    );
    assert_eq!(
        parse("99999999999999999999999999h"),
        ParseDurationError::TooLong(own("99999999999999999999999999h"))
    );
    for text in [
        "", "+", "s", ".s", "1.2.3s", "3d", "15 s", "1s2", "++1s", "fast", "1e3s",
    ] {
        assert_eq!(parse(text), ParseDurationError::Syntax(own(text)), "{text}");
    }
}

#[test]
fn durations_are_written_as_go_writes_them() {
    for (nanos, text) in [
        (0, "0s"),
        (1, "1ns"),
        (1_100, "1.1\u{b5}s"),
        (2_200_000, "2.2ms"),
        (3_300_000_000, "3.3s"),
        (15_000_000_000, "15s"),
        (90_000_000_000, "1m30s"),
        (245_000_000_001, "4m5.000000001s"),
        (3_600_000_000_000, "1h0m0s"),
    ] {
        assert_eq!(GoDuration(Duration::from_nanos(nanos)).to_string(), text);
    }
}

#[test]
fn what_is_written_reads_back_the_same() {
    proptest::proptest!(|(nanos in 0..=i64::MAX as u64)| {
        let duration = GoDuration(Duration::from_nanos(nanos));
        proptest::prop_assert_eq!(duration.to_string().parse(), Ok(duration));
    });
}
