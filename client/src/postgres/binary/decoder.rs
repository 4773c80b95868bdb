//! Decodes rows into columns.
//!
//! A block consists of whole DataRow messages. For some hundred rows at a time, each column decodes its values in its
//! own loop, from the positions where the previous column ended.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{Schema, SchemaRef};
use bytes::Bytes;

use super::column::ColumnBuilder;
use super::kind;
use crate::Error;
use crate::postgres::message::{self, HEADER, protocol};
use crate::rows::{self, ROWS_PER_GROUP};

/// The position of the values in a message: after its header and their number.
const VALUES: usize = HEADER + 2;

/// The columns of a result.
#[derive(Debug)]
pub(in crate::postgres) struct Decoder {
    columns: Vec<ColumnBuilder>,
    /// For each row of a group: the start of its next value, and the row's end.
    cursors: Vec<usize>,
    ends: Vec<usize>,
}

impl rows::Decoder for Decoder {
    type Column = kind::ColumnDescription;
    /// DataRow messages.
    type Block = Bytes;

    fn new(columns: &[kind::ColumnDescription]) -> (SchemaRef, Self) {
        let fields = columns.iter().map(|column| column.node.field.clone()).collect();
        let schema = colonnade_wire::Schema { fields, metadata: Vec::new() };
        let columns = columns.iter().map(|column| ColumnBuilder::new(&column.node)).collect();
        let decoder =
            Self { columns, cursors: Vec::with_capacity(ROWS_PER_GROUP), ends: Vec::with_capacity(ROWS_PER_GROUP) };
        (Arc::new(colonnade_wire::arrow::schema_to_arrow(&schema)), decoder)
    }

    fn group(&mut self, block: &Bytes, at: &mut usize, most: usize) -> Result<usize, Error> {
        self.find_rows(block, at, most.min(ROWS_PER_GROUP))?;
        for column in &mut self.columns {
            column.decode(block, &mut self.cursors)?;
        }
        // A wrong length may have moved a cursor into the next row, but not out of the block.
        if self.cursors != self.ends {
            return Err(protocol("a row whose values are not as long as the row"));
        }
        Ok(self.ends.len())
    }

    fn arrays(&mut self, schema: &Schema) -> Result<Vec<ArrayRef>, Error> {
        self.columns.iter_mut().zip(schema.fields()).map(|(column, field)| column.finish(field.data_type())).collect()
    }

    fn protocol(what: String) -> Error {
        message::protocol(what)
    }
}

impl Decoder {
    /// Sets the cursors to the first values of the next rows.
    fn find_rows(&mut self, block: &[u8], at: &mut usize, most: usize) -> Result<(), Error> {
        self.cursors.clear();
        self.ends.clear();
        let start = *at;
        while *at < block.len() && self.ends.len() < most {
            let Some([kind, l0, l1, l2, l3, c0, c1]) = block[*at..].first_chunk::<VALUES>().copied() else {
                return Err(protocol("a row that ends too early"));
            };
            let len = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
            let end = *at + 1 + len;
            if kind != b'D' || len < VALUES - 1 || end > block.len() {
                return Err(protocol("a row of a length that cannot be"));
            }
            if usize::from(u16::from_be_bytes([c0, c1])) != self.columns.len() {
                return Err(protocol("a row with another number of columns than was described"));
            }
            self.cursors.push(*at + VALUES);
            self.ends.push(end);
            *at = end;
        }
        rows::warm(&block[start..*at]);
        Ok(())
    }
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
