//! Splits a query string into statements, classifies them, and makes their command tags.
//!
//! A tag comes from the kind that is read here. DuckDB's type of a statement distinguishes neither CREATE TABLE from
//! CREATE VIEW nor SHOW from SELECT. `tests/sql/` compares the kinds with both parsers, and the tags with PostgreSQL's.

use colonnade_sql::certain;
use colonnade_sql::split::{Span, split};
use colonnade_sql::statement::{CursorStatement, NotificationStatement, Savepoint};
use colonnade_sql::{Dialect, Statement, StatementKind, code};

use super::settings;
use crate::engine::{EngineError, EngineSession};
use crate::error::{Failure, SqlState};

/// The most statements of a query string. All of them are read before the first one runs.
const MAX_STATEMENTS: usize = 100_000;

/// The statements of a query string, without empty ones. A string for a source is split only if all databases would
/// split it in the same places. Otherwise it is one statement, and the source refuses it if it has several.
///
/// # Errors
/// If the string may have several statements, and the source might run only the first one.
pub fn statements<'a>(sql: &'a str, engine: &dyn EngineSession) -> Result<Vec<Statement<'a>>, Failure> {
    let dialect = engine.dialect();
    let spans: Vec<Span<'_>> = match engine.source() {
        None => split(sql, dialect).take(MAX_STATEMENTS + 1).collect(),
        Some(source) => match certain::split(sql) {
            Ok(spans) => spans,
            Err(_) if source != Dialect::Unknown => certain::whole(sql).into_iter().collect(),
            Err(_) => {
                let message = "cannot tell where the statements of this source's SQL end";
                let hint = Some("Send one statement at a time, without a semicolon in it.".to_owned());
                return Err(EngineError { hint, ..EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, message) }.into());
            }
        },
    };
    if spans.len() > MAX_STATEMENTS {
        let message = format!("a query string can have at most {MAX_STATEMENTS} statements");
        return Err(EngineError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message).into());
    }
    Ok(spans.into_iter().map(|span| Statement::read(span, dialect)).collect())
}

/// Whether the engine runs a statement of this kind without changes. `source` is the dialect of the source, if the
/// engine is one.
pub fn runs_on_engine(kind: &StatementKind, source: Option<Dialect>) -> bool {
    match kind {
        StatementKind::Query { .. }
        | StatementKind::Insert
        | StatementKind::Update
        | StatementKind::Delete
        | StatementKind::Merge
        | StatementKind::CreateTable(_)
        | StatementKind::Define { .. }
        | StatementKind::Prepare
        | StatementKind::Explain { .. }
        | StatementKind::ExplainInputs(_)
        | StatementKind::Other(_) => true,
        StatementKind::Set(_)
        | StatementKind::Reset(_)
        | StatementKind::Show(_)
        | StatementKind::SetTransaction { .. } => settings::session_command(kind, source).is_none(),
        // One of another setting is an ordinary call.
        StatementKind::SetConfig(config) => source.is_some() || !settings::is_known(&config.name),
        // A source's notifications would not arrive.
        StatementKind::Notification(Ok(NotificationStatement::Listen(_))) => false,
        StatementKind::Savepoint(_) | StatementKind::Notification(_) | StatementKind::SetConstraints { .. } => {
            source.is_some()
        }
        StatementKind::Discard(what) => what != "ALL" && source.is_some(),
        // Of the sources, only PostgreSQL has SQL's cursors. For the others, the session has them.
        StatementKind::Cursor(_) => source.is_some_and(Dialect::is_postgres),
        // The session starts it like a statement of the engine.
        StatementKind::Spool(_) => true,
        StatementKind::Copy(_) | StatementKind::Deallocate(_) => false,
        StatementKind::CreateFunction(_) | StatementKind::DropFunction(_) | StatementKind::CommentOnFunction(_) => {
            false
        }
        StatementKind::Begin(_)
        | StatementKind::Start(_)
        | StatementKind::Commit { .. }
        | StatementKind::Rollback { .. } => false,
    }
}

/// The request of a statement about cursors; `None` for other statements.
///
/// # Errors
/// If it is invalid, or needs a cursor in binary.
pub fn cursor_request(kind: &StatementKind) -> Result<Option<&CursorStatement>, Failure> {
    let StatementKind::Cursor(request) = kind else { return Ok(None) };
    match request.as_ref().map_err(Clone::clone)? {
        CursorStatement::Declare { is_binary: true, .. } => Err(Failure::NotSupported("a BINARY cursor")),
        request => Ok(Some(request)),
    }
}

/// Whether a statement can run with others in a transaction that the session begins.
pub fn may_share_transaction(kind: &StatementKind, source: Option<Dialect>) -> bool {
    match kind {
        StatementKind::Copy(_) | StatementKind::Cursor(_) | StatementKind::SetConstraints { .. } => true,
        StatementKind::Notification(_) => true,
        StatementKind::CreateFunction(_) | StatementKind::DropFunction(_) | StatementKind::CommentOnFunction(_) => true,
        StatementKind::Set(_) | StatementKind::Reset(_) if settings::command(kind).is_none() => false,
        StatementKind::Other(word) if runs_alone(word) => false,
        _ => runs_on_engine(kind, source),
    }
}

/// Whether a statement with this first word changes the session or the transaction, or must not be in one.
fn runs_alone(word: &str) -> bool {
    matches!(word, "ATTACH" | "DETACH" | "CHECKPOINT" | "VACUUM" | "EXPORT" | "IMPORT" | "USE" | "SET" | "RESET")
        || matches!(word, "PRAGMA" | "INSTALL" | "LOAD" | "FORCE" | "PREPARE" | "COMMIT" | "ROLLBACK")
}

/// Whether a statement of this kind certainly writes nothing.
pub fn reads_only(kind: &StatementKind) -> bool {
    match kind {
        StatementKind::Query { has_with } => !has_with,
        StatementKind::Explain { runs } => !runs,
        StatementKind::Show(_) => true,
        StatementKind::Other(word) => word == "SHOW" || word == "DESCRIBE",
        _ => false,
    }
}

/// Whether a statement may give rows of what it changes. Its changes must not stay if these rows cannot be sent.
pub fn may_return_changes(kind: &StatementKind, text: &str, dialect: Dialect) -> bool {
    match kind {
        // The statement that it executes is not known here.
        StatementKind::Other(word) if word == "EXECUTE" => true,
        kind => !reads_only(kind) && code(text, dialect).any(|token| token.is_word("returning")),
    }
}

/// PostgreSQL's command tag of a finished statement (protocol, CommandComplete).
///
/// `rows` is the number of sent rows, if the statement gives rows. `changed` is the number of changed rows.
pub fn tag(kind: &StatementKind, rows: Option<u64>, changed: Option<u64>) -> String {
    let counted = |word: &str| match changed.or(rows) {
        Some(count) => format!("{word} {count}"),
        None => word.to_owned(),
    };
    let selected = |word: &str| rows.map_or_else(|| word.to_owned(), |rows| format!("SELECT {rows}"));
    match kind {
        // SELECT … INTO gives no rows, but its tag has their number.
        StatementKind::Query { .. } | StatementKind::SetConfig(_) | StatementKind::Spool(_) => counted("SELECT"),
        StatementKind::Insert => {
            changed.or(rows).map_or_else(|| "INSERT".to_owned(), |count| format!("INSERT 0 {count}"))
        }
        StatementKind::Update => counted("UPDATE"),
        StatementKind::Delete => counted("DELETE"),
        StatementKind::Merge => counted("MERGE"),
        StatementKind::Copy(_) => counted("COPY"),
        StatementKind::Set(_) | StatementKind::SetTransaction { .. } => "SET".to_owned(),
        StatementKind::SetConstraints { .. } => "SET CONSTRAINTS".to_owned(),
        StatementKind::Reset(_) => "RESET".to_owned(),
        StatementKind::Show(_) => "SHOW".to_owned(),
        StatementKind::Explain { .. } | StatementKind::ExplainInputs(_) => "EXPLAIN".to_owned(),
        StatementKind::Begin(_) => "BEGIN".to_owned(),
        StatementKind::Start(_) => "START TRANSACTION".to_owned(),
        StatementKind::Commit { .. } => "COMMIT".to_owned(),
        StatementKind::Rollback { .. } => "ROLLBACK".to_owned(),
        StatementKind::CreateTable(_) => "CREATE TABLE".to_owned(),
        StatementKind::CreateFunction(function) => match function.as_ref() {
            Ok(function) if function.is_aggregate => "CREATE AGGREGATE".to_owned(),
            _ => "CREATE FUNCTION".to_owned(),
        },
        StatementKind::DropFunction(Ok(dropped)) if dropped.is_aggregate => "DROP AGGREGATE".to_owned(),
        StatementKind::DropFunction(_) => "DROP FUNCTION".to_owned(),
        StatementKind::CommentOnFunction(_) => "COMMENT".to_owned(),
        StatementKind::Define { verb, has_query: true, .. } if verb == "CREATE" && changed.or(rows).is_some() => {
            format!("SELECT {}", changed.or(rows).unwrap_or_default())
        }
        StatementKind::Define { verb, object, .. } => format!("{verb} {object}").trim_end().to_owned(),
        StatementKind::Prepare => "PREPARE".to_owned(),
        StatementKind::Deallocate(None) => "DEALLOCATE ALL".to_owned(),
        StatementKind::Deallocate(Some(_)) => "DEALLOCATE".to_owned(),
        StatementKind::Discard(what) => format!("DISCARD {what}").trim_end().to_owned(),
        StatementKind::Other(word) => match word.as_str() {
            "TRUNCATE" => "TRUNCATE TABLE".to_owned(),
            "SHOW" | "CALL" | "PRAGMA" | "CHECKPOINT" => word.clone(),
            "LOCK" => "LOCK TABLE".to_owned(),
            "REFRESH" => "REFRESH MATERIALIZED VIEW".to_owned(),
            "USE" => "SET".to_owned(),
            "COMMIT" | "ROLLBACK" => format!("{word} PREPARED"),
            "PREPARE" => "PREPARE TRANSACTION".to_owned(),
            word => selected(word),
        },
        StatementKind::Savepoint(savepoint) => match savepoint {
            Savepoint::Set(_) => "SAVEPOINT".to_owned(),
            Savepoint::Release(_) => "RELEASE".to_owned(),
            Savepoint::RollBackTo(_) => "ROLLBACK".to_owned(),
        },
        StatementKind::Cursor(Ok(CursorStatement::Fetch { is_move: true, .. })) => counted("MOVE"),
        StatementKind::Cursor(Ok(CursorStatement::Fetch { .. }) | Err(_)) => counted("FETCH"),
        StatementKind::Cursor(Ok(CursorStatement::Declare { .. })) => "DECLARE CURSOR".to_owned(),
        StatementKind::Cursor(Ok(CursorStatement::Close(Some(_)))) => "CLOSE CURSOR".to_owned(),
        StatementKind::Cursor(Ok(CursorStatement::Close(None))) => "CLOSE CURSOR ALL".to_owned(),
        StatementKind::Notification(Ok(NotificationStatement::Listen(_))) => "LISTEN".to_owned(),
        StatementKind::Notification(Ok(NotificationStatement::Unlisten(_))) => "UNLISTEN".to_owned(),
        StatementKind::Notification(_) => "NOTIFY".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(sql: &str) -> StatementKind {
        Statement::of(sql, Dialect::POSTGRES).kind
    }

    #[test]
    fn statements_about_the_connection_do_not_run_on_the_source() {
        for (statement, expected) in [
            ("SET extra_float_digits = 3", false),
            ("show server_version", false),
            ("SET search_path = a", true),
            ("SET TRANSACTION READ ONLY", true),
            ("SHOW ALL", true),
            ("rollback to a", true),
            ("fetch c", true),
            ("rollback", false),
        ] {
            assert_eq!(runs_on_engine(&kind(statement), Some(Dialect::POSTGRES)), expected, "{statement}");
        }
        assert!(runs_on_engine(&kind("set threads = 1"), None));
        let may_share_transaction = |sql: &str| super::may_share_transaction(&kind(sql), None);
        assert!(
            ["select 1", "copy t to stdout", "create table t (i serial)", "show tables"]
                .into_iter()
                .all(may_share_transaction)
        );
        assert!(
            !["set threads = 1", "use x", "begin", "set datestyle = 'iso'", "savepoint a", "commit prepared 'x'"]
                .into_iter()
                .any(may_share_transaction)
        );
    }

    #[test]
    fn tags_are_postgresqls() {
        for (sql, rows, changed, expected) in [
            ("insert into t values (1)", None, Some(1), "INSERT 0 1"),
            ("insert into t values (1) returning i", Some(1), None, "INSERT 0 1"),
            ("with a as (select 1) insert into t from a", None, Some(2), "INSERT 0 2"),
            ("update t set i = 1", None, Some(7), "UPDATE 7"),
            ("create or replace temp table t (i int)", None, None, "CREATE TABLE"),
            ("create view v as select 1", None, None, "CREATE VIEW"),
            ("create table t as select 1", None, Some(1), "SELECT 1"),
            ("with a as (select 1) from a", Some(3), None, "SELECT 3"),
            ("(select 1)", Some(1), None, "SELECT 1"),
            ("summarize t", Some(1), None, "SELECT 1"),
            ("set threads = 2", None, None, "SET"),
            ("deallocate all", None, None, "DEALLOCATE ALL"),
            ("deallocate x", None, None, "DEALLOCATE"),
            ("discard plans", None, None, "DISCARD PLANS"),
            ("listen a", None, None, "LISTEN"),
            ("notify a, 'b'", None, None, "NOTIFY"),
            ("unlisten a", None, None, "UNLISTEN"),
            ("prepare transaction 'x'", None, None, "PREPARE TRANSACTION"),
            ("prepare transaction as select 1", None, None, "PREPARE"),
            ("commit prepared 'x'", None, None, "COMMIT PREPARED"),
            ("with recursive as (select 1) delete from t", None, Some(3), "DELETE 3"),
            ("show tables", Some(2), None, "SHOW"),
            ("show all tables", Some(2), None, "SHOW"),
            ("copy t to 'x.csv'", None, Some(4), "COPY 4"),
            ("truncate t", None, Some(4), "TRUNCATE TABLE"),
        ] {
            assert_eq!(tag(&kind(sql), rows, changed), expected, "{sql}");
        }
    }

    #[test]
    fn statements_about_cursors_are_checked() {
        for (statement, code) in [
            ("declare c binary cursor for select 1", "0A000"),
            ("declare c cursor for insert into t values (1)", "42601"),
            ("declare c cursor", "42601"),
            ("declare c no cursor for select 1", "42601"),
            ("fetch absolute from c", "42601"),
            ("fetch relative x from c", "42601"),
            ("fetch 9223372036854775808 from c", "42601"),
            ("fetch - from c", "42601"),
            ("fetch 1 from", "42601"),
            ("fetch 1.5 from c", "42601"),
            ("close", "42601"),
            ("close a b", "42601"),
        ] {
            assert_eq!(cursor_request(&kind(statement)).unwrap_err().code().as_str(), code, "{statement}");
        }
        for statement in ["fetch 2 from c", "fetch -9223372036854775807 c", "declare c scroll cursor for select 1"] {
            assert!(cursor_request(&kind(statement)).unwrap().is_some(), "{statement}");
        }
    }
}
