//! PostgreSQL's text forms, as its `…in` functions read them, for types of which the engine reads another form.

use std::borrow::Cow;

use super::times::{time_with_zone, timestamp, with_engine_era, without_time, without_zone};
use super::{InputError, ParameterValue, SPACE, interval};
use crate::value::types::{Type, TypeKind};

/// Reads a value's text.
///
/// # Errors
/// If it is not a text of this type. Some invalid texts are detected only by the engine.
pub fn from_text(type_: &Type, text: &str) -> Result<ParameterValue, InputError> {
    match &type_.kind {
        TypeKind::Bytes => Ok(ParameterValue::Bytes(bytes(text).ok_or_else(|| InputError::syntax(type_, text))?)),
        TypeKind::List(item) => {
            Array { rest: trimmed(text), depth: 0 }.read(item).ok_or_else(|| InputError::syntax(type_, text))
        }
        TypeKind::Composite { fields, .. } => super::composite::from_text(fields, text),
        _ => Ok(ParameterValue::Text(scalar(type_, text)?.into_owned())),
    }
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(SPACE)
}

/// The engine's text form of the same value.
fn scalar<'a>(type_: &Type, text: &'a str) -> Result<Cow<'a, str>, InputError> {
    let invalid = || InputError::syntax(type_, text);
    check_number(type_, text)?;
    match type_.kind {
        TypeKind::Bool => bool(text).map(|value| Cow::from(if value { "true" } else { "false" })).ok_or_else(invalid),
        TypeKind::Date => Ok(with_engine_era(without_time(trimmed(text)))),
        // If the type has no zone, PostgreSQL ignores a zone in the text, but the engine would convert the time.
        TypeKind::Timestamp => Ok(timestamp(trimmed(text), false)),
        TypeKind::Time => Ok(Cow::from(without_zone(trimmed(text)))),
        TypeKind::TimestampTz => Ok(timestamp(trimmed(text), true)),
        TypeKind::Interval => {
            let text = interval::from_iso_8601(trimmed(text)).map_or(Cow::from(text), Cow::from);
            Ok(if text.contains('+') { Cow::from(text.replace('+', "")) } else { text })
        }
        TypeKind::Numeric(_) => Ok(without_exponent(trimmed(text))),
        TypeKind::TimeTz => Ok(time_with_zone(trimmed(text))),
        TypeKind::Uuid | TypeKind::Bits => Ok(Cow::from(trimmed(text))),
        _ => Ok(Cow::from(text)),
    }
}

/// Checks the text of a number that the engine would change.
///
/// # Errors
/// For a fraction of an integer, which the engine would round, and for a number that is too large for a float, which it
/// would read as infinity.
pub fn check_number(type_: &Type, text: &str) -> Result<(), InputError> {
    match type_.kind {
        TypeKind::Int2 | TypeKind::Int4 | TypeKind::Int8 | TypeKind::Oid if !is_whole(trimmed(text)) => {
            Err(InputError::syntax(type_, text))
        }
        // The engine's integers of more digits, which it would round, too.
        TypeKind::Numeric(_) if type_.name.ends_with("INT") && !is_whole(trimmed(text)) => {
            Err(InputError::syntax(type_, text))
        }
        TypeKind::Float4 | TypeKind::Float8 if overflows(trimmed(text), type_.kind == TypeKind::Float4) => {
            Err(InputError::Range(type_.name.clone()))
        }
        _ => Ok(()),
    }
}

/// Parses a boolean as PostgreSQL's `parse_bool`: any unambiguous beginning of the words.
fn bool(text: &str) -> Option<bool> {
    let text = trimmed(text).to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    if begins("true", 1) || begins("yes", 1) || text == "on" || text == "1" {
        Some(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || text == "0" {
        Some(false)
    } else {
        None
    }
}

/// Parses bytes as PostgreSQL's `byteain`: `\x` and hexadecimal digits, or bytes with backslashes.
fn bytes(text: &str) -> Option<Vec<u8>> {
    if let Some(digits) = text.strip_prefix("\\x") {
        let digits: Vec<u8> = digits.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
        let digit = |b: u8| char::from(b).to_digit(16).map(|digit| digit as u8);
        return digits.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    loop {
        rest = match rest {
            [] => return Some(out),
            [b'\\', b'\\', rest @ ..] => {
                out.push(b'\\');
                rest
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', rest @ ..] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest
            }
            [b'\\', ..] => return None,
            [b, rest @ ..] => {
                out.push(*b);
                rest
            }
        };
    }
}

/// A number without an exponent, because the digits determine the type DECIMAL to which it is cast.
fn without_exponent(text: &str) -> Cow<'_, str> {
    /// The maximum exponent. A number with more zeros does not fit into a DECIMAL.
    const MAX_EXPONENT: i32 = 80;
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else { return Cow::from(text) };
    let Some(exponent) = exponent.parse::<i32>().ok().filter(|exponent| exponent.abs() <= MAX_EXPONENT) else {
        return Cow::from(text);
    };
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = format!("{before}{behind}");
    let point = before.len() as i32 + exponent;
    if point <= 0 {
        digits.insert_str(0, &"0".repeat(1 + point.unsigned_abs() as usize));
        digits.insert(1, '.');
    } else if point as usize >= digits.len() {
        digits.push_str(&"0".repeat(point as usize - digits.len()));
    } else {
        match digits.is_char_boundary(point as usize) {
            true => digits.insert(point as usize, '.'),
            false => return Cow::from(text),
        }
    }
    Cow::from(format!("{sign}{digits}"))
}

/// Whether a number, if the text is one, has no fraction. Other texts are left to the engine.
fn is_whole(text: &str) -> bool {
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return true;
    }
    let plain = without_exponent(text);
    match plain.split_once('.') {
        Some((_, fraction)) => fraction.bytes().all(|b| b == b'0'),
        // The exponent is too small for `without_exponent`.
        None => !plain.contains("e-") && !plain.contains("E-"),
    }
}

/// Whether a finite number is too large for a float.
fn overflows(text: &str, is_single: bool) -> bool {
    /// The digits before the point of the smallest number that is too large for a float of 32 bits. Shorter texts are
    /// not parsed.
    const LARGE_DIGITS: usize = 39;
    if text.len() < LARGE_DIGITS && !text.contains(['e', 'E']) || !text.bytes().any(|b| b.is_ascii_digit()) {
        return false;
    }
    let read = if is_single { text.parse::<f32>().map(f64::from) } else { text.parse::<f64>() };
    read.is_ok_and(f64::is_infinite)
}

/// Parses an array as PostgreSQL's `array_in`: `{a,"b c",NULL,{…}}`, with or without bounds before it.
struct Array<'a> {
    rest: &'a str,
    depth: usize,
}

/// PostgreSQL's MAXDIM.
const MAX_DIMENSIONS: usize = 6;

impl Array<'_> {
    fn read(mut self, item: &Type) -> Option<ParameterValue> {
        if self.rest.starts_with('[') {
            self.rest = self.rest.split_once('=')?.1;
        }
        let value = self.list(item)?;
        trimmed(self.rest).is_empty().then_some(value)
    }

    fn take(&mut self, mark: char) -> bool {
        self.rest = self.rest.trim_start_matches(SPACE);
        let rest = self.rest.strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn list(&mut self, item: &Type) -> Option<ParameterValue> {
        self.depth += 1;
        if self.depth > MAX_DIMENSIONS || !self.take('{') {
            return None;
        }
        let mut items = Vec::new();
        if !self.take('}') {
            loop {
                items.push(self.item(item)?);
                if self.take('}') {
                    break;
                }
                if !self.take(',') {
                    return None;
                }
            }
        }
        self.depth -= 1;
        Some(ParameterValue::List(items))
    }

    fn item(&mut self, item: &Type) -> Option<ParameterValue> {
        self.rest = self.rest.trim_start_matches(SPACE);
        if self.rest.starts_with('{') {
            // In PostgreSQL the value has a number of dimensions, in the engine the type has it.
            return self.list(if let TypeKind::List(inner) = &item.kind { inner } else { item });
        }
        let (text, is_quoted) = self.token()?;
        if !is_quoted && text.eq_ignore_ascii_case("null") {
            return Some(ParameterValue::Null);
        }
        from_text(item, &text).ok()
    }

    fn token(&mut self) -> Option<(String, bool)> {
        // White space is kept where it is escaped.
        let (mut text, mut kept) = (String::new(), 0);
        let mut chars = self.rest.char_indices();
        let is_quoted = self.rest.starts_with('"');
        if is_quoted {
            chars.next();
        }
        loop {
            let (at, c) = chars.next()?;
            match c {
                '\\' => {
                    text.push(chars.next()?.1);
                    kept = text.len();
                }
                '"' if is_quoted => {
                    self.rest = &self.rest[at + 1..];
                    return Some((text, true));
                }
                ',' | '}' if !is_quoted => {
                    self.rest = &self.rest[at..];
                    let end = text.trim_end_matches(SPACE).len();
                    text.truncate(end.max(kept));
                    return (!text.is_empty()).then_some((text, false));
                }
                '{' | '"' if !is_quoted => return None,
                c => text.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::oid;

    const TEXTS: u32 = 1009;
    const INTEGERS: u32 = 1007;

    fn read(oid: u32, text: &str) -> Option<ParameterValue> {
        from_text(&Type::of_oid(oid).unwrap(), text).ok()
    }

    fn text(text: &str) -> Option<ParameterValue> {
        Some(ParameterValue::Text(text.to_owned()))
    }

    #[test]
    fn scalars_are_what_the_engine_reads() {
        for (oid, given, expected) in [
            (oid::BOOL, " t ", "true"),
            (oid::BOOL, "OFF", "false"),
            (oid::DATE, "0044-03-15 BC", "0044-03-15 (BC)"),
            (oid::DATE, "2024-02-29 +01", "2024-02-29"),
            (oid::TIMESTAMP, "2024-02-29 01:02:03.5+05:30", "2024-02-29 01:02:03.5"),
            (oid::TIMESTAMP, "2024-02-29T01:02:03Z", "2024-02-29T01:02:03"),
            (oid::TIMESTAMP, "infinity", "infinity"),
            (oid::TIMESTAMP, "2024-02-29 01:02:03 PM", "2024-02-29 01:02:03 PM"),
            (oid::TIMESTAMPTZ, "0044-03-15 01:02:03+00 BC", "0044-03-15 (BC) 01:02:03+00"),
            (oid::INTERVAL, "-1 days +02:00:00", "-1 days 02:00:00"),
            (oid::NUMERIC, "1.5e3", "1500"),
            (oid::NUMERIC, "-12.5E-3", "-0.0125"),
            (oid::NUMERIC, "1.25e1", "12.5"),
            (oid::TEXT, " x ", " x "),
        ] {
            assert_eq!(read(oid, given), text(expected), "{oid} {given}");
        }
        for (oid, given) in [
            (oid::INT4, "5.0"),
            (oid::INT8, " -15e0 "),
            (oid::INT2, "1.50e1"),
            (oid::INT4, "0x1e5"),
            (oid::FLOAT8, "1e308"),
            (oid::FLOAT8, "-Infinity"),
            (oid::FLOAT4, "3.4e38"),
        ] {
            assert_eq!(read(oid, given), text(given), "{oid} {given}");
        }
        for (oid, given) in [
            (oid::INT4, "5.5"),
            (oid::INT8, "15e-1"),
            (oid::INT2, "1e-99"),
            (oid::INT4, "1_0.5"),
            (oid::FLOAT8, "-1e309"),
            (oid::FLOAT4, "1e39"),
            (oid::FLOAT4, "999999999999999999999999999999999999999"),
        ] {
            assert_eq!(read(oid, given), None, "{oid} {given}");
        }
        assert_eq!(read(oid::BOOL, "o"), None);
        assert_eq!(read(oid::BYTEA, "\\x00fF"), Some(ParameterValue::Bytes(vec![0, 255])));
        assert_eq!(read(oid::BYTEA, "a\\\\\\001"), Some(ParameterValue::Bytes(vec![b'a', b'\\', 1])));
        assert_eq!(read(oid::BYTEA, "\\x0"), None);
    }

    #[test]
    fn arrays_as_postgresql_reads_them() {
        let item = |value: &str| ParameterValue::Text(value.to_owned());
        assert_eq!(read(INTEGERS, "{}"), Some(ParameterValue::List(vec![])));
        let expected = vec![item("a b"), ParameterValue::Null, item("NULL"), item("c,\"\\")];
        assert_eq!(read(TEXTS, r#"{a b , NULL,"NULL","c,\"\\"}"#), Some(ParameterValue::List(expected)));
        let expected = vec![item("\u{a0}x"), item("\u{85}"), item("\u{2003}y\u{3000}"), item("z "), item("\\ ")];
        assert_eq!(
            read(TEXTS, "\u{b}{\u{a0}x,\u{85} ,\t\u{2003}y\u{3000}\r,z\\ ,\\\\\\ }\u{c}"),
            Some(ParameterValue::List(expected))
        );
        assert_eq!(read(TEXTS, "\u{a0}{}"), None);
        let rows = vec![ParameterValue::List(vec![item("1")]), ParameterValue::List(vec![item("2")])];
        assert_eq!(read(INTEGERS, "[1:2][1:1]={{1},{2}}"), Some(ParameterValue::List(rows.clone())));
        let nested = Type::list_of(Type::of_oid(INTEGERS).unwrap());
        assert_eq!(from_text(&nested, "{{1},{2}}"), Ok(ParameterValue::List(rows)));
        for wrong in ["", "{", "{1", "{1,}", "{1}x", "{\"a}", "1", "{{{{{{{1}}}}}}}"] {
            assert_eq!(read(INTEGERS, wrong), None, "{wrong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_text_never_panics(given in r#"[{}\[\]"\\,a0-9é :+.eTZBC-]{0,24}"#) {
            for oid in [oid::BOOL, oid::BYTEA, oid::DATE, oid::TIMESTAMP, oid::TIMESTAMPTZ, oid::TIME, oid::INTERVAL, oid::NUMERIC,
                        TEXTS, 1231] {
                let _ = read(oid, &given);
            }
            let nested = Type::list_of(Type::of_oid(1001).unwrap());
            let _ = from_text(&nested, &given);
        }
    }
}
