//! `/metrics` and `/health` on this machine, with the necessary part of HTTP/1.1 (RFC 9112).

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::{Observer, SpoolCounts};

/// The time limit for a request, and again for its answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
const MAX_REQUEST_BYTES: usize = 8 << 10;

/// The state of the server, for the answer to a request.
pub(crate) enum ServerState<'a> {
    /// The engine runs. `sessions` is the number of open sessions, and `sent` the number of bytes that they have sent.
    Serving { observer: &'a Observer, sessions: usize, sent: u64, spools: SpoolCounts, accepts_sessions: bool },
    /// The engine's process is being restarted.
    Restarting,
}

/// Reads one request and answers it. An invalid request gets no answer.
pub(crate) fn answer<'a>(mut stream: &TcpStream, state: impl FnOnce() -> ServerState<'a>) -> io::Result<()> {
    stream.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    let request = request(stream)?;
    let words: Vec<_> = request.split(' ').collect();
    let (status, body) = match (&words[..], state()) {
        (["GET", "/metrics", _], ServerState::Serving { observer, sessions, sent, spools, .. }) => {
            ("200 OK", observer.metrics(sessions, sent, &spools))
        }
        (["GET", "/health", _], ServerState::Serving { accepts_sessions: true, .. }) => ("200 OK", "ok\n".to_owned()),
        (["GET", "/health", _], ServerState::Serving { .. }) => {
            ("503 Service Unavailable", "shutting down\n".to_owned())
        }
        (["GET", "/health" | "/metrics", _], ServerState::Restarting) => {
            ("503 Service Unavailable", "the engine is starting\n".to_owned())
        }
        (["GET", _, _], _) => ("404 Not Found", "the paths are /metrics and /health\n".to_owned()),
        _ => ("400 Bad Request", "only GET is supported\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes())
}

/// Reads the head of a request. Gives its first line.
fn request(mut stream: &TcpStream) -> io::Result<String> {
    let end = Instant::now() + REQUEST_TIMEOUT;
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let rest = end.saturating_duration_since(Instant::now());
        if rest.is_zero() || head.len() > MAX_REQUEST_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        stream.set_read_timeout(Some(rest))?;
        match stream.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => head.extend_from_slice(&part[..count]),
        }
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    Ok(String::from_utf8_lossy(line).into_owned())
}
