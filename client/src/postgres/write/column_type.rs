//! The types of a table's columns: which one a new column gets, and what an existing one accepts.
//! TYPES.md, "Writing".

use crate::write::kind::ColumnMeaning;

/// The numbers of types, which are the same in all versions: `pg_type.dat`.
mod oid {
    pub(super) const BOOL: u32 = 16;
    pub(super) const BYTEA: u32 = 17;
    pub(super) const INT8: u32 = 20;
    pub(super) const INT2: u32 = 21;
    pub(super) const INT4: u32 = 23;
    pub(super) const TEXT: u32 = 25;
    pub(super) const JSON: u32 = 114;
    pub(super) const FLOAT4: u32 = 700;
    pub(super) const FLOAT8: u32 = 701;
    pub(super) const BPCHAR: u32 = 1042;
    pub(super) const VARCHAR: u32 = 1043;
    pub(super) const DATE: u32 = 1082;
    pub(super) const TIME: u32 = 1083;
    pub(super) const TIMESTAMP: u32 = 1114;
    pub(super) const TIMESTAMPTZ: u32 = 1184;
    pub(super) const INTERVAL: u32 = 1186;
    pub(super) const NUMERIC: u32 = 1700;
    pub(super) const UUID: u32 = 2950;
    pub(super) const JSONB: u32 = 3802;
}

/// Bytes of a length before the value in a type modifier.
const TYPMOD_OFFSET: i32 = 4;
/// The digits of a second that dates and times have at most.
const MAX_DIGITS: i32 = 6;

/// A column of the table.
#[derive(Clone, Debug, Default)]
pub(super) struct TableColumn {
    pub(super) name: String,
    /// The number of the type; of its base type if it is a domain.
    pub(super) type_oid: u32,
    pub(super) typmod: i32,
    pub(super) is_enum: bool,
    /// The number of the elements' type, if it is an array.
    pub(super) element: Option<u32>,
    /// Whether this is a type of the user, as citext, or an array of one, that is read and received as text is.
    pub(super) is_received_as_text: bool,
    /// The type as PostgreSQL shows it.
    pub(super) type_name: String,
}

/// A column's type, with what its modifier says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ColumnType {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    /// The precision and the scale, which may be negative or larger than the precision.
    Numeric(Option<(i32, i32)>),
    Text,
    /// At most so many characters.
    Varchar(usize),
    /// Exactly so many characters: with fewer, the server would add spaces.
    Char(usize),
    Json,
    /// JSON that is kept without its spaces, and without the order and repetitions of keys.
    Jsonb,
    /// Text that is one of an enum's labels, which the server checks.
    Enum,
    Bytea,
    Date,
    /// The microseconds between two values, as for all times below.
    Time(i64),
    Timestamp {
        zoned: bool,
        step: i64,
    },
    Interval,
    Uuid,
    Array {
        element: u32,
        of: Box<ColumnType>,
    },
}

impl ColumnType {
    /// Whether its values have microseconds.
    pub(super) fn has_times(&self) -> bool {
        match self {
            Self::Time(_) | Self::Timestamp { .. } | Self::Interval => true,
            Self::Array { of, .. } => of.has_times(),
            _ => false,
        }
    }

    /// The type of a column, if this client writes it.
    pub(super) fn of(column: &TableColumn) -> Option<Self> {
        let number = |type_oid| if column.is_received_as_text { oid::TEXT } else { type_oid };
        if let Some(element) = column.element {
            let of = Self::scalar(number(element), column.typmod)?;
            return Some(Self::Array { element, of: Box::new(of) });
        }
        if column.is_enum { Some(Self::Enum) } else { Self::scalar(number(column.type_oid), column.typmod) }
    }

    fn scalar(type_oid: u32, typmod: i32) -> Option<Self> {
        // An array of VARCHAR(3) has the modifier of its elements.
        let length = usize::try_from(typmod - TYPMOD_OFFSET).ok();
        let step = || if typmod < 0 { 1 } else { 10i64.pow(u32::try_from(MAX_DIGITS - typmod).unwrap_or_default()) };
        Some(match type_oid {
            oid::BOOL => Self::Bool,
            oid::BYTEA => Self::Bytea,
            oid::INT2 => Self::Int2,
            oid::INT4 => Self::Int4,
            oid::INT8 => Self::Int8,
            oid::FLOAT4 => Self::Float4,
            oid::FLOAT8 => Self::Float8,
            oid::NUMERIC => Self::Numeric((typmod >= TYPMOD_OFFSET).then(|| numeric_limits(typmod))),
            oid::TEXT => Self::Text,
            oid::VARCHAR => length.map_or(Self::Text, Self::Varchar),
            oid::BPCHAR => length.map_or(Self::Text, Self::Char),
            oid::JSON => Self::Json,
            oid::JSONB => Self::Jsonb,
            oid::DATE => Self::Date,
            oid::TIME => Self::Time(step()),
            oid::TIMESTAMP => Self::Timestamp { zoned: false, step: step() },
            oid::TIMESTAMPTZ => Self::Timestamp { zoned: true, step: step() },
            // INTERVAL(3) and INTERVAL YEAR change values.
            oid::INTERVAL if typmod < 0 => Self::Interval,
            oid::UUID => Self::Uuid,
            _ => return None,
        })
    }

    /// Whether values can be written exactly, or are refused one by one.
    pub(super) fn accepts(&self, meaning: &ColumnMeaning) -> bool {
        use ColumnMeaning as M;
        match (self, meaning) {
            (_, M::Null)
            | (Self::Bool, M::Bool)
            | (Self::Int2 | Self::Int4 | Self::Int8, M::Integer { .. })
            | (Self::Float4 | Self::Float8, M::Float { .. } | M::Integer { .. })
            | (Self::Numeric(_), M::Integer { .. } | M::Decimal { .. })
            | (Self::Text | Self::Json | Self::Jsonb, M::Text | M::Json)
            | (Self::Varchar(_) | Self::Char(_) | Self::Enum, M::Text)
            | (Self::Uuid, M::Uuid | M::Text)
            | (Self::Bytea, M::Bytes)
            | (Self::Date, M::Date { .. })
            | (Self::Time(_), M::Time { .. })
            | (Self::Interval, M::Interval | M::Duration { .. }) => true,
            (Self::Timestamp { zoned, .. }, M::Timestamp { zoned: is_zoned, .. }) => zoned == is_zoned,
            (Self::Array { of, .. }, M::List(element)) => of.accepts(element),
            _ => false,
        }
    }

    /// The type for an error's message.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Bool => "boolean".to_owned(),
            Self::Int2 => "smallint".to_owned(),
            Self::Int4 => "integer".to_owned(),
            Self::Int8 => "bigint".to_owned(),
            Self::Float4 => "real".to_owned(),
            Self::Float8 => "double precision".to_owned(),
            Self::Numeric(None) => "numeric".to_owned(),
            Self::Numeric(Some((precision, scale))) => format!("numeric({precision},{scale})"),
            Self::Text => "text".to_owned(),
            Self::Varchar(length) => format!("varchar({length})"),
            Self::Char(length) => format!("char({length})"),
            Self::Json => "json".to_owned(),
            Self::Jsonb => "jsonb".to_owned(),
            Self::Enum => "an enum".to_owned(),
            Self::Bytea => "bytea".to_owned(),
            Self::Date => "date".to_owned(),
            Self::Time(step) => format!("time({})", digits(*step)),
            Self::Timestamp { zoned: false, step } => format!("timestamp({})", digits(*step)),
            Self::Timestamp { zoned: true, step } => format!("timestamptz({})", digits(*step)),
            Self::Interval => "interval".to_owned(),
            Self::Uuid => "uuid".to_owned(),
            Self::Array { of, .. } => format!("{}[]", of.name()),
        }
    }
}

/// `numeric_typmod_precision` and `numeric_typmod_scale` in PostgreSQL's numeric.c: the scale has 11 bits and a sign.
fn numeric_limits(typmod: i32) -> (i32, i32) {
    let packed = typmod - TYPMOD_OFFSET;
    (packed >> 16 & 0xffff, ((packed & 0x7ff) ^ 1024) - 1024)
}

fn digits(step: i64) -> u32 {
    MAX_DIGITS.unsigned_abs() - step.ilog10()
}

/// The type that a new column gets. Its schema is named, so that the search path does not matter.
pub(super) fn created(meaning: &ColumnMeaning) -> String {
    let name = match meaning {
        ColumnMeaning::Bool => "bool",
        ColumnMeaning::Integer { bits: 8, .. } | ColumnMeaning::Integer { bits: 16, signed: true } => "int2",
        ColumnMeaning::Integer { bits: 16, .. } | ColumnMeaning::Integer { bits: 32, signed: true } => "int4",
        ColumnMeaning::Integer { bits: 64, signed: false } => "numeric(20,0)",
        ColumnMeaning::Integer { .. } => "int8",
        ColumnMeaning::Float { bits: 64 } => "float8",
        ColumnMeaning::Float { .. } => "float4",
        ColumnMeaning::Decimal { precision, scale } => return format!("pg_catalog.numeric({precision},{scale})"),
        ColumnMeaning::Null | ColumnMeaning::Text => "text",
        ColumnMeaning::Json => "json",
        ColumnMeaning::Bytes => "bytea",
        ColumnMeaning::Uuid => "uuid",
        ColumnMeaning::Date { .. } => "date",
        ColumnMeaning::Time { .. } => "time",
        ColumnMeaning::Timestamp { zoned: false, .. } => "timestamp",
        ColumnMeaning::Timestamp { zoned: true, .. } => "timestamptz",
        ColumnMeaning::Duration { .. } | ColumnMeaning::Interval => "interval",
        ColumnMeaning::List(element) => return format!("{}[]", created(element)),
    };
    format!("pg_catalog.{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_modifier_says_the_limits() {
        assert_eq!(numeric_limits((12 << 16 | 3) + 4), (12, 3));
        // NUMERIC(3, -2), as PostgreSQL 15 stores it.
        assert_eq!(numeric_limits((3 << 16 | (-2 & 0x7ff)) + 4), (3, -2));
    }

    #[test]
    fn times_have_the_digits_of_their_modifier() {
        assert_eq!(ColumnType::scalar(oid::TIMESTAMP, 3), Some(ColumnType::Timestamp { zoned: false, step: 1000 }));
        assert_eq!(ColumnType::scalar(oid::TIME, -1), Some(ColumnType::Time(1)));
        assert_eq!(ColumnType::Time(1000).name(), "time(3)");
        assert_eq!(ColumnType::scalar(oid::INTERVAL, 0), None);
    }
}
