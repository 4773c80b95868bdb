//! Everything that a MySQL server may send to a client on one connection, beginning with its greeting.

#![no_main]

use std::sync::OnceLock;

use colonnade_client::mysql;
use colonnade_fuzz::{Parrot, read_results};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    static PARROT: OnceLock<Parrot> = OnceLock::new();
    let parrot = PARROT.get_or_init(Parrot::start);
    parrot.learn(bytes);
    let uri = format!("mysql://fuzz:secret@localhost/?unix_socket={}", parrot.path().display());
    if let Ok(connection) = mysql::connect(&uri, &mut || true) {
        read_results(&connection);
    }
});
