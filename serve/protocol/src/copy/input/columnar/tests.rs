use arrow_array::{Int64Array, StringArray};
use arrow_schema::DataType;
use colonnade_wire::arrow::{columns_from_batch, schema_from_arrow};
use colonnade_wire::{Config, Encoder};

use super::*;
use crate::limits::LimitError;
use crate::value::types::{Type, TypeKind};

fn batch(rows: i64) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter((0..rows).map(|n| (n % 3 > 0).then_some(n))));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|n| format!("text {n}"))));
    RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap()
}

/// A stream of the batches, which have the columns of `schema`.
fn stream(schema: &Schema, batches: &[RecordBatch]) -> Vec<u8> {
    let mut encoder = Encoder::new(schema_from_arrow(schema).unwrap());
    let mut bytes = encoder.schema_message();
    for batch in batches {
        let chunk = encoder.chunk(batch.num_rows(), &columns_from_batch(batch), Config::LIGHT).unwrap();
        bytes.extend(chunk.slices().concat());
    }
    bytes.extend(encoder.end_message());
    bytes
}

fn field(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

/// A reader for the columns `t`, `n` and `other`.
fn reader(is_listed: bool, budget: &Arc<Budget>) -> Colonnade {
    let exported =
        Schema::new(vec![field("t", DataType::Utf8), field("n", DataType::Int64), field("other", DataType::Boolean)]);
    let target = |field: &Arc<Field>| {
        let type_ = Type { name: format!("type of {}", field.name()), kind: TypeKind::Text };
        TargetColumn { name: field.name().clone(), type_ }
    };
    let targets = exported.fields().iter().map(target).collect();
    Colonnade::new(targets, Arc::new(exported), is_listed, budget)
}

/// The rows of a stream that arrives in pieces of this length, and the first column's values.
fn read(stream: &[u8], piece: usize, budget: &Arc<Budget>) -> Result<(u64, Vec<ArrayRef>), Failure> {
    let mut reader = reader(false, budget);
    let (mut rows, mut numbers) = (0, Vec::new());
    let mut take = |reader: &mut Colonnade, all| -> Result<(), Failure> {
        while let Some(read) = reader.batch(all)? {
            assert_eq!(read.exported, Some(vec![1, 0]));
            rows += read.rows();
            numbers.extend(read.batches.iter().map(|batch| batch.column(0).clone()));
        }
        Ok(())
    };
    for data in stream.chunks(piece) {
        reader.feed(data)?;
        take(&mut reader, false)?;
    }
    reader.finish()?;
    take(&mut reader, true)?;
    Ok((rows, numbers))
}

fn budget() -> Arc<Budget> {
    Budget::new(Some(64 << 20), LimitError::SessionMemory)
}

#[test]
fn a_stream_may_be_divided_anywhere() {
    let batches = [batch(1000), batch(0), batch(7)];
    let stream = stream(&batches[0].schema(), &batches);
    for piece in [1, 63, 64, 65, 1000, stream.len()] {
        let budget = budget();
        let (rows, numbers) = read(&stream, piece, &budget).unwrap();
        assert_eq!(rows, 1007);
        let expected = [batches[0].column(0), batches[2].column(0)];
        assert!(numbers.iter().zip(expected).all(|(read, expected)| read.as_ref() == expected.as_ref()), "{piece}");
        drop(numbers);
        assert_eq!(budget.remaining(), 64 << 20);
    }
}

#[test]
fn every_truncation_and_every_changed_byte_is_refused() {
    let batches = [batch(40), batch(3)];
    let stream = stream(&batches[0].schema(), &batches);
    for length in 0..stream.len() {
        assert!(read(&stream[..length], 64, &budget()).is_err(), "{length}");
    }
    for at in 0..stream.len() {
        let mut changed = stream.clone();
        changed[at] ^= 1 << (at % 8);
        let budget = budget();
        assert!(read(&changed, 1000, &budget).is_err(), "{at}");
        assert_eq!(budget.remaining(), 64 << 20);
    }
    assert!(read(&[&stream[..], b"x"].concat(), 64, &budget()).is_err());
    assert!(read(&[&stream[..], &stream[..]].concat(), 64, &budget()).is_err());
}

fn refused(fields: Vec<Field>, is_listed: bool) -> (String, String) {
    let mut reader = reader(is_listed, &budget());
    let failure = reader.feed(&stream(&Schema::new(fields), &[])).unwrap_err();
    (failure.code().as_str().to_owned(), failure.to_string())
}

#[test]
fn fields_are_found_by_their_names_and_types() {
    let (n, t, other) = (field("n", DataType::Int64), field("t", DataType::Utf8), field("other", DataType::Boolean));
    assert!(reader(true, &budget()).feed(&stream(&Schema::new(vec![n.clone(), t.clone(), other]), &[])).is_ok());
    assert!(
        reader(true, &budget()).feed(&stream(&Schema::new(vec![n.clone(), field("t", DataType::Null)]), &[])).is_err()
    );
    assert!(reader(false, &budget()).feed(&stream(&Schema::new(vec![field("t", DataType::Null)]), &[])).is_ok());
    assert_eq!(refused(vec![field("N", DataType::Int64)], false).0, "42703");
    assert_eq!(refused(vec![n.clone(), n.clone()], false).0, "42701");
    let (code, message) = refused(vec![n, t], true);
    assert_eq!((code.as_str(), message.as_str()), ("22P04", "the stream has no field for column \"other\""));
    let (code, message) = refused(vec![field("n", DataType::Int32)], false);
    assert_eq!(code, "42804");
    assert!(["\"n\"", "type of n", "Int64", "Int32"].iter().all(|part| message.contains(part)), "{message}");
}

#[test]
fn rows_without_columns_are_refused() {
    let options = RecordBatchOptions::new().with_row_count(Some(3));
    let empty = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).unwrap();
    assert!(reader(false, &budget()).feed(&stream(&Schema::empty(), &[empty])).is_err());
    assert!(reader(false, &budget()).feed(&stream(&Schema::empty(), &[])).is_ok());
}

#[test]
fn sizes_are_charged_before_they_are_believed() {
    let mut header = stream(&batch(1).schema(), &[])[..HEADER_LEN].to_vec();
    header[8..16].copy_from_slice(&(200u64 << 20).to_le_bytes());
    let failure = reader(false, &budget()).feed(&[&header[..], b"x"].concat()).unwrap_err();
    assert!(matches!(failure, Failure::Limit(LimitError::SessionMemory(_))), "{failure}");
    header[8..16].copy_from_slice(&(1u64 << 40).to_le_bytes());
    assert_eq!(reader(false, &budget()).feed(&header).unwrap_err().code().as_str(), "54000");
}
