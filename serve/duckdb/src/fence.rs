//! Decides from a statement's tokens whether a client may send it. Lists by role have the allowed kinds of statements,
//! functions, views and settings. A name of DuckDB's that is not on a list is refused.
//!
//! A second check follows: `serve/colonnade_serve/_duckdb/statement_check.py` refuses a statement if DuckDB's kind of
//! it is none of the kinds that are found here.

mod depth;
mod form;
mod rules;
mod statement;
mod tokens;

use std::borrow::Cow;
use std::collections::HashSet;

use colonnade_sql::{Dialect, Token, TokenKind};

use colonnade_server::{EngineError, SqlState};
use depth::Depth;
pub use form::form;
pub use rules::{Permission, Rules, RulesError, Section};
pub use statement::StatementShape;
pub use tokens::tokens;

/// The rights of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// Whether the user may write.
    pub writes: bool,
    /// Whether the operator allows files.
    pub files: bool,
}

/// Why a statement is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// This user, or every client, may not use something.
    #[error("{0}: not allowed for {who} of this server", who = if *.1 { "clients" } else { "read-only users" })]
    NotAllowed(String, bool),
    /// Text that this server and DuckDB could split into different tokens.
    #[error("{what} at character {}", place + 1)]
    Text {
        /// The problem.
        what: &'static str,
        /// The position, in characters from 0.
        place: usize,
    },
    /// The first word begins no statement.
    #[error("syntax error at or near \"{word}\"")]
    NoSuchStatement {
        /// The word.
        word: String,
        /// The position, in characters from 0.
        place: usize,
    },
    /// An unknown setting.
    #[error("unrecognized configuration parameter \"{0}\"")]
    UnknownSetting(String),
    /// More than one statement where one is expected.
    #[error("cannot tell where one statement ends and the next begins; send one at a time")]
    Several,
    /// EXPLAIN or PREPARE without a statement.
    #[error("{0} needs a statement after it")]
    NoStatement(&'static str),
    /// More bytes than the operator allows.
    #[error("the statement has {bytes} bytes, more than --max-statement-bytes {limit}; split it, or use COPY for rows")]
    Long {
        /// The statement's length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A construct occurs more often than DuckDB's stack, memory or time allow.
    #[error("the statement has more than {limit} {what}; split it, or write parts of it into temporary tables")]
    Deep {
        /// The construct.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

impl Refusal {
    /// The SQLSTATE.
    pub fn code(&self) -> SqlState {
        match self {
            Self::NotAllowed(..) => SqlState::INSUFFICIENT_PRIVILEGE,
            Self::Text { .. } | Self::NoSuchStatement { .. } | Self::Several | Self::NoStatement(_) => {
                SqlState::SYNTAX_ERROR
            }
            Self::UnknownSetting(_) => SqlState::UNDEFINED_OBJECT,
            Self::Long { .. } => SqlState::PROGRAM_LIMIT_EXCEEDED,
            Self::Deep { .. } => SqlState::STATEMENT_TOO_COMPLEX,
        }
    }
}

impl From<Refusal> for EngineError {
    fn from(refusal: Refusal) -> Self {
        Self { position: refusal.position(), ..Self::new(refusal.code(), refusal.to_string()) }
    }
}

impl Refusal {
    /// The position in the statement, in characters from 0.
    pub fn position(&self) -> Option<usize> {
        match self {
            Self::Text { place, .. } | Self::NoSuchStatement { place, .. } => Some(*place),
            _ => None,
        }
    }
}

/// A statement that may run, if DuckDB finds one of its kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedStatement {
    /// The kinds that DuckDB may find; none for an empty text.
    pub kinds: &'static [&'static str],
    /// The statement within EXPLAIN or PREPARE: its first byte, and the kinds that DuckDB may find for it.
    pub inner: Option<(usize, &'static [&'static str])>,
    /// Whether the word RETURNING occurs.
    pub has_returning: bool,
    /// Whether its result may have columns of tables: without FROM, TABLE and RETURNING there are none.
    pub may_have_origins: bool,
}

/// The lists, and the names of one version of DuckDB.
#[derive(Clone, Debug)]
pub struct Fence {
    rules: Rules,
    /// The names of DuckDB's own functions, in lower case.
    catalog: HashSet<Box<str>>,
    /// A longer statement is refused.
    pub max_bytes: usize,
}

impl Fence {
    /// A fence for a version of DuckDB whose catalog has these functions.
    ///
    /// # Errors
    /// If the lists cannot be read.
    pub fn new(catalog: impl IntoIterator<Item = String>, max_bytes: usize) -> Result<Self, RulesError> {
        let catalog = catalog.into_iter().map(|name| fold(&name).into_boxed_str()).collect();
        Ok(Self { rules: Rules::read()?, catalog, max_bytes })
    }

    /// The permission for a name; `None` if it is not on the list.
    pub fn decision(&self, section: Section, name: &str) -> Option<Permission> {
        self.rules.class(section, &fold(name))
    }

    /// Checks a statement of a user with these rights.
    ///
    /// # Errors
    /// If the user may not send it.
    pub fn check(&self, sql: &str, rights: Rights) -> Result<CheckedStatement, Refusal> {
        check_length(sql, self.max_bytes)?;
        let (mut head, mut depth) = (Vec::with_capacity(statement::HEAD_TOKENS), Depth::default());
        let (mut has_returning, mut reads_tables) = (false, false);
        let mut names = NameScanner::default();
        for token in tokens(sql) {
            let token = token?;
            if token.kind == TokenKind::Symbol(b';') {
                return Err(Refusal::Several);
            }
            if head.len() < statement::HEAD_TOKENS {
                head.push(token);
            }
            depth.add(&token)?;
            names.add(token, |name, is_called| self.check_name(name, is_called, rights))?;
            has_returning |= token.is_word("returning");
            reads_tables |= token.is_one_of(&["from", "table"]);
        }
        let shape = statement::read(sql, &head, &self.rules, rights)?;
        let may_have_origins = has_returning || reads_tables;
        Ok(CheckedStatement { kinds: shape.kinds, inner: shape.inner, has_returning, may_have_origins })
    }

    /// Checks whether a name may occur or, with `is_called`, whether it may be called.
    fn check_name(&self, name: &str, is_called: bool, rights: Rights) -> Result<(), Refusal> {
        let section = if is_called { Section::Functions } else { Section::Views };
        let class = self.rules.class(section, name);
        // A name that is neither listed nor DuckDB's is a user's name, or a type.
        let is_engines = is_called && self.catalog.contains(name);
        match class {
            None if !is_engines => Ok(()),
            Some(class) if class.permits(rights) => Ok(()),
            class => {
                let what = if is_called { "the function" } else { "the view" };
                Err(Refusal::NotAllowed(
                    format!("{what} {name}"),
                    class.is_none_or(|class| class.is_refused_to_all(rights)),
                ))
            }
        }
    }
}

fn check_length(sql: &str, max_bytes: usize) -> Result<(), Refusal> {
    if sql.len() > max_bytes { Err(Refusal::Long { bytes: sql.len(), limit: max_bytes }) } else { Ok(()) }
}

/// Checks the size of a statement as the client has sent it, before the server rewrites it. [`Fence::check`] checks
/// what DuckDB then reads.
///
/// # Errors
/// If the statement is too long, or has too many tokens, levels or items.
pub fn check_size(sql: &str, max_bytes: usize) -> Result<(), Refusal> {
    /// No rewriting takes long for so few bytes.
    const SHORT: usize = 4096;
    check_length(sql, max_bytes)?;
    if sql.len() <= SHORT {
        return Ok(());
    }
    let mut depth = Depth::default();
    tokens(sql).try_for_each(|token| depth.add(&token?))
}

/// Finds the names in a statement, and which of them are called. A parenthesis follows the name of a call; spaces and
/// comments may be between them.
#[derive(Default)]
struct NameScanner<'a> {
    before: Option<Token<'a>>,
    two_before: Option<Token<'a>>,
}

impl<'a> NameScanner<'a> {
    fn add(&mut self, token: Token<'a>, check: impl Fn(&str, bool) -> Result<(), Refusal>) -> Result<(), Refusal> {
        let is_open = token.kind == TokenKind::Symbol(b'(');
        let has_no_name = |kind| matches!(kind, TokenKind::Symbol(_) | TokenKind::Number | TokenKind::Positional);
        if let Some(before) = self.before.filter(|before| is_open && !has_no_name(before.kind)) {
            if before.is_word("operator") {
                return Err(Refusal::NotAllowed("OPERATOR()".to_owned(), true));
            }
            check(&fold(&value(&before)), true)?;
        }
        // A COPY in parentheses can be a part of a query.
        if matches!(token.kind, TokenKind::Word | TokenKind::Name | TokenKind::Text | TokenKind::Symbol(b'('))
            && self.before.is_some_and(|before| before.is_word("copy"))
            && self.two_before.is_some_and(|two| two.kind == TokenKind::Symbol(b'('))
        {
            return Err(Refusal::NotAllowed("COPY within a statement (write \"copy\" for a name)".to_owned(), true));
        }
        if matches!(token.kind, TokenKind::Word | TokenKind::Name | TokenKind::Named) {
            check(&fold(&value(&token)), false)?;
        }
        (self.two_before, self.before) = (self.before, Some(token));
        Ok(())
    }
}

/// The value of a name or a string; for a named placeholder, its name.
fn value<'a>(token: &Token<'a>) -> Cow<'a, str> {
    match token.placeholder() {
        Some(name) => Cow::Borrowed(name),
        None => token.string(Dialect::DuckDb).unwrap_or_else(|| token.folded()),
    }
}

/// A name in the form of the lists: in lower case by Unicode's rules. These fold all letters that DuckDB folds.
fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.chars().map(|c| if Dialect::DuckDb.is_space(c) { ' ' } else { c }).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests;
