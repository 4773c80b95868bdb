//! The log: a file, or standard error.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use super::log_line::{FieldValue, line};
use super::log_sink::LogSink;

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

    /// Opens the path again, for programs that rename the file. `None` if the log has no path. [`Log::replace`] takes
    /// the descriptor.
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
        self.sink.read().unwrap_or_else(PoisonError::into_inner).write(line(event, fields));
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}
