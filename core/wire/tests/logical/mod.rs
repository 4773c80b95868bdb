//! The logical value of a decoded column in the form of spec/vectors/README.md. It is computed only from the raw
//! buffers.

#![allow(clippy::unwrap_used, clippy::panic, dead_code, reason = "test support, shared by several tests")]

use bytes::Bytes;
use colonnade_wire::{Column, DataType, Field, IndexType, Layout, Schema, Unit, Values};
use serde_json::{Map, Value, json};

/// A field's description.
pub fn field(field: &Field) -> Value {
    let mut object = Map::new();
    object.insert("name".into(), json!(field.name));
    let (name, parameters) = data_type(&field.data_type);
    object.insert("type".into(), json!(name));
    object.insert("nullable".into(), json!(field.nullable));
    object.extend(parameters.as_object().unwrap().clone());
    if !field.metadata.is_empty() {
        object.insert("metadata".into(), pairs(&field.metadata));
    }
    let nested = matches!(
        field.data_type.layout(),
        Layout::List(_) | Layout::FixedList(_) | Layout::Struct | Layout::Dictionary(_)
    );
    if nested {
        object.insert("children".into(), field.children.iter().map(self::field).collect());
    }
    Value::Object(object)
}

fn pairs(metadata: &[(String, String)]) -> Value {
    metadata.iter().map(|(key, value)| json!([key, value])).collect()
}

/// The logical value of a whole stream.
pub fn stream(schema: &Schema, chunks: &[(usize, Vec<Column<Bytes>>)]) -> Value {
    let mut columns = vec![Vec::new(); schema.fields.len()];
    for (rows, chunk) in chunks {
        for ((column, values), field) in chunk.iter().zip(&mut columns).zip(&schema.fields) {
            values.extend((0..*rows).map(|row| value(field, column, row)));
        }
    }
    let mut object = Map::new();
    if !schema.metadata.is_empty() {
        object.insert("metadata".into(), pairs(&schema.metadata));
    }
    object.insert("schema".into(), schema.fields.iter().map(field).collect());
    object.insert("rows".into(), json!(chunks.iter().map(|(rows, _)| rows).sum::<usize>()));
    object.insert("chunks".into(), json!(chunks.iter().map(|(rows, _)| rows).collect::<Vec<_>>()));
    object.insert("columns".into(), json!(columns));
    Value::Object(object)
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Second => "s",
        Unit::Millisecond => "ms",
        Unit::Microsecond => "us",
        Unit::Nanosecond => "ns",
    }
}

fn index(index: IndexType) -> &'static str {
    match index {
        IndexType::Int8 => "int8",
        IndexType::Int16 => "int16",
        IndexType::Int32 => "int32",
        IndexType::Int64 => "int64",
        IndexType::UInt8 => "uint8",
        IndexType::UInt16 => "uint16",
        IndexType::UInt32 => "uint32",
        IndexType::UInt64 => "uint64",
    }
}

fn data_type(data_type: &DataType) -> (&'static str, Value) {
    let none = json!({});
    let decimal = |precision: &u8, scale: &i8| json!({"precision": precision, "scale": scale});
    match data_type {
        DataType::Null => ("null", none),
        DataType::Bool => ("bool", none),
        DataType::Int8 => ("int8", none),
        DataType::Int16 => ("int16", none),
        DataType::Int32 => ("int32", none),
        DataType::Int64 => ("int64", none),
        DataType::UInt8 => ("uint8", none),
        DataType::UInt16 => ("uint16", none),
        DataType::UInt32 => ("uint32", none),
        DataType::UInt64 => ("uint64", none),
        DataType::Float16 => ("float16", none),
        DataType::Float32 => ("float32", none),
        DataType::Float64 => ("float64", none),
        DataType::Decimal32 { precision, scale } => ("decimal32", decimal(precision, scale)),
        DataType::Decimal64 { precision, scale } => ("decimal64", decimal(precision, scale)),
        DataType::Decimal128 { precision, scale } => ("decimal128", decimal(precision, scale)),
        DataType::Decimal256 { precision, scale } => ("decimal256", decimal(precision, scale)),
        DataType::Date32 => ("date32", none),
        DataType::Date64 => ("date64", none),
        DataType::Time32(at) => ("time32", json!({"unit": unit(*at)})),
        DataType::Time64(at) => ("time64", json!({"unit": unit(*at)})),
        DataType::Timestamp { unit: at, zone } => ("timestamp", json!({"unit": unit(*at), "zone": zone})),
        DataType::Duration(at) => ("duration", json!({"unit": unit(*at)})),
        DataType::IntervalYearMonth => ("interval_year_month", none),
        DataType::IntervalDayTime => ("interval_day_time", none),
        DataType::IntervalMonthDayNano => ("interval_month_day_nano", none),
        DataType::Utf8 => ("utf8", none),
        DataType::LargeUtf8 => ("large_utf8", none),
        DataType::Binary => ("binary", none),
        DataType::LargeBinary => ("large_binary", none),
        DataType::FixedSizeBinary(width) => ("fixed_size_binary", json!({"width": width})),
        DataType::List => ("list", none),
        DataType::LargeList => ("large_list", none),
        DataType::FixedSizeList(size) => ("fixed_size_list", json!({"size": size})),
        DataType::Struct => ("struct", none),
        DataType::Map { sorted } => ("map", json!({"keys_sorted": sorted})),
        DataType::Dictionary { index: at, ordered } => ("dictionary", json!({"index": index(*at), "ordered": ordered})),
    }
}

/// Row `row` of a column.
pub fn value(field: &Field, column: &Column<Bytes>, row: usize) -> Value {
    if column.validity.as_ref().is_some_and(|valid| !valid.bit(row)) {
        return Value::Null;
    }
    match &column.values {
        Values::None => Value::Null,
        Values::Bits(bits) => json!(bits.bit(row)),
        Values::Fixed(bytes) => {
            let width = field.data_type.layout().fixed_width().unwrap();
            fixed(&field.data_type, &bytes[row * width..(row + 1) * width])
        }
        Values::Bytes { offsets, data } => {
            let bytes = &data[range(field, offsets, row)];
            match field.data_type {
                DataType::Utf8 | DataType::LargeUtf8 => json!(std::str::from_utf8(bytes).unwrap()),
                _ => json!(hex(bytes)),
            }
        }
        Values::List { offsets, child } => {
            range(field, offsets, row).map(|item| value(&field.children[0], child, item)).collect()
        }
        Values::FixedList(child) => {
            let size = child.rows / column.rows;
            (row * size..(row + 1) * size).map(|item| value(&field.children[0], child, item)).collect()
        }
        Values::Struct(children) => {
            field.children.iter().zip(children).map(|(field, child)| value(field, child, row)).collect()
        }
        Values::Dictionary { indices, values } => {
            let Layout::Dictionary(index) = field.data_type.layout() else { panic!("indices without a dictionary") };
            let width = index.width();
            let mut bytes = [0; 8];
            bytes[..width].copy_from_slice(&indices[row * width..(row + 1) * width]);
            value(&field.children[0], values, u64::from_le_bytes(bytes) as usize)
        }
    }
}

fn range(field: &Field, offsets: &[u8], row: usize) -> std::ops::Range<usize> {
    let width = match field.data_type.layout() {
        Layout::Bytes { offset, .. } | Layout::List(offset) => offset,
        _ => panic!("offsets without a list"),
    };
    let at = |row: usize| signed(&offsets[row * width..(row + 1) * width]) as usize;
    at(row)..at(row + 1)
}

fn signed(bytes: &[u8]) -> i128 {
    let fill = if bytes[bytes.len() - 1] & 0x80 == 0 { 0 } else { 0xFF };
    let mut wide = [fill; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    i128::from_le_bytes(wide)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn fixed(data_type: &DataType, bytes: &[u8]) -> Value {
    match data_type {
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => {
            let mut wide = [0; 8];
            wide[..bytes.len()].copy_from_slice(bytes);
            json!(u64::from_le_bytes(wide))
        }
        DataType::Float16 => float(&half(bytes), bytes, 0x7e00),
        DataType::Float32 => {
            let value = f32::from_le_bytes(bytes.try_into().unwrap());
            float(&value.to_string(), bytes, 0x7fc0_0000)
        }
        DataType::Float64 => {
            let value = f64::from_le_bytes(bytes.try_into().unwrap());
            float(&value.to_string(), bytes, 0x7ff8_0000_0000_0000)
        }
        DataType::Decimal32 { scale, .. } | DataType::Decimal64 { scale, .. } | DataType::Decimal128 { scale, .. } => {
            json!(decimal(&signed(bytes).to_string(), *scale))
        }
        DataType::Decimal256 { scale, .. } => json!(decimal(&wide(bytes), *scale)),
        DataType::IntervalYearMonth => json!([signed(bytes) as i64]),
        DataType::IntervalDayTime => json!([signed(&bytes[..4]) as i64, signed(&bytes[4..]) as i64]),
        DataType::IntervalMonthDayNano => {
            json!([signed(&bytes[..4]) as i64, signed(&bytes[4..8]) as i64, signed(&bytes[8..]) as i64])
        }
        DataType::FixedSizeBinary(_) => json!(hex(bytes)),
        _ => json!(signed(bytes) as i64),
    }
}

fn float(text: &str, bytes: &[u8], quiet: u64) -> Value {
    if !text.contains("NaN") {
        return json!(text);
    }
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(wide);
    if bits == quiet { json!("nan") } else { json!(format!("nan:{bits:0width$x}", width = bytes.len() * 2)) }
}

/// An IEEE 754 half in decimal: every half is also a float32.
fn half(bytes: &[u8]) -> String {
    let bits = u16::from_le_bytes(bytes.try_into().unwrap());
    let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 0x1F), f32::from(bits & 0x3FF));
    let magnitude = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    };
    (if sign == 1 { -magnitude } else { magnitude }).to_string()
}

/// A 256-bit integer in decimal, by long division.
fn wide(bytes: &[u8]) -> String {
    let negative = bytes[31] & 0x80 != 0;
    let mut limbs: Vec<u32> = bytes.chunks(4).map(|limb| u32::from_le_bytes(limb.try_into().unwrap())).collect();
    if negative {
        let mut carry = true;
        for limb in &mut limbs {
            (*limb, carry) = (!*limb).overflowing_add(u32::from(carry));
        }
    }
    let mut digits = Vec::new();
    while limbs.iter().any(|&limb| limb != 0) {
        let mut rest = 0u64;
        for limb in limbs.iter_mut().rev() {
            let part = rest << 32 | u64::from(*limb);
            (*limb, rest) = ((part / 10) as u32, part % 10);
        }
        digits.push(char::from(b'0' + rest as u8));
    }
    if digits.is_empty() {
        digits.push('0');
    }
    if negative {
        digits.push('-');
    }
    digits.iter().rev().collect()
}

fn decimal(digits: &str, scale: i8) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    if scale <= 0 {
        let zeros = if digits == "0" { 0 } else { -i32::from(scale) as usize };
        return format!("{sign}{digits}{}", "0".repeat(zeros));
    }
    let scale = scale as usize;
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, part) = padded.split_at(padded.len() - scale);
    format!("{sign}{whole}.{part}")
}

/// Whether two logical values are equal: as JSON, with float strings compared as numbers.
pub fn same(field: &Field, left: &Value, right: &Value) -> bool {
    if left == right {
        return true;
    }
    match (&field.data_type, left, right) {
        (DataType::Float16 | DataType::Float32, Value::String(left), Value::String(right)) => {
            let (left, right) = (left.parse::<f32>(), right.parse::<f32>());
            matches!((left, right), (Ok(left), Ok(right)) if left.to_bits() == right.to_bits())
        }
        (DataType::Float64, Value::String(left), Value::String(right)) => {
            let (left, right) = (left.parse::<f64>(), right.parse::<f64>());
            matches!((left, right), (Ok(left), Ok(right)) if left.to_bits() == right.to_bits())
        }
        (DataType::Struct, Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).zip(&field.children).all(|((left, right), field)| same(field, left, right))
        }
        (_, Value::Array(left), Value::Array(right)) if field.children.len() == 1 => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same(&field.children[0], left, right))
        }
        (DataType::Dictionary { .. }, left, right) => same(&field.children[0], left, right),
        _ => false,
    }
}
