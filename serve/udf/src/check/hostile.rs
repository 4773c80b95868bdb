//! Any bytes as the answer of a function process, for property tests and fuzzing.

use super::{Refused, SMALL_ANSWER, any_columns, columns, notices, record};
use crate::function::{ColumnType, FunctionColumn};
use crate::layout::{ANSWER_HEAD, ANSWER_WORDS, AnswerHead, DATA, NOTICES, RECORD};
use crate::memory::{MemoryBudget, MemoryExceeded};
use crate::output::{ColumnSource, OutputColumn, OutputData};
use crate::ring::Ring;

/// Checks an answer that stands in `bytes`, as if a function process had written it, and reads what is found valid.
///
/// # Errors
/// What is wrong with it.
///
/// # Panics
/// If the check has let something wrong pass.
pub fn check_bytes(bytes: &[u8], types: &[ColumnType], rows: Option<usize>) -> Result<(), &'static str> {
    let ring = Ring::new(0).map_err(|_| "no ring")?;
    // The areas of the answer only: its head, its words, the texts, and the first bytes of the values.
    let mut rest = bytes;
    for (at, most) in [(ANSWER_HEAD, 64), (ANSWER_WORDS, 1024), (RECORD, 256), (NOTICES, 64), (DATA, 4096)] {
        let (part, after) = rest.split_at(rest.len().min(most));
        ring.slice(at, part.len()).ok_or("no ring")?.write(0, part);
        rest = after;
    }
    let head = ring.answer_head();
    let _ = (record(&ring, &head), notices(&ring, &head));
    let parameter = |type_: &ColumnType| FunctionColumn {
        name: String::new(),
        type_name: String::new(),
        column_type: type_.clone(),
        is_scalar: false,
    };
    let parameters: Vec<_> = types.iter().map(parameter).collect();
    if let Ok((names, any)) = any_columns(&ring, &head, &parameters) {
        for (_, source) in &names {
            assert!(!matches!(source, ColumnSource::Argument(number) if *number >= parameters.len()));
        }
        let any: Vec<_> = any.iter().collect();
        let read = read_columns(&ring, &head, &any, None);
        read.iter().for_each(|(found, columns)| columns.iter().for_each(|column| read_all(column, *found)));
    }
    let types: Vec<_> = types.iter().collect();
    let (found, columns) = read_columns(&ring, &head, &types, rows)?;
    columns.iter().for_each(|column| read_all(column, found));
    for (column, type_) in columns.into_iter().zip(&types) {
        let (half, owned) = (found / 2, column.into_owned());
        read_all(&owned.slice(type_, half, found - half), found - half);
    }
    Ok(())
}

/// Reads the columns. Copies of all of them are not larger than the ring, whatever the answer says.
fn read_columns<'r>(
    ring: &'r Ring,
    head: &AnswerHead,
    types: &[&ColumnType],
    rows: Option<usize>,
) -> Result<(usize, Vec<OutputColumn<'r>>), &'static str> {
    let budget = MemoryBudget::new(None, MemoryExceeded::Session);
    let mut charge = budget.empty_charge();
    let (found, columns) = columns(ring, head, types, rows, &mut charge).map_err(|refused| match refused {
        Refused::Fault(fault) => fault,
        Refused::Memory(_) => "there is no memory",
    })?;
    let copied = |(column, type_): (&OutputColumn<'_>, &&ColumnType)| column.slice_bytes(type_, 0, found);
    let bytes: usize = columns.iter().zip(types).map(copied).sum();
    assert!(bytes <= charge.bytes() && charge.bytes() <= ring.size().max(SMALL_ANSWER));
    Ok((found, columns))
}

/// Reads each value as a caller would.
fn read_all(column: &OutputColumn<'_>, rows: usize) {
    let valid = (0..rows).filter(|row| column.is_valid(*row)).count();
    assert!(valid <= rows);
    match &column.data {
        OutputData::Fixed(values) => {
            assert_eq!(values.len(), rows);
            let mut value = vec![0; values.width()];
            (0..rows).for_each(|row| values.copy_to(row, &mut value));
        }
        OutputData::Bytes { offsets, bytes } => {
            let length = |row: usize| bytes[offsets[row] as usize..offsets[row + 1] as usize].len();
            assert_eq!((0..rows).map(length).sum::<usize>(), bytes.len());
        }
        OutputData::List { offsets, items } => read_all(items, offsets.last().map_or(0, |count| *count as usize)),
        OutputData::Array(items) => assert!(rows == 0 || items.is_valid(0) || items.validity.is_some()),
        OutputData::Struct(fields) => fields.iter().for_each(|field| read_all(field, rows)),
        OutputData::Union { tags, members } => {
            assert!(tags.len() == rows && tags.iter().all(|tag| usize::from(*tag) < members.len()));
            members.iter().for_each(|member| read_all(member, rows));
        }
    }
}
