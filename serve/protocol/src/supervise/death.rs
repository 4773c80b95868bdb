//! The death of a worker: its log lines, its metrics, and the error for clients.

use std::fmt::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use rustix::net::{SendFlags, Shutdown, send, shutdown};

use crate::board::Record;
use crate::message::backend::{self, Messages, Report};
use crate::observe::{self, FieldValue, Log};
use crate::sqlstate::SqlState;

/// The unexpected end of a worker.
#[derive(Clone, Debug)]
pub(super) struct Death {
    pub reason: String,
    /// The number of its sessions.
    pub sessions: usize,
    /// The running statements: for each, the user and an outline.
    pub running: Vec<(String, String)>,
}

/// The maximum number of statements in `running`. A longer list would not help to find the cause.
const MAX_NAMED_STATEMENTS: usize = 16;

impl Death {
    /// `stuck` is the statement that did not stop, if the worker has ended itself for one.
    pub fn new(status: Option<ExitStatus>, records: &[Record], stuck: Record) -> Self {
        let stuck = Some(stuck).filter(|record| record.is_busy);
        let others = records.iter().filter(|record| record.is_busy && stuck.is_none());
        let busy = stuck.iter().chain(others);
        let running =
            busy.take(MAX_NAMED_STATEMENTS).map(|record| (record.user.clone(), observe::outline(&record.statement)));
        Self { reason: reason(status), sessions: records.len(), running: running.collect() }
    }

    pub fn log(&self, log: &Log) {
        let fields =
            [("reason", FieldValue::Text(&self.reason)), ("connections", FieldValue::Number(self.sessions as u64))];
        log.line("worker_died", &fields);
        for (user, statement) in &self.running {
            log.line("worker_died_during", &[("user", FieldValue::Text(user)), ("sql", FieldValue::Text(statement))]);
        }
    }
}

/// The exit status after a fatal error of the engine.
pub(crate) const ENGINE_FAILED_STATUS: i32 = 70;
/// The exit status after a statement did not stop.
pub(crate) const STATEMENT_STUCK_STATUS: i32 = 71;

fn reason(status: Option<ExitStatus>) -> String {
    match status.map(|status| (status.signal(), status.code())) {
        Some((Some(signal), _)) => match signal {
            libc::SIGSEGV => "SIGSEGV".to_owned(),
            libc::SIGABRT => "SIGABRT".to_owned(),
            libc::SIGBUS => "SIGBUS".to_owned(),
            libc::SIGKILL => "SIGKILL".to_owned(),
            other => format!("signal {other}"),
        },
        Some((None, Some(ENGINE_FAILED_STATUS))) => "the engine failed".to_owned(),
        Some((None, Some(STATEMENT_STUCK_STATUS))) => "a statement did not stop".to_owned(),
        Some((None, Some(code))) => format!("exit status {code}"),
        _ => "unknown".to_owned(),
    }
}

/// The number of deaths, and the time of the last one, in Prometheus's text form.
pub(super) fn metrics(deaths: u64, last: Option<&Death>) -> String {
    let mut text = format!(
        "# HELP colonnade_worker_restarts_total Number of times that the engine's process died and was restarted.\n\
         # TYPE colonnade_worker_restarts_total counter\ncolonnade_worker_restarts_total {deaths}\n"
    );
    let Some(last) = last else { return text };
    text.push_str(
        "# HELP colonnade_worker_last_death_info Reason of the last death, and the statements that ran, without values.\n\
         # TYPE colonnade_worker_last_death_info gauge\n",
    );
    let unknown = [(String::new(), String::new())];
    let running = if last.running.is_empty() { &unknown[..] } else { &last.running };
    for (user, statement) in running {
        let [reason, user, statement] = [&last.reason, user, statement].map(|text| escaped(text));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "colonnade_worker_last_death_info{{reason=\"{reason}\",user=\"{user}\",statement=\"{statement}\"}} 1"
        );
    }
    text
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Closes the connection of a client whose session is lost. A client that had received ReadyForQuery gets an error
/// first.
pub(super) fn disconnect_client(socket: &OwnedFd, record: &Record) {
    if record.is_ready {
        let mut message = Messages::default();
        let report = Report {
            severity: "FATAL",
            code: SqlState::CRASH_SHUTDOWN.as_str(),
            message: "terminating connection because the engine's process has ended",
            hint: Some("Connect again and repeat the statement; committed changes are kept."),
            ..Report::default()
        };
        backend::error_response(&mut message, &report);
        // It fails if the client does not read.
        let _ = send(socket, &message, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    }
    let _ = shutdown(socket, Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_death_has_a_reason() {
        let exited = |code: i32| reason(Some(ExitStatus::from_raw(code << 8)));
        assert_eq!(exited(ENGINE_FAILED_STATUS), "the engine failed");
        assert_eq!(exited(STATEMENT_STUCK_STATUS), "a statement did not stop");
        assert_eq!((exited(1).as_str(), reason(None).as_str()), ("exit status 1", "unknown"));
    }

    #[test]
    fn a_death_names_the_running_statements() {
        let busy = Record {
            is_busy: true,
            user: "eve \"x\"".to_owned(),
            statement: "select f('a value')".to_owned(),
            ..Record::default()
        };
        let death = Death::new(
            Some(ExitStatus::from_raw(libc::SIGSEGV)),
            &[Record::default(), busy.clone()],
            Record::default(),
        );
        assert_eq!((death.reason.as_str(), death.sessions), ("SIGSEGV", 2));
        let other = Record { user: "mallory".to_owned(), ..busy.clone() };
        let death_of_one = Death::new(None, &[busy], other);
        assert_eq!(death_of_one.running, [("mallory".to_owned(), "select f ( ? )".to_owned())]);
        let text = metrics(3, Some(&death));
        assert!(text.contains("colonnade_worker_restarts_total 3\n"));
        assert!(text.contains("{reason=\"SIGSEGV\",user=\"eve \\\"x\\\"\",statement=\"select f ( ? )\"} 1\n"));
        assert!(!text.contains("a value"));
        assert!(metrics(0, None).ends_with("_total 0\n"));
    }
}
