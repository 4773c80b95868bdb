//! What a query string asks for: its statements, what each is, and the tag that reports it done.

use crate::lex::{Kind, Lexer, Token};
use crate::session::settings;

/// One statement of a query string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement<'a> {
    /// Its text, without the semicolon and without what surrounds it.
    pub text: &'a str,
    /// Where it starts in the query string, in bytes.
    pub start: usize,
}

/// What the session itself must know of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatementKind {
    /// BEGIN or START TRANSACTION.
    Begin,
    /// COMMIT or END.
    Commit,
    /// ROLLBACK or ABORT.
    Rollback,
    /// COPY; see [`crate::copy::Copy`].
    Copy,
    /// DEALLOCATE of all prepared statements, or of the named one; DISCARD ALL too.
    Deallocate,
    /// SAVEPOINT, RELEASE or ROLLBACK TO.
    Savepoint,
    /// SET, RESET or SHOW of a setting of PostgreSQL's; see [`crate::session::settings`].
    Setting,
    /// DISCARD or UNLISTEN of something that the session does not have.
    Discard,
    /// LISTEN or NOTIFY.
    Notification,
    /// DECLARE, FETCH, MOVE or CLOSE of a cursor; see `declared`.
    Cursor,
    /// Cannot run beside others in one transaction.
    Alone,
    /// Anything else is the engine's business.
    #[default]
    Other,
}

impl StatementKind {
    /// Whether it can run beside others in a transaction that nobody has asked for by name.
    pub fn is_ordinary(self) -> bool {
        matches!(self, Self::Other | Self::Copy | Self::Cursor)
    }
}

/// The statements of a query string. Empty ones (nothing, or comments alone) are left out.
pub fn split(sql: &str) -> Vec<Statement<'_>> {
    let mut statements = Vec::new();
    let mut span: Option<(usize, usize)> = None;
    for token in Lexer::new(sql) {
        if token.kind == Kind::Symbol(b';') {
            statements.extend(span.take().map(|(start, end)| Statement { text: &sql[start..end], start }));
        } else {
            span = Some((span.map_or(token.start, |(start, _)| start), token.end()));
        }
    }
    statements.extend(span.map(|(start, end)| Statement { text: &sql[start..end], start }));
    statements
}

/// What a statement is, by its first words.
pub fn kind(statement: &str) -> StatementKind {
    let words = words(statement);
    let first = words.first().map_or("", String::as_str);
    let second = words.get(1).map_or("", String::as_str);
    match first {
        "BEGIN" => StatementKind::Begin,
        "START" if second == "TRANSACTION" => StatementKind::Begin,
        "COMMIT" | "END" => StatementKind::Commit,
        "ROLLBACK" if words.get(1..).unwrap_or_default().iter().all(|word| word != "TO") => StatementKind::Rollback,
        "ROLLBACK" | "SAVEPOINT" | "RELEASE" => StatementKind::Savepoint,
        "ABORT" => StatementKind::Rollback,
        "COPY" => StatementKind::Copy,
        "DEALLOCATE" => StatementKind::Deallocate,
        "DISCARD" if second == "ALL" => StatementKind::Deallocate,
        "DISCARD" | "UNLISTEN" => StatementKind::Discard,
        "LISTEN" | "NOTIFY" => StatementKind::Notification,
        "DECLARE" | "FETCH" | "MOVE" | "CLOSE" => StatementKind::Cursor,
        "SET" | "RESET" | "SHOW" if settings::command(statement).is_some() => StatementKind::Setting,
        "ATTACH" | "DETACH" | "CHECKPOINT" | "VACUUM" | "EXPORT" | "IMPORT" | "USE" | "SET" | "RESET" | "PRAGMA"
        | "INSTALL" | "LOAD" | "FORCE" => StatementKind::Alone,
        _ => StatementKind::Other,
    }
}

/// The command tag of a finished statement, as PostgreSQL words it (protocol, CommandComplete).
///
/// `rows` is the number of rows sent, if the statement gave any; `changed` the number of rows it changed.
pub fn tag(statement: &str, rows: Option<u64>, changed: Option<u64>) -> String {
    let words = words(statement);
    let first = words.first().map_or("", String::as_str);
    let count = changed.or(rows);
    match (first, count) {
        ("INSERT", Some(count)) => format!("INSERT 0 {count}"),
        ("UPDATE" | "DELETE" | "MERGE" | "COPY", Some(count)) => format!("{first} {count}"),
        ("TRUNCATE", _) => "TRUNCATE TABLE".to_owned(),
        ("SHOW" | "EXPLAIN" | "CALL" | "PRAGMA", _) => first.to_owned(),
        ("CREATE", Some(count)) if words.iter().any(|word| word == "AS") => format!("SELECT {count}"),
        ("CREATE" | "DROP" | "ALTER", _) => {
            let object = words.iter().skip(1).find(|word| !MODIFIERS.contains(&word.as_str()));
            object.map_or_else(|| first.to_owned(), |object| format!("{first} {object}"))
        }
        ("DISCARD", _) => words.join(" "),
        ("DEALLOCATE", _) if words.last().is_some_and(|word| word == "ALL") => "DEALLOCATE ALL".to_owned(),
        ("START", _) => "BEGIN".to_owned(),
        ("END", _) => "COMMIT".to_owned(),
        ("ABORT", _) => "ROLLBACK".to_owned(),
        ("USE", _) => "SET".to_owned(),
        _ => rows.map_or_else(|| first.to_owned(), |rows| format!("SELECT {rows}")),
    }
}

/// Whether a statement is a DISCARD.
pub fn is_discard(statement: &str) -> bool {
    Lexer::new(statement).next().is_some_and(|token| token.is_word("DISCARD"))
}

/// The name in `DEALLOCATE [PREPARE] name`; `None` for ALL.
pub fn deallocated(statement: &str) -> Option<String> {
    let last = Lexer::new(statement).last()?;
    (!last.is_word("ALL")).then(|| last.value())
}

/// Words between CREATE and the kind of thing that is created.
const MODIFIERS: [&str; 7] = ["OR", "REPLACE", "TEMP", "TEMPORARY", "UNIQUE", "PERSISTENT", "RECURSIVE"];

/// How many leading words of a statement are looked at: `CREATE OR REPLACE TEMP TABLE a.b AS`.
const LOOK: usize = 12;

fn words(statement: &str) -> Vec<String> {
    let is_word = |token: &Token<'_>| token.kind == Kind::Word;
    Lexer::new(statement).take(LOOK).filter(is_word).map(|token| token.text.to_ascii_uppercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_at_semicolons_outside_quotes() {
        let sql = " select ';' ; -- nothing ;\n ; select $$;$$/*;*/ ";
        let found: Vec<_> = split(sql).iter().map(|s| (s.text, s.start)).collect();
        assert_eq!(found, [("select ';'", 1), ("select $$;$$", 30)]);
        assert_eq!(split(" ;; -- x"), []);
        assert_eq!(&sql[30..36], "select");
    }

    #[test]
    fn knows_transaction_statements() {
        assert_eq!(kind("begin"), StatementKind::Begin);
        assert_eq!(kind("Start Transaction"), StatementKind::Begin);
        assert_eq!(kind("end"), StatementKind::Commit);
        assert_eq!(kind("/* x */ rollback work"), StatementKind::Rollback);
        assert_eq!(kind("rollback to savepoint x"), StatementKind::Savepoint);
        assert_eq!(kind("copy t to stdout"), StatementKind::Copy);
        assert_eq!(kind("select 'begin'"), StatementKind::Other);
        assert_eq!(kind("deallocate all"), StatementKind::Deallocate);
        assert_eq!((kind("listen a"), kind("unlisten *")), (StatementKind::Notification, StatementKind::Discard));
        assert_eq!(deallocated("deallocate all"), None);
        assert_eq!(deallocated("DEALLOCATE PREPARE \"Mine\"").as_deref(), Some("Mine"));
    }

    #[test]
    fn tags_are_postgresqls() {
        assert_eq!(tag("insert into t values (1)", None, Some(1)), "INSERT 0 1");
        assert_eq!(tag("insert into t values (1) returning i", Some(1), None), "INSERT 0 1");
        assert_eq!(tag("update t set i = 1", None, Some(7)), "UPDATE 7");
        assert_eq!(tag("create or replace temp table t (i int)", None, None), "CREATE TABLE");
        assert_eq!(tag("create table t as select 1", None, Some(1)), "SELECT 1");
        assert_eq!(tag("with a as (select 1) from a", Some(3), None), "SELECT 3");
        assert_eq!(tag("(select 1)", Some(1), None), "SELECT 1");
        assert_eq!(tag("set threads = 2", None, None), "SET");
        assert_eq!(tag("deallocate all", None, None), "DEALLOCATE ALL");
        assert_eq!(tag("deallocate x", None, None), "DEALLOCATE");
        assert_eq!(tag("show tables", Some(2), None), "SHOW");
        assert_eq!(tag("copy t to 'x.csv'", None, Some(4)), "COPY 4");
    }
}
