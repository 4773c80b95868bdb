//! Answers of a worker process for functions: the check refuses them, or everything in them can be read. The first bytes choose the type.

#![no_main]

use colonnade_udf::{ColumnType, TimestampUnit, check_bytes};

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

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (first, answer) = bytes.split_at(bytes.len().min(8));
    let mut first = first.iter();
    let types = [column_type(&mut first, 0), column_type(&mut first, 0)];
    let rows = first.next().map(|rows| usize::from(rows % 16));
    let _ = check_bytes(answer, &types[..1 + usize::from(bytes.len() % 2 == 1)], rows);
});
