//! The statements of a text.
//!
//! A semicolon ends a statement unless it stands in parentheses (PostgreSQL's CREATE RULE), or in the body of a
//! function, a trigger or an event. In DuckDB's dialect, which is the server's, the body of a function may be Python in
//! braces. Where a body of MySQL's ends, only its grammar tells: from the first statement that may have one, the rest
//! is one piece.

mod body;

use crate::lexer::Lexer;
use crate::{Dialect, Token, python, tokens};

use body::Body;

/// A statement in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<'a> {
    /// Without the semicolon that ends it, and without the white space and the comments around it.
    pub text: &'a str,
    /// Where it starts, in bytes.
    pub start: usize,
}

impl Span<'_> {
    /// The byte after it.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The statements of a text, one after the other. Empty ones (nothing, or comments alone) are left out.
#[derive(Clone, Debug)]
pub struct Spans<'a> {
    sql: &'a str,
    tokens: Lexer<'a>,
    dialect: Dialect,
}

/// The statements of a text. If the dialect is not known, all of it is one.
pub fn split(sql: &str, dialect: Dialect) -> Spans<'_> {
    Spans { sql, tokens: tokens(sql, dialect), dialect }
}

/// A text without what ends its last statement: semicolons, comments and white space. A statement that stands inside
/// another one, such as PostgreSQL's COPY, must not carry them. What precedes the first statement stays.
pub fn trimmed(sql: &str, dialect: Dialect) -> &str {
    if dialect == Dialect::Unknown {
        // Nothing is known but that neither begins or ends a string.
        return sql.trim_end_matches(|last: char| last == ';' || last.is_whitespace());
    }
    let counts = |token: &Token<'_>| token.is_meaningful() && !token.is_symbol(b';');
    let end = tokens(sql, dialect).filter(counts).last().map_or(0, |last| last.end());
    &sql[..end]
}

impl<'a> Iterator for Spans<'a> {
    type Item = Span<'a>;

    fn next(&mut self) -> Option<Span<'a>> {
        let mut body = Body::new(self.dialect);
        let mut bounds: Option<(usize, usize)> = None;
        while let Some(token) = self.tokens.find(Token::is_meaningful) {
            if token.is_symbol(b';') && (bounds.is_none() || body.is_over()) {
                if bounds.is_some() {
                    break;
                }
                continue;
            }
            body.read(&token);
            let mut end = token.end();
            if body.is_python() {
                // If it has no end, all of the rest belongs to it.
                end = python::body_end(self.sql, end).map_or(self.sql.len(), |close| close + 1);
                self.tokens.skip_to(end);
            }
            bounds = Some((bounds.map_or(token.start, |(start, _)| start), end));
        }
        bounds.map(|(start, end)| Span { text: &self.sql[start..end], start })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MYSQL: Dialect = Dialect::MySql { backslashes: true };

    fn parts(sql: &str, dialect: Dialect) -> Vec<&str> {
        split(sql, dialect).map(|span| span.text).collect()
    }

    #[test]
    fn semicolons_end_statements() {
        let sql = " select ';' -- ;\n; ; /* ; */ insert into t values (1) ;\n-- end";
        for dialect in [Dialect::DuckDb, Dialect::POSTGRES, Dialect::Sqlite, MYSQL] {
            assert_eq!(parts(sql, dialect), ["select ';'", "insert into t values (1)"]);
            assert_eq!(split(sql, dialect).map(|span| span.start).collect::<Vec<_>>(), [1, 29]);
            assert!(parts(" ; -- nothing\n;", dialect).is_empty());
        }
        assert_eq!(parts("select 1; select 2", Dialect::Unknown), ["select 1; select 2"]);
    }

    #[test]
    fn a_body_is_one_with_its_statement() {
        let function =
            "create or replace function f() returns int begin atomic select case a when 1 then 2 end; select 3; end";
        assert_eq!(parts(&format!("{function}; select 4"), Dialect::POSTGRES), [function, "select 4"]);
        let rule = "create rule r as on insert to t do (delete from u; delete from v)";
        assert_eq!(parts(&format!("{rule}; select 4"), Dialect::POSTGRES), [rule, "select 4"]);
        assert_eq!(
            parts("begin; select 1; end; select 2", Dialect::POSTGRES),
            ["begin", "select 1", "end", "select 2"]
        );
        assert_eq!(parts("select (1; select 2); select 3", Dialect::DuckDb).len(), 3);
        let trigger = "explain create temp trigger t after insert on a begin update b set i = 1; end_; select 1; end";
        assert_eq!(parts(&format!("{trigger}; select 4"), Dialect::Sqlite), [trigger, "select 4"]);
        let rest = "create procedure p() begin select 1; select 2; end; select 3";
        assert_eq!(parts(&format!("select 0; {rest}"), MYSQL), ["select 0", rest]);
    }

    #[test]
    fn a_body_of_python_is_one_with_its_statement() {
        let parts = |sql: &str| parts(sql, Dialect::DuckDb).into_iter().map(str::to_owned).collect::<Vec<_>>();
        for body in ["return x; y = 1", " # it's ;\n return ';}' ", "return f\"{d[';']}\""] {
            for head in [
                "create function f(x int) returns int language python_map",
                "CREATE or replace Aggregate \"s\".f(x decimal(9, 2) = 1, y int[]) returns table(a int) immutable",
                "create function f() returns int",
            ] {
                let function = format!("{head} {{{body}}}");
                assert_eq!(
                    parts(&format!("{function} strict; select 4;")),
                    [&*format!("{function} strict"), "select 4"]
                );
            }
        }
        assert_eq!(parts("create function f(x) as {'a': x}; select 1").len(), 2);
        assert_eq!(parts("create function f(x) as (x); select {'returns': 1}; select 1").len(), 3);
        assert_eq!(parts("create function returns(x) as {'a': x}; select 1").len(), 2);
        assert_eq!(parts("create function f() returns int language python { return '; select 1").len(), 1);
        assert_eq!(parts("create function f() returns int as $$ ; } $$ language python; select 1").len(), 2);
    }

    #[test]
    fn a_text_loses_its_tail() {
        let trimmed = |sql| trimmed(sql, Dialect::POSTGRES);
        assert_eq!(trimmed("select 1 ; -- done\n /* x */ ;; "), "select 1");
        assert_eq!(trimmed("select ';' -- ;"), "select ';'");
        assert_eq!(trimmed("select 1; select 2;"), "select 1; select 2");
        assert_eq!(trimmed(" -- nothing\n;"), "");
        let conditional = "select 1 /*! limit 1 */";
        assert_eq!(super::trimmed(conditional, MYSQL), conditional);
        assert_eq!(parts("/*! select 1 */; /* ; */", MYSQL), ["/*! select 1 */"]);
        assert_eq!(super::trimmed("select 1 -- done ; ", Dialect::Unknown), "select 1 -- done");
    }

    proptest! {
        #[test]
        fn statements_are_in_order(sql in "(create|trigger|function|f\\(\\) returns int|\\{|\\}|begin|atomic|case|end|select|;|\\(|\\)|'|\"|--|/\\*|\\*/|\n| |é){0,16}") {
            for dialect in [Dialect::DuckDb, Dialect::POSTGRES, Dialect::Sqlite, MYSQL, Dialect::Unknown] {
                let mut end = 0;
                for span in split(&sql, dialect) {
                    prop_assert!(span.start >= end && !span.text.is_empty());
                    prop_assert_eq!(&sql[span.start..span.end()], span.text);
                    end = span.end();
                }
                prop_assert!(sql.starts_with(trimmed(&sql, dialect)));
            }
        }
    }
}
