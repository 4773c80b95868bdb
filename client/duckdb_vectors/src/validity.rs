//! Which rows of a column are not NULL.

use arrow_buffer::{BooleanBufferBuilder, NullBuffer, ToByteSlice as _};
use colonnade_duckdb_api::vectors::VectorValues;

/// The bits of a column, which begin with the first vector that may have a NULL.
#[derive(Default)]
pub(crate) struct Validity {
    bits: Option<BooleanBufferBuilder>,
    rows: usize,
}

impl Validity {
    /// Appends rows that have values.
    pub fn append_valid(&mut self, rows: usize) {
        if let Some(bits) = &mut self.bits {
            bits.append_n(rows, true);
        }
        self.rows += rows;
    }

    /// Appends the rows of a vector. Returns whether one of them is NULL.
    pub fn append(&mut self, values: &VectorValues, rows: usize) -> bool {
        if !values.has_null(rows) {
            self.append_valid(rows);
            return false;
        }
        let before = self.rows;
        let bits = self.bits.get_or_insert_with(|| {
            let mut bits = BooleanBufferBuilder::new(before + rows);
            bits.append_n(before, true);
            bits
        });
        match values.selection(rows) {
            // SAFETY: the vector is flat, because it has no selection, and has these rows.
            None => match unsafe { values.validity(rows) } {
                Some(words) => bits.append_packed_range(0..rows, words.to_byte_slice()),
                None => bits.append_n(rows, true),
            },
            Some(selection) => selection.iter().for_each(|&entry| bits.append(values.is_valid(entry as usize))),
        }
        self.rows += rows;
        true
    }

    /// The bits of all rows; `None` if no row is NULL. There are no rows then.
    pub fn take(&mut self) -> Option<NullBuffer> {
        self.rows = 0;
        let nulls = NullBuffer::new(self.bits.take()?.build());
        (nulls.null_count() > 0).then_some(nulls)
    }
}
