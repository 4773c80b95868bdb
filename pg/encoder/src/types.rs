//! Compares a field of a stream with the one that a column expects, and names types as TYPES.md does.

use std::fmt::{self, Display};

use colonnade_wire::{DataType, Field, IndexType, Unit};

/// Whether a column that is described by `expected` can take `found`.
///
/// Only what is not part of a value may differ: the name of a time zone, and how the indices of a dictionary are
/// stored. A column of type null may stand for any.
pub(crate) fn accepts(expected: &Field, found: &Field) -> bool {
    let same = match (&expected.data_type, &found.data_type) {
        (_, DataType::Null) => return true,
        (DataType::Timestamp { unit, zone }, DataType::Timestamp { unit: found, zone: found_zone }) => {
            unit == found && zone.is_some() == found_zone.is_some()
        }
        (DataType::Dictionary { .. }, DataType::Dictionary { .. }) => true,
        (DataType::Struct, DataType::Struct) => {
            let names = |field: &Field| field.children.iter().map(|child| child.name.clone()).collect::<Vec<_>>();
            names(expected) == names(found)
        }
        (expected, found) => expected == found,
    };
    same && expected.children.len() == found.children.len()
        && expected.children.iter().zip(&found.children).all(|(expected, found)| accepts(expected, found))
}

/// The type of a field, with those below it, as in TYPES.md: `list(int32)`.
pub(crate) struct TypeName<'a>(pub(crate) &'a Field);

impl Display for TypeName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let child = |index: usize| self.0.children.get(index).map(TypeName);
        let item = child(0);
        match &self.0.data_type {
            DataType::Decimal32 { precision, scale } => write!(f, "decimal32({precision}, {scale})"),
            DataType::Decimal64 { precision, scale } => write!(f, "decimal64({precision}, {scale})"),
            DataType::Decimal128 { precision, scale } => write!(f, "decimal128({precision}, {scale})"),
            DataType::Decimal256 { precision, scale } => write!(f, "decimal256({precision}, {scale})"),
            DataType::Time32(unit) => write!(f, "time32({})", unit_name(*unit)),
            DataType::Time64(unit) => write!(f, "time64({})", unit_name(*unit)),
            DataType::Duration(unit) => write!(f, "duration({})", unit_name(*unit)),
            DataType::Timestamp { unit, zone: None } => write!(f, "timestamp({})", unit_name(*unit)),
            DataType::Timestamp { unit, zone: Some(zone) } => write!(f, "timestamp({}, {zone})", unit_name(*unit)),
            DataType::FixedSizeBinary(width) => write!(f, "fixed_size_binary({width})"),
            DataType::List => write_item(f, "list", item),
            DataType::LargeList => write_item(f, "large_list", item),
            DataType::FixedSizeList(_) => write_item(f, "fixed_size_list", item),
            DataType::Map { .. } => write_item(f, "map", item),
            DataType::Struct => {
                f.write_str("struct(")?;
                for (index, child) in self.0.children.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{} {}", child.name, TypeName(child))?;
                }
                f.write_str(")")
            }
            DataType::Dictionary { index, .. } => {
                write!(f, "dictionary({}, ", index_name(*index))?;
                item.map_or(Ok(()), |item| item.fmt(f))?;
                f.write_str(")")
            }
            other => f.write_str(simple_name(other)),
        }
    }
}

fn write_item(f: &mut fmt::Formatter<'_>, name: &str, item: Option<TypeName<'_>>) -> fmt::Result {
    write!(f, "{name}(")?;
    item.map_or(Ok(()), |item| item.fmt(f))?;
    f.write_str(")")
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Second => "s",
        Unit::Millisecond => "ms",
        Unit::Microsecond => "us",
        Unit::Nanosecond => "ns",
    }
}

fn index_name(index: IndexType) -> &'static str {
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

/// A type without parameters.
fn simple_name(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Null => "null",
        DataType::Bool => "bool",
        DataType::Int8 => "int8",
        DataType::Int16 => "int16",
        DataType::Int32 => "int32",
        DataType::Int64 => "int64",
        DataType::UInt8 => "uint8",
        DataType::UInt16 => "uint16",
        DataType::UInt32 => "uint32",
        DataType::UInt64 => "uint64",
        DataType::Float16 => "float16",
        DataType::Float32 => "float32",
        DataType::Float64 => "float64",
        DataType::Date32 => "date32",
        DataType::Date64 => "date64",
        DataType::IntervalYearMonth => "interval_year_month",
        DataType::IntervalDayTime => "interval_day_time",
        DataType::IntervalMonthDayNano => "interval_month_day_nano",
        DataType::Utf8 => "utf8",
        DataType::LargeUtf8 => "large_utf8",
        DataType::Binary => "binary",
        DataType::LargeBinary => "large_binary",
        _ => "other",
    }
}
