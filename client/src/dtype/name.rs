//! Types by the names of TYPES.md: its own and Arrow's.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_schema::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, TimeUnit};

use super::Dtype;
use crate::{Error, ErrorKind};

/// The prefix of a conversion that may change values.
const LOSSY: &str = "lossy:";

impl FromStr for Dtype {
    type Err = Error;

    /// Reads `int32`, `decimal128(12, 2)`, `timestamp(us, UTC)`, `timestamp[us, tz=UTC]`, `dictionary(int32, utf8)`,
    /// each alone or after `lossy:`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let (lossy, name) = match text.trim().strip_prefix(LOSSY) {
            Some(name) => (true, name.trim()),
            None => (false, text.trim()),
        };
        match parse(name) {
            Some(target) => Ok(Self { target, lossy }),
            None => Err(Error::new(ErrorKind::Usage, format!("there is no type {name:?}")).with_hint(match name {
                "float" => "write float32, or float64 for what Python, NumPy and SQL call float",
                _ => "write for instance int64, float64, decimal(12, 2), utf8, bool, date32, timestamp(us, UTC), dictionary(int32, utf8)",
            })),
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.lossy { LOSSY } else { "" }, of(&self.target))
    }
}

fn parse(name: &str) -> Option<DataType> {
    let (name, arguments) = match name.find(['(', '[', '<']) {
        Some(open) => {
            let close = match name.as_bytes()[open] {
                b'(' => ')',
                b'[' => ']',
                _ => '>',
            };
            (name[..open].trim_end(), name[open + 1..].trim_end().strip_suffix(close)?)
        }
        None => (name, ""),
    };
    let arguments: Vec<&str> = arguments.split(',').map(str::trim).filter(|argument| !argument.is_empty()).collect();
    let plain = |data_type: DataType| arguments.is_empty().then_some(data_type);
    match name {
        "bool" | "boolean" => plain(DataType::Boolean),
        "int8" => plain(DataType::Int8),
        "int16" => plain(DataType::Int16),
        "int32" => plain(DataType::Int32),
        "int64" => plain(DataType::Int64),
        "uint8" => plain(DataType::UInt8),
        "uint16" => plain(DataType::UInt16),
        "uint32" => plain(DataType::UInt32),
        "uint64" => plain(DataType::UInt64),
        "float16" | "halffloat" => plain(DataType::Float16),
        "float32" => plain(DataType::Float32),
        "float64" | "double" => plain(DataType::Float64),
        "utf8" | "string" => plain(DataType::Utf8),
        "large_utf8" | "large_string" => plain(DataType::LargeUtf8),
        "utf8_view" | "string_view" => plain(DataType::Utf8View),
        "binary" => plain(DataType::Binary),
        "large_binary" => plain(DataType::LargeBinary),
        "binary_view" => plain(DataType::BinaryView),
        "date32" => matches!(arguments[..], [] | ["day"]).then_some(DataType::Date32),
        "date64" => matches!(arguments[..], [] | ["ms"]).then_some(DataType::Date64),
        "time32" | "time64" | "time" => match (unit(arguments.first()?)?, arguments.len(), name) {
            (unit @ (TimeUnit::Second | TimeUnit::Millisecond), 1, "time32" | "time") => Some(DataType::Time32(unit)),
            (unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond), 1, "time64" | "time") => {
                Some(DataType::Time64(unit))
            }
            _ => None,
        },
        "timestamp" => match arguments[..] {
            [unit_name] => Some(DataType::Timestamp(unit(unit_name)?, None)),
            [unit_name, zone] => {
                let zone = zone.strip_prefix("tz=").unwrap_or(zone);
                Some(DataType::Timestamp(unit(unit_name)?, Some(Arc::from(zone))))
            }
            _ => None,
        },
        "decimal" | "decimal128" | "decimal256" => {
            let [precision, scale] = arguments[..] else { return None };
            let (precision, scale) = (precision.parse::<u8>().ok()?, scale.parse::<i8>().ok()?);
            let sound = precision >= 1 && scale >= 0 && scale.unsigned_abs() <= precision;
            match name {
                _ if !sound => None,
                "decimal" | "decimal128" if precision <= DECIMAL128_MAX_PRECISION => {
                    Some(DataType::Decimal128(precision, scale))
                }
                "decimal" | "decimal256" if precision <= DECIMAL256_MAX_PRECISION => {
                    Some(DataType::Decimal256(precision, scale))
                }
                _ => None,
            }
        }
        "dictionary" => {
            let (mut keys, mut values) = (DataType::Int32, DataType::Utf8);
            for (position, argument) in arguments.iter().enumerate() {
                match argument.split_once('=') {
                    Some(("indices", name)) => keys = parse(name)?,
                    Some(("values", name)) => values = parse(name)?,
                    Some(("ordered", "0")) => {}
                    Some(_) => return None,
                    None if position == 0 => keys = parse(argument)?,
                    None if position == 1 => values = parse(argument)?,
                    None => return None,
                }
            }
            (keys.is_integer()).then(|| DataType::Dictionary(Box::new(keys), Box::new(values)))
        }
        _ => None,
    }
}

fn unit(name: &str) -> Option<TimeUnit> {
    match name {
        "s" => Some(TimeUnit::Second),
        "ms" => Some(TimeUnit::Millisecond),
        "us" => Some(TimeUnit::Microsecond),
        "ns" => Some(TimeUnit::Nanosecond),
        _ => None,
    }
}

/// The name of a type in messages. [`Dtype`] reads it, if it has a name.
pub(super) fn of(data_type: &DataType) -> String {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    match data_type {
        DataType::Boolean => "bool".to_owned(),
        DataType::Date32 | DataType::Date64 => data_type.to_string().to_lowercase(),
        DataType::Time32(size) => format!("time32({})", unit(size)),
        DataType::Time64(size) => format!("time64({})", unit(size)),
        DataType::Timestamp(size, None) => format!("timestamp({})", unit(size)),
        DataType::Timestamp(size, Some(zone)) => format!("timestamp({}, {zone})", unit(size)),
        DataType::Decimal128(precision, scale) => format!("decimal128({precision}, {scale})"),
        DataType::Decimal256(precision, scale) => format!("decimal256({precision}, {scale})"),
        DataType::Dictionary(keys, values) => format!("dictionary({}, {})", of(keys), of(values)),
        DataType::LargeUtf8 => "large_utf8".to_owned(),
        DataType::LargeBinary => "large_binary".to_owned(),
        DataType::Utf8View => "utf8_view".to_owned(),
        DataType::BinaryView => "binary_view".to_owned(),
        DataType::Interval(_) => "interval".to_owned(),
        DataType::List(item) => format!("list({})", of(item.data_type())),
        DataType::Struct(_) => "struct".to_owned(),
        DataType::Map(..) => "map".to_owned(),
        DataType::Union(..) => "union".to_owned(),
        DataType::RunEndEncoded(..) => "run_end_encoded".to_owned(),
        DataType::LargeList(item) | DataType::ListView(item) | DataType::LargeListView(item) => {
            format!("list({})", of(item.data_type()))
        }
        DataType::FixedSizeList(item, size) => format!("list({}, {size})", of(item.data_type())),
        _ => data_type.to_string().to_lowercase(),
    }
}
