//! What a statement is, read once when it arrives.
//!
//! A statement is read as far as its kind needs it: a query to its first word, SET and COPY to their end. What is read
//! is the grammar that PostgreSQL's clients share; which settings, options and types there are is the caller's matter.
//! No token is kept: a statement may be megabytes long, and its tokens several times that.

mod copy;
mod create_table;
mod cursor;
mod explain;
mod function;
mod notification;
mod parser;
mod setting;
mod spool;

use crate::split::Span;
use crate::{Dialect, Token, TokenKind};

pub use copy::{CopyOption, CopySource, CopyStatement, OptionValue};
pub use create_table::{CreateTable, NumberedColumn, Numbering};
pub use cursor::{CursorStatement, FetchDirection};
pub use explain::{ExplainInputs, InputSample};
pub use function::{
    BodyQuoting, CommentOnFunction, CreateFunction, DropFunction, DroppedFunction, FunctionBody, FunctionLanguage,
    FunctionName, FunctionParameter, FunctionResult, FunctionSyntaxError, ParallelSafety, Volatility,
};
pub use notification::NotificationStatement;
use parser::Parser;
pub use parser::SyntaxError;
pub use setting::{IsolationLevel, Modes, Set, SetConfig};
pub use spool::{Argument, PartSource, SpoolStatement};

/// A statement of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement<'a> {
    /// Without the semicolon that ends it, and without what surrounds it.
    pub text: &'a str,
    /// Where it starts in the text, in bytes.
    pub start: usize,
    /// What it is.
    pub kind: StatementKind,
}

/// What a statement is. Words are in upper case, names as PostgreSQL folds them, places are bytes of the statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// SELECT, VALUES, TABLE, FROM, or a parenthesis.
    Query {
        /// Whether WITH stands in front, whose queries may change something.
        has_with: bool,
    },
    /// SELECT * FROM colonnade_spool(…) or colonnade_release(…).
    Spool(Result<SpoolStatement, SyntaxError>),
    /// INSERT, like the next three also behind WITH.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// MERGE.
    Merge,
    /// COPY.
    Copy(Result<CopyStatement, SyntaxError>),
    /// DECLARE, FETCH, MOVE or CLOSE.
    Cursor(Result<CursorStatement, SyntaxError>),
    /// SET of a setting.
    Set(Set),
    /// SELECT set_config(…).
    SetConfig(SetConfig),
    /// RESET of a setting, or of all.
    Reset(Option<String>),
    /// SHOW of a setting, or of all.
    Show(Option<String>),
    /// SET TRANSACTION or SET SESSION CHARACTERISTICS.
    SetTransaction {
        /// What it sets.
        modes: Modes,
        /// SET SESSION CHARACTERISTICS: for the session's next transactions.
        are_defaults: bool,
    },
    /// SET CONSTRAINTS.
    SetConstraints {
        /// Whether it says ALL, and no names.
        are_all: bool,
    },
    /// BEGIN.
    Begin(Modes),
    /// START TRANSACTION, which differs from BEGIN in its tag.
    Start(Modes),
    /// COMMIT or END.
    Commit {
        /// Whether it says AND CHAIN, which begins the next transaction.
        chains: bool,
    },
    /// ROLLBACK or ABORT.
    Rollback {
        /// The same.
        chains: bool,
    },
    /// SAVEPOINT, RELEASE or ROLLBACK TO.
    Savepoint(Savepoint),
    /// CREATE TABLE with a list of columns.
    CreateTable(CreateTable),
    /// CREATE FUNCTION or CREATE AGGREGATE in Python. This and the next two are read in DuckDB's dialect only, which is
    /// the server's.
    CreateFunction(Box<Result<CreateFunction, FunctionSyntaxError>>),
    /// DROP FUNCTION or DROP AGGREGATE.
    DropFunction(Result<DropFunction, FunctionSyntaxError>),
    /// COMMENT ON FUNCTION, AGGREGATE or MACRO.
    CommentOnFunction(CommentOnFunction),
    /// CREATE, DROP or ALTER of anything else.
    Define {
        /// CREATE, DROP or ALTER.
        verb: String,
        /// The kind of thing: TABLE, VIEW.
        object: String,
        /// Whether a query may fill it: AS is one of its first words.
        has_query: bool,
    },
    /// PREPARE.
    Prepare,
    /// DEALLOCATE of a prepared statement, or of all.
    Deallocate(Option<String>),
    /// DISCARD, and of what: ALL.
    Discard(String),
    /// LISTEN, NOTIFY or UNLISTEN.
    Notification(Result<NotificationStatement, SyntaxError>),
    /// EXPLAIN.
    Explain {
        /// Whether the statement runs: ANALYZE.
        runs: bool,
    },
    /// EXPLAIN (INPUTS …), in the dialect with functions in Python.
    ExplainInputs(Result<ExplainInputs, SyntaxError>),
    /// Anything else, by its first word; empty if it begins with something else.
    Other(String),
}

/// A statement about a savepoint, with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Savepoint {
    /// SAVEPOINT.
    Set(String),
    /// RELEASE.
    Release(String),
    /// ROLLBACK TO.
    RollBackTo(String),
}

impl Default for StatementKind {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl<'a> Statement<'a> {
    /// Reads a statement that was cut out of a text.
    pub fn read(span: Span<'a>, dialect: Dialect) -> Self {
        Self { text: span.text, start: span.start, kind: kind(span.text, dialect) }
    }

    /// The name of the statement that a PREPARE makes.
    pub fn prepared_name(&self, dialect: Dialect) -> Option<String> {
        let is_prepare = self.kind == StatementKind::Prepare;
        is_prepare.then(|| Parser::new(self.text, dialect)).and_then(|mut parser| {
            parser.take();
            parser.name().map(|name| name.folded().into_owned())
        })
    }

    /// Reads a text that is one statement.
    pub fn of(text: &'a str, dialect: Dialect) -> Self {
        Self::read(Span { text, start: 0 }, dialect)
    }
}

/// Words between CREATE and the kind of thing that is created.
const MODIFIERS: [&str; 8] = ["or", "replace", "temp", "temporary", "unique", "persistent", "recursive", "unlogged"];
/// Words that begin the name of a kind of thing: MATERIALIZED VIEW.
const QUALIFIERS: [&str; 4] = ["materialized", "foreign", "event", "access"];
/// In how many of its first tokens a definition has its AS: `CREATE OR REPLACE TEMP TABLE a.b AS`.
const HEAD: usize = 12;

fn kind(text: &str, dialect: Dialect) -> StatementKind {
    let mut parser = Parser::new(text, dialect);
    let Some(first) = parser.take() else { return StatementKind::default() };
    let word = upper(&first);
    match word.as_str() {
        "" if first.is_symbol(b'(') => StatementKind::Query { has_with: false },
        "SELECT" | "FROM" => match (word == "SELECT").then(|| setting::set_config(parser.clone())).flatten() {
            Some(config) => StatementKind::SetConfig(config),
            None => spool::read(parser, word == "SELECT")
                .map_or(StatementKind::Query { has_with: false }, StatementKind::Spool),
        },
        "VALUES" | "TABLE" => StatementKind::Query { has_with: false },
        "WITH" => behind_with(parser),
        "INSERT" => StatementKind::Insert,
        "UPDATE" => StatementKind::Update,
        "DELETE" => StatementKind::Delete,
        "MERGE" => StatementKind::Merge,
        "COPY" => StatementKind::Copy(copy::read(parser, text, dialect)),
        "DECLARE" | "FETCH" | "MOVE" | "CLOSE" => StatementKind::Cursor(cursor::read(parser, &word)),
        "SET" => setting::set(parser).unwrap_or(StatementKind::Other(word)),
        "RESET" => setting::reset(parser).unwrap_or(StatementKind::Other(word)),
        "SHOW" => setting::show(parser).unwrap_or(StatementKind::Other(word)),
        "START" if !parser.is_next("transaction") => StatementKind::Other(word),
        "BEGIN" => StatementKind::Begin(setting::modes(parser)),
        "START" => StatementKind::Start(setting::modes(parser)),
        // COMMIT PREPARED and ROLLBACK PREPARED end no transaction of the session.
        "COMMIT" | "ROLLBACK" if parser.is_next("prepared") => StatementKind::Other(word),
        "COMMIT" | "END" => StatementKind::Commit { chains: setting::chains(parser) },
        "ROLLBACK" => match parser.clone().take_while_some().take(HEAD).any(|token| token.is_word("to")) {
            true => StatementKind::Savepoint(Savepoint::RollBackTo(parser.last_name())),
            false => StatementKind::Rollback { chains: setting::chains(parser) },
        },
        "ABORT" => StatementKind::Rollback { chains: setting::chains(parser) },
        "SAVEPOINT" => StatementKind::Savepoint(Savepoint::Set(parser.last_name())),
        "RELEASE" => StatementKind::Savepoint(Savepoint::Release(parser.last_name())),
        "CREATE" => create_table::read(parser.clone())
            .map(StatementKind::CreateTable)
            .or_else(|| python(&parser, function::create).map(Box::new).map(StatementKind::CreateFunction))
            .unwrap_or_else(|| definition(word, parser, &MODIFIERS)),
        "DROP" => {
            python(&parser, function::drop).map_or_else(|| definition(word, parser, &[]), StatementKind::DropFunction)
        }
        "ALTER" => definition(word, parser, &[]),
        "COMMENT" => {
            python(&parser, function::comment).map_or(StatementKind::Other(word), StatementKind::CommentOnFunction)
        }
        "PREPARE" if parser.word("transaction") && parser.peek().is_some_and(|next| next.kind == TokenKind::Text) => {
            StatementKind::Other(word)
        }
        "PREPARE" => StatementKind::Prepare,
        "DEALLOCATE" => match parser.take_while_some().last() {
            Some(last) if last.is_word("all") => StatementKind::Deallocate(None),
            last => StatementKind::Deallocate(last.map(|last| last.folded().into_owned())),
        },
        "DISCARD" => StatementKind::Discard(parser.take().map(|what| upper(&what)).unwrap_or_default()),
        "LISTEN" | "NOTIFY" | "UNLISTEN" => StatementKind::Notification(notification::read(parser, &word)),
        "EXPLAIN" => explain::inputs(parser.clone())
            .map_or_else(|| StatementKind::Explain { runs: explain::runs(parser) }, StatementKind::ExplainInputs),
        _ => StatementKind::Other(word),
    }
}

/// Reads a statement about a function in Python, in the dialect that has them.
fn python<'a, T>(parser: &Parser<'a>, read: impl FnOnce(Parser<'a>) -> Option<T>) -> Option<T> {
    (parser.dialect == Dialect::WITH_PYTHON).then(|| read(parser.clone())).flatten()
}

/// A keyword in upper case; empty if it is none. A longer word than any keyword keeps its beginning only.
fn upper(token: &Token<'_>) -> String {
    const LONGEST: usize = 64;
    let word = if token.kind == TokenKind::Word { token.text } else { "" };
    word[..word.floor_char_boundary(LONGEST)].to_ascii_uppercase()
}

fn definition(verb: String, parser: Parser<'_>, modifiers: &[&str]) -> StatementKind {
    let head: Vec<_> = parser.take_while_some().take(HEAD).filter(|token| token.kind == TokenKind::Word).collect();
    let mut words = head.iter().skip_while(|token| token.is_one_of(modifiers));
    let object = match words.next() {
        Some(first) if first.is_one_of(&QUALIFIERS) => {
            format!("{} {}", upper(first), words.next().map(upper).unwrap_or_default())
        }
        first => first.map(upper).unwrap_or_default(),
    };
    let has_query = head.iter().any(|token| token.is_word("as"));
    StatementKind::Define { verb, object, has_query }
}

/// What WITH belongs to: what comes after its queries. A query may be called like a keyword.
fn behind_with(mut parser: Parser<'_>) -> StatementKind {
    let query = StatementKind::Query { has_with: true };
    // The first query may be called `recursive`.
    let mut has_name =
        parser.word("recursive") && parser.peek().is_some_and(|next| next.is_word("as") || next.is_symbol(b'('));
    loop {
        if !std::mem::take(&mut has_name) && parser.name().is_none() || parser.symbol(b'(') && !parser.closes() {
            return query;
        }
        // USING KEY (…) in DuckDB; MATERIALIZED or NOT MATERIALIZED.
        while !parser.symbol(b'(') {
            if parser.take().is_none() {
                return query;
            }
            if parser.is_next("key") {
                parser.take();
                parser.symbol(b'(');
                parser.closes();
            }
        }
        if !parser.closes() {
            return query;
        }
        if !parser.symbol(b',') {
            break;
        }
    }
    match parser.take().map(|verb| upper(&verb)).as_deref() {
        Some("INSERT") => StatementKind::Insert,
        Some("UPDATE") => StatementKind::Update,
        Some("DELETE") => StatementKind::Delete,
        Some("MERGE") => StatementKind::Merge,
        _ => query,
    }
}

#[cfg(test)]
mod tests;
