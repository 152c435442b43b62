//! Errors about fields, in upstream's words (`field.Error`, `errors.Aggregate`), and texts and
//! lists in them as Go prints them.

use std::fmt::Write as _;

/// A field has a text that it must not have (`field.Invalid`).
pub(crate) fn invalid(path: &str, text: &str, rule: &str) -> String {
    format!("{path}: Invalid value: {}: {rule}", quoted(text))
}

/// A field has none of the `supported` texts (`field.NotSupported`).
pub(crate) fn not_supported(path: &str, text: &str, supported: &[&str]) -> String {
    let supported: Vec<String> = supported.iter().map(|text| quoted(text)).collect();
    let (text, supported) = (quoted(text), supported.join(", "));
    format!("{path}: Unsupported value: {text}: supported values: {supported}")
}

/// Several errors as one text, each of them once (`Aggregate.Error`).
pub(crate) fn aggregate<'a>(errors: impl IntoIterator<Item = &'a str>) -> String {
    let mut different: Vec<&str> = Vec::new();
    for error in errors {
        if !different.contains(&error) {
            different.push(error);
        }
    }
    match &*different {
        [one] => (*one).to_owned(),
        all => format!("[{}]", all.join(", ")),
    }
}

/// A text in quotes (`strconv.Quote`, `%q`).
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\t' => quoted.push_str("\\t"),
            '\n' => quoted.push_str("\\n"),
            '\x0b' => quoted.push_str("\\v"),
            '\x0c' => quoted.push_str("\\f"),
            '\r' => quoted.push_str("\\r"),
            _ if is_printable(c) => quoted.push(c),
            _ => escape(c, &mut quoted),
        }
    }
    quoted.push('"');
    quoted
}

fn escape(c: char, text: &mut String) {
    let code = u32::from(c);
    let written = match code {
        ..0x80 => write!(text, "\\x{code:02x}"),
        0x80..0x1_0000 => write!(text, "\\u{code:04x}"),
        _ => write!(text, "\\U{code:08x}"),
    };
    written.expect("writing to a string must succeed");
}

/// Whether Rust prints it as it is; like `unicode.IsPrint`. Marks are printed behind a letter.
fn is_printable(c: char) -> bool {
    let behind_a_letter = String::from_iter(['a', c]);
    c == '\'' || behind_a_letter.escape_debug().nth(1) == Some(c)
}

/// A list as JSON, as Go writes it: letters with a meaning in HTML are escaped, and a list that is
/// not there is `null`.
pub(crate) fn list(texts: Option<&[String]>) -> String {
    let Some(texts) = texts else {
        return "null".to_owned();
    };
    let items: Vec<String> = texts
        .iter()
        .map(|text| {
            serde_json::Value::from(text.as_str())
                .to_string()
                .replace('<', "\\u003c")
                .replace('>', "\\u003e")
                .replace('&', "\\u0026")
                .replace('\u{2028}', "\\u2028")
                .replace('\u{2029}', "\\u2029")
        })
        .collect();
    format!("[{}]", items.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_as_go_quotes_them() {
        let text = "é<&>'\u{2028}\x01\"\\\n\x7f\u{e000}\u{10ffff}ключ";
        assert_eq!(
            quoted(text),
            r#""é<&>'\u2028\x01\"\\\n\x7f\ue000\U0010ffffключ""#
        );
    }

    #[test]
    fn lists_are_written_as_gos_json() {
        assert_eq!(list(None), "null");
        assert_eq!(list(Some(&[])), "[]");
        let texts = ["1".to_owned(), "<&>\u{2028}\x7f\"".to_owned()];
        let expected = "[\"1\",\"\\u003c\\u0026\\u003e\\u2028\x7f\\\"\"]";
        assert_eq!(list(Some(&texts)), expected);
    }

    #[test]
    fn the_same_error_is_said_once() {
        assert_eq!(aggregate(["a", "a"]), "a");
        assert_eq!(aggregate(["b", "a", "b"]), "[b, a]");
    }
}
