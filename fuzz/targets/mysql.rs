//! Everything that a MySQL server may send to a client on one connection, beginning with its greeting.

#![no_main]

use std::sync::OnceLock;

use colonnade_client::mysql;
use colonnade_fuzz::{FixedServer, read_results};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    static SERVER: OnceLock<FixedServer> = OnceLock::new();
    let server = SERVER.get_or_init(FixedServer::start);
    server.learn(bytes);
    let uri = format!("mysql://fuzz:secret@localhost/?unix_socket={}", server.path().display());
    if let Ok(connection) = mysql::connect(&uri, &mut || true) {
        read_results(&connection);
    }
});
