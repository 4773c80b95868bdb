//! Threads that accept connections and hand them to the worker.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::supervisor::Shared;
use crate::connection::input::Input;
use crate::connection::listen::Listener;
use crate::connection::socket::{Output, Socket};
use crate::connection::startup;
use crate::error::Failure;
use crate::observe::{self, State};

/// How long to wait before the next connection when one could not be accepted, so that a lack of descriptors does
/// not become a busy loop.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a client waits for a worker that is being started, before it is told to come later.
const PATIENCE: Duration = Duration::from_secs(5);

/// Starts a thread for the listener.
pub(super) fn start(shared: &Arc<Shared>, listener: &Arc<Listener>) -> io::Result<JoinHandle<()>> {
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

fn hand_over(shared: &Shared, listener: &Listener, socket: OwnedFd) {
    if let Listener::Metrics(_) = listener {
        if let Err(socket) = shared.give_metrics(socket) {
            // Answered here: there is no worker to ask.
            let _ = observe::answer(&socket.into(), || State::Restarting);
        }
        return;
    }
    if let Err(socket) = shared.give(socket, PATIENCE) {
        // The client may take its time, and others wait. Without a thread it sees its connection closed.
        let _ = thread::Builder::new().name("refuse".to_owned()).spawn(move || refuse(socket));
    }
}

/// Hears what the client wants, since it takes no error before that, and refuses it.
fn refuse(socket: OwnedFd) {
    let Ok(socket) = Socket::try_from(socket).map(Arc::new) else { return };
    let (mut input, mut output) = (Input::new(Arc::clone(&socket)), Output::new(Arc::clone(&socket)));
    let heard = socket.set_deadline(Some(Instant::now() + PATIENCE)).map_err(Failure::from);
    if heard.and_then(|()| startup::purpose(&socket, &mut input, &mut output, None)).is_ok() {
        startup::refuse(&mut output, &Failure::Starting);
    }
}
