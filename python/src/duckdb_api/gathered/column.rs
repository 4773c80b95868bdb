//! The columns of gathered rows: as they come, and sorted by group.

use colonnade_udf::{CallError, CallInputs, NodeSize};

use super::{GatherError, Part};
use crate::duckdb_api::arguments::encoded::Tree;
use crate::duckdb_api::arguments::{Rows, append_fixed, bitmap, with_text};
use crate::duckdb_api::handles::Values;
use crate::duckdb_api::sql_type::{SqlType, Storage};

/// Why a column cannot be written.
pub(in super::super) enum PartsError {
    /// The worker has no room for it.
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

/// The values of an argument, as workers read them.
pub(super) struct Column {
    /// Whether each row has a value; empty if all have.
    valid: Vec<bool>,
    /// Values of a fixed width, or texts' bytes.
    bytes: Vec<u8>,
    /// Where the rows' texts begin in `bytes`, and their end; empty for a fixed width.
    offsets: Vec<u64>,
    width: usize,
}

impl Column {
    pub fn new(storage: Storage) -> Self {
        let width = match storage {
            Storage::Same(width) => width,
            Storage::Text | Storage::Enum(_) => 0,
            // As in `encoded`.
            storage if storage.is_nested() => 0,
            _ => 16,
        };
        let offsets = if width == 0 { vec![0] } else { Vec::new() };
        Self { valid: Vec::new(), bytes: Vec::new(), offsets, width }
    }

    /// The bytes that it occupies.
    pub fn size(&self) -> usize {
        self.bytes.len() + self.offsets.len() * 8 + self.valid.len()
    }

    fn rows(&self) -> usize {
        self.bytes.len().checked_div(self.width).unwrap_or_else(|| self.offsets.len() - 1)
    }

    /// Appends rows of a vector.
    pub fn append(&mut self, type_: &SqlType, values: &Values, rows: Rows<'_>) -> Result<(), GatherError> {
        let before = self.rows();
        if let (Storage::Same(width), Rows::First(count)) = (type_.storage, rows)
            && values.is_flat()
            && values.has_no_null()
        {
            if !self.valid.is_empty() {
                self.valid.resize(before + count, true);
            }
            // SAFETY: the vector is flat, and has values of the type's width for these rows, of which none is NULL.
            self.bytes.extend_from_slice(unsafe { values.bytes(count, width) });
            return Ok(());
        }
        let entries: Vec<_> = rows.iter().map(|row| values.entry(row)).collect();
        if !values.has_no_null() && entries.iter().any(|entry| !values.is_valid(*entry)) {
            self.valid.resize(before, true);
            self.valid.extend(entries.iter().map(|entry| values.is_valid(*entry)));
        } else if !self.valid.is_empty() {
            self.valid.resize(before + rows.len(), true);
        }
        if type_.storage.is_nested() {
            let tree = Tree::new(type_, values).map_err(|_| GatherError::Values)?;
            for row in rows.iter() {
                tree.encode(row, &mut self.bytes);
                self.offsets.push(self.bytes.len() as u64);
            }
        } else if self.width == 0 {
            for entry in entries {
                if values.is_valid(entry) {
                    with_text(type_, values, entry, |text| self.bytes.extend_from_slice(text));
                }
                self.offsets.push(self.bytes.len() as u64);
            }
        } else {
            append_fixed(type_.storage, values, &entries, &mut self.bytes);
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
    pub fn moved(self, places: &[u32]) -> Self {
        let Self { valid, bytes, offsets, width } = self;
        let mut of_places = vec![true; valid.len()];
        valid.iter().zip(places).for_each(|(is_valid, place)| of_places[*place as usize] = *is_valid);
        let valid = of_places;
        if width > 0 {
            let bytes = match width {
                1 => moved::<1>(&bytes, places),
                2 => moved::<2>(&bytes, places),
                4 => moved::<4>(&bytes, places),
                8 => moved::<8>(&bytes, places),
                _ => moved::<16>(&bytes, places),
            };
            return Self { valid, bytes, offsets, width };
        }
        let mut ends = vec![0; offsets.len()];
        for (row, place) in places.iter().enumerate() {
            ends[*place as usize + 1] = offsets[row + 1] - offsets[row];
        }
        for place in 1..ends.len() {
            ends[place] += ends[place - 1];
        }
        let mut into = vec![0; bytes.len()];
        for (row, place) in places.iter().enumerate() {
            let piece = &bytes[offsets[row] as usize..offsets[row + 1] as usize];
            into[ends[*place as usize] as usize..][..piece.len()].copy_from_slice(piece);
        }
        Self { valid, bytes: into, offsets: ends, width }
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
    pub valid: Vec<bool>,
    pub bytes: Vec<u8>,
    /// As in `Column`.
    pub offsets: Vec<u64>,
}

impl Contiguous {
    /// The bytes of each text or nested value.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.offsets.windows(2).map(|pair| &self.bytes[pair[0] as usize..pair[1] as usize])
    }

    /// These rows, in increasing order.
    pub fn only(&self, rows: &[usize]) -> Self {
        let valid: Vec<_> = rows.iter().map(|row| self.valid[*row]).collect();
        let (mut bytes, mut offsets) = (Vec::new(), Vec::new());
        if self.offsets.is_empty() {
            let width = self.bytes.len().checked_div(self.valid.len()).unwrap_or(0);
            rows.iter().for_each(|row| bytes.extend_from_slice(&self.bytes[row * width..(row + 1) * width]));
        } else {
            offsets.push(0);
            for row in rows {
                bytes.extend_from_slice(&self.bytes[self.offsets[*row] as usize..self.offsets[row + 1] as usize]);
                offsets.push(bytes.len() as u64);
            }
        }
        Self { valid, bytes, offsets }
    }
}

/// A column of these parts, `rows` in all, as one.
pub(in super::super) fn contiguous(parts: &[Part], index: usize, rows: usize) -> Result<Contiguous, GatherError> {
    let mut all = Contiguous { valid: Vec::with_capacity(rows), bytes: Vec::new(), offsets: Vec::new() };
    for part in parts {
        let column = part.column(index)?;
        all.valid.extend((part.start..part.end).map(|row| column.is_valid(row)));
        all.bytes.extend_from_slice(column.piece(part));
        if column.width == 0 {
            append_offsets(&mut all.offsets, column, part);
        }
    }
    Ok(all)
}

/// Continues offsets with those of a part.
fn append_offsets(offsets: &mut Vec<u64>, column: &Column, part: &Part) {
    let end = offsets.last().copied().unwrap_or(0);
    if offsets.is_empty() {
        offsets.push(0);
    }
    let first = column.offsets[part.start];
    offsets.extend(column.offsets[part.start + 1..=part.end].iter().map(|offset| offset - first + end));
}

/// Writes a column of these parts, `rows` in all, as a node.
pub(in super::super) fn write_parts(
    inputs: &mut CallInputs<'_>,
    parts: &[Part],
    index: usize,
    rows: usize,
) -> Result<(), PartsError> {
    let columns = parts.iter().map(|part| Ok((part, part.column(index)?)));
    let columns = columns.collect::<Result<Vec<_>, GatherError>>()?;
    let is_null = |(part, column): &(&Part, &Column)| {
        !column.valid.is_empty() && column.valid[part.start..part.end].iter().any(|is_valid| !is_valid)
    };
    let bits = if columns.iter().any(is_null) {
        let valid = columns.iter().flat_map(|(part, column)| (part.start..part.end).map(|row| column.is_valid(row)));
        bitmap(&valid.collect::<Vec<_>>())
    } else {
        None
    };
    let bytes = columns.iter().map(|(part, column)| column.piece(part).len()).sum();
    let has_offsets = columns.first().is_some_and(|(_, column)| column.width == 0);
    let mut offsets = Vec::new();
    if has_offsets {
        columns.iter().for_each(|(part, column)| append_offsets(&mut offsets, column, part));
    }
    let (values, heap) = if has_offsets { (offsets.len() * 8, bytes) } else { (bytes, 0) };
    let node = inputs.node(NodeSize { length: rows, has_validity: bits.is_some(), values, heap })?;
    bits.inspect(|bits| node.validity.write_words(bits));
    let into = if has_offsets { node.heap } else { node.values };
    if has_offsets {
        node.values.write_words(&offsets);
    }
    let mut at = 0;
    for (part, column) in columns {
        let piece = column.piece(part);
        into.write(at, piece);
        at += piece.len();
    }
    Ok(())
}

/// Moves values of a width: the row with number i goes to place `places[i]`, and each place gets one.
fn moved<const WIDTH: usize>(bytes: &[u8], places: &[u32]) -> Vec<u8> {
    let mut into = vec![0; bytes.len()];
    let (from, (to, _)) = (bytes.as_chunks::<WIDTH>().0, into.as_chunks_mut::<WIDTH>());
    for (value, place) in from.iter().zip(places) {
        to[*place as usize] = *value;
    }
    into
}
