//! The supervisor listens and passes connections to the worker, which [`super::restart`] starts.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::board::Board;
use super::channel::{Channel, ChannelMessage};
use super::credentials::CredentialFiles;
use super::death::Death;
use super::helper::HelperProgram;
use super::listening;
use super::process::Program;
use crate::connection::listen::{AddressError, ListenAddress, Listener};
use crate::observe::{FieldValue, Log};
use crate::serve::ServeError;
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

/// A running supervisor. It stops on request, or when it is dropped.
pub struct Supervisor {
    shared: Arc<SupervisorContext>,
    listeners: Vec<Arc<Listener>>,
    threads: Vec<JoinHandle<()>>,
    addresses: Vec<ListenAddress>,
    metrics: Option<SocketAddr>,
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
    fn note_faults(&self, faults: &[ValidityFault]) {
        for fault in faults {
            let (path, reason) = (fault.path.display().to_string(), fault.to_string());
            let fields = [("path", &*path), ("reason", &*reason)];
            self.log_event("certificate", &fields.map(|(name, text)| (name, FieldValue::Text(text))));
        }
        self.state().warnings = faults.iter().map(ValidityFault::to_string).collect();
    }

    /// Sends a worker the present users, certificates and log. It fails if the worker is dying. The next one gets them at its start.
    pub fn send_reload(&self, state: &State, channel: &Channel) {
        let Some(credentials) = &state.credentials else { return };
        let log = self.log.as_ref().and_then(|log| log.descriptor().ok());
        let descriptors: Vec<_> =
            std::iter::once(credentials.as_fd()).chain(log.as_ref().map(|log| log.as_fd())).collect();
        let _ = channel.send(ChannelMessage::Reload, 0, &descriptors);
    }
}

impl Supervisor {
    /// Listens on all of `addresses`, and starts the first worker.
    ///
    /// # Errors
    /// If an address cannot be used, or needs encryption and users; if a file cannot be used; or if the worker ends before it is ready. In
    /// the last case, the worker has written the reason to standard error.
    pub fn start(addresses: &[ListenAddress], options: SupervisorOptions) -> Result<Self, ServeError> {
        if addresses.is_empty() {
            return Err(ServeError::NoAddress);
        }
        let files = &options.credentials;
        let remote = addresses.iter().find(|address| !address.is_local());
        if let (Some(ListenAddress::Tcp(remote)), true) = (remote, files.users.is_none() || files.tls.is_none()) {
            return Err(AddressError::NotProtected(*remote).into());
        }
        let credentials = files.read()?;
        let log = options.log.as_deref().map(Log::open).transpose();
        let log = log.map_err(|error| ServeError::Log(options.log.clone().unwrap_or_default(), error))?;
        let state = Mutex::new(State { credentials: Some(credentials.memory_file), ..State::default() });
        let metrics = options.metrics;
        let shared =
            SupervisorContext { options, log, state, changed: Condvar::new(), is_stopping: AtomicBool::new(false) };
        let (listeners, threads) = (Vec::new(), Vec::new());
        let mut own = Self { shared: Arc::new(shared), listeners, threads, addresses: Vec::new(), metrics: None };
        own.listen(addresses)?;
        if let Some(address) = metrics {
            own.listen_for_metrics(address)?;
        }
        own.shared.note_faults(&credentials.faults);
        own.start_worker()?;
        for listener in &own.listeners {
            own.threads.push(listening::start(&own.shared, listener)?);
        }
        Ok(own)
    }

    fn listen(&mut self, addresses: &[ListenAddress]) -> Result<(), ServeError> {
        // TCP first, because its port is a part of the socket file's name.
        let (tcp, unix): (Vec<_>, Vec<_>) =
            addresses.iter().partition(|address| matches!(address, ListenAddress::Tcp(_)));
        let mut port = None;
        for address in tcp.into_iter().chain(unix) {
            let listener = Arc::new(Listener::bind(address, port)?);
            self.listeners.push(Arc::clone(&listener));
            let address = listener.address()?;
            if let ListenAddress::Tcp(address) = address {
                port = Some(address.port());
            }
            self.addresses.push(address);
        }
        Ok(())
    }

    fn listen_for_metrics(&mut self, address: SocketAddr) -> Result<(), ServeError> {
        if !address.ip().is_loopback() {
            return Err(ServeError::RemoteMetrics(address));
        }
        let failed = |error| AddressError::Bind { address: address.to_string(), error };
        let listener = TcpListener::bind(address).map_err(failed)?;
        self.metrics = Some(listener.local_addr()?);
        self.listeners.push(Arc::new(Listener::Metrics(listener)));
        Ok(())
    }

    fn start_worker(&mut self) -> Result<(), ServeError> {
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name("worker".to_owned());
        self.threads.push(thread.spawn(move || shared.run_workers())?);
        let mut state = self.shared.state();
        while state.channel.is_none() {
            if let Some(status) = state.end {
                return Err(ServeError::Worker(status));
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Its addresses, with their actual ports.
    pub fn addresses(&self) -> &[ListenAddress] {
        &self.addresses
    }

    /// What the operator should know of the certificates that were read last.
    pub fn warnings(&self) -> Vec<String> {
        self.shared.state().warnings.clone()
    }

    /// The address of `/metrics` and `/health`, with its actual port.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// Reads users and certificates again, for new connections, and opens the log again. Open sessions stay.
    ///
    /// # Errors
    /// If one of the files cannot be used. Then nothing changes.
    pub fn reload(&self) -> Result<(), ServeError> {
        let (shared, options) = (&self.shared, &self.shared.options);
        let credentials = options.credentials.read()?;
        let failed = |error| ServeError::Log(options.log.clone().unwrap_or_default(), error);
        if let Some(log) = &shared.log
            && let Some(descriptor) = log.open_again().map_err(failed)?
        {
            log.replace(descriptor).map_err(failed)?;
        }
        let mut state = shared.state();
        state.credentials = Some(credentials.memory_file);
        state.reloads += 1;
        // A worker that is starting gets them when it is ready.
        if let Some(channel) = &state.channel {
            shared.send_reload(&state, channel);
        }
        drop(state);
        shared.note_faults(&credentials.faults);
        Ok(())
    }

    /// Refuses new sessions, and waits for the open ones to end after their statements and transactions. Gives whether all have ended
    /// within `grace`.
    pub fn drain(&self, grace: Duration) -> bool {
        let end = Instant::now() + grace;
        let mut state = self.shared.state();
        if !state.is_draining {
            state.is_draining = true;
            if let Some(channel) = &state.channel {
                let _ = channel.send(ChannelMessage::Drain, 0, &[]);
            }
        }
        loop {
            let rest = end.saturating_duration_since(Instant::now());
            if state.has_drained || rest.is_zero() {
                return state.has_drained;
            }
            state = self.shared.wait(state, rest);
        }
    }

    /// Refuses clients, interrupts running statements, and waits some seconds at most until the worker has ended. Gives whether all its
    /// sessions had ended.
    pub fn stop(&mut self) -> bool {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        self.listeners.drain(..).for_each(|listener| listener.close());
        let mut state = self.shared.state();
        if let Some(channel) = &state.channel {
            // It fails if the worker has died. Then its thread ends too.
            let _ = channel.send(ChannelMessage::Stop, 0, &[]);
        }
        self.shared.changed.notify_all();
        let end = Instant::now() + STOP_TIMEOUT;
        // Without a thread no worker was started, as after an address that cannot be used.
        while !self.threads.is_empty() && state.end.is_none() && Instant::now() < end {
            state = self.shared.wait(state, end.saturating_duration_since(Instant::now()));
        }
        if let Some(channel) = state.channel.take() {
            // The worker's thread stops reading messages, and kills the worker.
            channel.stop_receiving();
        }
        drop(state);
        for thread in self.threads.drain(..) {
            // A thread that panicked has ended too.
            let _ = thread.join();
        }
        self.shared.state().end.is_some_and(|status| status.success())
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_in_use_is_an_error_at_once() {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let program = Program { path: "/nonexistent".into(), arguments: Vec::new(), environment: Vec::new() };
        let credentials = CredentialFiles::default();
        let options =
            SupervisorOptions { program, helper: None, settings: Vec::new(), credentials, log: None, metrics: None };
        let begun = Instant::now();
        let started = Supervisor::start(&[ListenAddress::Tcp(other.local_addr().unwrap())], options);
        assert!(matches!(started.err(), Some(ServeError::Address(AddressError::PortInUse(_)))));
        assert!(begun.elapsed() < STOP_TIMEOUT);
    }
}
