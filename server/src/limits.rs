//! What one client, one user and all of them together may take.

use std::time::Duration;

use crate::error::SqlState;

/// The limits of a server; `None` is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sessions at a time. Each has a thread, and a session of the engine's.
    pub connections: usize,
    /// Sessions of one user at a time, where the user has no limit of its own.
    pub user_connections: Option<usize>,
    /// From connecting to the end of the login, as PostgreSQL's `authentication_timeout`.
    pub login: Duration,
    /// A statement's time, its result's way included.
    pub statement: Option<Duration>,
    /// Between statements.
    pub idle: Option<Duration>,
    /// Between statements of one transaction.
    pub idle_in_transaction: Option<Duration>,
    /// Bytes of one statement's result as they are sent, before encryption.
    pub result_bytes: Option<u64>,
}

impl Default for Limits {
    /// 256 sessions; a minute for the login, an hour for a statement, ten minutes within a transaction, twelve hours without one.
    fn default() -> Self {
        let hour = Duration::from_secs(3600);
        Self {
            connections: 256,
            user_connections: None,
            login: Duration::from_secs(60),
            statement: Some(hour),
            idle: Some(12 * hour),
            idle_in_transaction: Some(hour / 6),
            result_bytes: None,
        }
    }
}

/// A limit was reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// Of sessions.
    #[error("sorry, too many clients already")]
    Connections,
    /// Of one user's.
    #[error("too many connections for role \"{0}\"")]
    UserConnections(String),
    /// Of a statement's time.
    #[error("canceling statement due to statement timeout")]
    Statement,
    /// Of the time between two.
    #[error("terminating connection due to idle-session timeout")]
    Idle,
    /// Of the same within a transaction.
    #[error("terminating connection due to idle-in-transaction timeout")]
    IdleInTransaction,
    /// Of a result's size.
    #[error("canceling statement because its result is larger than {0} bytes")]
    Result(u64),
    /// No new sessions while the server waits for those that are there to end.
    #[error("the database system is shutting down")]
    Draining,
}

impl LimitError {
    /// The SQLSTATE a client is told.
    pub fn code(&self) -> SqlState {
        match self {
            Self::Connections | Self::UserConnections(_) => SqlState::TOO_MANY_CONNECTIONS,
            Self::Statement => SqlState::QUERY_CANCELED,
            Self::Idle => SqlState("57P05"),
            Self::IdleInTransaction => SqlState("25P03"),
            Self::Result(_) => SqlState::PROGRAM_LIMIT_EXCEEDED,
            Self::Draining => SqlState("57P03"),
        }
    }

    /// Whether the session ends with it.
    pub fn is_fatal(&self) -> bool {
        !matches!(self, Self::Statement | Self::Result(_))
    }

    /// What the user can do.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Statement | Self::Result(_) => "Select less, or ask the operator for a higher limit.",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
