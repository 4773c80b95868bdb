//! What a server may send to a client: all of one connection, from the answer to the start-up message on.

#![no_main]

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use colonnade_client::{Connection, QueryOptions, Target, postgres};

/// A server that says what it is told to, whatever it is asked.
struct Parrot {
    target: Target,
    words: Arc<Mutex<Vec<u8>>>,
}

impl Parrot {
    fn start() -> Self {
        let path = std::env::temp_dir().join(format!("colonnade-fuzz-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).expect("a socket");
        let words = Arc::<Mutex<Vec<u8>>>::default();
        let shared = words.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let words = shared.lock().map(|words| words.clone()).unwrap_or_default();
                // A request to cancel comes while the first connection is still read.
                thread::spawn(move || speak(stream, &words));
            }
        });
        let host = path.to_string_lossy().replace('/', "%2F");
        Self { target: Target::parse(&format!("postgresql://fuzz@{host}/")).expect("an address"), words }
    }
}

fn speak(mut stream: UnixStream, words: &[u8]) {
    let _ = stream.write_all(words).and_then(|()| stream.shutdown(Shutdown::Write));
    let _ = stream.read_to_end(&mut Vec::new());
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    static PARROT: OnceLock<Parrot> = OnceLock::new();
    let parrot = PARROT.get_or_init(Parrot::start);
    if let Ok(mut words) = parrot.words.lock() {
        *words = bytes.to_vec();
    }
    let Ok(connection) = postgres::connect(parrot.target.clone(), &mut || true) else { return };
    // The result of a second query must not be that of the first.
    for _ in 0..2 {
        let Ok(mut result) = connection.query("select 1", &QueryOptions::default(), &mut || true) else { return };
        let columns = result.schema().fields().len();
        let mut rows = 0;
        while let Ok(batch) = result.next(&mut || true) {
            let Some(batch) = batch else {
                assert_eq!(result.stats().rows, rows, "a result that ended has all its rows");
                break;
            };
            rows += batch.rows() as u64;
            if let Ok(batch) = batch.decode() {
                assert_eq!(batch.num_columns(), columns);
            }
        }
    }
});
