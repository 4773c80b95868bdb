//! The schema message's body. FORMAT §4.

use crate::{DataType, Field, Schema};

/// The body for `schema`.
pub(super) fn encode(schema: &Schema) -> Vec<u8> {
    let mut body = vec![0; 4];
    put_count(&mut body, schema.fields.len());
    put_metadata(&mut body, &schema.metadata);
    for field in &schema.fields {
        put_field(&mut body, field);
    }
    body
}

fn put_field(body: &mut Vec<u8>, field: &Field) {
    put_string(body, &field.name);
    let flags = match field.data_type {
        DataType::Dictionary { ordered: true, .. } => 2,
        DataType::Map { sorted: true } => 4,
        _ => 0,
    };
    body.push(number(&field.data_type));
    body.push(u8::from(field.nullable) | flags);
    body.extend_from_slice(&(field.children.len() as u16).to_le_bytes());
    match &field.data_type {
        DataType::Decimal32 { precision, scale }
        | DataType::Decimal64 { precision, scale }
        | DataType::Decimal128 { precision, scale }
        | DataType::Decimal256 { precision, scale } => body.extend([*precision, *scale as u8]),
        DataType::Time32(unit) | DataType::Time64(unit) | DataType::Duration(unit) => body.push(*unit as u8),
        DataType::Timestamp { unit, zone } => {
            body.extend([*unit as u8, u8::from(zone.is_some())]);
            if let Some(zone) = zone {
                put_string(body, zone);
            }
        }
        DataType::FixedSizeBinary(size) | DataType::FixedSizeList(size) => body.extend(size.to_le_bytes()),
        DataType::Dictionary { index, .. } => body.push(*index as u8),
        _ => {}
    }
    put_metadata(body, &field.metadata);
    for child in &field.children {
        put_field(body, child);
    }
}

fn number(data_type: &DataType) -> u8 {
    match data_type {
        DataType::Null => 0,
        DataType::Bool => 1,
        DataType::Int8 => 2,
        DataType::Int16 => 3,
        DataType::Int32 => 4,
        DataType::Int64 => 5,
        DataType::UInt8 => 6,
        DataType::UInt16 => 7,
        DataType::UInt32 => 8,
        DataType::UInt64 => 9,
        DataType::Float16 => 10,
        DataType::Float32 => 11,
        DataType::Float64 => 12,
        DataType::Decimal32 { .. } => 13,
        DataType::Decimal64 { .. } => 14,
        DataType::Decimal128 { .. } => 15,
        DataType::Decimal256 { .. } => 16,
        DataType::Date32 => 17,
        DataType::Date64 => 18,
        DataType::Time32(_) => 19,
        DataType::Time64(_) => 20,
        DataType::Timestamp { .. } => 21,
        DataType::Duration(_) => 22,
        DataType::IntervalYearMonth => 23,
        DataType::IntervalDayTime => 24,
        DataType::IntervalMonthDayNano => 25,
        DataType::Utf8 => 26,
        DataType::LargeUtf8 => 27,
        DataType::Binary => 28,
        DataType::LargeBinary => 29,
        DataType::FixedSizeBinary(_) => 30,
        DataType::List => 31,
        DataType::LargeList => 32,
        DataType::FixedSizeList(_) => 33,
        DataType::Struct => 34,
        DataType::Map { .. } => 35,
        DataType::Dictionary { .. } => 36,
    }
}

fn put_count(body: &mut Vec<u8>, count: usize) {
    body.extend_from_slice(&(count as u32).to_le_bytes());
}

fn put_string(body: &mut Vec<u8>, text: &str) {
    put_count(body, text.len());
    body.extend_from_slice(text.as_bytes());
}

fn put_metadata(body: &mut Vec<u8>, metadata: &[(String, String)]) {
    put_count(body, metadata.len());
    for (key, value) in metadata {
        put_string(body, key);
        put_string(body, value);
    }
}
