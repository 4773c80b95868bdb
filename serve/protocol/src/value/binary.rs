//! PostgreSQL's binary forms of values, as its `…send` functions write them.

use arrow_schema::TimeUnit;

use super::ValueError;
use super::column::{ColumnWriter, Values};
use super::datetime::{is_infinite_date, is_infinite_timestamp, per_second};
use super::nested;
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
            | Values::Decimal256(..) => oid::NUMERIC,
            Values::Text(_) | Values::Null => oid::TEXT,
            Values::Bytes(_) => oid::BYTEA,
            Values::Bits(_) => oid::VARBIT,
            Values::Json(_) => oid::JSON,
            Values::Name(_) => oid::NAME,
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
            Values::Decimal256(values, scale) => {
                numeric_from_digits(values[row].to_string().as_bytes(), *scale, out)?;
            }
            Values::Text(text) | Values::Json(text) | Values::Name(text) => {
                out.extend_from_slice(text.value(row).as_bytes())
            }
            Values::Bytes(bytes) => out.extend_from_slice(bytes.value(row)),
            Values::Keyed(keys, type_) => type_.write_binary(keys.value(row), out).map_err(ValueError::Key)?,
            Values::Bits(text) => bits(text.value(row), out),
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

/// The sign of a negative NUMERIC.
const NEGATIVE: u16 = 0x4000;
/// The base of a NUMERIC's digits. Each has four decimal digits.
const BASE: u64 = 10_000;
const BASE_DIGITS: usize = 4;

/// The number of zeros that align the decimal point with a border of base-10000 digits, and the number of these digits
/// after the point.
fn alignment(scale: i8) -> (usize, usize) {
    let shown = usize::from(u8::try_from(scale).unwrap_or(0));
    let padding = (BASE_DIGITS - shown % BASE_DIGITS) % BASE_DIGITS;
    (padding + usize::from((-i16::from(scale)).max(0).unsigned_abs()), shown.div_ceil(BASE_DIGITS))
}

/// Appends an integer × 10^−scale as a NUMERIC.
fn numeric(value: i128, scale: i8, out: &mut Vec<u8>) -> Result<(), ValueError> {
    /// The maximum number of base-10000 digits of 64 bits.
    const MAX_GROUPS: usize = 5;
    let (padding, fraction_groups) = alignment(scale);
    let factor = 10u64.checked_pow(padding as u32);
    let aligned = u64::try_from(value.unsigned_abs()).ok().zip(factor).and_then(|(value, by)| value.checked_mul(by));
    let Some(mut rest) = aligned else {
        return numeric_from_digits(value.to_string().as_bytes(), scale, out);
    };
    let mut groups = [0; MAX_GROUPS];
    let mut first = MAX_GROUPS;
    while rest > 0 {
        first -= 1;
        (groups[first], rest) = ((rest % BASE) as u16, rest / BASE);
    }
    send_numeric(&groups[first..], fraction_groups, if value < 0 { NEGATIVE } else { 0 }, scale.into(), out)
}

/// Appends decimal digits × 10^−scale, with an optional minus before the digits, as a NUMERIC.
fn numeric_from_digits(text: &[u8], scale: i8, out: &mut Vec<u8>) -> Result<(), ValueError> {
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (NEGATIVE, digits),
        digits => (0, digits),
    };
    let (padding, fraction_groups) = alignment(scale);
    let mut digits = digits.to_vec();
    digits.resize(digits.len() + padding, b'0');
    let group = |group: &[u8]| group.iter().fold(0, |value, digit| value * 10 + u16::from(digit - b'0'));
    let groups: Vec<u16> = digits.rchunks(BASE_DIGITS).rev().map(group).collect();
    send_numeric(&groups, fraction_groups, sign, scale.into(), out)
}

/// What PostgreSQL sends as the scale of an infinite number.
const INFINITY_SCALE: u16 = 32;

/// Appends the NUMERIC with this text form.
pub(super) fn numeric_from_text(text: &str, out: &mut Vec<u8>) -> Result<(), ValueError> {
    let (sign, digits) = text.strip_prefix('-').map_or((0, text), |digits| (NEGATIVE, digits));
    let special = match (digits, sign) {
        ("NaN", _) => Some([0xc000, 0]),
        ("Infinity", 0) => Some([0xd000, INFINITY_SCALE]),
        ("Infinity", _) => Some([0xf000, INFINITY_SCALE]),
        _ => None,
    };
    if let Some([sign, scale]) = special {
        out.extend([0u16, 0, sign, scale].iter().flat_map(|part| part.to_be_bytes()));
        return Ok(());
    }
    let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
    let too_large = ValueError::TooLarge { format: FORMAT };
    let digits = [before.as_bytes(), after.as_bytes()].concat();
    let (Ok(scale), true) = (i16::try_from(after.len()), digits.iter().all(u8::is_ascii_digit)) else {
        return Err(too_large);
    };
    let padding = (BASE_DIGITS - after.len() % BASE_DIGITS) % BASE_DIGITS;
    let digits = [digits, vec![b'0'; padding]].concat();
    let group = |group: &[u8]| group.iter().fold(0, |value, digit| value * 10 + u16::from(digit - b'0'));
    let groups: Vec<u16> = digits.rchunks(BASE_DIGITS).rev().map(group).collect();
    send_numeric(&groups, after.len().div_ceil(BASE_DIGITS), sign, scale, out)
}

/// Appends base-10000 digits without zeros around them, the weight of the first one, a sign, and the number of decimal
/// digits to show (PostgreSQL's `numeric_send`). `fraction_groups` is the number of `groups` after the point.
fn send_numeric(
    groups: &[u16],
    fraction_groups: usize,
    sign: u16,
    scale: i16,
    out: &mut Vec<u8>,
) -> Result<(), ValueError> {
    let leading = groups.iter().take_while(|&&group| group == 0).count();
    let weight = groups.len() as i64 - fraction_groups as i64 - 1 - leading as i64;
    let groups = &groups[leading..];
    let trailing = groups.iter().rev().take_while(|&&group| group == 0).count();
    let kept = &groups[..groups.len() - trailing];
    let (weight, sign) = if kept.is_empty() { (0, 0) } else { (weight, sign) };
    let too_large = |_| ValueError::TooLarge { format: FORMAT };
    out.extend_from_slice(&i16::try_from(kept.len()).map_err(too_large)?.to_be_bytes());
    out.extend_from_slice(&i16::try_from(weight).map_err(too_large)?.to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&scale.max(0).to_be_bytes());
    kept.iter().for_each(|group| out.extend_from_slice(&group.to_be_bytes()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_from_text_and_from_integers_are_equal() {
        let of = |text: &str| {
            let mut out = Vec::new();
            numeric_from_text(text, &mut out).map(|()| out)
        };
        for (text, value, scale) in
            [("-12345.678", -12_345_678, 3), ("0.00", 0, 2), ("10000", 10_000, 0), ("7.0000", 70_000, 4)]
        {
            let mut out = Vec::new();
            numeric(value, scale, &mut out).unwrap();
            assert_eq!(of(text).unwrap(), out, "{text}");
        }
        assert_eq!(of("NaN").unwrap(), [0, 0, 0, 0, 0xc0, 0, 0, 0]);
        assert_eq!(of("-Infinity").unwrap(), [0, 0, 0, 0, 0xf0, 0, 0, 32]);
        assert!(of("1e5").is_err() && of(&format!("0.{}", "1".repeat(40_000))).is_err());
    }

    fn numeric_of(value: i128, scale: i8) -> Vec<i16> {
        let mut out = Vec::new();
        numeric(value, scale, &mut out).unwrap();
        let mut from_digits = Vec::new();
        numeric_from_digits(value.to_string().as_bytes(), scale, &mut from_digits).unwrap();
        assert_eq!(out, from_digits);
        out.chunks(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]])).collect()
    }

    #[test]
    fn numerics_as_postgresql_sends_them() {
        // ndigits, weight, sign, dscale, digits; taken from PostgreSQL 15: select numeric_send(x).
        assert_eq!(numeric_of(0, 2), [0, 0, 0, 2]);
        assert_eq!(numeric_of(150, 2), [2, 0, 0, 2, 1, 5000]);
        assert_eq!(numeric_of(-12_345_678, 3), [3, 1, 0x4000, 3, 1, 2345, 6780]);
        assert_eq!(numeric_of(10_000, 0), [1, 1, 0, 0, 1]);
        assert_eq!(numeric_of(5, 9), [1, -3, 0, 9, 5000 / 100 * 100]);
        assert_eq!(numeric_of(15, -3), [2, 1, 0, 0, 1, 5000]);
        assert_eq!(numeric_of(i128::MAX, 0)[..4], [10, 9, 0, 0]);
    }

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
