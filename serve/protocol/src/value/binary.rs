//! PostgreSQL's binary forms of values, as its `…send` functions write them.

use arrow_schema::TimeUnit;

use super::column::{ColumnWriter, Values};
use super::datetime::{is_infinite_date, is_infinite_timestamp, per_second};
use super::numeric::{numeric, numeric_from_digits, numeric_from_text};
use super::{ValueError, nested, unconstrained};
use crate::value::oid;

/// The days from 1970-01-01 to 2000-01-01, from which PostgreSQL counts.
pub(crate) const POSTGRES_EPOCH_DAYS: i32 = 10_957;
pub(crate) const POSTGRES_EPOCH_MICROS: i64 = 946_684_800_000_000;
const MICROS_PER_SECOND: i64 = 1_000_000;
const FORMAT: &str = "FORMAT binary";

impl ColumnWriter<'_> {
    /// The type of PostgreSQL's binary form; `None` if there is no such form.
    pub fn binary_oid(&self) -> Option<u32> {
        if self.user_type.is_some() {
            return self.user_type;
        }
        Some(match &self.values {
            Values::Bool(_) | Values::Bool8(_) => oid::BOOL,
            Values::Int8(_) | Values::Int16(_) | Values::UInt8(_) => oid::INT2,
            Values::Int32(_) | Values::UInt16(_) => oid::INT4,
            Values::Int64(_) | Values::UInt32(_) => oid::INT8,
            Values::Float16(_) | Values::Float32(_) => oid::FLOAT4,
            Values::Float64(_) => oid::FLOAT8,
            Values::UInt64(_)
            | Values::Integer(_)
            | Values::Numeric(_)
            | Values::Decimal32(..)
            | Values::Decimal64(..)
            | Values::Decimal128(..)
            | Values::Decimal256(..)
            | Values::Unconstrained(_) => oid::NUMERIC,
            Values::Text(_) | Values::Null => oid::TEXT,
            Values::Bytes(_) => oid::BYTEA,
            Values::Bits(_) => oid::VARBIT,
            Values::Json(_) => oid::JSON,
            Values::Name(_) => oid::NAME,
            Values::Oid(_) => oid::OID,
            Values::Vector { oid, .. } => *oid,
            Values::Keyed(_, type_) => type_.oid(),
            Values::Uuid(_) | Values::UuidText(_) => oid::UUID,
            Values::Date32(_) => oid::DATE,
            Values::Time32(..) | Values::Time64(..) => oid::TIME,
            Values::Timestamp { zone, .. } => {
                if zone.is_some() {
                    oid::TIMESTAMPTZ
                } else {
                    oid::TIMESTAMP
                }
            }
            Values::Months(_) | Values::DayTime(_) | Values::MonthDayNano(_) => oid::INTERVAL,
            Values::Dictionary { values, .. } => values.binary_oid()?,
            Values::List { child, .. } => match &child.values {
                // An array can have several dimensions.
                Values::List { .. } | Values::Map { .. } => child.binary_oid()?,
                _ => oid::array_of(child.binary_oid()?)?,
            },
            Values::TimeTz(_) => oid::TIMETZ,
            Values::Struct(children) => {
                children.iter().all(|child| child.binary_oid().is_some()).then_some(oid::RECORD)?
            }
            Values::Map { entries, .. } => oid::array_of(entries.binary_oid()?)?,
            Values::Union { .. } | Values::Date64(_) | Values::Duration(..) => return None,
        })
    }

    /// Appends the length and the bytes of the value at `row`; −1 for NULL. The column must have a
    /// [`binary_oid`](Self::binary_oid).
    ///
    /// # Errors
    /// If the value does not fit, or its form would have fewer digits.
    pub fn write_binary(&self, row: usize, out: &mut Vec<u8>) -> Result<(), ValueError> {
        if self.is_null(row) {
            out.extend_from_slice(&(-1i32).to_be_bytes());
            return Ok(());
        }
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        self.write_value(row, out)?;
        let length = i32::try_from(out.len() - start - 4).map_err(|_| ValueError::TooLarge { format: FORMAT })?;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }

    fn write_value(&self, row: usize, out: &mut Vec<u8>) -> Result<(), ValueError> {
        match &self.values {
            Values::Bool(array) => out.push(u8::from(array.value(row))),
            Values::Bool8(values) => out.push(u8::from(values[row] != 0)),
            Values::Int8(values) => out.extend_from_slice(&i16::from(values[row]).to_be_bytes()),
            Values::UInt8(values) => out.extend_from_slice(&i16::from(values[row]).to_be_bytes()),
            Values::Int16(values) => out.extend_from_slice(&values[row].to_be_bytes()),
            Values::UInt16(values) => out.extend_from_slice(&i32::from(values[row]).to_be_bytes()),
            Values::Int32(values) => out.extend_from_slice(&values[row].to_be_bytes()),
            Values::UInt32(values) => out.extend_from_slice(&i64::from(values[row]).to_be_bytes()),
            Values::Int64(values) => out.extend_from_slice(&values[row].to_be_bytes()),
            Values::UInt64(values) => numeric(values[row].into(), 0, out)?,
            Values::Integer(text) => numeric_from_digits(text.value(row).as_bytes(), 0, out)?,
            Values::Numeric(text) => numeric_from_text(text.value(row), out)?,
            Values::Float16(values) => out.extend_from_slice(&values[row].to_f32().to_be_bytes()),
            Values::Float32(values) => out.extend_from_slice(&values[row].to_be_bytes()),
            Values::Float64(values) => out.extend_from_slice(&values[row].to_be_bytes()),
            Values::Decimal32(values, scale) => numeric(values[row].into(), *scale, out)?,
            Values::Decimal64(values, scale) => numeric(values[row].into(), *scale, out)?,
            Values::Decimal128(values, scale) => numeric(values[row], *scale, out)?,
            Values::Unconstrained(values) => {
                let (value, scale) = unconstrained::without_zeros(values[row], unconstrained::SCALE);
                numeric(value, scale as i8, out)?;
            }
            Values::Decimal256(values, scale) => {
                numeric_from_digits(values[row].to_string().as_bytes(), *scale, out)?;
            }
            Values::Text(text) | Values::Json(text) | Values::Name(text) => {
                out.extend_from_slice(text.value(row).as_bytes())
            }
            Values::Bytes(bytes) => out.extend_from_slice(bytes.value(row)),
            Values::Keyed(keys, type_) => type_.write_binary(keys.value(row), out).map_err(ValueError::Key)?,
            Values::Bits(text) => bits(text.value(row), out),
            Values::Oid(values) => {
                let number = u32::try_from(values[row]).map_err(|_| ValueError::TooLarge { format: FORMAT })?;
                out.extend_from_slice(&number.to_be_bytes());
            }
            Values::Vector { text, oid } => vector(text.value(row), *oid, out)?,
            Values::Uuid(array) => out.extend_from_slice(array.value(row)),
            Values::UuidText(text) => uuid(text.value(row), out),
            Values::Date32(values) => out.extend_from_slice(&date(values[row])?.to_be_bytes()),
            Values::Time32(values, unit) => write_micros(i64::from(values[row]), *unit, out)?,
            Values::Time64(values, unit) => write_micros(values[row], *unit, out)?,
            Values::Timestamp { values, unit, .. } => timestamp(values[row], *unit, out)?,
            Values::Months(values) => interval(values[row], 0, 0, out)?,
            Values::DayTime(values) => {
                let value = values[row];
                interval(0, value.days, i64::from(value.milliseconds) * 1_000_000, out)?;
            }
            Values::MonthDayNano(values) => {
                let value = values[row];
                interval(value.months, value.days, value.nanoseconds, out)?;
            }
            Values::Dictionary { indices, values } => values.write_value(indices[row], out)?,
            Values::TimeTz(text) => time_with_zone(text.value(row), out)?,
            Values::List { offsets, child } => nested::binary_array(child, offsets.range(row), out)?,
            Values::Map { offsets, entries } => nested::binary_array(entries, offsets.range(row), out)?,
            Values::Struct(children) => nested::binary_record(children, row, out)?,
            // These columns have no binary_oid, or their value is NULL.
            Values::Null | Values::Date64(_) | Values::Duration(..) | Values::Union { .. } => {}
        }
        Ok(())
    }
}

fn date(days: i32) -> Result<i32, ValueError> {
    match days {
        days if is_infinite_date(days) => Ok(if days > 0 { i32::MAX } else { i32::MIN }),
        days => days.checked_sub(POSTGRES_EPOCH_DAYS).ok_or(ValueError::TooLarge { format: FORMAT }),
    }
}

/// Converts a number of `unit`s to microseconds. Fails if that would lose nanoseconds.
fn to_micros(value: i64, unit: TimeUnit) -> Result<i64, ValueError> {
    match unit {
        TimeUnit::Nanosecond if value % 1000 != 0 => Err(ValueError::Precision { format: FORMAT }),
        TimeUnit::Nanosecond => Ok(value / 1000),
        unit => {
            let factor = MICROS_PER_SECOND / per_second(unit);
            value.checked_mul(factor).ok_or(ValueError::TooLarge { format: FORMAT })
        }
    }
}

fn write_micros(value: i64, unit: TimeUnit, out: &mut Vec<u8>) -> Result<(), ValueError> {
    out.extend_from_slice(&to_micros(value, unit)?.to_be_bytes());
    Ok(())
}

fn timestamp(value: i64, unit: TimeUnit, out: &mut Vec<u8>) -> Result<(), ValueError> {
    let micros = if is_infinite_timestamp(value) {
        if value > 0 { i64::MAX } else { i64::MIN }
    } else {
        to_micros(value, unit)?.checked_sub(POSTGRES_EPOCH_MICROS).ok_or(ValueError::TooLarge { format: FORMAT })?
    };
    out.extend_from_slice(&micros.to_be_bytes());
    Ok(())
}

fn interval(months: i32, days: i32, nanos: i64, out: &mut Vec<u8>) -> Result<(), ValueError> {
    out.extend_from_slice(&to_micros(nanos, TimeUnit::Nanosecond)?.to_be_bytes());
    out.extend_from_slice(&days.to_be_bytes());
    out.extend_from_slice(&months.to_be_bytes());
    Ok(())
}

/// Appends a bit string: the number of bits, then eight bits in each byte, the first one in the highest bit.
fn bits(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as i32).to_be_bytes());
    let byte =
        |bits: &[u8]| bits.iter().enumerate().fold(0, |byte, (at, bit)| byte | u8::from(*bit == b'1') << (7 - at));
    out.extend(text.as_bytes().chunks(8).map(byte));
}

/// Appends an array of one dimension with the lower bound 0 (PostgreSQL's `int2vectorsend` and `oidvectorsend`).
fn vector(text: &str, oid: u32, out: &mut Vec<u8>) -> Result<(), ValueError> {
    let too_large = || ValueError::TooLarge { format: FORMAT };
    let numbers: Vec<&str> = text.split_ascii_whitespace().collect();
    let count = i32::try_from(numbers.len()).map_err(|_| too_large())?;
    let item = if oid == oid::INT2VECTOR { oid::INT2 } else { oid::OID };
    for part in [1, 0, item.cast_signed(), count, 0] {
        out.extend_from_slice(&part.to_be_bytes());
    }
    for number in numbers {
        let bytes = match item {
            oid::INT2 => number.parse::<i16>().map(|number| number.to_be_bytes().to_vec()),
            _ => number.parse::<u32>().map(|number| number.to_be_bytes().to_vec()),
        };
        let bytes = bytes.map_err(|_| too_large())?;
        out.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
        out.extend_from_slice(&bytes);
    }
    Ok(())
}

/// Appends the sixteen bytes of a UUID's text.
fn uuid(text: &str, out: &mut Vec<u8>) {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    out.extend(digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)));
}

/// Appends a time with an offset, from its text (`12:34:56.7+05:30`): microseconds, and seconds west of Greenwich.
fn time_with_zone(text: &str, out: &mut Vec<u8>) -> Result<(), ValueError> {
    let parsed = (|| {
        let sign = text.rfind(['+', '-'])?;
        let (time, zone) = text.split_at(sign);
        let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
        let fraction: i64 = format!("{fraction:0<6}").parse().ok()?;
        let east = seconds(&zone[1..])?;
        Some((seconds(time)? * MICROS_PER_SECOND + fraction, if zone.starts_with('+') { -east } else { east }))
    })();
    // The text comes from the engine. Any other form counts as a value that does not fit.
    let (micros, west) = parsed.ok_or(ValueError::TooLarge { format: FORMAT })?;
    out.extend_from_slice(&micros.to_be_bytes());
    out.extend_from_slice(&(west as i32).to_be_bytes());
    Ok(())
}

/// The seconds of `hh[:mm[:ss]]`.
fn seconds(text: &str) -> Option<i64> {
    let parts = text.split(':').zip([3600, 60, 1]);
    parts.map(|(part, unit)| Some(part.parse::<i64>().ok()? * unit)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_uuids_and_times_are_read_from_their_texts() {
        let mut out = Vec::new();
        bits("1010000011", &mut out);
        uuid("00112233-4455-6677-8899-aabbccddeeff", &mut out);
        assert_eq!(out[..6], [0, 0, 0, 10, 0b1010_0000, 0b1100_0000]);
        assert_eq!(out[6..], (0..16).map(|n| n * 0x11).collect::<Vec<u8>>());
        out.clear();
        time_with_zone("12:00:16.5+05:30", &mut out).unwrap();
        assert_eq!(out, b"\0\0\0\x0a\x0f\xe7\x75\x20\xff\xff\xb2\xa8");
    }

    #[test]
    fn nanoseconds_are_refused_rather_than_rounded() {
        let mut out = Vec::new();
        assert!(timestamp(1_001, TimeUnit::Nanosecond, &mut out).is_err());
        assert!(timestamp(POSTGRES_EPOCH_MICROS * 1000, TimeUnit::Nanosecond, &mut out).is_ok());
        assert_eq!(out, 0i64.to_be_bytes());
    }
}
