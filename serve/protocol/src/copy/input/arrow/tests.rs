use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int64Array, StringArray};
use arrow_ipc::writer::StreamWriter;
use proptest::prelude::*;

use super::*;
use crate::limits::LimitError;

fn batch(rows: i64) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter((0..rows).map(|n| (n % 3 > 0).then_some(n))));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|n| format!("text {n}"))));
    let words: DictionaryArray<Int32Type> = (0..rows).map(|n| ["one", "two"][n as usize % 2]).collect();
    RecordBatch::try_from_iter([("n", numbers), ("t", texts), ("d", Arc::new(words) as _)]).unwrap()
}

fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch(10).schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

/// The number of rows of a stream that arrives in pieces of this length.
fn rows(stream: &[u8], piece: usize, budget: &Arc<Budget>) -> Result<usize, Failure> {
    let (mut reader, mut rows) = (Arrow::new(3, budget), 0);
    for data in stream.chunks(piece) {
        reader.feed(data)?;
        while let Some(batch) = reader.batch(false)? {
            rows += batch.rows() as usize;
        }
    }
    reader.finish().map(|()| rows)
}

fn budget() -> Arc<Budget> {
    Budget::new(Some(64 << 20), LimitError::SessionMemory)
}

#[test]
fn message_boundaries_do_not_change_a_stream() {
    let stream = stream(&[batch(1000), batch(0), batch(7)]);
    for piece in [1, 7, 1000, stream.len()] {
        let budget = budget();
        assert_eq!(rows(&stream, piece, &budget).unwrap(), 1007, "{piece}");
        assert_eq!(budget.remaining(), 64 << 20);
    }
    // Without the end mark, with a byte after it, and with a cut within it.
    assert_eq!(rows(&stream[..stream.len() - 8], 100, &budget()).unwrap(), 1007);
    assert!(rows(&[&stream[..], b"x"].concat(), 100, &budget()).is_err());
    assert!(rows(&stream[..stream.len() - 9], 100, &budget()).is_err());
}

#[test]
fn batches_without_a_body_are_read() {
    let nulls = |rows| {
        let nulls: ArrayRef = Arc::new(arrow_array::NullArray::new(rows));
        RecordBatch::try_from_iter([("a", Arc::clone(&nulls)), ("b", Arc::clone(&nulls)), ("c", nulls)]).unwrap()
    };
    let mut writer = StreamWriter::try_new(Vec::new(), &nulls(0).schema()).unwrap();
    [3, 0, 4].into_iter().for_each(|rows| writer.write(&nulls(rows)).unwrap());
    let stream = writer.into_inner().unwrap();
    for end in [stream.len(), stream.len() - 8] {
        let mut reader = Arrow::new(3, &budget());
        stream[..end].chunks(100).for_each(|data| reader.feed(data).unwrap());
        reader.finish().unwrap();
        let mut rows = 0;
        while let Some(batch) = reader.batch(true).unwrap() {
            rows += batch.rows() as usize;
        }
        assert_eq!(rows, 7);
    }
}

#[test]
fn a_message_larger_than_the_budget_is_refused() {
    let stream = stream(&[batch(10_000)]);
    let small = Budget::new(Some(100_000), LimitError::SessionMemory);
    let refused = rows(&stream, 1000, &small);
    assert!(matches!(refused, Err(Failure::Limit(LimitError::SessionMemory(100_000)))));
    assert_eq!(small.remaining(), 100_000);
    // The length in the metadata is enough to refuse it: its body has not arrived.
    let start = stream.len() - 8 - (batch(10_000).get_array_memory_size() / 2);
    assert!(rows(&stream[..start], 1000, &small).is_err());
}

#[test]
fn a_buffer_outside_of_its_message_is_refused() {
    let stream = stream(&[batch(1000)]);
    let mut refused = 0;
    // Each number in the metadata becomes much too large, negative, or slightly larger.
    for at in (0..stream.len().min(3000)).step_by(8) {
        for change in [i64::MAX, i64::MIN, -1, 1 << 40, 8192] {
            let mut changed = stream.clone();
            changed[at..at + 8].copy_from_slice(&change.to_le_bytes());
            if let Err(failure) = rows(&changed, 512, &budget()) {
                let code = failure.code();
                assert!(["22P04", "53200"].contains(&code.as_str()), "{failure}");
                refused += 1;
            }
        }
    }
    assert!(refused > 100, "{refused}");
}

proptest! {
    #[test]
    fn a_changed_byte_never_panics_or_leaks(at in 0usize..4000, byte: u8, piece in 1usize..2000) {
        let mut changed = stream(&[batch(100), batch(5)]);
        let at = at % changed.len();
        changed[at] = byte;
        let budget = budget();
        let _ = rows(&changed, piece, &budget);
        prop_assert_eq!(budget.remaining(), 64 << 20);
    }
}
