//! Columns as the encoder takes them: in Arrow's layout, or in a form that is closer to what a database has in memory.

use crate::{Bitmap, Column, Field, Layout};

/// A column of the encoder's input.
#[derive(Clone, Copy, Debug)]
pub enum ColumnInput<'c, 'a> {
    /// In Arrow's layout.
    Column(&'c Column<&'a [u8]>),
    /// Texts or bytes as numbers of entries.
    Codes(Codes<'a>),
    /// Integers of layout `Wide(16)`, such as decimals, of which each fits into 64 bits.
    Narrow(Narrow<'a>),
}

/// A column of texts or bytes. Each row is the number of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Codes<'a> {
    /// Which rows are valid; `None` if all are.
    pub validity: Option<Bitmap<&'a [u8]>>,
    /// For each row the number of its entry. Under a NULL it has no meaning.
    pub codes: &'a [u32],
    /// The number of bytes of each entry.
    pub lengths: &'a [i32],
    /// The entries, end to end. Some may be equal, or occur in no row.
    pub data: &'a [u8],
}

/// A column of 128-bit integers.
#[derive(Clone, Copy, Debug)]
pub struct Narrow<'a> {
    /// Which rows are valid; `None` if all are.
    pub validity: Option<Bitmap<&'a [u8]>>,
    /// The integers. Under a NULL they have no meaning.
    pub values: &'a [i64],
}

impl<'a> ColumnInput<'_, 'a> {
    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        match self {
            Self::Column(column) => column.rows,
            Self::Codes(texts) => texts.codes.len(),
            Self::Narrow(integers) => integers.values.len(),
        }
    }

    /// Which rows are valid.
    pub(super) fn validity(&self) -> Option<Bitmap<&'a [u8]>> {
        match self {
            Self::Column(column) => column.validity,
            Self::Codes(texts) => texts.validity,
            Self::Narrow(integers) => integers.validity,
        }
    }

    /// Bytes of the buffers in plain form. `None` if they do not belong to the field's type, or are too short.
    pub(super) fn plain_bytes(&self, field: &Field) -> Option<usize> {
        let rows = self.rows();
        let validity = match self.validity() {
            Some(valid) => valid.covers(rows).then(|| rows.div_ceil(8))?,
            None => 0,
        };
        let values = match (self, field.data_type.layout()) {
            (Self::Column(column), _) => return column.plain_bytes(field),
            (Self::Codes(texts), Layout::Bytes { offset, .. }) => (rows + 1) * offset + texts.bytes()?,
            (Self::Narrow(_), Layout::Wide(16)) => rows * 16,
            _ => return None,
        };
        Some(validity + values)
    }
}

impl Codes<'_> {
    /// The bytes of all rows. `None` if a valid row has no entry, or the entries have not as many bytes as they say.
    fn bytes(&self) -> Option<usize> {
        let lengths = self.lengths.iter().map(|&length| usize::try_from(length).ok());
        if lengths.sum::<Option<usize>>()? != self.data.len() {
            return None;
        }
        let mut total = 0;
        for (row, &code) in self.codes.iter().enumerate() {
            if self.validity.is_none_or(|valid| valid.bit(row)) {
                total += *self.lengths.get(code as usize)? as usize;
            }
        }
        Some(total)
    }
}
