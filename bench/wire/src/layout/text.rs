//! Text in messages: as strings with a zero byte after each, and as parts of an Arrow array.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StringArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};

use crate::Result;

/// Appends the present values, with a zero byte after each.
pub fn append_terminated(column: &StringArray, out: &mut Vec<u8>) {
    let offsets = column.value_offsets();
    let data = column.value_data();
    let mut append = |i: usize| {
        out.extend_from_slice(&data[offsets[i] as usize..offsets[i + 1] as usize]);
        out.push(0);
    };
    match column.nulls() {
        None => (0..column.len()).for_each(&mut append),
        Some(nulls) => nulls.valid_indices().for_each(&mut append),
    }
}

/// The array whose present values [`append_terminated`] wrote.
///
/// # Errors
/// The number of values differs, or they are not UTF-8.
pub fn from_terminated(input: &[u8], rows: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    // The terminators are separate characters, so the parts between them are also UTF-8.
    simdutf8::basic::from_utf8(input)?;
    let present = rows - nulls.as_ref().map_or(0, NullBuffer::null_count);
    i32::try_from(input.len())?;
    let mut offsets: Vec<i32> = Vec::with_capacity(rows + 1);
    let mut data: Vec<u8> = Vec::with_capacity(input.len());
    offsets.push(0);
    let (mut start, mut found) = (0, 0);
    for end in memchr::memchr_iter(0, input) {
        if let Some(nulls) = &nulls {
            while offsets.len() <= rows && nulls.is_null(offsets.len() - 1) {
                offsets.push(data.len() as i32);
            }
        }
        data.extend_from_slice(&input[start..end]);
        offsets.push(data.len() as i32);
        start = end + 1;
        found += 1;
    }
    if start != input.len() || found != present {
        return Err("a string column has the wrong number of values".into());
    }
    offsets.resize(rows + 1, data.len() as i32);
    let offsets = OffsetBuffer::new(offsets.into());
    // SAFETY: the offsets ascend and end at the data's length, and every value is valid UTF-8, as checked above.
    Ok(Arc::new(unsafe { StringArray::new_unchecked(offsets, data.into(), nulls) }))
}

/// An array of values that lie one after the other in `data`, with boundaries at `offsets`.
///
/// # Errors
/// A value is not UTF-8, or the parts are inconsistent.
pub fn from_parts(offsets: Vec<i32>, data: Vec<u8>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    simdutf8::basic::from_utf8(&data)?;
    // A byte that continues a character begins with the bits 10.
    let begins =
        |&offset: &i32| usize::try_from(offset).is_ok_and(|i| data.get(i).is_none_or(|byte| byte >> 6 != 0b10));
    let fits = offsets.first() == Some(&0)
        && offsets.last().is_some_and(|&last| usize::try_from(last) == Ok(data.len()))
        && offsets.is_sorted()
        && nulls.as_ref().is_none_or(|nulls| nulls.len() + 1 == offsets.len());
    if !fits || !offsets.iter().all(begins) {
        return Err("a string column has invalid boundaries".into());
    }
    let offsets = OffsetBuffer::new(offsets.into());
    // SAFETY: the offsets ascend and end at the data's length; the data is valid UTF-8, and each boundary is before a
    // character.
    Ok(Arc::new(unsafe { StringArray::new_unchecked(offsets, data.into(), nulls) }))
}
