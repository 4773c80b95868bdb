//! What is compared: ways to turn batches into bytes and back.

use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_buffer::{Buffer, MutableBuffer};

use crate::Result;
use crate::table::Table;

/// What one pass over a table cost.
#[derive(Clone, Copy)]
pub struct Sample {
    /// Bytes that would be sent.
    pub bytes: usize,
    /// CPU time of making them.
    pub encode: Duration,
    /// CPU time of making Arrow arrays of them.
    pub decode: Duration,
}

/// A way to turn batches into bytes and back.
pub trait Contender {
    /// The name in the tables.
    fn name(&self) -> &str;

    /// Encodes and decodes a whole table once, each chunk decoded right after it was encoded, so that its bytes are as
    /// warm as after a receive. With `check`, the decoded batches are compared with the originals.
    fn pass(&self, table: &Table, check: bool) -> Result<Sample>;
}

/// Copies a message to where a client would have received it: one aligned allocation. Costs the same for all and is
/// left out of the clock, since it is the socket's work.
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
            return Err(format!("column {} came back different", field.name()).into());
        }
    }
    Ok(())
}
