use arrow_array::types::Decimal128Type;
use arrow_array::{
    Array, ArrayRef, Date32Array, Decimal128Array, Int32Array, ListArray, PrimitiveArray, StringArray, StructArray,
    TimestampSecondArray,
};
use arrow_schema::Fields;

use super::*;
use crate::types;

fn target(type_name: &str) -> TargetColumn {
    TargetColumn { name: "it's \"a\"".to_owned(), type_: types::named(type_name) }
}

fn insertion(type_name: &str, array: ArrayRef) -> Result<Insertion, EngineError> {
    let target = target(type_name);
    let fields: Fields = vec![Field::new("c0", array.data_type().clone(), true)].into();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![array]).unwrap();
    Insertion::new(InsertedRows {
        table: "t",
        columns: Some("\"a\""),
        targets: vec![&target],
        batches: vec![batch],
        form: ValueForm::Exported { first_row: 11 },
    })
}

fn values(type_name: &str, array: ArrayRef) -> String {
    let made = insertion(type_name, array).unwrap().statement;
    let made = made.strip_prefix("INSERT INTO t AS target (\"a\") SELECT ").unwrap();
    made.strip_suffix(" FROM colonnade_copied").unwrap().to_owned()
}

fn decimals(values: Vec<Option<i128>>, precision: u8, scale: i8) -> ArrayRef {
    let array: PrimitiveArray<Decimal128Type> = Decimal128Array::from(values);
    Arc::new(array.with_precision_and_scale(precision, scale).unwrap())
}

#[test]
fn only_values_of_another_type_are_cast() {
    let integers: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    assert_eq!(values("INTEGER", integers), "c0");
    assert_eq!(values("VARCHAR", texts.clone()), "c0");
    assert_eq!(values("DECIMAL(9,2)", decimals(vec![Some(1)], 9, 2)), "c0");
    assert_eq!(values("HUGEINT", decimals(vec![Some(i128::MAX)], 38, 0)), "c0");
    let cast = values("UUID", texts);
    assert!(cast.starts_with(
        "CASE WHEN TRY_CAST(TRY_CAST(c0 AS UUID) AS VARCHAR) IS DISTINCT FROM c0 THEN system.main.error("
    ));
    assert!(cast.contains("'column \"it''s \"\"a\"\"\", row ', row_number"));
}

#[test]
fn a_nested_text_is_cast_as_a_whole() {
    let field = Arc::new(Field::new("b", DataType::Utf8, true));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let nested: ArrayRef = Arc::new(StructArray::from(vec![(field, texts)]));
    assert_eq!(values("STRUCT(b VARCHAR)", nested.clone()), "c0");
    let cast = values("STRUCT(b UUID)", nested);
    assert!(
        cast.starts_with("CASE WHEN TRY_CAST(TRY_CAST(c0 AS STRUCT(b UUID)) AS STRUCT(\"b\" VARCHAR)) IS"),
        "{cast}"
    );
}

#[test]
fn rows_that_are_cast_are_numbered() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let made = insertion("UUID", texts).unwrap();
    let numbers = made.batches[0].column_by_name(ROW).unwrap();
    assert_eq!(numbers.as_ref(), &Int64Array::from(vec![11, 12]) as &dyn Array);
}

#[test]
fn values_that_their_column_cannot_hold_are_refused() {
    let refused = |type_name: &str, array: ArrayRef| match insertion(type_name, array) {
        Err(error) => (error.code.as_str().to_owned(), error.message),
        Ok(_) => panic!("accepted"),
    };
    let (code, message) = refused("DECIMAL(4,2)", decimals(vec![Some(9999), None, Some(-10000)], 4, 2));
    assert_eq!(code, "22003");
    assert!(message.starts_with("column \"it's \"\"a\"\"\", row 13: a decimal of the digits -10000"), "{message}");
    let dates: ArrayRef = Arc::new(Date32Array::from(vec![i32::MAX, i32::MIN + 1, i32::MIN]));
    assert!(refused("DATE", dates).1.contains("row 13: -2147483648 days"));
    let late: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX, 9_300_000_000_000]));
    assert_eq!(refused("TIMESTAMP_S", late).0, "22008");
}

#[test]
fn a_nested_value_has_the_row_of_its_list_and_nothing_under_null_counts() {
    let lists = |valid: Vec<bool>| -> ArrayRef {
        let field = Arc::new(Field::new("item", DataType::Decimal128(4, 2), true));
        let offsets = vec![0, 2, 2, 4].into_iter().collect::<Vec<i32>>();
        let items = decimals(vec![Some(1), Some(2), Some(3), Some(10000)], 4, 2);
        let offsets = arrow_buffer::OffsetBuffer::new(offsets.into());
        Arc::new(ListArray::new(field, offsets, items, Some(valid.into())))
    };
    let refused = insertion("DECIMAL(4,2)[]", lists(vec![true, true, true]));
    assert!(refused.err().unwrap().message.contains("row 13:"));
    assert!(insertion("DECIMAL(4,2)[]", lists(vec![true, true, false])).is_ok());
}
