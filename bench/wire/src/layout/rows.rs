//! The values of the paper's layout for MonetDB, row by row instead of column by column (Table 4).
//!
//! A client that needs columns must split the rows, which is what decoding does here.

use arrow_array::{ArrayRef, RecordBatch};

use super::cells::{self, Cells};
use super::{Layout, ended, take, take_u32};
use crate::Result;
use crate::table::Table;

/// Rows, one after the other.
pub struct Rows;

impl Layout for Rows {
    fn encode(&self, _: &Table, chunk: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let columns = chunk.columns().iter().map(Cells::of).collect::<Result<Vec<_>>>()?;
        out.extend_from_slice(&u32::try_from(chunk.num_rows())?.to_le_bytes());
        for row in 0..chunk.num_rows() {
            for column in &columns {
                match column {
                    Cells::Fixed { width, bytes } => out.extend_from_slice(&bytes[row * width..][..*width]),
                    Cells::Strings(strings) => cells::append_string(strings, row, out),
                }
            }
        }
        Ok(())
    }

    fn decode(&self, table: &Table, mut input: &[u8]) -> Result<Vec<ArrayRef>> {
        let rows = take_u32(&mut input)?;
        let fields = table.schema.fields();
        let widths = fields.iter().map(|field| cells::width(field.data_type())).collect::<Result<Vec<_>>>()?;
        let mut columns: Vec<Vec<u8>> =
            widths.iter().map(|width| Vec::with_capacity(rows * width.unwrap_or(8))).collect();
        for _ in 0..rows {
            for (width, column) in widths.iter().zip(&mut columns) {
                let length = match width {
                    Some(width) => *width,
                    None => memchr::memchr(0, input).ok_or("a string has no end")? + 1,
                };
                column.extend_from_slice(take(&mut input, length)?);
            }
        }
        ended(input)?;
        let parts = fields.iter().zip(&columns).zip(&table.complete);
        parts.map(|((field, bytes), &complete)| cells::array(field.data_type(), bytes, rows, complete)).collect()
    }
}
