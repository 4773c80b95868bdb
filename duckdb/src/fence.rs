//! What a client's statement may be and may call: a list of what is allowed, by role, over the statement's own tokens.
//!
//! The engine is asked second: `python/colonnade/_duckdb/engine.py` compares its kind of the statement with the kinds that are
//! found here, and refuses where the two differ. What is on no list is refused.

mod depth;
mod rules;
mod statement;
mod tokens;

use std::borrow::Cow;
use std::collections::HashSet;

use colonnade_sql::{Dialect, Token, TokenKind};

use colonnade_server::SqlState;
use depth::Depth;
pub use rules::{Class, Rules, RulesError, Section};
pub use statement::Shape;
pub use tokens::tokens;

/// What the lists are read with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// Whether the user may write.
    pub writes: bool,
    /// Whether the operator allows files.
    pub files: bool,
}

/// Why a statement does not reach the engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Something that this user may not do.
    #[error("{0}: not allowed for {who} of this server", who = if *.1 { "clients" } else { "read-only users" })]
    NotAllowed(String, bool),
    /// Text that this server and the engine could cut into different tokens.
    #[error("{what} at character {}", place + 1)]
    Text {
        /// What is there.
        what: &'static str,
        /// Where, in characters from 0.
        place: usize,
    },
    /// A word that no statement begins with.
    #[error("syntax error at or near \"{word}\"")]
    NoSuchStatement {
        /// The word.
        word: String,
        /// Where, in characters from 0.
        place: usize,
    },
    /// A setting that nobody knows.
    #[error("unrecognized configuration parameter \"{0}\"")]
    UnknownSetting(String),
    /// More than one statement where one is expected.
    #[error("cannot tell where one statement ends and the next begins; send one at a time")]
    Several,
    /// A statement that does not carry the statement that it should.
    #[error("{0} needs a statement after it")]
    NoStatement(&'static str),
    /// More bytes than the operator allows.
    #[error("the statement has {bytes} bytes, more than --max-statement-bytes {most}; split it, or use COPY for rows")]
    Long {
        /// How many it has.
        bytes: usize,
        /// How many it may have.
        most: usize,
    },
    /// More of a construct than the engine's stack is known to hold.
    #[error("the statement has more than {most} {what}; split it, or write parts of it into temporary tables")]
    Deep {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        most: usize,
    },
}

impl Refusal {
    /// PostgreSQL's class of it.
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

impl Refusal {
    /// Where in the statement, in characters from 0.
    pub fn position(&self) -> Option<usize> {
        match self {
            Self::Text { place, .. } | Self::NoSuchStatement { place, .. } => Some(*place),
            _ => None,
        }
    }
}

/// A statement that may reach the engine, if the engine agrees on its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The kinds that the engine may find; none if there is no statement.
    pub kinds: &'static [&'static str],
    /// Where the statement that it carries begins, in bytes, and the kinds that the engine may find for that.
    pub inner: Option<(usize, &'static [&'static str])>,
    /// Whether the word RETURNING occurs.
    pub has_returning: bool,
}

/// The lists, for one engine.
#[derive(Clone, Debug)]
pub struct Fence {
    rules: Rules,
    /// Names of the engine's own functions and views, in lower case.
    catalog: HashSet<Box<str>>,
    /// A longer statement is refused.
    pub max_bytes: usize,
}

impl Fence {
    /// A fence for an engine whose catalog has these functions and views.
    ///
    /// # Errors
    /// If the lists cannot be read.
    pub fn new(catalog: impl IntoIterator<Item = String>, max_bytes: usize) -> Result<Self, RulesError> {
        let catalog = catalog.into_iter().map(|name| fold(&name).into_boxed_str()).collect();
        Ok(Self { rules: Rules::read()?, catalog, max_bytes })
    }

    /// What is decided about a name, or `None` if it is not on the list.
    pub fn decision(&self, section: Section, name: &str) -> Option<Class> {
        self.rules.class(section, &fold(name))
    }

    /// Whether a statement of a user with these rights may reach the engine.
    ///
    /// # Errors
    /// If it may not.
    pub fn check(&self, sql: &str, rights: Rights) -> Result<Checked, Refusal> {
        if sql.len() > self.max_bytes {
            return Err(Refusal::Long { bytes: sql.len(), most: self.max_bytes });
        }
        let (mut head, mut depth, mut has_returning) = (Vec::with_capacity(statement::LOOK), Depth::default(), false);
        let mut calls = Calls::default();
        for token in tokens(sql) {
            let token = token?;
            if token.kind == TokenKind::Symbol(b';') {
                return Err(Refusal::Several);
            }
            if head.len() < statement::LOOK {
                head.push(token);
            }
            depth.add(&token)?;
            calls.add(token, |name, is_called| self.name(name, is_called, rights))?;
            has_returning |= token.is_word("returning");
        }
        let shape = statement::read(sql, &head, &self.rules, rights)?;
        Ok(Checked { kinds: shape.kinds, inner: shape.inner, has_returning })
    }

    /// Whether a name may occur, and be called.
    fn name(&self, name: &str, is_called: bool, rights: Rights) -> Result<(), Refusal> {
        let section = if is_called { Section::Functions } else { Section::Views };
        let class = self.rules.class(section, name);
        // A name that is neither listed nor the engine's is a user's, or a type.
        let is_engines = is_called && self.catalog.contains(name);
        match class {
            None if !is_engines => Ok(()),
            Some(class) if class.permits(rights) => Ok(()),
            class => {
                let what = if is_called { "the function" } else { "the view" };
                Err(Refusal::NotAllowed(
                    format!("{what} {name}"),
                    class.is_none_or(|class| class.is_for_nobody(rights)),
                ))
            }
        }
    }
}

/// Finds the names, and those that are called: a parenthesis follows them, whatever space and comments are between.
#[derive(Default)]
struct Calls<'a> {
    before: Option<Token<'a>>,
    two_before: Option<Token<'a>>,
}

impl<'a> Calls<'a> {
    fn add(&mut self, token: Token<'a>, check: impl Fn(&str, bool) -> Result<(), Refusal>) -> Result<(), Refusal> {
        let is_open = token.kind == TokenKind::Symbol(b'(');
        let has_no_name = |kind| matches!(kind, TokenKind::Symbol(_) | TokenKind::Number | TokenKind::Positional);
        if let Some(before) = self.before.filter(|before| is_open && !has_no_name(before.kind)) {
            if before.is_word("operator") {
                return Err(Refusal::NotAllowed("OPERATOR()".to_owned(), true));
            }
            check(&fold(&value(&before)), true)?;
        }
        // A statement that begins with COPY may stand in parentheses, as a part of a query.
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

/// What a name or a string says; of a placeholder its name.
fn value<'a>(token: &Token<'a>) -> Cow<'a, str> {
    match token.placeholder() {
        Some(name) => Cow::Borrowed(name),
        None => token.string(Dialect::DuckDb).unwrap_or_else(|| token.folded()),
    }
}

/// A name as the lists have it: in lower case by Unicode, which is no less than what the engine does.
fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.chars().map(|c| if Dialect::DuckDb.is_space(c) { ' ' } else { c }).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests;
