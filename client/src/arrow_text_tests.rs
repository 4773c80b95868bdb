#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, BinaryArray, BinaryViewArray, Int8Array, ListArray, StringArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{Field, Schema};

use super::*;

/// An array of texts with these bytes, which nobody has checked.
fn unchecked(values: &[Option<&[u8]>]) -> StringArray {
    let (offsets, bytes, nulls) = BinaryArray::from(values.to_vec()).into_parts();
    // SAFETY: the tests read these arrays only as bytes.
    unsafe { StringArray::new_unchecked(offsets, bytes, nulls) }
}

fn refused(array: ArrayRef) -> Option<String> {
    let schema = Schema::new(vec![Field::new("t", array.data_type().clone(), true)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![array]).unwrap();
    check(&batch, 10).err().map(|error| format!("{} {}", error.sqlstate().unwrap(), error.message()))
}

#[test]
fn each_layout_is_checked() {
    let good = unchecked(&[Some("ä".as_bytes()), None, Some(b""), Some("漢🧀".as_bytes())]);
    let bad = unchecked(&[Some(b"a"), None, Some(b"\xff"), Some(b"b")]);
    let row = |row: u32| Some(format!("22021 column \"t\", row {row}: a text that is not UTF-8"));
    let nested: [&dyn Fn(StringArray) -> ArrayRef; 6] = [
        &|texts| Arc::new(texts),
        &|texts| {
            let binary = BinaryViewArray::from_iter(
                BinaryArray::new(texts.offsets().clone(), texts.values().clone(), texts.nulls().cloned()).iter(),
            );
            // SAFETY: as above.
            Arc::new(unsafe { binary.to_string_view_unchecked() })
        },
        &|texts| {
            let field = Arc::new(Field::new("item", DataType::Utf8, true));
            Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([1, 1, 1, 1]), Arc::new(texts), None))
        },
        &|texts| {
            let fields = vec![Field::new("a", DataType::Utf8, true)];
            Arc::new(StructArray::new(fields.into(), vec![Arc::new(texts)], None))
        },
        &|texts| {
            let keys = Int8Array::from(vec![0, 1, 2, 3]);
            Arc::new(DictionaryArray::<Int8Type>::new(keys, Arc::new(texts)))
        },
        &|texts| {
            let field = Arc::new(Field::new("item", DataType::Utf8, true));
            Arc::new(arrow_array::FixedSizeListArray::new(field, 1, Arc::new(texts), None))
        },
    ];
    for make in nested {
        assert_eq!(refused(make(good.clone())), None);
        assert_eq!(refused(make(bad.clone())), row(13));
        assert_eq!(refused(make(bad.clone()).slice(0, 2)), None);
        assert_eq!(refused(make(bad.clone()).slice(2, 2)), row(11));
    }
}

#[test]
fn a_character_in_two_values_is_none() {
    let split = unchecked(&[Some(b"\xc3"), Some(b"\xa4")]);
    assert!(refused(Arc::new(split)).unwrap().contains("row 11"));
}

#[test]
fn bytes_behind_null_do_not_count() {
    let (offsets, bytes, _) = BinaryArray::from(vec![Some(&b"\xff"[..]), Some(b"a")]).into_parts();
    // SAFETY: as above.
    let array = unsafe { StringArray::new_unchecked(offsets, bytes, Some(NullBuffer::from(vec![false, true]))) };
    assert_eq!(refused(Arc::new(array)), None);
}

#[test]
fn a_value_that_no_row_has_does_not_count() {
    let values = Arc::new(unchecked(&[Some(b"a"), Some(b"\xff")]));
    let array = DictionaryArray::<Int8Type>::new(Int8Array::from(vec![0, 0]), values);
    assert_eq!(refused(Arc::new(array)), None);
}
