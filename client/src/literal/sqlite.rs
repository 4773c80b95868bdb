//! Values in SQLite's types: integers, doubles, text and blobs. All other values become the text that SQLite's own
//! functions write.
//! <https://www.sqlite.org/lang_expr.html#literal_values_constants_>

use std::borrow::Cow;

use colonnade_sql::{Dialect, quote};

use crate::parameter::{Date, PROTOCOLS, Time, Value, push, uuid};

/// The digits of a decimal that a double preserves.
const DOUBLE_DIGITS: usize = 15;

/// A value that can be bound.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Atom<'v> {
    Null,
    Integer(i64),
    Real(f64),
    Text(Cow<'v, str>),
    Blob(&'v [u8]),
}

/// The value that represents another value in SQLite.
///
/// # Errors
/// SQLite has no such value.
pub(crate) fn atom(value: &Value) -> Result<Atom<'_>, String> {
    let written = |text: String| Atom::Text(Cow::Owned(text));
    Ok(match value {
        Value::Null => Atom::Null,
        Value::Bool(truth) => Atom::Integer((*truth).into()),
        Value::Integer(number) => match i64::try_from(*number) {
            Ok(number) => Atom::Integer(number),
            Err(_) => return Err("SQLite's integers have 64 bits: pass it as text".to_owned()),
        },
        Value::Unsigned(_) => return Err("SQLite's integers have 64 bits: pass it as text".to_owned()),
        Value::Float(number) if number.is_nan() => return Err("SQLite has no NaN: pass NULL".to_owned()),
        Value::Float(number) => Atom::Real(*number),
        Value::Decimal { unscaled, scale } => return decimal(*unscaled, *scale),
        // Some of SQLite's functions end a text at a NUL.
        Value::Text(value) if value.contains('\0') => return Err("text cannot hold a NUL character".to_owned()),
        Value::Text(value) => Atom::Text(Cow::Borrowed(value)),
        Value::Bytes(bytes) => Atom::Blob(bytes),
        Value::Date(date) => written(date.to_string()),
        Value::Time(value, None) => written(time(*value)),
        Value::Timestamp(date, value) => written(timestamp(*date, *value)),
        Value::Instant(date, value) => written(timestamp(*date, *value) + "+00:00"),
        Value::Uuid(bytes) => written(uuid(*bytes)),
        Value::Time(_, Some(_)) => return Err("SQLite has no times with a zone: pass text".to_owned()),
        Value::Duration { .. } => return Err("SQLite has no intervals: pass a number or text".to_owned()),
        Value::List(_) => return Err("SQLite has no arrays: give each value a placeholder of its own".to_owned()),
        Value::Sent(_) => return Err(PROTOCOLS.to_owned()),
    })
}

/// Appends one expression, which is exactly the value or its text.
pub(super) fn literal(sql: &mut String, value: &Value) -> Result<(), String> {
    match atom(value)? {
        Atom::Null => sql.push_str("NULL"),
        Atom::Integer(number) => signed(sql, number < 0, &number.to_string()),
        Atom::Real(number) if number.is_infinite() => {
            signed(sql, number < 0.0, if number < 0.0 { "-9e999" } else { "9e999" })
        }
        Atom::Real(number) => signed(sql, number.is_sign_negative(), &format!("{number:e}")),
        Atom::Text(value) => quote::push_string(sql, &value, Dialect::Sqlite),
        Atom::Blob(bytes) => quote::push_bytes(sql, bytes, Dialect::Sqlite),
    }
    Ok(())
}

/// A double: SQLite has no decimals.
fn decimal(unscaled: i128, scale: u8) -> Result<Atom<'static>, String> {
    if let (0, Ok(whole)) = (scale, i64::try_from(unscaled)) {
        return Ok(Atom::Integer(whole));
    }
    let few = unscaled.unsigned_abs().to_string().len() <= DOUBLE_DIGITS;
    match format!("{unscaled}e-{scale}").parse() {
        Ok(number) if few => Ok(Atom::Real(number)),
        _ => Err(format!("SQLite has no decimals, and a double holds {DOUBLE_DIGITS} digits: pass text or a float")),
    }
}

/// The parentheses keep `x-$1` from becoming a comment.
fn signed(sql: &mut String, negative: bool, number: &str) {
    let (open, close) = if negative { ("(", ")") } else { ("", "") };
    push(sql, format_args!("{open}{number}{close}"));
}

/// The time without a fraction if that is 0, as `datetime()` and Python's `isoformat()` write it.
fn time(time: Time) -> String {
    let whole = format!("{:02}:{:02}:{:02}", time.hour, time.minute, time.second);
    if time.microsecond == 0 { whole } else { format!("{whole}.{:06}", time.microsecond) }
}

fn timestamp(date: Date, time: Time) -> String {
    format!("{date} {}", self::time(time))
}
