//! SQLite's literals: integers, doubles, text and blobs. Everything else is written as the text that SQLite's own functions write.
//! <https://www.sqlite.org/lang_expr.html#literal_values_constants_>

use super::{Date, Time, Value, push, text, uuid};
use crate::Dialect;

/// So many digits of a decimal survive as a double.
const DOUBLE_DIGITS: usize = 15;

/// Appends one expression, which is exactly the value or the text that stands for it.
pub(super) fn literal(sql: &mut String, value: &Value) -> Result<(), String> {
    match value {
        Value::Null => sql.push_str("NULL"),
        Value::Bool(truth) => push(sql, format_args!("{}", u8::from(*truth))),
        Value::Integer(number) => match i64::try_from(*number) {
            Ok(number) => signed(sql, number < 0, &number.to_string()),
            Err(_) => return Err("SQLite's integers have 64 bits: pass it as text".to_owned()),
        },
        Value::Unsigned(_) => return Err("SQLite's integers have 64 bits: pass it as text".to_owned()),
        Value::Float(number) if number.is_nan() => return Err("SQLite has no NaN: pass NULL".to_owned()),
        Value::Float(number) if number.is_infinite() => {
            signed(sql, *number < 0.0, if *number < 0.0 { "-9e999" } else { "9e999" })
        }
        Value::Float(number) => signed(sql, number.is_sign_negative(), &format!("{number:e}")),
        Value::Decimal { unscaled, scale } => return decimal(sql, *unscaled, *scale),
        Value::Text(value) | Value::Written(value, _) if value.contains('\0') => {
            return Err("text cannot hold a NUL character".to_owned());
        }
        Value::Text(value) | Value::Written(value, _) => text(sql, value, Dialect::Sqlite),
        Value::Bytes(bytes) => {
            sql.push_str("X'");
            bytes.iter().for_each(|byte| push(sql, format_args!("{byte:02X}")));
            sql.push('\'');
        }
        Value::Date(date) => push(sql, format_args!("'{date}'")),
        Value::Time(value, None) => push(sql, format_args!("'{}'", time(*value))),
        Value::Timestamp(date, value) => push(sql, format_args!("'{}'", timestamp(*date, *value))),
        Value::Instant(date, value) => push(sql, format_args!("'{}+00:00'", timestamp(*date, *value))),
        Value::Uuid(bytes) => push(sql, format_args!("'{}'", uuid(*bytes))),
        Value::Time(_, Some(_)) => return Err("SQLite has no times with a zone: pass text".to_owned()),
        Value::Duration { .. } => return Err("SQLite has no intervals: pass a number or text".to_owned()),
        Value::List(_) => return Err("SQLite has no arrays: give each value a placeholder of its own".to_owned()),
    }
    Ok(())
}

/// A double: SQLite has no decimals.
fn decimal(sql: &mut String, unscaled: i128, scale: u8) -> Result<(), String> {
    if let (0, Ok(whole)) = (scale, i64::try_from(unscaled)) {
        signed(sql, whole < 0, &whole.to_string());
        return Ok(());
    }
    if unscaled.unsigned_abs().to_string().len() > DOUBLE_DIGITS {
        return Err(format!("SQLite has no decimals, and a double holds {DOUBLE_DIGITS} digits: pass text or a float"));
    }
    signed(sql, unscaled < 0, &format!("{unscaled}e-{scale}"));
    Ok(())
}

/// The parentheses keep `x-$1` from becoming a comment.
fn signed(sql: &mut String, negative: bool, number: &str) {
    let (open, close) = if negative { ("(", ")") } else { ("", "") };
    push(sql, format_args!("{open}{number}{close}"));
}

/// Without a fraction if it has none, as `datetime()` and Python's `isoformat()` write it.
fn time(time: Time) -> String {
    let whole = format!("{:02}:{:02}:{:02}", time.hour, time.minute, time.second);
    if time.microsecond == 0 { whole } else { format!("{whole}.{:06}", time.microsecond) }
}

fn timestamp(date: Date, time: Time) -> String {
    format!("{date} {}", self::time(time))
}
