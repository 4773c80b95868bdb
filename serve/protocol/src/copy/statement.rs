//! A COPY statement with its options parsed.

use std::borrow::Cow;
use std::ops::Range;

use colonnade_sql::statement::{CopySource, CopyStatement, PartSource};

use super::options::{CopyOptions, Direction};
use crate::error::Failure;

/// A COPY whose rows go to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOut {
    source: CopySource,
    /// The options. Names of columns in them are not checked yet.
    pub options: CopyOptions,
}

/// A COPY whose rows come from the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyIn {
    /// The table's name as in the statement.
    pub table: String,
    /// The list of columns as in the statement; `None` for all.
    pub columns: Option<String>,
    /// The options.
    pub options: CopyOptions,
}

/// A COPY, by who takes part in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyRequest {
    /// Rows to the client.
    ToStdout(Box<CopyOut>),
    /// Rows from the client.
    FromStdin(Box<CopyIn>),
    /// From or to a file. The engine runs it.
    Engine,
}

impl CopyRequest {
    /// Parses the options of a COPY with this text.
    ///
    /// # Errors
    /// If an option of a COPY from or to the client is invalid. The engine checks the options of the others.
    pub fn new(copy: &CopyStatement, text: &str) -> Result<Self, Failure> {
        Ok(match copy {
            CopyStatement::ToStdout(source, options) => {
                let options = CopyOptions::from_raw(options, Direction::Out)?;
                Self::ToStdout(Box::new(CopyOut { source: source.clone(), options }))
            }
            CopyStatement::FromStdin { options: None, .. } => {
                return Err(Failure::NotSupported("COPY … FROM STDIN with WHERE"));
            }
            CopyStatement::FromStdin { table, columns, options: Some(options) } => {
                let options = CopyOptions::from_raw(options, Direction::In)?;
                let (table, columns) = (text[table.clone()].to_owned(), columns_of(columns.as_ref(), text));
                Self::FromStdin(Box::new(CopyIn { table, columns, options }))
            }
            CopyStatement::Other => Self::Engine,
        })
    }
}

impl CopyOut {
    /// The part of a spooled result that is sent, if it is one.
    pub fn part(&self) -> Option<&PartSource> {
        if let CopySource::Part(part) = &self.source { Some(part) } else { None }
    }

    /// The query that gives the rows, and where it starts in the statement's text. The query of `COPY table` does not
    /// occur in the text, so it has no start.
    pub fn query<'a>(&self, text: &'a str) -> (Cow<'a, str>, Option<usize>) {
        match &self.source {
            CopySource::Query(place) => (Cow::Borrowed(&text[place.clone()]), Some(place.start)),
            // It has no query.
            CopySource::Part(_) => (Cow::Borrowed(""), None),
            CopySource::Table { table, columns } => {
                let columns = columns_of(columns.as_ref(), text).unwrap_or_else(|| "*".to_owned());
                (Cow::Owned(format!("SELECT {columns} FROM {}", &text[table.clone()])), None)
            }
        }
    }
}

fn columns_of(place: Option<&Range<usize>>, text: &str) -> Option<String> {
    place.map(|place| text[place.clone()].trim().to_owned())
}

#[cfg(test)]
mod tests {
    use colonnade_sql::{Dialect, Statement, StatementKind};

    use super::*;
    use crate::copy::options::{ColumnSelection, Format};

    fn parse(sql: &str) -> Result<CopyRequest, Failure> {
        match Statement::of(sql, Dialect::POSTGRES).kind {
            StatementKind::Copy(copy) => CopyRequest::new(&copy?, sql),
            other => panic!("{sql}: {other:?}"),
        }
    }

    fn copy(sql: &str) -> CopyOut {
        match parse(sql) {
            Ok(CopyRequest::ToStdout(copy)) => *copy,
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn reads_queries_and_tables() {
        let sql = "copy (select ')', \"a)\" from t /* ) */) to stdout";
        let (query, start) = copy(sql).query(sql);
        assert_eq!((&*query, start), ("select ')', \"a)\" from t /* ) */", Some(6)));
        assert_eq!(copy(sql).options.format, Format::Text);
        let query = |sql: &str| copy(sql).query(sql).0.into_owned();
        assert_eq!(query("COPY s.\"T\" (a, \"B\") TO STDOUT (FORMAT csv)"), "SELECT a, \"B\" FROM s.\"T\"");
        assert_eq!(query("COPY t TO STDOUT"), "SELECT * FROM t");
    }

    #[test]
    fn reads_options() {
        let options = copy("COPY t TO STDOUT WITH CSV HEADER DELIMITER AS ';' FORCE QUOTE a, \"B\"").options;
        assert_eq!(options.csv.force_quote, ColumnSelection::Columns(vec!["a".to_owned(), "B".to_owned()]));
        assert_eq!(copy("COPY t TO STDOUT BINARY").options.format, Format::Binary);
        assert_eq!(copy("COPY t TO STDOUT USING DELIMITERS '|'").options.delimiter, b'|');
        assert_eq!(copy("COPY t TO STDOUT (DELIMITER E'\\t')").options.delimiter, b'\t');
    }

    #[test]
    fn reads_the_force_options() {
        let read = |sql: &str| match parse(sql) {
            Ok(CopyRequest::FromStdin(copy)) => (copy.options.csv.force_null, copy.options.csv.force_not_null),
            other => panic!("{sql}: {other:?}"),
        };
        let columns = |names: &[&str]| ColumnSelection::Columns(names.iter().map(|&name| name.to_owned()).collect());
        let new = read("COPY t FROM STDIN (FORMAT csv, FORCE_NULL (a, \"B\"), FORCE_NOT_NULL (c))");
        assert_eq!(new, (columns(&["a", "B"]), columns(&["c"])));
        assert_eq!(read("COPY t FROM STDIN WITH CSV FORCE NULL a, \"B\" FORCE NOT NULL c"), new);
        assert_eq!(read("COPY t FROM STDIN (FORMAT csv, FORCE_NULL *)").0, ColumnSelection::All);
        for (sql, code) in [
            ("COPY t FROM STDIN (FORCE_NULL (a))", "0A000"),
            ("COPY t FROM STDIN (FORMAT csv, FORCE_QUOTE (a))", "0A000"),
            ("COPY t TO STDOUT (FORMAT csv, FORCE_NULL (a))", "0A000"),
            ("COPY t TO STDOUT (FORMAT csv, FORCE_NOT_NULL (a))", "0A000"),
            ("COPY t FROM STDIN (FORMAT csv, FORCE_NULL a)", "22023"),
            ("COPY t FROM STDIN CSV FORCE a", "42601"),
            ("COPY t FROM STDIN WHERE i > 1", "0A000"),
        ] {
            assert_eq!(parse(sql).unwrap_err().code().as_str(), code, "{sql}");
        }
    }
}
