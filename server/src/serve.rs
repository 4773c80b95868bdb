//! The server: listeners, a thread a connection, and an orderly end.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::auth::{Gate, LoginError, Users, UsersError};
use crate::cancel::{Reason, Registry};
use crate::engine::Engine;
use crate::error::Failure;
use crate::extended::Prepared;
use crate::limits::{LimitError, Limits};
use crate::listen::{Address, AddressError, Listener};
use crate::message::backend::Status;
use crate::observe::{self, Observer, Value, count};
use crate::session::Session;
use crate::socket::{Input, Output, Socket};
use crate::startup::{self, Purpose, Settings};
use crate::tls::{self, TlsError, TlsFiles};
use crate::watch::Watch;

/// How long [`Server::stop`] waits for sessions to tell their clients.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait before the next connection when one could not be accepted, so that a lack of descriptors does
/// not become a busy loop.
const PAUSE: Duration = Duration::from_millis(50);
/// So many connections may be on their way to a login at a time, or as many as there may be sessions.
const NEWCOMERS: usize = 128;

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
    /// Where `/metrics` and `/health` are, on this machine.
    pub metrics: Option<SocketAddr>,
}

impl Default for Options {
    fn default() -> Self {
        Self { encode_cpu: 1.0, users: None, tls: None, limits: Limits::default(), log: None, metrics: None }
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

struct Shared {
    engine: Arc<dyn Engine>,
    version: String,
    registry: Arc<Registry>,
    watch: Arc<Watch>,
    gate: Gate,
    observer: Arc<Observer>,
    tls: RwLock<Option<Arc<tls::Config>>>,
    limits: Arc<Limits>,
    encode_cpu: f64,
    /// Connections that are not sessions yet.
    newcomers: AtomicUsize,
    is_draining: AtomicBool,
    is_stopping: AtomicBool,
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
        let Options { encode_cpu, users, tls, limits, log, metrics } = options;
        if users.is_none() || tls.is_none() {
            for address in addresses {
                if let (Address::Tcp(far), false) = (address, address.is_local()) {
                    return Err(AddressError::NotProtected(*far).into());
                }
            }
        }
        let gate = Gate::new(users.as_deref().map(Users::read).transpose()?)?;
        let config = tls.as_ref().map(tls::Config::load).transpose()?;
        let observer = Observer::open(log.as_deref());
        let observer = observer.map_err(|error| ServeError::Log(log.unwrap_or_default(), error))?;
        let registry = Arc::new(Registry::default());
        // PostgreSQL's clients read the number in front; it says which version's protocol and manners to expect.
        let version = format!("15.0 (Colonnade {}, {})", env!("CARGO_PKG_VERSION"), engine.version());
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
        let _ = spawn("session", move || connection(newcomer, socket));
    }
}

/// A connection until it is a session, or nothing.
struct Newcomer {
    shared: Arc<Shared>,
}

impl Newcomer {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.newcomers.fetch_add(1, Ordering::SeqCst);
        Self { shared: Arc::clone(shared) }
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        self.shared.newcomers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// All that happens on one connection.
fn connection(newcomer: Newcomer, socket: Socket) {
    let socket = Arc::new(socket);
    let mut output = Output::new(Arc::clone(&socket));
    let observer = Arc::clone(&newcomer.shared.observer);
    let conversation = converse(newcomer, &socket, &mut output);
    if let Err(failure) = &conversation {
        refused(&observer, &socket, failure);
    }
    match conversation {
        Ok(()) => {}
        // Nobody is left to be told, or nothing may be said where a handshake has failed.
        Err(Failure::Disconnected(error)) if !is_timeout(&error) || socket.is_silent() => {}
        Err(Failure::Disconnected(_)) => startup::refuse(&mut output, &LoginError::Late.into()),
        Err(failure) => startup::refuse(&mut output, &failure),
    }
    socket.say_goodbye();
}

/// Writes down that a client was not let in, and why.
fn refused(observer: &Observer, socket: &Socket, failure: &Failure) {
    match failure {
        Failure::Login(LoginError::Password(_) | LoginError::TooManyFailures(_)) => count(&observer.failed_logins),
        Failure::Limit(_) => count(&observer.refusals),
        _ => {}
    }
    // The text of a login's failure names the user, and nothing that was to prove it.
    let (peer, reason) = (peer(socket), failure.to_string());
    let fields = [("peer", &*peer), ("code", failure.code().0), ("reason", &*reason)];
    observer.tell("refused", &fields.map(|(name, text)| (name, Value::Text(text))));
}

fn peer(socket: &Socket) -> String {
    socket.peer().map_or_else(|| "unix".to_owned(), |peer| peer.to_string())
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn converse(newcomer: Newcomer, socket: &Arc<Socket>, output: &mut Output) -> Result<(), Failure> {
    let shared = Arc::clone(&newcomer.shared);
    let mut input = Input::new(Arc::clone(socket));
    socket.prepare()?;
    socket.set_deadline(Instant::now().checked_add(shared.limits.login))?;
    let tls = shared.tls.read().unwrap_or_else(PoisonError::into_inner).clone();
    match startup::purpose(socket, &mut input, output, tls.as_deref())? {
        Purpose::Nothing => Ok(()),
        Purpose::Cancel { process, secret } => {
            let control = shared.registry.find(process, &secret);
            let stopping = control.as_ref().and_then(|control| control.stop(Reason::Canceled));
            // The client waits for the connection to end, not for the statement to; but only once its statement is
            // the one that is stopped may it go on to the next.
            socket.say_goodbye();
            socket.shutdown(std::net::Shutdown::Both);
            if let Some(stopping) = stopping {
                stopping.wait(None);
            }
            Ok(())
        }
        Purpose::Session(settings) => session(newcomer, socket, input, output, &settings),
    }
}

fn session(
    newcomer: Newcomer,
    socket: &Arc<Socket>,
    mut input: Input,
    output: &mut Output,
    settings: &Settings,
) -> Result<(), Failure> {
    let shared = Arc::clone(&newcomer.shared);
    if shared.is_draining.load(Ordering::SeqCst) {
        return Err(LimitError::Draining.into());
    }
    let who = shared.gate.login(socket, &mut input, output, &settings.user)?;
    socket.set_deadline(None)?;
    shared.registry.admit(&who, &shared.limits)?;
    let engine = shared.engine.session(&who)?;
    let (interrupt, observer) = (engine.interrupt_handle(), &shared.observer);
    let ticket = shared.registry.register(who, &shared.limits, observer, interrupt, Arc::clone(socket))?;
    drop(newcomer);
    count(&observer.logins);
    let begun = Instant::now();
    let (peer, role, tls) =
        (peer(socket), ticket.control.who.role.to_string(), socket.tls().map_or("no", |tls| tls.version()));
    let fields = [("peer", &*peer), ("user", &ticket.control.who.name), ("role", &role), ("tls", tls)];
    observer.tell("login", &fields.map(|(name, text)| (name, Value::Text(text))));
    shared.watch.add(socket.as_ref(), ticket.process)?;
    startup::welcome(output, settings, &shared.version, ticket.process, ticket.secret);
    let output = std::mem::replace(output, Output::new(Arc::clone(socket)));
    let (control, prepared) = (Arc::clone(&ticket.control), Prepared::default());
    let encode_cpu = shared.encode_cpu;
    Session { input, output, engine, control, status: Status::Idle, prepared, encode_cpu }.run();
    observer.sent.fetch_add(socket.sent(), Ordering::Relaxed);
    let fields = [
        ("peer", Value::Text(&peer)),
        ("user", Value::Text(&ticket.control.who.name)),
        ("seconds", Value::Seconds(begun.elapsed().as_secs_f64())),
        ("statements", Value::Number(ticket.control.statements())),
        ("sent", Value::Number(socket.sent())),
    ];
    observer.tell("end", &fields);
    Ok(())
}
