//! Columns of texts or bytes that came as codes: dictionaries with indices of the type `UInt32`, whose entries may be
//! repeated or unused, and none is NULL.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryViewType, ByteViewType, Int32Type, StringViewType, UInt32Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, GenericByteViewArray, LargeStringArray, PrimitiveArray, UInt32Array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};
use arrow_select::take::take;

/// The most bytes of a text that its view contains.
const INLINE_BYTES: usize = 12;

/// Whether codes of values of this type make a column of type `to`, without the value of each row.
pub(super) fn make(values: &DataType, to: &DataType) -> bool {
    match (values, to) {
        (DataType::Utf8, DataType::Utf8View | DataType::LargeUtf8) | (DataType::Binary, DataType::BinaryView) => true,
        (DataType::Utf8 | DataType::Binary, DataType::Dictionary(keys, inner)) => {
            **keys == DataType::Int32 && **inner == *values
        }
        _ => false,
    }
}

/// The column with these codes as `to`, for which [`make`] is true of the entries' type.
///
/// # Errors
/// Those of arrow-rs, which has none for arrays that are valid.
pub(super) fn as_type(codes: &DictionaryArray<UInt32Type>, to: &DataType) -> Result<ArrayRef, ArrowError> {
    match to {
        DataType::Dictionary(..) => distinct(codes),
        DataType::LargeUtf8 => large_of_codes(codes),
        _ => take(&views(codes.values())?, codes.keys(), None),
    }
}

/// The same rows as a dictionary with indices of the type `Int32`, in which each value that a row has is once.
fn distinct(codes: &DictionaryArray<UInt32Type>) -> Result<ArrayRef, ArrowError> {
    let (keys, entries) = (codes.keys(), codes.values());
    let bytes = cast(entries, &DataType::Binary)?;
    let bytes = bytes.as_binary::<i32>();
    // The entries that rows have, and for each of these its place among the distinct ones.
    let mut used = vec![false; entries.len()];
    match keys.nulls() {
        None => keys.values().iter().for_each(|&code| used[code as usize] = true),
        Some(_) => keys.iter().flatten().for_each(|code| used[code as usize] = true),
    }
    let (mut first, mut known) = (Vec::<u32>::new(), HashMap::new());
    let mut place = |entry: usize| {
        *known.entry(bytes.value(entry)).or_insert_with(|| {
            first.push(entry as u32);
            first.len() as i32 - 1
        })
    };
    let places: Vec<i32> = (0..entries.len()).map(|entry| if used[entry] { place(entry) } else { 0 }).collect();
    let (indices, values): (ScalarBuffer<i32>, _) = if first.len() == entries.len() {
        // Codes are less than 2^31.
        (ScalarBuffer::new(keys.values().inner().clone(), 0, keys.len()), Arc::clone(entries))
    } else {
        let place = |code: u32| places.get(code as usize).copied().unwrap_or(0);
        (keys.values().iter().map(|&code| place(code)).collect(), take(entries, &UInt32Array::from(first), None)?)
    };
    let indices = PrimitiveArray::<Int32Type>::new(indices, keys.nulls().cloned());
    Ok(Arc::new(DictionaryArray::try_new(indices, values)?))
}

/// Entries up to this length are copied with so many bytes, of which the next text takes those behind its own.
const SHORT: usize = 32;

/// Texts with offsets of 64 bits, in memory of their own: pandas keeps them longer than the batch that they came in.
///
/// # Errors
/// The values are no texts.
pub(super) fn large(array: &dyn Array) -> Result<ArrayRef, ArrowError> {
    let texts = array.as_string_opt::<i32>();
    let texts = texts.ok_or_else(|| ArrowError::CastError(format!("{} is no text", array.data_type())))?;
    let ends = texts.value_offsets();
    let (first, last) = (ends[0], ends[ends.len() - 1]);
    let offsets: Vec<i64> = ends.iter().map(|end| i64::from(end - first)).collect();
    let data = texts.value_data()[first as usize..last as usize].to_vec();
    Ok(large_array(offsets, data, texts.nulls()))
}

fn large_of_codes(codes: &DictionaryArray<UInt32Type>) -> Result<ArrayRef, ArrowError> {
    let (keys, entries) = (codes.keys(), codes.values().as_string_opt::<i32>());
    let entries = entries.ok_or_else(|| ArrowError::CastError("the codes are of no texts".to_owned()))?;
    let padded = |text: &str| {
        let mut begin = [0; SHORT];
        let length = text.len().min(SHORT);
        begin[..length].copy_from_slice(&text.as_bytes()[..length]);
        (begin, text.len())
    };
    let mut table: Vec<_> = (0..entries.len()).map(|entry| padded(entries.value(entry))).collect();
    // A NULL may have any code.
    let none = table.len();
    table.push(([0; SHORT], 0));
    let code = |row: usize| if keys.is_valid(row) { keys.values()[row] as usize } else { none };
    let mut end = 0;
    let mut offsets = Vec::with_capacity(keys.len() + 1);
    offsets.push(0_i64);
    offsets.extend((0..keys.len()).map(|row| {
        end += table[code(row)].1;
        end as i64
    }));
    let mut data = vec![0_u8; end + SHORT];
    for (row, &place) in offsets[..keys.len()].iter().enumerate() {
        let (code, place) = (code(row), place as usize);
        let (begin, length) = &table[code];
        if *length > SHORT {
            data[place..place + length].copy_from_slice(entries.value(code).as_bytes());
        } else if let Some(place) = data[place..].first_chunk_mut() {
            *place = *begin;
        }
    }
    data.truncate(end);
    Ok(large_array(offsets, data, keys.nulls()))
}

/// The offsets are those of the data, and each text was valid before.
fn large_array(offsets: Vec<i64>, data: Vec<u8>, nulls: Option<&NullBuffer>) -> ArrayRef {
    let nulls = nulls.map(NullBuffer::inner).map(|bits| {
        let own = Buffer::from(bits.values().to_vec());
        NullBuffer::new(BooleanBuffer::new(own, bits.offset(), bits.len()))
    });
    // SAFETY: the only callers make the offsets with the data, of which each text is one that was checked.
    let offsets = unsafe { OffsetBuffer::new_unchecked(offsets.into()) };
    // SAFETY: as above.
    Arc::new(unsafe { LargeStringArray::new_unchecked(offsets, data.into(), nulls) })
}

/// Texts or bytes as views of the same memory, which is left out if each view contains its text.
///
/// # Errors
/// The array is of another type.
pub(super) fn views(array: &dyn Array) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Utf8 => {
            let texts = array.as_string::<i32>();
            Ok(views_of::<StringViewType>(texts.value_offsets(), texts.values(), array))
        }
        DataType::Binary => {
            let bytes = array.as_binary::<i32>();
            Ok(views_of::<BinaryViewType>(bytes.value_offsets(), bytes.values(), array))
        }
        other => Err(ArrowError::CastError(format!("{other} has no views"))),
    }
}

fn views_of<V: ByteViewType>(offsets: &[i32], data: &Buffer, array: &dyn Array) -> ArrayRef {
    let bytes = data.as_slice();
    let mut longest = 0;
    let views: Vec<u128> = offsets
        .windows(2)
        .map(|ends| {
            let (from, to) = (ends[0] as usize, ends[1] as usize);
            longest = longest.max(to - from);
            view(bytes, from, to)
        })
        .collect();
    let buffers = if longest > INLINE_BYTES { vec![data.clone()] } else { Vec::new() };
    // SAFETY: each view has its own length, and its text or the text's begin and place; the texts were valid before.
    Arc::new(unsafe { GenericByteViewArray::<V>::new_unchecked(views.into(), buffers.into(), array.nulls().cloned()) })
}

/// The view of a text in the first buffer. Most have 16 bytes from their begin on, of which those behind the text do
/// not count.
fn view(bytes: &[u8], from: usize, to: usize) -> u128 {
    let Some(begin) = bytes[from..].first_chunk() else { return make_view(&bytes[from..to], 0, from as u32) };
    let (begin, length) = (u128::from_le_bytes(*begin), to - from);
    if length <= INLINE_BYTES {
        (begin & ((1 << (8 * length)) - 1)) << 32 | length as u128
    } else {
        (from as u128) << 96 | u128::from(begin as u32) << 32 | length as u128
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use arrow_array::{BinaryArray, StringArray};
    use proptest::prelude::*;

    use super::*;

    const DICTIONARY: fn() -> DataType = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));

    fn entries() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[a-cä]{0,2}|[a-d]{11,14}|.{0,40}", 1..12)
    }

    proptest! {
        #[test]
        fn codes_have_the_same_values(entries in entries(), rows in prop::collection::vec(prop::option::of(0_u32..12), 0..60)) {
            let keys: UInt32Array = rows.iter().map(|row| row.map(|code| code % entries.len() as u32)).collect();
            let expected: StringArray =
                keys.iter().map(|code| code.map(|code| entries[code as usize].as_str())).collect();
            let codes = DictionaryArray::try_new(keys, Arc::new(StringArray::from(entries)) as ArrayRef).unwrap();
            for to in [DataType::Utf8View, DataType::LargeUtf8, DICTIONARY()] {
                prop_assert!(make(&DataType::Utf8, &to));
                let made = as_type(&codes, &to).unwrap();
                made.to_data().validate_full().unwrap();
                prop_assert_eq!(made.data_type(), &to);
                let plain = cast(&made, &DataType::Utf8).unwrap();
                prop_assert_eq!(plain.as_string::<i32>(), &expected);
            }
            let made = as_type(&codes, &DICTIONARY()).unwrap();
            let values = made.as_dictionary::<Int32Type>().values();
            let mut distinct: Vec<_> = values.as_string::<i32>().iter().collect();
            let mut used: Vec<_> = expected.iter().filter(Option::is_some).collect();
            distinct.sort_unstable();
            used.sort_unstable();
            used.dedup();
            prop_assert_eq!(distinct, used);
        }

        #[test]
        fn views_have_the_same_values(texts in prop::collection::vec(prop::option::of(".{0,20}"), 0..40), from in 0_usize..5) {
            let texts = StringArray::from(texts);
            let texts = texts.slice(from.min(texts.len()), texts.len().saturating_sub(from));
            let made = views(&texts).unwrap();
            made.to_data().validate_full().unwrap();
            prop_assert!(made.as_string_view().iter().eq(texts.iter()));
            let made = large(&texts).unwrap();
            made.to_data().validate_full().unwrap();
            prop_assert!(made.as_string::<i64>().iter().eq(texts.iter()));
            let bytes: BinaryArray = cast(&texts, &DataType::Binary).unwrap().as_binary().clone();
            prop_assert!(views(&bytes).unwrap().as_binary_view().iter().eq(bytes.iter()));
        }
    }
}
