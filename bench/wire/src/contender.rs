//! The contenders: ways to convert batches to bytes and back.

use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_buffer::{Buffer, MutableBuffer};

use crate::Result;
use crate::table::Table;

/// The cost of one pass over a table.
#[derive(Clone, Copy)]
pub struct Sample {
    /// Bytes to be sent.
    pub bytes: usize,
    /// CPU time to encode them.
    pub encode: Duration,
    /// CPU time to decode them into Arrow arrays.
    pub decode: Duration,
}

/// A way to convert batches to bytes and back.
pub trait Contender {
    /// The name in the tables.
    fn name(&self) -> &str;

    /// Encodes and decodes a whole table once. Each chunk is decoded directly after it was encoded, so that its bytes
    /// are in the caches as after a receive. With `check`, the decoded batches are compared with the originals.
    fn pass(&self, table: &Table, check: bool) -> Result<Sample>;
}

/// Copies a message to where a client would have received it: one aligned allocation. This is the socket's work and
/// costs the same for all contenders, so it is not timed.
pub fn receive<'a>(parts: impl IntoIterator<Item = &'a [u8]>, bytes: usize) -> Buffer {
    let mut buffer = MutableBuffer::with_capacity(bytes);
    for part in parts {
        buffer.extend_from_slice(part);
    }
    buffer.into()
}

/// Compares a decoded chunk with the original.
///
/// # Errors
/// They differ.
pub fn compare(original: &RecordBatch, decoded: &RecordBatch) -> Result<()> {
    for (column, field) in original.schema().fields().iter().enumerate() {
        if original.column(column) != decoded.column(column) {
            return Err(format!("column {} differs after decoding", field.name()).into());
        }
    }
    Ok(())
}
