//! The size of rows, by which batches are cut.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, GenericListViewArray, OffsetSizeTrait, RecordBatch};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;

/// Bytes of the rows of `batch` in plain form: of its own values, whatever buffers it shares with other batches.
///
/// arrow-rs's sizes count the whole buffers behind a slice of views, lists and dictionaries. Cutting by them never ends
/// before single rows.
pub fn plain_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| array(column)).sum()
}

/// The same of a column of texts or bytes that came as codes, with the text of each row. 0 for an array that is no
/// dictionary of `Utf8` or `Binary` with indices of the type `UInt32`.
pub fn codes_plain_bytes(array: &dyn Array) -> usize {
    let Some(dictionary) = array.as_dictionary_opt::<UInt32Type>() else { return 0 };
    let entries = dictionary.values();
    let offsets = match entries.data_type() {
        DataType::Utf8 => entries.as_string::<i32>().offsets(),
        DataType::Binary => entries.as_binary::<i32>().offsets(),
        _ => return 0,
    };
    let length = |code: u32| (offsets[code as usize + 1] - offsets[code as usize]) as usize;
    let (rows, keys) = (dictionary.len(), dictionary.keys());
    let validity = keys.nulls().map_or(0, |nulls| nulls.len().div_ceil(8));
    validity + (rows + 1) * size_of::<i32>() + keys.iter().flatten().map(length).sum::<usize>()
}

fn array(array: &dyn Array) -> usize {
    let validity = array.nulls().map_or(0, |nulls| nulls.len().div_ceil(8));
    validity + values(array)
}

fn values(array: &dyn Array) -> usize {
    let rows = array.len();
    match array.data_type() {
        DataType::Null => 0,
        DataType::Boolean => rows.div_ceil(8),
        DataType::Utf8 => bytes(array.as_string::<i32>().offsets()),
        DataType::LargeUtf8 => bytes(array.as_string::<i64>().offsets()),
        DataType::Binary => bytes(array.as_binary::<i32>().offsets()),
        DataType::LargeBinary => bytes(array.as_binary::<i64>().offsets()),
        DataType::Utf8View => views(array.as_string_view().views()),
        DataType::BinaryView => views(array.as_binary_view().views()),
        DataType::FixedSizeBinary(width) => rows * usize::try_from(*width).unwrap_or(0),
        DataType::List(_) => list(array.as_list::<i32>().offsets(), array.as_list::<i32>().values()),
        DataType::LargeList(_) => list(array.as_list::<i64>().offsets(), array.as_list::<i64>().values()),
        DataType::Map(..) => list(array.as_map().offsets(), array.as_map().entries()),
        DataType::ListView(_) => list_views(array.as_list_view::<i32>()),
        DataType::LargeListView(_) => list_views(array.as_list_view::<i64>()),
        DataType::FixedSizeList(..) => self::array(array.as_fixed_size_list().values()),
        DataType::Struct(_) => array.as_struct().columns().iter().map(|column| self::array(column)).sum(),
        DataType::Dictionary(..) => dictionary(array),
        other => match other.primitive_width() {
            Some(width) => rows * width,
            // Unions and runs, which are not written.
            None => array.get_array_memory_size(),
        },
    }
}

/// The offsets, and the bytes or items between the first and the last one.
fn range<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>) -> (usize, usize, usize) {
    (size_of_val(&**offsets), offsets.first().as_usize(), offsets.last().as_usize())
}

fn bytes<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>) -> usize {
    let (own, first, last) = range(offsets);
    own + last - first
}

fn list<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>, items: &dyn Array) -> usize {
    let (own, first, last) = range(offsets);
    own + array(&items.slice(first, last - first))
}

/// As offsets of 4 bytes and the values, whose lengths are the low 4 bytes of the views.
fn views(views: &[u128]) -> usize {
    views.iter().map(|view| size_of::<u32>() + *view as u32 as usize).sum()
}

fn list_views<O: OffsetSizeTrait>(lists: &GenericListViewArray<O>) -> usize {
    let rows = lists.offsets().iter().zip(lists.sizes());
    let items = rows.map(|(first, count)| array(&lists.values().slice(first.as_usize(), count.as_usize())));
    size_of_val(&**lists.offsets()) + items.sum::<usize>()
}

/// The keys, and the smaller of all values and those that the rows have, on average: a dictionary may be larger than
/// the rows.
fn dictionary(array: &dyn Array) -> usize {
    let array = array.as_any_dictionary();
    let (rows, values) = (array.len(), self::array(array.values()));
    let repeated = (values as f64 / array.values().len().max(1) as f64 * rows as f64) as usize;
    self::array(array.keys()) + values.min(repeated)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]

    use std::sync::Arc;

    use arrow_array::builder::{Int32Builder, ListBuilder, ListViewBuilder};
    use arrow_array::types::Int32Type;
    use arrow_array::{
        ArrayRef, BinaryViewArray, BooleanArray, DictionaryArray, FixedSizeListArray, Int32Array, Int64Array,
        LargeStringArray, StringArray, StringViewArray, StructArray, UInt32Array,
    };
    use arrow_schema::Field;

    use super::*;
    use crate::arrow::{columns_from_batch, rows_per_chunk, schema_from_arrow};

    const ROWS: usize = 1000;

    /// Each text has 100 bytes.
    fn texts() -> impl Iterator<Item = String> {
        (0..ROWS).map(|row| format!("{row:0>100}"))
    }

    fn batch(array: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter([("a", array)]).expect("one column")
    }

    fn lists() -> Int32Array {
        (0..ROWS as i32 * 4).collect()
    }

    fn arrays() -> Vec<ArrayRef> {
        let field = Arc::new(Field::new("item", DataType::Int32, true));
        let (mut plain, mut views) = (ListBuilder::new(Int32Builder::new()), ListViewBuilder::new(Int32Builder::new()));
        for row in 0..ROWS as i32 {
            for item in 0..row % 7 {
                plain.values().append_value(item);
                views.values().append_value(item);
            }
            plain.append(row % 5 > 0);
            views.append(true);
        }
        let keys = Int32Array::from_iter_values((0..ROWS as i32).rev());
        let words: ArrayRef = Arc::new(StringArray::from_iter_values(texts()));
        vec![
            Arc::new(Int64Array::from_iter((0..ROWS as i64).map(|row| (row % 3 > 0).then_some(row)))),
            Arc::new(BooleanArray::from_iter((0..ROWS).map(|row| Some(row % 2 > 0)))),
            words.clone(),
            Arc::new(LargeStringArray::from_iter_values(texts())),
            Arc::new(StringViewArray::from_iter_values(texts())),
            Arc::new(BinaryViewArray::from_iter_values(texts())),
            Arc::new(plain.finish()),
            Arc::new(views.finish()),
            Arc::new(FixedSizeListArray::new(field.clone(), 4, Arc::new(lists()), None)),
            Arc::new(StructArray::from(vec![(Arc::new(Field::new("t", DataType::Utf8, true)), words.clone())])),
            Arc::new(DictionaryArray::<Int32Type>::new(keys, words)),
        ]
    }

    #[test]
    fn parts_of_a_batch_have_their_shares() {
        for array in arrays() {
            let (kind, whole) = (array.data_type().clone(), batch(array));
            let parts = (0..10).map(|part| plain_bytes(&whole.slice(part * ROWS / 10, ROWS / 10)));
            let (parts, whole): (usize, usize) = (parts.sum(), plain_bytes(&whole));
            assert!(parts + 10 >= whole && parts < whole + whole / 20 + 200, "{kind}: {parts} of {whole}");
        }
    }

    #[test]
    fn cutting_ends_at_the_limit() {
        for array in arrays() {
            let (kind, whole) = (array.data_type().clone(), batch(array));
            let most = plain_bytes(&whole) / 4 + 100;
            let first = whole.slice(0, rows_per_chunk(&whole, ROWS, most));
            let again = rows_per_chunk(&first, ROWS, most + most / 2);
            assert!(first.num_rows() >= ROWS / 5 && again == first.num_rows(), "{kind}: {} {again}", first.num_rows());
        }
    }

    #[test]
    fn codes_have_the_size_of_their_texts() {
        let words = StringArray::from(vec!["", "two words", "x"]);
        let keys = UInt32Array::from(vec![Some(1), None, Some(0), Some(1), Some(2)]);
        let texts: StringArray = keys.iter().map(|key| key.map(|key| words.value(key as usize))).collect();
        let codes = DictionaryArray::new(keys, Arc::new(words));
        assert_eq!(codes_plain_bytes(&codes), plain_bytes(&batch(Arc::new(texts))));
    }

    #[test]
    fn it_is_the_size_of_the_columns_on_the_wire() {
        for array in arrays() {
            let whole = batch(array).slice(100, 500);
            let Ok(schema) = schema_from_arrow(&whole.schema()) else { continue };
            let columns = columns_from_batch(&whole);
            let sizes = columns.iter().zip(&schema.fields).map(|(column, field)| column.plain_bytes(field));
            let is_dictionary = matches!(whole.column(0).data_type(), DataType::Dictionary(..));
            assert!(is_dictionary || sizes.sum::<Option<usize>>() == Some(plain_bytes(&whole)), "{:?}", schema);
        }
    }
}
