//! The supervisor listens, passes connections to the worker, and restarts the worker after its death.

use std::collections::BTreeMap;
use std::io;
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
use super::death::{self, Death, disconnect_client};
use super::helper::{HelperProgram, Helpers};
use super::listening;
use super::process::{Process, Program, Setup};
use crate::connection::listen::{AddressError, ListenAddress, Listener};
use crate::observe::{FieldValue, Log};
use crate::serve::ServeError;

/// How long a worker may take to end its sessions after it was told to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause before a worker is started if the last one did not become ready. It doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

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
    options: SupervisorOptions,
    log: Option<Log>,
    state: Mutex<State>,
    changed: Condvar,
    pub is_stopping: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Users and certificates, for the next worker.
    credentials: Option<std::fs::File>,
    /// The channel to the worker, while one is ready.
    channel: Option<Arc<Channel>>,
    board: Option<Arc<Board>>,
    /// Duplicates of the worker's sockets, by slot.
    sockets: BTreeMap<u32, OwnedFd>,
    /// Sockets that the last worker had not taken when it died.
    not_taken: Vec<OwnedFd>,
    /// Whether a worker has become ready.
    was_ever_ready: bool,
    is_draining: bool,
    has_drained: bool,
    deaths: u64,
    last_death: Option<Death>,
    /// The exit status of the last worker, after which none is started.
    end: Option<ExitStatus>,
}

impl SupervisorContext {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
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

    fn log_event(&self, event: &str, fields: &[(&str, FieldValue<'_>)]) {
        if let Some(log) = &self.log {
            log.line(event, fields);
        }
    }

    /// Starts workers, one after the other, until the supervisor stops. One thread starts all of them, because the kernel kills a worker
    /// when the thread that started it ends (`PR_SET_PDEATHSIG`).
    fn run_workers(&self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let (status, was_ready) = match self.run_worker() {
                Ok((status, was_ready)) => (Some(status), was_ready),
                Err(error) => {
                    self.log_event("worker_failed", &[("reason", FieldValue::Text(&error.to_string()))]);
                    (None, false)
                }
            };
            let mut state = self.state();
            let is_over = self.is_stopping.load(Ordering::SeqCst) || state.is_draining || !state.was_ever_ready;
            if is_over {
                state.has_drained = true;
                state.end = Some(status.unwrap_or_default());
                self.changed.notify_all();
                return;
            }
            if was_ready {
                pause = FIRST_PAUSE;
                continue;
            }
            let end = Instant::now() + pause;
            pause = (pause * 2).min(LONGEST_PAUSE);
            while Instant::now() < end && !self.is_stopping.load(Ordering::SeqCst) {
                state = self.wait(state, end.saturating_duration_since(Instant::now()));
            }
        }
    }

    /// Starts a worker and reads its messages until it ends. Gives its exit status, and whether it had become ready.
    fn run_worker(&self) -> io::Result<(ExitStatus, bool)> {
        let begun = Instant::now();
        let board = Arc::new(Board::new()?);
        let (setup, credentials) = {
            let mut state = self.state();
            state.board = Some(Arc::clone(&board));
            let metrics = death::metrics(state.deaths, state.last_death.as_ref());
            let credentials = state.credentials.as_ref().map(std::fs::File::try_clone).transpose()?;
            (Setup { settings: self.options.settings.clone(), metrics }, credentials)
        };
        let credentials = credentials.ok_or(io::ErrorKind::InvalidInput)?;
        let (mut process, channel) =
            Process::start(&self.options.program, &board, &setup, &credentials, self.log.as_ref())?;
        let (channel, mut was_ready, mut helpers) = (Arc::new(channel), false, Helpers::default());
        while let Ok(Some(received)) = channel.receive() {
            let mut state = self.state();
            match received.message {
                ChannelMessage::Ready => {
                    was_ready = true;
                    state.was_ever_ready = true;
                    state.channel = Some(Arc::clone(&channel));
                    self.repeat_requests(&state, &channel);
                    let id = FieldValue::Number(process.id().into());
                    self.log_event(
                        "worker",
                        &[("pid", id), ("seconds", FieldValue::Seconds(begun.elapsed().as_secs_f64()))],
                    );
                    let not_taken = std::mem::take(&mut state.not_taken);
                    drop(state);
                    // If a socket cannot be passed on, this worker has died too, and the socket is closed.
                    not_taken.into_iter().for_each(|socket| drop(self.pass_client(socket, Duration::ZERO)));
                }
                ChannelMessage::Ended => drop(state.sockets.remove(&received.slot)),
                ChannelMessage::Drained => state.has_drained = true,
                ChannelMessage::StartHelper => {
                    drop(state);
                    if let Err(error) = helpers.answer(self.options.helper.as_ref(), &channel) {
                        self.log_event("helper_failed", &[("reason", FieldValue::Text(&error.to_string()))]);
                    }
                }
                _ => {}
            }
            self.changed.notify_all();
        }
        // The worker has closed its end of the channel, so it is exiting or dead.
        let status = process.end_within(STOP_TIMEOUT)?;
        let mut state = self.state();
        state.channel = None;
        let sockets = std::mem::take(&mut state.sockets);
        let records: Vec<_> = sockets.keys().map(|slot| board.record(*slot)).collect();
        if was_ready && !self.is_stopping.load(Ordering::SeqCst) {
            let death = Death::new(Some(status), &records, board.stuck_statement());
            self.log.iter().for_each(|log| death.log(log));
            state.deaths += 1;
            state.last_death = Some(death);
        }
        for (socket, record) in sockets.into_values().zip(&records) {
            // The next worker can serve a connection that this one had not taken.
            if record.is_not_taken && !self.is_stopping.load(Ordering::SeqCst) {
                state.not_taken.push(socket);
            } else {
                disconnect_client(&socket, record);
            }
        }
        Ok((status, was_ready))
    }

    /// Tells a worker that has just become ready what was requested while none was.
    fn repeat_requests(&self, state: &State, channel: &Channel) {
        let requests = [
            (self.is_stopping.load(Ordering::SeqCst), ChannelMessage::Stop),
            (state.is_draining, ChannelMessage::Drain),
        ];
        if let Some((_, request)) = requests.into_iter().find(|(is_requested, _)| *is_requested) {
            // It fails if the worker has died. Then its thread ends too.
            let _ = channel.send(request, 0, &[]);
        }
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
        let credentials = Some(files.read()?);
        let log = options.log.as_deref().map(Log::open).transpose();
        let log = log.map_err(|error| ServeError::Log(options.log.clone().unwrap_or_default(), error))?;
        let state = Mutex::new(State { credentials, ..State::default() });
        let metrics = options.metrics;
        let shared =
            SupervisorContext { options, log, state, changed: Condvar::new(), is_stopping: AtomicBool::new(false) };
        let (listeners, threads) = (Vec::new(), Vec::new());
        let mut own = Self { shared: Arc::new(shared), listeners, threads, addresses: Vec::new(), metrics: None };
        own.listen(addresses)?;
        if let Some(address) = metrics {
            own.listen_for_metrics(address)?;
        }
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

    /// The address of `/metrics` and `/health`, with its actual port.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// Reads users and certificates again, for new connections. Open sessions stay.
    ///
    /// # Errors
    /// If one of the files cannot be used. Then nothing changes.
    pub fn reload(&self) -> Result<(), ServeError> {
        let credentials = self.shared.options.credentials.read()?;
        let mut state = self.shared.state();
        if let Some(channel) = &state.channel {
            // It fails if the worker is dying. The next one gets them at its start.
            let _ = channel.send(ChannelMessage::Reload, 0, &[credentials.as_fd()]);
        }
        state.credentials = Some(credentials);
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
        while state.end.is_none() && Instant::now() < end {
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
