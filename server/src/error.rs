//! Everything that can go wrong in a session, and the one place where it becomes a SQLSTATE.
//!
//! The codes are PostgreSQL's (Appendix A of its manual), so that drivers map them to their own classes.

use std::fmt;

use colonnade_sql::statement::SyntaxError;

use crate::auth::LoginError;
use crate::copy::{input::CopyDataError, options::OptionError};
use crate::engine::EngineError;
use crate::limits::LimitError;
use crate::message::ProtocolError;
use crate::parameter::InputError;
use crate::session::settings::SettingError;
use crate::value::{Unsupported, ValueError};

/// A five-character error class.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// The class of this name; an internal error if it has not five characters.
    pub const fn new(code: &str) -> Self {
        match *code.as_bytes() {
            [a, b, c, d, e] => Self([a, b, c, d, e]),
            _ => Self(*b"XX000"),
        }
    }

    /// The class that another database gave, if it is one.
    pub fn parse(code: &str) -> Option<Self> {
        let is_one = code.len() == 5 && code.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        is_one.then(|| Self::new(code))
    }

    /// Its five characters.
    pub fn as_str(&self) -> &str {
        // They are ASCII.
        std::str::from_utf8(&self.0).unwrap_or("XX000")
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[allow(missing_docs, reason = "the names are those of PostgreSQL's Appendix A")]
impl SqlState {
    pub const FEATURE_NOT_SUPPORTED: Self = Self::new("0A000");
    pub const PROTOCOL_VIOLATION: Self = Self::new("08P01");
    pub const CARDINALITY_VIOLATION: Self = Self::new("21000");
    pub const DATA_EXCEPTION: Self = Self::new("22000");
    pub const NUMERIC_VALUE_OUT_OF_RANGE: Self = Self::new("22003");
    pub const DATETIME_FIELD_OVERFLOW: Self = Self::new("22008");
    pub const DIVISION_BY_ZERO: Self = Self::new("22012");
    pub const INVALID_PARAMETER_VALUE: Self = Self::new("22023");
    pub const INVALID_TEXT_REPRESENTATION: Self = Self::new("22P02");
    pub const INTEGRITY_CONSTRAINT_VIOLATION: Self = Self::new("23000");
    pub const NOT_NULL_VIOLATION: Self = Self::new("23502");
    pub const FOREIGN_KEY_VIOLATION: Self = Self::new("23503");
    pub const UNIQUE_VIOLATION: Self = Self::new("23505");
    pub const CHECK_VIOLATION: Self = Self::new("23514");
    pub const INVALID_TRANSACTION_STATE: Self = Self::new("25000");
    pub const ACTIVE_SQL_TRANSACTION: Self = Self::new("25001");
    pub const READ_ONLY_SQL_TRANSACTION: Self = Self::new("25006");
    pub const NO_ACTIVE_SQL_TRANSACTION: Self = Self::new("25P01");
    pub const IN_FAILED_SQL_TRANSACTION: Self = Self::new("25P02");
    pub const DEPENDENT_OBJECTS_STILL_EXIST: Self = Self::new("2BP01");
    pub const INVALID_CATALOG_NAME: Self = Self::new("3D000");
    pub const INVALID_SCHEMA_NAME: Self = Self::new("3F000");
    pub const SERIALIZATION_FAILURE: Self = Self::new("40001");
    pub const SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION: Self = Self::new("42000");
    pub const INSUFFICIENT_PRIVILEGE: Self = Self::new("42501");
    pub const SYNTAX_ERROR: Self = Self::new("42601");
    pub const DUPLICATE_COLUMN: Self = Self::new("42701");
    pub const AMBIGUOUS_COLUMN: Self = Self::new("42702");
    pub const UNDEFINED_COLUMN: Self = Self::new("42703");
    pub const UNDEFINED_OBJECT: Self = Self::new("42704");
    pub const DUPLICATE_OBJECT: Self = Self::new("42710");
    pub const GROUPING_ERROR: Self = Self::new("42803");
    pub const DATATYPE_MISMATCH: Self = Self::new("42804");
    pub const UNDEFINED_FUNCTION: Self = Self::new("42883");
    pub const UNDEFINED_TABLE: Self = Self::new("42P01");
    pub const UNDEFINED_PARAMETER: Self = Self::new("42P02");
    pub const DUPLICATE_SCHEMA: Self = Self::new("42P06");
    pub const DUPLICATE_TABLE: Self = Self::new("42P07");
    pub const INDETERMINATE_DATATYPE: Self = Self::new("42P18");
    pub const TOO_MANY_CONNECTIONS: Self = Self::new("53300");
    pub const DISK_FULL: Self = Self::new("53100");
    pub const OUT_OF_MEMORY: Self = Self::new("53200");
    pub const PROGRAM_LIMIT_EXCEEDED: Self = Self::new("54000");
    pub const STATEMENT_TOO_COMPLEX: Self = Self::new("54001");
    pub const TOO_MANY_COLUMNS: Self = Self::new("54011");
    pub const OBJECT_NOT_IN_PREREQUISITE_STATE: Self = Self::new("55000");
    pub const OBJECT_IN_USE: Self = Self::new("55006");
    pub const QUERY_CANCELED: Self = Self::new("57014");
    pub const CRASH_SHUTDOWN: Self = Self::new("57P02");
    pub const ADMIN_SHUTDOWN: Self = Self::new("57P01");
    pub const SYSTEM_ERROR: Self = Self::new("58000");
    pub const IO_ERROR: Self = Self::new("58030");
    pub const UNDEFINED_FILE: Self = Self::new("58P01");
    pub const INTERNAL_ERROR: Self = Self::new("XX000");
}

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
    /// Neither the client nor the statement says what a parameter is.
    #[error("could not determine data type of parameter ${0}")]
    UnknownParameter(usize),
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
            Self::UnknownParameter(_) => SqlState::INDETERMINATE_DATATYPE,
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
            Self::UnknownParameter(_) => "Cast the parameter, as in $1::integer.",
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

    /// The same, with its position moved to another text. `None` is no place there.
    pub fn placed(self, by: impl FnOnce(usize) -> Option<usize>) -> Self {
        match self {
            Self::Engine(error) => EngineError { position: error.position.and_then(by), ..error }.into(),
            Self::Syntax(error) => SyntaxError { position: by(error.position).unwrap_or_default(), ..error }.into(),
            other => other,
        }
    }
}
