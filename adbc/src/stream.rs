//! Rows as Arrow's C stream, whose errors have a status and a SQLSTATE. No panic crosses the interface.
//! <https://arrow.apache.org/docs/format/CStreamInterface.html>

use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use adbc_core::constants::ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA;
use adbc_core::error::{AdbcStatusCode, Error, Result, Status};
use adbc_ffi::FFI_AdbcError;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, StructArray};
use arrow_data::ffi::FFI_ArrowArray;
use arrow_schema::ffi::FFI_ArrowSchema;

use crate::error::refused;
use crate::rows::Rows;

/// errno's numbers for a failed read and for a cancelled one.
const EIO: c_int = 5;
const ECANCELED: c_int = 125;

struct Private {
    rows: Rows,
    last: Option<LastError>,
}

/// The last error, in the forms of both interfaces.
struct LastError {
    message: CString,
    status: AdbcStatusCode,
    error: FFI_AdbcError,
}

/// A C stream of the rows.
pub(crate) fn export(rows: Rows) -> FFI_ArrowArrayStream {
    let private = Box::new(Private { rows, last: None });
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

/// ADBC's `ErrorFromArrayStream`: the error of the last call on a stream of [`export`], which lives as long as the stream or until its next
/// call; null for other streams and without an error.
///
/// # Safety
/// `stream` is null or a valid stream that nobody else uses now, `status` is null or has room for a status.
pub(crate) unsafe extern "C" fn error_from_array_stream(
    stream: *mut FFI_ArrowArrayStream,
    status: *mut AdbcStatusCode,
) -> *const FFI_AdbcError {
    // SAFETY: the caller's promise.
    let is_ours = unsafe { stream.as_ref() }
        .and_then(FFI_ArrowArrayStream::release)
        .is_some_and(|found| std::ptr::fn_addr_eq(found, release as unsafe extern "C" fn(*mut FFI_ArrowArrayStream)));
    if !is_ours {
        return std::ptr::null();
    }
    // SAFETY: only streams of `export` have this release callback, and lose it when they are released.
    let Some(last) = (unsafe { &private(stream).last }) else { return std::ptr::null() };
    if !status.is_null() {
        // SAFETY: the caller's promise.
        unsafe { status.write(last.status) };
    }
    &raw const last.error
}

unsafe extern "C" fn schema(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowSchema) -> c_int {
    // SAFETY: the interface lets a consumer call this only on a stream that is not released, with room at `out`.
    unsafe {
        answer(stream, |rows| {
            let exported = FFI_ArrowSchema::try_from(rows.schema().as_ref())?;
            out.write(exported);
            Ok(())
        })
    }
}

unsafe extern "C" fn next_array(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowArray) -> c_int {
    // SAFETY: as for `schema`.
    unsafe {
        answer(stream, |rows| {
            let batch = rows.next_batch()?.map(StructArray::from);
            out.write(batch.map_or_else(FFI_ArrowArray::empty, |batch| FFI_ArrowArray::new(&batch.to_data())));
            Ok(())
        })
    }
}

unsafe extern "C" fn last_error(stream: *mut FFI_ArrowArrayStream) -> *const c_char {
    // SAFETY: as for `schema`; the text lives until the next call.
    unsafe { private(stream) }.last.as_ref().map_or(std::ptr::null(), |last| last.message.as_ptr())
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
    unsafe { &mut *(*stream).private_data().cast() }
}

/// # Safety
/// As for [`private`].
unsafe fn answer(stream: *mut FFI_ArrowArrayStream, work: impl FnOnce(&Rows) -> Result<()>) -> c_int {
    // SAFETY: the caller's promise.
    let private = unsafe { private(stream) };
    private.last = None;
    let done = catch_unwind(AssertUnwindSafe(|| work(&private.rows)));
    let defect = || Err(refused(Status::Internal, "a defect in Colonnade's driver; please report it"));
    let Err(error) = done.unwrap_or_else(|_| defect()) else { return 0 };
    let errno = if error.status == Status::Cancelled { ECANCELED } else { EIO };
    private.last = Some(LastError::new(error));
    errno
}

impl LastError {
    fn new(error: Error) -> Self {
        let status = error.status.into();
        // Messages of errors have no NUL; without one, nothing here fails.
        let message = CString::new(error.message.replace('\0', " ")).unwrap_or_default();
        let mut error = FFI_AdbcError::try_from(error).unwrap_or_else(Into::into);
        error.vendor_code = ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA;
        Self { message, status, error }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::ffi::CStr;
    use std::sync::Arc;

    use arrow_array::{Int32Array, RecordBatch, RecordBatchReader as _};
    use colonnade_client::{self as client, Batch, ErrorKind, Keep, ResultStream, Stats};

    use super::*;

    /// One batch, then an error or a panic.
    struct Broken(Option<RecordBatch>, arrow_schema::SchemaRef, bool);

    impl ResultStream for Broken {
        fn schema(&self) -> &arrow_schema::SchemaRef {
            &self.1
        }

        fn next(&mut self, _: Keep<'_>) -> std::result::Result<Option<Batch>, client::Error> {
            assert!(self.0.is_some() || !self.2, "a panic");
            let error = || client::Error::new(ErrorKind::Database, "division by zero").with_sqlstate("22012");
            self.0.take().map(|batch| Some(batch.into())).ok_or_else(error)
        }

        fn stats(&self) -> Stats {
            Stats::default()
        }
    }

    fn broken(panics: bool) -> FFI_ArrowArrayStream {
        let batch = RecordBatch::try_from_iter([("i", Arc::new(Int32Array::from(vec![1, 2])) as _)]).unwrap();
        let schema = batch.schema();
        export(Rows::streamed(Box::new(Broken(Some(batch), schema, panics))).unwrap())
    }

    fn pull(stream: &mut FFI_ArrowArrayStream) -> (c_int, FFI_ArrowArray) {
        let (next, mut array) = (stream.get_next().unwrap(), FFI_ArrowArray::empty());
        // SAFETY: the stream is valid and not released.
        let errno = unsafe { next(stream, &raw mut array) };
        (errno, array)
    }

    #[test]
    fn an_error_of_a_stream_has_its_sqlstate() {
        let mut stream = broken(false);
        assert_eq!(pull(&mut stream).0, 0);
        let mut status = 0;
        // SAFETY: the stream is valid, and so is the error that it gives.
        unsafe {
            assert!(error_from_array_stream(&raw mut stream, &raw mut status).is_null());
            for _ in 0..2 {
                assert_eq!(pull(&mut stream).0, EIO);
                let error = &*error_from_array_stream(&raw mut stream, &raw mut status);
                assert_eq!(status, AdbcStatusCode::from(Status::InvalidData));
                assert_eq!(error.sqlstate.map(|byte| byte as u8), *b"22012");
                assert_eq!(CStr::from_ptr(error.message).to_str().unwrap(), "division by zero");
                let text = stream.get_last_error().unwrap()(&raw mut stream);
                assert_eq!(CStr::from_ptr(text).to_str().unwrap(), "division by zero");
            }
        }
    }

    #[test]
    fn a_panic_is_an_error() {
        let mut stream = broken(true);
        assert_eq!(pull(&mut stream).0, 0);
        assert_eq!(pull(&mut stream).0, EIO);
        let mut status = 0;
        // SAFETY: the stream is valid.
        assert!(!unsafe { error_from_array_stream(&raw mut stream, &raw mut status) }.is_null());
        assert_eq!(status, AdbcStatusCode::from(Status::Internal));
    }

    #[test]
    fn a_stream_of_others_has_no_error_here() {
        let batch = RecordBatch::try_from_iter([("i", Arc::new(Int32Array::from(vec![1])) as _)]).unwrap();
        let rows = Rows::collected(batch.schema(), vec![batch]).unwrap();
        assert_eq!(rows.schema().fields().len(), 1);
        let reader: Box<dyn arrow_array::RecordBatchReader + Send> = Box::new(rows);
        assert_eq!(reader.schema().fields().len(), 1);
        let mut stream = FFI_ArrowArrayStream::new(reader);
        // SAFETY: the stream is valid, and an empty one and null are what the function takes.
        unsafe {
            assert!(error_from_array_stream(&raw mut stream, std::ptr::null_mut()).is_null());
            assert!(error_from_array_stream(&mut FFI_ArrowArrayStream::empty(), std::ptr::null_mut()).is_null());
            assert!(error_from_array_stream(std::ptr::null_mut(), std::ptr::null_mut()).is_null());
        }
    }
}
