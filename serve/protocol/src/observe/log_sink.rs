//! Where the lines of the log go. A log that takes no lines, because its disk is full or its reader has stalled, must
//! not stop the server.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::log_line::lost_lines;

/// How long a session waits for the reader of a pipe, a socket or a terminal. Then the log has stalled: until the
/// reader reads again, lines wait and sessions do not.
const STALL_TIMEOUT: Duration = Duration::from_secs(1);
/// The bytes of lines that wait. Further lines are lost.
const MAX_WAITING_BYTES: usize = 1 << 20;

/// A file or a stream.
#[derive(Debug)]
pub(super) enum LogSink {
    /// The kernel takes the bytes at once, or refuses them.
    File(Mutex<LogFile>),
    /// Another process reads the bytes, or does not, so a thread writes them.
    Stream(Stream),
}

impl LogSink {
    /// # Errors
    /// If the descriptor is none, or no thread can be started.
    pub fn new(file: File) -> io::Result<Self> {
        let is_file = file.metadata()?.is_file();
        let file = LogFile { file, lost: 0, is_torn: false };
        Ok(if is_file { Self::File(Mutex::new(file)) } else { Self::Stream(Stream::start(file)?) })
    }

    pub fn write(&self, line: String) {
        match self {
            Self::File(file) => file.lock().unwrap_or_else(PoisonError::into_inner).write(&line),
            Self::Stream(stream) => stream.write(line),
        }
    }

    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        match self {
            Self::File(file) => Ok(file.lock().unwrap_or_else(PoisonError::into_inner).file.try_clone()?.into()),
            Self::Stream(stream) => stream.descriptor.try_clone(),
        }
    }
}

/// Lines are appended to it, each whole or not at all.
#[derive(Debug)]
pub(super) struct LogFile {
    file: File,
    /// Lines that it has not taken. It says so as soon as it takes lines again.
    lost: u64,
    /// Whether a part of a lost line is at its end.
    is_torn: bool,
}

impl LogFile {
    fn write(&mut self, line: &str) {
        if self.lost > 0 {
            self.write_lost();
        }
        if !self.append(line) {
            self.lost += 1;
        }
    }

    fn write_lost(&mut self) {
        if self.append(&lost_lines(self.lost)) {
            self.lost = 0;
        }
    }

    /// Gives whether the file has taken the whole line.
    fn append(&mut self, line: &str) -> bool {
        // One write, so that the lines of several processes are not mixed.
        let text = if self.is_torn { format!("\n{line}") } else { line.to_owned() };
        let written = write_all(&mut self.file, text.as_bytes());
        if written > 0 {
            self.is_torn = !text.as_bytes()[..written].ends_with(b"\n");
        }
        written == text.len()
    }
}

/// Gives the number of bytes that were written; fewer than all after an error.
fn write_all(file: &mut File, bytes: &[u8]) -> usize {
    let mut written = 0;
    while written < bytes.len() {
        match file.write(&bytes[written..]) {
            Ok(0) => break,
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    written
}

/// A pipe, a socket or a terminal, with the thread that writes to it. Usually a line is written when [`Stream::write`]
/// returns.
#[derive(Debug)]
pub(super) struct Stream {
    shared: Arc<Shared>,
    descriptor: OwnedFd,
}

#[derive(Debug, Default)]
struct Shared {
    lines: Mutex<Lines>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    waiting: VecDeque<String>,
    /// Bytes of the lines that wait, and of the one that is being written.
    bytes: usize,
    added: u64,
    /// Lines that were written, or that the stream has refused.
    done: u64,
    lost: u64,
    is_stalled: bool,
    has_ended: bool,
}

impl Shared {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    fn start(file: LogFile) -> io::Result<Self> {
        let (shared, descriptor) = (Arc::new(Shared::default()), file.file.try_clone()?.into());
        let lines = Arc::clone(&shared);
        thread::Builder::new().name("log".to_owned()).spawn(move || write_lines(&lines, file))?;
        Ok(Self { shared, descriptor })
    }

    fn write(&self, line: String) {
        let mut lines = self.shared.lines();
        if lines.bytes + line.len() > MAX_WAITING_BYTES {
            lines.lost += 1;
            return;
        }
        lines.bytes += line.len();
        lines.added += 1;
        let number = lines.added;
        lines.waiting.push_back(line);
        self.shared.changed.notify_all();
        let waits = |lines: &mut Lines| lines.done < number && !lines.is_stalled;
        let waited = self.shared.changed.wait_timeout_while(lines, STALL_TIMEOUT, waits);
        let (mut lines, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            lines.is_stalled = true;
            self.shared.changed.notify_all();
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // The thread ends after the lines that wait. If the reader has stalled, it ends with the process.
        self.shared.lines().has_ended = true;
        self.shared.changed.notify_all();
    }
}

fn write_lines(shared: &Shared, mut file: LogFile) {
    let mut lines = shared.lines();
    loop {
        let is_idle = |lines: &mut Lines| lines.waiting.is_empty() && !lines.has_ended;
        lines = shared.changed.wait_while(lines, is_idle).unwrap_or_else(PoisonError::into_inner);
        let Some(line) = lines.waiting.pop_front() else { return };
        drop(lines);
        file.write(&line);
        lines = shared.lines();
        lines.bytes -= line.len();
        lines.done += 1;
        if lines.waiting.is_empty() {
            lines.is_stalled = false;
            file.lost += std::mem::take(&mut lines.lost);
        }
        shared.changed.notify_all();
        if lines.waiting.is_empty() && file.lost > 0 {
            drop(lines);
            file.write_lost();
            lines = shared.lines();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::time::Instant;

    use super::*;

    fn waits_for(condition: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !condition() {
            assert!(Instant::now() < end);
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_reader_that_stalls_loses_lines_and_is_told_how_many() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let sink = LogSink::new(File::from(OwnedFd::from(writer))).unwrap();
        let LogSink::Stream(stream) = &sink else { panic!("a pipe is a stream") };
        let line = format!("{}\n", "x".repeat(9_999));
        // More than a pipe holds, and more than may wait.
        let count = 2 * MAX_WAITING_BYTES / line.len();
        let begun = Instant::now();
        (0..count).for_each(|_| sink.write(line.clone()));
        assert!(begun.elapsed() >= STALL_TIMEOUT);
        let lost = stream.shared.lines().lost;
        assert!(lost > 0 && stream.shared.lines().is_stalled);
        let read = thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).map(|_| text)
        });
        waits_for(|| !stream.shared.lines().is_stalled);
        sink.write("last\n".to_owned());
        drop(sink);
        let text = read.join().unwrap().unwrap();
        assert_eq!(text.matches(&*line).count(), count - lost as usize);
        assert!(text.contains(&format!("event=log_lost lines={lost}\n")), "{lost}");
        assert!(text.ends_with("last\n"));
    }

    #[test]
    fn a_stream_has_a_line_when_the_call_returns() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let sink = LogSink::new(File::from(OwnedFd::from(writer))).unwrap();
        for _ in 0..1000 {
            sink.write("one\n".to_owned());
            rustix::io::ioctl_fionbio(&reader, true).unwrap();
            let mut line = [0; 16];
            assert_eq!(reader.read(&mut line).unwrap(), 4);
        }
    }
}
