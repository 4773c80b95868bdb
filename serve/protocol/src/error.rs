//! All errors of a session, and their SQLSTATEs.

use std::any::Any;

use colonnade_sql::statement::SyntaxError;

use crate::charset::{EncodingNameError, TextError};
use crate::engine::error::{EngineError, ErrorObject, FunctionPlace};
use crate::limits::LimitError;
use crate::message::ProtocolError;
pub use crate::sqlstate::SqlState;

/// An error that says by itself what a client is to know: that of a module of the server.
pub trait ClientError: std::error::Error + Any + Send + Sync {
    /// The SQLSTATE for the client.
    fn code(&self) -> SqlState;

    /// Details, if there are any.
    fn detail(&self) -> Option<String> {
        None
    }

    /// What the user can do.
    fn hint(&self) -> Option<String> {
        None
    }

    /// The position in the query string, in characters from 0, if known.
    fn position(&self) -> Option<usize> {
        None
    }

    /// Whether it ends the session.
    fn is_fatal(&self) -> bool {
        false
    }
}

impl ClientError for EncodingNameError {
    fn code(&self) -> SqlState {
        self.code()
    }
}

impl ClientError for TextError {
    fn code(&self) -> SqlState {
        self.code()
    }
}

/// Why a statement, or the whole session, ends early.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An error of the engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// An error of a module of the server.
    #[error("{0}")]
    Refused(Box<dyn ClientError>),
    /// A syntax error in a statement that the server handles.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// A column type that a Colonnade stream cannot carry.
    #[error(transparent)]
    UnsupportedType(#[from] colonnade_wire::arrow::UnsupportedType),
    /// A chunk could not be encoded.
    #[error("the result could not be encoded")]
    Encode(#[from] colonnade_wire::EncodeError),
    /// An error of Arrow's own writer.
    #[error("the result could not be written as an Arrow IPC stream: {0}")]
    Ipc(#[from] arrow_schema::ArrowError),
    /// A message, usually of a single row, is larger than the client's limit.
    #[error("a message of {rows} row(s) takes {bytes} bytes, more than max_message_bytes = {limit}")]
    MessageTooLarge {
        /// The message's size.
        bytes: usize,
        /// The number of rows in the message.
        rows: usize,
        /// The client's limit.
        limit: usize,
    },
    /// The transaction has failed. Only ROLLBACK is accepted.
    #[error("current transaction is aborted, commands ignored until end of transaction block")]
    AbortedTransaction,
    /// A cancel request has stopped the statement.
    #[error("canceling statement due to user request")]
    Canceled,
    /// The server stops.
    #[error("terminating connection because the server is shutting down")]
    Shutdown,
    /// Another session of the user has ended this one.
    #[error("terminating connection due to administrator command")]
    Terminated,
    /// The engine's process is being started.
    #[error("the database system is starting up")]
    Starting,
    /// The engine has reported a fatal error in one of the sessions.
    #[error("terminating connection because the engine has failed")]
    EngineFailed,
    /// The session's thread has panicked.
    #[error("terminating connection because of an internal error")]
    Panicked,
    /// Parse has more than one statement.
    #[error("cannot insert multiple commands into a prepared statement")]
    SeveralStatements,
    /// Parse would replace a named statement.
    #[error("prepared statement \"{0}\" already exists")]
    StatementExists(String),
    /// Bind would replace a named portal.
    #[error("portal \"{0}\" already exists")]
    PortalExists(String),
    /// A forward-only cursor is to move back.
    #[error("cursor can only scan forward")]
    BackwardFetch,
    /// No such cursor.
    #[error("cursor \"{0}\" does not exist")]
    NoCursor(String),
    /// No such prepared statement.
    #[error("prepared statement \"{0}\" does not exist")]
    NoStatement(String),
    /// No such portal.
    #[error("portal \"{0}\" does not exist")]
    NoPortal(String),
    /// The client has prepared too many statements without closing them.
    #[error("more than {0} prepared statements or portals; close those that are not needed")]
    TooManyPrepared(usize),
    /// Bind has more or fewer values than the statement has parameters.
    #[error("bind message supplies {given} parameters, but prepared statement \"{name}\" requires {wanted}")]
    ParameterCount {
        /// The statement.
        name: String,
        /// Values in the message.
        given: usize,
        /// Parameters of the statement.
        wanted: usize,
    },
    /// Bind has more or fewer format codes than values.
    #[error("bind message has {formats} parameter formats but {values} parameters")]
    FormatCount {
        /// Formats in the message.
        formats: usize,
        /// Values in it.
        values: usize,
    },
    /// The columns of a prepared statement have changed.
    #[error("cached plan must not change result type")]
    ResultChanged,
    /// The columns are known only when the statement runs, so it cannot be described before.
    #[error("the columns of this statement are known only once it has run")]
    DeferredColumns,
    /// No such savepoint.
    #[error("savepoint \"{0}\" does not exist")]
    NoSavepoint(String),
    /// A statement that needs a transaction.
    #[error("{0} can only be used in transaction blocks")]
    NoTransaction(&'static str),
    /// The connection to the source's database is lost, and with it the session's state.
    #[error("the connection to the source is lost")]
    SourceLost,
    /// The engine cannot end a transaction.
    #[error("the transaction cannot be ended ({0}), so the session ends; its changes are lost")]
    TransactionEndFailed(EngineError),
    /// A portal that has given all its rows.
    #[error("portal \"{0}\" cannot be run")]
    PortalDone(String),
    /// A feature that is not implemented.
    #[error("{0} is not supported yet")]
    NotSupported(&'static str),
    /// A limit of the operator is exceeded.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The client has violated the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The client has closed the connection, or its socket has failed. No error can be sent.
    #[error("the connection to the client is lost")]
    Disconnected(#[from] std::io::Error),
}

impl<E: ClientError> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Refused(Box::new(error))
    }
}

/// Makes an engine's error of the server's error, for a check of the server that the engine runs.
impl From<Failure> for EngineError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Engine(error) => error,
            _ => Self {
                detail: failure.detail(),
                hint: failure.hint(),
                ..Self::new(failure.code(), failure.to_string())
            },
        }
    }
}

impl Failure {
    /// The error of a module, if it is one of this type.
    pub fn client_error<E: ClientError>(&self) -> Option<&E> {
        match self {
            Self::Refused(error) => (error.as_ref() as &dyn Any).downcast_ref(),
            _ => None,
        }
    }

    /// The SQLSTATE for the client.
    pub fn code(&self) -> SqlState {
        match self {
            Self::Engine(error) => error.code,
            Self::Syntax(_) => SqlState::SYNTAX_ERROR,
            Self::Refused(error) => error.code(),
            Self::UnsupportedType(_) | Self::NotSupported(_) => SqlState::FEATURE_NOT_SUPPORTED,
            Self::Encode(colonnade_wire::EncodeError::OutOfMemory) => SqlState::OUT_OF_MEMORY,
            Self::Encode(_) | Self::Ipc(_) | Self::Panicked => SqlState::INTERNAL_ERROR,
            Self::MessageTooLarge { .. } => SqlState::PROGRAM_LIMIT_EXCEEDED,
            Self::SeveralStatements => SqlState::SYNTAX_ERROR,
            Self::StatementExists(_) => SqlState::new("42P05"),
            Self::PortalExists(_) => SqlState::new("42P03"),
            Self::NoStatement(_) => SqlState::new("26000"),
            Self::NoPortal(_) | Self::NoCursor(_) => SqlState::new("34000"),
            Self::TooManyPrepared(_) => SqlState::PROGRAM_LIMIT_EXCEEDED,
            Self::ParameterCount { .. } | Self::FormatCount { .. } => SqlState::PROTOCOL_VIOLATION,
            Self::ResultChanged | Self::DeferredColumns => SqlState::FEATURE_NOT_SUPPORTED,
            Self::NoSavepoint(_) => SqlState::new("3B001"),
            Self::NoTransaction(_) => SqlState::NO_ACTIVE_SQL_TRANSACTION,
            Self::PortalDone(_) | Self::BackwardFetch => SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            Self::SourceLost => SqlState::new("08006"),
            Self::TransactionEndFailed(error) => error.code,
            Self::AbortedTransaction => SqlState::IN_FAILED_SQL_TRANSACTION,
            Self::Canceled => SqlState::QUERY_CANCELED,
            Self::Shutdown | Self::Terminated => SqlState::ADMIN_SHUTDOWN,
            Self::Starting => SqlState::new("57P03"),
            Self::EngineFailed => SqlState::CRASH_SHUTDOWN,
            Self::Limit(error) => error.code(),
            Self::Protocol(ProtocolError::Text(error)) => error.code(),
            Self::Protocol(ProtocolError::Options(_)) => SqlState::SYNTAX_ERROR,
            Self::Protocol(_) => SqlState::PROTOCOL_VIOLATION,
            Self::Disconnected(_) => SqlState::IO_ERROR,
        }
    }

    /// Whether it ends the session.
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::Protocol(_)
            | Self::Disconnected(_)
            | Self::Shutdown
            | Self::Terminated
            | Self::Starting
            | Self::EngineFailed
            | Self::Panicked
            | Self::SourceLost
            | Self::TransactionEndFailed(_) => true,
            Self::Limit(error) => error.is_fatal(),
            Self::Refused(error) => error.is_fatal(),
            _ => false,
        }
    }

    /// Details, if there are any.
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::Engine(error) => error.detail.clone(),
            Self::Refused(error) => error.detail(),
            Self::Encode(error) => Some(error.to_string()),
            _ => None,
        }
    }

    /// What the user can do.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Engine(error) => return error.hint.clone(),
            Self::Refused(error) => return error.hint(),
            Self::UnsupportedType(_) => "Cast the column to a supported type in the query, for example to VARCHAR.",
            Self::MessageTooLarge { .. } => {
                "Raise the COPY option max_message_bytes, or select fewer or shorter columns."
            }
            Self::Starting => "Connect again in a moment.",
            Self::EngineFailed => "Connect again and repeat the statement; committed changes are kept.",
            Self::AbortedTransaction => "Issue ROLLBACK.",
            Self::TransactionEndFailed(_) => "Connect again, and repeat the transaction.",
            Self::SourceLost => "Connect again: each session has its own connection to the source.",
            Self::Limit(error) => return error.hint(),
            Self::NotSupported(what) if what.contains("SAVEPOINT") => "End the transaction and begin another one.",
            Self::ResultChanged => {
                "Prepare the statement again. If a numeric parameter is NaN or infinite, cast it to double precision."
            }
            Self::BackwardFetch => "Declare the cursor with SCROLL.",
            Self::DeferredColumns => "Use the simple query protocol for it.",
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// The position in the query string, in characters from 0, if known.
    pub fn position(&self) -> Option<usize> {
        match self {
            Self::Engine(error) => error.position,
            Self::Syntax(error) => Some(error.position),
            Self::Refused(error) => error.position(),
            _ => None,
        }
    }

    /// What of the database it is about.
    pub fn object(&self) -> Option<&ErrorObject> {
        match self {
            Self::Engine(error) => error.object.as_deref(),
            _ => None,
        }
    }

    /// Where in a function it has happened.
    pub fn function(&self) -> Option<&FunctionPlace> {
        match self {
            Self::Engine(error) => error.function.as_deref(),
            _ => None,
        }
    }

    /// Makes the position of an engine's error, in a part of a text, a position in the whole. `before` is the number of
    /// characters before the part. `None` removes the position, because the text does not contain the part.
    pub fn with_offset(self, before: Option<usize>) -> Self {
        match self {
            Self::Engine(error) => {
                let position = error.position.zip(before).map(|(position, before)| before + position);
                EngineError { position, ..error }.into()
            }
            other => other,
        }
    }
}
