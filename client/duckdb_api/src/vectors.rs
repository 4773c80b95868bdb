//! Vectors of DuckDB, as a function gets them.

use std::ptr;

use crate::handles::{CallbackError, checked};
use crate::symbols::{Api, Handle, View};

/// The kinds of vectors (`DUCKDB_V2_VECTOR_TYPE`).
const OTHER: i32 = 0;
/// The kind of a vector with one value for all rows.
pub const CONSTANT: i32 = 2;

/// The bit by which DuckDB's order of UUIDs differs from that of numbers.
pub const UUID_ORDER: u128 = 1 << 127;

/// The longest text that is stored within its value.
pub const INLINE: usize = 12;
/// The bytes of a text's value.
const TEXT_BYTES: usize = 16;

/// A vector that may be read. What loops over rows call is inlined into them, which are in another crate.
pub struct VectorValues {
    api: &'static Api,
    vector: Handle,
    view: View,
    /// Whether it has one value for all rows.
    pub is_constant: bool,
}

impl VectorValues {
    /// The values of a vector, which is flattened if it is neither flat nor constant nor a dictionary.
    ///
    /// # Safety
    /// The vector is an argument of a callback that runs, or a child of one.
    pub unsafe fn new(api: &'static Api, vector: Handle) -> Result<Self, CallbackError> {
        let mut kind = OTHER;
        // SAFETY: the caller promises the vector.
        checked(api, |error| unsafe { (api.v2_vector_get_vector_type)(vector, &raw mut kind, error) })?;
        if kind == OTHER {
            // SAFETY: as above.
            checked(api, |error| unsafe { (api.v2_vector_flatten)(vector, error) })?;
        }
        let mut view = View { data: ptr::null(), validity: ptr::null(), selection: ptr::null(), count: 0 };
        // SAFETY: as above.
        checked(api, |error| unsafe { (api.v2_vector_get_view)(vector, &raw mut view, error) })?;
        Ok(Self { api, vector, view, is_constant: kind == CONSTANT })
    }

    /// Flat values, whose children have the same rows. DuckDB may free the memory that the vector had before, so `self`
    /// and other views of the vector must not be read any more.
    pub fn flattened(&self) -> Result<Self, CallbackError> {
        // SAFETY: the vector is an argument of a callback that runs, or a child of one.
        checked(self.api, |error| unsafe { (self.api.v2_vector_flatten)(self.vector, error) })?;
        // SAFETY: as above.
        unsafe { Self::new(self.api, self.vector) }
    }

    /// The values of a vector below this one, which is flat.
    pub fn child(&self, index: u64) -> Result<Self, CallbackError> {
        let mut child = ptr::null_mut();
        // SAFETY: as above.
        checked(self.api, |error| unsafe {
            (self.api.v2_vector_get_child)(self.vector, index, &raw mut child, error)
        })?;
        // SAFETY: as above.
        unsafe { Self::new(self.api, child) }?.flattened()
    }

    /// Whether entry i is row i.
    #[inline]
    pub fn is_flat(&self) -> bool {
        self.view.selection.is_null()
    }

    /// Whether there are values, and not only children.
    #[inline]
    pub fn has_memory(&self) -> bool {
        !self.view.data.is_null()
    }

    /// Whether no row is NULL for certain.
    #[inline]
    pub fn has_no_null(&self) -> bool {
        self.view.validity.is_null()
    }

    /// The entry of a row of the vector. Entries are what `value` and `is_valid` take.
    #[inline]
    pub fn entry(&self, row: usize) -> usize {
        if self.view.selection.is_null() {
            return row;
        }
        // SAFETY: a vector's selection has an entry for each of its rows; a constant's is zero for each row of a
        // vector.
        unsafe { *self.view.selection.add(row) as usize }
    }

    /// Whether an entry has a value.
    #[inline]
    pub fn is_valid(&self, entry: usize) -> bool {
        // SAFETY: if a vector has a bitmap, it has a bit for each entry.
        self.view.validity.is_null() || unsafe { *self.view.validity.add(entry / 64) } >> (entry % 64) & 1 == 1
    }

    /// The value of an entry.
    ///
    /// # Safety
    /// The vector's values are of this type.
    pub unsafe fn value<T: Copy>(&self, entry: usize) -> T {
        // SAFETY: a vector has a value for each entry, and the caller promises its type.
        unsafe { ptr::read_unaligned(self.view.data.cast::<T>().add(entry)) }
    }

    /// Where the values of the entries are. A loop over rows reads faster from it than by `value`: what the loop writes
    /// might change the view, as far as the compiler knows.
    #[inline]
    pub fn data<T>(&self) -> *const T {
        self.view.data.cast()
    }

    /// The bytes of an entry of a text or a blob.
    ///
    /// # Safety
    /// The vector's type is stored as VARCHAR is, and the entry is not NULL.
    #[inline]
    pub unsafe fn text(&self, entry: usize) -> &[u8] {
        // SAFETY: the caller promises the type, whose values are 16 bytes: the length, then the bytes, or four of them
        // and their address. DuckDB has the bytes there as long as the vector lives.
        unsafe {
            let text = self.view.data.cast::<u8>().add(entry * TEXT_BYTES);
            let length = ptr::read_unaligned(text.cast::<u32>()) as usize;
            let bytes =
                if length <= INLINE { text.add(4) } else { ptr::read_unaligned(text.add(8).cast::<*const u8>()) };
            std::slice::from_raw_parts(bytes, length)
        }
    }

    /// The entry of each of the first rows; `None` if entry i is row i.
    #[inline]
    pub fn selection(&self, rows: usize) -> Option<&[u32]> {
        // SAFETY: a vector's selection has an entry for each of its rows.
        (!self.is_flat()).then(|| unsafe { std::slice::from_raw_parts(self.view.selection, rows) })
    }

    /// The bits of the first entries, of which those with a value are 1; `None` if there are none, because all have one.
    ///
    /// # Safety
    /// The vector is flat, and has so many entries.
    pub unsafe fn validity(&self, entries: usize) -> Option<&[u64]> {
        // SAFETY: if a vector has a bitmap, it has a bit for each entry, in whole words.
        (!self.has_no_null()).then(|| unsafe { std::slice::from_raw_parts(self.view.validity, entries.div_ceil(64)) })
    }

    /// Whether one of the first rows is NULL. DuckDB may have bits where none is.
    #[inline]
    pub fn has_null(&self, rows: usize) -> bool {
        match self.selection(rows) {
            _ if self.has_no_null() => false,
            Some(entries) => entries.iter().any(|&entry| !self.is_valid(entry as usize)),
            // SAFETY: the vector is flat, because it has no selection, and has these rows.
            None => unsafe { self.validity(rows) }.is_some_and(|words| {
                let rest = rows % 64;
                let whole = &words[..rows / 64];
                whole.iter().any(|&word| word != u64::MAX) || rest > 0 && !words[rows / 64] << (64 - rest) != 0
            }),
        }
    }

    /// The values of the first entries.
    ///
    /// # Safety
    /// The vector is flat, and its values have this width and no bytes that are not initialized.
    #[inline]
    pub unsafe fn bytes(&self, entries: usize, width: usize) -> &[u8] {
        // SAFETY: the caller promises it.
        unsafe { std::slice::from_raw_parts(self.view.data.cast::<u8>(), entries * width) }
    }
}
