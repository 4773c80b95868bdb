//! A value of a row, by SQLite's C library. <https://www.sqlite.org/c3ref/value_blob.html>

use std::ffi::c_int;
use std::marker::PhantomData;

use libsqlite3_sys as ffi;

/// A value of the current row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell<'r> {
    Null,
    Integer(i64),
    Real(f64),
    /// In UTF-8, unless it is damaged.
    Text(&'r [u8]),
    Blob(&'r [u8]),
}

/// SQLite's storage classes. <https://www.sqlite.org/datatype3.html>
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StorageClass {
    Null,
    Integer,
    Real,
    Text,
    Blob,
}

/// A value of the current row that was not read yet.
#[derive(Clone, Copy)]
pub(super) struct RawValue<'r> {
    raw: *mut ffi::sqlite3_value,
    row: PhantomData<&'r ()>,
}

// Only this thread uses the connection, so the value can be read without protection, which saves the locks of the
// functions for columns. <https://www.sqlite.org/c3ref/value_blob.html>
impl<'r> RawValue<'r> {
    /// # Safety
    /// `raw` is a value of a row on which its statement stands as long as `'r`.
    #[inline]
    pub(super) unsafe fn of(raw: *mut ffi::sqlite3_value) -> Self {
        Self { raw, row: PhantomData }
    }

    /// The storage class of the value.
    #[inline]
    pub(super) fn storage(self) -> StorageClass {
        // SAFETY: the value is the current row's.
        match unsafe { ffi::sqlite3_value_type(self.raw) } {
            ffi::SQLITE_INTEGER => StorageClass::Integer,
            ffi::SQLITE_FLOAT => StorageClass::Real,
            ffi::SQLITE_TEXT => StorageClass::Text,
            ffi::SQLITE_NULL => StorageClass::Null,
            _ => StorageClass::Blob,
        }
    }

    #[inline]
    pub(super) fn integer(self) -> i64 {
        // SAFETY: as above.
        unsafe { ffi::sqlite3_value_int64(self.raw) }
    }

    #[inline]
    pub(super) fn real(self) -> f64 {
        // SAFETY: as above.
        unsafe { ffi::sqlite3_value_double(self.raw) }
    }

    /// In UTF-8, unless it is damaged. `None` if there was no memory for the text.
    #[inline]
    pub(super) fn text(self) -> Option<&'r [u8]> {
        // SAFETY: as above; text is asked for before its length, as the manual wants it, and stays until the next step.
        unsafe {
            let start = ffi::sqlite3_value_text(self.raw);
            bytes(start, ffi::sqlite3_value_bytes(self.raw))
        }
    }

    fn blob(self) -> Option<&'r [u8]> {
        // SAFETY: as above.
        unsafe {
            let start = ffi::sqlite3_value_blob(self.raw).cast::<u8>();
            let length = ffi::sqlite3_value_bytes(self.raw);
            // An empty blob has no address.
            if length == 0 { Some(&[]) } else { bytes(start, length) }
        }
    }

    /// The value with its storage class. `None` if there was no memory for its text.
    pub(super) fn cell(self) -> Option<Cell<'r>> {
        Some(match self.storage() {
            StorageClass::Null => Cell::Null,
            StorageClass::Integer => Cell::Integer(self.integer()),
            StorageClass::Real => Cell::Real(self.real()),
            StorageClass::Text => Cell::Text(self.text()?),
            StorageClass::Blob => Cell::Blob(self.blob()?),
        })
    }
}

/// # Safety
/// `start` is null or has `length` bytes that live as long as the caller says.
unsafe fn bytes<'r>(start: *const u8, length: c_int) -> Option<&'r [u8]> {
    let length = usize::try_from(length).ok()?;
    // SAFETY: the caller's promise.
    (!start.is_null()).then(|| unsafe { std::slice::from_raw_parts(start, length) })
}
