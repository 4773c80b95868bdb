//! Columns of texts or bytes that came as codes: dictionaries with indices of the type `UInt32`, whose entries may be
//! repeated or unused.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryViewType, ByteViewType, Int32Type, StringViewType, UInt32Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, GenericByteViewArray, PrimitiveArray, UInt32Array};
use arrow_buffer::Buffer;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};
use arrow_select::take::take;

/// The most bytes of a text that its view contains.
const INLINE_BYTES: usize = 12;

/// Whether codes of values of this type make a column of type `to`, without the value of each row.
pub(super) fn make(values: &DataType, to: &DataType) -> bool {
    match (values, to) {
        (DataType::Utf8, DataType::Utf8View) | (DataType::Binary, DataType::BinaryView) => true,
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
        _ => take(&views(codes.values())?, codes.keys(), None),
    }
}

/// The same rows as a dictionary with indices of the type `Int32`, in which each value that a row has is once.
fn distinct(codes: &DictionaryArray<UInt32Type>) -> Result<ArrayRef, ArrowError> {
    let (keys, entries) = (codes.keys(), codes.values());
    let bytes = cast(entries, &DataType::Binary)?;
    let bytes = bytes.as_binary::<i32>();
    // For each entry its place among the values, once a row has it.
    let (mut places, mut first, mut known) = (vec![None; entries.len()], Vec::<u32>::new(), HashMap::new());
    let mut place = |code: u32| {
        let code_at = code as usize;
        *places[code_at].get_or_insert_with(|| {
            *known.entry(bytes.value(code_at)).or_insert_with(|| {
                first.push(code);
                first.len() as i32 - 1
            })
        })
    };
    let indices: Vec<i32> = match keys.nulls() {
        None => keys.values().iter().map(|&code| place(code)).collect(),
        Some(nulls) => {
            keys.values().iter().zip(nulls).map(|(&code, is_valid)| if is_valid { place(code) } else { 0 }).collect()
        }
    };
    let values = if first.iter().copied().eq(0..entries.len() as u32) {
        Arc::clone(entries)
    } else {
        take(entries, &UInt32Array::from(first), None)?
    };
    let indices = PrimitiveArray::<Int32Type>::new(indices.into(), keys.nulls().cloned());
    Ok(Arc::new(DictionaryArray::try_new(indices, values)?))
}

/// Texts or bytes as views of the same memory. Memory of which no view is is left out.
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
            for to in [DataType::Utf8View, DICTIONARY()] {
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
            let bytes: BinaryArray = cast(&texts, &DataType::Binary).unwrap().as_binary().clone();
            prop_assert!(views(&bytes).unwrap().as_binary_view().iter().eq(bytes.iter()));
        }
    }
}
