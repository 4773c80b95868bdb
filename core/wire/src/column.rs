//! Columns as raw buffers in Arrow's layout: the encoder's input and the decoder's output.

use bytes::Bytes;

use crate::bitmap::Bitmap;
use crate::int::Int;
use crate::{Field, Layout};

/// The values of one field in one chunk.
///
/// `B` is the kind of buffer: `&[u8]` if an encoder borrows, [`bytes::Bytes`] (reference-counted) if a decoder returns
/// it. Offsets, indices and values are little-endian and need no alignment.
#[derive(Clone, Debug)]
pub struct Column<B> {
    /// Number of rows.
    pub rows: usize,
    /// Which rows are valid; `None` if all are.
    pub validity: Option<Bitmap<B>>,
    /// The values, for every row. Values under a NULL have no meaning.
    pub values: Values<B>,
}

/// A column's values, by [`Layout`](crate::Layout).
#[derive(Clone, Debug)]
pub enum Values<B> {
    /// Layout `None`.
    None,
    /// Layout `Bits`.
    Bits(Bitmap<B>),
    /// Layouts `Integer`, `Float`, `Opaque`, `Wide`, `Parts`: `rows` values end to end.
    Fixed(B),
    /// Layout `Bytes`: `rows + 1` offsets into `data`. In the encoder's input the first offset need not be 0.
    Bytes {
        /// `rows + 1` offsets of 4 or 8 bytes.
        offsets: B,
        /// The bytes that the offsets refer to.
        data: B,
    },
    /// Layout `List`: `rows + 1` offsets into the child's rows. In the encoder's input the first offset need not be 0.
    List {
        /// `rows + 1` offsets of 4 or 8 bytes.
        offsets: B,
        /// The items.
        child: Box<Column<B>>,
    },
    /// Layout `FixedList`.
    FixedList(Box<Column<B>>),
    /// Layout `Struct`.
    Struct(Vec<Column<B>>),
    /// Layout `Dictionary`.
    Dictionary {
        /// `rows` indices.
        indices: B,
        /// The values that the indices refer to.
        values: Box<Column<B>>,
    },
}

impl<B: AsRef<[u8]>> Column<B> {
    /// The same column over borrowed buffers.
    pub fn as_view(&self) -> Column<&[u8]> {
        self.map(&|buffer| buffer.as_ref())
    }

    /// A copy that shares no memory with this column.
    pub fn to_shared(&self) -> Column<Bytes> {
        self.map(&|buffer| Bytes::copy_from_slice(buffer.as_ref()))
    }

    /// The same column over other buffers.
    fn map<'s, C>(&'s self, to: &impl Fn(&'s B) -> C) -> Column<C> {
        let bits = |bitmap: &'s Bitmap<B>| Bitmap { bytes: to(&bitmap.bytes), offset: bitmap.offset };
        let boxed = |child: &'s Self| Box::new(child.map(to));
        Column {
            rows: self.rows,
            validity: self.validity.as_ref().map(bits),
            values: match &self.values {
                Values::None => Values::None,
                Values::Bits(values) => Values::Bits(bits(values)),
                Values::Fixed(values) => Values::Fixed(to(values)),
                Values::Bytes { offsets, data } => Values::Bytes { offsets: to(offsets), data: to(data) },
                Values::List { offsets, child } => Values::List { offsets: to(offsets), child: boxed(child) },
                Values::FixedList(child) => Values::FixedList(boxed(child)),
                Values::Struct(children) => Values::Struct(children.iter().map(|child| child.map(to)).collect()),
                Values::Dictionary { indices, values } => {
                    Values::Dictionary { indices: to(indices), values: boxed(values) }
                }
            },
        }
    }
}

impl<'a> Column<&'a [u8]> {
    /// `count` rows from row `first` on; `None` if the column has fewer or its buffers are too short.
    pub fn slice(&self, field: &Field, first: usize, count: usize) -> Option<Self> {
        if first.checked_add(count)? > self.rows {
            return None;
        }
        let bits = |bits: Bitmap<&'a [u8]>| Bitmap { bytes: bits.bytes, offset: bits.offset + first };
        let fixed = |bytes: &'a [u8], width: usize| bytes.get(first * width..(first + count) * width);
        let offsets_of = |bytes: &'a [u8], width: usize| match bytes {
            // Arrow allows an empty array without its one offset.
            [] if count == 0 => Some(bytes),
            _ => bytes.get(first * width..(first + count + 1) * width),
        };
        let values = match (&self.values, field.data_type.layout()) {
            (Values::None, Layout::None) => Values::None,
            (Values::Bits(values), Layout::Bits) => Values::Bits(bits(*values)),
            (Values::Fixed(bytes), layout) => Values::Fixed(fixed(bytes, layout.fixed_width()?)?),
            (Values::Bytes { offsets, data }, Layout::Bytes { offset, .. }) => {
                Values::Bytes { offsets: offsets_of(offsets, offset)?, data }
            }
            (Values::List { offsets, child }, Layout::List(offset)) => {
                Values::List { offsets: offsets_of(offsets, offset)?, child: child.clone() }
            }
            (Values::FixedList(child), Layout::FixedList(size)) => {
                let child = child.slice(field.children.first()?, first.checked_mul(size)?, count.checked_mul(size)?)?;
                Values::FixedList(Box::new(child))
            }
            (Values::Struct(children), Layout::Struct) => {
                let children = children.iter().zip(&field.children);
                Values::Struct(children.map(|(child, field)| child.slice(field, first, count)).collect::<Option<_>>()?)
            }
            (Values::Dictionary { indices, values }, Layout::Dictionary(index)) => {
                Values::Dictionary { indices: fixed(indices, index.width())?, values: values.clone() }
            }
            _ => return None,
        };
        Some(Self { rows: count, validity: self.validity.map(bits), values })
    }

    /// Bytes of the buffers in plain form. `None` if the buffers do not belong to the field's type, or are too short
    /// for the rows.
    pub fn plain_bytes(&self, field: &Field) -> Option<usize> {
        let rows = self.rows;
        let covers = |bits: &Bitmap<&[u8]>| bits.covers(rows).then(|| rows.div_ceil(8));
        let children = |children: &[Self]| {
            let sizes = children.iter().zip(&field.children).map(|(child, field)| child.plain_bytes(field));
            sizes.sum::<Option<usize>>().filter(|_| children.len() == field.children.len())
        };
        let values = match (&self.values, field.data_type.layout()) {
            (Values::None, Layout::None) => 0,
            (Values::Bits(values), Layout::Bits) => covers(values)?,
            (Values::Fixed(bytes), layout) => {
                rows.checked_mul(layout.fixed_width()?).filter(|&size| bytes.len() >= size)?
            }
            (Values::Bytes { offsets, data }, Layout::Bytes { offset, .. }) => {
                let range = offset_range(offsets, offset, rows)?;
                (rows + 1) * offset + data.get(range)?.len()
            }
            (Values::List { offsets, child }, Layout::List(offset)) => {
                let range = offset_range(offsets, offset, rows)?;
                let items = child.slice(field.children.first()?, range.start, range.len())?;
                (rows + 1) * offset + children(&[items])?
            }
            (Values::FixedList(child), Layout::FixedList(size)) => {
                children(std::slice::from_ref(child)).filter(|_| Some(child.rows) == rows.checked_mul(size))?
            }
            (Values::Struct(parts), Layout::Struct) => {
                children(parts).filter(|_| parts.iter().all(|part| part.rows == rows))?
            }
            (Values::Dictionary { indices, values }, Layout::Dictionary(index)) => {
                let size = rows.checked_mul(index.width()).filter(|&size| indices.len() >= size)?;
                size + children(std::slice::from_ref(values))?
            }
            _ => return None,
        };
        Some(self.validity.as_ref().map_or(Some(0), covers)? + values)
    }
}

/// The range between the first and the last of `rows` + 1 offsets of `width` bytes. `None` if offsets are missing or
/// the last is less than the first.
fn offset_range(offsets: &[u8], width: usize, rows: usize) -> Option<std::ops::Range<usize>> {
    if rows == 0 {
        return Some(0..0);
    }
    let at = |row: usize| {
        let offset = offsets.get(row * width..(row + 1) * width)?;
        let offset = if width == 4 { i64::from(<i32 as Int>::read_le(offset)) } else { <i64 as Int>::read_le(offset) };
        usize::try_from(offset).ok()
    };
    let (first, last) = (at(0)?, at(rows)?);
    (first <= last).then_some(first..last)
}
