//! Lists, structs and dictionary-typed columns, by recursion. FORMAT §6.2, §6.7.

use bytes::Bytes;

use super::bytes_column::{check_offsets_of, offsets_from_lengths_of};
use super::integers::Integers;
use super::node::{self, Node};
use super::reader::{Budget, Reader, buffer};
use crate::int::Int;
use crate::{Bitmap, Column, Damage, DataType, Encoding, Field, IndexType, Layout, Values};

/// The values of a nested column that has at least one row that is not NULL.
pub(super) fn decode(
    node: &Node,
    reader: &mut Reader<'_>,
    field: &Field,
    budget: &mut Budget,
) -> Result<Values<Bytes>, Damage> {
    node.no_parameter()?;
    let rows = node.rows;
    match (field.data_type.layout(), node.encoding) {
        (Layout::List(offset), Encoding::Plain) => {
            let child_rows = reader.count()?;
            reader.align(64)?;
            let offsets = reader.take_shared((rows + 1).checked_mul(offset).ok_or(Damage::Truncated)?)?;
            check_offsets_of(offset, &offsets, child_rows)?;
            Ok(Values::List { offsets, child: items(reader, field, child_rows, budget)? })
        }
        (Layout::List(offset), Encoding::Lengths) => {
            let child_rows = reader.count()?;
            budget.take(rows + 1, offset)?;
            let offsets = offsets_from_lengths_of(offset, reader, rows, child_rows)?;
            Ok(Values::List { offsets, child: items(reader, field, child_rows, budget)? })
        }
        (Layout::FixedList(size), Encoding::Plain) => {
            let child_rows = rows.checked_mul(size).ok_or(Damage::Offsets)?;
            Ok(Values::FixedList(Box::new(child(reader, &field.children[0], child_rows, budget)?)))
        }
        (Layout::Struct, Encoding::Plain) => {
            let children = field.children.iter().map(|field| child(reader, field, rows, budget));
            Ok(Values::Struct(children.collect::<Result<_, _>>()?))
        }
        (Layout::Dictionary(index), Encoding::Plain) => {
            let child_rows = reader.count()?;
            budget.take(rows, index.width())?;
            let indices = indices(reader, rows, index)?;
            check_indices(&indices, index, child_rows, node.validity.as_deref())?;
            let values = Box::new(child(reader, &field.children[0], child_rows, budget)?);
            Ok(Values::Dictionary { indices, values })
        }
        _ => Err(node.misplaced()),
    }
}

/// The child of a list or map. A map's entries and keys are never NULL.
fn items(
    reader: &mut Reader<'_>,
    field: &Field,
    rows: usize,
    budget: &mut Budget,
) -> Result<Box<Column<Bytes>>, Damage> {
    let items = child(reader, &field.children[0], rows, budget)?;
    if let (DataType::Map { .. }, Values::Struct(parts)) = (&field.data_type, &items.values)
        && (items.validity.is_some() || parts.iter().take(1).any(|keys| keys.validity.is_some()))
    {
        return Err(Damage::Nulls(2));
    }
    Ok(Box::new(items))
}

fn child(reader: &mut Reader<'_>, field: &Field, rows: usize, budget: &mut Budget) -> Result<Column<Bytes>, Damage> {
    let node = Node::read_child(reader, rows)?;
    node::decode(node, reader, field, false, budget)
}

fn indices(reader: &mut Reader<'_>, rows: usize, index: IndexType) -> Result<Bytes, Damage> {
    Ok(match index.width() {
        1 => buffer(Integers::<i8>::read_node(reader, rows)?.all()?),
        2 => buffer(Integers::<i16>::read_node(reader, rows)?.all()?),
        4 => buffer(Integers::<i32>::read_node(reader, rows)?.all()?),
        _ => buffer(Integers::<i64>::read_node(reader, rows)?.all()?),
    })
}

/// Checks that each index of a valid row refers to a value.
fn check_indices(indices: &[u8], index: IndexType, values: usize, validity: Option<&[u8]>) -> Result<(), Damage> {
    let width = index.width();
    let inside = |row: usize| {
        let bytes = &indices[row * width..];
        let value = match index {
            IndexType::Int8 => i64::from(i8::read_le(bytes)),
            IndexType::Int16 => i64::from(i16::read_le(bytes)),
            IndexType::Int32 => i64::from(i32::read_le(bytes)),
            IndexType::UInt8 => i8::read_le(bytes).to_bits() as i64,
            IndexType::UInt16 => i16::read_le(bytes).to_bits() as i64,
            IndexType::UInt32 => i32::read_le(bytes).to_bits() as i64,
            // A u64 beyond the range of i64 becomes negative, and so is out of range, which is correct.
            IndexType::Int64 | IndexType::UInt64 => i64::read_le(bytes),
        };
        value >= 0 && (value as u64) < values as u64
    };
    let rows = indices.len() / width;
    let mut all = true;
    match validity.map(Bitmap::new) {
        None => (0..rows).for_each(|row| all &= inside(row)),
        Some(valid) => valid.runs(rows, |first, count| (first..first + count).for_each(|row| all &= inside(row))),
    }
    if all { Ok(()) } else { Err(Damage::Code) }
}
