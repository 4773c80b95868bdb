//! The NULLs of a node: none, all, a bitmap, or the bitmap of an earlier column. FORMAT §6.1.

use std::borrow::Cow;

use super::body::{Body, NodeStart};
use crate::Bitmap;
use crate::int::Int;

/// Above this share of NULLs, omitting their values saves more than moving the others costs.
const SPARSE_FROM: f64 = 0.25;

/// Bitmaps of earlier top-level columns, which later columns may refer to.
#[derive(Default)]
pub(super) struct Bitmaps<'a> {
    seen: Vec<(usize, usize, Bitmap<&'a [u8]>)>,
}

/// Which rows of a node have values.
pub(super) struct Present<'a> {
    pub(super) rows: usize,
    /// Set if some rows are NULL and some are not.
    valid: Option<Bitmap<&'a [u8]>>,
    nulls: usize,
    sparse: bool,
}

impl<'a> Present<'a> {
    pub(super) fn new(rows: usize, validity: Option<Bitmap<&'a [u8]>>, may_be_sparse: bool) -> Self {
        let nulls = validity.map_or(0, |valid| rows - valid.count_ones(rows));
        let sparse = may_be_sparse && nulls as f64 > rows as f64 * SPARSE_FROM;
        Self { rows, valid: validity.filter(|_| nulls > 0 && nulls < rows), nulls, sparse }
    }

    /// Whether no row is NULL.
    pub(super) fn all(&self) -> bool {
        self.nulls == 0
    }

    /// Whether every row is NULL.
    pub(super) fn none(&self) -> bool {
        self.nulls == self.rows && self.rows > 0
    }

    /// Whether some rows are NULL and some are not.
    pub(super) fn some_null(&self) -> bool {
        self.valid.is_some()
    }

    pub(super) fn is_valid(&self, row: usize) -> bool {
        self.valid.is_none_or(|valid| valid.bit(row))
    }

    /// Number of values that are stored.
    pub(super) fn stored(&self) -> usize {
        if self.sparse { self.rows - self.nulls } else { self.rows }
    }

    /// The bitmap, if only the valid values are stored.
    pub(super) fn sparse(&self) -> Option<Bitmap<&'a [u8]>> {
        self.valid.filter(|_| self.sparse)
    }

    /// Starts the node and writes its NULLs. `column` and `bitmaps` are given for top-level nodes.
    pub(super) fn start(&self, body: &mut Body<'a>, top: Option<(usize, &mut Bitmaps<'a>)>) -> NodeStart {
        if self.none() {
            return body.start(1, 0);
        }
        let Some(valid) = self.valid else { return body.start(0, 0) };
        if let Some((column, bitmaps)) = top {
            let same = bitmaps
                .seen
                .iter()
                .find(|(_, nulls, other)| *nulls == self.nulls && other.words(self.rows).eq(valid.words(self.rows)));
            if let Some((earlier, ..)) = same {
                return body.start(4 + u8::from(self.sparse), *earlier as u32);
            }
            bitmaps.seen.push((column, self.nulls, valid));
        }
        let node = body.start(2 + u8::from(self.sparse), self.nulls as u32);
        put_bits(body, valid, self.rows);
        body.align(8);
        node
    }

    /// The values to store. In a sparse node, these are the valid ones. In a dense node, each value under a NULL is
    /// replaced by the value before it, which compresses well and reveals nothing. `None` if `values` can be stored
    /// unchanged.
    pub(super) fn pick<T: Int>(&self, values: &[T]) -> Option<Vec<T>> {
        let valid = self.valid?;
        let mut picked = Vec::with_capacity(self.rows);
        let first = |(index, (word, _)): (usize, (u64, usize))| {
            (word != 0).then(|| values[index * 64 + word.trailing_zeros() as usize])
        };
        let mut fill = valid.words(self.rows).enumerate().find_map(first)?;
        // Words and no runs, because a run in a short column is shorter than a copy's overhead.
        for ((word, count), values) in valid.words(self.rows).zip(values.chunks(64)) {
            if word.count_ones() as usize == count {
                picked.extend_from_slice(values);
                fill = values.last().copied().unwrap_or(fill);
            } else if self.sparse {
                let mut rest = word;
                picked.extend((0..word.count_ones()).map(|_| {
                    let row = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    values[row]
                }));
            } else {
                picked.extend(values[..count].iter().enumerate().map(|(row, &value)| {
                    fill = if word >> row & 1 == 1 { value } else { fill };
                    fill
                }));
            }
        }
        Some(picked)
    }

    /// The same for values of `width` bytes without arithmetic. Only a sparse node omits values.
    pub(super) fn pick_bytes(&self, values: &'a [u8], width: usize) -> Cow<'a, [u8]> {
        let Some(valid) = self.sparse() else { return Cow::Borrowed(values) };
        let mut picked = Vec::with_capacity(self.stored() * width);
        valid.runs(self.rows, |first, count| picked.extend_from_slice(&values[first * width..][..count * width]));
        Cow::Owned(picked)
    }
}

/// Adds `rows` bits, unused ones zero.
pub(super) fn put_bits<'a>(body: &mut Body<'a>, bits: Bitmap<&'a [u8]>, rows: usize) {
    if bits.offset.is_multiple_of(8) && rows.is_multiple_of(8) {
        body.put_borrowed(&bits.bytes[bits.offset / 8..][..rows / 8]);
    } else {
        body.put(&bits.to_bytes(rows));
    }
}
