//! The server: a thread for each client's socket, and an orderly shutdown.

pub(crate) mod context;
pub(crate) mod error;

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use crate::auth::Authenticator;
use crate::connection;
use crate::connection::output::Output;
use crate::connection::pending_login::PendingLogins;
use crate::connection::process_exit::ExitCause;
use crate::connection::registry::Registry;
use crate::connection::socket::Socket;
use crate::connection::startup;
use crate::connection::watch::Watch;
use crate::credentials::Credentials;
use crate::engine::Engine;
use crate::limits::Limits;
use crate::memory::{MemoryShare, allocate_thread_locals};
use crate::observe::{self, Log, Observer, increment};
use crate::rows::spool::Spools;
use crate::rows::tickets::Tickets;

use context::ServerContext;
pub use error::ServeError;

/// How long [`Server::stop`] waits for sessions to send their clients an error, and then again for their end.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// How often [`Server::drain`] looks for sessions that have become idle.
const DRAIN_INTERVAL: Duration = Duration::from_millis(50);
/// The stack of a session's thread. DuckDB parses and binds on it by recursion (docs/reference/server.md, "Depth"). The
/// kernel provides only the pages that are used.
const SESSION_STACK_BYTES: usize = 16 << 20;

/// The options of a server.
#[derive(Debug)]
pub struct ServeOptions {
    /// The share of a CPU, from 0 to 1, to encode the result for one client. The client can change it.
    pub encode_cpu: f64,
    /// The quotas.
    pub limits: Limits,
    /// The log of events.
    pub log: Option<Log>,
    /// Whether statements are logged.
    pub log_statements: bool,
    /// More lines for /metrics, in Prometheus's text form.
    pub metrics: String,
}

impl Default for ServeOptions {
    fn default() -> Self {
        let (limits, log_statements) = (Limits::default(), false);
        Self { encode_cpu: 1.0, limits, log: None, log_statements, metrics: String::new() }
    }
}

/// A running server. Its clients are passed to it. It stops on request, or when it is dropped.
pub struct Server {
    shared: Arc<ServerContext>,
}

impl Server {
    /// Starts a server for `engine`.
    ///
    /// # Errors
    /// If the operating system provides no threads or random numbers.
    pub fn start(engine: Arc<dyn Engine>, credentials: Credentials, options: ServeOptions) -> Result<Self, ServeError> {
        let ServeOptions { encode_cpu, limits, log, log_statements, metrics } = options;
        let registry = Arc::new(Registry::default());
        // PostgreSQL's clients read the first number, and expect the protocol and the catalog of that version.
        let postgres = engine.postgres_version();
        let version = format!("{postgres} (Colonnade {}, {})", env!("CARGO_PKG_VERSION"), engine.version());
        let tickets = Tickets::new(&limits);
        let watch = Watch::start(Arc::clone(&registry), Arc::clone(&tickets))?;
        let shared = ServerContext {
            engine,
            version,
            registry,
            watch,
            authenticator: Authenticator::new(credentials.users),
            observer: Observer::new(log, log_statements, metrics),
            tls: RwLock::new(credentials.tls.map(Arc::new)),
            pending_logins: PendingLogins::new(&limits),
            spools: Spools::new(&limits),
            tickets,
            locks: Arc::default(),
            notifications: Arc::default(),
            limits: Arc::new(limits),
            encode_cpu,
            is_draining: AtomicBool::new(false),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Takes over a client's connected socket, TCP or unix.
    ///
    /// # Errors
    /// If it is no socket.
    pub fn connect(&self, client: OwnedFd) -> io::Result<()> {
        self.serve_client(client.try_into()?, ());
        Ok(())
    }

    /// Serves a client on a new thread. `end` is dropped when the connection ends.
    pub(crate) fn serve_client(&self, socket: Socket, end: impl Send + 'static) {
        let shared = &self.shared;
        increment(&shared.observer.connections);
        let socket = Arc::new(socket);
        let pending = match shared.pending_logins.admit(&socket) {
            Ok(pending) => pending,
            Err(error) => {
                increment(&shared.observer.refusals);
                return startup::refuse(&mut Output::new(socket), &error.into());
            }
        };
        let (shared, memory) = (Arc::clone(shared), MemoryShare::new(SESSION_STACK_BYTES));
        // If no thread can be started, the connection is closed.
        let _ = thread::Builder::new().name("session".to_owned()).stack_size(SESSION_STACK_BYTES).spawn(move || {
            allocate_thread_locals();
            connection::serve(&shared, pending, &socket);
            drop((end, memory));
        });
    }

    /// Answers a request for metrics or health.
    pub(crate) fn answer_metrics(&self, stream: TcpStream) {
        let shared = Arc::clone(&self.shared);
        let answer = move || {
            let state = || observe::ServerState::Serving {
                observer: &shared.observer,
                sessions: shared.registry.len(),
                sent: shared.registry.sent(),
                spools: shared.tickets.counts(),
                accepts_sessions: !shared.is_draining.load(Ordering::SeqCst),
            };
            // An invalid request gets no answer.
            let _ = observe::answer(&stream, state);
        };
        let _ = thread::Builder::new().name("metrics".to_owned()).spawn(answer);
    }

    /// Sets the action for a session's request to end this process.
    pub(crate) fn on_exit_request(&self, action: impl Fn() + Send + Sync + 'static) {
        self.shared.registry.process_exit.set_action(action);
    }

    /// The cause of the request to end this process, if there was one.
    pub(crate) fn exit_cause(&self) -> Option<ExitCause> {
        self.shared.registry.process_exit.cause()
    }

    /// The number of open sessions.
    pub fn sessions(&self) -> usize {
        self.shared.registry.len()
    }

    /// Replaces users and certificates for new connections. Open sessions stay, except those of users who were removed.
    pub fn replace(&self, credentials: Credentials) {
        if let Some(users) = credentials.users {
            let authenticator = &self.shared.authenticator;
            authenticator.replace(users);
            self.shared.registry.end_others(|user| authenticator.has_name(user));
            self.shared.tickets.end_others(|user| authenticator.has_entry(user));
        }
        if let Some(config) = credentials.tls {
            *self.shared.tls.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(config));
        }
    }

    /// Writes further lines of the log to another file.
    pub(crate) fn replace_log(&self, file: OwnedFd) {
        self.shared.observer.replace_log(file);
    }

    /// Refuses new sessions. Open ones end after their statements and transactions. `done` is called when all have
    /// ended.
    pub(crate) fn drain(&self, done: impl FnOnce() + Send + 'static) {
        self.shared.is_draining.store(true, Ordering::SeqCst);
        let shared = Arc::clone(&self.shared);
        let drain = move || {
            loop {
                shared.registry.end_idle();
                if shared.registry.wait_until_empty(DRAIN_INTERVAL) {
                    return done();
                }
            }
        };
        // If no thread can be started, `done` is not called, and the caller waits for its full grace period.
        let _ = thread::Builder::new().name("drain".to_owned()).spawn(drain);
    }

    /// Interrupts running statements, and waits some seconds at most until all sessions have ended.
    pub fn stop(&mut self) {
        self.shared.is_draining.store(true, Ordering::SeqCst);
        self.shared.registry.end_all(STOP_TIMEOUT);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
