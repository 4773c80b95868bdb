//! Whether a semicolon ends the statement that is being read.

use crate::{Dialect, Token, TokenKind};

/// What the tokens of a statement have opened so far.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    /// All of the rest belongs to it.
    Rest,
    DuckDb(PythonFunction),
    Postgres(Postgres),
    Sqlite(Sqlite),
    MySql(MySql),
}

impl Body {
    pub(super) fn new(dialect: Dialect) -> Self {
        match dialect {
            Dialect::DuckDb => Self::DuckDb(PythonFunction::Start),
            Dialect::Postgres { .. } => Self::Postgres(Postgres::default()),
            Dialect::Sqlite => Self::Sqlite(Sqlite::Start),
            Dialect::MySql { .. } => Self::MySql(MySql::Start),
            Dialect::Unknown => Self::Rest,
        }
    }

    /// Whether a semicolon here ends the statement.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::DuckDb(_) => true,
            Self::Rest => false,
            Self::Postgres(state) => state.parentheses == 0 && state.blocks == 0,
            Self::Sqlite(state) => !matches!(state, Sqlite::Trigger | Sqlite::Semicolon),
            Self::MySql(state) => *state != MySql::Body,
        }
    }

    /// Whether the token before opens a body of Python.
    pub(super) fn is_python(&self) -> bool {
        matches!(self, Self::DuckDb(PythonFunction::Body))
    }

    pub(super) fn read(&mut self, token: &Token<'_>) {
        match self {
            Self::Rest => {}
            Self::DuckDb(state) => *state = state.after(token),
            Self::Postgres(state) => state.read(token),
            Self::Sqlite(state) => *state = state.after(token),
            Self::MySql(state) => *state = state.after(token),
        }
    }
}

/// CREATE FUNCTION … ( … ) RETURNS … { body }, and the same with AGGREGATE. DuckDB's CREATE FUNCTION has AS in the
/// place of RETURNS, and may have braces behind it, which are a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum PythonFunction {
    Start,
    Create,
    /// Before and within the list of parameters; how many parentheses are open.
    Parameters(usize),
    /// Directly behind this list.
    Returns,
    /// Behind RETURNS; how many parentheses are open.
    Clauses(usize),
    /// Behind the brace that opens the body.
    Body,
    Other,
}

impl PythonFunction {
    fn after(self, token: &Token<'_>) -> Self {
        match self {
            Self::Start if token.is_word("create") => Self::Create,
            Self::Create if token.is_one_of(&["or", "replace"]) => Self::Create,
            Self::Create if token.is_one_of(&["function", "aggregate"]) => Self::Parameters(0),
            Self::Parameters(1) if token.is_symbol(b')') => Self::Returns,
            Self::Parameters(open) => Self::Parameters(depth(open, token)),
            Self::Returns if token.is_word("returns") => Self::Clauses(0),
            Self::Clauses(0) if token.is_symbol(b'{') => Self::Body,
            Self::Clauses(open) => Self::Clauses(depth(open, token)),
            Self::Body => Self::Clauses(depth(0, token)),
            Self::Start | Self::Create | Self::Returns | Self::Other => Self::Other,
        }
    }
}

/// How many parentheses are open behind a token.
fn depth(open: usize, token: &Token<'_>) -> usize {
    match token.kind {
        TokenKind::Symbol(b'(') => open + 1,
        TokenKind::Symbol(b')') => open.saturating_sub(1),
        _ => open,
    }
}

/// CREATE FUNCTION … BEGIN ATOMIC …; … END, where CASE … END may be nested (PostgreSQL manual, CREATE FUNCTION,
/// `sql_body`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Postgres {
    parentheses: usize,
    /// Of BEGIN ATOMIC and CASE, how many are open.
    blocks: usize,
    head: Head,
    /// Whether the token before makes a name of any word.
    names: bool,
    begins: bool,
}

/// What the words of a statement say so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Head {
    #[default]
    Start,
    Create,
    /// CREATE FUNCTION or CREATE PROCEDURE.
    Routine,
    Other,
}

impl Postgres {
    fn read(&mut self, token: &Token<'_>) {
        self.head = match self.head {
            Head::Start if token.is_word("create") => Head::Create,
            Head::Create if token.is_one_of(&["or", "replace"]) => Head::Create,
            Head::Create if token.is_one_of(&["function", "procedure"]) => Head::Routine,
            Head::Routine => Head::Routine,
            _ => Head::Other,
        };
        if token.is_symbol(b'(') {
            self.parentheses += 1;
        } else if token.is_symbol(b')') {
            self.parentheses = self.parentheses.saturating_sub(1);
        }
        if self.head == Head::Routine && !self.names {
            if self.blocks == 0 && self.begins && token.is_word("atomic") || self.blocks > 0 && token.is_word("case") {
                self.blocks += 1;
            } else if token.is_word("end") {
                self.blocks = self.blocks.saturating_sub(1);
            }
        }
        self.begins = token.is_word("begin") && !self.names;
        self.names = token.is_symbol(b'.') || token.is_word("as");
    }
}

/// CREATE TRIGGER … BEGIN …; … END, as `sqlite3_complete` knows it: the statement goes on until an END between two
/// semicolons.
/// <https://www.sqlite.org/c3ref/complete.html>
#[derive(Clone, Copy, Debug)]
pub(super) enum Sqlite {
    Start,
    Explain,
    Create,
    Trigger,
    /// Within a trigger, behind a semicolon.
    Semicolon,
    /// Within a trigger, behind a semicolon and END.
    End,
    Other,
}

impl Sqlite {
    fn after(self, token: &Token<'_>) -> Self {
        match self {
            Self::Start if token.is_word("explain") => Self::Explain,
            Self::Start | Self::Explain if token.is_word("create") => Self::Create,
            Self::Explain if !token.is_one_of(&["explain", "temp", "temporary", "trigger", "end"]) => Self::Explain,
            Self::Create if token.is_one_of(&["temp", "temporary"]) => Self::Create,
            Self::Create if token.is_word("trigger") => Self::Trigger,
            Self::Semicolon if token.is_word("end") => Self::End,
            Self::Trigger | Self::Semicolon | Self::End if token.is_symbol(b';') => Self::Semicolon,
            Self::Trigger | Self::Semicolon | Self::End => Self::Trigger,
            Self::Start | Self::Explain | Self::Create | Self::Other => Self::Other,
        }
    }
}

/// Statements that may hold others: CREATE of a routine, a trigger, an event or a package, and MariaDB's compound
/// statements outside of them, <https://mariadb.com/kb/en/using-compound-statements-outside-of-stored-programs/>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MySql {
    Start,
    Create,
    Begin,
    Body,
    Other,
}

impl MySql {
    fn after(self, token: &Token<'_>) -> Self {
        const STORED: [&str; 5] = ["procedure", "function", "trigger", "event", "package"];
        /// What CREATE has no body with, behind words such as OR REPLACE and TEMPORARY.
        const PLAIN: [&str; 14] = [
            "table",
            "view",
            "index",
            "unique",
            "fulltext",
            "spatial",
            "database",
            "schema",
            "user",
            "role",
            "server",
            "sequence",
            "tablespace",
            "logfile",
        ];
        const COMPOUND: [&str; 7] = ["if", "case", "loop", "repeat", "while", "for", "declare"];
        match self {
            Self::Start if token.is_word("create") => Self::Create,
            Self::Start if token.is_word("begin") => Self::Begin,
            Self::Start if token.is_one_of(&COMPOUND) => Self::Body,
            Self::Create if token.is_one_of(&STORED) => Self::Body,
            Self::Create if !token.is_one_of(&PLAIN) => Self::Create,
            Self::Begin if token.is_word("not") => Self::Body,
            Self::Body => Self::Body,
            _ => Self::Other,
        }
    }
}
