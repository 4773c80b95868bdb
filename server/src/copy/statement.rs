//! The COPY statement: PostgreSQL's grammar, as far as it concerns the client.

use super::grammar::{Parser, Source};
use super::options::{Direction, Options};
use crate::lex::{Kind, Lexer};

/// A COPY whose rows go to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The query that produces the rows.
    pub query: String,
    /// Where that query starts in the statement, in bytes; `None` if it was made up from a table's name.
    pub query_start: Option<usize>,
    /// The options, checked one by one but not yet against the columns.
    pub options: Options,
}

/// A COPY whose rows come from the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyIn {
    /// The table's name, as it was written.
    pub table: String,
    /// The columns' names, as they were written; `None` for all.
    pub columns: Option<String>,
    /// The options.
    pub options: Options,
}

/// What a statement that begins with COPY turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// Rows to the client.
    ToStdout(Box<Copy>),
    /// Rows from the client.
    FromStdin(Box<CopyIn>),
    /// Between the engine and a file: the engine's business.
    Engine,
}

/// Reads a COPY statement.
///
/// # Errors
/// If it is one for the client to see, and wrong.
pub fn parse(sql: &str) -> Result<Parsed, crate::error::Failure> {
    let tokens: Vec<_> = Lexer::new(sql).collect();
    let mut parser = Parser::new(sql, &tokens);
    parser.expect_word("copy", "COPY")?;
    let Some(source) = parser.source()? else { return Ok(Parsed::Engine) };
    if parser.word("from") {
        return match source {
            Source::Table { table, columns } if parser.word("stdin") => {
                if parser.rest().iter().any(|token| token.is_word("where")) {
                    return Err(crate::error::Failure::NotSupported("COPY … FROM STDIN with WHERE"));
                }
                let options = Options::from_raw(&parser.last_options()?, Direction::In)?;
                Ok(Parsed::FromStdin(Box::new(CopyIn { table, columns, options })))
            }
            _ => Ok(Parsed::Engine),
        };
    }
    if !parser.word("to") || !parser.word("stdout") {
        return Ok(Parsed::Engine);
    }
    let raw = parser.last_options()?;
    let (query, query_start) = source.query();
    let options = Options::from_raw(&raw, Direction::Out)?;
    Ok(Parsed::ToStdout(Box::new(Copy { query, query_start, options })))
}

/// Reads a COPY whose query is another database's SQL, whose quotes may end elsewhere: it reaches to the last parenthesis that TO
/// STDOUT and options follow, and nothing else.
///
/// # Errors
/// As for [`parse`].
pub fn parse_passed(sql: &str) -> Result<Parsed, crate::error::Failure> {
    /// Options have no more parentheses.
    const MOST: usize = 64;
    let mut begin = Lexer::new(sql).skip(1);
    let Some(open) = begin.next().filter(|token| token.kind == Kind::Symbol(b'(')) else { return parse(sql) };
    for (at, _) in sql.rmatch_indices(')').take(MOST) {
        let tail = sql.get(at + 1..).unwrap_or_default();
        let tokens: Vec<_> = Lexer::new(tail).collect();
        let mut parser = Parser::new(tail, &tokens);
        if !parser.word("to") || !parser.word("stdout") {
            continue;
        }
        if let (Ok(raw), Some(query)) = (parser.last_options(), sql.get(open.end()..at)) {
            let options = Options::from_raw(&raw, Direction::Out)?;
            return Ok(Parsed::ToStdout(Box::new(Copy {
                query: query.to_owned(),
                query_start: Some(open.end()),
                options,
            })));
        }
    }
    parse(sql)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::options::{Chosen, Format};
    use proptest::prelude::*;

    fn copy(sql: &str) -> Copy {
        match parse(sql) {
            Ok(Parsed::ToStdout(copy)) => *copy,
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn reads_queries_and_tables() {
        let parsed = copy("copy (select ')', \"a)\" from t /* ) */) to stdout");
        assert_eq!((parsed.query.as_str(), parsed.query_start), ("select ')', \"a)\" from t /* ) */", Some(6)));
        assert_eq!(parsed.options.format, Format::Text);
        assert_eq!(copy("COPY s.\"T\" (a, \"B\") TO STDOUT (FORMAT csv)").query, "SELECT a, \"B\" FROM s.\"T\"");
        assert_eq!(copy("COPY t TO STDOUT").query, "SELECT * FROM t");
    }

    #[test]
    fn reads_options_old_and_new() {
        let new = copy("COPY t TO STDOUT WITH (FORMAT 'csv', HEADER, DELIMITER ';', FORCE_QUOTE (a, \"B\"))").options;
        let old = copy("COPY t TO STDOUT WITH CSV HEADER DELIMITER AS ';' FORCE QUOTE a, \"B\"").options;
        assert_eq!(new, old);
        assert_eq!(old.csv.force_quote, Chosen::Columns(vec!["a".to_owned(), "B".to_owned()]));
        assert_eq!(copy("COPY t TO STDOUT BINARY").options.format, Format::Binary);
        assert_eq!(copy("COPY t TO STDOUT USING DELIMITERS '|'").options.delimiter, b'|');
        assert_eq!(copy("COPY t TO STDOUT (DELIMITER E'\\t')").options.delimiter, b'\t');
    }

    #[test]
    fn leaves_files_to_the_engine() {
        for sql in [
            "copy t to 'x.csv'",
            "copy (select 1) to 'x' (format parquet)",
            "copy t from 'x'",
            "COPY FROM DATABASE a TO b",
        ] {
            assert_eq!(parse(sql).unwrap(), Parsed::Engine, "{sql}");
        }
        let Parsed::FromStdin(copy) = parse("copy a.\"B\" (x, y) from stdin with csv header").unwrap() else {
            panic!("not from the client");
        };
        assert_eq!((copy.table.as_str(), copy.columns.as_deref()), ("a.\"B\"", Some("x, y")));
        assert!(copy.options.header);
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
        ] {
            assert_eq!(parse(sql).unwrap_err().code().as_str(), code, "{sql}");
        }
    }

    #[test]
    fn a_query_of_another_dialect_ends_where_the_options_begin() {
        for (query, rest) in [
            (r"select '') to stdout (format csv)'", " to stdout"),
            ("select `)`", " TO STDOUT (FORMAT colonnade, chunk_rows 5)"),
            ("select 1", " to stdout (format csv, null ') to stdout', force_quote (a, b))"),
        ] {
            let Ok(Parsed::ToStdout(copy)) = parse_passed(&format!("copy ({query}){rest}")) else { panic!("{query}") };
            assert_eq!((copy.query.as_str(), copy.query_start), (query, Some(6)));
        }
        assert_eq!(parse_passed("copy t to 'x'").unwrap(), Parsed::Engine);
        assert!(parse_passed("copy (select 1 to stdout").is_err());
    }

    #[test]
    fn says_where_a_statement_goes_wrong() {
        for (sql, position) in [
            ("copy (select 1 to stdout", 24),
            ("copy t to stdout (format csv", 28),
            ("copy t to stdout (format csv) x", 30),
            ("copy t to stdout wit csv", 17),
            ("copy 1 to stdout", 5),
        ] {
            assert_eq!(parse(sql).unwrap_err().position(), Some(position), "{sql}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_statements_never_panic(rest in r#"[a-z(),*'"; 0-9+-]{0,60}"#) {
            let _ = parse(&format!("copy {rest}"));
            let _ = parse_passed(&format!("copy ({rest}"));
            let _ = parse(&format!("copy t to stdout {rest}"));
            let _ = parse(&format!("copy t to stdout ({rest})"));
        }
    }
}
