//! Query parameters, and their forms as typed literals.
//!
//! Values are bound by the source's protocol. COPY takes no parameters (PostgreSQL's protocol §55.2.3 gives it none), nor do statements
//! that cannot be prepared and queries that are read in parts: there the client puts literals into the text, never inside quotes or
//! comments, each as one expression that means exactly the value whatever the session's settings are.

pub(crate) mod sqlite;

use std::fmt::{self, Write as _};

use colonnade_sql::{Dialect, placeholder, quote};

use crate::{Error, ErrorKind};

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Integer(i128),
    /// An integer above `i128::MAX`.
    Unsigned(u128),
    /// A double.
    Float(f64),
    /// `unscaled` × 10^−`scale`.
    Decimal {
        /// The sign and at most 38 digits.
        unscaled: i128,
        /// Digits after the point, at most 38.
        scale: u8,
    },
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A calendar date.
    Date(Date),
    /// A time of day, with its distance from UTC in seconds if it has one.
    Time(Time, Option<i32>),
    /// A point in time without a zone.
    Timestamp(Date, Time),
    /// A point in time; date and time are those in UTC.
    Instant(Date, Time),
    /// A length of time; the two parts add up.
    Duration {
        /// Days of 24 hours.
        days: i32,
        /// Microseconds.
        microseconds: i64,
    },
    /// 16 bytes.
    Uuid([u8; 16]),
    /// Values of one type.
    List(Vec<Value>),
    /// A value in PostgreSQL's own form, for a PostgreSQL alone.
    Sent(Sent),
}

/// A value as PostgreSQL's Bind message has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The type's number; with 0 the server finds the type.
    pub type_oid: u32,
    /// Whether the bytes are what the type's send function writes, and not its text.
    pub is_binary: bool,
    /// `None` is NULL.
    pub bytes: Option<Vec<u8>>,
}

/// A date of the proleptic Gregorian calendar, years 1 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Date {
    pub year: u16,
    pub month: u8,
    pub day: u8,
}

/// A time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Time {
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
}

/// The values for a query's placeholders.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameters {
    /// For `$1`, `$2`, ….
    Positional(Vec<Value>),
    /// For `$name`.
    Named(Vec<(String, Value)>),
}

/// Why there is no literal of a value in PostgreSQL's own form.
pub(crate) const PROTOCOLS: &str = "a value in PostgreSQL's form can only be bound by its protocol";
/// Most digits of a decimal.
const DECIMAL_DIGITS: u8 = 38;
/// Lists in lists in lists: more than any query needs, less than a stack holds.
const MAX_DEPTH: usize = 64;

/// `sql` with each placeholder outside of quotes and comments replaced by its value's literal.
///
/// # Errors
/// A placeholder without a value, a value without a placeholder, `$1` and `$name` mixed up, or a value that the
/// dialect cannot write.
pub fn bind(sql: &str, parameters: &Parameters, dialect: Dialect) -> Result<String, Error> {
    replace(sql, parameters, dialect, &mut |bound, value| literal(bound, value, dialect, 0))
}

/// Writes what stands in the place of a value.
pub(crate) type Write<'w, 'p> = &'w mut dyn FnMut(&mut String, &'p Value) -> Result<(), String>;

/// `sql` with what `write` puts in the place of each placeholder outside of quotes and comments.
///
/// # Errors
/// A placeholder without a value, a value without a placeholder, `$1` and `$name` mixed up, or those of `write`.
pub(crate) fn replace<'p>(
    sql: &str,
    parameters: &'p Parameters,
    dialect: Dialect,
    write: Write<'_, 'p>,
) -> Result<String, Error> {
    let mut used = vec![false; parameters.len()];
    let bound = placeholder::replace(sql, dialect, |bound, name| {
        let (index, value) = parameters.value(name)?;
        used[index] = true;
        write(bound, value).map_err(|what| usage(format!("parameter ${name}: {what}")))
    })?;
    match used.iter().position(|used| !used) {
        Some(index) => Err(unused(parameters.name(index))),
        None => Ok(bound),
    }
}

impl Parameters {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Positional(values) => values.len(),
            Self::Named(values) => values.len(),
        }
    }

    pub(crate) fn name(&self, index: usize) -> String {
        match self {
            Self::Positional(_) => (index + 1).to_string(),
            Self::Named(values) => values[index].0.clone(),
        }
    }

    /// The value for `$name`, and its place.
    ///
    /// # Errors
    /// There is none, or names and numbers are mixed up.
    pub(crate) fn value(&self, name: &str) -> Result<(usize, &Value), Error> {
        let is_number = name.starts_with(|first: char| first.is_ascii_digit());
        let found = match (self, is_number) {
            (Self::Positional(values), true) => {
                let index = name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                index.and_then(|index| Some((index, values.get(index)?)))
            }
            (Self::Named(values), false) => {
                values.iter().position(|(key, _)| key == name).map(|index| (index, &values[index].1))
            }
            (Self::Positional(_), false) => {
                return Err(usage(format!("the query has ${name}: give the values by name, in a mapping")));
            }
            (Self::Named(_), true) => {
                return Err(usage(format!("the query has ${name}: give the values in order, in a sequence")));
            }
        };
        found.ok_or_else(|| usage(format!("the query has ${name}, but no value is given for it")))
    }
}

/// Appends one expression. Casts keep the type what it is; the parentheses of a negative number keep `x-$1` from
/// becoming a comment.
fn literal(sql: &mut String, value: &Value, dialect: Dialect, depth: usize) -> Result<(), String> {
    match dialect {
        Dialect::Sqlite => return sqlite::literal(sql, value),
        Dialect::MySql { .. } => return crate::mysql::literal(sql, value),
        Dialect::Unknown => return Err("how the source writes values is not known: write it into the query".to_owned()),
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
            // PostgreSQL's IntervalStyle may make a first minus count for both, so both get a sign. DuckDB takes no plus.
            match dialect {
                Dialect::Postgres { .. } => {
                    push(sql, format_args!("CAST('{days:+} days {microseconds:+} microseconds' AS INTERVAL)"));
                }
                _ => push(sql, format_args!("CAST('{days} days {microseconds} microseconds' AS INTERVAL)")),
            }
        }
        Value::Uuid(bytes) => push(sql, format_args!("CAST('{}' AS UUID)", uuid(*bytes))),
        // An array without elements takes its type from where it stands.
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

/// What the dialects call differently.
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
    // The type that a literal of this size has, said outright where a minus sign would widen it.
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

/// How many digits a decimal's type has.
///
/// # Errors
/// More than a type can have.
pub(crate) fn decimal_width(unscaled: i128, scale: u8) -> Result<u8, String> {
    let width = (unscaled.unsigned_abs().to_string().len() as u8).max(scale);
    if width > DECIMAL_DIGITS {
        return Err(format!("a decimal has at most {DECIMAL_DIGITS} digits, this one {width}"));
    }
    Ok(width)
}

/// A decimal's digits, with as many behind the point as it has.
pub(crate) fn decimal_digits(unscaled: i128, scale: u8) -> String {
    let digits = unscaled.unsigned_abs().to_string();
    let padded = format!("{digits:0>least$}", least = scale as usize + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale as usize);
    let sign = if unscaled < 0 { "-" } else { "" };
    let point = if scale > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{fraction}")
}

impl std::fmt::Display for Date {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:02}:{:02}:{:02}.{:06}", self.hour, self.minute, self.second, self.microsecond)
    }
}

/// The usual 36 characters.
pub(crate) fn uuid(bytes: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        push(&mut text, format_args!("{}{byte:02x}", if matches!(index, 4 | 6 | 8 | 10) { "-" } else { "" }));
    }
    text
}

/// Appends a text.
pub(crate) fn push(sql: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = sql.write_fmt(text);
}

/// A value was given for which the query has no placeholder.
pub(crate) fn unused(name: impl fmt::Display) -> Error {
    usage(format!("the query has no ${name} for a given value")).with_hint(
        "write placeholders as $1, $2, … for a list of values and as $name for a mapping, in place of %s, %(name)s, ? and :name",
    )
}

fn usage(message: String) -> Error {
    Error::new(ErrorKind::Usage, message)
}

#[cfg(test)]
#[path = "literal_tests.rs"]
mod tests;
