//! Converts schemas in both directions.

use std::sync::Arc;

use arrow_schema::{
    DataType as Arrow, Field as ArrowField, Fields, IntervalUnit, Metadata, Schema as ArrowSchema, TimeUnit,
};

use crate::{DataType, Field, IndexType, MAX_DEPTH, Schema, Unit};

/// A column whose Arrow type the format does not support.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column \"{column}\" {problem}, which cannot be sent; cast it to another type in the query")]
pub struct UnsupportedType {
    column: String,
    problem: String,
}

/// The stream's schema for batches of `schema`.
///
/// # Errors
///
/// A column has one of Arrow's view, union or run-end encoded types, or more than [`MAX_DEPTH`] levels.
pub fn schema_from_arrow(schema: &ArrowSchema) -> Result<Schema, UnsupportedType> {
    let fields = schema.fields().iter().map(|field| field_from_arrow(field, field.name(), 1));
    Ok(Schema { fields: fields.collect::<Result<_, _>>()?, metadata: sorted(schema.metadata()) })
}

/// A field of a column, at this level of it.
fn field_from_arrow(field: &ArrowField, column: &str, depth: usize) -> Result<Field, UnsupportedType> {
    let refused = |problem: String| UnsupportedType { column: column.to_owned(), problem };
    if depth > MAX_DEPTH {
        return Err(refused(format!("is nested more than {MAX_DEPTH} levels deep")));
    }
    let unsupported = || refused(format!("has type {}", field.data_type()));
    let index_type = |key: &Arrow| match key {
        Arrow::Int8 => Some(IndexType::Int8),
        Arrow::Int16 => Some(IndexType::Int16),
        Arrow::Int32 => Some(IndexType::Int32),
        Arrow::Int64 => Some(IndexType::Int64),
        Arrow::UInt8 => Some(IndexType::UInt8),
        Arrow::UInt16 => Some(IndexType::UInt16),
        Arrow::UInt32 => Some(IndexType::UInt32),
        Arrow::UInt64 => Some(IndexType::UInt64),
        _ => None,
    };
    let size = |size: i32| u32::try_from(size).map_err(|_| unsupported());
    let mut children: Vec<&ArrowField> = Vec::new();
    let values;
    let data_type = match field.data_type() {
        Arrow::Null => DataType::Null,
        Arrow::Boolean => DataType::Bool,
        Arrow::Int8 => DataType::Int8,
        Arrow::Int16 => DataType::Int16,
        Arrow::Int32 => DataType::Int32,
        Arrow::Int64 => DataType::Int64,
        Arrow::UInt8 => DataType::UInt8,
        Arrow::UInt16 => DataType::UInt16,
        Arrow::UInt32 => DataType::UInt32,
        Arrow::UInt64 => DataType::UInt64,
        Arrow::Float16 => DataType::Float16,
        Arrow::Float32 => DataType::Float32,
        Arrow::Float64 => DataType::Float64,
        &Arrow::Decimal32(precision, scale) => DataType::Decimal32 { precision, scale },
        &Arrow::Decimal64(precision, scale) => DataType::Decimal64 { precision, scale },
        &Arrow::Decimal128(precision, scale) => DataType::Decimal128 { precision, scale },
        &Arrow::Decimal256(precision, scale) => DataType::Decimal256 { precision, scale },
        Arrow::Date32 => DataType::Date32,
        Arrow::Date64 => DataType::Date64,
        Arrow::Time32(unit) => DataType::Time32(unit_from_arrow(*unit)),
        Arrow::Time64(unit) => DataType::Time64(unit_from_arrow(*unit)),
        Arrow::Timestamp(unit, zone) => {
            DataType::Timestamp { unit: unit_from_arrow(*unit), zone: zone.as_deref().map(str::to_owned) }
        }
        Arrow::Duration(unit) => DataType::Duration(unit_from_arrow(*unit)),
        Arrow::Interval(IntervalUnit::YearMonth) => DataType::IntervalYearMonth,
        Arrow::Interval(IntervalUnit::DayTime) => DataType::IntervalDayTime,
        Arrow::Interval(IntervalUnit::MonthDayNano) => DataType::IntervalMonthDayNano,
        Arrow::Utf8 => DataType::Utf8,
        Arrow::LargeUtf8 => DataType::LargeUtf8,
        Arrow::Binary => DataType::Binary,
        Arrow::LargeBinary => DataType::LargeBinary,
        Arrow::FixedSizeBinary(width) => DataType::FixedSizeBinary(size(*width)?),
        Arrow::List(item) => {
            children.push(item);
            DataType::List
        }
        Arrow::LargeList(item) => {
            children.push(item);
            DataType::LargeList
        }
        Arrow::FixedSizeList(item, count) => {
            children.push(item);
            DataType::FixedSizeList(size(*count)?)
        }
        Arrow::Struct(fields) => {
            children.extend(fields.iter().map(AsRef::as_ref));
            DataType::Struct
        }
        Arrow::Map(entries, sorted) => {
            children.push(entries);
            DataType::Map { sorted: *sorted }
        }
        Arrow::Dictionary(key, value) => {
            values = ArrowField::new("values", value.as_ref().clone(), true);
            children.push(&values);
            let ordered = field.dict_is_ordered().unwrap_or(false);
            DataType::Dictionary { index: index_type(key).ok_or_else(unsupported)?, ordered }
        }
        _ => return Err(unsupported()),
    };
    Ok(Field {
        name: field.name().clone(),
        data_type,
        nullable: field.is_nullable(),
        children: children
            .into_iter()
            .map(|child| field_from_arrow(child, column, depth + 1))
            .collect::<Result<_, _>>()?,
        metadata: sorted(field.metadata()),
    })
}

fn sorted(metadata: &Metadata) -> Vec<(String, String)> {
    let mut pairs: Vec<_> = metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    pairs.sort();
    pairs
}

fn unit_from_arrow(unit: TimeUnit) -> Unit {
    match unit {
        TimeUnit::Second => Unit::Second,
        TimeUnit::Millisecond => Unit::Millisecond,
        TimeUnit::Microsecond => Unit::Microsecond,
        TimeUnit::Nanosecond => Unit::Nanosecond,
    }
}

/// The schema of the batches of a stream with `schema`.
pub fn schema_to_arrow(schema: &Schema) -> ArrowSchema {
    let fields: Fields = schema.fields.iter().map(field_to_arrow).collect();
    ArrowSchema::new(fields).with_metadata(schema.metadata.iter().cloned().collect::<Metadata>())
}

pub(super) fn field_to_arrow(field: &Field) -> ArrowField {
    let child = || match field.children.first() {
        Some(child) => Arc::new(field_to_arrow(child)),
        None => Arc::new(ArrowField::new("item", Arrow::Null, true)),
    };
    let data_type = match &field.data_type {
        DataType::Null => Arrow::Null,
        DataType::Bool => Arrow::Boolean,
        DataType::Int8 => Arrow::Int8,
        DataType::Int16 => Arrow::Int16,
        DataType::Int32 => Arrow::Int32,
        DataType::Int64 => Arrow::Int64,
        DataType::UInt8 => Arrow::UInt8,
        DataType::UInt16 => Arrow::UInt16,
        DataType::UInt32 => Arrow::UInt32,
        DataType::UInt64 => Arrow::UInt64,
        DataType::Float16 => Arrow::Float16,
        DataType::Float32 => Arrow::Float32,
        DataType::Float64 => Arrow::Float64,
        &DataType::Decimal32 { precision, scale } => Arrow::Decimal32(precision, scale),
        &DataType::Decimal64 { precision, scale } => Arrow::Decimal64(precision, scale),
        &DataType::Decimal128 { precision, scale } => Arrow::Decimal128(precision, scale),
        &DataType::Decimal256 { precision, scale } => Arrow::Decimal256(precision, scale),
        DataType::Date32 => Arrow::Date32,
        DataType::Date64 => Arrow::Date64,
        DataType::Time32(unit) => Arrow::Time32(unit_to_arrow(*unit)),
        DataType::Time64(unit) => Arrow::Time64(unit_to_arrow(*unit)),
        DataType::Timestamp { unit, zone } => Arrow::Timestamp(unit_to_arrow(*unit), zone.as_deref().map(Into::into)),
        DataType::Duration(unit) => Arrow::Duration(unit_to_arrow(*unit)),
        DataType::IntervalYearMonth => Arrow::Interval(IntervalUnit::YearMonth),
        DataType::IntervalDayTime => Arrow::Interval(IntervalUnit::DayTime),
        DataType::IntervalMonthDayNano => Arrow::Interval(IntervalUnit::MonthDayNano),
        DataType::Utf8 => Arrow::Utf8,
        DataType::LargeUtf8 => Arrow::LargeUtf8,
        DataType::Binary => Arrow::Binary,
        DataType::LargeBinary => Arrow::LargeBinary,
        DataType::FixedSizeBinary(width) => Arrow::FixedSizeBinary(*width as i32),
        DataType::List => Arrow::List(child()),
        DataType::LargeList => Arrow::LargeList(child()),
        DataType::FixedSizeList(size) => Arrow::FixedSizeList(child(), *size as i32),
        DataType::Struct => Arrow::Struct(field.children.iter().map(field_to_arrow).collect()),
        DataType::Map { sorted } => Arrow::Map(child(), *sorted),
        DataType::Dictionary { index, .. } => {
            Arrow::Dictionary(Box::new(index_to_arrow(*index)), Box::new(child().data_type().clone()))
        }
    };
    let ordered = matches!(field.data_type, DataType::Dictionary { ordered: true, .. });
    ArrowField::new(&field.name, data_type, field.nullable)
        .with_dict_is_ordered(ordered)
        .with_metadata(field.metadata.iter().cloned().collect::<Metadata>())
}

fn index_to_arrow(index: IndexType) -> Arrow {
    match index {
        IndexType::Int8 => Arrow::Int8,
        IndexType::Int16 => Arrow::Int16,
        IndexType::Int32 => Arrow::Int32,
        IndexType::Int64 => Arrow::Int64,
        IndexType::UInt8 => Arrow::UInt8,
        IndexType::UInt16 => Arrow::UInt16,
        IndexType::UInt32 => Arrow::UInt32,
        IndexType::UInt64 => Arrow::UInt64,
    }
}

fn unit_to_arrow(unit: Unit) -> TimeUnit {
    match unit {
        Unit::Second => TimeUnit::Second,
        Unit::Millisecond => TimeUnit::Millisecond,
        Unit::Microsecond => TimeUnit::Microsecond,
        Unit::Nanosecond => TimeUnit::Nanosecond,
    }
}
