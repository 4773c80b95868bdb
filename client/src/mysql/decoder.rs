//! Decodes rows into columns.
//!
//! For some hundred rows at a time, each column decodes its values in its own loop, from the positions where the
//! previous column ended.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{Fields, Schema, SchemaRef};

use super::column::{ColumnBuilder, RowGroup};
use super::incoming::Block;
use super::kind;
use super::packet::{self, HEADER, header, protocol};
use crate::Error;
use crate::rows::{self, ROWS_PER_GROUP};

/// A row's first byte, before its NULL bitmap.
const MARK: usize = 1;

/// The columns of a result.
#[derive(Debug)]
pub(super) struct Decoder {
    columns: Vec<ColumnBuilder>,
    /// For each row of a group: the start of its NULL bitmap, of its next value and of the next row.
    bitmaps: Vec<usize>,
    cursors: Vec<usize>,
    ends: Vec<usize>,
    /// The NULL bitmaps of a group's rows, combined with OR.
    nulls: Vec<u8>,
}

impl rows::Decoder for Decoder {
    type Column = kind::ColumnDescription;
    type Block = Block;

    fn new(columns: &[kind::ColumnDescription]) -> (SchemaRef, Self) {
        let fields: Fields = columns.iter().map(|column| column.field.clone()).collect();
        let decoder = Self {
            columns: columns.iter().enumerate().map(|(number, column)| ColumnBuilder::new(column, number)).collect(),
            bitmaps: Vec::with_capacity(ROWS_PER_GROUP),
            cursors: Vec::with_capacity(ROWS_PER_GROUP),
            ends: Vec::with_capacity(ROWS_PER_GROUP),
            // The bitmap has two bits more than there are columns.
            nulls: vec![0; (columns.len() + 9) / 8],
        };
        (Arc::new(Schema::new(fields)), decoder)
    }

    fn group(&mut self, block: &Block, at: &mut usize, most: usize) -> Result<usize, Error> {
        self.find_rows(block, at, most.min(ROWS_PER_GROUP))?;
        let bytes = block.as_ref();
        for column in &mut self.columns {
            let (byte, bit) = column.null_at;
            let rows = RowGroup { block: bytes, bitmaps: &self.bitmaps, cursors: &mut self.cursors };
            column.decode(rows, self.nulls[byte] & bit != 0)?;
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
        packet::protocol(what)
    }
}

impl Decoder {
    /// Sets the cursors to the first values of the next rows.
    fn find_rows(&mut self, block: &Block, at: &mut usize, most: usize) -> Result<(), Error> {
        let (bytes, framed) = match block {
            Block::Packets(bytes) => (bytes, true),
            Block::Row(bytes) => (bytes, false),
        };
        self.bitmaps.clear();
        self.cursors.clear();
        self.ends.clear();
        self.nulls.fill(0);
        let from = *at;
        while *at < bytes.len() && self.ends.len() < most {
            let (start, end) = if framed {
                let Some(head) = bytes[*at..].first_chunk::<HEADER>() else { return Err(cut()) };
                (*at + HEADER, *at + HEADER + header(*head).0)
            } else {
                (*at, bytes.len())
            };
            let values = start + MARK + self.nulls.len();
            if end > bytes.len() || values > end {
                return Err(cut());
            }
            for (all, nulls) in self.nulls.iter_mut().zip(&bytes[start + MARK..values]) {
                *all |= nulls;
            }
            self.bitmaps.push(start + MARK);
            self.cursors.push(values);
            self.ends.push(end);
            *at = end;
        }
        rows::warm(&bytes[from..*at]);
        Ok(())
    }
}

fn cut() -> Error {
    protocol("a row that ends too early")
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
