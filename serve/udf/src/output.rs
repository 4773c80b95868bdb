//! The result of a call, checked.

use crate::function::ColumnType;
use crate::memory::MemoryCharge;
use crate::ring::RingSlice;

/// The result of a call. It borrows the caller, because numbers are still in its ring.
#[derive(Debug)]
pub struct CallOutput<'w> {
    /// The number of rows.
    pub rows: usize,
    /// The names and the sources of the columns, if the function decides them ([`crate::FunctionKind::AnyTable`]).
    pub names: Vec<(String, ColumnSource)>,
    /// The columns, as the function's results say, or those of `names` that have values.
    pub columns: Vec<OutputColumn<'w>>,
    /// What is charged for the columns.
    pub(crate) charge: &'w mut MemoryCharge,
}

impl CallOutput<'_> {
    /// Takes the columns out of the caller, with what is charged for them.
    pub fn take_columns(&mut self) -> (Vec<OutputColumn<'static>>, MemoryCharge) {
        let columns = std::mem::take(&mut self.columns).into_iter().map(OutputColumn::into_owned).collect();
        (columns, self.charge.take())
    }
}

/// Where the values of a column are, if the function decides the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnSource {
    /// The function has made them. This is the SQL name of their type.
    Values(String),
    /// The column is the argument of the parameter with this number, which the caller has. It is no scalar one; whether
    /// it has as many rows as the result, the caller has to check.
    Argument(usize),
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
    /// Checked bytes of values with this width.
    pub(crate) fn of(bytes: Vec<u8>, width: usize) -> Self {
        Self { source: FixedSource::Checked(bytes), width }
    }

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

impl OutputColumn<'_> {
    /// The same values, which need no caller.
    pub fn into_owned(self) -> OutputColumn<'static> {
        let data = match self.data {
            OutputData::Fixed(FixedValues { source, width }) => {
                let bytes = match source {
                    FixedSource::Ring(slice) => slice.to_vec(),
                    FixedSource::Checked(bytes) => bytes,
                };
                OutputData::Fixed(FixedValues { source: FixedSource::Checked(bytes), width })
            }
            OutputData::Bytes { offsets, bytes } => OutputData::Bytes { offsets, bytes },
            OutputData::List { offsets, items } => OutputData::List { offsets, items: Box::new(items.into_owned()) },
            OutputData::Array(items) => OutputData::Array(Box::new(items.into_owned())),
            OutputData::Struct(fields) => {
                OutputData::Struct(fields.into_iter().map(OutputColumn::into_owned).collect())
            }
            OutputData::Union { tags, members } => {
                OutputData::Union { tags, members: members.into_iter().map(OutputColumn::into_owned).collect() }
            }
        };
        OutputColumn { validity: self.validity, data }
    }

    /// A copy of some rows. `type_` is the type of the column.
    ///
    /// # Panics
    /// If there are not as many rows.
    pub fn slice(&self, type_: &ColumnType, first: usize, count: usize) -> OutputColumn<'static> {
        let validity = self.validity.as_ref().map(|_| {
            let mut bits = vec![0_u8; count.div_ceil(8)];
            (0..count).filter(|row| self.is_valid(first + row)).for_each(|row| bits[row / 8] |= 1 << (row % 8));
            bits
        });
        let offsets_of = |offsets: &[u64]| {
            let offsets = &offsets[first..=first + count];
            let (start, end) = (offsets[0] as usize, offsets[count] as usize);
            (offsets.iter().map(|offset| offset - start as u64).collect::<Vec<_>>(), start, end)
        };
        let children = type_.children();
        let all = |columns: &[OutputColumn<'_>]| {
            columns.iter().zip(&children).map(|(column, child)| column.slice(child, first, count)).collect::<Vec<_>>()
        };
        let data = match (&self.data, type_) {
            (OutputData::Fixed(values), _) => {
                let mut bytes = vec![0; count * values.width];
                values.copy_to(first, &mut bytes);
                OutputData::Fixed(FixedValues { source: FixedSource::Checked(bytes), width: values.width })
            }
            (OutputData::Bytes { offsets, bytes }, _) => {
                let (offsets, start, end) = offsets_of(offsets);
                OutputData::Bytes { offsets, bytes: bytes[start..end].to_vec() }
            }
            (OutputData::List { offsets, items }, _) => {
                let (offsets, start, end) = offsets_of(offsets);
                OutputData::List { offsets, items: Box::new(items.slice(&children[0], start, end - start)) }
            }
            (OutputData::Array(items), ColumnType::Array { size, .. }) => {
                OutputData::Array(Box::new(items.slice(&children[0], first * size, count * size)))
            }
            // The layout of a column is that of its type.
            (OutputData::Array(items), _) => OutputData::Array(Box::new(items.slice(&children[0], first, count))),
            (OutputData::Struct(fields), _) => OutputData::Struct(all(fields)),
            (OutputData::Union { tags, members }, _) => {
                OutputData::Union { tags: tags[first..first + count].to_vec(), members: all(members) }
            }
        };
        OutputColumn { validity, data }
    }

    /// The bytes of memory of a copy of some rows.
    ///
    /// # Panics
    /// If there are not as many rows.
    pub fn slice_bytes(&self, type_: &ColumnType, first: usize, count: usize) -> usize {
        let own = if self.validity.is_some() { count.div_ceil(8) } else { 0 };
        let children = type_.children();
        let of = |columns: &[OutputColumn<'_>], first: usize, count: usize| {
            let pairs = columns.iter().zip(&children);
            pairs.map(|(column, child)| column.slice_bytes(child, first, count)).sum::<usize>()
        };
        let range = |offsets: &[u64]| (offsets[first] as usize, (offsets[first + count] - offsets[first]) as usize);
        own + match &self.data {
            OutputData::Fixed(values) => count * values.width,
            OutputData::Bytes { offsets, .. } => (count + 1) * 8 + range(offsets).1,
            OutputData::List { offsets, items } => {
                let (first, items_count) = range(offsets);
                (count + 1) * 8 + of(std::slice::from_ref(items), first, items_count)
            }
            OutputData::Array(items) => {
                let size = if let ColumnType::Array { size, .. } = type_ { *size } else { 1 };
                of(std::slice::from_ref(items), first * size, count * size)
            }
            OutputData::Struct(fields) => of(fields, first, count),
            OutputData::Union { members, .. } => count + of(members, first, count),
        }
    }
}
