//! COPY as the session runs it.

use std::borrow::Cow;
use std::ops::Range;

use colonnade_sql::statement::{CopySource, CopyStatement};

use super::options::{CopyOptions, Direction};
use crate::error::Failure;

/// A COPY whose rows go to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOut {
    /// Where the rows come from.
    source: CopySource,
    /// The options, checked one by one but not yet against the columns.
    pub options: CopyOptions,
}

/// A COPY whose rows come from the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyIn {
    /// The table's name, as it was written.
    pub table: String,
    /// The columns' names, as they were written; `None` for all.
    pub columns: Option<String>,
    /// The options.
    pub options: CopyOptions,
}

/// What a COPY turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// Rows to the client.
    ToStdout(Box<CopyOut>),
    /// Rows from the client.
    FromStdin(Box<CopyIn>),
    /// Between the engine and a file: the engine's business.
    Engine,
}

impl Parsed {
    /// Gives the options of the statement with this text their meaning.
    ///
    /// # Errors
    /// If it is one for the client to see, and wrong.
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
    /// The query that gives the rows, out of the statement's text, and where it starts there. One that is made of a table's name has no
    /// place there.
    pub fn query<'a>(&self, text: &'a str) -> (Cow<'a, str>, Option<usize>) {
        match &self.source {
            CopySource::Query(place) => (Cow::Borrowed(&text[place.clone()]), Some(place.start)),
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
    use crate::copy::options::{Chosen, Format};

    fn parse(sql: &str) -> Result<Parsed, Failure> {
        match Statement::of(sql, Dialect::POSTGRES).kind {
            StatementKind::Copy(copy) => Parsed::new(&copy?, sql),
            other => panic!("{sql}: {other:?}"),
        }
    }

    fn copy(sql: &str) -> CopyOut {
        match parse(sql) {
            Ok(Parsed::ToStdout(copy)) => *copy,
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
        assert_eq!(options.csv.force_quote, Chosen::Columns(vec!["a".to_owned(), "B".to_owned()]));
        assert_eq!(copy("COPY t TO STDOUT BINARY").options.format, Format::Binary);
        assert_eq!(copy("COPY t TO STDOUT USING DELIMITERS '|'").options.delimiter, b'|');
        assert_eq!(copy("COPY t TO STDOUT (DELIMITER E'\\t')").options.delimiter, b'\t');
    }

    #[test]
    fn reads_what_is_forced() {
        let read = |sql: &str| match parse(sql) {
            Ok(Parsed::FromStdin(copy)) => (copy.options.csv.force_null, copy.options.csv.force_not_null),
            other => panic!("{sql}: {other:?}"),
        };
        let columns = |names: &[&str]| Chosen::Columns(names.iter().map(|&name| name.to_owned()).collect());
        let new = read("COPY t FROM STDIN (FORMAT csv, FORCE_NULL (a, \"B\"), FORCE_NOT_NULL (c))");
        assert_eq!(new, (columns(&["a", "B"]), columns(&["c"])));
        assert_eq!(read("COPY t FROM STDIN WITH CSV FORCE NULL a, \"B\" FORCE NOT NULL c"), new);
        assert_eq!(read("COPY t FROM STDIN (FORMAT csv, FORCE_NULL *)").0, Chosen::All);
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
