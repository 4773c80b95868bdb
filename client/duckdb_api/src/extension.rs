//! Static extensions: what DuckDB loads into each database that the process opens.

use std::ffi::{CStr, c_char, c_void};

use crate::handles::{CallbackError, OwnedType, checked, raw};
use crate::symbols::{Api, Describe, Handle};

/// The layout of `duckdb_extension_descriptor`, version 1.
#[repr(C)]
struct Descriptor {
    version: u32,
    set_error: Option<unsafe extern "C" fn(*mut Descriptor, *const c_char)>,
    internal: *mut c_void,
    name: *const c_char,
    extension_version: *const c_char,
    api_version: *const c_char,
    entry_cpp: *const c_void,
    entry_v1: *const c_void,
    entry_v2: *const c_void,
}

/// `duckdb_v2_extension_input`: what an entry of version 2 gets.
#[repr(C)]
#[allow(missing_docs, reason = "DuckDB's header documents them")]
pub struct ExtensionInput {
    pub api: *const c_void,
    pub extension: Handle,
    pub context: Handle,
    pub error: *mut Handle,
}

/// The properties of a scalar function, and their values.
pub const STABILITY: i32 = 0x1_0000;
/// The same arguments give the same result.
pub const CONSISTENT: i32 = 0x1_0000;
/// Each call gives a result of its own.
pub const VOLATILE: i32 = 0x1_0001;
/// The same arguments give the same result within a statement.
pub const CONSISTENT_WITHIN_QUERY: i32 = 0x1_0002;
/// What a NULL among the arguments means.
pub const NULL_HANDLING: i32 = 0x1_0100;
/// The function itself decides that.
pub const SPECIAL: i32 = 0x1_0101;
/// A parameter without a name.
pub const POSITIONAL_ONLY: i32 = 0;
/// Any number of them.
pub const POSITIONAL_VARIADIC: i32 = 2;
/// `DUCKDB_V2_LOGICAL_TYPE_ID_ANY`.
pub const ANY: i32 = 3;

/// Has DuckDB load extensions into each database that is opened from now on. Each function describes one, by
/// [`describe`].
///
/// # Errors
/// Why not.
pub fn register(api: &Api, extensions: &[Describe]) -> Result<(), String> {
    for extension in extensions {
        // SAFETY: the function fills a descriptor of the version that DuckDB offers. Registering it again does nothing.
        if unsafe { (api.register_static_extension)(*extension) } != 0 {
            return Err("DuckDB does not accept the extension".to_owned());
        }
    }
    Ok(())
}

/// Fills the descriptor of an extension, which has an entry of one version of the interface. Returns DuckDB's code.
///
/// # Safety
/// `descriptor` is one that DuckDB has made. The entry has the declaration of its version.
pub unsafe fn describe(
    descriptor: *mut c_void,
    name: &'static CStr,
    api_version: &'static CStr,
    entry_v1: *const c_void,
    entry_v2: *const c_void,
) -> i32 {
    // SAFETY: the caller promises it. All later versions begin with these fields.
    let Some(descriptor) = (unsafe { descriptor.cast::<Descriptor>().as_mut() }) else { return 1 };
    if descriptor.version < 1 {
        return 1;
    }
    descriptor.version = 1;
    descriptor.name = name.as_ptr();
    descriptor.extension_version = concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast();
    descriptor.api_version = api_version.as_ptr();
    (descriptor.entry_v1, descriptor.entry_v2) = (entry_v1, entry_v2);
    0
}

/// Adds a parameter without a default to the signature of a function that is being made. `kind` is [`POSITIONAL_ONLY`]
/// or [`POSITIONAL_VARIADIC`].
///
/// # Safety
/// `signature` is that of such a function.
pub unsafe fn add_parameter(
    api: &Api,
    signature: Handle,
    name: &str,
    type_: &OwnedType,
    kind: i32,
) -> Result<(), CallbackError> {
    let (name, none) = (raw(name), std::ptr::null_mut());
    // SAFETY: the caller promises the signature; the name and the type live.
    checked(api, |error| unsafe {
        (api.v2_function_signature_add_parameter)(signature, &raw const name, type_.handle, none, kind, error)
    })
}

/// A function of DuckDB's that is being made.
pub struct MadeFunction {
    /// DuckDB's handle.
    pub handle: Handle,
    /// How it is freed.
    pub destroy: unsafe extern "C" fn(*mut Handle) -> i32,
}

impl Drop for MadeFunction {
    fn drop(&mut self) {
        // SAFETY: this owns the function, also after it was registered.
        unsafe { (self.destroy)(&raw mut self.handle) };
    }
}
