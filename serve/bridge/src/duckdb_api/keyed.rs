//! PostgreSQL's types that DuckDB lacks (`colonnade_server::value::keyed`): each is a BLOB under the type's name, with
//! casts from and to text.

mod functions;

use std::ffi::c_void;
use std::ptr;

use colonnade_duckdb_api::extension::{ExtensionInput, MadeFunction, describe, register as register_extensions};
use colonnade_server::value::TextStyle;
use colonnade_server::value::keyed::{KeyError, KeyedType};

use super::handles::{CallbackError, OwnedType, checked, object, owned, raw, report};
use super::results::write_texts;
use super::symbols::{Api, Handle};
use super::vectors::VectorValues;

/// One of the two casts of a type.
struct Cast {
    type_: KeyedType,
    is_to_text: bool,
}

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
        report(input.error, |api| KeyedType::all().try_for_each(|type_| register_type(api, input, type_)));
    }
}

/// # Safety
/// `input` is that of an entry that runs.
unsafe fn register_type(api: &'static Api, input: &ExtensionInput, type_: KeyedType) -> Result<(), CallbackError> {
    let name = raw(type_.name());
    let mut factory = ptr::null_mut();
    // SAFETY: the caller promises the input; all handles live until the end of this function.
    unsafe {
        checked(api, |error| (api.v2_context_get_factory)(input.context, &raw mut factory, error))?;
        let (blob, text) =
            (OwnedType::parse(api, input.context, "BLOB")?, OwnedType::parse(api, input.context, "VARCHAR")?);
        let mut custom = MadeFunction { handle: ptr::null_mut(), destroy: api.v2_custom_type_destroy };
        checked(api, |error| (api.v2_custom_type_create)(factory, &raw mut custom.handle, error))?;
        checked(api, |error| (api.v2_custom_type_set_name)(custom.handle, &raw const name, error))?;
        checked(api, |error| (api.v2_custom_type_set_base_type)(custom.handle, blob.handle, error))?;
        checked(api, |error| (api.v2_extension_register_custom_type)(input.extension, custom.handle, error))?;
        let named = keyed_type(api, input, factory, type_)?;
        register_cast(api, input, factory, (&text, &named), Cast { type_, is_to_text: false })?;
        register_cast(api, input, factory, (&named, &text), Cast { type_, is_to_text: true })?;
        match type_ {
            KeyedType::Range(element) => functions::register(api, input, element),
            _ => Ok(()),
        }
    }
}

/// DuckDB's type.
///
/// # Safety
/// `input` is that of an entry that runs, and the factory is its own.
unsafe fn keyed_type(
    api: &'static Api,
    input: &ExtensionInput,
    factory: Handle,
    type_: KeyedType,
) -> Result<OwnedType, CallbackError> {
    let name = raw(type_.name());
    // SAFETY: the caller promises the handles; the name lives.
    unsafe {
        let blob = OwnedType::parse(api, input.context, "BLOB")?;
        OwnedType::new(api, |out, error| {
            (api.v2_factory_create_type_with_alias)(factory, blob.handle, &raw const name, out, error)
        })
    }
}

/// An error in the class of DuckDB's own errors of casts.
fn conversion(error: &KeyError) -> CallbackError {
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

/// # Safety
/// `input` is that of an entry that runs, and the factory is its own.
unsafe fn register_cast(
    api: &'static Api,
    input: &ExtensionInput,
    factory: Handle,
    (source, target): (&OwnedType, &OwnedType),
    cast: Cast,
) -> Result<(), CallbackError> {
    let mut function = MadeFunction { handle: ptr::null_mut(), destroy: api.v2_cast_function_destroy };
    let mut data = owned(cast);
    // SAFETY: the caller promises the handles; the callback takes what DuckDB keeps.
    unsafe {
        checked(api, |error| (api.v2_cast_function_create)(factory, &raw mut function.handle, error))?;
        let handle = function.handle;
        checked(api, |error| (api.v2_cast_function_set_source_type)(handle, source.handle, error))?;
        checked(api, |error| (api.v2_cast_function_set_target_type)(handle, target.handle, error))?;
        checked(api, |error| (api.v2_cast_function_set_user_data)(handle, &raw mut data, error))?;
        checked(api, |error| (api.v2_cast_function_set_exec_callback)(handle, execute, error))?;
        checked(api, |error| (api.v2_extension_register_cast_function)(input.extension, handle, error))
    }
}

/// Casts the rows of a chunk. A value that cannot be cast is NULL for TRY_CAST, and fails for CAST, by the same error.
unsafe extern "C" fn execute(info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an execution, whose data are those of `register_cast`. The vectors
    // have the types of the cast, which are stored as texts are.
    unsafe {
        report(error, |api| {
            let cast: &Cast = object(api, |out, error| (api.v2_cast_function_exec_get_user_data)(info, out, error))?;
            let (mut rows, mut input, mut output) = (0, ptr::null_mut(), ptr::null_mut());
            checked(api, |error| (api.v2_cast_function_exec_get_row_count)(info, &raw mut rows, error))?;
            checked(api, |error| (api.v2_cast_function_exec_get_input)(info, &raw mut input, error))?;
            checked(api, |error| (api.v2_cast_function_exec_get_output)(info, &raw mut output, error))?;
            let values = VectorValues::new(api, input)?;
            let (mut bytes, mut texts, mut failure) = (Vec::new(), Vec::new(), None);
            for entry in (0..rows as usize).map(|row| values.entry(row)) {
                let start = bytes.len();
                let done = values.is_valid(entry).then(|| cast.value(values.text(entry), &mut bytes));
                match done {
                    Some(Ok(())) => texts.push(Some(start..bytes.len())),
                    Some(Err(error)) => {
                        failure.get_or_insert(error);
                        texts.push(None);
                    }
                    None => texts.push(None),
                }
            }
            write_texts(api, output, &texts, &bytes)?;
            failure.map_or(Ok(()), |error| Err(conversion(&error)))
        });
    }
}

impl Cast {
    fn value(&self, given: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
        if self.is_to_text {
            return self.type_.write_text(given, TextStyle::default(), out);
        }
        // DuckDB's texts are UTF-8.
        let text = std::str::from_utf8(given).map_err(|_| KeyError::Bytes(self.type_.name()))?;
        self.type_.parse(text).map(|key| out.extend_from_slice(&key))
    }
}
