//! The COPY statement: PostgreSQL's grammar, as far as it concerns the client.

use super::CopyError;
use super::options::{Options, RawOption, RawValue};
use crate::lex::{Kind, Lexer, Token};

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
    let mut parser = Parser { sql, tokens: &tokens, at: 0 };
    parser.expect_word("copy", "COPY")?;
    let Some(source) = parser.source()? else { return Ok(Parsed::Engine) };
    if parser.word("from") {
        return match source {
            Source::Table { table, columns } if parser.word("stdin") => {
                if parser.tokens[parser.at..].iter().any(|token| token.is_word("where")) {
                    return Err(crate::error::Failure::NotSupported("COPY … FROM STDIN with WHERE"));
                }
                let options = Options::from_raw(&parser.last_options()?)?;
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
    Ok(Parsed::ToStdout(Box::new(Copy { query, query_start, options: Options::from_raw(&raw)? })))
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
        let mut parser = Parser { sql: tail, tokens: &tokens, at: 0 };
        if !parser.word("to") || !parser.word("stdout") {
            continue;
        }
        if let (Ok(raw), Some(query)) = (parser.last_options(), sql.get(open.end()..at)) {
            let options = Options::from_raw(&raw)?;
            return Ok(Parsed::ToStdout(Box::new(Copy {
                query: query.to_owned(),
                query_start: Some(open.end()),
                options,
            })));
        }
    }
    parse(sql)
}

/// What is copied.
enum Source {
    Query(String, usize),
    Table { table: String, columns: Option<String> },
}

impl Source {
    /// The query that gives its rows, and where it starts in the statement unless it was made up.
    fn query(self) -> (String, Option<usize>) {
        match self {
            Self::Query(query, start) => (query, Some(start)),
            Self::Table { table, columns } => {
                (format!("SELECT {} FROM {table}", columns.as_deref().unwrap_or("*")), None)
            }
        }
    }
}

struct Parser<'a, 't> {
    sql: &'a str,
    tokens: &'t [Token<'a>],
    at: usize,
}

impl<'a> Parser<'a, '_> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).copied()
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn error(&self, expected: &'static str) -> CopyError {
        let byte = self.peek().map_or(self.sql.len(), |token| token.start);
        CopyError::Syntax { expected, position: self.sql[..byte].chars().count() }
    }

    /// Takes this keyword if it comes next.
    fn word(&mut self, keyword: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is_word(keyword));
        self.at += usize::from(found);
        found
    }

    fn symbol(&mut self, symbol: u8) -> bool {
        let found = self.peek().is_some_and(|token| token.kind == Kind::Symbol(symbol));
        self.at += usize::from(found);
        found
    }

    fn expect_word(&mut self, keyword: &str, expected: &'static str) -> Result<(), CopyError> {
        if self.word(keyword) { Ok(()) } else { Err(self.error(expected)) }
    }

    /// The text of a parenthesis whose opening has just been taken, up to its closing.
    fn parenthesis(&mut self) -> Result<(&'a str, usize), CopyError> {
        let start = self.tokens[self.at - 1].end();
        let mut depth = 1;
        while let Some(token) = self.next() {
            match token.kind {
                Kind::Symbol(b'(') => depth += 1,
                Kind::Symbol(b')') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok((&self.sql[start..token.start], start));
            }
        }
        Err(self.error("a closing parenthesis"))
    }

    /// `(query)`, or `table [(columns)]`; `None` for forms that only the engine knows (`COPY FROM DATABASE`).
    fn source(&mut self) -> Result<Option<Source>, CopyError> {
        if self.symbol(b'(') {
            let (query, start) = self.parenthesis()?;
            return Ok(Some(Source::Query(query.to_owned(), start)));
        }
        let Some(first) = self.peek().filter(|token| matches!(token.kind, Kind::Word | Kind::Name)) else {
            return Err(self.error("a table or a query in parentheses"));
        };
        if first.is_word("from") {
            return Ok(None);
        }
        self.at += 1;
        let mut end = first.end();
        while self.symbol(b'.') {
            let part = self.peek().filter(|token| matches!(token.kind, Kind::Word | Kind::Name));
            end = part.ok_or_else(|| self.error("a name"))?.end();
            self.at += 1;
        }
        let table = self.sql[first.start..end].to_owned();
        let columns = if self.symbol(b'(') { Some(self.parenthesis()?.0.trim().to_owned()) } else { None };
        Ok(Some(Source::Table { table, columns }))
    }

    /// The options, and nothing after them.
    fn last_options(&mut self) -> Result<Vec<RawOption>, CopyError> {
        let raw = self.options()?;
        if self.peek().is_some() { Err(self.error("the end of the statement")) } else { Ok(raw) }
    }

    /// `[WITH] (name value, …)`, or the options of old: `[WITH] CSV HEADER DELIMITER ','`.
    fn options(&mut self) -> Result<Vec<RawOption>, CopyError> {
        // Even older: `[USING] DELIMITERS ','` before WITH.
        let mut options = Vec::new();
        if self.peek().is_some_and(|token| token.is_word("using") || token.is_word("delimiters")) {
            self.word("using");
            self.expect_word("delimiters", "DELIMITERS")?;
            options.push(self.old_text("delimiter")?);
        }
        self.word("with");
        if self.symbol(b'(') {
            loop {
                options.push(self.option()?);
                if self.symbol(b')') {
                    return Ok(options);
                }
                if !self.symbol(b',') {
                    return Err(self.error("\",\" or \")\""));
                }
            }
        }
        while let Some(token) = self.peek() {
            options.push(self.old_option(token)?);
        }
        Ok(options)
    }

    fn option(&mut self) -> Result<RawOption, CopyError> {
        let name = self.peek().filter(|token| matches!(token.kind, Kind::Word | Kind::Name));
        let name = name.ok_or_else(|| self.error("the name of an option"))?.value();
        self.at += 1;
        let value = match self.peek() {
            Some(token) if matches!(token.kind, Kind::Symbol(b',' | b')')) => RawValue::None,
            Some(token) if token.kind == Kind::Symbol(b'*') => {
                self.at += 1;
                RawValue::All
            }
            Some(token) if token.kind == Kind::Symbol(b'(') => {
                self.at += 1;
                RawValue::List(self.names()?)
            }
            Some(token) if matches!(token.kind, Kind::Symbol(b'-' | b'+')) => {
                self.at += 1;
                let number = self.next().filter(|token| token.kind == Kind::Number);
                RawValue::Text(format!("{}{}", token.text, number.ok_or_else(|| self.error("a number"))?.text))
            }
            Some(token) if !matches!(token.kind, Kind::Symbol(_)) => {
                self.at += 1;
                RawValue::Text(token.value())
            }
            _ => return Err(self.error("the value of an option")),
        };
        Ok(RawOption { name, value })
    }

    /// `a, b)` after an opening parenthesis.
    fn names(&mut self) -> Result<Vec<String>, CopyError> {
        let mut names = Vec::new();
        loop {
            let name = self.peek().filter(|token| !matches!(token.kind, Kind::Symbol(_)));
            names.push(name.ok_or_else(|| self.error("a name"))?.value());
            self.at += 1;
            if self.symbol(b')') {
                return Ok(names);
            }
            if !self.symbol(b',') {
                return Err(self.error("\",\" or \")\""));
            }
        }
    }

    fn old_option(&mut self, token: Token<'a>) -> Result<RawOption, CopyError> {
        let keyword = if token.kind == Kind::Word { token.text.to_ascii_lowercase() } else { String::new() };
        self.at += 1;
        let format = |format: &str| RawOption { name: "format".to_owned(), value: RawValue::Text(format.to_owned()) };
        match keyword.as_str() {
            "binary" | "csv" => Ok(format(&keyword)),
            "header" => Ok(RawOption { name: keyword, value: RawValue::None }),
            "delimiter" | "null" | "quote" | "escape" | "encoding" => self.old_text(&keyword),
            "force" => {
                self.expect_word("quote", "QUOTE")?;
                let value = if self.symbol(b'*') { RawValue::All } else { RawValue::List(self.old_names()?) };
                Ok(RawOption { name: "force_quote".to_owned(), value })
            }
            _ => {
                self.at -= 1;
                Err(self.error("a COPY option"))
            }
        }
    }

    fn old_text(&mut self, name: &str) -> Result<RawOption, CopyError> {
        self.word("as");
        let text = self.peek().filter(|token| token.kind == Kind::Text).ok_or_else(|| self.error("a string"))?;
        self.at += 1;
        Ok(RawOption { name: name.to_owned(), value: RawValue::Text(text.value()) })
    }

    fn old_names(&mut self) -> Result<Vec<String>, CopyError> {
        let mut names = Vec::new();
        loop {
            let name = self.peek().filter(|token| matches!(token.kind, Kind::Word | Kind::Name));
            names.push(name.ok_or_else(|| self.error("a column"))?.value());
            self.at += 1;
            if !self.symbol(b',') {
                return Ok(names);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::options::{ForceQuote, Format};
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
        assert_eq!(old.csv.force_quote, ForceQuote::Columns(vec!["a".to_owned(), "B".to_owned()]));
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
