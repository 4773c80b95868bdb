//! Reports to the operator: a log, metrics, and the health of the server.

mod http;
mod log;
mod log_line;
mod log_sink;
mod statement;

use std::fmt::Write as _;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(crate) use http::{ServerState, answer};
pub use log::Log;
pub(crate) use log_line::FieldValue;
pub(crate) use statement::outline;

/// Counts since the start, and the log.
#[derive(Default)]
pub(crate) struct Observer {
    log: Option<Log>,
    logs_statements: bool,
    /// The supervisor's metrics, in the text form of /metrics.
    supervisor_metrics: String,
    pub connections: AtomicU64,
    pub logins: AtomicU64,
    /// Logins that failed: a wrong password, an unknown user, or too many attempts.
    pub failed_logins: AtomicU64,
    /// Connections that were refused because of a limit.
    pub refusals: AtomicU64,
    /// Statements that ran. Preparing one does not count.
    statements: AtomicU64,
    pub errors: AtomicU64,
    /// Results that came straight from the engine's memory.
    gathered: AtomicU64,
    /// Bytes sent in sessions that have ended.
    pub sent: AtomicU64,
}

/// The numbers of spooled results for the operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpoolCounts {
    /// Tickets that can be used.
    pub tickets: u64,
    /// Bytes of all spooled results.
    pub bytes: u64,
    /// Bytes of the user who has most.
    pub largest_user_bytes: u64,
    /// Spools begun since the start.
    pub begun: u64,
    /// Spools that a limit of the spool ended or prevented since the start.
    pub refused: u64,
    /// Parts sent since the start.
    pub parts_sent: u64,
}

impl Observer {
    /// `supervisor_metrics` are lines for /metrics, in Prometheus's text form.
    pub fn new(log: Option<Log>, logs_statements: bool, supervisor_metrics: String) -> Arc<Self> {
        Arc::new(Self { log, logs_statements, supervisor_metrics, ..Self::default() })
    }

    /// Writes a line, if there is a log.
    pub fn log_event(&self, event: &str, fields: &[(&str, FieldValue<'_>)]) {
        if let Some(log) = &self.log {
            log.line(event, fields);
        }
    }

    /// Writes further lines of the log to another file, if there is a log.
    pub fn replace_log(&self, descriptor: OwnedFd) {
        if let Some(log) = &self.log {
            // If no thread can be started, the old file stays.
            let _ = log.replace(descriptor);
        }
    }

    /// Counts a statement, and logs it if the operator has enabled that. Values of parameters are not logged.
    pub fn statement(&self, user: &str, statement: &str) {
        increment(&self.statements);
        if self.logs_statements {
            let shown = statement::loggable(statement);
            self.log_event("statement", &[("user", FieldValue::Text(user)), ("sql", FieldValue::Text(&shown))]);
        }
    }

    /// Counts a result of COPY by the way in which its rows come, and logs that beside the statement.
    pub fn result(&self, user: &str, is_gathered: bool) {
        if is_gathered {
            increment(&self.gathered);
        }
        if self.logs_statements {
            let way = if is_gathered { "vectors" } else { "stream" };
            self.log_event("result", &[("user", FieldValue::Text(user)), ("rows", FieldValue::Text(way))]);
        }
    }

    /// The metrics, in the form of <https://prometheus.io/docs/instrumenting/exposition_formats/>. `sessions` is the
    /// number of open sessions, and `sent` the number of bytes that they have sent.
    fn metrics(&self, sessions: usize, sent: u64, spools: &SpoolCounts) -> String {
        let mut text = String::new();
        let mut add = |kind: &str, name: &str, help: &str, value: u64| {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "# HELP colonnade_{name} {help}\n# TYPE colonnade_{name} {kind}\ncolonnade_{name} {value}\n"
            );
        };
        add("gauge", "sessions", "Open sessions.", sessions as u64);
        add("gauge", "spool_tickets", "Spooled results.", spools.tickets);
        add("gauge", "spool_bytes", "Bytes of all spooled results.", spools.bytes);
        add("gauge", "spool_largest_user_bytes", "Bytes of the user who has most of them.", spools.largest_user_bytes);
        let sent = self.sent.load(Relaxed) + sent;
        for (name, help, value) in [
            ("connections_total", "Connections accepted.", self.connections.load(Relaxed)),
            ("logins_total", "Sessions begun.", self.logins.load(Relaxed)),
            ("failed_logins_total", "Failed logins.", self.failed_logins.load(Relaxed)),
            ("refused_connections_total", "Connections refused because of a limit.", self.refusals.load(Relaxed)),
            ("statements_total", "Statements run.", self.statements.load(Relaxed)),
            ("errors_total", "Statements failed.", self.errors.load(Relaxed)),
            ("gathered_results_total", "Results taken from the engine's vectors.", self.gathered.load(Relaxed)),
            ("spools_total", "Results spooled.", spools.begun),
            ("spools_refused_total", "Results that a limit of the spool has ended.", spools.refused),
            ("spool_parts_sent_total", "Parts of spooled results that sessions have requested.", spools.parts_sent),
            ("sent_bytes_total", "Bytes sent to clients, before encryption.", sent),
        ] {
            add("counter", name, help, value);
        }
        text + &self.supervisor_metrics
    }
}

pub(crate) fn increment(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
