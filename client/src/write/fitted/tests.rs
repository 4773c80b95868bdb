#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int64Array, MapArray, StringArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields, Metadata};

use super::*;

#[test]
fn rows_are_counted_over_all_batches() {
    let batch =
        |values: Vec<i64>| RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(values)) as ArrayRef)]).unwrap();
    let batches = [batch(vec![1, 2]), batch(vec![3, 70_000])];
    let target = Fields::from(vec![Field::new("other", DataType::Int16, true)]);
    let source = Box::new(Batches(batches[0].schema(), batches.into_iter()));
    let mut rows = fitted(source, &target, vec!["SMALLINT".to_owned()]).unwrap();
    assert_eq!(rows.schema().field(0).name(), "n");
    let first = rows.next(&mut || true).unwrap().unwrap().decode().unwrap();
    assert_eq!(first.column(0).data_type(), &DataType::Int16);
    let error = rows.next(&mut || true).err().unwrap();
    assert_eq!(error.message(), "column \"n\", row 4: 70000 has no exact form in SMALLINT");
    assert_eq!(error.sqlstate(), Some("22003"));
}

#[test]
fn the_first_row_is_named() {
    let columns = [("a", vec![1, 300, 300]), ("b", vec![300, 1, 1]), ("c", vec![300, 300, 300])];
    let columns = columns.map(|(name, values)| (name, Arc::new(Int64Array::from(values)) as ArrayRef));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let target = Fields::from(vec![Field::new("n", DataType::Int8, true); 3]);
    let source = Box::new(Batches(batch.schema(), [batch.clone(), batch].into_iter()));
    let mut rows = fitted(source, &target, vec!["TINYINT".to_owned(); 3]).unwrap();
    let error = rows.next(&mut || true).err().unwrap();
    assert_eq!(error.message(), "column \"b\", row 1: 300 has no exact form in TINYINT");
}

#[test]
fn a_type_that_never_fits_is_refused_before_a_row() {
    let batch = RecordBatch::try_from_iter([("n", Arc::new(StringArray::from(vec!["1"])) as ArrayRef)]).unwrap();
    let target = Fields::from(vec![Field::new("n", DataType::Int16, true)]);
    let source = Box::new(Batches(batch.schema(), [batch.clone(), batch].into_iter()));
    let error = fitted(source, &target, vec!["SMALLINT".to_owned()]).err().unwrap();
    assert_eq!((error.kind(), error.sqlstate()), (ErrorKind::Unsupported, Some("0A000")));
    assert!(error.message().starts_with("column \"n\": the table's column of type SMALLINT"), "{}", error.message());
}

/// The library finds extension types and the names within nested types in the schema: it and each batch have the
/// table's.
#[test]
fn batches_have_the_types_of_the_table() {
    let uuid = Field::new("id", DataType::FixedSizeBinary(16), true).with_metadata(
        [("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())].into_iter().collect::<Metadata>(),
    );
    let entries = |value: Field| {
        let fields = Fields::from(vec![Field::new("key", DataType::Utf8, false), value]);
        Arc::new(Field::new("entries", DataType::Struct(fields), false))
    };
    let DataType::Struct(fields) = entries(Field::new("n", DataType::Int64, true)).data_type().clone() else { return };
    let keys: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
    let values: ArrayRef = Arc::new(Int64Array::from(vec![1, 1 << 40, 3]));
    let pairs = StructArray::new(fields.clone(), vec![keys, values], None);
    // The second map is NULL and has an entry, which means nothing.
    let nulls = Some(vec![true, false, true].into());
    let given = Arc::new(Field::new("entries", DataType::Struct(fields), false));
    let maps = MapArray::new(given, OffsetBuffer::from_lengths([1, 1, 1]), pairs, nulls, false);
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["123e4567-e89b-12d3-a456-426614174000"; 3]));
    let of_text = Fields::from(vec![Field::new("id", DataType::Utf8, true)]);
    let ids = StructArray::new(of_text, vec![texts], None);
    let batch =
        RecordBatch::try_from_iter([("m", Arc::new(maps) as ArrayRef), ("s", Arc::new(ids) as ArrayRef)]).unwrap();
    let targets = Fields::from(vec![
        Field::new("m", DataType::Map(entries(Field::new("value", DataType::Int16, true)), false), true),
        Field::new("s", DataType::Struct(vec![uuid].into()), true),
    ]);
    let source = Box::new(Batches(batch.schema(), [batch.clone(), batch].into_iter()));
    let mut rows = fitted(source, &targets, vec!["MAP(VARCHAR, SMALLINT)".to_owned(), "STRUCT(id UUID)".to_owned()]);
    let rows = rows.as_mut().unwrap();
    let made = rows.next(&mut || true).unwrap().unwrap().decode().unwrap();
    assert_eq!(made.schema().fields(), &targets);
    assert_eq!(made.column(0).as_map().offsets().as_ref(), [0, 1, 1, 2]);
    assert_eq!(made.column(1).as_struct().column(0).as_fixed_size_binary().value(2)[..2], [0x12, 0x3e]);
}

struct Batches(SchemaRef, std::array::IntoIter<RecordBatch, 2>);

impl ResultStream for Batches {
    fn schema(&self) -> &SchemaRef {
        &self.0
    }

    fn next(&mut self, _: ContinueCheck<'_>) -> Result<Option<Batch>, Error> {
        Ok(self.1.next().map(Batch::from))
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }
}
