//! DuckDB's handles and errors.

use std::any::Any;
use std::collections::HashMap;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::symbols::{Api, Code, Handle, Opaque, RawText};

/// `DUCKDB_V2_ERROR_QUERY_BINDER`, `_QUERY_EXECUTOR` and `_RUNTIME_INTERRUPT`. After an internal or fatal error DuckDB
/// closes the database, so no error here is one.
pub const BINDER: Code = 5003;
/// See [`BINDER`].
pub const EXECUTOR: Code = 5007;
/// See [`BINDER`].
pub const INTERRUPT: Code = 8003;
/// `DUCKDB_V2_ERROR_INPUT_PARAMETER_INVALID`: a function gave a value that its type does not have.
pub const INVALID_VALUE: Code = 2002;
/// Most names of types are shorter.
const MOST_TYPE_BYTES: usize = 256;
/// The longest name that a call takes: an ENUM of tens of thousands of texts. A call has up to 100 types, and each plan
/// keeps them.
const LONGEST_TYPE_BYTES: usize = 1 << 20;
/// How many types are remembered, and the longest name. A function that decides its columns may name any type.
const MAX_TYPES: usize = 1000;
const MAX_TYPE_NAME: usize = 200;
const INTERNAL: Code = 8001;
const FATAL: Code = 8002;

/// What a callback reports to DuckDB.
#[derive(Debug)]
pub struct CallbackError {
    /// DuckDB's error code.
    pub code: Code,
    /// The message.
    pub text: String,
}

impl CallbackError {
    /// A call that cannot be bound.
    pub fn bind(text: impl Into<String>) -> Self {
        Self { code: BINDER, text: text.into() }
    }

    /// A call that has failed.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { code: EXECUTOR, text: text.into() }
    }
}

impl From<&'static str> for CallbackError {
    fn from(text: &'static str) -> Self {
        Self::failed(text)
    }
}

/// A text as DuckDB takes it. It must not outlive the text.
pub fn raw(text: &str) -> RawText {
    RawText { bytes: text.as_ptr(), length: text.len() as u64 }
}

/// Runs a callback. An error, or a panic, which must not unwind into DuckDB, becomes DuckDB's error.
///
/// # Safety
/// `slot` is the error of a callback: it points to a live error.
pub unsafe fn report(slot: *mut Handle, work: impl FnOnce(&'static Api) -> Result<(), CallbackError>) {
    let Ok(api) = Api::loaded() else { return };
    let result = catch_unwind(AssertUnwindSafe(|| work(api)));
    let error = match result {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error,
        Err(panic) => CallbackError { code: EXECUTOR, text: panic_text(panic.as_ref()) },
    };
    let text = raw(&error.text);
    // SAFETY: the caller promises that the slot has an error, and the text lives until the call has copied it.
    unsafe {
        (api.v2_error_info_set_code)(*slot, if matches!(error.code, INTERNAL | FATAL) { EXECUTOR } else { error.code });
        (api.v2_error_info_set_text)(*slot, &raw const text);
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("internal error in functions: {}", text.unwrap_or("unknown"))
}

/// Calls a function of DuckDB, whose last argument is the place of an error.
pub fn checked(api: &Api, call: impl FnOnce(*mut Handle) -> Code) -> Result<(), CallbackError> {
    let mut error: Handle = ptr::null_mut();
    let code = call(&raw mut error);
    if code == 0 {
        return Ok(());
    }
    let mut text = RawText { bytes: ptr::null(), length: 0 };
    // SAFETY: the error is one that DuckDB has made, or null, which these functions accept.
    let text = unsafe {
        (api.v2_error_info_get_text)(error, &raw mut text);
        let owned = copied(&text);
        (api.v2_error_info_destroy)(&raw mut error);
        owned
    };
    Err(CallbackError { code, text })
}

/// A copy of a text of DuckDB's.
///
/// # Safety
/// The text is one that DuckDB has given, and its owner lives.
pub unsafe fn copied(text: &RawText) -> String {
    if text.bytes.is_null() {
        return String::new();
    }
    // SAFETY: the caller promises it.
    let bytes = unsafe { std::slice::from_raw_parts(text.bytes, text.length as usize) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// A type that this side owns.
pub struct OwnedType {
    api: &'static Api,
    /// DuckDB's handle.
    pub handle: Handle,
}

impl OwnedType {
    /// Takes a type that `make` writes to its first argument.
    pub fn new(api: &'static Api, make: impl FnOnce(*mut Handle, *mut Handle) -> Code) -> Result<Self, CallbackError> {
        let mut handle = ptr::null_mut();
        checked(api, |error| make(&raw mut handle, error))?;
        Ok(Self { api, handle })
    }

    /// The type that a context means by a text.
    ///
    /// # Safety
    /// The context is that of a callback that runs.
    pub unsafe fn parse(api: &'static Api, context: Handle, text: &str) -> Result<Self, CallbackError> {
        let mut factory = ptr::null_mut();
        // SAFETY: the caller promises the context.
        checked(api, |error| unsafe { (api.v2_context_get_factory)(context, &raw mut factory, error) })?;
        let text = raw(text);
        // SAFETY: the factory belongs to the context; the text lives.
        Self::new(api, |out, error| unsafe {
            (api.v2_factory_create_type_from_text)(factory, &raw const text, out, error)
        })
    }
}

impl OwnedType {
    /// Its name, as `typeof` gives it.
    pub fn text(&self) -> Result<String, CallbackError> {
        let api = self.api;
        let mut bytes = vec![0; MOST_TYPE_BYTES];
        loop {
            let (mut length, capacity) = (0, bytes.len());
            // SAFETY: this owns the type; DuckDB writes at most as many bytes as there are, and gives the length of the
            // name.
            let read = checked(api, |error| unsafe {
                let place = bytes.as_mut_ptr().cast();
                (api.v2_logical_type_to_text)(self.handle, place, capacity as u64, &raw mut length, error)
            });
            match read {
                // A zero is behind the name.
                Ok(()) if (length as usize) < capacity => {
                    bytes.truncate(length as usize);
                    return String::from_utf8(bytes).map_err(|_| "the name of a type is not UTF-8".into());
                }
                // That there is no room is an error.
                _ if capacity < LONGEST_TYPE_BYTES => bytes.resize(capacity * 8, 0),
                _ => {
                    let text = "the name of an argument's type is longer than 1 MiB; cast the argument to VARCHAR";
                    return Err(CallbackError::bind(text));
                }
            }
        }
    }
}

impl Drop for OwnedType {
    fn drop(&mut self) {
        // SAFETY: this owns the type.
        unsafe { (self.api.v2_logical_type_destroy)(&raw mut self.handle) };
    }
}

// SAFETY: nothing changes a type after it was made, and DuckDB counts references to it atomically.
unsafe impl Send for OwnedType {}
// SAFETY: as above.
unsafe impl Sync for OwnedType {}

/// Types by their names. DuckDB's parser takes 30 us for one, which is a third of the time of a short call.
#[derive(Default)]
pub struct KnownTypes(Mutex<HashMap<String, Arc<OwnedType>>>);

impl KnownTypes {
    /// The type that a text means in a context. The types of functions are written out and built in, so that they mean
    /// the same in each context; only JSON may be the name of another type.
    ///
    /// # Safety
    /// The context is that of a callback that runs.
    pub unsafe fn parse(
        &self,
        api: &'static Api,
        context: Handle,
        text: &str,
    ) -> Result<Arc<OwnedType>, CallbackError> {
        if text.contains("JSON") {
            // SAFETY: the caller promises the context.
            return unsafe { OwnedType::parse(api, context, text) }.map(Arc::new);
        }
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(text) {
            return Ok(Arc::clone(found));
        }
        // SAFETY: as above.
        let parsed = Arc::new(unsafe { OwnedType::parse(api, context, text) }?);
        let mut known = known();
        if known.len() >= MAX_TYPES {
            known.clear();
        }
        if text.len() <= MAX_TYPE_NAME {
            known.insert(text.to_owned(), Arc::clone(&parsed));
        }
        drop(known);
        Ok(parsed)
    }
}

unsafe extern "C" fn drop_object<T>(object: *mut c_void) {
    // SAFETY: `owned` has made the object, and DuckDB destroys it once. A panic of a destructor must not unwind into
    // DuckDB.
    let _ = catch_unwind(AssertUnwindSafe(|| unsafe { drop(Box::from_raw(object.cast::<T>())) }));
}

/// An object that DuckDB keeps and destroys.
pub fn owned<T>(object: T) -> Opaque {
    Opaque { object: Box::into_raw(Box::new(object)).cast(), destroy: Some(drop_object::<T>), equals: None }
}

/// The object that DuckDB keeps under a place.
///
/// # Safety
/// `read` gives null, or an object that `owned` has made from a T, and no other reference to it changes it meanwhile.
pub unsafe fn object<'a, T>(
    api: &Api,
    read: impl FnOnce(*mut *mut c_void, *mut Handle) -> Code,
) -> Result<&'a mut T, CallbackError> {
    let mut pointer = ptr::null_mut();
    checked(api, |error| read(&raw mut pointer, error))?;
    // SAFETY: the caller promises it.
    unsafe { pointer.cast::<T>().as_mut() }.ok_or_else(|| "DuckDB has no data for a function".into())
}
