//! Layouts: how the rows of a chunk become the bytes of a message. Each can be sent uncompressed or with a codec.
//!
//! | module | layout | papers' table or figure |
//! |---|---|---|
//! | `postgresql` | the paper's for PostgreSQL: columns, a mask of missing values | Figure 11 |
//! | `monetdb` | the paper's for MonetDB: columns, a special value for a missing one | Figure 10 |
//! | `rows` | the same values row by row | Table 4 |
//! | `integers` | columns of integers, packed | Table 6 |
//! | `protobuf` | Protocol Buffers | Table 7 |
//! | `strings` | one column of text | Tables 8 and 9 |

mod cells;
pub mod integers;
pub mod monetdb;
pub mod postgresql;
pub mod protobuf;
pub mod rows;
pub mod strings;
mod text;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;

use crate::Result;
use crate::clock::Stopwatch;
use crate::codec::Codec;
use crate::contender::{Contender, Sample, compare, receive};
use crate::table::Table;

/// A way to write chunks of a table.
pub trait Layout {
    /// Appends the chunk's bytes.
    ///
    /// # Errors
    /// The layout does not support a column's type.
    fn encode(&self, table: &Table, chunk: &RecordBatch, out: &mut Vec<u8>) -> Result<()>;

    /// The columns of a chunk.
    ///
    /// # Errors
    /// The bytes are not a chunk of this table.
    fn decode(&self, table: &Table, bytes: &[u8]) -> Result<Vec<ArrayRef>>;
}

/// A layout whose messages are sent with a codec.
pub struct Serialized {
    name: String,
    layout: Box<dyn Layout>,
    codec: Codec,
}

impl Serialized {
    /// With the name that it has in the tables.
    pub fn new(name: impl Into<String>, layout: impl Layout + 'static, codec: Codec) -> Self {
        Self { name: name.into(), layout: Box::new(layout), codec }
    }
}

impl Contender for Serialized {
    fn name(&self) -> &str {
        &self.name
    }

    fn pass(&self, table: &Table, check: bool) -> Result<Sample> {
        let (mut encode, mut decode) = (Stopwatch::default(), Stopwatch::default());
        let (mut plain, mut packed, mut unpacked) = (Vec::new(), Vec::new(), Vec::new());
        let mut bytes = 0;
        for chunk in &table.chunks {
            let sent = encode.time(|| -> Result<&[u8]> {
                plain.clear();
                self.layout.encode(table, chunk, &mut plain)?;
                self.codec.compress(&plain, &mut packed)
            })?;
            bytes += sent.len();
            let received = receive([sent], sent.len());
            let columns = decode.time(|| -> Result<Vec<ArrayRef>> {
                let plain = self.codec.decompress(&received, &mut unpacked)?;
                self.layout.decode(table, plain)
            })?;
            if check {
                compare(chunk, &RecordBatch::try_new(chunk.schema(), columns)?)?;
            }
        }
        Ok(Sample { bytes, encode: encode.total(), decode: decode.total() })
    }
}

/// The maximum precision of a DECIMAL whose scaled values fit into 8 bytes. Such a DECIMAL is sent in 8 bytes, as
/// MonetDB stores it.
pub const SHORT_DECIMAL_DIGITS: u8 = 18;

/// Removes `length` bytes from the front.
fn take<'a>(input: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
    let (front, rest) = input.split_at_checked(length).ok_or("the chunk ends early")?;
    *input = rest;
    Ok(front)
}

/// Removes a number of 4 bytes from the front.
fn take_u32(input: &mut &[u8]) -> Result<usize> {
    let bytes: [u8; 4] = take(input, 4)?.try_into()?;
    Ok(u32::from_le_bytes(bytes) as usize)
}

/// Checks that no byte of the chunk remains.
fn ended(input: &[u8]) -> Result<()> {
    if input.is_empty() { Ok(()) } else { Err("bytes are left after the last value".into()) }
}

/// Bytes of a value of a type without offsets.
fn fixed_width(data_type: &DataType) -> Result<usize> {
    Ok(data_type.primitive_width().ok_or_else(|| format!("these layouts have no {data_type}"))?)
}

#[cfg(test)]
mod tests;
