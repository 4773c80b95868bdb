//! The layout that the paper added to PostgreSQL ("PostgreSQL++" in its tables).
//!
//! "Don't Hold My Data Hostage" (VLDB 2017), §4.2 and figure 11: a chunk starts with its number of rows. Each column
//! has its length as a prefix, then, if the column may contain NULLs, a bitmask with 1 for a missing value, then the
//! present values. Fixed-width values are raw, strings end with a zero byte. Columns that are complete by the
//! database's statistics have no mask. A DECIMAL of up to 18 digits is a scaled integer of 8 bytes, as in the paper's
//! MonetDB.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef, Decimal128Array, RecordBatch, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Schema};

use super::{Layout, SHORT_DECIMAL_DIGITS, ended, fixed_width, take, take_u32, text};
use crate::Result;
use crate::table::Table;

/// The paper's layout for PostgreSQL.
pub struct PostgreSql;

impl Layout for PostgreSql {
    fn encode(&self, table: &Table, chunk: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        encode_chunk(chunk, &table.complete, out)
    }

    fn decode(&self, table: &Table, bytes: &[u8]) -> Result<Vec<ArrayRef>> {
        decode_chunk(bytes, &table.schema, &table.complete)
    }
}

// ---- encode

fn encode_chunk(batch: &RecordBatch, complete: &[bool], out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&u32::try_from(batch.num_rows())?.to_le_bytes());
    for (column, &complete) in batch.columns().iter().zip(complete) {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        if !complete {
            encode_mask(column, out);
        }
        encode_values(column, out)?;
        let length = u32::try_from(out.len() - start - 4)?;
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }
    Ok(())
}

fn encode_mask(column: &ArrayRef, out: &mut Vec<u8>) {
    let start = out.len();
    let bytes = column.len().div_ceil(8);
    if let Some(nulls) = column.nulls() {
        for word in nulls.inner().bit_chunks().iter_padded() {
            out.extend_from_slice(&(!word).to_le_bytes());
        }
    }
    out.resize(start + bytes, 0);
    // The bits after the last row do not represent missing values.
    if let (spare @ 1.., Some(last)) = (column.len() % 8, out.last_mut()) {
        *last &= (1 << spare) - 1;
    }
}

fn encode_values(column: &ArrayRef, out: &mut Vec<u8>) -> Result<()> {
    match column.data_type() {
        DataType::Utf8 => text::append_terminated(column.as_string(), out),
        DataType::Decimal128(digits, _) if *digits <= SHORT_DECIMAL_DIGITS => {
            encode_decimals(column.as_primitive::<Decimal128Type>(), out);
        }
        other => {
            let width = fixed_width(other)?;
            let data = column.to_data();
            let values = &data.buffers()[0].as_slice()[data.offset() * width..][..data.len() * width];
            match column.nulls().filter(|nulls| nulls.null_count() > 0) {
                None => out.extend_from_slice(values),
                Some(nulls) => match width {
                    1 => encode_valid::<1>(values, nulls, out),
                    2 => encode_valid::<2>(values, nulls, out),
                    4 => encode_valid::<4>(values, nulls, out),
                    8 => encode_valid::<8>(values, nulls, out),
                    _ => encode_valid::<16>(values, nulls, out),
                },
            }
        }
    }
    Ok(())
}

fn encode_valid<const W: usize>(values: &[u8], nulls: &NullBuffer, out: &mut Vec<u8>) {
    let (values, _) = values.as_chunks::<W>();
    for (start, end) in nulls.valid_slices() {
        out.extend_from_slice(values[start..end].as_flattened());
    }
}

fn encode_decimals(column: &Decimal128Array, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + (column.len() - column.null_count()) * 8, 0);
    let (cells, _) = out[start..].as_chunks_mut::<8>();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the precision guarantees that the low 8 bytes contain the value"
    )]
    let write = |(cell, &value): (&mut [u8; 8], &i128)| *cell = (value as i64).to_le_bytes();
    match column.nulls() {
        None => cells.iter_mut().zip(column.values()).for_each(write),
        Some(nulls) => cells.iter_mut().zip(nulls.valid_indices().map(|i| &column.values()[i])).for_each(write),
    }
}

// ---- decode

fn decode_chunk(mut input: &[u8], schema: &Schema, complete: &[bool]) -> Result<Vec<ArrayRef>> {
    let rows = take_u32(&mut input)?;
    let mut columns = Vec::with_capacity(complete.len());
    for (field, &complete) in schema.fields().iter().zip(complete) {
        let length = take_u32(&mut input)?;
        let mut column = take(&mut input, length)?;
        let nulls = if complete { None } else { decode_mask(take(&mut column, rows.div_ceil(8))?, rows) };
        columns.push(decode_values(field.data_type(), column, rows, nulls)?);
    }
    ended(input)?;
    Ok(columns)
}

fn decode_mask(mask: &[u8], rows: usize) -> Option<NullBuffer> {
    let valid: Buffer = mask.iter().map(|byte| !byte).collect();
    Some(NullBuffer::new(BooleanBuffer::new(valid, 0, rows))).filter(|nulls| nulls.null_count() > 0)
}

fn decode_values(data_type: &DataType, input: &[u8], rows: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    match data_type {
        DataType::Utf8 => text::from_terminated(input, rows, nulls),
        DataType::Decimal128(digits, scale) if *digits <= SHORT_DECIMAL_DIGITS => {
            let values = spread::<8>(input, rows, nulls.as_ref())?;
            let values: ScalarBuffer<i64> = values.into();
            let wide = values.iter().map(|&v| i128::from(v)).collect();
            Ok(Arc::new(Decimal128Array::try_new(wide, nulls)?.with_precision_and_scale(*digits, *scale)?))
        }
        other => {
            let values = match fixed_width(other)? {
                1 => spread::<1>(input, rows, nulls.as_ref()),
                2 => spread::<2>(input, rows, nulls.as_ref()),
                4 => spread::<4>(input, rows, nulls.as_ref()),
                8 => spread::<8>(input, rows, nulls.as_ref()),
                _ => spread::<16>(input, rows, nulls.as_ref()),
            }?;
            Ok(make_array(ArrayData::builder(other.clone()).len(rows).nulls(nulls).add_buffer(values).build()?))
        }
    }
}

/// Moves the present values to their rows.
fn spread<const W: usize>(input: &[u8], rows: usize, nulls: Option<&NullBuffer>) -> Result<Buffer> {
    let present = rows - nulls.map_or(0, NullBuffer::null_count);
    if input.len() != present * W {
        return Err("a column has the wrong length".into());
    }
    let Some(nulls) = nulls else {
        let mut values = MutableBuffer::with_capacity(input.len());
        values.extend_from_slice(input);
        return Ok(values.into());
    };
    let mut values = MutableBuffer::from_len_zeroed(rows * W);
    let (out, _) = values.as_slice_mut().as_chunks_mut::<W>();
    let (mut input, _) = input.as_chunks::<W>();
    for (start, end) in nulls.valid_slices() {
        let (run, rest) = input.split_at(end - start);
        out[start..end].copy_from_slice(run);
        input = rest;
    }
    Ok(values.into())
}
