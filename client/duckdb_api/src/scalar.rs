//! Scalar functions: how one is registered, and what an execution gets.

use std::ptr;

use crate::extension::{MadeFunction, NULL_HANDLING, SPECIAL, STABILITY};
use crate::handles::{CallbackError, checked, raw};
use crate::symbols::{Api, BindCallback, Handle, Opaque, ScalarCallback};
use crate::vectors::VectorValues;

/// A function that decides itself what a NULL means.
pub struct ScalarFunction<'a> {
    /// Its name.
    pub name: &'a str,
    /// One of the values of [`STABILITY`].
    pub stability: i32,
    /// What its binds get.
    pub user_data: Option<Opaque>,
    /// Decides the type of the result, if the signature does not.
    pub resolve: Option<BindCallback>,
    /// Binds a call.
    pub bind: BindCallback,
    /// Begins to execute a call on one thread.
    pub begin: ScalarCallback,
    /// Executes it for the rows of a chunk.
    pub execute: ScalarCallback,
}

impl ScalarFunction<'_> {
    /// Registers the function. `sign` gets a factory and the signature, and adds the parameters and the type of the
    /// result.
    ///
    /// # Safety
    /// The handles are those of an entry that runs. The callbacks take what DuckDB and they themselves keep.
    pub unsafe fn register(
        self,
        api: &'static Api,
        context: Handle,
        extension: Handle,
        sign: impl FnOnce(Handle, Handle) -> Result<(), CallbackError>,
    ) -> Result<(), CallbackError> {
        let mut function = MadeFunction { handle: ptr::null_mut(), destroy: api.v2_scalar_function_destroy };
        let (mut factory, mut signature) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the caller promises the handles; all others live until the end of this function.
        unsafe {
            checked(api, |error| (api.v2_context_get_factory)(context, &raw mut factory, error))?;
            checked(api, |error| (api.v2_scalar_function_create)(factory, &raw mut function.handle, error))?;
            let handle = function.handle;
            let text = raw(self.name);
            checked(api, |error| (api.v2_scalar_function_set_name)(handle, &raw const text, error))?;
            if let Some(mut data) = self.user_data {
                checked(api, |error| (api.v2_scalar_function_set_user_data)(handle, &raw mut data, error))?;
            }
            checked(api, |error| (api.v2_scalar_function_get_signature)(handle, &raw mut signature, error))?;
            sign(factory, signature)?;
            checked(api, |error| (api.v2_scalar_function_set_property)(handle, STABILITY, self.stability, error))?;
            checked(api, |error| (api.v2_scalar_function_set_property)(handle, NULL_HANDLING, SPECIAL, error))?;
            if let Some(resolve) = self.resolve {
                checked(api, |error| (api.v2_scalar_function_set_resolve_types_callback)(handle, resolve, error))?;
            }
            checked(api, |error| (api.v2_scalar_function_set_bind_callback)(handle, self.bind, error))?;
            checked(api, |error| (api.v2_scalar_function_set_init_callback)(handle, self.begin, error))?;
            checked(api, |error| (api.v2_scalar_function_set_exec_callback)(handle, self.execute, error))?;
            checked(api, |error| (api.v2_extension_register_scalar_function)(extension, handle, error))
        }
    }
}

/// The bind of calls that need no data.
///
/// # Safety
/// None: the handles are not used.
pub unsafe extern "C" fn no_data(_: Handle, _: Handle, _: Handle, _: *mut Handle) {}

/// The beginning of calls that keep nothing for a thread.
///
/// # Safety
/// None: the handles are not used.
pub unsafe extern "C" fn no_state(_: Handle, _: Handle, _: *mut Handle) {}

/// The rows of an execution.
///
/// # Safety
/// `info` is that of an execution that runs.
pub unsafe fn row_count(api: &Api, info: Handle) -> Result<usize, CallbackError> {
    let mut rows = 0;
    // SAFETY: the caller promises it.
    checked(api, |error| unsafe { (api.v2_scalar_function_exec_get_row_count)(info, &raw mut rows, error) })?;
    Ok(rows as usize)
}

/// An argument's values.
///
/// # Safety
/// `info` is that of an execution that runs, whose call has this argument.
pub unsafe fn argument(api: &'static Api, info: Handle, number: u64) -> Result<VectorValues, CallbackError> {
    let mut vector = ptr::null_mut();
    // SAFETY: the caller promises it.
    unsafe {
        checked(api, |error| (api.v2_scalar_function_exec_get_arg)(info, number, &raw mut vector, error))?;
        VectorValues::new(api, vector)
    }
}

/// The vector of the results.
///
/// # Safety
/// `info` is that of an execution that runs.
pub unsafe fn result(api: &Api, info: Handle) -> Result<Handle, CallbackError> {
    let mut vector = ptr::null_mut();
    // SAFETY: the caller promises it.
    checked(api, |error| unsafe { (api.v2_scalar_function_exec_get_result)(info, &raw mut vector, error) })?;
    Ok(vector)
}
