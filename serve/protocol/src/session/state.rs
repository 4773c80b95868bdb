//! The state of a session.

pub(crate) mod savepoints;

use std::sync::Arc;

use colonnade_sql::StatementKind;
use colonnade_wire::LinkEstimate;
use savepoints::Savepoints;

use crate::caller::Caller;
use crate::connection::cancel::Control;
use crate::connection::input::Input;
use crate::connection::output::Output;
use crate::engine::{Engine, EngineSession};
use crate::error::Failure;
use crate::message::backend::TransactionStatus;
use crate::rows::tickets::Tickets;
use crate::session::prepared::Prepared;
use crate::session::settings::Settings;
use crate::session::settings::modes::TransactionModes;

/// What of it belongs to the client, and does not outlast DISCARD ALL, is decided in `discard.rs`.
pub struct Session {
    pub input: Input,
    pub output: Output,
    pub database: Arc<dyn Engine>,
    pub engine: Box<dyn EngineSession>,
    /// The session's number for the client.
    pub process: i32,
    /// The settings of the start-up message.
    pub startup_settings: Arc<[(String, String)]>,
    /// Other threads stop the session with it. It has the session's quotas.
    pub control: Arc<Control>,
    /// The spooled results of all sessions.
    pub tickets: Arc<Tickets>,
    /// The session, for the functions that its statements call.
    pub caller: Arc<Caller>,
    pub transaction: TransactionState,
    pub prepared: Prepared,
    pub settings: Settings,
    pub reported: Reported,
    /// The share of a CPU to encode results, unless the client sets it.
    pub encode_cpu: f64,
    /// The estimate of the link from earlier results.
    pub link_estimate: Option<LinkEstimate>,
}

#[derive(Default)]
pub struct TransactionState {
    pub status: TransactionStatus,
    /// Whether the session has begun a transaction, for the statements since the last Sync or for a query string.
    pub is_pipeline: bool,
    /// Whether no statement of the client has run in the transaction, its own or that of the session.
    pub is_unused: bool,
    /// Its modes, if one is open.
    pub modes: TransactionModes,
    pub savepoints: Savepoints,
}

/// The last reported parameters of a source.
#[derive(Default)]
pub struct Reported {
    pub dialect: &'static str,
    pub time_zone: String,
}

impl TransactionState {
    /// Whether the client has begun a transaction.
    pub fn is_open(&self) -> bool {
        self.status != TransactionStatus::Idle
    }

    /// Whether statements run in a transaction, which the client or the session has begun.
    pub fn is_any(&self) -> bool {
        self.is_open() || self.is_pipeline
    }

    /// Whether the session has begun a transaction. Afterwards it no longer counts as the session's.
    pub fn take_pipeline(&mut self) -> bool {
        std::mem::take(&mut self.is_pipeline)
    }

    /// Notes that a statement has failed.
    pub fn fail(&mut self) {
        if self.status == TransactionStatus::InTransaction {
            self.status = TransactionStatus::Failed;
        }
    }
}

impl Session {
    /// Refuses all statements in a failed transaction, except those that end it.
    pub fn check_transaction(&self, kind: &StatementKind) -> Result<(), Failure> {
        // Statements about savepoints check it themselves.
        let is_end = matches!(kind, StatementKind::Commit { .. } | StatementKind::Rollback { .. } | StatementKind::Savepoint(_))
            // A source applies its own rule.
            || self.engine.source().is_some();
        if self.transaction.status == TransactionStatus::Failed && !is_end {
            Err(Failure::AbortedTransaction)
        } else {
            Ok(())
        }
    }

    /// Removes savepoints, and the portals that end with the transaction.
    pub fn forget_portals(&mut self, commits: bool) {
        self.transaction.savepoints.clear();
        self.prepared.forget_portals(commits);
    }
}
