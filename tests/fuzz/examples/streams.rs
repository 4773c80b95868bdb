//! Sends damaged streams to a server by `COPY … FROM STDIN (FORMAT colonnade)`, many before it reads the first answer.
//!
//! `cargo run --release --example streams -- HOST:PORT USER DATABASE FOLDER COUNT SEED`: each file of FOLDER is a valid
//! stream for the table with its name. Every statement must be answered, and a stream is accepted only if the reader of
//! files accepts it, with as many rows. `tests/attacks/fuzz_streams.py` starts the servers.

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use colonnade_fuzz::{messages, read, repaired};
use colonnade_wire::Damage;
use fastrand::Rng;

/// How many statements are sent at once.
const BATCH: usize = 64;
/// After so many batches the tables are emptied.
const BATCHES_BETWEEN_TRUNCATES: usize = 256;
/// Numbers at which sizes and offsets change their meaning.
const BOUNDS: [u64; 10] = [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 32, i64::MAX as u64, u64::MAX];

/// A valid stream and the table that takes it.
struct Seed {
    table: String,
    stream: Vec<u8>,
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [address, user, database, folder, count, seed] = &arguments[..] else {
        panic!("streams HOST:PORT USER DATABASE FOLDER COUNT SEED");
    };
    let count: usize = count.parse().expect("COUNT is a number");
    let mut random = Rng::with_seed(seed.parse().expect("SEED is a number"));
    let mut seeds: Vec<_> = std::fs::read_dir(folder)
        .expect("FOLDER can be read")
        .map(|entry| {
            let path = entry.expect("FOLDER can be read").path();
            let table = path.file_stem().and_then(|name| name.to_str()).expect("a file has a table's name").to_owned();
            Seed { table, stream: std::fs::read(path).expect("a stream can be read") }
        })
        .collect();
    seeds.sort_by(|left, right| left.table.cmp(&right.table));
    let mut server = Server::connect(address, user, database).expect("the server accepts a connection");
    let (start, mut sent, mut accepted, mut readable) = (Instant::now(), 0, 0, 0);
    for batch in 0.. {
        if sent >= count {
            break;
        }
        if batch % BATCHES_BETWEEN_TRUNCATES == 0 {
            let statements: Vec<_> = seeds.iter().map(|seed| format!("TRUNCATE {}", seed.table)).collect();
            server.send(&statements.iter().flat_map(|text| query(text)).collect::<Vec<_>>());
            statements.iter().for_each(|text| drop(server.answer().unwrap_or_else(|error| panic!("{text}: {error}"))));
        }
        let streams: Vec<_> = (0..BATCH.min(count - sent)).map(|_| damaged(&seeds, &mut random)).collect();
        server.send(&streams.iter().flat_map(|(table, stream)| copy(table, stream)).collect::<Vec<_>>());
        for (table, stream) in &streams {
            let tag = server.answer().unwrap_or_else(|error| {
                panic!("{table}: {error} after {sent} streams; the one under way is in {}", kept(stream).display())
            });
            let expected = read(stream);
            readable += usize::from(expected.is_ok());
            if let Some(rows) = tag.and_then(|tag| tag.strip_prefix("COPY ")?.parse::<usize>().ok()) {
                accepted += 1;
                let found = match expected {
                    Ok((_, chunks)) => {
                        chunks.iter().map(|columns| columns.first().map_or(0, |column| column.rows)).sum()
                    }
                    // The server's limits are higher.
                    Err(error) if matches!(error.damage, Damage::OverLimit { .. }) => rows,
                    Err(error) => {
                        panic!("{table}: accepted, although {error}; the stream is in {}", kept(stream).display())
                    }
                };
                assert_eq!(rows, found, "{table}: the rows of the stream in {}", kept(stream).display());
            }
            sent += 1;
        }
    }
    let seconds = start.elapsed().as_secs();
    println!("{sent} streams in {seconds} s: {readable} readable, {accepted} accepted, every one answered");
}

/// Writes a stream into a file, to be looked at.
fn kept(stream: &[u8]) -> std::path::PathBuf {
    let file = std::env::temp_dir().join("colonnade-stream");
    let _ = std::fs::write(&file, stream);
    file
}

/// A stream that was changed in some places, mostly with correct checksums.
fn damaged<'a>(seeds: &'a [Seed], random: &mut Rng) -> (&'a str, Vec<u8>) {
    let seed = &seeds[random.usize(..seeds.len())];
    let mut stream = seed.stream.clone();
    for _ in 0..random.usize(1..=4) {
        if stream.is_empty() {
            break;
        }
        let at = random.usize(..stream.len());
        match random.u8(..12) {
            0 => stream.truncate(at),
            1 => {
                let piece: Vec<_> = stream[at..].iter().copied().take(random.usize(1..=64)).collect();
                stream.splice(at..at, piece);
            }
            2 => drop(stream.drain(at..stream.len().min(at + random.usize(1..=64)))),
            3 => stream = shuffled(&stream, random),
            4 => {
                let other = &seeds[random.usize(..seeds.len())].stream;
                let from = random.usize(..other.len());
                let length = random.usize(1..=256).min(other.len() - from).min(stream.len() - at);
                stream[at..at + length].copy_from_slice(&other[from..from + length]);
            }
            5..8 => {
                let mut number = BOUNDS[random.usize(..BOUNDS.len())];
                if random.bool() {
                    number = number.wrapping_add_signed(random.i64(-2..=2));
                }
                let width = [1, 2, 4, 8][random.usize(..4)].min(stream.len() - at);
                stream[at..at + width].copy_from_slice(&number.to_le_bytes()[..width]);
            }
            _ => stream[at] ^= 1 << random.u8(..8),
        }
    }
    if random.u8(..8) > 0 {
        stream = repaired(&stream);
    }
    (&seed.table, stream)
}

/// The messages of a stream, of which two are exchanged or one is repeated.
fn shuffled(stream: &[u8], random: &mut Rng) -> Vec<u8> {
    let mut parts: Vec<_> = messages(stream).collect();
    let (left, right) = (random.usize(..parts.len()), random.usize(..parts.len()));
    if random.bool() {
        parts.swap(left, right)
    } else {
        parts.insert(left, parts[right])
    }
    parts.concat()
}

/// A message of PostgreSQL's protocol.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn query(statement: &str) -> Vec<u8> {
    message(b'Q', &[statement.as_bytes(), b"\0"].concat())
}

fn copy(table: &str, stream: &[u8]) -> Vec<u8> {
    let statement = query(&format!("COPY {table} FROM STDIN (FORMAT colonnade)"));
    [statement, message(b'd', stream), message(b'c', b"")].concat()
}

struct Server {
    output: TcpStream,
    input: BufReader<TcpStream>,
}

impl Server {
    /// Logs in without a password.
    fn connect(address: &str, user: &str, database: &str) -> io::Result<Self> {
        let output = TcpStream::connect(address)?;
        output.set_nodelay(true)?;
        let mut server = Self { input: BufReader::new(output.try_clone()?), output };
        let parameters = format!("user\0{user}\0database\0{database}\0\0");
        let mut startup = (parameters.len() as u32 + 8).to_be_bytes().to_vec();
        startup.extend_from_slice(&(3_u32 << 16).to_be_bytes());
        startup.extend_from_slice(parameters.as_bytes());
        server.output.write_all(&startup)?;
        server.answer().map_err(io::Error::other)?;
        Ok(server)
    }

    fn send(&mut self, bytes: &[u8]) {
        // What fails is seen when the answer is read.
        let _ = self.output.write_all(bytes);
    }

    /// Reads until the server is ready for a query. Gives the command's tag; `None` after an error, which a damaged
    /// stream may have.
    fn answer(&mut self) -> Result<Option<String>, String> {
        let mut tag = None;
        loop {
            let mut head = [0; 5];
            self.input.read_exact(&mut head).map_err(|error| format!("the connection has ended: {error}"))?;
            let [kind, length @ ..] = head;
            let mut body = vec![0; u32::from_be_bytes(length).saturating_sub(4) as usize];
            self.input.read_exact(&mut body).map_err(|error| format!("the connection has ended: {error}"))?;
            match kind {
                b'Z' => return Ok(tag),
                b'C' => tag = Some(String::from_utf8_lossy(&body).trim_end_matches('\0').to_owned()),
                b'E' => {
                    let field = |name| body.split(|byte| *byte == 0).find_map(|field| field.strip_prefix(&[name]));
                    let text = |name| String::from_utf8_lossy(field(name).unwrap_or_default()).into_owned();
                    if text(b'C') == "XX000" || text(b'V') == "FATAL" {
                        return Err(format!("{} {}: {}", text(b'V'), text(b'C'), text(b'M')));
                    }
                    tag = None;
                }
                _ => {}
            }
        }
    }
}
