//! Sends chunks: one is written while the next one is encoded.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use colonnade_wire::Chunk;

use crate::connection::output::Output;
use crate::connection::thread_clock::ThreadClock;

/// How often `while_waiting` is called while a caller waits for the socket.
const WAIT_INTERVAL: Duration = Duration::from_millis(20);

/// A thread that writes chunks, one at a time. No chunk is queued.
pub(crate) struct Sender {
    shared: Arc<Shared>,
    thread: Option<thread::JoinHandle<()>>,
}

/// A chunk with the header of its CopyData message.
pub(crate) struct ChunkMessage {
    pub header: [u8; 5],
    pub chunk: Chunk<'static>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    next: Option<ChunkMessage>,
    /// Whether a message is not written yet.
    is_writing: bool,
    written_chunk: Option<Chunk<'static>>,
    failure: Option<io::Error>,
    is_over: bool,
    /// CPU time that writing has taken.
    cpu: Duration,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sender {
    /// Starts the thread. Nothing else may write to the socket of `output` until [`Sender::finish`].
    ///
    /// # Errors
    /// If the operating system cannot create a thread.
    pub fn start(mut output: Output) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("send".to_owned()).spawn(move || own.write(&mut output))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Waits until the previous chunk is written, then passes this one to the thread. While it waits, it calls
    /// `while_waiting`.
    ///
    /// # Errors
    /// If writing an earlier chunk failed, or `while_waiting` fails.
    pub fn send<E: From<io::Error>>(
        &mut self,
        message: ChunkMessage,
        mut while_waiting: impl FnMut(&Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state();
        while state.is_writing {
            let (woken, timeout) =
                shared.changed.wait_timeout(state, WAIT_INTERVAL).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if timeout.timed_out() && state.is_writing {
                if self.thread.as_ref().is_none_or(thread::JoinHandle::is_finished) {
                    return Err(stopped().into());
                }
                drop(state);
                while_waiting(self)?;
                state = shared.state();
            }
        }
        if let Some(failure) = state.failure.take() {
            return Err(failure.into());
        }
        state.is_writing = true;
        state.next = Some(message);
        drop(state);
        shared.changed.notify_all();
        Ok(())
    }

    /// A written chunk, whose memory can be reused.
    pub fn take_written(&mut self) -> Option<Chunk<'static>> {
        self.shared.state().written_chunk.take()
    }

    /// Whether a chunk was passed to the thread and is not written yet, and the CPU time that writing has taken.
    pub fn progress(&self) -> (bool, Duration) {
        let state = self.shared.state();
        (state.is_writing, state.cpu)
    }

    /// Waits until everything is written. The connection then carries whole messages only, unless it is broken.
    ///
    /// # Errors
    /// If writing failed.
    pub fn finish(mut self) -> io::Result<()> {
        self.end();
        self.shared.state().failure.take().map_or(Ok(()), Err)
    }

    fn end(&mut self) {
        self.shared.state().is_over = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            self.shared.state().failure = Some(stopped());
        }
    }
}

/// The error after a panic of the thread. The connection cannot be used any more.
fn stopped() -> io::Error {
    io::Error::other("the thread that sends has stopped")
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn write(&self, output: &mut Output) {
        let clock = ThreadClock::of_this_thread();
        let mut state = self.state();
        loop {
            if let Some(ChunkMessage { header, chunk }) = state.next.take() {
                drop(state);
                let slices: Vec<&[u8]> = std::iter::once(&header[..]).chain(chunk.slices()).collect();
                let written = output.send(&slices);
                let cpu = clock.and_then(ThreadClock::elapsed);
                state = self.state();
                state.cpu = cpu.unwrap_or(state.cpu);
                state.is_writing = false;
                state.written_chunk = Some(chunk);
                state.failure = written.err();
                self.changed.notify_all();
            } else if state.is_over || state.failure.is_some() {
                return;
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;

    use arrow_array::{Int64Array, RecordBatch};
    use colonnade_wire::arrow::{columns_from_batch, schema_from_arrow};
    use colonnade_wire::{Config, Encoder};

    use super::*;
    use crate::connection::socket::Socket;

    fn pair() -> (Sender, UnixStream) {
        let (socket, peer) = UnixStream::pair().unwrap();
        (Sender::start(Output::new(Arc::new(Socket::from(socket)))).unwrap(), peer)
    }

    fn messages(count: usize, rows: i64) -> Vec<ChunkMessage> {
        let column = Int64Array::from_iter_values(0..rows);
        let batch = RecordBatch::try_from_iter([("i", Arc::new(column) as _)]).unwrap();
        let mut encoder = Encoder::new(schema_from_arrow(&batch.schema()).unwrap());
        let mut chunk = || encoder.chunk(batch.num_rows(), &columns_from_batch(&batch), Config::PLAIN).unwrap();
        (0..count).map(|_| ChunkMessage { header: *b"d1234", chunk: chunk().into_owned() }).collect()
    }

    fn bytes(message: &ChunkMessage) -> Vec<u8> {
        [&message.header[..], &message.chunk.slices().concat()].concat()
    }

    #[test]
    fn messages_are_sent_whole_and_in_order() {
        let (mut sender, mut peer) = pair();
        let expected: Vec<u8> = messages(50, 100).iter().flat_map(bytes).collect();
        let mut received = Vec::new();
        for message in messages(50, 100) {
            sender.send::<io::Error>(message, |_| Ok(())).unwrap();
        }
        sender.finish().unwrap();
        peer.read_to_end(&mut received).unwrap();
        assert_eq!(received, expected);
    }

    #[test]
    fn a_waiting_caller_can_stop_and_the_begun_message_is_sent_whole() {
        let (mut sender, mut peer) = pair();
        // Larger than a socket's buffer.
        let mut messages = messages(2, 1 << 20).into_iter();
        let first = messages.next().unwrap();
        let expected = bytes(&first);
        sender.send::<io::Error>(first, |_| Ok(())).unwrap();
        let mut calls = 0;
        let stuck = sender.send::<io::Error>(messages.next().unwrap(), |_| {
            calls += 1;
            if calls == 3 { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
        });
        assert_eq!(stuck.unwrap_err().kind(), io::ErrorKind::TimedOut);
        let reader = std::thread::spawn(move || {
            let mut received = Vec::new();
            peer.read_to_end(&mut received).unwrap();
            received
        });
        drop(sender);
        assert!(reader.join().unwrap() == expected);
    }

    #[test]
    fn a_closed_peer_gives_an_error() {
        let (mut sender, peer) = pair();
        peer.shutdown(Shutdown::Both).unwrap();
        drop(peer);
        let failed = messages(3, 100).into_iter().any(|message| sender.send::<io::Error>(message, |_| Ok(())).is_err());
        assert!(failed || sender.finish().is_err());
    }
}
