//! Threads that accept connections and pass them to the worker.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::context::SupervisorContext;
use crate::connection::input::Input;
use crate::connection::listen::Listener;
use crate::connection::output::Output;
use crate::connection::socket::Socket;
use crate::connection::startup;
use crate::error::Failure;
use crate::observe::{self, ServerState};

/// The pause after a failed accept. It prevents a busy loop if the process has no free descriptors.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(50);
/// How long a client waits for a worker that is starting, before it is refused.
const WORKER_START_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts a thread for the listener.
pub(super) fn start(shared: &Arc<SupervisorContext>, listener: &Arc<Listener>) -> io::Result<JoinHandle<()>> {
    let (shared, listener) = (Arc::clone(shared), Arc::clone(listener));
    thread::Builder::new().name("listen".to_owned()).spawn(move || {
        while !shared.is_stopping.load(Ordering::SeqCst) {
            match listener.accept() {
                Ok(socket) => pass_to_worker(&shared, &listener, socket),
                Err(_) if shared.is_stopping.load(Ordering::SeqCst) => {}
                Err(_) => thread::sleep(ACCEPT_RETRY_PAUSE),
            }
        }
    })
}

fn pass_to_worker(shared: &SupervisorContext, listener: &Listener, socket: OwnedFd) {
    if let Listener::Metrics(_) = listener {
        if let Err(socket) = shared.pass_metrics_request(socket) {
            // There is no worker, so the request is answered here.
            let _ = observe::answer(&socket.into(), || ServerState::Restarting);
        }
        return;
    }
    if let Err(socket) = shared.pass_client(socket, WORKER_START_TIMEOUT) {
        // On a new thread, because the client may be slow. If no thread can be started, the connection is closed.
        let _ = thread::Builder::new().name("refuse".to_owned()).spawn(move || refuse(socket));
    }
}

/// Refuses a client. It reads the client's first message first, because the client accepts no error before.
fn refuse(socket: OwnedFd) {
    let Ok(socket) = Socket::try_from(socket).map(Arc::new) else { return };
    let (mut input, mut output) = (Input::new(Arc::clone(&socket)), Output::new(Arc::clone(&socket)));
    let deadline_set = socket.set_deadline(Some(Instant::now() + WORKER_START_TIMEOUT)).map_err(Failure::from);
    if deadline_set.and_then(|()| startup::purpose(&socket, &mut input, &mut output, None)).is_ok() {
        startup::refuse(&mut output, &Failure::Starting);
    }
}
