//! Columns as raw buffers in Arrow's layout: what the encoder takes and the decoder gives.

use crate::bitmap::Bitmap;

/// The values of one field in one chunk.
///
/// `B` is the kind of buffer: `&[u8]` where an encoder borrows, [`bytes::Bytes`] where a decoder hands out
/// reference-counted ones. Offsets, indices and values are little-endian and need no alignment.
#[derive(Clone, Debug)]
pub struct Column<B> {
    /// Number of rows.
    pub rows: usize,
    /// Which rows are valid; `None` if all are.
    pub validity: Option<Bitmap<B>>,
    /// The values, for every row; those under a NULL mean nothing.
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
    /// Layout `Bytes`: `rows + 1` offsets into `data`. The first offset need not be 0 on the way in.
    Bytes {
        /// `rows + 1` offsets of 4 or 8 bytes.
        offsets: B,
        /// What they point into.
        data: B,
    },
    /// Layout `List`: `rows + 1` offsets into the child's rows. The first offset need not be 0 on the way in.
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
        /// What they point into.
        values: Box<Column<B>>,
    },
}

impl<B: AsRef<[u8]>> Column<B> {
    /// The same column over borrowed buffers.
    pub fn as_view(&self) -> Column<&[u8]> {
        Column {
            rows: self.rows,
            validity: self.validity.as_ref().map(Bitmap::as_view),
            values: match &self.values {
                Values::None => Values::None,
                Values::Bits(bits) => Values::Bits(bits.as_view()),
                Values::Fixed(data) => Values::Fixed(data.as_ref()),
                Values::Bytes { offsets, data } => Values::Bytes { offsets: offsets.as_ref(), data: data.as_ref() },
                Values::List { offsets, child } => {
                    Values::List { offsets: offsets.as_ref(), child: Box::new(child.as_view()) }
                }
                Values::FixedList(child) => Values::FixedList(Box::new(child.as_view())),
                Values::Struct(children) => Values::Struct(children.iter().map(Column::as_view).collect()),
                Values::Dictionary { indices, values } => {
                    Values::Dictionary { indices: indices.as_ref(), values: Box::new(values.as_view()) }
                }
            },
        }
    }
}
