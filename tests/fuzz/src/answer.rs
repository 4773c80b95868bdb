//! The check of answers of a worker process for functions.

use colonnade_udf::{ColumnType, TimestampUnit, check_bytes};

/// Checks an answer, and reads everything in one that is found valid. Its first eight bytes choose the types of the
/// columns, their number and the rows. Returns whether it is valid.
///
/// # Panics
/// If the check has let something wrong pass.
pub fn check(bytes: &[u8]) -> bool {
    let (first, answer) = bytes.split_at(bytes.len().min(8));
    let mut first = first.iter();
    let types = [column_type(&mut first, 0), column_type(&mut first, 0)];
    let rows = first.next().filter(|rows| **rows < 128).map(|rows| usize::from(rows % 16));
    // As many columns as there is room for: their buffers may overlap.
    let columns = 1 + first.next().map_or(0, |columns| usize::from(columns % 20));
    let types: Vec<_> = types.into_iter().cycle().take(columns).collect();
    check_bytes(answer, &types, rows).is_ok()
}

/// A type, made from bytes as far as they go.
fn column_type(bytes: &mut std::slice::Iter<'_, u8>, depth: usize) -> ColumnType {
    let choice = bytes.next().copied().unwrap_or(0);
    let mut inner = || Box::new(column_type(bytes, depth + 1));
    match choice % if depth < 3 { 20 } else { 14 } {
        0 => ColumnType::Boolean,
        1 => ColumnType::Int8,
        2 => ColumnType::UInt16,
        3 => ColumnType::Float32,
        4 => ColumnType::Int64,
        5 => ColumnType::Decimal { width: 18, scale: 3 },
        6 => ColumnType::Text,
        7 => ColumnType::Blob,
        8 => ColumnType::Uuid,
        9 => ColumnType::Date,
        10 => ColumnType::Time,
        11 => ColumnType::Timestamp(TimestampUnit::Microsecond),
        12 => ColumnType::TimestampTz,
        13 => ColumnType::Interval,
        14 | 15 => ColumnType::List(inner()),
        16 => ColumnType::Array { item: inner(), size: 2 },
        17 => ColumnType::Struct(vec![("a".to_owned(), *inner()), ("b".to_owned(), *inner())]),
        18 => ColumnType::Union(vec![("a".to_owned(), *inner()), ("b".to_owned(), *inner())]),
        _ => ColumnType::Map(inner(), inner()),
    }
}
