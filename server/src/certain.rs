//! Where the statements of a query string end if it is another database's SQL.
//!
//! Databases differ in what they quote (backticks, brackets, dollars), in what escapes (backslashes), in comments, and in statements
//! that hold others. A string is cut only if none of that is in it; otherwise it goes to the source as one statement, which
//! says itself if it is several.

use colonnade_sql::Dialect;

use crate::engine::EngineError;
use crate::error::{Failure, SqlState};
use crate::lex::{Kind, Lexer, Token};
use crate::session::query::{self, Statement};

/// The statements of a query string. Nothing is left out of it but semicolons at its end.
///
/// # Errors
/// If it may be several, and the source might run the first of them only.
pub fn split(sql: &str, dialect: Dialect) -> Result<Vec<Statement<'_>>, Failure> {
    let text = sql.trim_end_matches(|last: char| last == ';' || last.is_whitespace());
    let whole = text.trim_start();
    // `/*!…*/` is a comment to some and a statement to others.
    if whole.is_empty() || Lexer::new(text).next().is_none() && !text.contains("/*!") && !text.contains("/*M!") {
        return Ok(Vec::new());
    }
    let one = vec![Statement { text: whole, start: text.len() - whole.len() }];
    if !text.contains(';') {
        return Ok(one);
    }
    let statements = query::split(text);
    match (is_alike(text), statements.len()) {
        (true, 1) => Ok(one),
        (true, _) if statements.iter().all(|statement| holds_no_other(statement.text)) => Ok(statements),
        _ if dialect == Dialect::Unknown => Err(EngineError {
            hint: Some("Send one statement at a time, without a semicolon in it.".to_owned()),
            ..EngineError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot tell where the statements of this source's SQL end",
            )
        }
        .into()),
        _ => Ok(one),
    }
}

/// Whether all databases read the same tokens.
fn is_alike(sql: &str) -> bool {
    let (mut end, mut before) = (0, None::<Token<'_>>);
    for token in Lexer::new(sql) {
        let is_plain = match token.kind {
            Kind::Symbol(symbol) => !b"`[]#\\$".contains(&symbol),
            Kind::Text => token.text.starts_with('\'') && is_closed(token.text, '\'') && !follows_word(before, &token),
            Kind::Name => is_closed(token.text, '"') && !follows_word(before, &token),
            Kind::Word | Kind::Number => !token.text.contains('$'),
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
    !text.contains('\\') && text.matches(quote).count().is_multiple_of(2)
}

/// Whether a string has a word in front that may say how it is to be read: Oracle's `q'[…]'`, MySQL's `_utf8'…'`.
fn follows_word(before: Option<Token<'_>>, token: &Token<'_>) -> bool {
    const HARMLESS: [&str; 3] = ["n", "x", "b"];
    before.is_some_and(|word| {
        word.end() == token.start && word.kind == Kind::Word && !HARMLESS.iter().any(|known| word.is_word(known))
    })
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

/// Whether a statement is of a kind that has no statements in it. Of a body that was cut, a part is of another kind: its head, or its END.
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
    let mut tokens = Lexer::new(statement);
    let (Some(first), second) = (tokens.next(), tokens.next()) else { return false };
    let second_is = |words: &[&str]| second.is_some_and(|second| words.iter().any(|word| second.is_word(word)));
    KINDS.iter().any(|kind| first.is_word(kind))
        || first.is_word("create") && second_is(&CREATED)
        || first.is_word("begin") && (second.is_none() || second_is(&BEGINNINGS))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MYSQL: Dialect = Dialect::MySql { backslashes: true };

    fn parts(sql: &str, dialect: Dialect) -> Vec<&str> {
        split(sql, dialect).unwrap().into_iter().map(|statement| statement.text).collect()
    }

    #[test]
    fn a_string_is_cut_where_everybody_would() {
        let sql = "select 'a;b' ; -- so;\n/* ; */ insert into \"t;\" values (N'x'); ";
        assert_eq!(parts(sql, MYSQL), ["select 'a;b'", "insert into \"t;\" values (N'x')"]);
        assert_eq!(parts("BEGIN; create table t (i int); COMMIT", Dialect::Unknown).len(), 3);
        assert_eq!(split(" select 1 ;; ", MYSQL).unwrap()[0].start, 1);
        for nothing in ["", " ; ", "-- ping", "/* x */;"] {
            assert_eq!(parts(nothing, Dialect::POSTGRES), Vec::<&str>::new(), "{nothing}");
        }
    }

    #[test]
    fn what_some_read_otherwise_stays_in_one_piece() {
        for sql in [
            r"select '\'; drop table t; --'",
            "select `a;b`",
            "select [a;b] from t",
            "select 1 # ;\n",
            "select $$;$$",
            "select E'\\';'",
            "select q'[it's; ]'",
            "select 1 /* /* */; select 2 -- */",
            "/*! select 1; */ select 2",
            "select 1--1; select 2",
            "select 1 -- x\r; select 2",
            "select 'never closed; select 1",
            "select 'a'';b",
            "create trigger t after insert on a begin update b set i = 1; update c set i = 2; end",
            "create function f() returns int begin atomic select 1; select 2; end",
            "begin not atomic select 1; select 2; end",
            "begin insert into t values (1); end;",
            "declare x int; begin x := 1; end",
            "create rule r as on insert to t do (delete from u; delete from v)",
        ] {
            assert_eq!(parts(sql, MYSQL), [sql.trim_end_matches([';', ' ', '\n'])], "{sql}");
        }
        assert!(split("select `a;b`", Dialect::Unknown).is_err());
        assert_eq!(parts("select 'a;b'", Dialect::Unknown), ["select 'a;b'"]);
        assert_eq!(parts("/*! select 1 */", MYSQL), ["/*! select 1 */"]);
    }

    proptest::proptest! {
        #[test]
        fn any_string_is_cut_or_not(sql in r#"(select|begin|;| |'|"|`|--|/\*|\*/|\n|\\|é|q|\$){0,12}"#) {
            let _ = split(&sql, MYSQL);
            let _ = split(&sql, Dialect::Unknown);
        }
    }
}
