//! `/metrics` and `/health`, for whoever watches from this machine: as much of HTTP/1.1 (RFC 9112) as these need.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::Observer;

/// Requests come and answers go within this time, one after the other.
const PATIENCE: Duration = Duration::from_secs(2);
const LONGEST_REQUEST: usize = 8 << 10;

/// Answers until `is_over`. `state` gives how many sessions there are, what was sent in them, and whether new ones are welcome.
pub(crate) fn serve(
    listener: &TcpListener,
    observer: &Observer,
    state: impl Fn() -> (usize, u64, bool),
    is_over: impl Fn() -> bool,
) {
    while !is_over() {
        match listener.accept() {
            // Whoever asks badly gets no answer, and asks again.
            Ok((stream, _)) => drop(answer(&stream, observer, &state)),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn answer(mut stream: &TcpStream, observer: &Observer, state: impl Fn() -> (usize, u64, bool)) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = request(stream)?;
    let (sessions, sent, is_welcoming) = state();
    let (status, body) = match request.split(' ').collect::<Vec<_>>()[..] {
        ["GET", "/metrics", _] => ("200 OK", observer.metrics(sessions, sent)),
        ["GET", "/health", _] if is_welcoming => ("200 OK", "ok\n".to_owned()),
        ["GET", "/health", _] => ("503 Service Unavailable", "shutting down\n".to_owned()),
        ["GET", _, _] => ("404 Not Found", "there are /metrics and /health\n".to_owned()),
        _ => ("400 Bad Request", "only GET is understood\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes())
}

/// The first line of a request, once its head has come.
fn request(mut stream: &TcpStream) -> io::Result<String> {
    let end = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let rest = end.saturating_duration_since(Instant::now());
        if rest.is_zero() || head.len() > LONGEST_REQUEST {
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
