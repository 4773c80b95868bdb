//! Whether the texts of another library's arrays are UTF-8. Arrow's C interface does not say so, drivers pass on what a
//! database has stored, and libraries that read the arrays do not check: polars treats the bytes as Rust's `str`.

use std::str::from_utf8;

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{
    Array, DictionaryArray, GenericListArray, GenericStringArray, OffsetSizeTrait, RecordBatch, StringViewArray,
    downcast_dictionary_array,
};
use arrow_schema::DataType;

use crate::{Error, ErrorKind};

/// The most bytes of a text that its view contains.
const INLINE_BYTES: usize = 12;
/// The bits that no character of ASCII has.
const HIGH_BITS: u128 = u128::from_ne_bytes([0x80; 16]);

/// # Errors
/// A text is not UTF-8. `before` is the number of rows before this batch.
pub(crate) fn check(batch: &RecordBatch, before: u64) -> Result<(), Error> {
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        if !is_valid(column) {
            let row = (0..column.len()).find(|row| !is_valid(&column.slice(*row, 1))).unwrap_or_default();
            let message =
                format!("column {:?}, row {}: a text that is not UTF-8", field.name(), before + row as u64 + 1);
            return Err(Error::new(ErrorKind::Database, message)
                .with_sqlstate("22021")
                .with_hint("make bytes of it in the query, such as CAST(… AS BLOB)"));
        }
    }
    Ok(())
}

fn is_valid(array: &dyn Array) -> bool {
    match array.data_type() {
        DataType::Utf8 => texts(array.as_string::<i32>()),
        DataType::LargeUtf8 => texts(array.as_string::<i64>()),
        DataType::Utf8View => views(array.as_string_view()),
        DataType::List(_) => list(array.as_list::<i32>()),
        DataType::LargeList(_) => list(array.as_list::<i64>()),
        DataType::FixedSizeList(..) => is_valid(array.as_fixed_size_list().values()),
        DataType::Struct(_) => array.as_struct().columns().iter().all(|column| is_valid(column)),
        DataType::Map(..) => {
            let map = array.as_map();
            let (from, to) = ends(map.value_offsets());
            is_valid(&map.entries().slice(from, to - from))
        }
        DataType::Dictionary(..) => downcast_dictionary_array!(array => dictionary(array), _ => false),
        // Their children are the only other ones with texts.
        DataType::ListView(_) | DataType::LargeListView(_) | DataType::Union(..) | DataType::RunEndEncoded(..) => {
            array.to_data().child_data().iter().all(|child| is_valid(&arrow_array::make_array(child.clone())))
        }
        _ => true,
    }
}

/// The first and the last offset.
fn ends<O: OffsetSizeTrait>(offsets: &[O]) -> (usize, usize) {
    let at = |offset: Option<&O>| offset.map_or(0, |offset| offset.as_usize());
    (at(offsets.first()), at(offsets.last()))
}

fn texts<O: OffsetSizeTrait>(array: &GenericStringArray<O>) -> bool {
    let (offsets, bytes) = (array.value_offsets(), array.value_data());
    let (from, to) = ends(offsets);
    let whole = bytes.get(from..to).and_then(|bytes| from_utf8(bytes).ok());
    let begins_text = |text: &str, offset: &O| text.is_char_boundary(offset.as_usize().wrapping_sub(from));
    if whole.is_some_and(|text| offsets.iter().all(|offset| begins_text(text, offset))) {
        return true;
    }
    // A NULL may stand on any bytes.
    offsets.windows(2).enumerate().all(|(row, pair)| {
        let (from, to) = ends(pair);
        array.is_null(row) || bytes.get(from..to).is_some_and(|bytes| from_utf8(bytes).is_ok())
    })
}

fn views(array: &StringViewArray) -> bool {
    // What a view contains begins with its fifth byte. A long one repeats the begin of its text there.
    let is_ascii = |view: &u128| {
        let contained = if *view as u32 as usize <= INLINE_BYTES { view >> 32 } else { 0 };
        contained & HIGH_BITS == 0
    };
    if array.views().iter().all(is_ascii) && array.data_buffers().iter().all(|buffer| buffer.is_ascii()) {
        return true;
    }
    let bytes = array.clone().to_binary_view();
    bytes.iter().flatten().all(|bytes| from_utf8(bytes).is_ok())
}

fn list<O: OffsetSizeTrait>(array: &GenericListArray<O>) -> bool {
    let (from, to) = ends(array.value_offsets());
    is_valid(&array.values().slice(from, to - from))
}

/// Only the values that a row has count.
fn dictionary<K: ArrowDictionaryKeyType>(array: &DictionaryArray<K>) -> bool {
    is_valid(array.values()) || array.keys_iter().flatten().all(|key| is_valid(&array.values().slice(key, 1)))
}

#[cfg(test)]
#[path = "arrow_text_tests.rs"]
mod tests;
