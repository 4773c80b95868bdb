//! The errors of values that have no exact form in their column.

use super::kind::ColumnMeaning;
use super::moment;
use crate::{Error, ErrorKind};

/// A value that its column cannot hold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ValueMisfit {
    sqlstate: &'static str,
    /// The text after "row 7: ".
    what: String,
    hint: &'static str,
}

impl ValueMisfit {
    /// A number out of the column's range, or between its values.
    #[cold]
    pub(crate) fn number(value: impl std::fmt::Display, column: &str) -> Self {
        let hint = "give the table a wider column, or convert the data: dtype={…: …}";
        Self { sqlstate: "22003", what: format!("{value} has no exact form in {column}"), hint }
    }

    /// A date, a time, a timestamp or a duration out of the column's range, or between its values, which are `step`
    /// microseconds apart; 0 is less than one. `held` is the range.
    #[cold]
    pub(crate) fn moment(number: i64, meaning: &ColumnMeaning, column: &str, held: &str, step: i64) -> Self {
        let is_fine = moment::is_between(number, meaning, step);
        let what = format!("{} has no exact form in {column}", moment::shown(number, meaning));
        let what = if is_fine { what } else { format!("{what}, which holds {held}") };
        let hint = match meaning {
            ColumnMeaning::Time { .. } | ColumnMeaning::Timestamp { .. } if is_fine && step > 1 => {
                "give the table's column more digits of a second, or round the data before"
            }
            ColumnMeaning::Timestamp { zoned: false, .. } if is_fine => {
                "dtype={…: lossy(\"timestamp(us)\")} takes the earlier microsecond"
            }
            ColumnMeaning::Timestamp { zoned: true, .. } if is_fine => {
                "dtype={…: lossy(\"timestamp(us, UTC)\")} takes the earlier microsecond"
            }
            ColumnMeaning::Time { .. } if is_fine => "dtype={…: lossy(\"time64(us)\")} takes the earlier microsecond",
            ColumnMeaning::Date { .. } if is_fine => "dtype={…: lossy(\"date32\")} takes the day",
            ColumnMeaning::Duration { .. } | ColumnMeaning::Interval if is_fine => {
                "round it before, as dt.round(\"us\") of pandas does"
            }
            ColumnMeaning::Timestamp { zoned: true, .. }
                if column.starts_with("timestamp(") && held.ends_with("UTC") =>
            {
                "a datetime column holds the years 0 to 9999: write it without its zone, by dtype={…: \"timestamp(us)\"} \
                 if that is UTC, or by dt.tz_convert(None) of pandas"
            }
            ColumnMeaning::Duration { .. } | ColumnMeaning::Interval => {
                "write it as a number, as dt.total_seconds() of pandas does, or leave the row out"
            }
            _ => "dtype={…: \"utf8\"} makes it text in a new table; or leave the row out",
        };
        Self { sqlstate: "22008", what, hint }
    }

    /// A text that the column cannot hold.
    #[cold]
    pub(crate) fn text(what: impl Into<String>) -> Self {
        Self { sqlstate: "22021", what: what.into(), hint: "change the value, or write the column as binary" }
    }

    /// A text of another length than the column's.
    #[cold]
    pub(crate) fn length(length: usize, column: &str) -> Self {
        let what = format!("a text of {length} characters does not fit {column} as it is");
        Self { sqlstate: "22001", what, hint: "give the table a column of type text, or change the value" }
    }

    /// A value that the database would change.
    #[cold]
    pub(crate) fn changed(what: impl Into<String>, hint: &'static str) -> Self {
        Self { sqlstate: "22003", what: what.into(), hint }
    }

    /// NULL in a column that has none.
    #[cold]
    pub(crate) fn null(what: &str) -> Self {
        let hint = "replace it, or leave the column out to get its default";
        Self { sqlstate: "23502", what: what.to_owned(), hint }
    }

    /// The error, which names the column and the row, counted from 1.
    #[cold]
    pub(crate) fn at(self, name: &str, row: u64) -> Error {
        Error::new(ErrorKind::Database, format!("column {name:?}, row {row}: {}", self.what))
            .with_sqlstate(self.sqlstate)
            .with_hint(self.hint)
    }
}
