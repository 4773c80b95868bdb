//! From the checked results of a function process to a vector of DuckDB.

mod nested;

use std::ffi::c_void;
use std::ops::Range;
use std::ptr;

use colonnade_udf::{OutputColumn, OutputData};

use super::handles::{CallbackError, INVALID_VALUE, checked};
use super::sql_type::{SqlType, Storage};
use super::symbols::{Api, Handle};
use super::vectors::{CONSTANT, INLINE, UUID_ORDER};

/// The rows of a vector to which a result is written.
#[derive(Clone, Copy)]
pub(super) struct TargetRows<'a> {
    /// The vector's row of the first one.
    pub first: usize,
    /// The vector's rows.
    pub count: usize,
    /// The result's row for each of them; `NONE` is NULL. Without it they are the same.
    pub sources: Option<&'a [u32]>,
}

/// A row for which the function was not called.
pub(super) const NONE: u32 = u32::MAX;

impl TargetRows<'_> {
    fn source(&self, row: usize) -> Option<usize> {
        match self.sources {
            None => Some(row),
            Some(sources) => (sources[row] != NONE).then_some(sources[row] as usize),
        }
    }
}

/// Writes a column to rows of a vector, whose type is `type_`. Without a column all rows are NULL.
///
/// # Safety
/// The vector is flat, or constant with one row, has this type and room for these rows, and nothing else uses it.
pub(super) unsafe fn write(
    api: &Api,
    vector: Handle,
    type_: &SqlType,
    column: Option<&OutputColumn<'_>>,
    target: TargetRows<'_>,
) -> Result<(), CallbackError> {
    let is_valid = |row: usize| match (column, target.source(row)) {
        (Some(column), Some(source)) => column.is_valid(source),
        _ => false,
    };
    let nulls = |row: &usize| !is_valid(*row);
    if column.is_none() || column.is_some_and(|column| column.validity.is_some()) || target.sources.is_some() {
        // SAFETY: the caller promises it.
        unsafe { set_nulls(api, vector, target.first, (0..target.count).filter(nulls)) }?;
    }
    let Some(column) = column else {
        // SAFETY: the caller promises the vector.
        return unsafe { nested::write_nulls(api, vector, type_, target) };
    };
    if type_.storage.is_nested() {
        // SAFETY: the caller promises the vector.
        return unsafe { nested::write(api, vector, type_, column, target) };
    }
    let mut data: *mut c_void = ptr::null_mut();
    // SAFETY: the caller promises the vector.
    checked(api, |error| unsafe { (api.v2_vector_get_data_mutable)(vector, &raw mut data, error) })?;
    let data = data.cast::<u8>();
    match (&column.data, type_.storage) {
        (OutputData::Fixed(values), Storage::Same(width)) if target.sources.is_none() && values.width() == width => {
            // SAFETY: the vector has room for these rows of this width.
            let into = unsafe { std::slice::from_raw_parts_mut(data.add(target.first * width), target.count * width) };
            values.copy_to(0, into);
            Ok(())
        }
        (OutputData::Bytes { offsets, bytes }, Storage::Enum(width)) => {
            for row in (0..target.count).filter(|row| is_valid(*row)) {
                let Some(source) = target.source(row) else { continue };
                let label = &bytes[offsets[source] as usize..offsets[source + 1] as usize];
                let number = label_number(label, type_)?;
                // SAFETY: the row is one of the vector, whose type has this storage.
                unsafe { store(data, target.first + row, Storage::Same(width), &number.to_le_bytes()[..width]) };
            }
            Ok(())
        }
        (OutputData::Fixed(values), storage) if !matches!(storage, Storage::Text | Storage::Enum(_)) => {
            let bytes = values.to_vec();
            let width = values.width();
            for row in 0..target.count {
                if let Some(source) = target.source(row) {
                    let value = &bytes[source * width..][..width];
                    // SAFETY: the row is one of the vector, whose type has this storage.
                    unsafe { store(data, target.first + row, storage, value) };
                }
            }
            Ok(())
        }
        (OutputData::Bytes { offsets, bytes }, Storage::Text) => {
            // SAFETY: the caller promises the vector.
            let heap = unsafe { heap(api, vector, bytes) }?;
            for row in (0..target.count).filter(|row| is_valid(*row)) {
                let Some(source) = target.source(row) else { continue };
                let (start, end) = (offsets[source] as usize, offsets[source + 1] as usize);
                let value = text(bytes, start..end, heap.wrapping_add(start))?;
                // SAFETY: the row is one of the vector, whose values are texts of 16 bytes.
                unsafe { data.add((target.first + row) * 16).cast::<u128>().write_unaligned(value) };
            }
            Ok(())
        }
        _ => Err("the result has another layout than its type".into()),
    }
}

/// Writes texts or blobs to the first rows of a vector. Each is a range of `bytes`; without one its row is NULL.
///
/// # Safety
/// As for [`write`].
pub(super) unsafe fn write_texts(
    api: &Api,
    vector: Handle,
    texts: &[Option<Range<usize>>],
    bytes: &[u8],
) -> Result<(), CallbackError> {
    let mut data: *mut c_void = ptr::null_mut();
    // SAFETY: the caller promises the vector.
    let heap = unsafe {
        set_nulls(api, vector, 0, (0..texts.len()).filter(|row| texts[*row].is_none()))?;
        checked(api, |error| (api.v2_vector_get_data_mutable)(vector, &raw mut data, error))?;
        heap(api, vector, bytes)?
    };
    for (row, range) in texts.iter().enumerate().filter_map(|(row, range)| Some((row, range.clone()?))) {
        let start = range.start;
        let value = text(bytes, range, heap.wrapping_add(start))?;
        // SAFETY: the row is one of the vector, whose values are texts of 16 bytes.
        unsafe { data.cast::<u128>().add(row).write_unaligned(value) };
    }
    Ok(())
}

/// The number of an enum's label.
pub(super) fn label_number(label: &[u8], type_: &SqlType) -> Result<u32, CallbackError> {
    let number = type_.labels.iter().position(|known| known.as_bytes() == label).map(|number| number as u32);
    number.ok_or_else(|| {
        let text = format!("\"{}\" is no value of {}", String::from_utf8_lossy(label), type_.name);
        CallbackError { code: INVALID_VALUE, text }
    })
}

/// Makes rows NULL, which are counted from `first`.
///
/// # Safety
/// As for `write`.
pub(super) unsafe fn set_nulls(
    api: &Api,
    vector: Handle,
    first: usize,
    mut rows: impl Iterator<Item = usize>,
) -> Result<(), CallbackError> {
    let Some(row) = rows.next() else { return Ok(()) };
    let mut kind = 0;
    // SAFETY: the caller promises the vector.
    checked(api, |error| unsafe { (api.v2_vector_get_vector_type)(vector, &raw mut kind, error) })?;
    if kind == CONSTANT {
        // SAFETY: as above.
        return checked(api, |error| unsafe { (api.v2_vector_constant_set_valid)(vector, false, error) });
    }
    let mut words = ptr::null_mut();
    // SAFETY: as above.
    checked(api, |error| unsafe { (api.v2_vector_flat_get_validity_mutable)(vector, &raw mut words, error) })?;
    for row in std::iter::once(row).chain(rows) {
        let row = first + row;
        // SAFETY: the bitmap has a bit for each row of the vector.
        unsafe { *words.add(row / 64) &= !(1 << (row % 64)) };
    }
    Ok(())
}

/// Writes a text to a row of a vector.
///
/// # Safety
/// The vector is flat, or constant with one row, is of texts, has this row, and nothing else uses it.
pub(super) unsafe fn write_text(api: &Api, vector: Handle, row: usize, value: &str) -> Result<(), CallbackError> {
    let mut data: *mut c_void = ptr::null_mut();
    // SAFETY: the caller promises the vector, whose values are of 16 bytes.
    unsafe {
        checked(api, |error| (api.v2_vector_get_data_mutable)(vector, &raw mut data, error))?;
        let heap = heap(api, vector, value.as_bytes())?;
        let value = text(value.as_bytes(), 0..value.len(), heap)?;
        data.cast::<u8>().add(row * 16).cast::<u128>().write_unaligned(value);
    }
    Ok(())
}

/// Stores a value of a fixed width, which was checked.
///
/// # Safety
/// `data` is that of a vector of this storage, which has this row.
unsafe fn store(data: *mut u8, row: usize, storage: Storage, value: &[u8]) {
    let number = value.try_into().map_or(0, i128::from_le_bytes);
    // A decimal of a NULL may be any number; others have at most as many digits as their type, so that these casts keep
    // them.
    // SAFETY: the caller promises the target.
    unsafe {
        match storage {
            Storage::Decimal16 => data.cast::<i16>().add(row).write_unaligned(number as i16),
            Storage::Decimal32 => data.cast::<i32>().add(row).write_unaligned(number as i32),
            Storage::Decimal64 => data.cast::<i64>().add(row).write_unaligned(number as i64),
            Storage::Uuid => data.cast::<u128>().add(row).write_unaligned((number as u128).swap_bytes() ^ UUID_ORDER),
            Storage::Same(width) => {
                ptr::copy_nonoverlapping(value.as_ptr(), data.add(row * width), width.min(value.len()))
            }
            _ => {}
        }
    }
}

/// Writes one text into each of the first rows.
///
/// # Safety
/// `vector` is a result of texts that may be written, which has these rows.
pub(super) unsafe fn repeat_text(api: &Api, vector: Handle, rows: usize, given: &str) -> Result<(), CallbackError> {
    let mut data: *mut c_void = ptr::null_mut();
    // SAFETY: the caller promises the vector.
    checked(api, |error| unsafe { (api.v2_vector_get_data_mutable)(vector, &raw mut data, error) })?;
    // SAFETY: as above.
    let heap = unsafe { heap(api, vector, given.as_bytes()) }?;
    let value = text(given.as_bytes(), 0..given.len(), heap)?;
    for row in 0..rows {
        // SAFETY: the row is one of the vector, whose values are texts of 16 bytes.
        unsafe { data.cast::<u128>().add(row).write_unaligned(value) };
    }
    Ok(())
}

/// Copies bytes to memory that lives as long as the vector.
///
/// # Safety
/// `vector` is one of texts that may be written.
unsafe fn heap(api: &Api, vector: Handle, bytes: &[u8]) -> Result<*mut u8, CallbackError> {
    let mut memory = ptr::null_mut();
    if bytes.is_empty() {
        return Ok(memory);
    }
    let mut arena = ptr::null_mut();
    // SAFETY: the caller promises the vector; the arena gives as many bytes as are asked for.
    unsafe {
        checked(api, |error| (api.v2_vector_get_arena)(vector, &raw mut arena, error))?;
        checked(api, |error| (api.v2_arena_allocate)(arena, bytes.len() as u64, &raw mut memory, error))?;
        ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len());
    }
    Ok(memory)
}

/// A text, which is a part of `bytes`, as DuckDB stores it: its length, then its bytes if they are few, otherwise the
/// first four and the address of all. It is made as a number, because a value that is written in parts and then read as
/// a whole stalls the processor.
fn text(bytes: &[u8], range: Range<usize>, address: *mut u8) -> Result<u128, CallbackError> {
    let length = u32::try_from(range.len()).map_err(|_| "a text of a result is longer than 4 GiB")?;
    let first = match bytes[range.start..].first_chunk::<INLINE>() {
        Some([a, b, c, d, e, f, g, h, i, j, k, l]) => {
            u128::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h, *i, *j, *k, *l, 0, 0, 0, 0])
        }
        None => bytes[range.start..].iter().rev().fold(0, |value, byte| (value << 8) | u128::from(*byte)),
    };
    let value = if range.len() <= INLINE {
        first & ((1 << (8 * range.len())) - 1)
    } else {
        (first & u128::from(u32::MAX)) | ((address as usize as u128) << 32)
    };
    Ok((value << 32) | u128::from(length))
}
