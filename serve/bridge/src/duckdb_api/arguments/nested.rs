//! Lists, arrays, structs and unions. Values are written to where a function process reads them, without a copy
//! between.

use colonnade_udf::{CallInputs, NodeSize, RingSlice};

use super::runs::Runs;
use super::{VectorValues, WriteError, append_fixed, write_texts};
use crate::duckdb_api::handles::CallbackError;
use crate::duckdb_api::sql_type::{SqlType, Storage};

/// The rows of a fixed width that are converted at a time.
const PART_ROWS: usize = 1024;

/// Writes the nodes of a column.
pub(super) fn write(
    inputs: &mut CallInputs<'_>,
    type_: &SqlType,
    values: &VectorValues,
    rows: &Runs,
) -> Result<(), WriteError> {
    let rows = rows.only(|row| values.is_valid(values.entry(row)))?;
    let has_values = !matches!(type_.storage, Storage::Struct | Storage::Array(_) | Storage::Union);
    if has_values && !values.has_memory() && rows.runs().any(|run| run.first.is_some()) {
        return Err(CallbackError::from("DuckDB gives no values of a nested argument").into());
    }
    let size = NodeSize { length: rows.len(), has_validity: rows.has_null(), ..NodeSize::default() };
    let with_values = |width: usize| NodeSize { values: rows.len().saturating_mul(width), ..size };
    match type_.storage {
        Storage::List => {
            let mut items = Runs::new(rows.budget());
            let node = inputs.node(NodeSize { values: rows.len().saturating_add(1).saturating_mul(8), ..size })?;
            write_validity(&node.validity, &rows);
            node.values.write(0, &0_u64.to_le_bytes());
            for (number, row) in (1..).zip(rows.iter()) {
                if let Some(row) = row {
                    // SAFETY: a list is stored as the place of its items and their number.
                    let [start, count]: [u64; 2] = unsafe { values.value(values.entry(row)) };
                    items.push(Some(start as usize), count as usize)?;
                }
                node.values.write(number * 8, &(items.len() as u64).to_le_bytes());
            }
            write_children(inputs, type_, values, 0, &items)
        }
        Storage::Array(length) => {
            write_validity(&inputs.node(size)?.validity, &rows);
            write_children(inputs, type_, values, 0, &rows.items(length)?)
        }
        Storage::Struct => {
            write_validity(&inputs.node(size)?.validity, &rows);
            write_children(inputs, type_, values, 0, &rows)
        }
        Storage::Union => {
            let tags = values.child(0)?;
            let node = inputs.node(with_values(1))?;
            write_validity(&node.validity, &rows);
            for (number, row) in rows.iter().enumerate() {
                // SAFETY: the number of a union's member is one byte.
                let tag = row.map_or(0, |row| unsafe { tags.value::<u8>(tags.entry(row)) });
                node.values.write(number, &[tag]);
            }
            write_children(inputs, type_, values, 1, &rows)
        }
        Storage::Text | Storage::Enum(_) => {
            let entries = || rows.iter().map(|row| row.map(|row| values.entry(row)));
            let node = write_texts(inputs, type_, values, size, entries)?;
            write_validity(&node.validity, &rows);
            Ok(())
        }
        storage => {
            let width = type_.column_type.width().unwrap_or(0);
            let node = inputs.node(with_values(width))?;
            write_validity(&node.validity, &rows);
            let (mut bytes, mut at) = (Vec::new(), 0);
            for part in rows.runs().flat_map(|run| run.parts(PART_ROWS)) {
                bytes.clear();
                if let Some(first) = part.first {
                    let entries: Vec<_> = (first..first + part.count).map(|row| values.entry(row)).collect();
                    append_fixed(storage, values, &entries, &mut bytes);
                }
                bytes.resize(part.count * width, 0);
                node.values.write(at, &bytes);
                at += bytes.len();
            }
            Ok(())
        }
    }
}

/// Writes which rows have values, if the node has a bitmap.
fn write_validity(bitmap: &RingSlice<'_>, rows: &Runs) {
    if bitmap.is_empty() {
        return;
    }
    let (mut word, mut bit, mut at) = (0_u64, 0, 0);
    for row in rows.iter() {
        word |= u64::from(row.is_some()) << bit;
        bit += 1;
        if bit == 64 {
            bitmap.write(at, &word.to_le_bytes());
            (word, bit, at) = (0, 0, at + 8);
        }
    }
    if bit > 0 {
        bitmap.write(at, &word.to_le_bytes());
    }
}

fn write_children(
    inputs: &mut CallInputs<'_>,
    type_: &SqlType,
    values: &VectorValues,
    first: u64,
    rows: &Runs,
) -> Result<(), WriteError> {
    for (index, child) in (first..).zip(&type_.children) {
        write(inputs, child, &values.child(index)?, rows)?;
    }
    Ok(())
}
