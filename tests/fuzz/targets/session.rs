//! A whole connection through a socket, which never panics. The first byte says whether the server has a users file.
//! With one, it runs nothing, whatever the bytes are. Without one, the bytes follow the login.

#![no_main]

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_array::{Int64Array, RecordBatch};
use colonnade_server::auth::{Role, Users};
use colonnade_server::{
    BatchSize, Columns, CredentialFiles, Credentials, Description, Engine, EngineAnswer, EngineError, EngineSession,
    InsertedRows, Interrupt, Parameter, Rows, ServeOptions, Server, SessionUser, SqlState, value::types::Type,
};
use colonnade_sql::Statement;

const START: &[u8] = b"\0\0\0\x10\0\x03\0\0user\0x\0\0";

/// An engine that returns numbers for every query, and counts the queries.
#[derive(Default)]
struct CountingEngine {
    asked: Arc<AtomicU64>,
}

impl Engine for CountingEngine {
    fn version(&self) -> String {
        "CountingEngine 1".to_owned()
    }

    fn session(&self, _who: &SessionUser) -> Result<Box<dyn EngineSession>, EngineError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(Self { asked: Arc::clone(&self.asked) }))
    }
}

impl EngineSession for CountingEngine {
    fn execute(
        &mut self,
        statement: &Statement<'_>,
        _: &[Parameter],
        _size: BatchSize,
    ) -> Result<EngineAnswer, EngineError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        match statement.text.len() % 3 {
            0 => Ok(EngineAnswer::Done { changed: Some(1) }),
            1 => Ok(EngineAnswer::Rows(Box::new(Numbers(2)))),
            _ => Err(EngineError::new(SqlState::SYNTAX_ERROR, "no")),
        }
    }

    fn describe(&mut self, statement: &Statement<'_>, _: &[u32]) -> Result<Description, EngineError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let parameters = vec![Type::of_oid(20).unwrap(); statement.text.matches('$').count()];
        let columns = match statement.text.len() % 3 {
            0 => Columns::None,
            1 => Columns::Known(vec![("n".to_owned(), Type::of_oid(20).unwrap())]),
            _ => Columns::Deferred,
        };
        Ok(Description { parameters, columns, ..Description::default() })
    }

    fn insert(&mut self, rows: InsertedRows<'_>) -> Result<u64, EngineError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(rows.batches.iter().map(|batch| batch.num_rows() as u64).sum())
    }

    fn interrupt_handle(&self) -> Arc<dyn Interrupt> {
        Arc::new(Nothing)
    }
}

struct Nothing;

impl Interrupt for Nothing {
    fn interrupt(&self) {}
}

struct Numbers(usize);

fn numbers() -> RecordBatch {
    RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![Some(1), None, Some(-7)])) as _)]).unwrap()
}

impl Rows for Numbers {
    fn schema(&self) -> arrow_schema::SchemaRef {
        numbers().schema()
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        Ok((self.0 > 0).then(|| {
            self.0 -= 1;
            numbers()
        }))
    }
}

struct Target {
    asked: Arc<AtomicU64>,
    server: Server,
}

fn target(is_guarded: bool) -> Target {
    let users = is_guarded.then(|| {
        let file = std::env::temp_dir().join(format!("colonnade-fuzz-{}", std::process::id()));
        let mut users = Users::default();
        users.add("x", "secret", Role::ReadWrite, None, false).unwrap();
        users.write(&file).unwrap();
        file
    });
    let credentials = Credentials::load(&CredentialFiles { users: users.clone(), tls: None }).unwrap();
    users.into_iter().for_each(|file| std::fs::remove_file(file).unwrap());
    let engine = CountingEngine::default();
    let asked = Arc::clone(&engine.asked);
    Target { asked, server: Server::start(Arc::new(engine), credentials, ServeOptions::default()).unwrap() }
}

static OPEN: OnceLock<Target> = OnceLock::new();
static GUARDED: OnceLock<Target> = OnceLock::new();

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let is_guarded = first % 2 == 0;
    let target = if is_guarded { &GUARDED } else { &OPEN }.get_or_init(|| target(is_guarded));
    let (mut client, socket) = UnixStream::pair().unwrap();
    target.server.connect(socket.into()).unwrap();
    let start = if first % 4 < 2 { START } else { b"" };
    let (bytes, mut reader) = ([start, rest].concat(), client.try_clone().unwrap());
    let answers = std::thread::spawn(move || {
        let mut answers = Vec::new();
        // The server may close the connection at any time.
        let _ = reader.read_to_end(&mut answers);
        answers
    });
    let _ = client.write_all(&bytes);
    let _ = client.shutdown(Shutdown::Write);
    let answers = answers.join().unwrap();
    if is_guarded {
        assert_eq!(target.asked.load(Ordering::SeqCst), 0, "a query before the login");
        assert!(!answers.windows(9).any(|nine| nine == b"R\0\0\0\x08\0\0\0\0"), "a login without a password");
    }
});
