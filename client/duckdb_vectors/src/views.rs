//! A column of texts or bytes that is gathered as views. DuckDB's text is Arrow's view with an address instead of a
//! place.

use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::{ArrayRef, BinaryViewArray, StringViewArray};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::ArrowError;
use colonnade_duckdb_api::vectors::{INLINE, VectorValues};

use crate::text::{not_reserved, too_long, uuid_text};
use crate::types::ROOM_ROWS;

/// The views of a column, until they are a batch's.
#[derive(Default)]
pub(crate) struct Views {
    views: Vec<u128>,
    /// The texts that do not fit into their views.
    data: Vec<u8>,
    /// For each entry of the last dictionary vectors: the vector for which its view was made last, and the view.
    known: Vec<(u32, u128)>,
    vector: u32,
}

impl Views {
    pub fn bytes(&self) -> usize {
        self.data.len() + size_of_val(&*self.views)
    }

    /// Appends the rows of a vector.
    ///
    /// # Safety
    /// The vector's type is stored as VARCHAR is, and it has so many rows.
    pub unsafe fn append(&mut self, values: &VectorValues, rows: usize) -> Result<(), ArrowError> {
        self.reserve(rows);
        let Some(entries) = values.selection(rows) else {
            for row in 0..rows {
                // SAFETY: the caller promises the type and the rows.
                let view = unsafe { self.view(values, row) }?;
                self.views.push(view);
            }
            return Ok(());
        };
        // A text that several rows have is copied once.
        self.vector += 1;
        let vector = self.vector;
        let largest = entries.iter().fold(0, |largest, &entry| largest.max(entry)) as usize;
        if self.known.len() <= largest {
            self.known.resize((largest + 1).next_power_of_two(), (0, 0));
        }
        for &entry in entries {
            let (made_for, mut view) = self.known[entry as usize];
            if made_for != vector {
                // SAFETY: as above.
                view = unsafe { self.view(values, entry as usize) }?;
                self.known[entry as usize] = (vector, view);
            }
            self.views.push(view);
        }
        Ok(())
    }

    /// Appends the rows of a vector of UUIDs as texts.
    ///
    /// # Safety
    /// The vector has UUIDs, and so many rows.
    pub unsafe fn append_uuids(&mut self, values: &VectorValues, rows: usize) -> Result<(), ArrowError> {
        self.reserve(rows);
        for row in 0..rows {
            let entry = values.entry(row);
            let view = if values.is_valid(entry) {
                // SAFETY: the caller promises the type.
                self.keep(&uuid_text(unsafe { values.value(entry) }))?
            } else {
                0
            };
            self.views.push(view);
        }
        Ok(())
    }

    fn reserve(&mut self, rows: usize) {
        self.views.reserve(if self.views.is_empty() { ROOM_ROWS.max(rows) } else { rows });
    }

    /// The view of an entry.
    ///
    /// # Safety
    /// The vector's type is stored as VARCHAR is, and it has this entry.
    #[inline]
    unsafe fn view(&mut self, values: &VectorValues, entry: usize) -> Result<u128, ArrowError> {
        if !values.is_valid(entry) {
            return Ok(0);
        }
        // SAFETY: the caller promises the type, whose values have 16 bytes. The entry is not NULL.
        unsafe {
            let value: u128 = values.value(entry);
            let length = value as u32 as usize;
            // What stands behind a short text has no meaning.
            if length <= INLINE {
                Ok(value & (u128::MAX >> (8 * (INLINE - length))))
            } else {
                self.keep(values.text(entry))
            }
        }
    }

    /// Copies a text that does not fit into its view.
    fn keep(&mut self, text: &[u8]) -> Result<u128, ArrowError> {
        let place = u32::try_from(self.data.len() + text.len()).ok().filter(|end| i32::try_from(*end).is_ok());
        let place = place.ok_or_else(too_long)? - text.len() as u32;
        self.data.try_reserve(text.len()).map_err(not_reserved)?;
        self.data.extend_from_slice(text);
        Ok(make_view(text, 0, place))
    }

    /// The array of the rows, of which none is left: of texts, or of bytes.
    pub fn take(&mut self, nulls: Option<NullBuffer>, is_text: bool) -> ArrayRef {
        self.known.clear();
        self.vector = 0;
        let views = std::mem::take(&mut self.views).into();
        let data = std::mem::take(&mut self.data);
        let buffers: Arc<[Buffer]> = if data.is_empty() { Arc::new([]) } else { Arc::new([data.into()]) };
        // SAFETY: each view has its text, or its begin and its place in the only buffer, and there are as many bits as
        // rows. DuckDB's texts are UTF-8.
        unsafe {
            if is_text {
                Arc::new(StringViewArray::new_unchecked(views, buffers, nulls))
            } else {
                Arc::new(BinaryViewArray::new_unchecked(views, buffers, nulls))
            }
        }
    }
}
