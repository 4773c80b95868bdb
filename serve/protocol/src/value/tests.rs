use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};

use super::*;

fn texts(field: &Field, array: &dyn Array) -> Vec<Option<String>> {
    let column = ColumnWriter::new(field, array, "text").unwrap();
    (0..array.len())
        .map(|row| {
            (!column.is_null(row)).then(|| {
                let mut out = Vec::new();
                column.write_text(row, TextStyle::default(), &mut out).unwrap();
                String::from_utf8(out).unwrap()
            })
        })
        .collect()
}

fn shown(array: &dyn Array) -> Vec<String> {
    let field = Field::new("c", array.data_type().clone(), true);
    texts(&field, array).into_iter().map(|text| text.unwrap_or_else(|| "NULL".to_owned())).collect()
}

#[test]
fn plain_types() {
    assert_eq!(shown(&BooleanArray::from(vec![Some(true), Some(false), None])), ["t", "f", "NULL"]);
    assert_eq!(shown(&Int8Array::from(vec![-128])), ["-128"]);
    assert_eq!(shown(&UInt64Array::from(vec![u64::MAX])), ["18446744073709551615"]);
    assert_eq!(shown(&BinaryArray::from(vec![&b"\x00\xffa"[..]])), ["\\x00ff61"]);
    let decimals = Decimal128Array::from(vec![-5, 150]).with_precision_and_scale(9, 2).unwrap();
    assert_eq!(shown(&decimals), ["-0.05", "1.50"]);
    assert_eq!(shown(&NullArray::new(1)), ["NULL"]);
    assert_eq!(shown(&DurationSecondArray::from(vec![90])), ["00:01:30"]);
    assert_eq!(shown(&Date64Array::from(vec![-1])), ["1969-12-31"]);
}

#[test]
fn slices_begin_at_their_offset() {
    let strings = StringArray::from(vec![Some("a"), None, Some("c")]);
    assert_eq!(shown(&strings.slice(1, 2)), ["NULL", "c"]);
    let numbers = Int32Array::from(vec![1, 2, 3]);
    assert_eq!(shown(&numbers.slice(2, 1)), ["3"]);
}

#[test]
fn dictionaries_and_their_nulls() {
    let keys = Int32Array::from(vec![Some(0), Some(1), None]);
    let values = Arc::new(StringArray::from(vec![Some("x"), None]));
    assert_eq!(shown(&DictionaryArray::<Int32Type>::new(keys, values)), ["x", "NULL", "NULL"]);
}

#[test]
fn lists_are_arrays() {
    let strings =
        StringArray::from(vec![Some("a"), Some("b c"), None, Some("NULL"), Some(""), Some("q\"\\"), Some("x,y")]);
    let item = Arc::new(Field::new("item", DataType::Utf8, true));
    let list = ListArray::new(item, OffsetBuffer::new(vec![0, 3, 7, 7].into()), Arc::new(strings), None);
    assert_eq!(shown(&list), ["{a,\"b c\",NULL}", "{\"NULL\",\"\",\"q\\\"\\\\\",\"x,y\"}", "{}"]);
    let inner = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), Some(2)]), Some(vec![])]);
    let item = Arc::new(Field::new("item", inner.data_type().clone(), true));
    let outer = ListArray::new(item, OffsetBuffer::new(vec![0, 2].into()), Arc::new(inner), None);
    assert_eq!(shown(&outer), ["{{1,2},{}}"]);
}

#[test]
fn structs_are_rows() {
    let row = StructArray::from(vec![
        (Arc::new(Field::new("a", DataType::Int32, true)), Arc::new(Int32Array::from(vec![Some(1), None])) as ArrayRef),
        (Arc::new(Field::new("b", DataType::Utf8, true)), Arc::new(StringArray::from(vec!["x y", "q\""])) as ArrayRef),
    ]);
    assert_eq!(shown(&row), ["(1,\"x y\")", "(,\"q\"\"\")"]);
}

#[test]
fn extension_types_have_the_text_of_their_logical_type() {
    let bytes = FixedSizeBinaryArray::try_from_iter([[0xab; 16]].into_iter()).unwrap();
    let uuid = Field::new("c", DataType::FixedSizeBinary(16), true)
        .with_metadata([(EXTENSION_NAME.to_owned(), "arrow.uuid".to_owned())]);
    assert_eq!(texts(&uuid, &bytes), [Some("abababab-abab-abab-abab-abababababab".to_owned())]);
    let bool8 =
        Field::new("c", DataType::Int8, true).with_metadata([(EXTENSION_NAME.to_owned(), "arrow.bool8".to_owned())]);
    assert_eq!(texts(&bool8, &Int8Array::from(vec![1, 0])), [Some("t".to_owned()), Some("f".to_owned())]);
}

#[test]
fn the_items_of_lists_have_the_databases_type_name() {
    let text = Field::new("c", DataType::Utf8, true);
    assert_eq!(logical_type(&with_database_type(&text, "UUID")), LogicalType::Uuid);
    assert_eq!(logical_type(&with_database_type(&text, "VARCHAR")), LogicalType::Storage);
    let list = Field::new("c", DataType::List(Arc::new(Field::new("l", DataType::Utf8, true))), true);
    let DataType::List(item) = with_database_type(&list, "UUID[]").data_type().clone() else { panic!("no list") };
    assert_eq!(logical_type(&item), LogicalType::Uuid);
}

#[test]
fn an_unsupported_type_is_refused_by_name() {
    let field = Field::new("v", DataType::Struct(vec![Field::new("m", DataType::Null, true)].into()), true)
        .with_metadata([(EXTENSION_NAME.to_owned(), "arrow.parquet.variant".to_owned())]);
    let array = arrow_array::new_null_array(field.data_type(), 1);
    let Err(error) = ColumnWriter::new(&field, array.as_ref(), "text") else { panic!("accepted") };
    assert_eq!(error.column, "v");
    assert!(error.to_string().contains("arrow.parquet.variant"));
}
