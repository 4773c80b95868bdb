//! Which types convert into which.

use arrow_schema::DataType;

/// Kinds of types that convert alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool,
    Integer,
    Float,
    Decimal,
    Text,
    Binary,
    /// Without a time zone, or with UTC: then it counts from the same moment.
    Moment,
    /// With another zone.
    Zoned,
    Time,
    Other,
}

pub(super) fn kind(data_type: &DataType) -> Kind {
    match data_type {
        DataType::Null => Kind::Null,
        DataType::Boolean => Kind::Bool,
        integer if integer.is_integer() => Kind::Integer,
        float if float.is_floating() => Kind::Float,
        DataType::Decimal128(..) | DataType::Decimal256(..) => Kind::Decimal,
        text if is_text(text) => Kind::Text,
        binary if is_binary(binary) => Kind::Binary,
        DataType::Timestamp(_, Some(zone)) if !is_utc(zone) => Kind::Zoned,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => Kind::Moment,
        DataType::Time32(_) | DataType::Time64(_) => Kind::Time,
        _ => Kind::Other,
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

/// Whether values of the one type can have the other, and if not, why.
pub(super) fn possible(from: &DataType, to: &DataType) -> Result<(), &'static str> {
    if from == to {
        return Ok(());
    }
    if let DataType::Dictionary(_, values) = from {
        return possible(values, to);
    }
    if let DataType::Dictionary(keys, values) = to {
        if !keys.is_integer() || matches!(**values, DataType::Dictionary(..)) {
            return Err("a dictionary has integer indices and values that are none");
        }
        return possible(from, values);
    }
    let half = matches!(from, DataType::Float16) || matches!(to, DataType::Float16);
    match (kind(from), kind(to)) {
        (Kind::Null, _) => Ok(()),
        (Kind::Other, _) | (_, Kind::Other | Kind::Null) => Err("no conversion is exact"),
        (Kind::Float, Kind::Float) => Ok(()),
        (Kind::Float | Kind::Decimal | Kind::Text | Kind::Integer | Kind::Bool, _) if half => {
            Err("no conversion of float16 is exact")
        }
        (Kind::Bool | Kind::Integer, Kind::Bool | Kind::Integer)
        | (Kind::Integer, Kind::Float | Kind::Decimal)
        | (Kind::Float | Kind::Decimal, Kind::Integer | Kind::Float | Kind::Decimal)
        | (Kind::Text, _)
        | (Kind::Binary, Kind::Text | Kind::Binary)
        | (Kind::Bool | Kind::Integer | Kind::Float | Kind::Decimal | Kind::Moment | Kind::Time, Kind::Text)
        | (Kind::Time, Kind::Time) => Ok(()),
        (Kind::Moment | Kind::Zoned, Kind::Moment | Kind::Zoned) => {
            let zone = |data_type: &DataType| matches!(data_type, DataType::Timestamp(_, Some(_)));
            // What the clock shows there, or the moment? Both are meant by somebody.
            if zone(from) != zone(to) && (kind(from) == Kind::Zoned || kind(to) == Kind::Zoned) {
                return Err("with a time zone and without are different things: say AT TIME ZONE in the query");
            }
            Ok(())
        }
        _ => Err("the one is not a form of the other"),
    }
}
