//! A column of rows that are collected, or one below it.

use std::sync::Arc;

use crate::CallError;
use crate::function::ColumnType;
use crate::inputs::{CallInputs, NodeSize};
use crate::memory::{MemoryBudget, MemoryCharge, MemoryExceeded, MemoryVec};
use crate::output::{FixedValues, OutputColumn, OutputData};

/// The rows of a node, with the layout of `layout.rs`.
#[derive(Debug)]
pub(super) struct Node {
    pub length: usize,
    /// One bit for each row, in a whole number of 8 bytes; empty while all rows have values.
    validity: MemoryVec<u8>,
    /// Of texts, blobs and lists: one more than rows.
    pub offsets: MemoryVec<u64>,
    /// Values of a fixed width, texts, blobs, or the numbers of members.
    pub bytes: MemoryVec<u8>,
    pub children: Vec<Node>,
}

/// Rows of a node: as many from the first one on; without a first one they are NULL.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub first: Option<usize>,
    pub count: usize,
}

impl Node {
    /// A node without rows.
    pub fn new(type_: &ColumnType, budget: &Arc<MemoryBudget>) -> Result<Self, MemoryExceeded> {
        let children = type_.children().iter().map(|child| Self::new(child, budget)).collect::<Result<_, _>>()?;
        let mut offsets = MemoryVec::new(budget);
        if has_offsets(type_) {
            offsets.push(0)?;
        }
        let (validity, bytes) = (MemoryVec::new(budget), MemoryVec::new(budget));
        Ok(Self { length: 0, validity, offsets, bytes, children })
    }

    pub fn budget(&self) -> &Arc<MemoryBudget> {
        self.bytes.budget()
    }

    /// These rows.
    pub fn chosen(&self, type_: &ColumnType, runs: &[Run]) -> Result<Self, MemoryExceeded> {
        let mut node = Self::new(type_, self.budget())?;
        node.append(type_, self, runs)?;
        Ok(node)
    }

    pub fn copy(&self, type_: &ColumnType) -> Result<Self, MemoryExceeded> {
        self.chosen(type_, &[Run { first: Some(0), count: self.length }])
    }

    /// Moves everything out.
    pub fn take(&mut self) -> Self {
        let budget = Arc::clone(self.budget());
        let none = Self {
            length: 0,
            validity: MemoryVec::new(&budget),
            offsets: MemoryVec::new(&budget),
            bytes: MemoryVec::new(&budget),
            children: Vec::new(),
        };
        std::mem::replace(self, none)
    }

    fn is_valid(&self, row: usize) -> bool {
        self.validity.is_empty() || self.validity[row / 8] >> (row % 8) & 1 == 1
    }

    /// Where the bytes or the items of rows are.
    fn range(&self, first: usize, count: usize) -> (usize, usize) {
        (self.offsets[first] as usize, self.offsets[first + count] as usize)
    }

    /// Whether two rows have the same value.
    pub fn is_same(&self, type_: &ColumnType, row: usize, other: usize) -> bool {
        let is_valid = self.is_valid(row);
        if !is_valid || !self.is_valid(other) {
            return is_valid == self.is_valid(other);
        }
        let children = type_.children();
        let are_same = |row: usize, other: usize| {
            self.children.iter().zip(&children).all(|(child, type_)| child.is_same(type_, row, other))
        };
        match type_ {
            ColumnType::Struct(_) => are_same(row, other),
            ColumnType::Union(_) => {
                let member = usize::from(self.bytes[row]);
                self.bytes[row] == self.bytes[other] && self.children[member].is_same(&children[member], row, other)
            }
            ColumnType::Array { size, .. } => (0..*size).all(|item| are_same(row * size + item, other * size + item)),
            _ if has_offsets(type_) => {
                let ((start, end), (from, to)) = (self.range(row, 1), self.range(other, 1));
                let is_text = children.is_empty();
                end - start == to - from
                    && if is_text {
                        self.bytes[start..end] == self.bytes[from..to]
                    } else {
                        (start..end).zip(from..to).all(|(row, other)| are_same(row, other))
                    }
            }
            _ => {
                let width = type_.width().unwrap_or(0);
                self.bytes[row * width..][..width] == self.bytes[other * width..][..width]
            }
        }
    }

    /// Appends rows of another node of the same type.
    pub fn append(&mut self, type_: &ColumnType, from: &Self, runs: &[Run]) -> Result<(), MemoryExceeded> {
        for run in runs {
            match run.first {
                Some(first) => self.append_validity(run.count, |row| from.is_valid(first + row))?,
                None => self.append_validity(run.count, |_| false)?,
            }
        }
        let children = type_.children();
        let width = type_.width().unwrap_or(usize::from(matches!(type_, ColumnType::Union(_))));
        let mut below = Vec::new();
        for Run { first, count } in runs.iter().copied() {
            match (type_, first) {
                (ColumnType::Array { size, .. }, _) => {
                    below.push(Run { first: first.map(|first| first * size), count: count * size });
                }
                (ColumnType::Struct(_), _) => {}
                (_, Some(first)) if has_offsets(type_) => {
                    let (start, end) = from.range(first, count);
                    let before = self.offsets[self.offsets.len() - 1];
                    let ends = from.offsets[first + 1..=first + count].iter();
                    self.offsets.extend(ends.map(|end| before + (end - start as u64)))?;
                    if children.is_empty() {
                        self.bytes.extend_from_slice(&from.bytes[start..end])?;
                    } else {
                        below.push(Run { first: Some(start), count: end - start });
                    }
                }
                (_, None) if has_offsets(type_) => {
                    let end = self.offsets[self.offsets.len() - 1];
                    self.offsets.resize(self.offsets.len() + count, end)?;
                }
                (_, Some(first)) => self.bytes.extend_from_slice(&from.bytes[first * width..][..count * width])?,
                (_, None) => self.bytes.resize(self.bytes.len() + count * width, 0)?,
            }
        }
        let below = if matches!(type_, ColumnType::Struct(_) | ColumnType::Union(_)) { runs } else { &below };
        for ((child, of), type_) in self.children.iter_mut().zip(&from.children).zip(&children) {
            child.append(type_, of, below)?;
        }
        Ok(())
    }

    /// Appends to the number of rows, and to the bitmap if it is needed.
    pub fn append_validity(&mut self, rows: usize, is_valid: impl Fn(usize) -> bool) -> Result<(), MemoryExceeded> {
        let before = self.length;
        self.length += rows;
        let had_nulls = !self.validity.is_empty();
        if !had_nulls && (0..rows).all(&is_valid) {
            return Ok(());
        }
        self.validity.resize(self.length.div_ceil(64) * 8, 0)?;
        let bits = &mut *self.validity;
        let mut set = |row: usize| bits[row / 8] |= 1 << (row % 8);
        if !had_nulls {
            (0..before).for_each(&mut set);
        }
        (0..rows).filter(|row| is_valid(*row)).for_each(|row| set(before + row));
        Ok(())
    }

    /// The column of a result with these values, and what is charged for it.
    pub fn into_output(self, type_: &ColumnType) -> (OutputColumn<'static>, Vec<MemoryCharge>) {
        let mut charges = Vec::new();
        (self.into_column(type_, &mut charges), charges)
    }

    fn into_column(self, type_: &ColumnType, charges: &mut Vec<MemoryCharge>) -> OutputColumn<'static> {
        let (validity, charge) = self.validity.into_parts();
        charges.push(charge);
        let (offsets, charge) = self.offsets.into_parts();
        charges.push(charge);
        let (bytes, charge) = self.bytes.into_parts();
        charges.push(charge);
        let children = type_.children();
        let mut below = self.children.into_iter().zip(&children).map(|(node, child)| node.into_column(child, charges));
        let data = match type_ {
            ColumnType::List(_) | ColumnType::Map(..) => match below.next() {
                Some(items) => OutputData::List { offsets, items: Box::new(items) },
                None => OutputData::Struct(Vec::new()),
            },
            ColumnType::Array { .. } => match below.next() {
                Some(items) => OutputData::Array(Box::new(items)),
                None => OutputData::Struct(Vec::new()),
            },
            ColumnType::Struct(_) => OutputData::Struct(below.collect()),
            ColumnType::Union(_) => OutputData::Union { tags: bytes, members: below.collect() },
            _ => match type_.width() {
                Some(width) => OutputData::Fixed(FixedValues::of(bytes, width)),
                None => OutputData::Bytes { offsets, bytes },
            },
        };
        OutputColumn { validity: Some(validity).filter(|bits| !bits.is_empty()), data }
    }

    pub fn write(&self, inputs: &mut CallInputs<'_>) -> Result<(), CallError> {
        let (is_text, has_offsets) = (self.children.is_empty() && !self.offsets.is_empty(), !self.offsets.is_empty());
        let size = NodeSize {
            length: self.length,
            has_validity: !self.validity.is_empty(),
            values: if has_offsets { self.offsets.len() * 8 } else { self.bytes.len() },
            heap: if is_text { self.bytes.len() } else { 0 },
        };
        let node = inputs.node(size)?;
        node.validity.write(0, &self.validity);
        if has_offsets {
            node.values.write_words(&self.offsets);
            node.heap.write(0, &self.bytes);
        } else {
            node.values.write(0, &self.bytes);
        }
        self.children.iter().try_for_each(|child| child.write(inputs))
    }
}

/// Whether a type's values are offsets: those of texts, blobs and lists.
pub(super) fn has_offsets(type_: &ColumnType) -> bool {
    use ColumnType as C;
    matches!(type_, C::Text | C::Json | C::Blob | C::List(_) | C::Map(..))
}
