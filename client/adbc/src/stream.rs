//! Rows as Arrow's C stream, whose errors have a status and a SQLSTATE.

use std::ffi::{CStr, CString, c_int};

use adbc_core::constants::ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA;
use adbc_core::error::{AdbcStatusCode, Error, Status};
use adbc_ffi::FFI_AdbcError;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, StructArray};
use arrow_data::ArrayData;
use arrow_schema::ffi::FFI_ArrowSchema;
use colonnade_client::export::{ArrayProducer, ECANCELED, EIO, StreamFailure, c_message, last_failure, stream};

use crate::error::refused;
use crate::rows::Rows;

/// An error of a stream, in the forms of both interfaces.
pub(crate) struct RowsFailure {
    message: CString,
    status: Status,
    error: FFI_AdbcError,
}

/// A C stream of the rows.
pub(crate) fn export(rows: Rows) -> FFI_ArrowArrayStream {
    stream(rows)
}

/// ADBC's `ErrorFromArrayStream`: the error of the last call on a stream of [`export`], which lives as long as the
/// stream or until its next call; null for other streams and without an error.
///
/// # Safety
/// `stream` is null or a valid stream that nobody else uses now, `status` is null or has room for a status.
pub(crate) unsafe extern "C" fn error_from_array_stream(
    stream: *mut FFI_ArrowArrayStream,
    status: *mut AdbcStatusCode,
) -> *const FFI_AdbcError {
    // SAFETY: the caller's promise.
    let Some(failure) = (unsafe { last_failure::<RowsFailure>(stream) }) else { return std::ptr::null() };
    if !status.is_null() {
        // SAFETY: the caller's promise.
        unsafe { status.write(failure.status.into()) };
    }
    &raw const failure.error
}

impl ArrayProducer for Rows {
    type Failure = RowsFailure;

    fn schema(&self) -> Result<FFI_ArrowSchema, RowsFailure> {
        FFI_ArrowSchema::try_from(Rows::schema(self).as_ref()).map_err(|error| RowsFailure::new(error.into()))
    }

    fn next(&mut self) -> Result<Option<ArrayData>, RowsFailure> {
        let batch = self.next_batch().map_err(RowsFailure::new)?;
        Ok(batch.map(|batch| StructArray::from(batch).to_data()))
    }
}

impl StreamFailure for RowsFailure {
    fn panicked() -> Self {
        Self::new(refused(Status::Internal, "a defect in Colonnade's driver; please report it"))
    }

    fn errno(&self) -> c_int {
        if self.status == Status::Cancelled { ECANCELED } else { EIO }
    }

    fn message(&self) -> &CStr {
        &self.message
    }
}

impl RowsFailure {
    fn new(error: Error) -> Self {
        let (message, status) = (c_message(&text(&error)), error.status);
        // Messages of errors have no NUL; without one, nothing here fails.
        let mut error = FFI_AdbcError::try_from(error).unwrap_or_else(Into::into);
        error.vendor_code = ADBC_ERROR_VENDOR_CODE_PRIVATE_DATA;
        Self { message, status, error }
    }
}

/// The error's text for readers that know Arrow's interface alone, such as Go's: with the SQLSTATE, which that
/// interface lacks.
fn text(error: &Error) -> String {
    match error.sqlstate.map(|byte| byte as u8) {
        [0, ..] => error.message.clone(),
        sqlstate => format!("{} (SQLSTATE {})", error.message, String::from_utf8_lossy(&sqlstate)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::ffi::CStr;
    use std::sync::Arc;

    use arrow_array::{Int32Array, RecordBatch, RecordBatchReader as _};
    use arrow_data::ffi::FFI_ArrowArray;
    use colonnade_client::{self as client, Batch, ContinueCheck, ErrorKind, ResultStream, Stats};

    use super::*;

    /// One batch, then an error or a panic.
    struct Broken(Option<RecordBatch>, arrow_schema::SchemaRef, bool);

    impl ResultStream for Broken {
        fn schema(&self) -> &arrow_schema::SchemaRef {
            &self.1
        }

        fn next(&mut self, _: ContinueCheck<'_>) -> std::result::Result<Option<Batch>, client::Error> {
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
                assert_eq!(CStr::from_ptr(text).to_str().unwrap(), "division by zero (SQLSTATE 22012)");
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
