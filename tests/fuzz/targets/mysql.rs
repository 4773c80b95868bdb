//! Everything that a MySQL server may send to a client that reads and to one that writes, beginning with its greeting.

#![no_main]

use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use colonnade_client::{Connection, IfExists, WriteTarget, mysql};
use colonnade_fuzz::{FixedServer, read_results};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    static SERVER: OnceLock<FixedServer> = OnceLock::new();
    let server = SERVER.get_or_init(FixedServer::start);
    server.learn(bytes);
    let uri = format!("mysql://fuzz:secret@localhost/?unix_socket={}", server.path().display());
    if let Ok(connection) = mysql::connect(&uri, &mut || true) {
        read_results(&connection);
    }
    // The server says the same to every connection.
    if let Ok(connection) = mysql::connect(&uri, &mut || true) {
        write_rows(&connection);
    }
});

/// Writes two rows. A server that has not confirmed them cannot make the write succeed.
fn write_rows(connection: &dyn Connection) {
    let columns: [(&str, ArrayRef); 2] =
        [("a", Arc::new(Int64Array::from(vec![1, 2]))), ("b", Arc::new(StringArray::from(vec![Some("x"), None])))];
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let target = WriteTarget {
        schema: Some("shop".to_owned()),
        table: "t".to_owned(),
        if_exists: IfExists::CreateAppend,
        key: Vec::new(),
        temporary: false,
    };
    let Ok(writing) = connection.writing() else { return };
    let Ok(mut writer) = writing.begin(&target, &batch.schema(), &mut || true) else { return };
    if writer.write(&batch, &mut || true).is_ok()
        && let Ok(rows) = writer.finish(&mut || true)
    {
        assert_eq!(rows, 2, "all rows are confirmed");
    }
}
