//! One line for each event, in logfmt: `time=… event=login user=alice`.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldValue<'a> {
    Text(&'a str),
    Number(u64),
    Seconds(f64),
}

/// A log file, or standard error.
#[derive(Debug)]
pub struct Log {
    file: Mutex<File>,
}

impl Log {
    /// Appends to this file, or writes to standard error if it is `-`.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(io::stderr().as_fd().try_clone_to_owned()?.into());
        }
        Ok(OwnedFd::from(OpenOptions::new().append(true).create(true).open(path)?).into())
    }

    /// The same log for another process.
    pub(crate) fn descriptor(&self) -> io::Result<OwnedFd> {
        Ok(self.file.lock().unwrap_or_else(PoisonError::into_inner).try_clone()?.into())
    }

    pub(crate) fn line(&self, event: &str, fields: &[(&str, FieldValue<'_>)]) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let text = line(now.as_secs_f64(), event, fields);
        // A failing log must not stop the server.
        let _ = self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes());
    }
}

impl From<OwnedFd> for Log {
    fn from(file: OwnedFd) -> Self {
        Self { file: Mutex::new(file.into()) }
    }
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
