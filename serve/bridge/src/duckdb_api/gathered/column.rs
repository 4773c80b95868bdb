//! The columns of gathered rows: as they come, and sorted by group.

use std::sync::Arc;

use colonnade_udf::{CallError, CallInputs, MemoryBudget, MemoryExceeded, MemoryVec, NodeSize};

use super::{GatherError, Part};
use crate::duckdb_api::arguments::encoded::Tree;
use crate::duckdb_api::arguments::{Rows, append_fixed, bitmap, with_text};
use crate::duckdb_api::sql_type::{SqlType, Storage};
use crate::duckdb_api::vectors::VectorValues;

/// Why a column cannot be written.
pub(in super::super) enum PartsError {
    /// The function process has no room for it.
    Call(CallError),
    /// The parts do not have it.
    Gather(GatherError),
}

impl From<CallError> for PartsError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<GatherError> for PartsError {
    fn from(error: GatherError) -> Self {
        Self::Gather(error)
    }
}

/// The values of an argument, as function processes read them.
pub(super) struct Column {
    /// Whether each row has a value; empty if all have.
    valid: MemoryVec<bool>,
    /// Values of a fixed width, or texts' bytes.
    bytes: MemoryVec<u8>,
    /// Where the rows' texts begin in `bytes`, and their end; empty for a fixed width.
    offsets: MemoryVec<u64>,
    width: usize,
}

impl Column {
    pub fn new(storage: Storage, budget: &Arc<MemoryBudget>) -> Result<Self, MemoryExceeded> {
        let width = match storage {
            Storage::Same(width) => width,
            Storage::Text | Storage::Enum(_) => 0,
            // As in `encoded`.
            storage if storage.is_nested() => 0,
            _ => 16,
        };
        let mut offsets = MemoryVec::new(budget);
        if width == 0 {
            offsets.push(0)?;
        }
        Ok(Self { valid: MemoryVec::new(budget), bytes: MemoryVec::new(budget), offsets, width })
    }

    fn rows(&self) -> usize {
        self.bytes.len().checked_div(self.width).unwrap_or_else(|| self.offsets.len() - 1)
    }

    /// Appends rows of a vector.
    pub fn append(&mut self, type_: &SqlType, values: &VectorValues, rows: Rows<'_>) -> Result<(), GatherError> {
        let before = self.rows();
        if let (Storage::Same(width), Rows::First(count)) = (type_.storage, rows)
            && values.is_flat()
            && values.has_no_null()
        {
            if !self.valid.is_empty() {
                self.valid.resize(before + count, true)?;
            }
            // SAFETY: the vector is flat, and has values of the type's width for these rows, of which none is NULL.
            self.bytes.extend_from_slice(unsafe { values.bytes(count, width) })?;
            return Ok(());
        }
        let entries: Vec<_> = rows.iter().map(|row| values.entry(row)).collect();
        if !values.has_no_null() && entries.iter().any(|entry| !values.is_valid(*entry)) {
            self.valid.resize(before, true)?;
            self.valid.extend(entries.iter().map(|entry| values.is_valid(*entry)))?;
        } else if !self.valid.is_empty() {
            self.valid.resize(before + rows.len(), true)?;
        }
        if type_.storage.is_nested() {
            let tree = Tree::new(type_, values).map_err(|_| GatherError::Values)?;
            for row in rows.iter() {
                tree.encode(row, &mut self.bytes)?;
                self.offsets.push(self.bytes.len() as u64)?;
            }
        } else if self.width == 0 {
            for entry in entries {
                if values.is_valid(entry) {
                    with_text(type_, values, entry, |text| self.bytes.extend_from_slice(text))?;
                }
                self.offsets.push(self.bytes.len() as u64)?;
            }
        } else {
            let most = entries.len() * self.width;
            self.bytes.append_with(most, |bytes| append_fixed(type_.storage, values, &entries, bytes))?;
        }
        Ok(())
    }
}

impl Column {
    fn is_valid(&self, row: usize) -> bool {
        self.valid.is_empty() || self.valid[row]
    }

    /// The bytes of a part's rows.
    fn piece(&self, part: &Part) -> &[u8] {
        match self.width {
            0 => &self.bytes[self.offsets[part.start] as usize..self.offsets[part.end] as usize],
            width => &self.bytes[part.start * width..part.end * width],
        }
    }

    /// The rows in another order: the row with number i goes to place `places[i]`, and each place gets one.
    pub fn moved(self, places: &[u32]) -> Result<Self, MemoryExceeded> {
        let Self { valid, bytes, offsets, width } = self;
        let mut of_places = MemoryVec::new(valid.budget());
        of_places.resize(valid.len(), true)?;
        valid.iter().zip(places).for_each(|(is_valid, place)| of_places[*place as usize] = *is_valid);
        let valid = of_places;
        let mut into = MemoryVec::new(bytes.budget());
        into.resize(bytes.len(), 0)?;
        if width > 0 {
            match width {
                1 => moved::<1>(&bytes, places, &mut into),
                2 => moved::<2>(&bytes, places, &mut into),
                4 => moved::<4>(&bytes, places, &mut into),
                8 => moved::<8>(&bytes, places, &mut into),
                _ => moved::<16>(&bytes, places, &mut into),
            }
            return Ok(Self { valid, bytes: into, offsets, width });
        }
        let mut ends = MemoryVec::<u64>::new(offsets.budget());
        ends.resize(offsets.len(), 0)?;
        for (row, place) in places.iter().enumerate() {
            ends[*place as usize + 1] = offsets[row + 1] - offsets[row];
        }
        for place in 1..ends.len() {
            ends[place] += ends[place - 1];
        }
        for (row, place) in places.iter().enumerate() {
            let piece = &bytes[offsets[row] as usize..offsets[row + 1] as usize];
            into[ends[*place as usize] as usize..][..piece.len()].copy_from_slice(piece);
        }
        Ok(Self { valid, bytes: into, offsets: ends, width })
    }
}

impl Part {
    fn column(&self, index: usize) -> Result<&Column, GatherError> {
        let column = self.segment.seal()?.columns.get(index).ok_or(GatherError::State)?;
        if self.start <= self.end && self.end <= column.rows() { Ok(column) } else { Err(GatherError::State) }
    }
}

/// The values of an argument for all groups of a call, one group after the other.
pub(in super::super) struct Contiguous {
    pub valid: MemoryVec<bool>,
    pub bytes: MemoryVec<u8>,
    /// As in `Column`.
    pub offsets: MemoryVec<u64>,
}

impl Contiguous {
    /// Whose memory it takes.
    pub fn budget(&self) -> &Arc<MemoryBudget> {
        self.bytes.budget()
    }

    fn new(budget: &Arc<MemoryBudget>) -> Self {
        let (valid, bytes) = (MemoryVec::new(budget), MemoryVec::new(budget));
        Self { valid, bytes, offsets: MemoryVec::new(budget) }
    }

    /// The bytes that it occupies.
    pub fn size(&self) -> usize {
        self.valid.len() + self.bytes.len() + self.offsets.len() * 8
    }

    /// These rows, in increasing order.
    pub fn only(&self, rows: &[usize]) -> Result<Self, MemoryExceeded> {
        let Self { mut valid, mut bytes, mut offsets } = Self::new(self.valid.budget());
        valid.extend(rows.iter().map(|row| self.valid[*row]))?;
        if self.offsets.is_empty() {
            let width = self.bytes.len().checked_div(self.valid.len()).unwrap_or(0);
            rows.iter().try_for_each(|row| bytes.extend_from_slice(&self.bytes[row * width..(row + 1) * width]))?;
        } else {
            offsets.push(0)?;
            for row in rows {
                bytes.extend_from_slice(&self.bytes[self.offsets[*row] as usize..self.offsets[row + 1] as usize])?;
                offsets.push(bytes.len() as u64)?;
            }
        }
        Ok(Self { valid, bytes, offsets })
    }
}

/// The bytes of each text or nested value.
pub(in super::super) fn values_of<'b>(offsets: &[u64], bytes: &'b [u8]) -> impl Iterator<Item = &'b [u8]> {
    offsets.windows(2).map(|pair| &bytes[pair[0] as usize..pair[1] as usize])
}

/// A column of these parts, `rows` in all, as one.
pub(in super::super) fn contiguous(
    parts: &MemoryVec<Part>,
    index: usize,
    rows: usize,
) -> Result<Contiguous, GatherError> {
    let mut all = Contiguous::new(parts.budget());
    all.valid.reserve(rows)?;
    for part in parts.iter() {
        let column = part.column(index)?;
        all.valid.extend((part.start..part.end).map(|row| column.is_valid(row)))?;
        all.bytes.extend_from_slice(column.piece(part))?;
        if column.width == 0 {
            append_offsets(&mut all.offsets, column, part)?;
        }
    }
    Ok(all)
}

/// Continues offsets with those of a part.
fn append_offsets(offsets: &mut MemoryVec<u64>, column: &Column, part: &Part) -> Result<(), MemoryExceeded> {
    let end = offsets.last().copied().unwrap_or(0);
    if offsets.is_empty() {
        offsets.push(0)?;
    }
    let first = column.offsets[part.start];
    offsets.extend(column.offsets[part.start + 1..=part.end].iter().map(|offset| offset - first + end))
}

/// Writes a column of these parts, `rows` in all, as a node.
pub(in super::super) fn write_parts(
    inputs: &mut CallInputs<'_>,
    parts: &MemoryVec<Part>,
    index: usize,
    rows: usize,
) -> Result<(), PartsError> {
    let mut columns = MemoryVec::new(parts.budget());
    parts.iter().try_for_each(|part| Ok::<_, GatherError>(columns.push((part, part.column(index)?))?))?;
    let is_null = |(part, column): &(&Part, &Column)| {
        !column.valid.is_empty() && column.valid[part.start..part.end].iter().any(|is_valid| !is_valid)
    };
    let mut valid = MemoryVec::new(parts.budget());
    if columns.iter().any(is_null) {
        valid.reserve(rows).map_err(GatherError::from)?;
        for (part, column) in columns.iter() {
            let of_rows = (part.start..part.end).map(|row| column.is_valid(row));
            valid.extend(of_rows).map_err(GatherError::from)?;
        }
    }
    let bits = bitmap(&valid);
    let bytes = columns.iter().map(|(part, column)| column.piece(part).len()).sum();
    let has_offsets = columns.first().is_some_and(|(_, column)| column.width == 0);
    let mut offsets = MemoryVec::new(parts.budget());
    if has_offsets {
        let mut all = columns.iter();
        all.try_for_each(|(part, column)| append_offsets(&mut offsets, column, part)).map_err(GatherError::from)?;
    }
    let (values, heap) = if has_offsets { (offsets.len() * 8, bytes) } else { (bytes, 0) };
    let node = inputs.node(NodeSize { length: rows, has_validity: bits.is_some(), values, heap })?;
    bits.inspect(|bits| node.validity.write_words(bits));
    let into = if has_offsets { node.heap } else { node.values };
    if has_offsets {
        node.values.write_words(&offsets);
    }
    let mut at = 0;
    for (part, column) in columns.iter() {
        let piece = column.piece(part);
        into.write(at, piece);
        at += piece.len();
    }
    Ok(())
}

/// Moves values of a width: the row with number i goes to place `places[i]`, and each place gets one.
fn moved<const WIDTH: usize>(bytes: &[u8], places: &[u32], into: &mut [u8]) {
    let (from, (to, _)) = (bytes.as_chunks::<WIDTH>().0, into.as_chunks_mut::<WIDTH>());
    for (value, place) in from.iter().zip(places) {
        to[*place as usize] = *value;
    }
}
