//! The part of SQLite's C library that reading results needs. <https://www.sqlite.org/c3ref/intro.html>

mod statement;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use libsqlite3_sys as ffi;

use super::descriptor_table::{self, OfTable};
use super::fault::{self, Stage};
use super::fence;
use crate::{Access, Error};

pub(super) use self::statement::SqliteStatement;

/// The steps of SQLite's virtual machine between two checks of the flag: under a millisecond.
const STEPS: c_int = 50_000;
/// The time between two attempts at a lock.
const RETRY: Duration = Duration::from_millis(10);

/// An open database, which one thread at a time uses, of those with its descriptors. Others hold its
/// [`InterruptHandle`].
pub(super) struct Database(Arc<OfTable<Handle>>);

/// Interrupts, from any thread, the statement that runs on a database.
#[derive(Clone)]
pub(super) struct InterruptHandle(Arc<OfTable<Handle>>);

struct Handle {
    raw: NonNull<ffi::sqlite3>,
    // The library has this address.
    watch: Box<Watch>,
}

/// The state that the library's callbacks read.
struct Watch {
    stop: AtomicBool,
    /// The attempts at a lock before it fails.
    retries: AtomicI32,
}

// SAFETY: opened without a mutex, a connection may go from thread to thread as long as one at a time uses it
// (https://www.sqlite.org/threadsafe.html); a `Database` cannot be cloned, and an `InterruptHandle` calls only what any
// thread may.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: statements borrow the database, so none is left, and nobody else has the handle.
        unsafe { ffi::sqlite3_close(self.raw.as_ptr()) };
    }
}

impl InterruptHandle {
    /// The running statement, or the next one, ends with an error, until [`Database::arm`] is called.
    pub(super) fn stop(&self) {
        self.0.watch.stop.store(true, Ordering::Release);
        // SAFETY: any thread may call it while the connection is open, which `self` keeps it.
        unsafe { ffi::sqlite3_interrupt(self.0.raw.as_ptr()) };
    }

    /// Whether [`InterruptHandle::stop`] was called.
    pub(super) fn is_stopped(&self) -> bool {
        self.0.watch.stop.load(Ordering::Acquire)
    }
}

impl Database {
    /// Opens an existing file read-only. With `uri`, `name` is a URI of SQLite. If a lock is not available within
    /// `patience`, the statement fails. A gateway's clients are limited by [`fence`].
    ///
    /// # Errors
    /// There is no such file, or it cannot be opened. Its content is not checked yet.
    pub(super) fn open(name: &CStr, uri: bool, patience: Duration, access: Access) -> Result<Self, Error> {
        let database = Self::open_with(ffi::SQLITE_OPEN_READONLY, name, uri, patience)?;
        if access == Access::Gateway {
            match fence::raise(database.raw()) {
                ffi::SQLITE_OK => {}
                code => return Err(database.error(code, Stage::Open)),
            }
        }
        Ok(database)
    }

    /// Opens an existing file to write to it, for this program only.
    ///
    /// # Errors
    /// As for [`Database::open`]. A file that cannot be written to fails when a transaction begins.
    pub(super) fn open_to_write(name: &CStr, uri: bool, patience: Duration) -> Result<Self, Error> {
        Self::open_with(ffi::SQLITE_OPEN_READWRITE, name, uri, patience)
    }

    fn open_with(mode: c_int, name: &CStr, uri: bool, patience: Duration) -> Result<Self, Error> {
        if !descriptor_table::is_entered() {
            return Err(elsewhere(Stage::Open));
        }
        let mut flags = mode | ffi::SQLITE_OPEN_NOMUTEX | ffi::SQLITE_OPEN_EXRESCODE;
        if uri {
            flags |= ffi::SQLITE_OPEN_URI;
        }
        let mut raw = ptr::null_mut();
        // SAFETY: both pointers are valid for the call.
        let code = unsafe { ffi::sqlite3_open_v2(name.as_ptr(), &raw mut raw, flags, ptr::null()) };
        let Some(raw) = NonNull::new(raw) else { return Err(fault::error(ffi::SQLITE_NOMEM, "", Stage::Open, 0)) };
        let watch = Box::new(Watch { stop: AtomicBool::new(false), retries: AtomicI32::new(0) });
        let database = Self(Arc::new(OfTable::new(Handle { raw, watch })));
        if code != ffi::SQLITE_OK {
            return Err(database.error(code, Stage::Open));
        }
        let watch = ptr::from_ref(&*database.0.watch).cast_mut().cast::<c_void>();
        // SAFETY: `watch` lives until after the connection is closed, and the callbacks only read it.
        unsafe {
            ffi::sqlite3_progress_handler(database.raw(), STEPS, Some(progress), watch);
            ffi::sqlite3_busy_handler(database.raw(), Some(busy), watch);
        }
        database.set_patience(patience);
        Ok(database)
    }

    /// Runs a statement of this client for its effect.
    pub(super) fn run(&self, sql: &str) -> Result<(), Error> {
        match self.prepare(sql)?.0 {
            Some(mut statement) => statement.run_once(),
            None => Ok(()),
        }
    }

    /// The rows of a query of this client, as text. NULL is an empty text.
    pub(super) fn texts(&self, sql: &str) -> Result<Vec<Vec<String>>, Error> {
        let (Some(mut statement), _) = self.prepare(sql)? else { return Ok(Vec::new()) };
        let (columns, mut rows) = (statement.columns(), Vec::new());
        while let Some(row) = statement.step()? {
            let text = |column| String::from_utf8_lossy(row.value(column).text().unwrap_or_default()).into_owned();
            rows.push((0..columns).map(text).collect());
        }
        Ok(rows)
    }

    /// Reads the file's schema again if another program has changed it. Compiling a statement does not: only its first
    /// step compares it with the file's.
    pub(super) fn refresh_schema(&self) -> Result<(), Error> {
        self.texts("SELECT 1 FROM sqlite_schema LIMIT 1").map(drop)
    }

    /// Sets the timeout of locks.
    pub(super) fn set_patience(&self, patience: Duration) {
        let retries = c_int::try_from(patience.as_millis() / RETRY.as_millis()).unwrap_or(c_int::MAX);
        self.0.watch.retries.store(retries, Ordering::Relaxed);
    }

    /// The handle that interrupts a query from another thread.
    pub(super) fn interrupt(&self) -> InterruptHandle {
        InterruptHandle(self.0.clone())
    }

    /// Whether an interrupt was requested: one that came between two statements has no effect on the next one.
    pub(super) fn is_stopped(&self) -> bool {
        self.0.watch.stop.load(Ordering::Acquire)
    }

    /// Resets the interrupt.
    pub(super) fn arm(&self) {
        self.0.watch.stop.store(false, Ordering::Release);
    }

    /// Compiles the first statement of `sql`. Returns it and the text after it; `None` instead of the statement if
    /// there are only comments and white space.
    pub(super) fn prepare<'s>(&self, sql: &'s str) -> Result<(Option<SqliteStatement<'_>>, &'s str), Error> {
        if !self.0.is_here() {
            return Err(elsewhere(Stage::Prepare));
        }
        let (mut raw, mut tail) = (ptr::null_mut(), ptr::null());
        let length = c_int::try_from(sql.len()).map_err(|_| fault::error(ffi::SQLITE_TOOBIG, "", Stage::Prepare, 0))?;
        // SAFETY: `sql` has `length` bytes; the results go to variables of ours.
        let code = unsafe {
            ffi::sqlite3_prepare_v2(self.raw(), sql.as_ptr().cast::<c_char>(), length, &raw mut raw, &raw mut tail)
        };
        if code != ffi::SQLITE_OK {
            // SAFETY: the connection is open.
            let place = usize::try_from(unsafe { ffi::sqlite3_error_offset(self.raw()) }).ok();
            let before = place.and_then(|place| sql.get(..place));
            return Err(self
                .error(code, Stage::Prepare)
                .with_position(before.map(|before| before.chars().count()))
                .with_sent(sql));
        }
        let used = tail.addr().saturating_sub(sql.as_ptr().addr());
        let rest = sql.get(used..).unwrap_or_default();
        // SAFETY: `raw` is a statement of this connection's, and nobody else has it.
        Ok((NonNull::new(raw).map(|raw| unsafe { SqliteStatement::of(raw, self) }), rest))
    }

    /// Whether a transaction is open.
    pub(super) fn in_transaction(&self) -> bool {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_get_autocommit(self.raw()) == 0 }
    }

    /// The number of rows that the last statement changed.
    pub(super) fn changes(&self) -> u64 {
        // SAFETY: the connection is open.
        u64::try_from(unsafe { ffi::sqlite3_changes64(self.raw()) }).unwrap_or_default()
    }

    fn raw(&self) -> *mut ffi::sqlite3 {
        self.0.raw.as_ptr()
    }

    fn error(&self, code: c_int, stage: Stage) -> Error {
        // SAFETY: the text is the connection's and stays until its next call.
        let message = unsafe { text(ffi::sqlite3_errmsg(self.raw())) }.unwrap_or_default();
        // SAFETY: the connection is open.
        let cause = unsafe { ffi::sqlite3_system_errno(self.raw()) };
        fault::error(code, &message, stage, cause)
    }
}

/// The error of a bug: the descriptors of this thread are other files than those of the database.
#[cold]
fn elsewhere(stage: Stage) -> Error {
    fault::error(ffi::SQLITE_MISUSE, "an SQLite database is used on a thread without its files", stage, 0)
}

/// # Safety
/// `start` is null or a C string.
unsafe fn text(start: *const c_char) -> Option<String> {
    // SAFETY: the caller's promise.
    (!start.is_null()).then(|| unsafe { CStr::from_ptr(start) }.to_string_lossy().into_owned())
}

/// Stops the running statement if the result is not zero.
extern "C" fn progress(watch: *mut c_void) -> c_int {
    // SAFETY: `Database::open` gave a `Watch` that outlives the connection.
    let watch = unsafe { &*watch.cast::<Watch>() };
    c_int::from(watch.stop.load(Ordering::Acquire))
}

/// Repeats the attempt at a lock if the result is not zero; `attempts` attempts have failed.
extern "C" fn busy(watch: *mut c_void, attempts: c_int) -> c_int {
    // SAFETY: as above.
    let watch = unsafe { &*watch.cast::<Watch>() };
    if watch.stop.load(Ordering::Acquire) || attempts >= watch.retries.load(Ordering::Relaxed) {
        return 0;
    }
    std::thread::sleep(RETRY);
    1
}

/// The library's version.
pub(super) fn version() -> String {
    // SAFETY: a constant.
    unsafe { text(ffi::sqlite3_libversion()) }.unwrap_or_default()
}

/// A name for the library, unless it has a NUL.
pub(super) fn c_string(name: &str) -> Option<CString> {
    CString::new(name).ok()
}
