//! SQLite's result codes as errors. <https://www.sqlite.org/rescode.html>

use std::ffi::c_int;
use std::io;

use libsqlite3_sys as ffi;

use crate::{Error, ErrorKind};

/// The step that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Opening the file, or its first read.
    Open,
    /// Compiling a statement.
    Prepare,
    /// Running a statement.
    Step,
}

/// SQLite's text for `SQLITE_CANTOPEN`, if nothing more is known.
const NO_FILE: &str = "unable to open database file";
/// The primary code is the lowest byte of an extended one.
const PRIMARY: c_int = 0xff;

/// The error for a result code. `message` is SQLite's text, which contains only names and parts of the query. `cause`
/// is the system's number of the error because of which a file could not be opened, or 0.
pub(super) fn error(code: c_int, message: &str, stage: Stage, cause: c_int) -> Error {
    match code & PRIMARY {
        ffi::SQLITE_CANTOPEN | ffi::SQLITE_PERM if stage == Stage::Open && cause != 0 => {
            let cause = io::Error::from_raw_os_error(cause);
            Error::new(ErrorKind::Connect, format!("the file cannot be opened: {cause}")).with_cause(cause)
        }
        _ => meaning(code, message, stage),
    }
    .with_code(code)
}

fn meaning(code: c_int, message: &str, stage: Stage) -> Error {
    let database = |sqlstate: &str, message: &str| Error::new(ErrorKind::Database, message).with_sqlstate(sqlstate);
    match code & PRIMARY {
        ffi::SQLITE_INTERRUPT => database("57014", "the query was cancelled"),
        ffi::SQLITE_BUSY => {
            database("55P03", "the database is locked by another process, or by another library in this one")
                .with_hint("wait until it has written, or allow more time: sqlite:///file?timeout=60 (seconds)")
        }
        ffi::SQLITE_LOCKED => database("55P03", message),
        ffi::SQLITE_NOTADB => Error::new(ErrorKind::Connect, "the file is not an SQLite database, or it is encrypted"),
        ffi::SQLITE_CORRUPT => database("XX001", &format!("the file is damaged: {message}"))
            .with_hint("run PRAGMA integrity_check, and restore the file from a backup"),
        ffi::SQLITE_READONLY if code == ffi::SQLITE_READONLY_ROLLBACK => database(
            "25006",
            "a writer died in a transaction, and its journal must be rolled back before the file can be read",
        )
        .with_hint("open the file once with a tool that writes, such as sqlite3, and read a table"),
        // The files of a write-ahead log cannot be created beside the database.
        ffi::SQLITE_READONLY if code != ffi::SQLITE_READONLY => wal(),
        // ATTACH names the file in its own message.
        ffi::SQLITE_CANTOPEN if stage != Stage::Open && message != NO_FILE => database("58030", message)
            .with_hint("a file that is attached must exist: SQLite files are opened to read only"),
        ffi::SQLITE_CANTOPEN if stage != Stage::Open => wal(),
        ffi::SQLITE_READONLY => database("25006", message).with_hint(
            "a connection opens SQLite files to read only: write_sql writes rows, and other changes need another tool",
        ),
        ffi::SQLITE_CANTOPEN | ffi::SQLITE_PERM if stage == Stage::Open => Error::new(ErrorKind::Connect, message),
        ffi::SQLITE_IOERR => database("58030", &format!("the file could not be read: {message}")),
        ffi::SQLITE_NOMEM => database("53200", "SQLite has no memory left"),
        ffi::SQLITE_FULL => database("53100", message),
        ffi::SQLITE_TOOBIG => database("54000", "the statement or a value is larger than SQLite allows"),
        ffi::SQLITE_CONSTRAINT => database("23000", message),
        ffi::SQLITE_AUTH | ffi::SQLITE_PERM => database("42501", message),
        ffi::SQLITE_ERROR if stage == Stage::Step => database("22000", message),
        ffi::SQLITE_ERROR => database("42000", message),
        ffi::SQLITE_INTERNAL | ffi::SQLITE_MISUSE => database("XX000", message),
        _ => Error::new(ErrorKind::Database, message),
    }
}

fn wal() -> Error {
    Error::new(ErrorKind::Database, "the database has a write-ahead log, whose files this user cannot make")
        .with_sqlstate("58030")
        .with_hint(
            "even a reader needs the file's -wal and -shm beside it, in files that its owner can write to: read as the file's \
             owner, in a directory that can be written to, or while a program has the database open; if nobody writes to it \
             meanwhile, open it with ?immutable=1",
        )
}
