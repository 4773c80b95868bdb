//! The server: listeners, a thread a connection, and an orderly end.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::auth::{Gate, Users, UsersError};
use crate::connection::{Newcomer, connection};
use crate::engine::Engine;
use crate::limits::{LimitError, Limits};
use crate::listen::{Address, AddressError, Listener};
use crate::observe::{self, Observer, count};
use crate::registry::Registry;
use crate::socket::Output;
use crate::startup;
use crate::tls::{self, TlsError, TlsFiles};
use crate::watch::Watch;

/// How long [`Server::stop`] waits for sessions to tell their clients.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait before the next connection when one could not be accepted, so that a lack of descriptors does
/// not become a busy loop.
const PAUSE: Duration = Duration::from_millis(50);
/// So many connections may be on their way to a login at a time, or as many as there may be sessions.
const NEWCOMERS: usize = 128;
/// DuckDB parses and binds on the session's thread, by recursion: docs/serving.md, "Depth". It is reserved, not touched.
const SESSION_STACK: usize = 16 << 20;

/// What a server is to be like.
#[derive(Clone, Debug)]
pub struct Options {
    /// The share of a CPU, from 0 to 1, that encoding may take for one client, where the client leaves it to the server.
    pub encode_cpu: f64,
    /// Who may come in. Without a file everybody may who gets there, and only those on this machine get there.
    pub users: Option<PathBuf>,
    /// With what to encrypt.
    pub tls: Option<TlsFiles>,
    /// How much of what there may be.
    pub limits: Limits,
    /// A file for the log, or `-` for standard error.
    pub log: Option<PathBuf>,
    /// Whether statements are in it.
    pub log_statements: bool,
    /// Where `/metrics` and `/health` are, on this machine.
    pub metrics: Option<SocketAddr>,
}

impl Default for Options {
    fn default() -> Self {
        let (limits, log_statements) = (Limits::default(), false);
        Self { encode_cpu: 1.0, users: None, tls: None, limits, log: None, log_statements, metrics: None }
    }
}

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address cannot be listened on.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// There is no address to listen on.
    #[error("no address to listen on; give an address with a port or a unix socket")]
    NoAddress,
    /// The users file is of no use.
    #[error(transparent)]
    Users(#[from] UsersError),
    /// There can be no encryption.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The numbers are nobody else's business.
    #[error(
        "will not show metrics on {0}: they are neither encrypted nor protected by a password; use a loopback address"
    )]
    FarMetrics(SocketAddr),
    /// The log cannot be opened.
    #[error("cannot write the log to {0}: {1}")]
    Log(PathBuf, io::Error),
    /// The operating system refuses threads or descriptors.
    #[error("cannot start the server: {0}")]
    Io(#[from] io::Error),
}

/// A running server. It stops when told to, or when dropped.
pub struct Server {
    shared: Arc<Shared>,
    listeners: Vec<Arc<Listener>>,
    threads: Vec<thread::JoinHandle<()>>,
    addresses: Vec<Address>,
    metrics: Option<SocketAddr>,
    users: Option<PathBuf>,
    tls: Option<TlsFiles>,
}

/// What connections share.
pub(crate) struct Shared {
    pub engine: Arc<dyn Engine>,
    pub version: String,
    pub registry: Arc<Registry>,
    pub watch: Arc<Watch>,
    pub gate: Gate,
    pub observer: Arc<Observer>,
    pub tls: RwLock<Option<Arc<tls::Config>>>,
    pub limits: Arc<Limits>,
    pub encode_cpu: f64,
    /// Connections that are not sessions yet.
    pub newcomers: AtomicUsize,
    pub is_draining: AtomicBool,
    pub is_stopping: AtomicBool,
}

impl Server {
    /// Starts to listen on all of `addresses` and to answer with `engine`.
    ///
    /// # Errors
    /// If one of the addresses cannot be listened on, must not be without encryption and users, or a file is of no use.
    pub fn start(engine: Arc<dyn Engine>, addresses: &[Address], options: Options) -> Result<Self, ServeError> {
        if addresses.is_empty() {
            return Err(ServeError::NoAddress);
        }
        let Options { encode_cpu, users, tls, limits, log, log_statements, metrics } = options;
        if users.is_none() || tls.is_none() {
            for address in addresses {
                if let (Address::Tcp(far), false) = (address, address.is_local()) {
                    return Err(AddressError::NotProtected(*far).into());
                }
            }
        }
        let gate = Gate::new(users.as_deref().map(Users::read).transpose()?)?;
        let config = tls.as_ref().map(tls::Config::load).transpose()?;
        let observer = Observer::open(log.as_deref(), log_statements);
        let observer = observer.map_err(|error| ServeError::Log(log.unwrap_or_default(), error))?;
        let registry = Arc::new(Registry::default());
        // PostgreSQL's clients read the number in front; it says which version's protocol and manners to expect.
        let postgres = engine.postgres_version();
        let version = format!("{postgres} (Colonnade {}, {})", env!("CARGO_PKG_VERSION"), engine.version());
        let watch = Watch::start(Arc::clone(&registry))?;
        let shared = Arc::new(Shared {
            engine,
            version,
            registry,
            watch,
            gate,
            observer,
            tls: RwLock::new(config.map(Arc::new)),
            limits: Arc::new(limits),
            encode_cpu,
            newcomers: AtomicUsize::new(0),
            is_draining: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
        });
        let (listeners, threads) = (Vec::new(), Vec::new());
        let mut server = Self { shared, listeners, threads, addresses: Vec::new(), metrics: None, users, tls };
        // TCP first: its port names the socket file.
        let (tcp, unix): (Vec<_>, Vec<_>) = addresses.iter().partition(|address| matches!(address, Address::Tcp(_)));
        let mut port = None;
        for address in tcp.into_iter().chain(unix) {
            let listener = Arc::new(Listener::bind(address, port)?);
            server.listeners.push(Arc::clone(&listener));
            let address = listener.address()?;
            if let Address::Tcp(address) = address {
                port = Some(address.port());
            }
            server.addresses.push(address);
        }
        for listener in &server.listeners {
            let (shared, listener) = (Arc::clone(&server.shared), Arc::clone(listener));
            server.threads.push(spawn("listen", move || accept(&shared, &listener))?);
        }
        if let Some(address) = metrics {
            server.show_metrics(address)?;
        }
        Ok(server)
    }

    fn show_metrics(&mut self, address: SocketAddr) -> Result<(), ServeError> {
        if !address.ip().is_loopback() {
            return Err(ServeError::FarMetrics(address));
        }
        let failed = |error| AddressError::Bind { address: address.to_string(), error };
        let listener = TcpListener::bind(address).map_err(failed)?;
        self.metrics = Some(listener.local_addr()?);
        let listener = Arc::new(listener);
        self.listeners.push(Arc::new(Listener::Metrics(Arc::clone(&listener))));
        let shared = Arc::clone(&self.shared);
        self.threads.push(spawn("metrics", move || {
            let is_welcoming = || !shared.is_draining.load(Ordering::SeqCst);
            let state = || (shared.registry.len(), shared.registry.sent(), is_welcoming());
            observe::serve(&listener, &shared.observer, state, || shared.is_stopping.load(Ordering::SeqCst));
        })?);
        Ok(())
    }

    /// Where `/metrics` and `/health` are, the port filled in.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// Where it listens, ports filled in.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// How many sessions there are now.
    pub fn sessions(&self) -> usize {
        self.shared.registry.len()
    }

    /// Reads the users file and the certificates again, for connections from now on. Sessions that are there stay.
    ///
    /// # Errors
    /// If one of the files is of no use; then everything stays as it was.
    pub fn reload(&self) -> Result<(), ServeError> {
        let users = self.users.as_deref().map(Users::read).transpose()?;
        let config = self.tls.as_ref().map(tls::Config::load).transpose()?;
        if let Some(users) = users {
            self.shared.gate.replace(users);
        }
        if let Some(config) = config {
            *self.shared.tls.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(config));
        }
        Ok(())
    }

    /// Refuses new sessions from now on, and waits until those that are there have done what they are at: their statements, and their
    /// transactions. Gives whether all of them have ended within `grace`.
    pub fn drain(&self, grace: Duration) -> bool {
        self.shared.is_draining.store(true, Ordering::SeqCst);
        let end = Instant::now() + grace;
        loop {
            self.shared.registry.end_idle();
            let rest = end.saturating_duration_since(Instant::now());
            if self.shared.registry.wait_until_empty(rest.min(PAUSE)) {
                return true;
            }
            if rest.is_zero() {
                return false;
            }
        }
    }

    /// Takes no more clients, interrupts what runs, and waits a few seconds at most until all sessions have ended.
    pub fn stop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        self.listeners.drain(..).for_each(|listener| listener.close());
        for thread in self.threads.drain(..) {
            // A thread that panicked has ended too.
            let _ = thread.join();
        }
        self.shared.registry.end_all(PATIENCE);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

fn accept(shared: &Arc<Shared>, listener: &Listener) {
    while !shared.is_stopping.load(Ordering::SeqCst) {
        let Ok(socket) = listener.accept() else {
            if !shared.is_stopping.load(Ordering::SeqCst) {
                thread::sleep(PAUSE);
            }
            continue;
        };
        count(&shared.observer.connections);
        let newcomer = Newcomer::new(shared);
        if shared.newcomers.load(Ordering::SeqCst) > NEWCOMERS.max(shared.limits.connections) {
            count(&shared.observer.refusals);
            startup::refuse(&mut Output::new(Arc::new(socket)), &LimitError::Connections.into());
            continue;
        }
        // Without a thread there is no session; the client sees its connection closed.
        let session = thread::Builder::new().name("session".to_owned()).stack_size(SESSION_STACK);
        let _ = session.spawn(move || connection(newcomer, socket));
    }
}
