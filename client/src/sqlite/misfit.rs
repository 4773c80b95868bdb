//! The errors of values that do not fit into their column.

use super::kind::ColumnKind;
use super::value::Cell;
use super::values::Values;
use crate::{Error, ErrorKind};

/// A value that does not fit into its column.
#[derive(Debug)]
pub(super) struct Misfit {
    sqlstate: &'static str,
    /// The text after "row 7: ".
    what: String,
    hint: String,
    /// The rows of the batch before it, if it is not the last row.
    pub(super) row: Option<usize>,
}

/// A column that does not hold a value.
pub(super) struct FilledColumn<'a> {
    pub(super) name: &'a str,
    /// The declared type, if it is a column of a table.
    pub(super) declaration: Option<&'a str>,
    /// The values before.
    pub(super) values: &'a Values,
    /// Whether values may still decide the type.
    pub(super) open: bool,
}

impl Misfit {
    /// The library had no memory to convert a value to text.
    #[cold]
    pub(super) fn no_memory() -> Self {
        let hint = "read fewer or smaller values at a time".to_owned();
        Self { sqlstate: "53200", what: "SQLite has no memory left".to_owned(), hint, row: None }
    }

    /// The error, which names the column and the row, counted from 1.
    #[cold]
    pub(super) fn at(self, name: &str, row: u64) -> Error {
        Error::new(ErrorKind::Database, format!("column {name:?}, row {row}: {}", self.what))
            .with_sqlstate(self.sqlstate)
            .with_hint(self.hint)
    }

    /// A value that does not fit.
    #[cold]
    pub(super) fn value(cell: Cell<'_>, into: FilledColumn<'_>) -> Self {
        let value = match cell {
            Cell::Null => "NULL",
            Cell::Integer(_) => "an INTEGER",
            Cell::Real(_) => "a REAL",
            Cell::Text(_) => "a TEXT",
            Cell::Blob(_) => "a BLOB",
        };
        let column = match into.declaration {
            Some(declaration) if !declaration.is_empty() && !into.is_by_values() => {
                format!("a column declared {declaration}")
            }
            _ => format!("a column whose first values made it {}", decided(into.values)),
        };
        let (sqlstate, what) = match (into.values, cell) {
            (Values::Float(_), Cell::Integer(_)) => {
                ("22003", "an INTEGER beyond 2^53, which a double may not represent,".to_owned())
            }
            (Values::Integer(_), Cell::Real(_)) if into.open => {
                ("22003", "a REAL after an INTEGER beyond 2^53, which a double may not represent,".to_owned())
            }
            (Values::Bool(_), Cell::Integer(_)) => ("22003", "an INTEGER other than 0 and 1".to_owned()),
            (Values::Decimal(_, precision, scale), Cell::Integer(_) | Cell::Real(_)) => (
                "22003",
                format!(
                    "{value} that is not a decimal of {precision} digits, {scale} of them behind the point, and at most 15 if it is REAL,"
                ),
            ),
            (Values::Date(_), Cell::Text(_)) => ("22008", "a TEXT that is not a date (YYYY-MM-DD)".to_owned()),
            (Values::Time(_), Cell::Text(_)) => ("22008", "a TEXT that is not a time (HH:MM:SS.ffffff)".to_owned()),
            (Values::Timestamp(_), Cell::Text(_)) => {
                ("22008", "a TEXT that is not a timestamp (YYYY-MM-DD HH:MM:SS.ffffff, without a zone)".to_owned())
            }
            (Values::Instant(_), Cell::Text(_)) => {
                ("22008", "a TEXT that is not a timestamp with a zone (YYYY-MM-DD HH:MM:SS.ffffff+HH:MM)".to_owned())
            }
            _ => ("22005", format!("{value} value")),
        };
        let to = match cell {
            Cell::Integer(_) => "INTEGER",
            Cell::Real(_) => "REAL",
            Cell::Blob(_) => "BLOB",
            Cell::Text(_) | Cell::Null => "TEXT",
        };
        let parses = format!("; pandas parses other forms: parse_dates=[{:?}]", into.name);
        let pandas = if into.values.is_moment() { parses.as_str() } else { "" };
        Self {
            sqlstate,
            what: format!("{what} in {column}"),
            hint: format!(
                "cast it in the query, CAST(… AS {to}), or read it as text: as_text=[{:?}]{pandas}",
                into.name
            ),
            row: None,
        }
    }

    /// Text that is not UTF-8.
    #[cold]
    pub(super) fn not_utf8(offsets: &[i32], data: &[u8]) -> Self {
        let bad = |pair: &[i32]| std::str::from_utf8(&data[pair[0] as usize..pair[1] as usize]).is_err();
        Self {
            sqlstate: "22021",
            what: "a TEXT value that is not UTF-8".to_owned(),
            hint: "cast it in the query, CAST(… AS BLOB)".to_owned(),
            row: offsets.windows(2).position(bad),
        }
    }
}

impl FilledColumn<'_> {
    /// Whether the values decided the type, because the declaration does not, or was not to.
    fn is_by_values(&self) -> bool {
        let kind = ColumnKind::declared(self.declaration);
        kind == ColumnKind::ByValues || kind.is_moment() && !self.values.is_moment()
    }
}

/// The type that values have decided; only these kinds are possible.
fn decided(values: &Values) -> &'static str {
    match values {
        Values::Integer(_) => "INTEGER",
        Values::Float(_) => "REAL",
        Values::Binary(_) => "BLOB",
        Values::None => "NULL",
        _ => "TEXT",
    }
}
