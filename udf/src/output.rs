//! The result of a call, checked.

use crate::ring::RingSlice;

/// The result of a call. It borrows the worker, because numbers are still in its ring.
#[derive(Debug)]
pub struct CallOutput<'w> {
    /// The number of rows.
    pub rows: usize,
    /// The columns, as the function's results say.
    pub columns: Vec<OutputColumn<'w>>,
}

/// A column of a result.
#[derive(Debug)]
pub struct OutputColumn<'w> {
    /// One bit for each row, the lowest bit of a byte first; 1 is a value. `None` if no row is NULL.
    pub validity: Option<Vec<u8>>,
    /// The values. Those of NULL rows may be any.
    pub data: OutputData<'w>,
}

/// The values of a column, by the layout of its type.
#[derive(Debug)]
pub enum OutputData<'w> {
    /// Values of a fixed width.
    Fixed(FixedValues<'w>),
    /// Texts (valid UTF-8 without NUL) or blobs: the bytes of row i are `bytes[offsets[i]..offsets[i + 1]]`.
    Bytes {
        /// One more than rows; they begin with 0 and do not fall.
        offsets: Vec<u64>,
        /// The bytes of all rows.
        bytes: Vec<u8>,
    },
    /// Lists and maps: the items of row i are those from `offsets[i]` to `offsets[i + 1]`.
    List {
        /// One more than rows; they begin with 0 and do not fall.
        offsets: Vec<u64>,
        /// The items of all rows.
        items: Box<OutputColumn<'w>>,
    },
    /// Arrays: as many items for each row.
    Array(Box<OutputColumn<'w>>),
    /// The fields of structs.
    Struct(Vec<OutputColumn<'w>>),
    /// Unions.
    Union {
        /// The member's number for each row.
        tags: Vec<u8>,
        /// The members, each with a value for each row.
        members: Vec<OutputColumn<'w>>,
    },
}

/// Values of a fixed width.
#[derive(Debug)]
pub struct FixedValues<'w> {
    pub(crate) source: FixedSource<'w>,
    /// The bytes of a value.
    pub(crate) width: usize,
}

#[derive(Debug)]
pub(crate) enum FixedSource<'w> {
    /// Any bytes are values of the type.
    Ring(RingSlice<'w>),
    /// A checked copy.
    Checked(Vec<u8>),
}

impl FixedValues<'_> {
    /// The bytes of a value.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        let bytes = match &self.source {
            FixedSource::Ring(slice) => slice.len(),
            FixedSource::Checked(bytes) => bytes.len(),
        };
        bytes / self.width
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies values, beginning with that of row `first`, as many as `into` has room for.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn copy_to(&self, first: usize, into: &mut [u8]) {
        let at = first * self.width;
        match &self.source {
            FixedSource::Ring(slice) => slice.read(at, into),
            FixedSource::Checked(bytes) => into.copy_from_slice(&bytes[at..][..into.len()]),
        }
    }

    /// A copy of all values.
    pub fn to_vec(&self) -> Vec<u8> {
        match &self.source {
            FixedSource::Ring(slice) => slice.to_vec(),
            FixedSource::Checked(bytes) => bytes.clone(),
        }
    }
}

impl OutputColumn<'_> {
    /// Whether a row has a value.
    pub fn is_valid(&self, row: usize) -> bool {
        self.validity.as_ref().is_none_or(|validity| validity[row / 8] >> (row % 8) & 1 == 1)
    }
}
