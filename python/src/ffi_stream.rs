//! Arrow's C stream over a function that returns arrays one by one. Unlike arrow-rs's implementation it allows arrays of
//! any type, errors with any text, and a panic in the producer.
//! <https://arrow.apache.org/docs/format/CStreamInterface.html>

use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::ArrayRef;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_data::ffi::FFI_ArrowArray;
use arrow_schema::Field;
use arrow_schema::ffi::FFI_ArrowSchema;

/// Returns the next array, or `None` after the last.
pub(crate) type Producer = Box<dyn FnMut() -> Result<Option<ArrayRef>, String> + Send>;

struct Private {
    field: Field,
    next: Producer,
    last_error: CString,
}

/// The errno of a failed read.
const EIO: c_int = 5;

/// A stream of arrays of the field's type.
pub(crate) fn export(field: Field, next: Producer) -> FFI_ArrowArrayStream {
    let private = Box::new(Private { field, next, last_error: CString::default() });
    // SAFETY: the callbacks expect a boxed `Private`, which `release` frees once.
    unsafe {
        FFI_ArrowArrayStream::new_unchecked(
            Some(schema),
            Some(next_array),
            Some(last_error),
            Some(release),
            Box::into_raw(private).cast(),
        )
    }
}

unsafe extern "C" fn schema(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowSchema) -> c_int {
    // SAFETY: the interface lets a consumer call this only on a stream that is not released, with room at `out`.
    unsafe {
        answer(stream, |private| {
            let exported = FFI_ArrowSchema::try_from(&private.field).map_err(|error| error.to_string())?;
            out.write(exported);
            Ok(())
        })
    }
}

unsafe extern "C" fn next_array(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowArray) -> c_int {
    // SAFETY: as for `schema`.
    unsafe {
        answer(stream, |private| {
            let array = (private.next)()?;
            out.write(array.map_or_else(FFI_ArrowArray::empty, |array| FFI_ArrowArray::new(&array.to_data())));
            Ok(())
        })
    }
}

unsafe extern "C" fn last_error(stream: *mut FFI_ArrowArrayStream) -> *const c_char {
    // SAFETY: as for `schema`; the text lives until the next call.
    unsafe { private(stream).last_error.as_ptr() }
}

unsafe extern "C" fn release(stream: *mut FFI_ArrowArrayStream) {
    // SAFETY: called once, on a valid stream.
    unsafe {
        let owner = (*stream).set_private_data(std::ptr::null_mut());
        (*stream).set_release(None);
        // A panic in a destructor must not cross into C.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(owner.cast::<Private>()))));
    }
}

/// # Safety
/// `stream` is one of [`export`], not released, and nobody else uses it now.
unsafe fn private<'a>(stream: *mut FFI_ArrowArrayStream) -> &'a mut Private {
    // SAFETY: the caller's promise.
    unsafe { &mut *(*stream).private_data().cast::<c_void>().cast() }
}

/// # Safety
/// As for [`private`].
unsafe fn answer(stream: *mut FFI_ArrowArrayStream, work: impl FnOnce(&mut Private) -> Result<(), String>) -> c_int {
    // SAFETY: the caller's promise.
    let private = unsafe { private(stream) };
    let done = catch_unwind(AssertUnwindSafe(|| work(&mut *private)));
    let message = match done {
        Ok(Ok(())) => return 0,
        Ok(Err(message)) => message,
        Err(_) => "a defect in colonnade; please report it".to_owned(),
    };
    private.last_error = CString::new(message.replace('\0', " ")).unwrap_or_default();
    EIO
}
