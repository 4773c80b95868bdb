//! PostgreSQL's types that DuckDB lacks. Each of `colonnade_server::value::keyed` is a BLOB under the type's name, with
//! casts (`casts.rs`) and functions (`functions.rs`); `numeric` without digits is one of DuckDB's decimals, with casts of
//! its own (`unconstrained.rs`). jsonb is DuckDB's JSON, with PostgreSQL's operators (`jsonb.rs`).

mod casts;
mod functions;
mod jsonb;
mod unconstrained;

use std::ffi::c_void;
use std::ptr;

use colonnade_duckdb_api::extension::{ExtensionInput, MadeFunction, describe, register as register_extensions};
use colonnade_server::value::keyed::KeyedType;

use super::handles::{CallbackError, OwnedType, checked, raw, report};
use super::results::set_nulls;
use super::symbols::{Api, Handle};
use super::vectors::VectorValues;

/// Gives each database that is opened from now on the types.
///
/// # Errors
/// Why not.
pub(super) fn register(path: &str) -> Result<(), String> {
    register_extensions(Api::load(path)?, &[describe_types])
}

unsafe extern "C" fn describe_types(descriptor: *mut c_void) -> i32 {
    let entry: unsafe extern "C" fn(*const ExtensionInput) = enter;
    // SAFETY: DuckDB passes a descriptor.
    unsafe { describe(descriptor, c"colonnade_types", c"v2.0.0", ptr::null(), entry as *const c_void) }
}

unsafe extern "C" fn enter(input: *const ExtensionInput) {
    // SAFETY: DuckDB passes the input of an entry, whose error lives.
    unsafe {
        let input = &*input;
        report(input.error, |api| {
            KeyedType::all().try_for_each(|type_| register_keyed(api, input, type_))?;
            jsonb::register(api, input)?;
            unconstrained::register(api, input)
        });
    }
}

/// # Safety
/// `input` is that of an entry that runs.
unsafe fn register_keyed(api: &'static Api, input: &ExtensionInput, type_: KeyedType) -> Result<(), CallbackError> {
    let name = raw(type_.name());
    let mut factory = ptr::null_mut();
    // SAFETY: the caller promises the input; all handles live until the end of this function.
    unsafe {
        checked(api, |error| (api.v2_context_get_factory)(input.context, &raw mut factory, error))?;
        let blob = OwnedType::parse(api, input.context, "BLOB")?;
        let mut custom = MadeFunction { handle: ptr::null_mut(), destroy: api.v2_custom_type_destroy };
        checked(api, |error| (api.v2_custom_type_create)(factory, &raw mut custom.handle, error))?;
        checked(api, |error| (api.v2_custom_type_set_name)(custom.handle, &raw const name, error))?;
        checked(api, |error| (api.v2_custom_type_set_base_type)(custom.handle, blob.handle, error))?;
        checked(api, |error| (api.v2_extension_register_custom_type)(input.extension, custom.handle, error))?;
        casts::register(api, input, factory, type_)?;
        match type_ {
            KeyedType::Range(element) => functions::register(api, input, element),
            _ => Ok(()),
        }
    }
}

/// DuckDB's type with a second name.
///
/// # Safety
/// `input` is that of an entry that runs, and the factory is its own.
unsafe fn named_type(
    api: &'static Api,
    input: &ExtensionInput,
    factory: Handle,
    name: &str,
    stored: &str,
) -> Result<OwnedType, CallbackError> {
    let name = raw(name);
    // SAFETY: the caller promises the handles; the name lives.
    unsafe {
        let stored = OwnedType::parse(api, input.context, stored)?;
        OwnedType::new(api, |out, error| {
            (api.v2_factory_create_type_with_alias)(factory, stored.handle, &raw const name, out, error)
        })
    }
}

/// DuckDB's type.
///
/// # Safety
/// As for [`named_type`].
unsafe fn keyed_type(
    api: &'static Api,
    input: &ExtensionInput,
    factory: Handle,
    type_: KeyedType,
) -> Result<OwnedType, CallbackError> {
    // SAFETY: the caller promises the handles.
    unsafe { named_type(api, input, factory, type_.name(), "BLOB") }
}

/// An error in the class of DuckDB's own errors of casts.
fn conversion(error: impl std::fmt::Display) -> CallbackError {
    CallbackError::failed(format!("Conversion Error: {error}"))
}

/// A value for each row of these vectors: NULL if one of them is NULL, else what `value` gives for the entries of the
/// row.
fn each<T>(
    rows: usize,
    vectors: &[&VectorValues],
    mut value: impl FnMut(&[usize]) -> Result<Option<T>, CallbackError>,
) -> Result<Vec<Option<T>>, CallbackError> {
    let mut entries = vec![0; vectors.len()];
    let each = (0..rows).map(|row| {
        for (entry, vector) in entries.iter_mut().zip(vectors) {
            *entry = vector.entry(row);
        }
        let is_valid = vectors.iter().zip(&entries).all(|(vector, entry)| vector.is_valid(*entry));
        if is_valid { value(&entries) } else { Ok(None) }
    });
    each.collect()
}

/// Writes values to the first rows of a vector; `None` is NULL.
///
/// # Safety
/// The vector has values of this type, and these rows.
unsafe fn write<T: Copy>(api: &Api, vector: Handle, values: &[Option<T>]) -> Result<(), CallbackError> {
    let mut data = ptr::null_mut();
    // SAFETY: the caller promises the vector.
    unsafe {
        set_nulls(api, vector, 0, (0..values.len()).filter(|row| values[*row].is_none()))?;
        checked(api, |error| (api.v2_vector_get_data_mutable)(vector, &raw mut data, error))?;
        for (row, value) in values.iter().enumerate().filter_map(|(row, value)| Some((row, (*value)?))) {
            data.cast::<T>().add(row).write_unaligned(value);
        }
    }
    Ok(())
}
