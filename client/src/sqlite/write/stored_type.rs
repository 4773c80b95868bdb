//! The types of a table's columns: which one a new column gets, and what an existing one accepts.
//! TYPES.md, "Writing".

use std::borrow::Cow;

use crate::sqlite::kind::{ColumnKind, MAX_PRECISION};
use crate::write::kind::ColumnMeaning;
use crate::write::misfit::ValueMisfit;

/// A column's type, by the rules with which it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoredType {
    /// No declared type. Only NULLs keep theirs.
    Untyped,
    Integer,
    Real,
    Bool,
    Decimal {
        precision: u8,
        scale: u8,
    },
    Date,
    Time,
    Timestamp {
        zoned: bool,
    },
    Text,
    Uuid,
    Blob,
}

impl StoredType {
    /// The declaration of a new column.
    pub(super) fn created(meaning: &ColumnMeaning) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed(match meaning {
            ColumnMeaning::Null => "",
            ColumnMeaning::Bool => "BOOLEAN",
            ColumnMeaning::Integer { .. } => "INTEGER",
            ColumnMeaning::Float { .. } => "REAL",
            ColumnMeaning::Decimal { precision, .. } if *precision > MAX_PRECISION => return None,
            ColumnMeaning::Decimal { precision, scale } => {
                return Some(Cow::Owned(format!("DECIMAL({precision},{scale})")));
            }
            // A column declared JSON would store 1.0 as the number 1.
            ColumnMeaning::Text | ColumnMeaning::Json => "TEXT",
            ColumnMeaning::Uuid => "UUID",
            ColumnMeaning::Bytes => "BLOB",
            ColumnMeaning::Date { .. } => "DATE",
            ColumnMeaning::Time { .. } => "TIME",
            ColumnMeaning::Timestamp { zoned: false, .. } => "DATETIME",
            ColumnMeaning::Timestamp { zoned: true, .. } => "TIMESTAMP WITH TIME ZONE",
            ColumnMeaning::Duration { .. } | ColumnMeaning::Interval | ColumnMeaning::List(_) => return None,
        }))
    }

    /// The type of a column with this declaration, if values can be written to it exactly.
    pub(super) fn declared(declaration: &str) -> Option<Self> {
        Some(match ColumnKind::declared(Some(declaration)) {
            ColumnKind::Integer => Self::Integer,
            ColumnKind::Float => Self::Real,
            ColumnKind::Bool => Self::Bool,
            ColumnKind::Decimal { precision, scale } => Self::Decimal { precision, scale },
            ColumnKind::Date => Self::Date,
            ColumnKind::Time => Self::Time,
            ColumnKind::Timestamp { zoned } => Self::Timestamp { zoned },
            ColumnKind::Text if declaration.trim().eq_ignore_ascii_case("uuid") => Self::Uuid,
            // SQLite turns text of numbers into numbers, unless the declaration says TEXT, CHAR or CLOB.
            ColumnKind::Text if keeps_text(declaration) => Self::Text,
            ColumnKind::Binary => Self::Blob,
            ColumnKind::ByValues if declaration.is_empty() => Self::Untyped,
            ColumnKind::Text | ColumnKind::ByValues | ColumnKind::AsText => return None,
        })
    }

    /// Whether values can be written exactly, or are refused one by one.
    pub(super) fn accepts(self, meaning: &ColumnMeaning) -> bool {
        use ColumnMeaning as M;
        match (self, meaning) {
            (_, M::Null)
            | (Self::Integer, M::Integer { .. })
            | (Self::Real, M::Float { .. } | M::Integer { .. })
            | (Self::Bool, M::Bool)
            | (Self::Decimal { .. }, M::Decimal { .. } | M::Integer { .. })
            | (Self::Date, M::Date { .. })
            | (Self::Time, M::Time { .. })
            | (Self::Text, M::Text | M::Json)
            | (Self::Uuid, M::Uuid)
            | (Self::Blob, M::Bytes) => true,
            (Self::Timestamp { zoned }, M::Timestamp { zoned: is_zoned, .. }) => zoned == *is_zoned,
            _ => false,
        }
    }

    /// The type for an error's message.
    pub(super) fn name(self) -> String {
        match self {
            Self::Untyped => "a column without a type".to_owned(),
            Self::Integer => "INTEGER".to_owned(),
            Self::Real => "REAL".to_owned(),
            Self::Bool => "BOOLEAN".to_owned(),
            Self::Decimal { precision, scale } => format!("DECIMAL({precision},{scale})"),
            Self::Date => "DATE".to_owned(),
            Self::Time => "TIME".to_owned(),
            Self::Timestamp { zoned: false } => "DATETIME".to_owned(),
            Self::Timestamp { zoned: true } => "TIMESTAMP WITH TIME ZONE".to_owned(),
            Self::Text => "TEXT".to_owned(),
            Self::Uuid => "UUID".to_owned(),
            Self::Blob => "BLOB".to_owned(),
        }
    }

    /// The error of a moment that the type does not hold.
    #[cold]
    pub(super) fn wrong_moment(self, number: i64, meaning: &ColumnMeaning) -> ValueMisfit {
        let held = match self {
            Self::Time => "00:00:00 to 23:59:59.999999",
            _ => "the years 0 to 9999",
        };
        ValueMisfit::moment(number, meaning, &self.name(), held, 1)
    }
}

/// <https://www.sqlite.org/datatype3.html#determination_of_column_affinity>
fn keeps_text(declaration: &str) -> bool {
    let declaration = declaration.to_ascii_uppercase();
    !declaration.contains("INT") && ["CHAR", "CLOB", "TEXT"].iter().any(|part| declaration.contains(part))
}
