//! The type of a column's values, by its declared type.
//! <https://www.sqlite.org/datatype3.html#determination_of_column_affinity>

use crate::QueryOptions;

/// The most digits of a `decimal128`.
pub(super) const MAX_PRECISION: u8 = 38;

/// TYPES.md, SQLite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Integer,
    Float,
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
    Binary,
    /// The first values decide.
    ByValues,
    /// Any value, as text.
    AsText,
}

impl ColumnKind {
    /// The kind in which a column is read with these options.
    pub(super) fn read(name: &str, declaration: Option<&str>, options: &QueryOptions) -> Self {
        let (kind, stored) = (Self::declared(declaration), &options.stored_dates);
        let is_in = |names: &[String]| names.iter().any(|one| one == name);
        match kind {
            _ if is_in(&options.as_text) => Self::AsText,
            _ if !kind.is_moment() => kind,
            _ if is_in(&stored.by_values) => Self::ByValues,
            _ if stored.all_as_text || is_in(&stored.as_text) => Self::AsText,
            _ => kind,
        }
    }

    /// Whether it is of dates, times or both.
    pub(super) fn is_moment(self) -> bool {
        matches!(self, Self::Date | Self::Time | Self::Timestamp { .. })
    }

    /// The kind of a column with this declaration. `None` is an expression, or a column without a declared type.
    pub(super) fn declared(declaration: Option<&str>) -> Self {
        let Some(declaration) = declaration else { return Self::ByValues };
        let (name, arguments) = split(declaration);
        match name.as_str() {
            "BOOL" | "BOOLEAN" => Self::Bool,
            "DATE" => Self::Date,
            "TIME" | "TIME WITHOUT TIME ZONE" => Self::Time,
            "DATETIME" | "TIMESTAMP" | "TIMESTAMP WITHOUT TIME ZONE" => Self::Timestamp { zoned: false },
            "TIMESTAMPTZ" | "TIMESTAMP WITH TIME ZONE" => Self::Timestamp { zoned: true },
            "DEC" | "DECIMAL" | "NUMBER" | "NUMERIC" => decimal(arguments),
            "BINARY" | "VARBINARY" | "BYTEA" => Self::Binary,
            "JSON" | "UUID" => Self::Text,
            name => Self::by_affinity(name),
        }
    }

    /// SQLite's rules in SQLite's order. The affinity NUMERIC says nothing about the values.
    fn by_affinity(name: &str) -> Self {
        let has = |part| name.contains(part);
        if has("INT") {
            Self::Integer
        } else if has("CHAR") || has("CLOB") || has("TEXT") {
            Self::Text
        } else if has("BLOB") {
            Self::Binary
        } else if has("REAL") || has("FLOA") || has("DOUB") {
            Self::Float
        } else {
            Self::ByValues
        }
    }
}

/// The declaration's words in upper case, and the text in its parentheses.
fn split(declaration: &str) -> (String, Option<&str>) {
    let (before, rest) = declaration.split_once('(').unwrap_or((declaration, ""));
    let (arguments, after) = rest.split_once(')').unwrap_or((rest, ""));
    let words: Vec<_> = before.split_whitespace().chain(after.split_whitespace()).collect();
    (words.join(" ").to_ascii_uppercase(), declaration.contains('(').then_some(arguments))
}

/// Without a precision that Arrow supports, it is a number without a fixed type.
fn decimal(arguments: Option<&str>) -> ColumnKind {
    let mut numbers = arguments.into_iter().flat_map(|list| list.split(',')).map(|number| number.trim().parse::<u8>());
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(Ok(precision @ 1..=MAX_PRECISION)), None, None) => ColumnKind::Decimal { precision, scale: 0 },
        (Some(Ok(precision @ 1..=MAX_PRECISION)), Some(Ok(scale)), None) if scale <= precision => {
            ColumnKind::Decimal { precision, scale }
        }
        _ => ColumnKind::Float,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_says_the_kind() {
        let cases = [
            ("INTEGER", ColumnKind::Integer),
            ("unsigned big int", ColumnKind::Integer),
            ("int2", ColumnKind::Integer),
            ("TINYINT(1)", ColumnKind::Integer),
            ("boolean", ColumnKind::Bool),
            ("VARCHAR(255)", ColumnKind::Text),
            ("national varying character (10)", ColumnKind::Text),
            ("BLOB", ColumnKind::Binary),
            ("varbinary(16)", ColumnKind::Binary),
            ("double precision", ColumnKind::Float),
            ("FLOAT", ColumnKind::Float),
            ("DECIMAL(15, 2)", ColumnKind::Decimal { precision: 15, scale: 2 }),
            ("numeric(38)", ColumnKind::Decimal { precision: 38, scale: 0 }),
            ("NUMERIC", ColumnKind::Float),
            ("DECIMAL(39,2)", ColumnKind::Float),
            ("DECIMAL(2,3)", ColumnKind::Float),
            ("DECIMAL(10,-2)", ColumnKind::Float),
            ("DECIMAL(1,2,3)", ColumnKind::Float),
            ("DECIMAL(", ColumnKind::Float),
            ("date", ColumnKind::Date),
            ("TIME", ColumnKind::Time),
            ("DATETIME(6)", ColumnKind::Timestamp { zoned: false }),
            ("timestamp(3)  with time zone", ColumnKind::Timestamp { zoned: true }),
            ("json", ColumnKind::Text),
            ("STRING", ColumnKind::ByValues),
            ("ANY", ColumnKind::ByValues),
            ("", ColumnKind::ByValues),
        ];
        for (declaration, kind) in cases {
            assert_eq!(ColumnKind::declared(Some(declaration)), kind, "{declaration}");
        }
        assert_eq!(ColumnKind::declared(None), ColumnKind::ByValues);
    }
}
