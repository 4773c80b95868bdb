//! Registers the dispatchers with each database that this process opens.
//!
//! DuckDB calls an entry for each database, as it does for extensions that are linked statically. One descriptor has
//! one entry, so there are two: version 2 of the interface for the dispatchers, version 1 for `colonnade_session()`.

use std::ffi::{c_char, c_void};
use std::ptr;

use colonnade_duckdb_api::extension::{
    ANY, CONSISTENT, CONSISTENT_WITHIN_QUERY, ExtensionInput, MadeFunction, NULL_HANDLING, POSITIONAL_ONLY,
    POSITIONAL_VARIADIC, SPECIAL, VOLATILE, add_parameter, describe, register as register_extensions,
};
use colonnade_duckdb_api::scalar::ScalarFunction;

use super::handles::{CallbackError, OwnedType, checked, owned, raw, report};
use super::registry::{AGGREGATE, MAP_IMMUTABLE, MAP_STABLE, MAP_VOLATILE};
use super::symbols::{Api, Handle, Opaque};
use super::{aggregate, map, session, table};

/// `duckdb_extension_access`.
#[repr(C)]
struct Access {
    set_error: unsafe extern "C" fn(Handle, *const c_char),
    get_database: unsafe extern "C" fn(Handle) -> *mut Handle,
    api: *const c_void,
}

/// Gives each database that is opened from now on the dispatchers.
///
/// # Errors
/// Why not.
pub(super) fn register(path: &str) -> Result<(), String> {
    register_extensions(Api::load(path)?, &[describe_session, describe_dispatchers])
}

unsafe extern "C" fn describe_session(descriptor: *mut c_void) -> i32 {
    let entry: unsafe extern "C" fn(Handle, *const Access) -> bool = enter_session;
    // SAFETY: DuckDB passes a descriptor.
    unsafe { describe(descriptor, c"colonnade_session", c"v1.2.0", entry as *const c_void, ptr::null()) }
}

unsafe extern "C" fn describe_dispatchers(descriptor: *mut c_void) -> i32 {
    let entry: unsafe extern "C" fn(*const ExtensionInput) = enter_dispatchers;
    // SAFETY: DuckDB passes a descriptor.
    unsafe { describe(descriptor, c"colonnade_functions", c"v2.0.0", ptr::null(), entry as *const c_void) }
}

unsafe extern "C" fn enter_session(info: Handle, access: *const Access) -> bool {
    let result = Api::loaded().and_then(|api| {
        // SAFETY: DuckDB passes its functions, and the database that loads the extension.
        unsafe {
            let database = ((*access).get_database)(info).as_ref().ok_or("there is no database")?;
            session::register(api, *database)
        }
    });
    if result.is_err() {
        // SAFETY: as above; the text is a constant.
        unsafe { ((*access).set_error)(info, c"the function colonnade_session could not be registered".as_ptr()) };
    }
    result.is_ok()
}

unsafe extern "C" fn enter_dispatchers(input: *const ExtensionInput) {
    // SAFETY: DuckDB passes the input of an entry, whose error lives.
    unsafe {
        let input = &*input;
        report(input.error, |api| {
            register_map(api, input, MAP_IMMUTABLE, CONSISTENT)?;
            register_map(api, input, MAP_STABLE, CONSISTENT_WITHIN_QUERY)?;
            register_map(api, input, MAP_VOLATILE, VOLATILE)?;
            register_aggregate(api, input)?;
            table::register(api, input.context, input.extension)
        });
    }
}

/// # Safety
/// `input` is that of an entry that runs.
unsafe fn register_map(
    api: &'static Api,
    input: &ExtensionInput,
    name: &'static str,
    stability: i32,
) -> Result<(), CallbackError> {
    let function = ScalarFunction {
        name,
        stability,
        user_data: Some(owned(name)),
        resolve: Some(map::resolve),
        bind: map::bind,
        begin: map::begin,
        execute: map::execute,
    };
    // SAFETY: the caller promises the input; the callbacks take what they have given DuckDB.
    unsafe {
        function.register(api, input.context, input.extension, |factory, signature| {
            sign(api, input.context, factory, signature)
        })
    }
}

/// # Safety
/// `input` is that of an entry that runs.
unsafe fn register_aggregate(api: &'static Api, input: &ExtensionInput) -> Result<(), CallbackError> {
    let mut function = MadeFunction { handle: ptr::null_mut(), destroy: api.v2_aggregate_function_destroy };
    let mut user_data: Opaque = owned(AGGREGATE);
    // SAFETY: the caller promises the input; all handles live until the end of this function; the callbacks have their
    // declarations.
    unsafe {
        let mut factory = ptr::null_mut();
        checked(api, |error| (api.v2_context_get_factory)(input.context, &raw mut factory, error))?;
        checked(api, |error| (api.v2_aggregate_function_create)(factory, &raw mut function.handle, error))?;
        let handle = function.handle;
        let text = raw(AGGREGATE);
        checked(api, |error| (api.v2_aggregate_function_set_name)(handle, &raw const text, error))?;
        checked(api, |error| (api.v2_aggregate_function_set_user_data)(handle, &raw mut user_data, error))?;
        let mut signature = ptr::null_mut();
        checked(api, |error| (api.v2_aggregate_function_get_signature)(handle, &raw mut signature, error))?;
        sign(api, input.context, factory, signature)?;
        checked(api, |error| (api.v2_aggregate_function_set_property)(handle, NULL_HANDLING, SPECIAL, error))?;
        checked(api, |error| (api.v2_aggregate_function_set_bind_callback)(handle, aggregate::bind, error))?;
        checked(api, |error| (api.v2_aggregate_function_set_size_callback)(handle, aggregate::size, error))?;
        checked(api, |error| (api.v2_aggregate_function_set_init_callback)(handle, aggregate::begin, error))?;
        checked(api, |error| (api.v2_aggregate_function_set_update_callback)(handle, aggregate::update, error))?;
        checked(api, |error| (api.v2_aggregate_function_set_combine_callback)(handle, aggregate::combine, error))?;
        checked(api, |error| (api.v2_aggregate_function_set_finalize_callback)(handle, aggregate::finalize, error))?;
        checked(api, |error| (api.v2_aggregate_function_set_destroy_callback)(handle, aggregate::end, error))?;
        checked(api, |error| (api.v2_extension_register_aggregate_function)(input.extension, handle, error))
    }
}

/// Sets the parameters of a dispatcher, and a result whose type the bind decides.
///
/// # Safety
/// The handles are those of an entry that runs.
pub(super) unsafe fn sign(
    api: &'static Api,
    context: Handle,
    factory: Handle,
    signature: Handle,
) -> Result<(), CallbackError> {
    // SAFETY: the caller promises the context.
    let varchar = unsafe { OwnedType::parse(api, context, "VARCHAR") }?;
    // SAFETY: the caller promises the factory; no parameters of the type are given.
    let any = OwnedType::new(api, |out, error| unsafe {
        (api.v2_factory_create_type_from_id)(factory, ANY, ptr::null(), ptr::null(), 0, out, error)
    })?;
    for (name, type_, kind) in [
        ("id", &varchar, POSITIONAL_ONLY),
        ("session", &varchar, POSITIONAL_ONLY),
        ("arguments", &any, POSITIONAL_VARIADIC),
    ] {
        // SAFETY: the caller promises the signature.
        unsafe { add_parameter(api, signature, name, type_, kind) }?;
    }
    // SAFETY: as above.
    checked(api, |error| unsafe { (api.v2_function_signature_set_return_type)(signature, any.handle, error) })
}
