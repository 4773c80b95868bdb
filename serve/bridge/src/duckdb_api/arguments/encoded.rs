//! Nested values as bytes: aggregates gather them by group, and values of scalar parameters are compared.
//!
//! ```text
//! value    0, which is NULL, or 1 and:
//! fixed    the bytes that processes read
//! text     the length in 8 bytes, the bytes
//! list     the number of items in 8 bytes, the items
//! array    the items
//! struct   the fields
//! union    the number of the member, the member
//! ```

use std::sync::Arc;

use colonnade_udf::{CallError, CallInputs, MemoryBudget, MemoryExceeded, MemoryVec};

use super::{append_fixed, with_text, write_bytes, write_fixed};
use crate::duckdb_api::handles::CallbackError;
use crate::duckdb_api::sql_type::{SqlType, Storage};
use crate::duckdb_api::vectors::VectorValues;

/// The most bytes of a value of a fixed width.
const MAX_WIDTH: usize = 16;

/// A vector with the vectors below it.
pub(in crate::duckdb_api) struct Tree<'t> {
    type_: &'t SqlType,
    values: VectorValues,
    /// The numbers of a union's members.
    tags: Option<VectorValues>,
    children: Vec<Tree<'t>>,
}

impl<'t> Tree<'t> {
    /// The values of a vector, which becomes flat: then `values` must not be read any more.
    pub fn new(type_: &'t SqlType, values: &VectorValues) -> Result<Self, CallbackError> {
        let values = values.flattened()?;
        let first = u64::from(type_.storage == Storage::Union);
        let tags = if first == 1 { Some(values.child(0)?) } else { None };
        let children = (first..).zip(&type_.children).map(|(index, child)| Tree::new(child, &values.child(index)?));
        let children = children.collect::<Result<_, _>>()?;
        Ok(Self { type_, values, tags, children })
    }

    /// Appends the bytes of a row.
    pub fn encode(&self, row: usize, bytes: &mut MemoryVec<u8>) -> Result<(), MemoryExceeded> {
        let entry = self.values.entry(row);
        let is_valid = self.values.is_valid(entry);
        bytes.push(u8::from(is_valid))?;
        if !is_valid {
            return Ok(());
        }
        match (self.type_.storage, self.children.as_slice()) {
            (Storage::List, [item]) if self.values.has_memory() => {
                // SAFETY: a list is stored as the place of its items and their number.
                let [start, count]: [u64; 2] = unsafe { self.values.value(entry) };
                bytes.extend_from_slice(&count.to_le_bytes())?;
                (start..start + count).try_for_each(|at| item.encode(at as usize, bytes))
            }
            (Storage::Array(size), [item]) => (0..size).try_for_each(|at| item.encode(row * size + at, bytes)),
            (Storage::Struct, fields) => fields.iter().try_for_each(|field| field.encode(row, bytes)),
            (Storage::Union, members) => {
                // SAFETY: the number of a union's member is one byte.
                let tag = self.tags.as_ref().map_or(0, |tags| unsafe { tags.value::<u8>(tags.entry(row)) });
                bytes.push(tag)?;
                members.iter().skip(tag.into()).take(1).try_for_each(|member| member.encode(row, bytes))
            }
            _ => append_plain(self.type_, &self.values, entry, bytes),
        }
    }
}

/// Appends the bytes of an entry of a type that is not nested.
pub(super) fn encode_plain(
    type_: &SqlType,
    values: &VectorValues,
    entry: usize,
    bytes: &mut MemoryVec<u8>,
) -> Result<(), MemoryExceeded> {
    let is_valid = values.is_valid(entry);
    bytes.push(u8::from(is_valid))?;
    if is_valid { append_plain(type_, values, entry, bytes) } else { Ok(()) }
}

fn append_plain(
    type_: &SqlType,
    values: &VectorValues,
    entry: usize,
    bytes: &mut MemoryVec<u8>,
) -> Result<(), MemoryExceeded> {
    match type_.storage {
        Storage::Text | Storage::Enum(_) => with_text(type_, values, entry, |text| {
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes())?;
            bytes.extend_from_slice(text)
        }),
        storage => bytes.append_with(MAX_WIDTH, |bytes| append_fixed(storage, values, &[entry], bytes)),
    }
}

/// Values by node, from their bytes.
pub(in crate::duckdb_api) struct Decoded<'t> {
    pub type_: &'t SqlType,
    pub valid: MemoryVec<bool>,
    /// Values of a fixed width, texts, or the numbers of members.
    pub bytes: MemoryVec<u8>,
    /// Of texts and lists.
    pub offsets: MemoryVec<u64>,
    pub children: Vec<Decoded<'t>>,
}

impl<'t> Decoded<'t> {
    /// No values.
    fn new(type_: &'t SqlType, budget: &Arc<MemoryBudget>) -> Result<Self, MemoryExceeded> {
        let children = type_.children.iter().map(|child| Decoded::new(child, budget)).collect::<Result<_, _>>()?;
        let (valid, bytes, mut offsets) = (MemoryVec::new(budget), MemoryVec::new(budget), MemoryVec::new(budget));
        offsets.push(0)?;
        Ok(Self { type_, valid, bytes, offsets, children })
    }

    /// Values from the bytes of each.
    pub fn of<'b>(
        type_: &'t SqlType,
        budget: &Arc<MemoryBudget>,
        mut encoded: impl Iterator<Item = &'b [u8]>,
    ) -> Result<Self, MemoryExceeded> {
        let mut decoded = Self::new(type_, budget)?;
        encoded.try_for_each(|mut bytes| decoded.push(&mut bytes))?;
        Ok(decoded)
    }

    /// Adds a value, and takes its bytes from the beginning of `rest`.
    fn push(&mut self, rest: &mut &[u8]) -> Result<(), MemoryExceeded> {
        if take(rest, 1) != [1] {
            return self.push_null();
        }
        self.valid.push(true)?;
        match self.type_.storage {
            Storage::List => {
                let count = number(rest);
                self.offsets.push(self.offsets.last().copied().unwrap_or(0) + count)?;
                self.children.iter_mut().try_for_each(|item| (0..count).try_for_each(|_| item.push(rest)))
            }
            Storage::Array(size) => {
                self.children.iter_mut().try_for_each(|item| (0..size).try_for_each(|_| item.push(rest)))
            }
            Storage::Struct => self.children.iter_mut().try_for_each(|field| field.push(rest)),
            Storage::Union => {
                let tag = take(rest, 1).first().copied().unwrap_or(0);
                self.bytes.push(tag)?;
                let mut members = self.children.iter_mut().enumerate();
                members.try_for_each(
                    |(number, member)| {
                        if number == usize::from(tag) { member.push(rest) } else { member.push_null() }
                    },
                )
            }
            Storage::Text | Storage::Enum(_) => {
                let length = number(rest) as usize;
                self.bytes.extend_from_slice(take(rest, length))?;
                self.offsets.push(self.bytes.len() as u64)
            }
            _ => {
                let width = self.type_.column_type.width().unwrap_or(0);
                self.bytes.extend_from_slice(take(rest, width))
            }
        }
    }

    fn push_null(&mut self) -> Result<(), MemoryExceeded> {
        self.valid.push(false)?;
        match self.type_.storage {
            Storage::List | Storage::Text | Storage::Enum(_) => {
                self.offsets.push(self.offsets.last().copied().unwrap_or(0))
            }
            Storage::Array(size) => {
                self.children.iter_mut().try_for_each(|item| (0..size).try_for_each(|_| item.push_null()))
            }
            Storage::Struct => self.children.iter_mut().try_for_each(Decoded::push_null),
            Storage::Union => {
                self.bytes.push(0)?;
                self.children.iter_mut().try_for_each(Decoded::push_null)
            }
            _ => {
                let width = self.type_.column_type.width().unwrap_or(0);
                self.bytes.resize(self.bytes.len() + width, 0)
            }
        }
    }

    /// Writes the nodes of a parameter.
    pub fn write(&self, inputs: &mut CallInputs<'_>) -> Result<(), CallError> {
        match self.type_.storage {
            Storage::List | Storage::Text | Storage::Enum(_) => {
                write_bytes(inputs, &self.offsets, &self.bytes, &self.valid)?;
            }
            _ => write_fixed(inputs, &self.bytes, &self.valid)?,
        }
        self.children.iter().try_for_each(|child| child.write(inputs))
    }
}

fn take<'b>(rest: &mut &'b [u8], length: usize) -> &'b [u8] {
    // `encode` has written these bytes, so they are there.
    let (taken, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
    *rest = after;
    taken
}

fn number(rest: &mut &[u8]) -> u64 {
    take(rest, 8).try_into().map_or(0, u64::from_le_bytes)
}
