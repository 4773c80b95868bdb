//! Lists, arrays, structs and unions of a result.

use std::ffi::c_void;
use std::ptr;

use colonnade_udf::{OutputColumn, OutputData};

use super::{NONE, TargetRows, set_nulls, write as write_column};
use crate::duckdb_api::handles::{CallbackError, checked};
use crate::duckdb_api::sql_type::{SqlType, Storage};
use crate::duckdb_api::symbols::{Api, Handle};

/// Writes the values of a column, whose NULLs are written.
///
/// # Safety
/// As for `results::write`.
pub(super) unsafe fn write(
    api: &Api,
    vector: Handle,
    type_: &SqlType,
    column: &OutputColumn<'_>,
    target: TargetRows<'_>,
) -> Result<(), CallbackError> {
    let mut data: *mut c_void = ptr::null_mut();
    // SAFETY: the caller promises the vector; each child has its type's layout, and a row for each of the vector's
    // rows, or is a list's child with as many as it was made to have.
    unsafe {
        match (&column.data, type_.storage) {
            (OutputData::List { offsets, items }, Storage::List) => {
                checked(api, |error| (api.v2_vector_get_data_mutable)(vector, &raw mut data, error))?;
                let child = child(api, vector, 0)?;
                let mut first = 0;
                checked(api, |error| (api.v2_vector_get_size)(child, &raw mut first, error))?;
                let count = offsets.last().copied().unwrap_or(0);
                checked(api, |error| (api.v2_vector_set_size)(child, first + count, error))?;
                let below = TargetRows { first: first as usize, count: count as usize, sources: None };
                write_column(api, child, only_child(type_)?, Some(items), below)?;
                for row in 0..target.count {
                    let range = target.source(row).map_or((0, 0), |source| (offsets[source], offsets[source + 1]));
                    let entry = [first + range.0, range.1 - range.0];
                    data.cast::<[u64; 2]>().add(target.first + row).write_unaligned(entry);
                }
                Ok(())
            }
            (OutputData::Array(items), Storage::Array(size)) => {
                let of = |row: usize| target.source(row).map(|source| source * size);
                let sources: Vec<u32> = (0..target.count)
                    .flat_map(|row| (0..size).map(move |item| of(row).map_or(NONE, |first| (first + item) as u32)))
                    .collect();
                let below =
                    TargetRows { first: target.first * size, count: target.count * size, sources: Some(&sources) };
                write_column(api, child(api, vector, 0)?, only_child(type_)?, Some(items), below)
            }
            (OutputData::Struct(fields), Storage::Struct) => {
                for (index, (field, field_type)) in (0..).zip(fields.iter().zip(&type_.children)) {
                    write_column(api, child(api, vector, index)?, field_type, Some(field), target)?;
                }
                Ok(())
            }
            (OutputData::Union { tags, members }, Storage::Union) => {
                let tag_vector = child(api, vector, 0)?;
                checked(api, |error| (api.v2_vector_get_data_mutable)(tag_vector, &raw mut data, error))?;
                for row in 0..target.count {
                    let tag = target.source(row).map_or(0, |source| tags[source]);
                    data.cast::<u8>().add(target.first + row).write(tag);
                }
                // Without a value there is no member. DuckDB's casts look only at the number.
                let is_null = |row: &usize| target.source(*row).is_none_or(|source| !column.is_valid(source));
                set_nulls(api, tag_vector, target.first, (0..target.count).filter(is_null))?;
                for (index, (member, member_type)) in (0..).zip(members.iter().zip(&type_.children)) {
                    // Only the member that the number names has a value.
                    let sources: Vec<u32> = (0..target.count)
                        .map(|row| match target.source(row) {
                            Some(source) if usize::from(tags[source]) == index => source as u32,
                            _ => NONE,
                        })
                        .collect();
                    let below = TargetRows { sources: Some(&sources), ..target };
                    write_column(api, child(api, vector, index as u64 + 1)?, member_type, Some(member), below)?;
                }
                Ok(())
            }
            _ => Err("the result has another layout than its type".into()),
        }
    }
}

/// Makes what is below rows without values NULL too: DuckDB reads fields and the numbers of members without asking for
/// the row.
///
/// # Safety
/// As for `results::write`.
pub(super) unsafe fn write_nulls(
    api: &Api,
    vector: Handle,
    type_: &SqlType,
    target: TargetRows<'_>,
) -> Result<(), CallbackError> {
    let children = (0..).zip(&type_.children);
    // SAFETY: the caller promises the vector; each child has a row for each of the vector's rows, an array's child as
    // many as it has items.
    unsafe {
        match type_.storage {
            Storage::Struct => {
                for (index, field) in children {
                    write_column(api, child(api, vector, index)?, field, None, target)?;
                }
            }
            Storage::Union => {
                set_nulls(api, child(api, vector, 0)?, target.first, 0..target.count)?;
                for (index, member) in children {
                    write_column(api, child(api, vector, index + 1)?, member, None, target)?;
                }
            }
            Storage::Array(size) => {
                let below = TargetRows { first: target.first * size, count: target.count * size, sources: None };
                write_column(api, child(api, vector, 0)?, only_child(type_)?, None, below)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// # Safety
/// The vector is one of a nested type with this child.
unsafe fn child(api: &Api, vector: Handle, index: u64) -> Result<Handle, CallbackError> {
    let mut child = ptr::null_mut();
    // SAFETY: the caller promises it.
    checked(api, |error| unsafe { (api.v2_vector_get_child)(vector, index, &raw mut child, error) })?;
    Ok(child)
}

fn only_child(type_: &SqlType) -> Result<&SqlType, CallbackError> {
    type_.children.first().ok_or_else(|| "a list has no type of its items".into())
}
