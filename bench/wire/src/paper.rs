//! Rival: the layout that the paper added to PostgreSQL, plain and with Snappy over each chunk.
//!
//! "Don't Hold My Data Hostage" (VLDB 2017), §4.2 and figure 11: a chunk starts with its number of rows; each column is
//! prefixed with its length, then, if the column may hold NULLs, a bitmask with 1 for a missing value, then the values
//! present. Fixed-width values are raw, strings end with a zero byte. Columns that the database's statistics know to be
//! complete have no mask. A DECIMAL of up to 18 digits is a scaled integer of 8 bytes, as in the paper's MonetDB.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef, Decimal128Array, RecordBatch, StringArray, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Schema};

use crate::Result;
use crate::clock::Stopwatch;
use crate::contender::{Contender, Sample, compare, receive};
use crate::table::Table;

/// The widest DECIMAL whose scaled values all fit 8 bytes.
const SHORT_DECIMAL_DIGITS: u8 = 18;

/// The paper's layout.
pub struct Paper {
    snappy: bool,
}

impl Paper {
    /// Plain or with Snappy.
    pub fn new(snappy: bool) -> Self {
        Self { snappy }
    }
}

impl Contender for Paper {
    fn name(&self) -> &str {
        if self.snappy { "the paper's layout, Snappy" } else { "the paper's layout" }
    }

    fn pass(&self, table: &Table, check: bool) -> Result<Sample> {
        let (mut encode, mut decode) = (Stopwatch::default(), Stopwatch::default());
        let (mut snappy_out, mut snappy_in) = (snap::raw::Encoder::new(), snap::raw::Decoder::new());
        let (mut plain, mut packed, mut unpacked) = (Vec::new(), Vec::new(), Vec::new());
        let mut bytes = 0;
        for chunk in &table.chunks {
            let sent = encode.time(|| -> Result<&[u8]> {
                plain.clear();
                encode_chunk(chunk, &table.complete, &mut plain)?;
                if !self.snappy {
                    return Ok(&plain);
                }
                packed.resize(snap::raw::max_compress_len(plain.len()), 0);
                let length = snappy_out.compress(&plain, &mut packed)?;
                Ok(&packed[..length])
            })?;
            bytes += sent.len();
            let received = receive([sent], sent.len());
            let columns = decode.time(|| -> Result<Vec<ArrayRef>> {
                if !self.snappy {
                    return decode_chunk(&received, &table.schema, &table.complete);
                }
                unpacked.resize(snap::raw::decompress_len(&received)?, 0);
                snappy_in.decompress(&received, &mut unpacked)?;
                decode_chunk(&unpacked, &table.schema, &table.complete)
            })?;
            if check {
                compare(chunk, &RecordBatch::try_new(chunk.schema(), columns)?)?;
            }
        }
        Ok(Sample { bytes, encode: encode.total(), decode: decode.total() })
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
}

fn encode_values(column: &ArrayRef, out: &mut Vec<u8>) -> Result<()> {
    match column.data_type() {
        DataType::Utf8 => encode_strings(column.as_string(), out),
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
    #[expect(clippy::cast_possible_truncation, reason = "the precision says that the low 8 bytes hold the value")]
    match column.nulls() {
        None => out.extend(column.values().iter().flat_map(|v| (*v as i64).to_le_bytes())),
        Some(nulls) => {
            out.extend(nulls.valid_indices().flat_map(|i| (column.values()[i] as i64).to_le_bytes()));
        }
    }
}

fn encode_strings(column: &StringArray, out: &mut Vec<u8>) {
    let offsets = column.value_offsets();
    let data = column.value_data();
    let mut append = |i: usize| {
        out.extend_from_slice(&data[offsets[i] as usize..offsets[i + 1] as usize]);
        out.push(0);
    };
    match column.nulls() {
        None => (0..column.len()).for_each(&mut append),
        Some(nulls) => nulls.valid_indices().for_each(&mut append),
    }
}

// ---- decode

/// Takes `length` bytes off the front.
fn take<'a>(input: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
    let (front, rest) = input.split_at_checked(length).ok_or("the chunk ends early")?;
    *input = rest;
    Ok(front)
}

fn take_u32(input: &mut &[u8]) -> Result<usize> {
    let bytes: [u8; 4] = take(input, 4)?.try_into()?;
    Ok(u32::from_le_bytes(bytes) as usize)
}

fn decode_chunk(mut input: &[u8], schema: &Schema, complete: &[bool]) -> Result<Vec<ArrayRef>> {
    let rows = take_u32(&mut input)?;
    let mut columns = Vec::with_capacity(complete.len());
    for (field, &complete) in schema.fields().iter().zip(complete) {
        let length = take_u32(&mut input)?;
        let mut column = take(&mut input, length)?;
        let nulls = if complete { None } else { decode_mask(take(&mut column, rows.div_ceil(8))?, rows) };
        columns.push(decode_values(field.data_type(), column, rows, nulls)?);
    }
    if input.is_empty() { Ok(columns) } else { Err("bytes are left after the last column".into()) }
}

fn decode_mask(mask: &[u8], rows: usize) -> Option<NullBuffer> {
    let valid: Buffer = mask.iter().map(|byte| !byte).collect();
    Some(NullBuffer::new(BooleanBuffer::new(valid, 0, rows))).filter(|nulls| nulls.null_count() > 0)
}

fn decode_values(data_type: &DataType, input: &[u8], rows: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    match data_type {
        DataType::Utf8 => decode_strings(input, rows, nulls),
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

/// Values present to values of every row.
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

fn decode_strings(input: &[u8], rows: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    // The terminators are characters of their own, so cutting at them leaves UTF-8 on both sides.
    simdutf8::basic::from_utf8(input)?;
    let present = rows - nulls.as_ref().map_or(0, NullBuffer::null_count);
    i32::try_from(input.len())?;
    let mut offsets: Vec<i32> = Vec::with_capacity(rows + 1);
    let mut data: Vec<u8> = Vec::with_capacity(input.len());
    offsets.push(0);
    let (mut start, mut found) = (0, 0);
    for end in memchr::memchr_iter(0, input) {
        if let Some(nulls) = &nulls {
            while offsets.len() <= rows && nulls.is_null(offsets.len() - 1) {
                offsets.push(data.len() as i32);
            }
        }
        data.extend_from_slice(&input[start..end]);
        offsets.push(data.len() as i32);
        start = end + 1;
        found += 1;
    }
    if start != input.len() || found != present {
        return Err("a string column has the wrong number of values".into());
    }
    offsets.resize(rows + 1, data.len() as i32);
    let offsets = OffsetBuffer::new(offsets.into());
    // SAFETY: the offsets only grow and end at the data's length, and every value is valid UTF-8, as checked above.
    Ok(Arc::new(unsafe { StringArray::new_unchecked(offsets, data.into(), nulls) }))
}

/// Bytes of a value of a type without offsets.
fn fixed_width(data_type: &DataType) -> Result<usize> {
    Ok(data_type.primitive_width().ok_or_else(|| format!("the paper's layout here has no {data_type}"))?)
}
