//! The answer to a statement of this client.

use super::packet::Definition;

/// An answer in text.
#[derive(Debug, Default)]
pub(super) struct TextAnswer {
    pub(super) columns: Vec<Definition>,
    /// `None` is NULL.
    pub(super) rows: Vec<Vec<Option<String>>>,
    pub(super) warnings: u16,
}

impl TextAnswer {
    /// The value in a row and a column.
    pub(super) fn text(&self, row: usize, column: usize) -> Option<&str> {
        self.rows.get(row)?.get(column)?.as_deref()
    }
}
