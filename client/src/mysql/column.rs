//! Builds one column: it decodes the values of many rows, each from its row's cursor.

use std::io::Write as _;
use std::mem::take;
use std::sync::Arc;

use arrow_array::{ArrayRef, NullArray, make_array};
use arrow_buffer::{BooleanBuffer, NullBuffer, i256};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::datetime::{self, DateTime};
use super::decimal::Decimal;
use super::kind::{self, ColumnKind};
use super::packet::protocol;
use super::value::{ValueFault, counted, fixed};
use super::zone::{self, Ambiguous, is_ambiguous};
use crate::arrays::{Strings, Validity, buffer, renewed};
use crate::{Error, ErrorKind};

const WAY_OUT: &str = "cast the column to char, or name it in the option as_text";

/// Some rows of a block.
#[derive(Debug)]
pub(super) struct RowGroup<'b, 'c> {
    pub(super) block: &'b [u8],
    /// The start of each row's NULL bitmap.
    pub(super) bitmaps: &'c [usize],
    /// The start of each row's next value.
    pub(super) cursors: &'c mut [usize],
}

/// The rows of a batch that were decoded so far.
#[derive(Debug)]
pub(super) struct ColumnBuilder {
    values: Values,
    validity: Validity,
    rows: usize,
    /// The position of this column in a row's bitmap: the byte and the bit.
    pub(super) null_at: (usize, u8),
    description: kind::ColumnDescription,
}

#[derive(Debug)]
enum Values {
    Null,
    Bool(Vec<u8>),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    /// `mediumint`, `int` and dates.
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    UInt8(Vec<u8>),
    UInt16(Vec<u16>),
    UInt32(Vec<u32>),
    UInt64(Vec<u64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Bits(Vec<u64>),
    Date(Vec<i32>),
    /// Points in time arrive so many microseconds east of UTC, or in UTC, where some may be others.
    DateTime(Vec<i64>, i64, Ambiguous),
    Time(Vec<i64>),
    Decimal128(Vec<i128>, Decimal),
    Decimal256(Vec<i256>, Decimal),
    Strings(Strings),
    /// Text instead of the type. Integers are padded with zeros to this number of digits.
    Shown(Strings, usize),
}

impl ColumnBuilder {
    /// The column with this number, from 0.
    pub(super) fn new(description: &kind::ColumnDescription, number: usize) -> Self {
        let values = match description.kind {
            ColumnKind::Null => Values::Null,
            _ if let Some(zeros) = description.as_text => Values::Shown(Strings::default(), zeros),
            ColumnKind::Bool => Values::Bool(Vec::new()),
            ColumnKind::Int8 => Values::Int8(Vec::new()),
            ColumnKind::Int16 => Values::Int16(Vec::new()),
            ColumnKind::Int32 => Values::Int32(Vec::new()),
            ColumnKind::Int64 => Values::Int64(Vec::new()),
            ColumnKind::UInt8 => Values::UInt8(Vec::new()),
            ColumnKind::UInt16 => Values::UInt16(Vec::new()),
            ColumnKind::UInt32 => Values::UInt32(Vec::new()),
            ColumnKind::UInt64 => Values::UInt64(Vec::new()),
            ColumnKind::Float32 => Values::Float32(Vec::new()),
            ColumnKind::Float64 => Values::Float64(Vec::new()),
            ColumnKind::Bits => Values::Bits(Vec::new()),
            ColumnKind::Date => Values::Date(Vec::new()),
            ColumnKind::DateTime(_) => {
                Values::DateTime(Vec::new(), description.east, Arc::clone(&description.ambiguous))
            }
            ColumnKind::Time(_) => Values::Time(Vec::new()),
            ColumnKind::Decimal { precision, scale } => {
                let decimal = Decimal::new(precision, scale);
                if ColumnKind::is_narrow(precision) {
                    Values::Decimal128(Vec::new(), decimal)
                } else {
                    Values::Decimal256(Vec::new(), decimal)
                }
            }
            ColumnKind::Text | ColumnKind::Bytes => Values::Strings(Strings::default()),
        };
        // The first two bits are not used.
        let null_at = ((number + 2) / 8, 1 << ((number + 2) % 8));
        Self { values, validity: Validity::default(), rows: 0, null_at, description: description.clone() }
    }

    /// Decodes one value of each row at its cursor, and moves the cursors. `nulls` is whether any of these rows may
    /// have NULL.
    ///
    /// # Errors
    /// The bytes are not a value of the type, or the column cannot represent it.
    pub(super) fn decode(&mut self, rows: RowGroup<'_, '_>, nulls: bool) -> Result<(), Error> {
        let count = rows.cursors.len();
        let nulls = nulls.then_some(self.null_at);
        let validity = &mut self.validity;
        let read = match &mut self.values {
            // A value of the type NULL has no bytes, whatever the bitmap says.
            Values::Null => Ok(()),
            Values::Bool(to) => each(rows, nulls, validity, to, |block, at| match counted(block, at)? {
                [bit @ 0..=1] => Ok(*bit),
                // The type of an expression in MariaDB.
                [digit @ b'0'..=b'1'] => Ok(digit - b'0'),
                _ => Err(ValueFault::Damaged),
            }),
            Values::Int8(to) => each(rows, nulls, validity, to, |block, at| fixed(block, at).map(i8::from_le_bytes)),
            Values::Int16(to) => each(rows, nulls, validity, to, |block, at| fixed(block, at).map(i16::from_le_bytes)),
            Values::Int32(to) => each(rows, nulls, validity, to, |block, at| fixed(block, at).map(i32::from_le_bytes)),
            Values::Int64(to) => each(rows, nulls, validity, to, |block, at| fixed(block, at).map(i64::from_le_bytes)),
            Values::UInt8(to) => each(rows, nulls, validity, to, |block, at| fixed(block, at).map(u8::from_le_bytes)),
            Values::UInt16(to) => each(rows, nulls, validity, to, |block, at| fixed(block, at).map(u16::from_le_bytes)),
            Values::UInt32(to) => each(rows, nulls, validity, to, |block, at| fixed(block, at).map(u32::from_le_bytes)),
            Values::UInt64(to) => each(rows, nulls, validity, to, |block, at| fixed(block, at).map(u64::from_le_bytes)),
            Values::Float32(to) => {
                each(rows, nulls, validity, to, |block, at| fixed(block, at).map(f32::from_le_bytes))
            }
            Values::Float64(to) => {
                each(rows, nulls, validity, to, |block, at| fixed(block, at).map(f64::from_le_bytes))
            }
            Values::Bits(to) => each(rows, nulls, validity, to, |block, at| bits(counted(block, at)?)),
            Values::Date(to) => {
                each(rows, nulls, validity, to, |block, at| DateTime::read(counted(block, at)?)?.days())
            }
            Values::DateTime(to, east, ambiguous) => each(rows, nulls, validity, to, |block, at| {
                let micros = DateTime::read(counted(block, at)?)?.microseconds()? - *east;
                if is_ambiguous(ambiguous, micros) { Err(ValueFault::Ambiguous) } else { Ok(micros) }
            }),
            Values::Time(to) => each(rows, nulls, validity, to, |block, at| datetime::time(counted(block, at)?)),
            Values::Decimal128(to, decimal) => each(rows, nulls, validity, to, |block, at| {
                let text = counted(block, at)?;
                match decimal.short(text) {
                    Some(value) => Ok(value),
                    None => decimal.wide(text).map(i256::as_i128),
                }
            }),
            Values::Decimal256(to, decimal) => {
                each(rows, nulls, validity, to, |block, at| decimal.wide(counted(block, at)?))
            }
            Values::Strings(to) => append(rows, nulls, validity, to, |block, at, data| {
                data.extend_from_slice(counted(block, at)?);
                Ok(())
            }),
            Values::Shown(to, zeros) => {
                let (kind, zeros) = (self.description.kind, *zeros);
                append(rows, nulls, validity, to, |block, at, data| show(kind, zeros, block, at, data))
            }
        };
        self.rows += count;
        read.map_err(|fault| self.error(fault))
    }

    /// The array of the rows so far. The column is then empty and reserves memory for as many rows.
    ///
    /// # Errors
    /// Text that is not UTF-8.
    pub(super) fn finish(&mut self, data_type: &DataType) -> Result<ArrayRef, Error> {
        let rows = take(&mut self.rows);
        let nulls = self.validity.finish(rows);
        let buffers = match &mut self.values {
            Values::Null => return Ok(Arc::new(NullArray::new(rows))),
            Values::Bool(values) => {
                let values = renewed(values);
                vec![BooleanBuffer::collect_bool(rows, |row| values[row] != 0).into_inner()]
            }
            Values::Int8(values) => vec![buffer(values)],
            Values::Int16(values) => vec![buffer(values)],
            Values::Int32(values) | Values::Date(values) => vec![buffer(values)],
            Values::Int64(values) | Values::DateTime(values, ..) | Values::Time(values) => vec![buffer(values)],
            Values::UInt8(values) => vec![buffer(values)],
            Values::UInt16(values) => vec![buffer(values)],
            Values::UInt32(values) => vec![buffer(values)],
            Values::UInt64(values) | Values::Bits(values) => vec![buffer(values)],
            Values::Float32(values) => vec![buffer(values)],
            Values::Float64(values) => vec![buffer(values)],
            Values::Decimal128(values, _) => vec![buffer(values)],
            Values::Decimal256(values, _) => vec![buffer(values)],
            Values::Strings(strings) | Values::Shown(strings, _) => strings.finish(),
        };
        let nulls = nulls.map(NullBuffer::into_inner).map(BooleanBuffer::into_inner);
        ArrayData::try_new(data_type.clone(), rows, nulls, 0, buffers, vec![]).map(make_array).map_err(|cause| {
            // All other buffers were built here, so they are valid.
            let fault = if *data_type == DataType::Utf8 {
                ValueFault::Refused("22021", "it has text that is not UTF-8".to_owned())
            } else {
                ValueFault::Damaged
            };
            self.error(fault).with_cause(cause)
        })
    }

    fn error(&self, fault: ValueFault) -> Error {
        let (name, type_name) = (self.description.field.name(), &self.description.type_name);
        match fault {
            ValueFault::Damaged => {
                protocol(format!("in column \"{name}\" bytes that are not a value of type {type_name}"))
            }
            ValueFault::Ambiguous => {
                let message = format!(
                    "column \"{name}\" of type {type_name}: a value has a local time in the session's time_zone that \
                     another point in time has too, and MySQL keeps only the local time"
                );
                Error::new(ErrorKind::Database, message).with_sqlstate("22008").with_hint(zone::WAY_OUT)
            }
            ValueFault::Refused(sqlstate, why) => {
                let message = format!("column \"{name}\" of type {type_name}: {why}");
                let hint = match sqlstate {
                    "22021" => "cast the column to binary",
                    "54000" => "lower chunk_rows or chunk_bytes",
                    _ => WAY_OUT,
                };
                Error::new(ErrorKind::Database, message).with_sqlstate(sqlstate).with_hint(hint)
            }
        }
    }
}

/// Appends one value per row, by `read`.
#[inline]
fn each<T: Copy + Default>(
    rows: RowGroup<'_, '_>,
    nulls: Option<(usize, u8)>,
    validity: &mut Validity,
    to: &mut Vec<T>,
    read: impl Fn(&[u8], &mut usize) -> Result<T, ValueFault>,
) -> Result<(), ValueFault> {
    let RowGroup { block, bitmaps, cursors } = rows;
    to.reserve(cursors.len());
    let Some((byte, bit)) = nulls else {
        for at in cursors {
            to.push(read(block, at)?);
        }
        return Ok(());
    };
    for (at, bitmap) in cursors.iter_mut().zip(bitmaps) {
        if block[bitmap + byte] & bit == 0 {
            to.push(read(block, at)?);
        } else {
            validity.null(to.len());
            to.push(T::default());
        }
    }
    Ok(())
}

/// Appends one string per row.
#[inline]
fn append(
    rows: RowGroup<'_, '_>,
    nulls: Option<(usize, u8)>,
    validity: &mut Validity,
    to: &mut Strings,
    write: impl Fn(&[u8], &mut usize, &mut Vec<u8>) -> Result<(), ValueFault>,
) -> Result<(), ValueFault> {
    let RowGroup { block, bitmaps, cursors } = rows;
    to.reserve(cursors.len());
    let (byte, bit) = nulls.unwrap_or_default();
    for (at, bitmap) in cursors.iter_mut().zip(bitmaps) {
        if nulls.is_some() && block[bitmap + byte] & bit != 0 {
            validity.null(to.len());
        } else {
            write(block, at, &mut to.data)?;
        }
        to.end();
    }
    if to.fit() {
        return Ok(());
    }
    Err(ValueFault::Refused("54000", "one batch has more than 2 GiB of its text".to_owned()))
}

/// Up to 64 bits, the highest byte first.
fn bits(bytes: &[u8]) -> Result<u64, ValueFault> {
    if bytes.len() > size_of::<u64>() {
        return Err(ValueFault::Damaged);
    }
    Ok(bytes.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
}

/// Appends a value in MySQL's text form.
fn show(kind: ColumnKind, zeros: usize, block: &[u8], at: &mut usize, text: &mut Vec<u8>) -> Result<(), ValueFault> {
    let number: i128 = match kind {
        ColumnKind::Int8 => i8::from_le_bytes(fixed(block, at)?).into(),
        ColumnKind::Int16 => i16::from_le_bytes(fixed(block, at)?).into(),
        ColumnKind::Int32 => i32::from_le_bytes(fixed(block, at)?).into(),
        ColumnKind::Int64 => i64::from_le_bytes(fixed(block, at)?).into(),
        ColumnKind::UInt8 => u8::from_le_bytes(fixed(block, at)?).into(),
        ColumnKind::UInt16 => u16::from_le_bytes(fixed(block, at)?).into(),
        ColumnKind::UInt32 => u32::from_le_bytes(fixed(block, at)?).into(),
        ColumnKind::UInt64 => u64::from_le_bytes(fixed(block, at)?).into(),
        ColumnKind::Date => {
            DateTime::read(counted(block, at)?)?.show_date(text);
            return Ok(());
        }
        ColumnKind::DateTime(digits) => {
            DateTime::read(counted(block, at)?)?.show(digits, text);
            return Ok(());
        }
        ColumnKind::Time(digits) => return datetime::show_time(datetime::time(counted(block, at)?)?, digits, text),
        // These arrive as text.
        ColumnKind::Decimal { .. } | ColumnKind::Text => {
            text.extend_from_slice(counted(block, at)?);
            return Ok(());
        }
        // No column with this type is accepted.
        ColumnKind::Null
        | ColumnKind::Bool
        | ColumnKind::Bits
        | ColumnKind::Float32
        | ColumnKind::Float64
        | ColumnKind::Bytes => {
            return Err(ValueFault::Damaged);
        }
    };
    // Writing to a Vec cannot fail.
    let _ = write!(text, "{number:0zeros$}");
    Ok(())
}
