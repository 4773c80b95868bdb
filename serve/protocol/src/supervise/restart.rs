//! Starts workers, one after the other, and reads their messages.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::channel::{Channel, ChannelMessage};
use super::context::{STOP_TIMEOUT, State, SupervisorContext};
use super::death::{self, Death, disconnect_client};
use super::helper::Helpers;
use super::process::{Process, Setup};
use crate::board::Board;
use crate::observe::FieldValue;

/// The pause before a worker is started if the last one did not become ready. It doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

impl SupervisorContext {
    /// Starts workers, one after the other, until the supervisor stops. One thread starts all of them, because the
    /// kernel kills a worker when the thread that started it ends (`PR_SET_PDEATHSIG`).
    pub fn run_workers(&self) {
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
        let (setup, credentials, reloads) = {
            let mut state = self.state();
            state.board = Some(Arc::clone(&board));
            let metrics = death::metrics(state.deaths, state.last_death.as_ref());
            let credentials = state.credentials.as_ref().map(std::fs::File::try_clone).transpose()?;
            (Setup { settings: self.options.settings.clone(), metrics }, credentials, state.reloads)
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
                    if state.reloads != reloads {
                        self.send_reload(&state, &channel);
                    }
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
