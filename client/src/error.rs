//! Errors between a query and its result.

use std::error::Error as StdError;
use std::fmt;

use crate::printable;

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The URI, an option or a parameter is wrong.
    Usage,
    /// No connection could be made.
    Connect,
    /// The connection was lost before the answer was complete.
    ConnectionLost,
    /// The peer sent bytes that the protocol or the stream format forbids.
    Protocol,
    /// The database reported an error; [`Error::sqlstate`] says which.
    Database,
    /// This version does not support the request.
    Unsupported,
    /// The result is larger than the caller allows.
    Limit,
    /// The caller interrupted.
    Interrupted,
    /// The connection is closed, or busy with another result.
    Unavailable,
}

/// An error of a source. It never contains a password.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    origin: Option<String>,
    sqlstate: Option<String>,
    code: Option<i32>,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    /// Where in the statement that was sent, in characters from 0, and this statement if it is not the caller's.
    position: Option<(usize, Option<String>)>,
    place: Option<String>,
    cause: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of `kind`. `message` is in lower case; it says what happened and, if possible, what to do.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            origin: None,
            sqlstate: None,
            code: None,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            place: None,
            cause: None,
        }))
    }

    /// The error of a statement that returns no rows where rows are required.
    pub fn no_rows() -> Self {
        Self::new(ErrorKind::Unsupported, "the statement returns no rows")
            .with_sqlstate("0A000")
            .with_hint("in Python, Connection.execute runs it")
    }

    /// The error of a text with several statements where one is required. The SQLSTATE is that of PostgreSQL's
    /// `exec_parse_message`.
    pub fn several_statements() -> Self {
        Self::new(ErrorKind::Database, "the query has more than one statement")
            .with_sqlstate("42601")
            .with_hint("run the others with execute() before it")
    }

    /// The same error with a SQLSTATE.
    #[must_use]
    pub fn with_sqlstate(mut self, sqlstate: impl Into<String>) -> Self {
        self.0.sqlstate = Some(sqlstate.into());
        self
    }

    /// The same error with the database's own number.
    #[must_use]
    pub fn with_code(mut self, code: i32) -> Self {
        self.0.code = Some(code);
        self
    }

    /// The same error with details.
    #[must_use]
    pub fn with_detail(mut self, detail: Option<String>) -> Self {
        self.0.detail = detail;
        self
    }

    /// The same error with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same error with its place in the statement that was sent, in characters from 0.
    #[must_use]
    pub(crate) fn with_position(mut self, position: Option<usize>) -> Self {
        self.0.position = position.map(|position| (position, None));
        self
    }

    /// The same error with the statement that was sent, made of the caller's.
    #[must_use]
    pub(crate) fn with_sent(mut self, sql: &str) -> Self {
        if let Some((_, sent)) = &mut self.0.position {
            *sent = Some(sql.to_owned());
        }
        self
    }

    /// The same error with another message.
    #[must_use]
    pub(crate) fn with_message(mut self, message: String) -> Self {
        self.0.message = message;
        self
    }

    /// The same error with the lines that show its place.
    #[must_use]
    pub(crate) fn with_place(mut self, place: Option<String>) -> Self {
        self.0.place = place;
        self
    }

    /// The same error with the name of its source, unless it has one.
    #[must_use]
    pub fn with_origin(mut self, origin: &str) -> Self {
        self.0.origin.get_or_insert_with(|| origin.to_owned());
        self
    }

    /// The same error with its cause.
    #[must_use]
    pub fn with_cause(mut self, cause: impl StdError + Send + Sync + 'static) -> Self {
        self.0.cause = Some(Box::new(cause));
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The source, such as `postgresql://ada@db.example:5432/shop`.
    pub fn origin(&self) -> Option<&str> {
        self.0.origin.as_deref()
    }

    /// The SQLSTATE (PostgreSQL's appendix A), if the database gave one.
    pub fn sqlstate(&self) -> Option<&str> {
        self.0.sqlstate.as_deref()
    }

    /// The database's own number of the error: MySQL's and MariaDB's error number, SQLite's extended result code.
    pub fn code(&self) -> Option<i32> {
        self.0.code
    }

    /// The message, without origin, detail and hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The detail.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// Where in the statement that was sent, and this statement if it is known to differ from the caller's.
    pub(crate) fn position(&self) -> Option<(usize, Option<&str>)> {
        self.0.position.as_ref().map(|(position, sent)| (*position, sent.as_deref()))
    }

    /// The line of the caller's statement with the error, and a line with a caret below the place ([`Error::placed`]).
    pub fn place(&self) -> Option<&str> {
        self.0.place.as_deref()
    }

    /// The hint.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

/// For people, so control characters are escaped. [`Error::message`] is unchanged.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.0.message, true))?;
        if let Some(sqlstate) = &self.0.sqlstate {
            write!(f, " (SQLSTATE {})", printable(sqlstate, false))?;
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.cause.as_ref().map(|cause| cause.as_ref() as &(dyn StdError + 'static))
    }
}
