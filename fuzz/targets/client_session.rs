//! The client's side of a whole connection, past its login: a server that knows the password's verifier talks as it should, but where the
//! bytes tell it otherwise. Never a panic, never the password on the line, and a result that ends is whole.

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
