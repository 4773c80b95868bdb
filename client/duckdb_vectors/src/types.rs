//! DuckDB's types in Arrow, as its own stream has them.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_schema::{DataType, TimeUnit};

/// The rows of a batch, unless they have too many bytes: with more rows, batches do not stay in the CPU's cache.
pub(crate) const BATCH_ROWS: usize = 20_480;
/// The rows for which a batch has room: it ends with the vector that completes it, and vectors may be shorter than
/// usual.
pub(crate) const ROOM_ROWS: usize = BATCH_ROWS + 2048;

/// How the values of a type are stored in a vector, and in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// A byte for each boolean.
    Boolean,
    /// Values of so many bytes, as Arrow has them.
    Same(usize),
    /// Decimals of 16 bits.
    Decimal16,
    /// Decimals of 32 bits.
    Decimal32,
    /// Decimals of 64 bits.
    Decimal64,
    /// Texts or bytes.
    Text,
    /// Numbers of 128 bits, which are texts in Arrow.
    Uuid,
}

/// The form of the batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorForm {
    /// As an encoder takes them: texts and bytes are `Binary`, or dictionaries of it with indices of the type `UInt32`,
    /// and decimals of fewer than 128 bits have 64.
    Encoded,
    /// In Arrow's types, with texts and bytes end to end.
    Plain,
    /// In Arrow's types, with texts and bytes as views.
    Views,
}

/// The type of a column.
#[derive(Clone, Debug)]
pub(crate) struct ColumnType {
    /// In Arrow.
    pub arrow: DataType,
    /// How the values are stored.
    pub storage: Storage,
    /// The labels, if the values are numbers of them.
    pub labels: Option<ArrayRef>,
}

/// The largest precision of decimals with fewer than 128 bits.
const NARROW_DIGITS: u8 = 18;

/// The type of a column, by DuckDB's name. `None` for types that only DuckDB's own stream converts. `zone` is the time
/// zone of the session.
pub(crate) fn column_type(name: &str, zone: &str, form: VectorForm) -> Option<ColumnType> {
    if let Some(labels) = name.strip_prefix("ENUM(").and_then(|rest| labels(rest.strip_suffix(')')?)) {
        let (key, width) = match labels.len() {
            0..=0xff => (DataType::UInt8, 1),
            0x100..=0xffff => (DataType::UInt16, 2),
            _ => (DataType::UInt32, 4),
        };
        let arrow = DataType::Dictionary(Box::new(key), Box::new(DataType::Utf8));
        let labels: ArrayRef = Arc::new(StringArray::from(labels));
        return Some(ColumnType { arrow, storage: Storage::Same(width), labels: Some(labels) });
    }
    let (arrow, storage) = plain_type(name, zone)?;
    let arrow = match arrow {
        DataType::Utf8 if form == VectorForm::Views => DataType::Utf8View,
        DataType::Binary if form == VectorForm::Views => DataType::BinaryView,
        same => same,
    };
    Some(ColumnType { arrow, storage, labels: None })
}

/// The labels of an ENUM, from the list in its name: `'a', 'it''s'`.
fn labels(list: &str) -> Option<Vec<String>> {
    let (mut labels, mut rest) = (Vec::new(), list);
    loop {
        rest = rest.strip_prefix('\'')?;
        let mut label = String::new();
        loop {
            let (text, after) = rest.split_once('\'')?;
            label.push_str(text);
            let Some(more) = after.strip_prefix('\'') else {
                rest = after;
                break;
            };
            label.push('\'');
            rest = more;
        }
        labels.push(label);
        if rest.is_empty() {
            return Some(labels);
        }
        rest = rest.strip_prefix(", ")?;
    }
}

fn plain_type(name: &str, zone: &str) -> Option<(DataType, Storage)> {
    use {Storage::*, TimeUnit::*};
    Some(match name {
        "BOOLEAN" => (DataType::Boolean, Boolean),
        "TINYINT" => (DataType::Int8, Same(1)),
        "SMALLINT" => (DataType::Int16, Same(2)),
        "INTEGER" => (DataType::Int32, Same(4)),
        "BIGINT" => (DataType::Int64, Same(8)),
        "UTINYINT" => (DataType::UInt8, Same(1)),
        "USMALLINT" => (DataType::UInt16, Same(2)),
        "UINTEGER" => (DataType::UInt32, Same(4)),
        "UBIGINT" => (DataType::UInt64, Same(8)),
        "FLOAT" => (DataType::Float32, Same(4)),
        "DOUBLE" => (DataType::Float64, Same(8)),
        "DATE" => (DataType::Date32, Same(4)),
        "TIME" => (DataType::Time64(Microsecond), Same(8)),
        "TIME_NS" => (DataType::Time64(Nanosecond), Same(8)),
        "TIMESTAMP" => (DataType::Timestamp(Microsecond, None), Same(8)),
        "TIMESTAMP_S" => (DataType::Timestamp(Second, None), Same(8)),
        "TIMESTAMP_MS" => (DataType::Timestamp(Millisecond, None), Same(8)),
        "TIMESTAMP_NS" => (DataType::Timestamp(Nanosecond, None), Same(8)),
        "TIMESTAMP WITH TIME ZONE" => (DataType::Timestamp(Microsecond, Some(Arc::from(zone))), Same(8)),
        "HUGEINT" => (DataType::Decimal128(38, 0), Same(16)),
        "UUID" => (DataType::Utf8, Uuid),
        "VARCHAR" | "JSON" => (DataType::Utf8, Text),
        "BLOB" => (DataType::Binary, Text),
        _ => {
            let digits = name.strip_prefix("DECIMAL(")?.strip_suffix(')')?;
            let (precision, scale) = digits.split_once(',')?;
            let (precision, scale) = (precision.parse().ok()?, scale.parse().ok()?);
            let storage = match precision {
                0..=4 => Decimal16,
                5..=9 => Decimal32,
                10..=NARROW_DIGITS => Decimal64,
                _ => Same(16),
            };
            (DataType::Decimal128(precision, scale), storage)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_the_storage_of_their_precision() {
        let of = |name| plain_type(name, "UTC");
        assert_eq!(of("DECIMAL(4,1)"), Some((DataType::Decimal128(4, 1), Storage::Decimal16)));
        assert_eq!(of("DECIMAL(9,0)"), Some((DataType::Decimal128(9, 0), Storage::Decimal32)));
        assert_eq!(of("DECIMAL(18,2)"), Some((DataType::Decimal128(18, 2), Storage::Decimal64)));
        assert_eq!(of("DECIMAL(38,10)"), Some((DataType::Decimal128(38, 10), Storage::Same(16))));
        assert!(["INTEGER[]", "STRUCT(a INTEGER)", "DECIMAL(x,1)", "INTERVAL"].map(of).iter().all(Option::is_none));
    }

    #[test]
    fn an_enum_has_its_labels() {
        let of = |list: &str| labels(list);
        let expected = ["a", "it's", "", ", '"].map(str::to_owned).to_vec();
        assert_eq!(of("'a', 'it''s', '', ', '''"), Some(expected));
        assert!(["", "a", "'a", "'a' 'b'", "'a',"].map(of).iter().all(Option::is_none));
        let type_ = column_type("ENUM('a', 'b')", "UTC", VectorForm::Plain).unwrap();
        assert_eq!((type_.storage, type_.labels.unwrap().len()), (Storage::Same(1), 2));
    }
}
