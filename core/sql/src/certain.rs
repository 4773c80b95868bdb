//! Where the statements of a text end, whoever reads it.
//!
//! Databases differ in what they quote (backticks, brackets, dollars), in what escapes (backslashes), in comments, and
//! in statements that hold others. A text is cut only if none of that is in it. Otherwise it is one statement, and its
//! database says itself if it is several.

use crate::split::{self, Span};
use crate::{Dialect, Token, TokenKind, code};

/// A text that may be several statements, of which nobody but its database can tell where they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncertain;

/// The statements of a text. Nothing is left out of it but semicolons at its end.
///
/// # Errors
/// It may be several statements.
pub fn split(sql: &str) -> Result<Vec<Span<'_>>, Uncertain> {
    let Some(whole) = whole(sql) else { return Ok(Vec::new()) };
    let end = whole.end();
    if !whole.text.contains(';') {
        return Ok(vec![whole]);
    }
    if !is_alike(&sql[..end]) {
        return Err(Uncertain);
    }
    // PostgreSQL's comments and quotes without its bodies: a body that is cut has parts that are of no known kind.
    let statements: Vec<_> = split::split(&sql[..end], Dialect::DuckDb).collect();
    match statements.len() {
        1 => Ok(vec![whole]),
        _ if statements.iter().all(|statement| holds_no_other(statement.text)) => Ok(statements),
        _ => Err(Uncertain),
    }
}

/// A text as one statement, without semicolons at its end; `None` if it is empty to every database.
pub fn whole(sql: &str) -> Option<Span<'_>> {
    let text = sql.trim_end_matches(|last: char| last == ';' || last.is_whitespace());
    let whole = text.trim_start();
    // `/*!…*/` is a comment to some and a statement to others.
    let is_empty = whole.is_empty()
        || code(text, Dialect::Unknown).next().is_none() && !text.contains("/*!") && !text.contains("/*M!");
    (!is_empty).then(|| Span { text: whole, start: text.len() - whole.len() })
}

/// Whether all databases read the same tokens.
pub fn is_alike(sql: &str) -> bool {
    let (mut end, mut before) = (0, None::<Token<'_>>);
    for token in code(sql, Dialect::Unknown) {
        let is_plain = match token.kind {
            TokenKind::Symbol(symbol) => !b"`[]#\\$".contains(&symbol),
            TokenKind::Text => {
                let prefix = token.text.find('\'').filter(|_| !token.text.starts_with(['e', 'E']));
                prefix.is_some_and(|prefix| is_closed(&token.text[prefix..], '\'')) && !follows_word(before, &token)
            }
            TokenKind::Name => is_closed(token.text, '"') && !follows_word(before, &token),
            TokenKind::Word | TokenKind::Number => !token.text.contains('$'),
            TokenKind::Positional | TokenKind::Named | TokenKind::Space | TokenKind::Comment => false,
        };
        if !is_plain || !is_plain_gap(&sql[end..token.start]) {
            return false;
        }
        end = token.end();
        before = Some(token);
    }
    is_plain_gap(&sql[end..])
}

fn is_closed(text: &str, quote: char) -> bool {
    text.starts_with(quote) && !text.contains('\\') && text.matches(quote).count().is_multiple_of(2)
}

/// Whether a string has a word in front that may say how it is to be read: Oracle's `q'[…]'`, MySQL's `_utf8'…'`.
fn follows_word(before: Option<Token<'_>>, token: &Token<'_>) -> bool {
    before.is_some_and(|word| word.end() == token.start && word.kind == TokenKind::Word && !word.is_word("n"))
}

/// Whether what stands between two tokens is white space and comments to everybody.
fn is_plain_gap(gap: &str) -> bool {
    let mut rest = gap;
    loop {
        rest = rest.trim_start();
        let after = if let Some(comment) = rest.strip_prefix("--") {
            // MySQL wants a space behind, and does not end a comment at a carriage return.
            let line = comment.split('\n').next().unwrap_or_default();
            let is_plain = line.is_empty() || line.starts_with([' ', '\t', '\r']);
            let body = line.strip_suffix('\r').filter(|_| line.len() < comment.len()).unwrap_or(line);
            (is_plain && !body.contains('\r')).then(|| &comment[line.len()..])
        } else if let Some(comment) = rest.strip_prefix("/*") {
            // Some nest comments, and some run what is in them.
            let end = comment.find("*/");
            let inner = end.map(|end| &comment[..end]);
            let is_plain = inner.is_some_and(|inner| !inner.contains("/*") && !inner.starts_with(['!', 'M']));
            end.filter(|_| is_plain).map(|end| &comment[end + 2..])
        } else {
            return rest.is_empty();
        };
        match after {
            Some(after) => rest = after,
            None => return false,
        }
    }
}

/// Whether a statement is of a kind that has no statements in it. Of a body that was cut, a part is of another kind:
/// its head, or its END.
fn holds_no_other(statement: &str) -> bool {
    const KINDS: [&str; 37] = [
        "select",
        "values",
        "with",
        "table",
        "insert",
        "update",
        "delete",
        "merge",
        "replace",
        "truncate",
        "show",
        "explain",
        "describe",
        "set",
        "reset",
        "discard",
        "drop",
        "start",
        "commit",
        "rollback",
        "abort",
        "savepoint",
        "release",
        "close",
        "fetch",
        "move",
        "listen",
        "unlisten",
        "notify",
        "lock",
        "grant",
        "revoke",
        "analyze",
        "vacuum",
        "use",
        "deallocate",
        "pragma",
    ];
    const CREATED: [&str; 9] =
        ["table", "temp", "temporary", "view", "index", "unique", "schema", "sequence", "database"];
    const BEGINNINGS: [&str; 8] =
        ["transaction", "work", "isolation", "read", "deferrable", "deferred", "immediate", "exclusive"];
    let mut tokens = code(statement, Dialect::Unknown);
    let (Some(first), second) = (tokens.next(), tokens.next()) else { return false };
    first.is_one_of(&KINDS)
        || first.is_word("create") && second.is_some_and(|second| second.is_one_of(&CREATED))
        || first.is_word("begin") && second.is_none_or(|second| second.is_one_of(&BEGINNINGS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(sql: &str) -> Result<Vec<&str>, Uncertain> {
        Ok(split(sql)?.into_iter().map(|statement| statement.text).collect())
    }

    #[test]
    fn a_text_is_cut_where_everybody_would() {
        let sql = "select 'a;b' ; -- so;\n/* ; */ insert into \"t;\" values (N'x', X'00'); ";
        assert_eq!(parts(sql).unwrap(), ["select 'a;b'", "insert into \"t;\" values (N'x', X'00')"]);
        assert_eq!(parts("BEGIN; create table t (i int); COMMIT").unwrap().len(), 3);
        assert_eq!(split(" select 1 ;; ").unwrap()[0].start, 1);
        for nothing in ["", " ; ", "-- ping", "/* x */;"] {
            assert_eq!(parts(nothing).unwrap(), Vec::<&str>::new(), "{nothing}");
        }
        assert_eq!(parts("select 'a;b'").unwrap(), ["select 'a;b'"]);
        assert_eq!(parts("/*! select 1 */").unwrap(), ["/*! select 1 */"]);
    }

    #[test]
    fn what_some_read_otherwise_stays_in_one_piece() {
        for sql in [
            r"select '\'; drop table t; --'",
            "select `a;b`",
            "select [a;b] from t",
            "select 1 # ;\n + 1",
            "select $$;$$",
            "select $1; select 2",
            "select E'\\';'",
            "select q'[it's; ]'",
            "select 1 /* /* */; select 2 -- */",
            "/*! select 1; */ select 2",
            "select 1--1; select 2",
            "select 1 -- x\r; select 2",
            "select 'never closed; select 1",
            "select 'a'';b",
            "select e'a' 'b;'; select 1",
            "create trigger t after insert on a begin update b set i = 1; update c set i = 2; end",
            "create function f() returns int begin atomic select 1; select 2; end",
            "begin not atomic select 1; select 2; end",
            "begin insert into t values (1); end;",
            "declare x int; begin x := 1; end",
            "create rule r as on insert to t do (delete from u; delete from v)",
        ] {
            assert_eq!(parts(sql), Err(Uncertain), "{sql}");
            assert_eq!(whole(sql).unwrap().text, sql.trim_end_matches([';', ' ', '\n']), "{sql}");
        }
    }

    proptest::proptest! {
        /// What is cut, every dialect cuts in the same places.
        #[test]
        fn what_is_certain_is_so_in_every_dialect(
            sql in r#"(select|begin|create|trigger|end|;|;| |'|"|`|--|-- |/\*|\*/|\n|\\|é|q|e|x|1|\$|#|\[){0,12}"#
        ) {
            let Ok(certain) = split(&sql) else { return Ok(()) };
            for dialect in [Dialect::DuckDb, Dialect::POSTGRES, Dialect::Sqlite, Dialect::MySql { backslashes: true }] {
                if certain.len() > 1 {
                    let found: Vec<_> = split::split(&sql, dialect).collect();
                    proptest::prop_assert_eq!(&found, &certain, "{:?}", dialect);
                }
            }
        }
    }
}
