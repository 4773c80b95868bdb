//! A query's parameters: their values and placeholders.

use std::fmt::{self, Write as _};

use colonnade_sql::{Dialect, placeholder};

use crate::write::moment::civil;
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
    /// A time of day, with its offset from UTC in seconds if it has one.
    Time(Time, Option<i32>),
    /// A point in time without a zone.
    Timestamp(Date, Time),
    /// A point in time; date and time are those in UTC.
    Instant(Date, Time),
    /// A duration: the sum of both parts.
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
    /// A value in PostgreSQL's own form, only for PostgreSQL.
    Sent(Sent),
}

/// A value in the form of PostgreSQL's Bind message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The type's number; with 0 the server finds the type.
    pub type_oid: u32,
    /// Whether the bytes are in the binary form of the type's send function, and not its text.
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

impl Date {
    /// The date of a number of days since 1970, if its year is one of 1 to 9999.
    #[must_use]
    pub fn from_days(days: i64) -> Option<Self> {
        let (year, month, day) = (-719_162..=2_932_896).contains(&days).then(|| civil(days))?;
        Some(Self { year: year as u16, month: month as u8, day: day as u8 })
    }
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

/// The error for a literal of a value in PostgreSQL's own form.
pub(crate) const PROTOCOLS: &str = "a value in PostgreSQL's form can only be bound by its protocol";
/// The most digits of a decimal.
const DECIMAL_DIGITS: u8 = 38;

/// Writes the replacement of a placeholder.
pub(crate) type Write<'w, 'p> = &'w mut dyn FnMut(&mut String, &'p Value) -> Result<(), String>;

/// `sql` with the output of `write` in place of each placeholder outside of quotes and comments.
///
/// # Errors
/// A placeholder without a value, a value without a placeholder, a mix of `$1` and `$name`, or an error of `write`.
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

    /// The value for `$name`, and its index.
    ///
    /// # Errors
    /// There is none, or the values are given in the other form.
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

/// The number of digits of a decimal's type.
///
/// # Errors
/// It is more than a type can have.
pub(crate) fn decimal_width(unscaled: i128, scale: u8) -> Result<u8, String> {
    let width = (unscaled.unsigned_abs().to_string().len() as u8).max(scale);
    if width > DECIMAL_DIGITS {
        return Err(format!("a decimal has at most {DECIMAL_DIGITS} digits, this one {width}"));
    }
    Ok(width)
}

/// A decimal's digits, with `scale` of them after the point.
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

/// Appends text.
pub(crate) fn push(sql: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = sql.write_fmt(text);
}

/// The error of a value for which the query has no placeholder.
pub(crate) fn unused(name: impl fmt::Display) -> Error {
    usage(format!("the query has no ${name} for a given value")).with_hint(
        "write placeholders as $1, $2, … for a list of values and as $name for a mapping, in place of %s, %(name)s, ? and :name",
    )
}

fn usage(message: String) -> Error {
    Error::new(ErrorKind::Usage, message)
}
