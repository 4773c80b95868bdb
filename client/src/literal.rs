//! Values as typed literals.
//!
//! Values are bound by the source's protocol where possible. COPY has no parameters (PostgreSQL's protocol §55.2.3),
//! nor have statements that cannot be prepared and queries that are read in parts. For these, the client writes
//! literals into the text, never inside quotes or comments. Each literal is one expression with exactly this value,
//! whatever the session's settings are.

pub(crate) mod sqlite;

use colonnade_sql::{Dialect, quote};

use crate::Error;
use crate::parameter::{PROTOCOLS, Parameters, Value, decimal_digits, decimal_width, push, replace, uuid};

/// The deepest nesting of lists. More would exhaust the stack.
const MAX_DEPTH: usize = 64;

/// `sql` with each placeholder outside of quotes and comments replaced by its value's literal.
///
/// # Errors
/// A placeholder without a value, a value without a placeholder, `$1` and `$name` mixed up, or a value that the
/// dialect cannot write.
pub fn bind(sql: &str, parameters: &Parameters, dialect: Dialect) -> Result<String, Error> {
    replace(sql, parameters, dialect, &mut |bound, value| literal(bound, value, dialect, 0))
}

/// Appends one expression. Casts keep the type what it is; the parentheses of a negative number keep `x-$1` from
/// becoming a comment.
fn literal(sql: &mut String, value: &Value, dialect: Dialect, depth: usize) -> Result<(), String> {
    match dialect {
        Dialect::Sqlite => return sqlite::literal(sql, value),
        Dialect::MySql { .. } => return crate::mysql::literal(sql, value),
        Dialect::Unknown => {
            return Err("the source's syntax of values is unknown: write the value into the query".to_owned());
        }
        Dialect::DuckDb | Dialect::Postgres { .. } => {}
    }
    let names = Names::of(dialect);
    if depth > MAX_DEPTH {
        return Err(format!("its lists are more than {MAX_DEPTH} levels deep"));
    }
    match value {
        Value::Null => sql.push_str("NULL"),
        Value::Bool(true) => sql.push_str("TRUE"),
        Value::Bool(false) => sql.push_str("FALSE"),
        Value::Integer(number) => integer(sql, *number, names.huge),
        Value::Unsigned(number) => push(sql, format_args!("CAST('{number}' AS {})", names.unsigned)),
        Value::Float(number) if number.is_nan() => push(sql, format_args!("CAST('nan' AS {})", names.double)),
        Value::Float(number) => push(sql, format_args!("CAST('{number:e}' AS {})", names.double)),
        Value::Decimal { unscaled, scale } => decimal(sql, *unscaled, *scale)?,
        Value::Text(text) if text.contains('\0') => return Err("text cannot hold a NUL character".to_owned()),
        Value::Text(text) => quote::push_string(sql, text, dialect),
        Value::Sent(_) => return Err(PROTOCOLS.to_owned()),
        Value::Bytes(bytes) => quote::push_bytes(sql, bytes, dialect),
        Value::Date(date) => push(sql, format_args!("CAST('{date}' AS DATE)")),
        Value::Time(time, None) => push(sql, format_args!("CAST('{time}' AS TIME)")),
        Value::Time(time, Some(offset)) => {
            let (sign, o) = (if *offset < 0 { '-' } else { '+' }, offset.unsigned_abs());
            let (hours, minutes, seconds) = (o / 3600, o / 60 % 60, o % 60);
            push(sql, format_args!("CAST('{time}{sign}{hours:02}:{minutes:02}:{seconds:02}' AS TIMETZ)"));
        }
        Value::Timestamp(date, time) => push(sql, format_args!("CAST('{date} {time}' AS TIMESTAMP)")),
        Value::Instant(date, time) => push(sql, format_args!("CAST('{date} {time}+00' AS TIMESTAMPTZ)")),
        Value::Duration { days, microseconds } => {
            // With some values of IntervalStyle, PostgreSQL applies the first minus sign to both parts, so both get a
            // sign. DuckDB accepts no plus sign.
            match dialect {
                Dialect::Postgres { .. } => {
                    push(sql, format_args!("CAST('{days:+} days {microseconds:+} microseconds' AS INTERVAL)"));
                }
                _ => push(sql, format_args!("CAST('{days} days {microseconds} microseconds' AS INTERVAL)")),
            }
        }
        Value::Uuid(bytes) => push(sql, format_args!("CAST('{}' AS UUID)", uuid(*bytes))),
        // An array without elements gets its type from its context.
        Value::List(values) if values.is_empty() && matches!(dialect, Dialect::Postgres { .. }) => sql.push_str("'{}'"),
        Value::List(values) => {
            sql.push_str(names.list);
            for (index, value) in values.iter().enumerate() {
                sql.push_str(if index > 0 { ", " } else { "" });
                literal(sql, value, dialect, depth + 1)?;
            }
            sql.push(']');
        }
    }
    Ok(())
}

/// The names that differ between dialects.
struct Names {
    huge: &'static str,
    unsigned: &'static str,
    double: &'static str,
    list: &'static str,
}

impl Names {
    fn of(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Postgres { .. } => Self { huge: "NUMERIC", unsigned: "NUMERIC", double: "FLOAT8", list: "ARRAY[" },
            // SQLite and MySQL write theirs elsewhere.
            _ => Self { huge: "HUGEINT", unsigned: "UHUGEINT", double: "DOUBLE", list: "[" },
        }
    }
}

fn integer(sql: &mut String, number: i128, huge: &str) {
    // The type is that of a literal of this size. A cast sets it where a minus sign would change it.
    if i32::try_from(number).is_ok() {
        let (open, close) = if number < 0 { ("(", ")") } else { ("", "") };
        push(sql, format_args!("{open}{number}{close}"));
    } else {
        let name = if i64::try_from(number).is_ok() { "BIGINT" } else { huge };
        push(sql, format_args!("CAST('{number}' AS {name})"));
    }
}

fn decimal(sql: &mut String, unscaled: i128, scale: u8) -> Result<(), String> {
    let width = decimal_width(unscaled, scale)?;
    push(sql, format_args!("CAST('{}' AS DECIMAL({width},{scale}))", decimal_digits(unscaled, scale)));
    Ok(())
}

#[cfg(test)]
#[path = "literal_tests.rs"]
mod tests;
