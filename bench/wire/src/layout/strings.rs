//! One column of text, in the ways that the paper compares (Tables 8 and 9) and in Arrow's.
//!
//! A chunk is its number of rows (4 bytes) and its values. The column has no missing values, as those of lineitem.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};

use super::{Layout, ended, take, take_u32, text};
use crate::Result;
use crate::table::Table;

/// How the end of a value is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strings {
    /// By a zero byte after it.
    Terminated,
    /// By its length before it, 7 bits per byte.
    Varint,
    /// By its length before it, in 4 bytes: PostgreSQL's own protocol.
    Length,
    /// All values have the same number of bytes, padded with zeros.
    Fixed(usize),
    /// By the start of each value, in 4 bytes each, before all values: Arrow's way.
    Offsets,
}

impl Layout for Strings {
    fn encode(&self, _: &Table, chunk: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let column: &StringArray = chunk.column(0).as_string();
        out.extend_from_slice(&u32::try_from(column.len())?.to_le_bytes());
        let (offsets, data) = (column.value_offsets(), column.value_data());
        let values = offsets.windows(2).map(|ends| &data[ends[0] as usize..ends[1] as usize]);
        match *self {
            Self::Terminated => text::append_terminated(column, out),
            Self::Varint => values.for_each(|value| {
                append_varint(value.len(), out);
                out.extend_from_slice(value);
            }),
            Self::Length => values.for_each(|value| {
                out.extend_from_slice(&(value.len() as u32).to_le_bytes());
                out.extend_from_slice(value);
            }),
            Self::Fixed(width) => {
                let start = out.len();
                out.resize(start + column.len() * width, 0);
                for (cell, value) in out[start..].chunks_exact_mut(width).zip(values) {
                    let cell =
                        cell.get_mut(..value.len()).ok_or_else(|| format!("a value has more than {width} bytes"))?;
                    cell.copy_from_slice(value);
                }
            }
            Self::Offsets => {
                out.extend(offsets.iter().flat_map(|offset| (offset - offsets[0]).to_le_bytes()));
                out.extend_from_slice(&data[offsets[0] as usize..offsets[column.len()] as usize]);
            }
        }
        Ok(())
    }

    fn decode(&self, _: &Table, mut input: &[u8]) -> Result<Vec<ArrayRef>> {
        let rows = take_u32(&mut input)?;
        let mut offsets: Vec<i32> = Vec::with_capacity(rows + 1);
        let mut data: Vec<u8> = Vec::with_capacity(input.len());
        let mut add = |value: &[u8]| {
            data.extend_from_slice(value);
            offsets.push(data.len() as i32);
        };
        match *self {
            Self::Terminated => return Ok(vec![text::from_terminated(input, rows, None)?]),
            Self::Offsets => {
                let (found, _) = take(&mut input, (rows + 1) * 4)?.as_chunks::<4>();
                let offsets = found.iter().map(|offset| i32::from_le_bytes(*offset)).collect();
                return Ok(vec![text::from_parts(offsets, input.to_vec(), None)?]);
            }
            Self::Varint => {
                add(&[]);
                for _ in 0..rows {
                    let length = take_varint(&mut input)?;
                    add(take(&mut input, length)?);
                }
            }
            Self::Length => {
                add(&[]);
                for _ in 0..rows {
                    let length = take_u32(&mut input)?;
                    add(take(&mut input, length)?);
                }
            }
            Self::Fixed(width) => {
                add(&[]);
                for cell in take(&mut input, rows * width)?.chunks_exact(width) {
                    add(&cell[..end_of(cell)]);
                }
            }
        }
        ended(input)?;
        Ok(vec![text::from_parts(offsets, data, None)?])
    }
}

/// The position at which the zeros of a cell begin.
fn end_of(cell: &[u8]) -> usize {
    // A vectorized search has a start-up cost that is too high for a short cell.
    let zero = if cell.len() < 16 { cell.iter().position(|&byte| byte == 0) } else { memchr::memchr(0, cell) };
    zero.unwrap_or(cell.len())
}

fn append_varint(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_varint(input: &mut &[u8]) -> Result<usize> {
    let mut number = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let byte = take(input, 1)?[0];
        number |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err("a length has too many bytes".into())
}
