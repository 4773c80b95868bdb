//! Arrow's C stream over a producer. Unlike arrow-rs's implementation it allows arrays of any type, errors with any
//! text and a number, and a panic in the producer. <https://arrow.apache.org/docs/format/CStreamInterface.html>

use std::any::Any;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_data::ArrayData;
use arrow_data::ffi::FFI_ArrowArray;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema};

use crate::{Error, ErrorKind};

/// The most levels of a column. Arrow C++ and pyarrow import 64 levels, of which the table is one.
/// <https://github.com/apache/arrow/blob/main/cpp/src/arrow/c/bridge.cc> (`kMaxImportRecursionLevel`)
const MAX_DEPTH: usize = 63;

/// The errno of a failed read.
pub const EIO: c_int = 5;

/// The errno of a cancelled read, which differs between operating systems.
pub const ECANCELED: c_int = crate::system::CANCELED;

/// Produces the arrays of a stream, one by one.
pub trait ArrayProducer: Send + 'static {
    /// The error of this producer.
    type Failure: StreamFailure;

    /// The type of the arrays.
    ///
    /// # Errors
    /// Arrow's C interface cannot carry it.
    fn schema(&self) -> Result<FFI_ArrowSchema, Self::Failure>;

    /// The next array, or `None` after the last.
    ///
    /// # Errors
    /// Those of the producer.
    fn next(&mut self) -> Result<Option<ArrayData>, Self::Failure>;
}

/// An error in the forms of the interface.
pub trait StreamFailure: 'static {
    /// The error of a producer that has panicked.
    fn panicked() -> Self;

    /// The error's number.
    fn errno(&self) -> c_int;

    /// The error's text.
    fn message(&self) -> &CStr;
}

/// Checks that the readers of Arrow's C interface take these columns.
///
/// # Errors
/// A name or a time zone has a NUL, which ends a text there, or a column has too many levels.
pub fn check_schema(schema: &Schema) -> Result<(), Error> {
    schema.fields().iter().try_for_each(|column| check_field(column, column.name(), 1))
}

fn check_field(field: &Field, column: &str, depth: usize) -> Result<(), Error> {
    let refused = |message: String, hint: &str| Err(Error::new(ErrorKind::Unsupported, message).with_hint(hint));
    if depth > MAX_DEPTH {
        let message = format!(
            "column {column:?} is nested more than {MAX_DEPTH} levels deep, which Arrow's libraries do not read"
        );
        return refused(message, "cast it to text, or divide it into several columns");
    }
    if field.name().contains('\0') {
        let message = format!("the result has a column {:?}, and Arrow's names cannot hold a NUL", field.name());
        return refused(message, "give it another name in the query");
    }
    match field.data_type() {
        DataType::Timestamp(_, Some(zone)) if zone.contains('\0') => {
            let message = format!("column {column:?} has the time zone {zone:?}, and Arrow's names cannot hold a NUL");
            refused(message, "cast it to text, or to a timestamp without a time zone")
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => check_field(item, column, depth + 1),
        DataType::Struct(fields) => fields.iter().try_for_each(|field| check_field(field, column, depth + 1)),
        DataType::Dictionary(_, values) => {
            check_field(&Field::new("values", values.as_ref().clone(), true), column, depth + 1)
        }
        _ => Ok(()),
    }
}

/// A C string of an error's text. A C string ends at a NUL, so a space replaces it.
pub fn c_message(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// A C stream of the producer's arrays.
pub fn stream<P: ArrayProducer>(producer: P) -> FFI_ArrowArrayStream {
    let exported: Box<dyn AnyExported> = Box::new(Exported { producer, failure: None });
    // SAFETY: the callbacks expect a boxed `Box<dyn AnyExported>`, which `release` frees once.
    unsafe {
        FFI_ArrowArrayStream::new_unchecked(
            Some(schema),
            Some(next_array),
            Some(last_error),
            Some(release),
            Box::into_raw(Box::new(exported)).cast(),
        )
    }
}

/// The error of the last call on a stream of [`stream`] whose producer has this type of errors. It lives until the
/// stream's next call. `None` for other streams and without an error.
///
/// # Safety
/// `stream` is null or a valid stream that nobody else uses now.
pub unsafe fn last_failure<'a, F: StreamFailure>(stream: *mut FFI_ArrowArrayStream) -> Option<&'a F> {
    // SAFETY: the caller's promise.
    let found = unsafe { stream.as_ref() }?.release()?;
    if !std::ptr::fn_addr_eq(found, release as unsafe extern "C" fn(*mut FFI_ArrowArrayStream)) {
        return None;
    }
    // SAFETY: only streams of this file have this release callback, and lose it when they are released.
    unsafe { exported(stream) }.failure()?.downcast_ref()
}

struct Exported<P: ArrayProducer> {
    producer: P,
    failure: Option<P::Failure>,
}

/// What the callbacks need of any [`Exported`]. An error is its number.
trait AnyExported {
    fn schema(&mut self) -> Result<FFI_ArrowSchema, c_int>;
    fn next(&mut self) -> Result<FFI_ArrowArray, c_int>;
    fn message(&self) -> Option<&CStr>;
    fn failure(&self) -> Option<&dyn Any>;
}

impl<P: ArrayProducer> Exported<P> {
    fn answer<T>(&mut self, work: impl FnOnce(&mut P) -> Result<T, P::Failure>) -> Result<T, c_int> {
        self.failure = None;
        let done = catch_unwind(AssertUnwindSafe(|| work(&mut self.producer)));
        let failure = match done {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(failure)) => failure,
            Err(_) => P::Failure::panicked(),
        };
        Err(self.failure.insert(failure).errno())
    }
}

impl<P: ArrayProducer> AnyExported for Exported<P> {
    fn schema(&mut self) -> Result<FFI_ArrowSchema, c_int> {
        self.answer(|producer| producer.schema())
    }

    fn next(&mut self) -> Result<FFI_ArrowArray, c_int> {
        self.answer(|producer| {
            Ok(producer.next()?.map_or_else(FFI_ArrowArray::empty, |array| FFI_ArrowArray::new(&array)))
        })
    }

    fn message(&self) -> Option<&CStr> {
        self.failure.as_ref().map(StreamFailure::message)
    }

    fn failure(&self) -> Option<&dyn Any> {
        self.failure.as_ref().map(|failure| failure as &dyn Any)
    }
}

unsafe extern "C" fn schema(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowSchema) -> c_int {
    // SAFETY: the interface lets a consumer call this only on a stream that is not released, with room at `out`.
    unsafe { write(exported(stream).schema(), out) }
}

unsafe extern "C" fn next_array(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowArray) -> c_int {
    // SAFETY: as for `schema`.
    unsafe { write(exported(stream).next(), out) }
}

unsafe extern "C" fn last_error(stream: *mut FFI_ArrowArrayStream) -> *const c_char {
    // SAFETY: as for `schema`; the text lives until the next call.
    unsafe { exported(stream) }.message().map_or(std::ptr::null(), CStr::as_ptr)
}

/// Its address identifies the streams of this file, so it must not be copied into its callers.
#[inline(never)]
unsafe extern "C" fn release(stream: *mut FFI_ArrowArrayStream) {
    // SAFETY: called once, on a valid stream.
    unsafe {
        let owner = (*stream).set_private_data(std::ptr::null_mut());
        (*stream).set_release(None);
        // A panic in a destructor must not cross into C.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(owner.cast::<Box<dyn AnyExported>>()))));
    }
}

/// # Safety
/// `stream` is one of [`stream`], not released, and nobody else uses it now.
unsafe fn exported<'a>(stream: *mut FFI_ArrowArrayStream) -> &'a mut dyn AnyExported {
    // SAFETY: the caller's promise.
    unsafe { (*(*stream).private_data().cast::<Box<dyn AnyExported>>()).as_mut() }
}

/// # Safety
/// `out` has room for a value.
unsafe fn write<T>(answer: Result<T, c_int>, out: *mut T) -> c_int {
    match answer {
        Ok(value) => {
            // SAFETY: the caller's promise.
            unsafe { out.write(value) };
            0
        }
        Err(errno) => errno,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use std::sync::Arc;

    use arrow_array::{Array, Int32Array};
    use arrow_schema::{DataType, Field};

    use super::*;

    struct Numbered(c_int, CString);

    impl StreamFailure for Numbered {
        fn panicked() -> Self {
            Self(EIO, c"a panic".to_owned())
        }

        fn errno(&self) -> c_int {
            self.0
        }

        fn message(&self) -> &CStr {
            &self.1
        }
    }

    /// Gives arrays, fails with a number, or panics. It shows whether it is released.
    struct Countdown(Vec<Option<c_int>>, #[expect(dead_code, reason = "only counted")] Arc<()>);

    impl ArrayProducer for Countdown {
        type Failure = Numbered;

        fn schema(&self) -> Result<FFI_ArrowSchema, Numbered> {
            FFI_ArrowSchema::try_from(Field::new("i", DataType::Int32, false)).map_err(|_| Numbered::panicked())
        }

        fn next(&mut self) -> Result<Option<ArrayData>, Numbered> {
            match self.0.pop() {
                None => Ok(None),
                Some(None) => Ok(Some(Int32Array::from(vec![7]).to_data())),
                Some(Some(0)) => panic!("as asked"),
                Some(Some(errno)) => Err(Numbered(errno, c_message("it\0failed"))),
            }
        }
    }

    /// A failure of another type, with the same layout.
    struct Other(c_int, CString);

    impl StreamFailure for Other {
        fn panicked() -> Self {
            Self(EIO, CString::default())
        }

        fn errno(&self) -> c_int {
            self.0
        }

        fn message(&self) -> &CStr {
            &self.1
        }
    }

    fn pull(stream: &mut FFI_ArrowArrayStream) -> (c_int, FFI_ArrowArray) {
        let (next, mut array) = (stream.get_next().unwrap(), FFI_ArrowArray::empty());
        // SAFETY: the stream is valid and not released.
        let errno = unsafe { next(stream, &raw mut array) };
        (errno, array)
    }

    fn message(stream: &mut FFI_ArrowArrayStream) -> Option<String> {
        // SAFETY: the stream is valid, and its text lives until its next call.
        unsafe {
            let text = stream.get_last_error().unwrap()(stream);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_str().unwrap().to_owned())
        }
    }

    #[test]
    fn arrays_and_then_the_end() {
        let held = Arc::new(());
        let mut stream = stream(Countdown(vec![None, None], held.clone()));
        let (schema, mut field) = (stream.get_schema().unwrap(), FFI_ArrowSchema::empty());
        // SAFETY: the stream is valid and not released.
        assert_eq!(unsafe { schema(&raw mut stream, &raw mut field) }, 0);
        assert_eq!(DataType::try_from(&field).unwrap(), DataType::Int32);
        for _ in 0..2 {
            let (errno, array) = pull(&mut stream);
            assert_eq!((errno, array.is_released(), array.len()), (0, false, 1));
        }
        for _ in 0..2 {
            let (errno, array) = pull(&mut stream);
            assert_eq!((errno, array.is_released()), (0, true));
        }
        assert_eq!(message(&mut stream), None);
        assert_eq!(Arc::strong_count(&held), 2);
        drop(stream);
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn an_error_lasts_until_the_next_call() {
        let mut stream = stream(Countdown(vec![None, Some(71), Some(0)], Arc::default()));
        // SAFETY: the stream is valid, and the failures are not used after its next call.
        unsafe {
            assert_eq!(pull(&mut stream).0, EIO);
            assert_eq!(last_failure::<Numbered>(&raw mut stream).unwrap().1.as_c_str(), c"a panic");
            assert_eq!(pull(&mut stream).0, 71);
            assert_eq!(last_failure::<Numbered>(&raw mut stream).unwrap().0, 71);
            assert_eq!(message(&mut stream).as_deref(), Some("it failed"));
            assert!(last_failure::<Other>(&raw mut stream).is_none());
            assert_eq!(pull(&mut stream).0, 0);
            assert!(last_failure::<Numbered>(&raw mut stream).is_none());
        }
    }

    #[test]
    fn other_streams_have_no_failure_here() {
        let mut empty = FFI_ArrowArrayStream::empty();
        // SAFETY: an empty stream and null are what the function takes.
        unsafe {
            assert!(last_failure::<Numbered>(&raw mut empty).is_none());
            assert!(last_failure::<Numbered>(std::ptr::null_mut()).is_none());
        }
    }
}
