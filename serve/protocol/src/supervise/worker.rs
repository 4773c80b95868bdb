//! The process that runs the engine. The supervisor sends it the clients' sockets.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::board::{Board, Slot};
use crate::connection::process_exit::ExitCause;
use crate::connection::socket::Socket;
use crate::credentials::Credentials;
use crate::engine::Engine;
use crate::observe::Log;
use crate::serve::{ServeError, ServeOptions, Server};
use crate::supervise::helper::{HelperStarter, StartedHelper};
use crate::supervise::{Channel, ChannelMessage, ENGINE_FAILED_STATUS, Received, STATEMENT_STUCK_STATUS, Setup};

/// A worker before its engine is started.
pub struct Worker {
    channel: Arc<Channel>,
    board: Arc<Board>,
    setup: Setup,
    credentials: Credentials,
    /// A log may start a thread, which would be outside of a sandbox that begins later. So it is opened when this
    /// serves.
    log: Option<OwnedFd>,
    helpers: HelperStarter,
    /// Passes what the supervisor sends on to `helpers`.
    started: Sender<StartedHelper>,
}

/// Why a worker has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The supervisor has stopped it.
    Stopped {
        /// Whether all sessions have ended.
        is_clean: bool,
    },
    /// This process cannot continue. The supervisor starts another one.
    Failed(ExitCause),
    /// The supervisor has ended.
    Orphaned,
}

impl End {
    /// The exit status that tells the supervisor the reason.
    pub fn exit_status(self) -> i32 {
        match self {
            Self::Stopped { is_clean: true } => 0,
            Self::Stopped { is_clean: false } | Self::Orphaned => 1,
            Self::Failed(ExitCause::EngineFailed) => ENGINE_FAILED_STATUS,
            Self::Failed(ExitCause::Stuck) => STATEMENT_STUCK_STATUS,
        }
    }
}

impl Worker {
    /// Starts the worker of this process, whose standard input is the socket to its supervisor.
    ///
    /// # Errors
    /// If there is no supervisor.
    pub fn begin() -> Result<Self, ServeError> {
        // A worker that outlived its supervisor would keep the database locked.
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from)?;
        let channel = Channel::from_descriptor(io::stdin().as_fd().try_clone_to_owned()?);
        let missing = || io::Error::new(io::ErrorKind::InvalidData, "this process is started by `colonnade serve`");
        let received =
            channel.receive()?.filter(|received| received.message == ChannelMessage::Setup).ok_or_else(missing)?;
        let mut descriptors = received.descriptors.into_iter();
        let mut next = || descriptors.next().ok_or_else(missing);
        let (board, setup, credentials) = (Board::from_descriptor(next()?), Setup::read(next()?)?, next()?);
        let credentials = Credentials::take(credentials)?;
        let log = descriptors.next();
        let channel = Arc::new(channel);
        let (helpers, started) = HelperStarter::new(Arc::clone(&channel));
        Ok(Self { channel, board: Arc::new(board), setup, credentials, log, helpers, started })
    }

    /// The settings that the supervisor passes on.
    pub fn settings(&self) -> &[u8] {
        &self.setup.settings
    }

    /// Has programs started that this process may not start itself. They start once this serves.
    pub fn helpers(&self) -> HelperStarter {
        self.helpers.clone()
    }

    /// Serves clients with `engine` until the supervisor stops it. The log and the metrics of `options` come from the
    /// supervisor.
    ///
    /// # Errors
    /// If the operating system provides no threads or descriptors.
    pub fn serve(self, engine: Arc<dyn Engine>, options: ServeOptions) -> Result<End, ServeError> {
        let Self { channel, board, setup, credentials, log, started, .. } = self;
        let log = log.map(Log::from_descriptor).transpose()?;
        let mut server =
            Server::start(engine, credentials, ServeOptions { log, metrics: setup.metrics.clone(), ..options })?;
        let channel_to_close = Arc::clone(&channel);
        server.on_exit_request(move || channel_to_close.stop_receiving());
        channel.send(ChannelMessage::Ready, 0, &[])?;
        loop {
            let Some(Received { message, slot, descriptors }) = channel.receive()? else {
                let Some(cause) = server.exit_cause() else { return Ok(End::Orphaned) };
                server.stop();
                return Ok(End::Failed(cause));
            };
            let mut descriptors = descriptors.into_iter();
            let descriptor = descriptors.next();
            match message {
                ChannelMessage::Client => {
                    let end = EndNotifier { channel: Arc::clone(&channel), slot };
                    if let Some(socket) = descriptor.and_then(|descriptor| Socket::try_from(descriptor).ok()) {
                        server.serve_client(socket.with_slot(Slot::new(Arc::clone(&board), slot)), end);
                    }
                }
                ChannelMessage::Metrics => {
                    descriptor.into_iter().for_each(|stream| server.answer_metrics(stream.into()))
                }
                ChannelMessage::Reload => {
                    replace(&server, descriptor);
                    descriptors.next().into_iter().for_each(|log| server.replace_log(log));
                }
                ChannelMessage::Drain => {
                    let channel = Arc::clone(&channel);
                    server.drain(move || drop(channel.send(ChannelMessage::Drained, 0, &[])));
                }
                ChannelMessage::Stop => {
                    server.stop();
                    return Ok(End::Stopped { is_clean: server.sessions() == 0 });
                }
                // It fails if nothing here starts helpers.
                ChannelMessage::Helper => drop(started.send(descriptor.ok_or(slot))),
                ChannelMessage::Setup
                | ChannelMessage::Ready
                | ChannelMessage::Ended
                | ChannelMessage::Drained
                | ChannelMessage::StartHelper => {}
            }
        }
    }
}

/// Replaces users and certificates. The supervisor has checked them. If the descriptor is missing, because this process
/// has too many, the old ones stay.
fn replace(server: &Server, memory_file: Option<OwnedFd>) {
    if let Some(Ok(credentials)) = memory_file.map(Credentials::take) {
        server.replace(credentials);
    }
}

/// When it is dropped, tells the supervisor that a connection has ended.
struct EndNotifier {
    channel: Arc<Channel>,
    slot: u32,
}

impl Drop for EndNotifier {
    fn drop(&mut self) {
        // It fails if the supervisor has ended.
        let _ = self.channel.send(ChannelMessage::Ended, self.slot, &[]);
    }
}
