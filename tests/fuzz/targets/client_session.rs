//! The client's side of a whole connection, including its login. A server that knows the password's verifier follows
//! the protocol, except where the bytes change its messages. The client never panics, never sends the password, and a
//! result that ends is complete.

#![no_main]

use colonnade_client::postgres::{self, Conninfo};
use colonnade_fuzz::{PASSWORD, ScriptedServer, read_results};

thread_local! {
    static SERVER: (ScriptedServer, Conninfo) = {
        let server = ScriptedServer::start();
        let text = format!("host=127.0.0.1 port={} user=fuzz password='{PASSWORD}' sslmode=disable", server.port);
        (server, Conninfo::parse(&text).expect("a connection string"))
    };
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    SERVER.with(|(server, conninfo)| {
        server.learn(bytes);
        if let Ok(connection) = postgres::connect(conninfo.clone(), &mut || true) {
            read_results(&connection);
        }
        let heard = server.heard();
        assert!(!heard.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes()), "the password was sent");
    });
});
