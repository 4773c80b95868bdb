//! Query parameters as MySQL's and MariaDB's literals.
//! <https://dev.mysql.com/doc/refman/8.4/en/literals.html>

use std::fmt::Write as _;

use crate::Value;

/// Most digits behind the point that both have.
const MAX_SCALE: u8 = 30;
/// Most digits of a decimal here.
const MAX_DIGITS: u8 = 38;
const MICROSECONDS_OF_A_DAY: i128 = 86_400_000_000;
/// 838:59:59, the longest time.
const LONGEST: i128 = (838 * 3600 + 59 * 60 + 59) * 1_000_000;

/// Appends one expression that means exactly the value, whatever the session's `sql_mode`.
///
/// # Errors
/// MySQL has no such value.
pub(crate) fn literal(sql: &mut String, value: &Value) -> Result<(), String> {
    let text = match value {
        Value::Null => "NULL".to_owned(),
        Value::Bool(true) => "TRUE".to_owned(),
        Value::Bool(false) => "FALSE".to_owned(),
        // The parentheses keep `x-$1` from becoming a comment.
        Value::Integer(number) if *number < 0 => format!("({number})"),
        Value::Integer(number) => number.to_string(),
        Value::Unsigned(number) => number.to_string(),
        Value::Float(number) if !number.is_finite() => {
            return Err(format!("{number} is a double that MySQL does not have"));
        }
        // With its exponent, a number is a double.
        Value::Float(number) => format!("({number:e})"),
        Value::Decimal { unscaled, scale } => decimal(*unscaled, *scale)?,
        // In hexadecimal nothing can escape, if something would.
        Value::Text(text) | Value::Written(text, _) if text.contains(['\\', '\0']) => {
            format!("_utf8mb4 X'{}'", hexadecimal(text.as_bytes()))
        }
        Value::Text(text) | Value::Written(text, _) => format!("'{}'", text.replace('\'', "''")),
        Value::Bytes(bytes) => format!("_binary X'{}'", hexadecimal(bytes)),
        Value::Date(date) => format!("CAST('{date}' AS DATE)"),
        Value::Time(time, None) => format!("CAST('{time}' AS TIME(6))"),
        Value::Time(_, Some(_)) => return Err("MySQL has no times with a zone".to_owned()),
        Value::Timestamp(date, time) => format!("CAST('{date} {time}' AS DATETIME(6))"),
        // What a TIMESTAMP column shows depends on the session.
        Value::Instant(date, time) => {
            format!("CONVERT_TZ(CAST('{date} {time}' AS DATETIME(6)), '+00:00', @@session.time_zone)")
        }
        Value::Duration { days, microseconds } => duration(*days, *microseconds)?,
        Value::Uuid(bytes) => {
            let all = hexadecimal(bytes).to_lowercase();
            format!("'{}-{}-{}-{}-{}'", &all[..8], &all[8..12], &all[12..16], &all[16..20], &all[20..])
        }
        Value::List(_) => return Err("MySQL has no lists: write a placeholder for each item".to_owned()),
    };
    sql.push_str(&text);
    Ok(())
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02X}");
    }
    text
}

fn decimal(unscaled: i128, scale: u8) -> Result<String, String> {
    let digits = unscaled.unsigned_abs().to_string();
    let width = (digits.len() as u8).max(scale);
    if width > MAX_DIGITS || scale > MAX_SCALE {
        return Err(format!("a decimal has at most {MAX_DIGITS} digits, and {MAX_SCALE} after the point"));
    }
    let padded = format!("{digits:0>least$}", least = scale as usize + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale as usize);
    let sign = if unscaled < 0 { "-" } else { "" };
    let point = if scale > 0 { "." } else { "" };
    Ok(format!("CAST('{sign}{whole}{point}{fraction}' AS DECIMAL({width},{scale}))"))
}

fn duration(days: i32, microseconds: i64) -> Result<String, String> {
    let length = i128::from(days) * MICROSECONDS_OF_A_DAY + i128::from(microseconds);
    if length.abs() > LONGEST {
        return Err("a time has at most 838:59:59".to_owned());
    }
    let (sign, length) = (if length < 0 { "-" } else { "" }, length.abs());
    let seconds = length / 1_000_000;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    Ok(format!("CAST('{sign}{hours:02}:{minutes:02}:{:02}.{:06}' AS TIME(6))", seconds % 60, length % 1_000_000))
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
            (Value::Unsigned(u128::MAX), "340282366920938463463374607431768211455"),
            (Value::Float(-0.5), "(-5e-1)"),
            (Value::Decimal { unscaled: -1, scale: 3 }, "CAST('-0.001' AS DECIMAL(3,3))"),
            (Value::Text("it's".to_owned()), "'it''s'"),
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
