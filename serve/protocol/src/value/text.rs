//! PostgreSQL's text forms of values.

use arrow_schema::TimeUnit;

use super::column::{ColumnWriter, Values};
use super::datetime::{date, time, timestamp};
use super::number::{decimal, float32, float64, integer, scaled};
use super::{IntervalStyle, TextStyle, ValueError, nested, unconstrained};

const NANOS_PER_MILLI: i64 = 1_000_000;
const MILLIS_PER_DAY: i64 = 86_400_000;

impl ColumnWriter<'_> {
    /// Whether the texts of all values contain only letters, digits and `+-.:/ `. Then no format must quote or escape
    /// them, unless its delimiters are among these characters.
    pub fn is_never_quoted(&self) -> bool {
        !matches!(
            self.values,
            Values::Null
                | Values::Text(_)
                | Values::Json(_)
                | Values::Name(_)
                | Values::Vector { .. }
                | Values::Bytes(_)
                | Values::Keyed(..)
                | Values::List { .. }
                | Values::Struct(_)
                | Values::Map { .. }
                | Values::Dictionary { .. }
                | Values::Union { .. }
        )
    }

    /// Appends the text of the value at `row`, which must not be NULL.
    ///
    /// # Errors
    /// If it is a nested value whose text is too long. Then the caller must remove the appended bytes.
    pub fn write_text(&self, row: usize, style: TextStyle, out: &mut Vec<u8>) -> Result<(), ValueError> {
        match &self.values {
            Values::Null => {}
            Values::Bool(array) => out.push(if array.value(row) { b't' } else { b'f' }),
            Values::Bool8(values) => out.push(if values[row] != 0 { b't' } else { b'f' }),
            Values::Int8(values) => integer(values[row], out),
            Values::Int16(values) => integer(values[row], out),
            Values::Int32(values) => integer(values[row], out),
            Values::Int64(values) => integer(values[row], out),
            Values::UInt8(values) => integer(values[row], out),
            Values::UInt16(values) => integer(values[row], out),
            Values::UInt32(values) => integer(values[row], out),
            Values::UInt64(values) | Values::Oid(values) => integer(values[row], out),
            Values::Float16(values) => float32(values[row].to_f32(), out),
            Values::Float32(values) => float32(values[row], out),
            Values::Float64(values) => float64(values[row], out),
            Values::Decimal32(values, scale) => scaled(i128::from(values[row]), *scale, out),
            Values::Decimal64(values, scale) => scaled(i128::from(values[row]), *scale, out),
            Values::Decimal128(values, scale) => scaled(values[row], *scale, out),
            Values::Unconstrained(values) => unconstrained::write_text(values[row], out),
            Values::Decimal256(values, scale) => {
                let digits = values[row].to_string();
                let (negative, digits) = digits.strip_prefix('-').map_or((false, &*digits), |digits| (true, digits));
                decimal(negative, digits, *scale, out);
            }
            Values::Text(text)
            | Values::Json(text)
            | Values::Integer(text)
            | Values::Numeric(text)
            | Values::Bits(text)
            | Values::Name(text)
            | Values::Vector { text, .. }
            | Values::UuidText(text)
            | Values::TimeTz(text) => out.extend_from_slice(text.value(row).as_bytes()),
            Values::Bytes(bytes) => hex(bytes.value(row), out),
            Values::Keyed(keys, type_) => {
                return type_.write_text(keys.value(row), style, out).map_err(ValueError::Key);
            }
            Values::Uuid(array) => uuid(array.value(row), out),
            Values::Date32(values) => date(values[row], style.date, out),
            Values::Date64(values) => {
                let days = values[row].div_euclid(MILLIS_PER_DAY).clamp(i32::MIN.into(), i32::MAX.into()) as i32;
                date(days, style.date, out);
            }
            Values::Time32(values, unit) => time(i64::from(values[row]), *unit, out),
            Values::Time64(values, unit) => time(values[row], *unit, out),
            Values::Timestamp { values, unit, zone } => {
                timestamp(values[row], *unit, zone.as_ref(), style.date, out);
            }
            Values::Duration(values, unit) => duration(values[row], *unit, style.interval, out),
            Values::Months(values) => style.interval.write(values[row], 0, 0, out),
            Values::DayTime(values) => {
                let value = values[row];
                style.interval.write(0, value.days, i64::from(value.milliseconds) * NANOS_PER_MILLI, out);
            }
            Values::MonthDayNano(values) => {
                let value = values[row];
                style.interval.write(value.months, value.days, value.nanoseconds, out);
            }
            Values::List { offsets, child } => return nested::write_list(child, offsets.range(row), style, out),
            Values::Struct(children) => return nested::write_record(children, row, style, out),
            Values::Map { offsets, entries } => return nested::write_list(entries, offsets.range(row), style, out),
            Values::Dictionary { indices, values } => return values.write_text(indices[row], style, out),
            Values::Union { array, children } => {
                if let Some((_, child)) = children.iter().find(|(id, _)| *id == array.type_id(row)) {
                    return child.write_text(array.value_offset(row), style, out);
                }
            }
        }
        Ok(())
    }
}

/// Appends a duration as an interval. One of more than 2^63 nanoseconds (292 years) is shown in days and time.
fn duration(value: i64, unit: TimeUnit, style: IntervalStyle, out: &mut Vec<u8>) {
    const NANOS_PER_DAY: i128 = 86_400_000_000_000;
    let nanos = i128::from(value) * i128::from(1_000_000_000 / super::datetime::per_second(unit));
    match i64::try_from(nanos) {
        Ok(nanos) => style.write(0, 0, nanos, out),
        Err(_) => {
            let days = (nanos / NANOS_PER_DAY).clamp(i32::MIN.into(), i32::MAX.into()) as i32;
            style.write(0, days, (nanos % NANOS_PER_DAY) as i64, out);
        }
    }
}

/// Whether a byte can occur in the texts of a column that is never quoted ([`ColumnWriter::is_never_quoted`]).
pub fn is_unquoted_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-.:/ ".contains(&byte)
}

const HEX: [u8; 16] = *b"0123456789abcdef";

fn push_hex(byte: u8, out: &mut Vec<u8>) {
    out.push(HEX[usize::from(byte >> 4)]);
    out.push(HEX[usize::from(byte & 15)]);
}

fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(2 + bytes.len() * 2);
    out.extend_from_slice(b"\\x");
    bytes.iter().for_each(|&byte| push_hex(byte, out));
}

fn uuid(bytes: &[u8], out: &mut Vec<u8>) {
    for (at, &byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        push_hex(byte, out);
    }
}
