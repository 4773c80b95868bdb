//! Functions of SQL that reach the session whose statement calls them (`serve/protocol/src/caller.rs`), and one that
//! reads what DuckDB knows of a type.

mod advisory;
mod attributes;
mod listing;
mod notifications;
mod signal;

use std::ffi::c_void;
use std::ptr;

use colonnade_duckdb_api::extension::{ExtensionInput, describe, register as register_extensions};

use super::handles::report;
use super::symbols::Api;

/// Gives each database that is opened from now on the functions.
///
/// # Errors
/// Why not.
pub(super) fn register(path: &str) -> Result<(), String> {
    register_extensions(Api::load(path)?, &[describe_functions])
}

unsafe extern "C" fn describe_functions(descriptor: *mut c_void) -> i32 {
    let entry: unsafe extern "C" fn(*const ExtensionInput) = enter;
    // SAFETY: DuckDB passes a descriptor.
    unsafe { describe(descriptor, c"colonnade_sessions", c"v2.0.0", ptr::null(), entry as *const c_void) }
}

unsafe extern "C" fn enter(input: *const ExtensionInput) {
    // SAFETY: DuckDB passes the input of an entry, whose error lives.
    unsafe {
        let input = &*input;
        report(input.error, |api| {
            advisory::register(api, input)?;
            attributes::register(api, input)?;
            listing::register(api, input)?;
            notifications::register(api, input)?;
            signal::register(api, input)
        });
    }
}
