//! What the threads of the supervisor share.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::channel::{Channel, ChannelMessage};
use super::death::Death;
use super::helper::HelperProgram;
use super::process::Program;
use crate::board::Board;
use crate::credentials::CredentialFiles;
use crate::observe::{FieldValue, Log};
use crate::tls::ValidityFault;

/// How long a worker may take to end its sessions after it was told to stop.
pub(super) const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The options of a supervisor.
#[derive(Clone, Debug)]
pub struct SupervisorOptions {
    /// How to start a worker.
    pub program: Program,
    /// How to start the helpers that the worker asks for.
    pub helper: Option<HelperProgram>,
    /// The settings of the worker, which the supervisor does not read ([`crate::Worker::settings`]).
    pub settings: Vec<u8>,
    /// The files of users and certificates.
    pub credentials: CredentialFiles,
    /// A file for the log, or `-` for standard error.
    pub log: Option<PathBuf>,
    /// The address of `/metrics` and `/health`, on this machine.
    pub metrics: Option<SocketAddr>,
}

/// The state that the supervisor's threads share.
pub(super) struct SupervisorContext {
    pub options: SupervisorOptions,
    pub log: Option<Log>,
    state: Mutex<State>,
    pub changed: Condvar,
    pub is_stopping: AtomicBool,
}

#[derive(Default)]
pub(super) struct State {
    /// Users and certificates, for the next worker.
    pub credentials: Option<std::fs::File>,
    /// What is wrong with the certificates, as texts.
    pub warnings: Vec<String>,
    /// How often they were read again.
    pub reloads: u64,
    /// The channel to the worker, while one is ready.
    pub channel: Option<Arc<Channel>>,
    pub board: Option<Arc<Board>>,
    /// Duplicates of the worker's sockets, by slot.
    pub sockets: BTreeMap<u32, OwnedFd>,
    /// Sockets that the last worker had not taken when it died.
    pub not_taken: Vec<OwnedFd>,
    /// Whether a worker has become ready.
    pub was_ever_ready: bool,
    pub is_draining: bool,
    pub has_drained: bool,
    pub deaths: u64,
    pub last_death: Option<Death>,
    /// The exit status of the last worker, after which none is started.
    pub end: Option<ExitStatus>,
}

impl SupervisorContext {
    /// `credentials` are users and certificates, for the first worker.
    pub fn new(options: SupervisorOptions, log: Option<Log>, credentials: std::fs::File) -> Self {
        let state = Mutex::new(State { credentials: Some(credentials), ..State::default() });
        Self { options, log, state, changed: Condvar::new(), is_stopping: AtomicBool::new(false) }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn wait<'a>(&'a self, state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Passes a client to the worker. If no worker is ready within `timeout`, gives the client back.
    pub fn pass_client(&self, socket: OwnedFd, timeout: Duration) -> Result<(), OwnedFd> {
        let end = Instant::now() + timeout;
        let mut state = self.state();
        let channel = loop {
            if let Some(channel) = &state.channel {
                break Arc::clone(channel);
            }
            let rest = end.saturating_duration_since(Instant::now());
            if rest.is_zero() || self.is_stopping.load(Ordering::SeqCst) {
                return Err(socket);
            }
            state = self.wait(state, rest);
        };
        // The lowest free number, so that the board stays small.
        let slot = (0..).zip(state.sockets.keys()).find(|(free, used)| free != *used).map(|(free, _)| free);
        let slot = slot.unwrap_or(state.sockets.len() as u32);
        let Ok(duplicate) = socket.try_clone() else { return Err(socket) };
        state.board.iter().for_each(|board| board.note_sent_to_worker(slot));
        state.sockets.insert(slot, duplicate);
        drop(state);
        // It fails if the worker has just died. Then the next worker gets the client.
        let _ = channel.send(ChannelMessage::Client, slot, &[socket.as_fd()]);
        Ok(())
    }

    /// Passes a request for metrics to the worker. If no worker is ready, gives the request back.
    pub fn pass_metrics_request(&self, socket: OwnedFd) -> Result<(), OwnedFd> {
        let channel = self.state().channel.clone();
        match channel.map(|channel| channel.send(ChannelMessage::Metrics, 0, &[socket.as_fd()])) {
            Some(Ok(())) => Ok(()),
            _ => Err(socket),
        }
    }

    /// Writes a line, if there is a log.
    pub fn log_event(&self, event: &str, fields: &[(&str, FieldValue<'_>)]) {
        if let Some(log) = &self.log {
            log.line(event, fields);
        }
    }

    /// Logs and keeps what clients will find wrong with the certificates.
    pub fn note_faults(&self, faults: &[ValidityFault]) {
        for fault in faults {
            let (path, reason) = (fault.path.display().to_string(), fault.to_string());
            let fields = [("path", &*path), ("reason", &*reason)];
            self.log_event("certificate", &fields.map(|(name, text)| (name, FieldValue::Text(text))));
        }
        self.state().warnings = faults.iter().map(ValidityFault::to_string).collect();
    }

    /// Sends a worker the present users, certificates and log. It fails if the worker is dying. The next one gets them
    /// at its start.
    pub fn send_reload(&self, state: &State, channel: &Channel) {
        let Some(credentials) = &state.credentials else { return };
        let log = self.log.as_ref().and_then(|log| log.descriptor().ok());
        let descriptors: Vec<_> =
            std::iter::once(credentials.as_fd()).chain(log.as_ref().map(|log| log.as_fd())).collect();
        let _ = channel.send(ChannelMessage::Reload, 0, &descriptors);
    }
}
