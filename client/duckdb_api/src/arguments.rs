//! The arguments of a call that DuckDB binds.

use std::ptr;

use crate::handles::{CallbackError, OwnedType, checked, copied};
use crate::symbols::{Api, Handle, RawText};

/// The type of an argument.
///
/// # Safety
/// `info` is that of a bind callback that runs, whose call has this argument.
pub unsafe fn argument_type(api: &'static Api, info: Handle, number: u64) -> Result<OwnedType, CallbackError> {
    // SAFETY: the caller promises both.
    OwnedType::new(api, |out, error| unsafe { (api.v2_function_bind_get_arg_type)(info, number, out, error) })
}

/// An argument that is a constant text.
///
/// # Safety
/// `info` is that of a bind callback that runs.
pub unsafe fn constant(api: &'static Api, info: Handle, index: u64) -> Result<String, CallbackError> {
    let mut value = ptr::null_mut();
    // SAFETY: the caller promises the information.
    checked(api, |error| unsafe { (api.v2_function_bind_get_arg_value)(info, index, &raw mut value, error) })?;
    let mut is_null = false;
    let mut text = RawText { bytes: ptr::null(), length: 0 };
    // SAFETY: the value is this side's until it is destroyed below; the text is copied before.
    unsafe {
        let read = checked(api, |error| (api.v2_value_is_null)(value, &raw mut is_null, error)).and_then(|()| {
            if is_null {
                return Err(CallbackError::bind("a constant argument is NULL"));
            }
            checked(api, |error| (api.v2_value_get_varchar)(value, &raw mut text, error))
        });
        let read = read.map(|()| copied(&text));
        (api.v2_value_destroy)(&raw mut value);
        read
    }
}
