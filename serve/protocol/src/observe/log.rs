//! One line for each event, in logfmt: `time=… event=login user=alice`.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use super::log_sink::LogSink;

#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldValue<'a> {
    Text(&'a str),
    Number(u64),
    Seconds(f64),
}

/// A log file, or standard error.
#[derive(Debug)]
pub struct Log {
    sink: RwLock<LogSink>,
    /// The path that was opened; `None` for standard error, and in a process that got a descriptor.
    path: Option<PathBuf>,
}

impl Log {
    /// Appends to this file, or writes to standard error if it is `-`.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Self::from_descriptor(io::stderr().as_fd().try_clone_to_owned()?);
        }
        let log = Self::from_descriptor(append(path)?.into())?;
        Ok(Self { path: Some(path.to_owned()), ..log })
    }

    /// The log that another process has opened.
    pub(crate) fn from_descriptor(descriptor: OwnedFd) -> io::Result<Self> {
        Ok(Self { sink: RwLock::new(LogSink::new(descriptor.into())?), path: None })
    }

    /// The same log for another process.
    pub(crate) fn descriptor(&self) -> io::Result<OwnedFd> {
        self.sink.read().unwrap_or_else(PoisonError::into_inner).descriptor()
    }

    /// Opens the path again, for programs that rename the file. `None` if the log has no path. [`Log::replace`] takes the descriptor.
    pub(crate) fn open_again(&self) -> io::Result<Option<OwnedFd>> {
        self.path.as_deref().map(|path| append(path).map(OwnedFd::from)).transpose()
    }

    /// Writes further lines to another file.
    pub(crate) fn replace(&self, descriptor: OwnedFd) -> io::Result<()> {
        let sink = LogSink::new(descriptor.into())?;
        *self.sink.write().unwrap_or_else(PoisonError::into_inner) = sink;
        Ok(())
    }

    pub(crate) fn line(&self, event: &str, fields: &[(&str, FieldValue<'_>)]) {
        self.sink.read().unwrap_or_else(PoisonError::into_inner).write(line(now(), event, fields));
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// The line that takes the place of lines that could not be written.
pub(super) fn lost_lines(count: u64) -> String {
    line(now(), "log_lost", &[("lines", FieldValue::Number(count))])
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// The text of a line; `time` in seconds since 1970.
fn line(time: f64, event: &str, fields: &[(&str, FieldValue<'_>)]) -> String {
    let mut text = format!("time={time:.3} event={event}");
    for (name, value) in fields {
        // Writing to a string cannot fail.
        let _ = match value {
            FieldValue::Text(value) if needs_no_quotes(value) => write!(text, " {name}={value}"),
            // Clients choose some values. Quotes keep each in its field and line.
            FieldValue::Text(value) => write!(text, " {name}={value:?}"),
            FieldValue::Number(value) => write!(text, " {name}={value}"),
            FieldValue::Seconds(value) => write!(text, " {name}={value:.3}"),
        };
    }
    text.push('\n');
    text
}

fn needs_no_quotes(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'=' | b'\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_from_clients_stay_in_their_field() {
        let text =
            line(1.5, "login", &[("user", FieldValue::Text("a\" event=x\nb")), ("peer", FieldValue::Text("::1"))]);
        assert_eq!(text, "time=1.500 event=login user=\"a\\\" event=x\\nb\" peer=::1\n");
        assert_eq!(
            line(0.0, "end", &[("n", FieldValue::Number(3)), ("e", FieldValue::Text(""))]),
            "time=0.000 event=end n=3 e=\"\"\n"
        );
    }
}
