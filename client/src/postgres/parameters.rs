//! Values for Bind.
//!
//! The type of a value is that of its literal. If the literal has none, as for text and NULL, the server chooses the
//! type.

use std::borrow::Cow;
use std::fmt::Write as _;

use colonnade_sql::lexer::first_word;
use colonnade_sql::{Dialect, code};

use crate::parameter::{self, Time, replace};
use crate::{Error, ErrorKind, Parameters, Sent, Statement, Value};

/// The first words of statements that accept values: those of
/// <https://www.postgresql.org/docs/current/sql-prepare.html>, EXPLAIN and DECLARE, which pass values to the statement
/// in them, and CALL.
const TAKE_VALUES: [&str; 12] =
    ["SELECT", "WITH", "VALUES", "TABLE", "(", "INSERT", "UPDATE", "DELETE", "MERGE", "EXPLAIN", "DECLARE", "CALL"];
/// Bind counts its values in 16 bits.
const MOST: usize = u16::MAX as usize;
/// The deepest nesting of lists, which is the most dimensions of PostgreSQL's arrays.
const MOST_DIMENSIONS: usize = 6;

/// The numbers of types, from pg_type.dat.
mod oid {
    pub(super) const UNKNOWN: u32 = 0;
    pub(super) const BOOL: u32 = 16;
    pub(super) const BYTEA: u32 = 17;
    pub(super) const INT8: u32 = 20;
    pub(super) const INT4: u32 = 23;
    pub(super) const TEXT: u32 = 25;
    pub(super) const FLOAT8: u32 = 701;
    pub(super) const DATE: u32 = 1082;
    pub(super) const TIME: u32 = 1083;
    pub(super) const TIMESTAMP: u32 = 1114;
    pub(super) const TIMESTAMPTZ: u32 = 1184;
    pub(super) const INTERVAL: u32 = 1186;
    pub(super) const TIMETZ: u32 = 1266;
    pub(super) const NUMERIC: u32 = 1700;
    pub(super) const UUID: u32 = 2950;
    /// The array type of each type.
    pub(super) const ARRAYS: [(u32, u32); 14] = [
        (BOOL, 1000),
        (BYTEA, 1001),
        (INT8, 1016),
        (INT4, 1007),
        (TEXT, 1009),
        (FLOAT8, 1022),
        (DATE, 1182),
        (TIME, 1183),
        (TIMESTAMP, 1115),
        (TIMESTAMPTZ, 1185),
        (INTERVAL, 1187),
        (TIMETZ, 1270),
        (NUMERIC, 1231),
        (UUID, 2951),
    ];
}

/// A statement and its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BoundStatement {
    pub(super) sql: String,
    pub(super) values: Vec<Sent>,
}

impl BoundStatement {
    /// The types of the values.
    pub(super) fn types(&self) -> Vec<u32> {
        self.values.iter().map(|value| value.type_oid).collect()
    }
}

/// The statement to send: with separate values, or with literals if its kind accepts no values.
///
/// # Errors
/// As for [`bind`](crate::bind); more values than Bind takes.
pub(super) fn bound(statement: Statement<'_>) -> Result<BoundStatement, Error> {
    let Some(parameters) = statement.parameters else {
        return Ok(BoundStatement { sql: statement.sql.to_owned(), values: Vec::new() });
    };
    if let Some(values) = sent(parameters) {
        return Ok(BoundStatement { sql: statement.sql.to_owned(), values });
    }
    if !takes_values(statement.sql) {
        let sql = statement.with_literals(Dialect::POSTGRES)?.into_owned();
        return Ok(BoundStatement { sql, values: Vec::new() });
    }
    let mut values = Vec::new();
    // Each placeholder gets its own number and so its own type, like a literal.
    let sql = replace(statement.sql, parameters, Dialect::POSTGRES, &mut |sql, value| {
        values.push(encoded(value)?);
        let number = values.len();
        // Without precision and scale, the numeric would have another type.
        match value {
            Value::Decimal { unscaled, scale } => {
                let width = parameter::decimal_width(*unscaled, *scale)?;
                parameter::push(sql, format_args!("CAST(${number} AS DECIMAL({width},{scale}))"));
            }
            _ => parameter::push(sql, format_args!("${number}")),
        }
        Ok(())
    })?;
    if values.len() > MOST {
        return Err(Error::new(ErrorKind::Usage, format!("a statement can have at most {MOST} values"))
            .with_hint("pass a list, and write = ANY($1)"));
    }
    Ok(BoundStatement { sql, values })
}

/// Whether PostgreSQL accepts values for a statement.
pub(super) fn takes_values(sql: &str) -> bool {
    let first = first_word(sql, Dialect::POSTGRES);
    let mut tokens = code(sql, Dialect::POSTGRES);
    // Several statements need the simple protocol, which has no values.
    let several = tokens.by_ref().any(|token| token.is_symbol(b';')) && tokens.any(|token| !token.is_symbol(b';'));
    !several && TAKE_VALUES.iter().any(|word| word.eq_ignore_ascii_case(first))
}

/// The values of a statement with PostgreSQL's own placeholders, if all of them are in PostgreSQL's form.
fn sent(parameters: &Parameters) -> Option<Vec<Sent>> {
    let Parameters::Positional(values) = parameters else { return None };
    let sent = |value: &Value| if let Value::Sent(sent) = value { Some(sent.clone()) } else { None };
    if values.is_empty() { None } else { values.iter().map(sent).collect() }
}

fn encoded(value: &Value) -> Result<Sent, String> {
    let (type_oid, is_binary, bytes) = match value {
        Value::Sent(sent) => return Ok(sent.clone()),
        Value::Null => (oid::UNKNOWN, false, None),
        Value::Bytes(bytes) => (oid::BYTEA, true, Some(bytes.clone())),
        // Its type depends on its context.
        Value::List(values) if values.is_empty() => (oid::UNKNOWN, false, Some(b"{}".to_vec())),
        Value::List(values) => {
            let mut text = String::new();
            let item = list(&mut text, values, 1)?;
            let item = item.unwrap_or(oid::TEXT);
            let array = oid::ARRAYS.iter().find(|(type_oid, _)| *type_oid == item);
            let array = array.map_or(oid::UNKNOWN, |(_, array)| *array);
            match binary_list(values, item)? {
                Some(bytes) => (array, true, Some(bytes)),
                None => (array, false, Some(text.into_bytes())),
            }
        }
        Value::Text(text) => (oid::UNKNOWN, false, Some(checked(text)?.into())),
        value => (type_of(value), false, Some(written(value)?.into_owned().into_bytes())),
    };
    Ok(Sent { type_oid, is_binary, bytes })
}

/// The type of a value's literal.
fn type_of(value: &Value) -> u32 {
    match value {
        Value::Bool(_) => oid::BOOL,
        Value::Integer(number) if i32::try_from(*number).is_ok() => oid::INT4,
        Value::Integer(number) if i64::try_from(*number).is_ok() => oid::INT8,
        Value::Integer(_) | Value::Unsigned(_) | Value::Decimal { .. } => oid::NUMERIC,
        Value::Float(_) => oid::FLOAT8,
        Value::Bytes(_) => oid::BYTEA,
        Value::Date(_) => oid::DATE,
        Value::Time(_, None) => oid::TIME,
        Value::Time(_, Some(_)) => oid::TIMETZ,
        Value::Timestamp(..) => oid::TIMESTAMP,
        Value::Instant(..) => oid::TIMESTAMPTZ,
        Value::Duration { .. } => oid::INTERVAL,
        Value::Uuid(_) => oid::UUID,
        Value::Text(_) => oid::TEXT,
        Value::Null | Value::List(_) | Value::Sent(_) => oid::UNKNOWN,
    }
}

/// A value in text that its type reads equally in every session.
fn written(value: &Value) -> Result<Cow<'_, str>, String> {
    Ok(Cow::Owned(match value {
        Value::Bool(truth) => truth.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Unsigned(number) => number.to_string(),
        Value::Float(number) if number.is_nan() => "NaN".to_owned(),
        Value::Float(number) => format!("{number:e}"),
        Value::Decimal { unscaled, scale } => parameter::decimal_digits(*unscaled, *scale),
        Value::Text(text) => return checked(text).map(Cow::Borrowed),
        Value::Bytes(bytes) => {
            let mut text = "\\x".to_owned();
            bytes.iter().for_each(|byte| parameter::push(&mut text, format_args!("{byte:02x}")));
            text
        }
        Value::Date(date) => date.to_string(),
        Value::Time(time, None) => time.to_string(),
        Value::Time(time, Some(offset)) => zoned(*time, *offset),
        Value::Timestamp(date, time) => format!("{date} {time}"),
        Value::Instant(date, time) => format!("{date} {time}+00"),
        // With some values of IntervalStyle, the first minus sign applies to both parts, so both get a sign.
        Value::Duration { days, microseconds } => format!("{days:+} days {microseconds:+} microseconds"),
        Value::Uuid(bytes) => parameter::uuid(*bytes),
        Value::Null | Value::List(_) | Value::Sent(_) => return Err("it has no text".to_owned()),
    }))
}

fn zoned(time: Time, offset: i32) -> String {
    let (sign, o) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs());
    format!("{time}{sign}{:02}:{:02}:{:02}", o / 3600, o / 60 % 60, o % 60)
}

fn checked(text: &str) -> Result<&str, String> {
    if text.contains('\0') { Err("text cannot hold a NUL character".to_owned()) } else { Ok(text) }
}

/// Appends an array in the form of `array_in`. Returns the type of its items, if one of them has a type.
fn list(out: &mut String, values: &[Value], depth: usize) -> Result<Option<u32>, String> {
    if depth > MOST_DIMENSIONS {
        return Err(format!("its lists are more than {MOST_DIMENSIONS} levels deep"));
    }
    let mut common = None;
    out.push('{');
    for (index, value) in values.iter().enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        let item = match value {
            Value::Null => {
                out.push_str("NULL");
                None
            }
            Value::List(values) => list(out, values, depth + 1)?,
            value => {
                // In quotes, backslashes and quotes are escaped, whatever the session's settings are.
                let text = written(value)?.replace('\\', "\\\\").replace('"', "\\\"");
                let _ = write!(out, "\"{text}\"");
                Some(type_of(value))
            }
        };
        common = match (common, item) {
            (Some(one), Some(other)) => Some(both(one, other).ok_or("the items of a list are of different types")?),
            (one, other) => one.or(other),
        };
    }
    out.push('}');
    Ok(common)
}

/// A list of texts or bytes with NULL in the binary form of `array_recv`, and `None` for another list. In a session
/// with `array_nulls` off, the text form has no NULL: it means the text 'NULL'. No value of another type has that text,
/// so such a list is then an error.
fn binary_list(values: &[Value], item: u32) -> Result<Option<Vec<u8>>, String> {
    let mut lengths = vec![values.len()];
    let mut first = values.first();
    while let Some(Value::List(values)) = first {
        lengths.push(values.len());
        first = values.first();
    }
    let mut items = Vec::new();
    let fits = matches!(item, oid::TEXT | oid::BYTEA) && collect(values, &lengths, &mut items);
    if !fits || items.iter().all(Option::is_some) {
        return Ok(None);
    }
    let word = |number: usize| u32::try_from(number).map(u32::to_be_bytes).map_err(|_| "it is too long".to_owned());
    let mut bytes = [word(lengths.len())?, 1_u32.to_be_bytes(), item.to_be_bytes()].concat();
    for length in lengths {
        bytes.extend(word(length)?);
        bytes.extend(1_u32.to_be_bytes());
    }
    for item in items {
        match item {
            None => bytes.extend((-1_i32).to_be_bytes()),
            Some(item) => {
                bytes.extend(word(item.len())?);
                bytes.extend(item);
            }
        }
    }
    Ok(Some(bytes))
}

/// Collects the texts and bytes of a list. Returns whether it has such items alone, and these lengths.
fn collect<'a>(values: &'a [Value], lengths: &[usize], items: &mut Vec<Option<&'a [u8]>>) -> bool {
    let Some((length, inner)) = lengths.split_first() else { return false };
    values.len() == *length
        && values.iter().all(|value| {
            let item = match value {
                Value::List(values) => return collect(values, inner, items),
                Value::Null => None,
                Value::Text(text) => Some(text.as_bytes()),
                Value::Bytes(bytes) => Some(bytes.as_slice()),
                _ => return false,
            };
            items.push(item);
            inner.is_empty()
        })
}

/// The common type of two values.
fn both(one: u32, other: u32) -> Option<u32> {
    const NUMBERS: [u32; 4] = [oid::INT4, oid::INT8, oid::NUMERIC, oid::FLOAT8];
    if one == other {
        return Some(one);
    }
    let rank = |type_oid| NUMBERS.iter().position(|number| *number == type_oid);
    rank(one).max(rank(other)).filter(|_| rank(one).is_some() && rank(other).is_some()).map(|rank| NUMBERS[rank])
}

#[cfg(test)]
#[path = "parameters_tests.rs"]
mod tests;
