//! The most frequent kinds of columns, each with one short way from Arrow's value to COPY's field. A value that needs
//! more than this, or has no exact form, is left to `row_encoder`.

use arrow_array::Array;
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};

use super::column_type::ColumnType;
use super::moment::EPOCH_DAYS;
use super::numeric::ShortNumeric;
use crate::write::kind::ColumnMeaning;
use crate::write::values::ColumnValues;

const NULL: [u8; 4] = (-1i32).to_be_bytes();

/// A column of a batch.
pub(super) struct FrequentColumn {
    /// `None` if no value is NULL.
    nulls: Option<NullBuffer>,
    values: FrequentValues,
}

enum FrequentValues {
    Int4(ScalarBuffer<i64>),
    Int8(ScalarBuffer<i64>),
    Float8(ScalarBuffer<f64>),
    /// Days since 1970.
    Date(ScalarBuffer<i64>),
    Numeric(ScalarBuffer<i128>, ShortNumeric),
    /// Texts without a NUL character.
    Text(OffsetBuffer<i32>, arrow_buffer::Buffer),
    LongText(OffsetBuffer<i64>, arrow_buffer::Buffer),
}

impl FrequentColumn {
    /// `None` if the column is not a frequent one. `scale` is that of Arrow's decimals.
    pub(super) fn of(values: &ColumnValues, meaning: &ColumnMeaning, to: &ColumnType, scale: i8) -> Option<Self> {
        let (found, nulls) = match (values, to) {
            (ColumnValues::Integer(array), ColumnType::Int4) => {
                (FrequentValues::Int4(array.values().clone()), array.nulls())
            }
            (ColumnValues::Integer(array), ColumnType::Int8) => {
                (FrequentValues::Int8(array.values().clone()), array.nulls())
            }
            (ColumnValues::Float(array), ColumnType::Float8) => {
                (FrequentValues::Float8(array.values().clone()), array.nulls())
            }
            (ColumnValues::Integer(array), ColumnType::Date) if *meaning == (ColumnMeaning::Date { per_day: 1 }) => {
                (FrequentValues::Date(array.values().clone()), array.nulls())
            }
            (ColumnValues::Decimal(array), ColumnType::Numeric(limits)) => {
                let short = ShortNumeric::of(scale, *limits)?;
                (FrequentValues::Numeric(array.values().clone(), short), array.nulls())
            }
            (ColumnValues::Text(array), ColumnType::Text) => {
                let (first, last) = (array.offsets().first(), array.offsets().last());
                if has_nul(array.value_data().get(first as usize..last as usize)?) {
                    return None;
                }
                (FrequentValues::Text(array.offsets().clone(), array.values().clone()), array.nulls())
            }
            (ColumnValues::LongText(array), ColumnType::Text) => {
                let (first, last) = (array.offsets().first(), array.offsets().last());
                if has_nul(array.value_data().get(first as usize..last as usize)?) {
                    return None;
                }
                (FrequentValues::LongText(array.offsets().clone(), array.values().clone()), array.nulls())
            }
            _ => return None,
        };
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0).cloned();
        Some(Self { nulls, values: found })
    }

    /// Appends the field of a row. `false` if nothing was appended, because the value is not a frequent one.
    #[inline]
    pub(super) fn push(&self, out: &mut Vec<u8>, row: usize) -> bool {
        if let Some(nulls) = &self.nulls
            && nulls.is_null(row)
        {
            out.extend_from_slice(&NULL);
            return true;
        }
        match &self.values {
            FrequentValues::Int4(values) => match i32::try_from(values[row]) {
                Ok(number) => push_4(out, number.to_be_bytes()),
                Err(_) => return false,
            },
            FrequentValues::Int8(values) => push_8(out, values[row].to_be_bytes()),
            FrequentValues::Float8(values) => push_8(out, values[row].to_be_bytes()),
            FrequentValues::Date(values) => {
                // Dates of Arrow's 32 bits that are in PostgreSQL's range, except for the two that mean infinity.
                let days = values[row];
                if !(-2_000_000..2_000_000).contains(&days) {
                    return false;
                }
                push_4(out, ((days - EPOCH_DAYS) as i32).to_be_bytes());
            }
            FrequentValues::Numeric(values, short) => return short.push(out, values[row]),
            FrequentValues::Text(offsets, data) => {
                return push_text(out, &data[offsets[row] as usize..offsets[row + 1] as usize]);
            }
            FrequentValues::LongText(offsets, data) => {
                return push_text(out, &data[offsets[row] as usize..offsets[row + 1] as usize]);
            }
        }
        true
    }
}

/// Whether there is a zero byte. Without an early end, so that the compiler compares many bytes at once.
fn has_nul(bytes: &[u8]) -> bool {
    bytes.iter().fold(false, |found, byte| found | (*byte == 0))
}

/// A length and a value at once: each extension of a vector checks its capacity.
#[inline]
fn push_4(out: &mut Vec<u8>, value: [u8; 4]) {
    let [a, b, c, d] = value;
    out.extend_from_slice(&[0, 0, 0, 4, a, b, c, d]);
}

#[inline]
fn push_8(out: &mut Vec<u8>, value: [u8; 8]) {
    let [a, b, c, d, e, f, g, h] = value;
    out.extend_from_slice(&[0, 0, 0, 8, a, b, c, d, e, f, g, h]);
}

#[inline]
fn push_text(out: &mut Vec<u8>, text: &[u8]) -> bool {
    let Ok(length) = i32::try_from(text.len()) else { return false };
    out.reserve(4 + text.len());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(text);
    true
}
