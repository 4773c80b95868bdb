//! Everything that a server may send to a client on one connection, beginning with the answer to the start-up message.

#![no_main]

use std::sync::OnceLock;

use colonnade_client::postgres::{self, Conninfo};
use colonnade_fuzz::{FixedServer, read_results};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    static SERVER: OnceLock<(FixedServer, Conninfo)> = OnceLock::new();
    let (server, conninfo) = SERVER.get_or_init(|| {
        let server = FixedServer::start();
        let host = server.path().to_string_lossy().replace('/', "%2F");
        let conninfo = Conninfo::parse(&format!("postgresql://fuzz@{host}/")).expect("an address");
        (server, conninfo)
    });
    server.learn(bytes);
    if let Ok(connection) = postgres::connect(conninfo.clone(), &mut || true) {
        read_results(&connection);
    }
});
