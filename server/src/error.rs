//! Everything that can go wrong in a session, and the one place where it becomes a SQLSTATE.

use colonnade_sql::statement::SyntaxError;

use crate::auth::LoginError;
use crate::copy::{CopyDataError, options::OptionError};
use crate::engine::EngineError;
use crate::limits::LimitError;
use crate::message::ProtocolError;
use crate::parameter::InputError;
use crate::session::settings::SettingError;
pub use crate::sqlstate::SqlState;
use crate::value::{Unsupported, ValueError};

/// Why a statement, or the whole session, ends early.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The engine refused or failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A statement that cannot be read.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// Data for COPY … FROM STDIN that cannot be taken.
    #[error(transparent)]
    CopyData(#[from] CopyDataError),
    /// A COPY option that makes no sense.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A column that the asked-for format cannot carry.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// A value that the asked-for format cannot carry.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A column type without a place in a Colonnade stream.
    #[error(transparent)]
    UnsupportedType(#[from] colonnade_wire::arrow::UnsupportedType),
    /// A chunk could not be encoded.
    #[error("the result could not be encoded")]
    Encode(#[from] colonnade_wire::EncodeError),
    /// Arrow's own writer refused a batch.
    #[error("the result could not be written as an Arrow IPC stream: {0}")]
    Ipc(#[from] arrow_schema::ArrowError),
    /// A message, of a single row usually, does not fit into what the client takes.
    #[error("a message of {rows} row(s) takes {bytes} bytes, more than max_message_bytes = {limit}")]
    MessageTooLarge {
        /// Its size.
        bytes: usize,
        /// Its rows.
        rows: usize,
        /// What the client asked for.
        limit: usize,
    },
    /// More columns than the protocol's counters hold.
    #[error("a result of {0} columns is more than the protocol carries (32767)")]
    TooManyColumns(usize),
    /// Only ROLLBACK is possible.
    #[error("current transaction is aborted, commands ignored until end of transaction block")]
    AbortedTransaction,
    /// A second connection asked for it.
    #[error("canceling statement due to user request")]
    Canceled,
    /// The server stops.
    #[error("terminating connection because the server is shutting down")]
    Shutdown,
    /// The engine's process is being started.
    #[error("the database system is starting up")]
    Starting,
    /// The engine said, in some session, that it cannot go on.
    #[error("terminating connection because the engine has failed")]
    EngineFailed,
    /// A fault of the server's own has ended the session's thread.
    #[error("terminating connection because of an internal error")]
    Panicked,
    /// Parse was given more than one.
    #[error("cannot insert multiple commands into a prepared statement")]
    SeveralStatements,
    /// Parse would replace a named statement.
    #[error("prepared statement \"{0}\" already exists")]
    StatementExists(String),
    /// Bind would replace a named portal.
    #[error("portal \"{0}\" already exists")]
    PortalExists(String),
    /// A cursor that goes forward only is to go back.
    #[error("cursor can only scan forward")]
    Backward,
    /// No such cursor.
    #[error("cursor \"{0}\" does not exist")]
    NoCursor(String),
    /// No such prepared statement.
    #[error("prepared statement \"{0}\" does not exist")]
    NoStatement(String),
    /// No such portal.
    #[error("portal \"{0}\" does not exist")]
    NoPortal(String),
    /// The client prepares and never closes.
    #[error("more than {0} prepared statements or portals; close those that are not needed")]
    TooManyPrepared(usize),
    /// A setting that cannot be as it is wanted.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A value that is not of its type.
    #[error(transparent)]
    Input(#[from] InputError),
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
    /// Bind says the formats of more or fewer values than there are.
    #[error("bind message has {formats} parameter formats but {values} parameters")]
    FormatCount {
        /// Formats in the message.
        formats: usize,
        /// Values in it.
        values: usize,
    },
    /// A prepared statement's columns are not what they were.
    #[error("cached plan must not change result type")]
    ResultChanged,
    /// Columns that are known too late to describe them.
    #[error("the columns of this statement are known only once it has run")]
    LateColumns,
    /// No such savepoint.
    #[error("savepoint \"{0}\" does not exist")]
    NoSavepoint(String),
    /// A statement that makes sense within a transaction only.
    #[error("{0} can only be used in transaction blocks")]
    NoTransaction(&'static str),
    /// The engine's own database is gone, and with it what the session had there.
    #[error("the connection to the source is lost")]
    SourceLost,
    /// A transaction that cannot be ended.
    #[error("the transaction cannot be ended ({0}), so the session ends; nothing of it is kept")]
    TransactionLeft(EngineError),
    /// A portal that has run to its end.
    #[error("portal \"{0}\" cannot be run")]
    PortalDone(String),
    /// A part of the protocol that is not there yet.
    #[error("{0} is not supported yet")]
    NotSupported(&'static str),
    /// The client may not come in.
    #[error(transparent)]
    Login(#[from] LoginError),
    /// Something takes longer, is larger, or there are more of them than the operator lets.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The client broke the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The client is gone, or its socket broke; nobody is left to be told.
    #[error("the connection to the client is lost")]
    Disconnected(#[from] std::io::Error),
}

/// The same error as an engine's own, where an engine is to refuse something for the server's reason.
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
    /// The SQLSTATE a client is told.
    pub fn code(&self) -> SqlState {
        match self {
            Self::Engine(error) => error.code,
            Self::Syntax(_) => SqlState::SYNTAX_ERROR,
            Self::CopyData(error) => error.code(),
            Self::Option(error) => match error {
                OptionError::Redundant(_) => SqlState::SYNTAX_ERROR,
                // PostgreSQL's invalid_column_reference.
                OptionError::UnknownColumn { .. } => SqlState::new("42P10"),
                OptionError::WrongFormat { .. } | OptionError::WrongDirection { .. } => SqlState::FEATURE_NOT_SUPPORTED,
                _ => SqlState::INVALID_PARAMETER_VALUE,
            },
            Self::Unsupported(_) | Self::UnsupportedType(_) | Self::NotSupported(_) => SqlState::FEATURE_NOT_SUPPORTED,
            Self::Value(error) => match error {
                ValueError::Precision { .. } | ValueError::Ragged => SqlState::FEATURE_NOT_SUPPORTED,
                ValueError::TooLarge { .. } => SqlState::PROGRAM_LIMIT_EXCEEDED,
            },
            Self::Encode(colonnade_wire::EncodeError::OutOfMemory) => SqlState::OUT_OF_MEMORY,
            Self::Encode(_) | Self::Ipc(_) | Self::Panicked => SqlState::INTERNAL_ERROR,
            Self::MessageTooLarge { .. } => SqlState::PROGRAM_LIMIT_EXCEEDED,
            Self::TooManyColumns(_) => SqlState::TOO_MANY_COLUMNS,
            Self::SeveralStatements => SqlState::SYNTAX_ERROR,
            Self::StatementExists(_) => SqlState::new("42P05"),
            Self::PortalExists(_) => SqlState::new("42P03"),
            Self::NoStatement(_) => SqlState::new("26000"),
            Self::NoPortal(_) | Self::NoCursor(_) => SqlState::new("34000"),
            Self::TooManyPrepared(_) => SqlState::PROGRAM_LIMIT_EXCEEDED,
            Self::Setting(SettingError::Fixed(_)) => SqlState::new("55P02"),
            Self::Setting(SettingError::Value { .. }) => SqlState::INVALID_PARAMETER_VALUE,
            Self::Setting(SettingError::Transaction) => SqlState::FEATURE_NOT_SUPPORTED,
            Self::Input(error) => error.code(),
            Self::ParameterCount { .. } | Self::FormatCount { .. } => SqlState::PROTOCOL_VIOLATION,
            Self::ResultChanged | Self::LateColumns => SqlState::FEATURE_NOT_SUPPORTED,
            Self::NoSavepoint(_) => SqlState::new("3B001"),
            Self::NoTransaction(_) => SqlState::NO_ACTIVE_SQL_TRANSACTION,
            Self::PortalDone(_) | Self::Backward => SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            Self::SourceLost => SqlState::new("08006"),
            Self::TransactionLeft(error) => error.code,
            Self::AbortedTransaction => SqlState::IN_FAILED_SQL_TRANSACTION,
            Self::Canceled => SqlState::QUERY_CANCELED,
            Self::Shutdown => SqlState::ADMIN_SHUTDOWN,
            Self::Starting => SqlState::new("57P03"),
            Self::EngineFailed => SqlState::CRASH_SHUTDOWN,
            Self::Login(error) => error.code(),
            Self::Limit(error) => error.code(),
            Self::Protocol(ProtocolError::ClientEncoding(_)) => SqlState::INVALID_PARAMETER_VALUE,
            Self::Protocol(ProtocolError::Options(_)) => SqlState::SYNTAX_ERROR,
            Self::Protocol(_) => SqlState::PROTOCOL_VIOLATION,
            Self::Disconnected(_) => SqlState::IO_ERROR,
        }
    }

    /// Whether the session ends with it.
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::Protocol(_)
            | Self::Disconnected(_)
            | Self::Shutdown
            | Self::Starting
            | Self::EngineFailed
            | Self::Panicked
            | Self::Login(_)
            | Self::SourceLost
            | Self::TransactionLeft(_) => true,
            Self::Limit(error) => error.is_fatal(),
            _ => false,
        }
    }

    /// More than the message, if there is more to say.
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::Engine(error) => error.detail.clone(),
            Self::CopyData(error) => error.place(),
            Self::Encode(error) => Some(error.to_string()),
            _ => None,
        }
    }

    /// What the user can do.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Engine(error) => return error.hint.clone(),
            Self::Option(error) => return error.hint(),
            Self::Unsupported(error) => return Some(error.hint()),
            Self::UnsupportedType(_) => "Cast the column to a supported type in the query, for example to VARCHAR.",
            Self::Value(ValueError::Precision { .. }) => {
                "Cast the column to TIMESTAMP in the query, or use FORMAT text, csv or colonnade."
            }
            Self::Value(ValueError::Ragged) => "Take the column in text.",
            Self::MessageTooLarge { .. } => {
                "Raise the COPY option max_message_bytes, or select fewer or shorter columns."
            }
            Self::Starting => "Connect again in a moment.",
            Self::EngineFailed => "Connect again and repeat the statement; what was committed is there.",
            Self::AbortedTransaction => "Issue ROLLBACK.",
            Self::TransactionLeft(_) => "Connect again, and repeat the transaction.",
            Self::SourceLost => "Connect again: each session has a connection of its own there.",
            Self::Limit(error) => return error.hint(),
            Self::Input(InputError::NoBinary(_)) => "Send the value as text.",
            Self::Setting(SettingError::Transaction) => {
                "Leave it out: a transaction sees one snapshot of the database."
            }
            Self::NotSupported(what) if what.contains("SAVEPOINT") => "End the transaction and begin another one.",
            Self::ResultChanged => "Prepare the statement again.",
            Self::LateColumns => "Use the simple query protocol for it.",
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// Where in the query string, counted in characters from 0, if known.
    pub fn position(&self) -> Option<usize> {
        match self {
            Self::Engine(error) => error.position,
            Self::Syntax(error) => Some(error.position),
            _ => None,
        }
    }

    /// The failure of a part of a text as one of the whole: so many characters are in front of it. `None` if the part is not in it.
    pub fn placed(self, before: Option<usize>) -> Self {
        match self {
            Self::Engine(error) => {
                let position = error.position.zip(before).map(|(position, before)| before + position);
                EngineError { position, ..error }.into()
            }
            other => other,
        }
    }
}
