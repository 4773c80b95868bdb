//! Lists, arrays, structs and unions. A row may be `None`: then the value above it is NULL.

use colonnade_udf::CallInputs;

use super::{Values, WriteError, append_fixed, with_text, write_bytes, write_fixed};
use crate::duckdb_api::handles::CallbackError;
use crate::duckdb_api::sql_type::{SqlType, Storage};

/// Writes the nodes of a column.
pub(super) fn write(
    inputs: &mut CallInputs<'_>,
    type_: &SqlType,
    values: &Values,
    rows: &[Option<usize>],
) -> Result<(), WriteError> {
    let rows: Vec<_> = rows.iter().map(|row| row.filter(|row| values.is_valid(values.entry(*row)))).collect();
    let valid: Vec<_> = rows.iter().map(Option::is_some).collect();
    let has_values = !matches!(type_.storage, Storage::Struct | Storage::Array(_) | Storage::Union);
    if has_values && !values.has_memory() && valid.contains(&true) {
        return Err(CallbackError::from("DuckDB gives no values of a nested argument").into());
    }
    match type_.storage {
        Storage::List => {
            let mut items = Vec::new();
            let mut offsets = vec![0];
            for row in &rows {
                if let Some(row) = row {
                    // SAFETY: a list is stored as the place of its items and their number.
                    let [start, count]: [u64; 2] = unsafe { values.value(values.entry(*row)) };
                    items.extend((start..start + count).map(|item| Some(item as usize)));
                }
                offsets.push(items.len() as u64);
            }
            write_bytes(inputs, &offsets, &[], &valid)?;
            write_children(inputs, type_, values, 0, &items)
        }
        Storage::Array(size) => {
            write_fixed(inputs, &[], &valid)?;
            let items: Vec<_> =
                rows.iter().flat_map(|row| (0..size).map(move |item| row.map(|row| row * size + item))).collect();
            write_children(inputs, type_, values, 0, &items)
        }
        Storage::Struct => {
            write_fixed(inputs, &[], &valid)?;
            write_children(inputs, type_, values, 0, &rows)
        }
        Storage::Union => {
            let tags = values.child(0)?;
            // SAFETY: the number of a union's member is one byte.
            let tag = |row: &Option<usize>| row.map_or(0, |row| unsafe { tags.value::<u8>(tags.entry(row)) });
            let tags: Vec<_> = rows.iter().map(tag).collect();
            write_fixed(inputs, &tags, &valid)?;
            write_children(inputs, type_, values, 1, &rows)
        }
        Storage::Text | Storage::Enum(_) => {
            let mut heap = Vec::new();
            let mut offsets = vec![0];
            for row in &rows {
                if let Some(row) = row {
                    with_text(type_, values, values.entry(*row), |text| heap.extend_from_slice(text));
                }
                offsets.push(heap.len() as u64);
            }
            Ok(write_bytes(inputs, &offsets, &heap, &valid)?)
        }
        storage => {
            let mut bytes = Vec::new();
            let width = type_.column_type.width().unwrap_or(0);
            for row in &rows {
                match row {
                    Some(row) => append_fixed(storage, values, &[values.entry(*row)], &mut bytes),
                    None => bytes.resize(bytes.len() + width, 0),
                }
            }
            Ok(write_fixed(inputs, &bytes, &valid)?)
        }
    }
}

fn write_children(
    inputs: &mut CallInputs<'_>,
    type_: &SqlType,
    values: &Values,
    first: u64,
    rows: &[Option<usize>],
) -> Result<(), WriteError> {
    for (index, child) in (first..).zip(&type_.children) {
        write(inputs, child, &values.child(index)?, rows)?;
    }
    Ok(())
}
