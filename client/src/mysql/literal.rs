//! Values in MySQL's and MariaDB's types: the bound value, and the expression around it that sets its type.
//! <https://dev.mysql.com/doc/refman/8.4/en/literals.html>

use std::borrow::Cow;

use colonnade_sql::{Dialect, quote};

use crate::Value;
use crate::parameter::{PROTOCOLS, decimal_digits, decimal_width, push, uuid};

/// The most digits after the point in both databases.
const MAX_SCALE: u8 = 30;
/// Digits of the largest integer of 128 bits.
const UNSIGNED_DIGITS: u8 = 39;
const MICROSECONDS_OF_A_DAY: i128 = 86_400_000_000;
/// 838:59:59, the largest time.
const LONGEST: i128 = (838 * 3600 + 59 * 60 + 59) * 1_000_000;

/// A value that the protocol can bind.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Atom<'v> {
    Null,
    Integer(i64),
    Unsigned(u64),
    Double(f64),
    /// In UTF-8.
    Text(Cow<'v, str>),
    Bytes(&'v [u8]),
}

/// A value. `before` and `after` contain nothing of it except the number of its digits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expression<'v> {
    pub(super) before: &'static str,
    pub(super) atom: Atom<'v>,
    pub(super) after: Cow<'static, str>,
}

impl<'v> Expression<'v> {
    /// The bound value and its expression.
    ///
    /// # Errors
    /// MySQL has no such value.
    pub(super) fn of(value: &'v Value) -> Result<Self, String> {
        let alone = |atom| Self { before: "", atom, after: Cow::Borrowed("") };
        let cast = |text: String, after| Self { before: "CAST(", atom: Atom::Text(Cow::Owned(text)), after };
        Ok(match value {
            Value::Null => alone(Atom::Null),
            Value::Bool(truth) => alone(Atom::Integer((*truth).into())),
            Value::Integer(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => alone(Atom::Integer(number)),
                (_, Ok(number)) => alone(Atom::Unsigned(number)),
                _ => cast(number.to_string(), Cow::Owned(format!(" AS DECIMAL({UNSIGNED_DIGITS},0))"))),
            },
            Value::Unsigned(number) => {
                cast(number.to_string(), Cow::Owned(format!(" AS DECIMAL({UNSIGNED_DIGITS},0))")))
            }
            Value::Float(number) if !number.is_finite() => {
                return Err(format!("{number} is a double that MySQL does not have"));
            }
            Value::Float(number) => alone(Atom::Double(*number)),
            Value::Decimal { unscaled, scale } => {
                let (text, width) = decimal(*unscaled, *scale)?;
                cast(text, Cow::Owned(format!(" AS DECIMAL({width},{scale}))")))
            }
            Value::Text(text) => alone(Atom::Text(Cow::Borrowed(text))),
            Value::Bytes(bytes) => alone(Atom::Bytes(bytes)),
            Value::Date(date) => cast(date.to_string(), Cow::Borrowed(" AS DATE)")),
            Value::Time(time, None) => cast(time.to_string(), Cow::Borrowed(" AS TIME(6))")),
            Value::Time(_, Some(_)) => return Err("MySQL has no times with a zone".to_owned()),
            Value::Timestamp(date, time) => cast(format!("{date} {time}"), Cow::Borrowed(" AS DATETIME(6))")),
            // The value of a TIMESTAMP column depends on the session's time zone.
            Value::Instant(date, time) => Self {
                before: "CONVERT_TZ(CAST(",
                atom: Atom::Text(Cow::Owned(format!("{date} {time}"))),
                after: Cow::Borrowed(" AS DATETIME(6)), '+00:00', @@session.time_zone)"),
            },
            Value::Duration { days, microseconds } => {
                cast(duration(*days, *microseconds)?, Cow::Borrowed(" AS TIME(6))"))
            }
            Value::Uuid(bytes) => alone(Atom::Text(Cow::Owned(uuid(*bytes)))),
            Value::List(_) => return Err("MySQL has no lists: write a placeholder for each item".to_owned()),
            Value::Sent(_) => return Err(PROTOCOLS.to_owned()),
        })
    }
}

/// Appends one expression with exactly this value, whatever the session's `sql_mode` and character sets are.
///
/// # Errors
/// MySQL has no such value.
pub(crate) fn literal(sql: &mut String, value: &Value) -> Result<(), String> {
    let Expression { before, atom, after } = Expression::of(value)?;
    sql.push_str(before);
    match atom {
        Atom::Null => sql.push_str("NULL"),
        // The parentheses keep `x-$1` from becoming a comment.
        Atom::Integer(number) if number < 0 => push(sql, format_args!("({number})")),
        Atom::Integer(number) => push(sql, format_args!("{number}")),
        Atom::Unsigned(number) => push(sql, format_args!("{number}")),
        // A number with an exponent is a double.
        Atom::Double(number) => push(sql, format_args!("({number:e})")),
        Atom::Text(text) => quote::push_string(sql, &text, Dialect::MYSQL),
        Atom::Bytes(bytes) => quote::push_bytes(sql, bytes, Dialect::MYSQL),
    }
    sql.push_str(&after);
    Ok(())
}

/// The digits of a decimal, and their number.
fn decimal(unscaled: i128, scale: u8) -> Result<(String, u8), String> {
    let width = decimal_width(unscaled, scale)?;
    if scale > MAX_SCALE {
        return Err(format!("a decimal has at most {MAX_SCALE} digits after the point"));
    }
    Ok((decimal_digits(unscaled, scale), width))
}

fn duration(days: i32, microseconds: i64) -> Result<String, String> {
    let length = i128::from(days) * MICROSECONDS_OF_A_DAY + i128::from(microseconds);
    if length.abs() > LONGEST {
        return Err("a time has at most 838:59:59".to_owned());
    }
    let (sign, length) = (if length < 0 { "-" } else { "" }, length.abs());
    let seconds = length / 1_000_000;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    Ok(format!("{sign}{hours:02}:{minutes:02}:{:02}.{:06}", seconds % 60, length % 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Date, Time};

    fn one(value: Value) -> Result<String, String> {
        let mut sql = String::new();
        literal(&mut sql, &value).map(|()| sql)
    }

    #[test]
    fn each_type_has_its_literal() {
        let (date, time) =
            (Date { year: 987, month: 6, day: 5 }, Time { hour: 4, minute: 3, second: 2, microsecond: 1 });
        for (value, expected) in [
            (Value::Null, "NULL"),
            (Value::Integer(-5), "(-5)"),
            (Value::Unsigned(u128::MAX), "CAST('340282366920938463463374607431768211455' AS DECIMAL(39,0))"),
            (Value::Integer(i128::from(u64::MAX)), "18446744073709551615"),
            (Value::Float(-0.5), "(-5e-1)"),
            (Value::Decimal { unscaled: -1, scale: 3 }, "CAST('-0.001' AS DECIMAL(3,3))"),
            (Value::Text("it is".to_owned()), "'it is'"),
            (Value::Text("it's".to_owned()), "_utf8mb4 X'69742773'"),
            (Value::Text("ß".to_owned()), "_utf8mb4 X'C39F'"),
            (Value::Text("\\'".to_owned()), "_utf8mb4 X'5C27'"),
            (Value::Bytes(vec![0, 255]), "_binary X'00FF'"),
            (Value::Date(date), "CAST('0987-06-05' AS DATE)"),
            (Value::Time(time, None), "CAST('04:03:02.000001' AS TIME(6))"),
            (Value::Timestamp(date, time), "CAST('0987-06-05 04:03:02.000001' AS DATETIME(6))"),
            (Value::Duration { days: -1, microseconds: -1 }, "CAST('-24:00:00.000001' AS TIME(6))"),
            (Value::Uuid([0xab; 16]), "'abababab-abab-abab-abab-abababababab'"),
        ] {
            assert_eq!(one(value).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn what_mysql_lacks_is_refused() {
        for value in [
            Value::Float(f64::NAN),
            Value::Decimal { unscaled: 1, scale: 31 },
            Value::Time(Time { hour: 0, minute: 0, second: 0, microsecond: 0 }, Some(3600)),
            Value::Duration { days: 35, microseconds: 0 },
            Value::List(vec![Value::Null]),
        ] {
            assert!(one(value.clone()).is_err(), "{value:?}");
        }
    }
}
