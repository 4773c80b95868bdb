//! What can go wrong between a query and its result.

use std::error::Error as StdError;
use std::fmt;

use crate::printable;

/// Who or what failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The URI, an option or a parameter makes no sense.
    Usage,
    /// No connection came about.
    Connect,
    /// The connection broke before the answer was complete.
    ConnectionLost,
    /// The peer sent bytes that the protocol or the stream format forbids.
    Protocol,
    /// The database reported an error; [`Error::sqlstate`] says which.
    Database,
    /// This version cannot do what was asked.
    Unsupported,
    /// The result is larger than the caller allows.
    Limit,
    /// The caller asked to stop.
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
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    cause: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of `kind`; `message` is in lower case, says what happened and where possible what to do.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            origin: None,
            sqlstate: None,
            message: message.into(),
            detail: None,
            hint: None,
            cause: None,
        }))
    }

    /// Of a statement that was to give rows and gives none.
    pub fn no_rows() -> Self {
        Self::new(ErrorKind::Unsupported, "the statement returns no rows")
            .with_sqlstate("0A000")
            .with_hint("in Python, Connection.execute runs it")
    }

    /// Of a text with several statements where one was to run. The SQLSTATE is that of PostgreSQL's `exec_parse_message`.
    pub fn several_statements() -> Self {
        Self::new(ErrorKind::Database, "the query has more than one statement")
            .with_sqlstate("42601")
            .with_hint("run the others with execute() before it")
    }

    /// The same error with what the database added to it.
    #[must_use]
    pub fn with_sqlstate(mut self, sqlstate: impl Into<String>) -> Self {
        self.0.sqlstate = Some(sqlstate.into());
        self
    }

    /// The same error with more about what happened.
    #[must_use]
    pub fn with_detail(mut self, detail: Option<String>) -> Self {
        self.0.detail = detail;
        self
    }

    /// The same error with what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same error with the name of the source that it comes from, unless it has one.
    #[must_use]
    pub fn with_origin(mut self, origin: &str) -> Self {
        self.0.origin.get_or_insert_with(|| origin.to_owned());
        self
    }

    /// The same error with the error below it.
    #[must_use]
    pub fn with_cause(mut self, cause: impl StdError + Send + Sync + 'static) -> Self {
        self.0.cause = Some(Box::new(cause));
        self
    }

    /// Who or what failed.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The source, such as `postgresql://ada@db.example:5432/shop`.
    pub fn origin(&self) -> Option<&str> {
        self.0.origin.as_deref()
    }

    /// The five characters of PostgreSQL's appendix A, if the database gave them.
    pub fn sqlstate(&self) -> Option<&str> {
        self.0.sqlstate.as_deref()
    }

    /// What happened, without origin, detail and hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// More about what happened.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

/// For people, and so without what would steer a terminal; [`Error::message`] is as the server sent it.
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
