//! The server: listeners, a thread a connection, and an orderly end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::cancel::{Reason, Registry};
use crate::engine::{Engine, EngineError};
use crate::error::{Failure, SqlState};
use crate::extended::Prepared;
use crate::listen::{Address, AddressError, Listener};
use crate::message::backend::Status;
use crate::session::Session;
use crate::socket::{Input, Output, Socket};
use crate::startup::{self, Purpose, Settings};
use crate::watch::Watch;

/// So many sessions at a time; each has a thread, and a session of the engine's.
const MAX_SESSIONS: usize = 256;
/// How long [`Server::stop`] waits for sessions to tell their clients.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait before the next connection when one could not be accepted, so that a lack of descriptors does
/// not become a busy loop.
const PAUSE: Duration = Duration::from_millis(50);

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address cannot be listened on.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// There is no address to listen on.
    #[error("no address to listen on; give a loopback address or a unix socket")]
    NoAddress,
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
}

struct Shared {
    engine: Arc<dyn Engine>,
    version: String,
    registry: Arc<Registry>,
    watch: Arc<Watch>,
    encode_cpu: f64,
    is_stopping: AtomicBool,
}

impl Server {
    /// Starts to listen on all of `addresses` and to answer with `engine`. `encode_cpu`, from 0 to 1, is the share of a CPU
    /// that encoding may take for one client, where the client leaves it to the server.
    ///
    /// # Errors
    /// If one of the addresses cannot be listened on.
    pub fn start(engine: Arc<dyn Engine>, addresses: &[Address], encode_cpu: f64) -> Result<Self, ServeError> {
        if addresses.is_empty() {
            return Err(ServeError::NoAddress);
        }
        let registry = Arc::new(Registry::default());
        // PostgreSQL's clients read the number in front; it says which version's protocol and manners to expect.
        let version = format!("15.0 (Colonnade {}, {})", env!("CARGO_PKG_VERSION"), engine.version());
        let watch = Watch::start(Arc::clone(&registry))?;
        let shared =
            Arc::new(Shared { engine, version, registry, watch, encode_cpu, is_stopping: AtomicBool::new(false) });
        let mut server = Self { shared, listeners: Vec::new(), threads: Vec::new(), addresses: Vec::new() };
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
        Ok(server)
    }

    /// Where it listens, ports filled in.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// How many sessions there are now.
    pub fn sessions(&self) -> usize {
        self.shared.registry.len()
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
        let shared = Arc::clone(shared);
        // Without a thread there is no session; the client sees its connection closed.
        let _ = spawn("session", move || connection(&shared, socket));
    }
}

/// All that happens on one connection.
fn connection(shared: &Arc<Shared>, socket: Socket) {
    let socket = Arc::new(socket);
    let (mut input, mut output) = (Input::new(Arc::clone(&socket)), Output::new(Arc::clone(&socket)));
    let purpose = socket.prepare().map_err(Failure::from);
    match purpose.and_then(|()| startup::purpose(&socket, &mut input, &mut output)) {
        Ok(Purpose::Nothing) => {}
        Ok(Purpose::Cancel { process, secret }) => {
            let control = shared.registry.find(process, &secret);
            let stopping = control.as_ref().and_then(|control| control.stop(Reason::Canceled));
            // The client waits for the connection to end, not for the statement to; but only once its statement is
            // the one that is stopped may it go on to the next.
            drop((input, output, socket));
            if let Some(stopping) = stopping {
                stopping.wait();
            }
        }
        Ok(Purpose::Session(settings)) => {
            if let Err(failure) = session(shared, &socket, input, &mut output, &settings) {
                startup::refuse(&mut output, &failure);
            }
        }
        Err(failure) => startup::refuse(&mut output, &failure),
    }
}

fn session(
    shared: &Arc<Shared>,
    socket: &Arc<Socket>,
    input: Input,
    output: &mut Output,
    settings: &Settings,
) -> Result<(), Failure> {
    if shared.registry.len() >= MAX_SESSIONS {
        return Err(EngineError::new(SqlState::TOO_MANY_CONNECTIONS, "sorry, too many clients already").into());
    }
    let engine = shared.engine.session()?;
    let ticket = shared.registry.register(engine.interrupt_handle(), Arc::clone(socket))?;
    shared.watch.add(socket.as_ref(), ticket.process)?;
    startup::welcome(output, settings, &shared.version, ticket.process, ticket.secret);
    let output = std::mem::replace(output, Output::new(Arc::clone(socket)));
    let (control, prepared) = (Arc::clone(&ticket.control), Prepared::default());
    let encode_cpu = shared.encode_cpu;
    let settings = crate::settings::Settings::new(&[
        ("server_version", &shared.version),
        ("session_authorization", &settings.user),
        ("application_name", &settings.application_name),
    ]);
    Session { input, output, engine, control, status: Status::Idle, prepared, settings, encode_cpu }.run();
    Ok(())
}
