use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use colonnade_client::{Connection, QueryOptions};

/// A server on a unix socket that sends given bytes, independent of what it receives.
pub struct FixedServer {
    path: PathBuf,
    words: Arc<Mutex<Vec<u8>>>,
}

impl FixedServer {
    /// Starts it.
    pub fn start() -> Self {
        let path = std::env::temp_dir().join(format!("colonnade-fuzz-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).expect("a socket");
        let words = Arc::<Mutex<Vec<u8>>>::default();
        let shared = words.clone();
        thread::spawn(move || {
            // A cancel request arrives while the first connection is still read. Each thread is joined, so that the
            // leak checker does not report it with the next input.
            let mut speaking = Vec::<JoinHandle<()>>::new();
            for stream in listener.incoming().flatten() {
                let words = shared.lock().map(|words| words.clone()).unwrap_or_default();
                speaking.extract_if(.., |thread| thread.is_finished()).for_each(|thread| drop(thread.join()));
                speaking.push(thread::spawn(move || speak(stream, &words)));
            }
        });
        Self { path, words }
    }

    /// Its socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets the bytes that it sends on each connection from now on.
    pub fn learn(&self, words: &[u8]) {
        if let Ok(mut known) = self.words.lock() {
            *known = words.to_vec();
        }
    }
}

fn speak(mut stream: UnixStream, words: &[u8]) {
    let _ = stream.write_all(words).and_then(|()| stream.shutdown(Shutdown::Write));
    let _ = stream.read_to_end(&mut Vec::new());
}

/// Reads two results. The second must not repeat the first.
pub fn read_results(connection: &dyn Connection) {
    for _ in 0..2 {
        let Ok(mut result) = connection.query("select 1".into(), &QueryOptions::default(), &mut || true) else {
            return;
        };
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
}
