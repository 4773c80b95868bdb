//! The quotas of one session, of one user, and of the server.

use std::path::PathBuf;
use std::time::Duration;

use crate::sqlstate::SqlState;

/// A limit on what the server keeps: the memory of a session (prepared statements, bound values, settings, savepoints,
/// rows of open portals, data of COPY), or space for results.
pub type Budget = colonnade_budget::Budget<LimitError>;
/// A part of a budget that is in use.
pub type Charge = colonnade_budget::Charge<LimitError>;
/// A value and its part of a budget.
pub type Charged<T> = colonnade_budget::Charged<T, LimitError>;

/// The limits of a server; `None` is no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Concurrent sessions. Each has a thread, and a session of the engine.
    pub connections: usize,
    /// Concurrent sessions of one user, unless the user has a limit of its own.
    pub user_connections: Option<usize>,
    /// Connections of one address that have not logged in; `None` is the number of sessions, at least 128.
    pub address_logins: Option<usize>,
    /// From connecting to the end of the login, as PostgreSQL's `authentication_timeout`.
    pub login: Duration,
    /// The time of a statement, including the transfer of its result.
    pub statement: Option<Duration>,
    /// The time between statements.
    pub idle: Option<Duration>,
    /// The time between statements of one transaction.
    pub idle_in_transaction: Option<Duration>,
    /// Bytes of one statement's result as they are sent, before encryption.
    pub result_bytes: Option<u64>,
    /// Bytes of memory that the server may use for one session, outside of the engine.
    pub session_memory: Option<usize>,
    /// Bytes of all results that are set aside in files while their sessions run other statements.
    pub spool_bytes: Option<usize>,
    /// The directory of these files; `None` sets results aside in their sessions' memory.
    pub spool_directory: Option<PathBuf>,
    /// Bytes of all spooled results, which have tickets.
    pub ticket_bytes: Option<usize>,
    /// Bytes of the spooled results of one user.
    pub user_ticket_bytes: Option<usize>,
    /// The directory of their files; `None` is the system's directory for temporary files.
    pub ticket_directory: Option<PathBuf>,
    /// How long a ticket lives after its last use.
    pub ticket_ttl: Option<Duration>,
}

impl Default for Limits {
    /// 256 sessions of 256 MiB; a minute for the login, an hour for a statement, ten idle minutes within a transaction,
    /// twelve idle hours outside of one; 10 GiB of spooled results, which live for an hour.
    fn default() -> Self {
        let hour = Duration::from_secs(3600);
        Self {
            connections: 256,
            user_connections: None,
            address_logins: None,
            login: Duration::from_secs(60),
            statement: Some(hour),
            idle: Some(12 * hour),
            idle_in_transaction: Some(hour / 6),
            result_bytes: None,
            session_memory: Some(256 << 20),
            spool_bytes: None,
            spool_directory: None,
            ticket_bytes: Some(10 << 30),
            user_ticket_bytes: None,
            ticket_directory: None,
            ticket_ttl: Some(hour),
        }
    }
}

/// A time limit that a session can lower with one of PostgreSQL's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// `statement_timeout`.
    Statement,
    /// `idle_in_transaction_session_timeout`.
    IdleInTransaction,
    /// `idle_session_timeout`.
    Idle,
}

/// A limit that is exceeded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// The number of sessions.
    #[error("sorry, too many clients already")]
    Connections,
    /// The number of one user's sessions.
    #[error("too many connections for role \"{0}\"")]
    UserConnections(String),
    /// The number of connections from one address that have not logged in.
    #[error("too many connections from this address that have not logged in")]
    AddressLogins,
    /// The time of a statement.
    #[error("canceling statement due to statement timeout")]
    Statement,
    /// The time between two statements.
    #[error("terminating connection due to idle-session timeout")]
    Idle,
    /// The time between two statements of a transaction.
    #[error("terminating connection due to idle-in-transaction timeout")]
    IdleInTransaction,
    /// The size of a result.
    #[error("canceling statement because its result is larger than {0} bytes")]
    Result(u64),
    /// The memory that the server uses for a session.
    #[error("the session would use more memory than --max-session-memory ({0} bytes)")]
    SessionMemory(usize),
    /// The size of all results that are set aside in files.
    #[error("canceling statement because results that are set aside would take more than --temp-size ({0} bytes)")]
    Spool(usize),
    /// The disk is full, so a result cannot be set aside.
    #[error(
        "canceling statement because the disk of --temp-directory is full; an earlier result must be set aside there"
    )]
    DiskFull,
    /// The size of all spooled results.
    #[error("canceling statement because spooled results would take more than --spool-size ({0} bytes)")]
    Tickets(usize),
    /// The size of one user's spooled results.
    #[error(
        "canceling statement because spooled results of this user would take more than --spool-user-size ({0} bytes)"
    )]
    UserTickets(usize),
    /// The number of tickets, or of a result's parts.
    #[error("more than {0} tickets, or parts of one result")]
    TicketCount(usize),
    /// The disk is full, so a result cannot be spooled.
    #[error("canceling statement because the disk of --spool-directory is full")]
    TicketDiskFull,
    /// The server accepts no new sessions, because it waits for the open ones to end.
    #[error("the database system is shutting down")]
    Draining,
}

impl LimitError {
    /// The SQLSTATE for the client.
    pub fn code(&self) -> SqlState {
        match self {
            Self::Connections | Self::UserConnections(_) | Self::AddressLogins => SqlState::TOO_MANY_CONNECTIONS,
            Self::Statement => SqlState::QUERY_CANCELED,
            Self::Idle => SqlState::new("57P05"),
            Self::IdleInTransaction => SqlState::new("25P03"),
            Self::Result(_) => SqlState::PROGRAM_LIMIT_EXCEEDED,
            Self::SessionMemory(_) => SqlState::OUT_OF_MEMORY,
            Self::Spool(_) | Self::Tickets(_) | Self::UserTickets(_) | Self::TicketCount(_) => SqlState::new("53400"),
            Self::DiskFull | Self::TicketDiskFull => SqlState::new("53100"),
            Self::Draining => SqlState::new("57P03"),
        }
    }

    /// Whether it ends the session.
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::Statement | Self::Result(_) | Self::SessionMemory(_) | Self::Spool(_) | Self::DiskFull => false,
            Self::Tickets(_) | Self::UserTickets(_) | Self::TicketCount(_) | Self::TicketDiskFull => false,
            Self::Connections | Self::UserConnections(_) | Self::AddressLogins => true,
            Self::Idle | Self::IdleInTransaction | Self::Draining => true,
        }
    }

    /// What the user can do.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Statement | Self::Result(_) => "Select less, or ask the operator for a higher limit.",
            Self::AddressLogins => {
                "Open fewer connections at a time, or ask the operator for a higher --max-address-logins."
            }
            Self::SessionMemory(_) => {
                "Close prepared statements and portals, send shorter messages, or ask the operator for more."
            }
            Self::Tickets(_) | Self::UserTickets(_) | Self::TicketDiskFull => {
                "Release tickets that are not needed (colonnade_release), spool less, or ask the operator for more."
            }
            Self::TicketCount(_) => "Release tickets that are not needed (colonnade_release), or ask for larger parts.",
            Self::Spool(_) | Self::DiskFull => {
                "Read the earlier result to its end first, or ask the operator for more."
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
