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
    /// Where each entry begins in `data`, and where the last one ends. Some may be equal, or occur in no row.
    pub offsets: &'a [i32],
    /// The entries.
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
    pub(crate) fn plain_bytes(&self, field: &Field) -> Option<usize> {
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

impl ColumnInput<'_, '_> {
    /// At least as many bytes as those of the buffers in plain form, if they belong to the field's type.
    #[cfg(feature = "arrow")]
    pub(crate) fn most_plain_bytes(&self, field: &Field) -> usize {
        let Self::Codes(texts) = self else { return self.plain_bytes(field).unwrap_or(0) };
        let longest = texts.lengths().max().and_then(|longest| usize::try_from(longest).ok()).unwrap_or(0);
        // The bit of the row, and an offset of 8 bytes at most.
        texts.codes.len().saturating_mul(longest + 9) + 9
    }
}

impl<'a> Codes<'a> {
    /// The bytes of all rows. `None` if a valid row has no entry, or an entry is not within the data.
    fn bytes(&self) -> Option<usize> {
        let is_within = self.offsets.first().is_none_or(|&first| first >= 0)
            && self.offsets.is_sorted()
            && self.offsets.last().is_none_or(|&last| usize::try_from(last).is_ok_and(|last| last <= self.data.len()));
        if !is_within {
            return None;
        }
        let lengths: Vec<i32> = self.lengths().collect();
        if self.validity.is_none() {
            let largest = self.codes.iter().fold(0, |largest, &code| largest.max(code));
            let have_entries = self.codes.is_empty() || (largest as usize) < lengths.len();
            return have_entries.then(|| self.codes.iter().map(|&code| lengths[code as usize] as usize).sum());
        }
        let mut total = 0;
        for (row, &code) in self.codes.iter().enumerate() {
            if self.validity.is_none_or(|valid| valid.bit(row)) {
                total += *lengths.get(code as usize)? as usize;
            }
        }
        Some(total)
    }

    /// The number of bytes of each entry.
    pub(super) fn lengths(&self) -> impl ExactSizeIterator<Item = i32> {
        self.offsets.windows(2).map(|entry| entry[1] - entry[0])
    }

    /// All entries, end to end.
    pub(super) fn entries(&self) -> &'a [u8] {
        match (self.offsets.first(), self.offsets.last()) {
            (Some(&first), Some(&last)) => &self.data[first as usize..last as usize],
            _ => &[],
        }
    }
}
