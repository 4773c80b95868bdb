//! Everything that a server may send to a client on one connection, beginning with the answer to the start-up message.

#![no_main]

use std::sync::OnceLock;

use colonnade_client::postgres::{self, Conninfo};
use colonnade_fuzz::{Parrot, read_results};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    static PARROT: OnceLock<(Parrot, Conninfo)> = OnceLock::new();
    let (parrot, conninfo) = PARROT.get_or_init(|| {
        let parrot = Parrot::start();
        let host = parrot.path().to_string_lossy().replace('/', "%2F");
        let conninfo = Conninfo::parse(&format!("postgresql://fuzz@{host}/")).expect("an address");
        (parrot, conninfo)
    });
    parrot.learn(bytes);
    if let Ok(connection) = postgres::connect(conninfo.clone(), &mut || true) {
        read_results(&connection);
    }
});
