//! The layout that the paper added to MonetDB ("MonetDB++" in its tables).
//!
//! "Don't Hold My Data Hostage" (VLDB 2017), §4.1 and figure 10: a chunk starts with its number of rows. The columns
//! follow one another; only those of variable length have their length as a prefix. Fixed-width values are raw, strings
//! end with a zero byte. A value of the type itself represents a missing one.

use arrow_array::{ArrayRef, RecordBatch};

use super::cells::{self, Cells};
use super::{Layout, ended, take, take_u32};
use crate::Result;
use crate::table::Table;

/// The paper's layout for MonetDB.
pub struct MonetDb;

impl Layout for MonetDb {
    fn encode(&self, _: &Table, chunk: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&u32::try_from(chunk.num_rows())?.to_le_bytes());
        for column in chunk.columns() {
            match Cells::of(column)? {
                Cells::Fixed { bytes, .. } => out.extend_from_slice(&bytes),
                Cells::Strings(strings) => {
                    let start = out.len();
                    out.extend_from_slice(&[0; 4]);
                    (0..chunk.num_rows()).for_each(|row| cells::append_string(&strings, row, out));
                    let length = u32::try_from(out.len() - start - 4)?;
                    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
                }
            }
        }
        Ok(())
    }

    fn decode(&self, table: &Table, mut input: &[u8]) -> Result<Vec<ArrayRef>> {
        let rows = take_u32(&mut input)?;
        let mut columns = Vec::with_capacity(table.complete.len());
        for (field, &complete) in table.schema.fields().iter().zip(&table.complete) {
            let length = match cells::width(field.data_type())? {
                Some(width) => rows * width,
                None => take_u32(&mut input)?,
            };
            columns.push(cells::array(field.data_type(), take(&mut input, length)?, rows, complete)?);
        }
        ended(input)?;
        Ok(columns)
    }
}
