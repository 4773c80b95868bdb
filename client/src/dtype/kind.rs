//! The types that can be converted into each other.

use arrow_schema::DataType;

/// Families of types with the same conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypeFamily {
    Null,
    Bool,
    Integer,
    Float,
    Decimal,
    Text,
    Binary,
    /// Without a time zone, or with UTC. Both count from the same time.
    Moment,
    /// With another zone.
    Zoned,
    Time,
    Other,
}

pub(super) fn kind(data_type: &DataType) -> TypeFamily {
    match data_type {
        DataType::Null => TypeFamily::Null,
        DataType::Boolean => TypeFamily::Bool,
        integer if integer.is_integer() => TypeFamily::Integer,
        float if float.is_floating() => TypeFamily::Float,
        DataType::Decimal128(..) | DataType::Decimal256(..) => TypeFamily::Decimal,
        text if is_text(text) => TypeFamily::Text,
        binary if is_binary(binary) => TypeFamily::Binary,
        DataType::Timestamp(_, Some(zone)) if !is_utc(zone) => TypeFamily::Zoned,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => TypeFamily::Moment,
        DataType::Time32(_) | DataType::Time64(_) => TypeFamily::Time,
        _ => TypeFamily::Other,
    }
}

pub(super) fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

pub(super) fn is_binary(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_))
}

fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "Etc/UTC" | "Z" | "+00:00" | "+00" | "+0000")
}

/// Whether values of the first type can become the second, and if not, why.
pub(super) fn possible(from: &DataType, to: &DataType) -> Result<(), &'static str> {
    if from == to {
        return Ok(());
    }
    if let DataType::Dictionary(_, values) = from {
        return possible(values, to);
    }
    if let DataType::Dictionary(keys, values) = to {
        if !keys.is_integer() || matches!(**values, DataType::Dictionary(..)) {
            return Err("a dictionary needs integer indices, and values that are not a dictionary");
        }
        return possible(from, values);
    }
    let half = matches!(from, DataType::Float16) || matches!(to, DataType::Float16);
    match (kind(from), kind(to)) {
        (TypeFamily::Null, _) => Ok(()),
        (TypeFamily::Other, _) | (_, TypeFamily::Other | TypeFamily::Null) => Err("no conversion is exact"),
        (TypeFamily::Float, TypeFamily::Float) => Ok(()),
        (TypeFamily::Float | TypeFamily::Decimal | TypeFamily::Text | TypeFamily::Integer | TypeFamily::Bool, _)
            if half =>
        {
            Err("no conversion of float16 is exact")
        }
        (TypeFamily::Bool | TypeFamily::Integer, TypeFamily::Bool | TypeFamily::Integer)
        | (TypeFamily::Integer, TypeFamily::Float | TypeFamily::Decimal)
        | (TypeFamily::Float | TypeFamily::Decimal, TypeFamily::Integer | TypeFamily::Float | TypeFamily::Decimal)
        | (TypeFamily::Text, _)
        | (TypeFamily::Binary, TypeFamily::Text | TypeFamily::Binary)
        | (
            TypeFamily::Bool
            | TypeFamily::Integer
            | TypeFamily::Float
            | TypeFamily::Decimal
            | TypeFamily::Moment
            | TypeFamily::Time,
            TypeFamily::Text,
        )
        | (TypeFamily::Time, TypeFamily::Time) => Ok(()),
        (TypeFamily::Moment | TypeFamily::Zoned, TypeFamily::Moment | TypeFamily::Zoned) => {
            let zone = |data_type: &DataType| matches!(data_type, DataType::Timestamp(_, Some(_)));
            // It is ambiguous whether the local time or the point in time is meant.
            if zone(from) != zone(to) && (kind(from) == TypeFamily::Zoned || kind(to) == TypeFamily::Zoned) {
                return Err("one type has a time zone and the other has none: write AT TIME ZONE in the query");
            }
            Ok(())
        }
        _ => Err("values of one type are not values of the other"),
    }
}
