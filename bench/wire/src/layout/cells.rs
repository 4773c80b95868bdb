//! Columns as MonetDB stores them: values of a fixed width or strings. A special value represents a missing one.
//!
//! MonetDB's own choice (gdk/gdk_atoms.c): the smallest integer of a type, and for a string the single byte 0x80, with
//! which no UTF-8 begins.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef, Decimal128Array, StringArray, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::{SHORT_DECIMAL_DIGITS, fixed_width, text};
use crate::Result;

/// Represents a missing string.
const NIL_STRING: u8 = 0x80;

/// The smallest integer of `W` bytes, which represents a missing one.
const fn nil<const W: usize>() -> [u8; W] {
    let mut bytes = [0; W];
    bytes[W - 1] = 0x80;
    bytes
}

/// The values of a column.
pub enum Cells {
    /// Each takes `width` bytes.
    Fixed { width: usize, bytes: Buffer },
    /// Each is followed by a zero byte when it is sent.
    Strings(StringArray),
}

impl Cells {
    /// The cells of an Arrow array.
    ///
    /// # Errors
    /// The type is not one of integers, decimals, dates, times and text.
    pub fn of(column: &ArrayRef) -> Result<Self> {
        match column.data_type() {
            DataType::Utf8 => Ok(Self::Strings(column.as_string().clone())),
            DataType::Decimal128(digits, _) if *digits <= SHORT_DECIMAL_DIGITS => {
                Ok(Self::Fixed { width: 8, bytes: decimals(column.as_primitive()) })
            }
            other => {
                let width = width(other)?.unwrap_or(0);
                let data = column.to_data();
                let bytes = data.buffers()[0].slice_with_length(data.offset() * width, data.len() * width);
                let bytes = match column.nulls().filter(|nulls| nulls.null_count() > 0) {
                    None => bytes,
                    Some(nulls) => match width {
                        1 => with_nils::<1>(&bytes, nulls),
                        2 => with_nils::<2>(&bytes, nulls),
                        4 => with_nils::<4>(&bytes, nulls),
                        8 => with_nils::<8>(&bytes, nulls),
                        _ => with_nils::<16>(&bytes, nulls),
                    },
                };
                Ok(Self::Fixed { width, bytes })
            }
        }
    }
}

/// Bytes of a value of the type, or `None` for text.
///
/// # Errors
/// As for [`Cells::of`].
pub fn width(data_type: &DataType) -> Result<Option<usize>> {
    match data_type {
        DataType::Utf8 => Ok(None),
        DataType::Decimal128(digits, _) if *digits <= SHORT_DECIMAL_DIGITS => Ok(Some(8)),
        other if other.is_floating() => Err(format!("no {other} represents a missing value here").into()),
        other => fixed_width(other).map(Some),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the precision ensures that the low 8 bytes contain the value")]
fn decimals(column: &Decimal128Array) -> Buffer {
    let narrow: Vec<i64> = match column.nulls() {
        None => column.values().iter().map(|&value| value as i64).collect(),
        Some(_) => column.iter().map(|value| value.map_or(i64::MIN, |value| value as i64)).collect(),
    };
    Buffer::from_vec(narrow)
}

fn with_nils<const W: usize>(bytes: &[u8], nulls: &NullBuffer) -> Buffer {
    let mut out = bytes.to_vec();
    let (cells, _) = out.as_chunks_mut::<W>();
    for missing in (!nulls.inner()).set_indices() {
        cells[missing] = nil();
    }
    Buffer::from_vec(out)
}

/// Appends a string in the form in which it is sent.
pub fn append_string(strings: &StringArray, row: usize, out: &mut Vec<u8>) {
    if strings.is_valid(row) {
        out.extend_from_slice(strings.value(row).as_bytes());
    } else {
        out.push(NIL_STRING);
    }
    out.push(0);
}

/// The array of a column that was sent. A column that is known to be complete is not searched for missing values.
///
/// # Errors
/// The bytes do not contain this number of values.
pub fn array(data_type: &DataType, bytes: &[u8], rows: usize, complete: bool) -> Result<ArrayRef> {
    let Some(width) = width(data_type)? else {
        return if complete { text::from_terminated(bytes, rows, None) } else { strings(bytes, rows) };
    };
    if bytes.len() != rows * width {
        return Err("a column has the wrong length".into());
    }
    let nulls = if complete {
        None
    } else {
        match width {
            1 => found::<1>(bytes),
            2 => found::<2>(bytes),
            4 => found::<4>(bytes),
            8 => found::<8>(bytes),
            _ => found::<16>(bytes),
        }
    };
    // Into separate memory, with the alignment that the values need.
    let mut values = MutableBuffer::with_capacity(bytes.len());
    values.extend_from_slice(bytes);
    if let DataType::Decimal128(digits, scale) = data_type
        && width == 8
    {
        let narrow: ScalarBuffer<i64> = Buffer::from(values).into();
        let wide: ScalarBuffer<i128> = narrow.iter().map(|&value| i128::from(value)).collect();
        let array = arrow_array::PrimitiveArray::<Decimal128Type>::try_new(wide, nulls)?;
        return Ok(Arc::new(array.with_precision_and_scale(*digits, *scale)?));
    }
    Ok(make_array(ArrayData::builder(data_type.clone()).len(rows).nulls(nulls).add_buffer(values.into()).build()?))
}

/// Which values are present.
fn found<const W: usize>(bytes: &[u8]) -> Option<NullBuffer> {
    let (cells, _) = bytes.as_chunks::<W>();
    let valid = BooleanBuffer::collect_bool(cells.len(), |i| cells[i] != nil());
    Some(NullBuffer::new(valid)).filter(|nulls| nulls.null_count() > 0)
}

/// Strings of which some may be missing.
fn strings(input: &[u8], rows: usize) -> Result<ArrayRef> {
    i32::try_from(input.len())?;
    let mut offsets: Vec<i32> = Vec::with_capacity(rows + 1);
    let mut data: Vec<u8> = Vec::with_capacity(input.len());
    let mut valid: Vec<bool> = Vec::with_capacity(rows);
    offsets.push(0);
    let mut start = 0;
    for end in memchr::memchr_iter(0, input) {
        let value = &input[start..end];
        valid.push(value != [NIL_STRING]);
        if value != [NIL_STRING] {
            data.extend_from_slice(value);
        }
        offsets.push(data.len() as i32);
        start = end + 1;
    }
    if start != input.len() || valid.len() != rows {
        return Err("a string column has the wrong number of values".into());
    }
    let nulls = Some(NullBuffer::from(valid)).filter(|nulls| nulls.null_count() > 0);
    text::from_parts(offsets, data, nulls)
}
