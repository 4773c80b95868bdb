//! System calls of SQLite that this library replaces. <https://www.sqlite.org/c3ref/vfs.html>

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::mem;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::ptr;
use std::sync::Once;

use libsqlite3_sys as ffi;

use crate::system::table_number;

/// The endings of the files that a write-ahead log has beside its database.
const LOG: [&[u8]; 2] = [b"-wal", b"-shm"];
const ROWS_PER_GROUP: u32 = 0o060;
const OTHERS: u32 = 0o006;
/// New files get the directory's group.
const SET_GROUP: u32 = 0o2000;

/// Replaces the calls, once in a process, before SQLite opens its first file.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the functions have the signatures of those that SQLite calls by these names (aSyscall in os_unix.c).
        unsafe {
            replace(c"open", mem::transmute::<extern "C" fn(*const c_char, c_int, c_int) -> c_int, Call>(open));
            replace(c"stat", mem::transmute::<extern "C" fn(*const c_char, *mut libc::stat) -> c_int, Call>(stat));
            replace(c"fstat", mem::transmute::<extern "C" fn(c_int, *mut libc::stat) -> c_int, Call>(fstat));
        }
    });
}

type Call = unsafe extern "C" fn();

/// # Safety
/// `call` has the signature that SQLite expects.
unsafe fn replace(name: &CStr, call: Call) {
    // SAFETY: the default VFS exists as long as the library, and has no user yet.
    unsafe {
        let vfs = ffi::sqlite3_vfs_find(ptr::null());
        if let Some(set) = vfs.as_ref().and_then(|vfs| vfs.xSetSystemCall) {
            set(vfs, name.as_ptr(), Some(call));
        }
    }
}

/// Opens a file. It creates no file of a write-ahead log that would lock out the owner of the database, as even a
/// reader would: SQLite gives such a file to the database's owner only if it runs as root.
extern "C" fn open(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
    // SAFETY: SQLite passes a C string.
    let name = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
    let creates = flags & libc::O_CREAT != 0;
    let flags = if creates && locks_owner_out(name) { flags & !libc::O_CREAT } else { flags };
    // SAFETY: as above.
    unsafe { libc::open(path, flags, mode) }
}

/// Whether `name` is a file of a log which, made by this user, the database's owner could not write.
fn locks_owner_out(name: &Path) -> bool {
    let bytes = name.as_os_str().as_bytes();
    let Some(database) = LOG.iter().find_map(|ending| bytes.strip_suffix(*ending)) else { return false };
    let database = Path::new(OsStr::from_bytes(database));
    let Ok(owned) = database.metadata() else { return false };
    // SAFETY: these calls take and change nothing.
    let (user, mut group) = unsafe { (libc::geteuid(), libc::getegid()) };
    if user == 0 || user == owned.uid() {
        return false;
    }
    if let Some(Ok(directory)) = database.parent().map(Path::metadata)
        && directory.mode() & SET_GROUP != 0
    {
        group = directory.gid();
    }
    // The new file gets the database's mode.
    let allows = |rights| owned.mode() & rights == rights;
    !(allows(OTHERS) || allows(ROWS_PER_GROUP) && group == owned.gid())
}

extern "C" fn stat(path: *const c_char, found: *mut libc::stat) -> c_int {
    // SAFETY: SQLite passes a C string and a place for the answer.
    unsafe { of_table(libc::stat(path, found), found) }
}

extern "C" fn fstat(descriptor: c_int, found: *mut libc::stat) -> c_int {
    // SAFETY: as above.
    unsafe { of_table(libc::fstat(descriptor, found), found) }
}

/// Distinguishes the files of different descriptor tables. SQLite keeps a list of the files that it has open, with
/// their locks, by device and inode. A forked process has a copy of its parent's list, and neither the descriptors nor
/// the locks: its own files must not be found in there.
///
/// # Safety
/// With a code of 0, `found` is an answer.
unsafe fn of_table(code: c_int, found: *mut libc::stat) -> c_int {
    if code == 0 {
        // SAFETY: the caller's promise. Device numbers have fewer bits.
        unsafe { (*found).st_dev ^= (table_number::current() << 48) as libc::dev_t };
    }
    code
}
