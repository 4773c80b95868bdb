//! A server of PostgreSQL's protocol. It follows the protocol, except where a script changes its messages.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use colonnade_login::scram::{Verifier, hmac};
use colonnade_wire::{Column, Config, DataType, Encoder, Field, Schema, Values};

/// The client's password, which must never be sent.
pub const PASSWORD: &str = "the password of this client";
/// How long to wait for the client before the script continues, because the client may be waiting for a message that
/// the script has omitted.
const SILENCE: Duration = Duration::from_millis(4);
const SALT: &[u8] = b"sixteen bytes ..";
const QUERIES: usize = 2;

/// Runs scripts, one for each connection, and records what the client sent.
pub struct ScriptedServer {
    /// Its port on this machine.
    pub port: u16,
    scripts: Sender<Vec<u8>>,
    heard: Receiver<Vec<u8>>,
}

impl ScriptedServer {
    /// Starts it.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (scripts, orders) = channel::<Vec<u8>>();
        let (tell, heard) = channel();
        let (hand_on, connections) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if hand_on.send(opened(stream)).is_err() {
                    return;
                }
            }
        });
        thread::spawn(move || {
            let verifier = Verifier::new(PASSWORD, SALT, 4096);
            while let Ok(script) = orders.recv() {
                let Some((stream, first)) = connections.iter().flatten().next() else { return };
                let mut talk = Talk::new(stream, &script, &verifier, first);
                talk.hold();
                if tell.send(talk.finish()).is_err() {
                    return;
                }
            }
        });
        Self { port, scripts, heard }
    }

    /// Sets the script of the next connection.
    pub fn learn(&self, script: &[u8]) {
        self.scripts.send(script.to_vec()).expect("the server runs");
    }

    /// All bytes that the client has sent on the last connection, after it was closed.
    pub fn heard(&self) -> Vec<u8> {
        self.heard.recv().expect("the server runs")
    }
}

/// A connection and its start-up message. `None` for a cancel request, which is read and ignored.
fn opened(mut stream: TcpStream) -> Option<(TcpStream, Vec<u8>)> {
    const CANCEL: [u8; 4] = 80_877_102u32.to_be_bytes();
    let mut buffer = [0; 8192];
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let count = stream.read(&mut buffer).unwrap_or(0);
    let first = &buffer[..count];
    (count > 8 && first[4..8] != CANCEL).then(|| (stream, first.to_vec()))
}

struct Talk<'a> {
    stream: TcpStream,
    script: &'a [u8],
    verifier: &'a Verifier,
    heard: Vec<u8>,
    /// The last message that was sent.
    last: Vec<u8>,
}

impl<'a> Talk<'a> {
    fn new(stream: TcpStream, script: &'a [u8], verifier: &'a Verifier, heard: Vec<u8>) -> Self {
        let _ = stream.set_read_timeout(Some(SILENCE));
        let _ = stream.set_nodelay(true);
        Self { stream, script, verifier, heard, last: Vec::new() }
    }

    fn finish(mut self) -> Vec<u8> {
        // The rest of the script is sent unchanged.
        let _ = self.stream.write_all(self.script);
        let _ = self.stream.shutdown(Shutdown::Write);
        let _ = self.stream.set_read_timeout(Some(Duration::from_secs(60)));
        let _ = self.stream.read_to_end(&mut self.heard);
        self.heard
    }

    fn byte(&mut self) -> u8 {
        match self.script.split_first() {
            Some((byte, rest)) => {
                self.script = rest;
                *byte
            }
            None => 0,
        }
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let (bytes, rest) = self.script.split_at(count.min(self.script.len()));
        self.script = rest;
        bytes.to_vec()
    }

    /// The client's next message.
    fn listen(&mut self) -> Vec<u8> {
        let mut buffer = [0; 8192];
        let count = self.stream.read(&mut buffer).unwrap_or(0);
        self.heard.extend_from_slice(&buffer[..count]);
        buffer[..count].to_vec()
    }

    /// Sends a correct message, or the script's replacement for it.
    fn say(&mut self, kind: u8, body: &[u8]) {
        let honest = framed(kind, body);
        let said = match self.byte() {
            // In most cases a correct message, so that the conversation continues.
            0..=199 => honest.clone(),
            200..=209 => Vec::new(),
            210..=219 => [&honest[..], &honest].concat(),
            220..=229 => [&self.last[..], &honest].concat(),
            230..=239 => {
                let mut flipped = honest.clone();
                let (at, by) = (usize::from(self.byte()) % flipped.len(), self.byte());
                flipped[at] ^= by;
                flipped
            }
            240..=246 => {
                let (kind, count) = (self.byte(), usize::from(self.byte()));
                [framed(kind, &self.bytes(count)), honest.clone()].concat()
            }
            247..=251 => {
                let count = usize::from(self.byte());
                framed(kind, &self.bytes(count))
            }
            _ => {
                let count = usize::from(self.byte());
                self.bytes(count)
            }
        };
        let _ = self.stream.write_all(&said);
        self.last = honest;
    }

    fn hold(&mut self) {
        let is_served = self.byte() % 2 == 0;
        self.log_in();
        self.say(b'S', b"server_version\x0016.1\0");
        if is_served {
            self.say(b'S', b"colonnade\x001\0");
        }
        self.say(b'K', &[0, 0, 0, 1, 0, 0, 0, 2]);
        self.ready();
        if !is_served {
            // The client asks whether the extension is installed.
            self.listen();
            self.say(b'T', &described("n", 25));
            self.say(b'C', b"SELECT 0\0");
            self.ready();
        }
        for _ in 0..QUERIES {
            self.listen();
            if is_served { self.copy() } else { self.rows() }
        }
    }

    fn ready(&mut self) {
        self.say(b'Z', b"I");
    }

    fn log_in(&mut self) {
        self.say(b'R', &[&10u32.to_be_bytes()[..], b"SCRAM-SHA-256\0\0"].concat());
        let first = self.listen();
        let text = String::from_utf8_lossy(&first).into_owned();
        let bare = text.split_once("n,,").map_or("", |(_, bare)| bare).to_owned();
        let nonce = bare.split_once("r=").map_or("", |(_, nonce)| nonce).to_owned();
        let challenge = format!("r={nonce}server,s={},i={}", BASE64.encode(SALT), self.verifier.iterations);
        self.say(b'R', &[&11u32.to_be_bytes()[..], challenge.as_bytes()].concat());
        let last = self.listen();
        let text = String::from_utf8_lossy(&last).into_owned();
        let proofless = text.split_once("c=").map_or("", |(_, rest)| rest.split(",p=").next().unwrap_or_default());
        let message = format!("{bare},{challenge},c={proofless}");
        let signature = hmac(&self.verifier.server_key, message.as_bytes());
        let proof = format!("v={}", BASE64.encode(signature));
        self.say(b'R', &[&12u32.to_be_bytes()[..], proof.as_bytes()].concat());
        self.say(b'R', &[0; 4]);
    }

    /// A result in the format.
    fn copy(&mut self) {
        let fields = vec![Field::new("n", DataType::Int32, false), Field::new("t", DataType::Utf8, true)];
        let mut encoder = Encoder::new(Schema { fields, metadata: Vec::new() });
        self.say(b'H', &[0, 0, 2, 0, 0, 0, 0]);
        let schema = encoder.schema_message();
        self.data(&schema);
        let (numbers, offsets) = (counted(100), counted(101));
        let columns = [
            Column { rows: 100, validity: None, values: Values::Fixed(&numbers[..]) },
            Column { rows: 100, validity: None, values: Values::Bytes { offsets: &offsets[..], data: &[b'x'; 100] } },
        ];
        for config in [Config::PLAIN, Config::light_zstd(1)] {
            let Ok(chunk) = encoder.chunk(100, &columns, config) else { return };
            let bytes = chunk.slices().concat();
            self.data(&bytes);
        }
        let end = encoder.end_message();
        self.data(&end);
        self.say(b'c', b"");
        self.say(b'C', b"COPY 200\0");
        self.ready();
    }

    /// Sends a message of a stream. The script may change its body; the checksum is then corrected.
    fn data(&mut self, bytes: &[u8]) {
        if self.byte() < 240 || bytes[4] != 2 {
            return self.say(b'd', bytes);
        }
        let mut changed = bytes.to_vec();
        for _ in 0..1 + self.byte() % 4 {
            let (at, by) = (usize::from(self.byte()) + 256 * usize::from(self.byte() % 4), self.byte());
            let at = 24 + at % (changed.len() - 24);
            changed[at] ^= by;
        }
        crate::repair::sealed(&mut changed);
        self.say(b'd', &changed);
    }

    /// A result in rows.
    fn rows(&mut self) {
        self.say(b'1', b"");
        self.say(b't', &[0, 0]);
        self.say(b'T', &described("n", 23));
        self.listen();
        self.say(b'2', b"");
        for number in 0..3u8 {
            self.say(b'D', &[0, 1, 0, 0, 0, 4, 0, 0, 0, number]);
        }
        self.say(b'C', b"SELECT 3\0");
        self.ready();
    }
}

/// 0, 1, 2, … as little-endian integers of 4 bytes.
fn counted(count: i32) -> Vec<u8> {
    (0..count).flat_map(i32::to_le_bytes).collect()
}

/// RowDescription of one column.
fn described(name: &str, oid: u32) -> Vec<u8> {
    let mut body = vec![0, 1];
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(&[0; 7]);
    body.extend_from_slice(&oid.to_be_bytes());
    body.extend_from_slice(&[0, 4, 0xff, 0xff, 0xff, 0xff, 0, 0]);
    body
}

fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}
