//! Threads that accept connections and pass them to the worker.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::supervisor::SupervisorContext;
use crate::connection::input::Input;
use crate::connection::listen::Listener;
use crate::connection::socket::{Output, Socket};
use crate::connection::startup;
use crate::error::Failure;
use crate::observe::{self, State};

/// The pause after a connection could not be accepted, so that a lack of descriptors does not cause a busy loop.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a client waits for a worker that is starting, before it is refused.
const WORKER_START_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts a thread for the listener.
pub(super) fn start(shared: &Arc<SupervisorContext>, listener: &Arc<Listener>) -> io::Result<JoinHandle<()>> {
    let (shared, listener) = (Arc::clone(shared), Arc::clone(listener));
    thread::Builder::new().name("listen".to_owned()).spawn(move || {
        while !shared.is_stopping.load(Ordering::SeqCst) {
            match listener.accept() {
                Ok(socket) => hand_over(&shared, &listener, socket),
                Err(_) if shared.is_stopping.load(Ordering::SeqCst) => {}
                Err(_) => thread::sleep(PAUSE),
            }
        }
    })
}

fn hand_over(shared: &SupervisorContext, listener: &Listener, socket: OwnedFd) {
    if let Listener::Metrics(_) = listener {
        if let Err(socket) = shared.give_metrics(socket) {
            // There is no worker, so the request is answered here.
            let _ = observe::answer(&socket.into(), || State::Restarting);
        }
        return;
    }
    if let Err(socket) = shared.give(socket, WORKER_START_TIMEOUT) {
        // On a thread of its own, because the client may be slow. Without a thread the connection is closed.
        let _ = thread::Builder::new().name("refuse".to_owned()).spawn(move || refuse(socket));
    }
}

/// Reads the client's first message, before which it accepts no error, and refuses it.
fn refuse(socket: OwnedFd) {
    let Ok(socket) = Socket::try_from(socket).map(Arc::new) else { return };
    let (mut input, mut output) = (Input::new(Arc::clone(&socket)), Output::new(Arc::clone(&socket)));
    let heard = socket.set_deadline(Some(Instant::now() + WORKER_START_TIMEOUT)).map_err(Failure::from);
    if heard.and_then(|()| startup::purpose(&socket, &mut input, &mut output, None)).is_ok() {
        startup::refuse(&mut output, &Failure::Starting);
    }
}
