//! A thread's own table of file descriptors.
//!
//! On Linux and macOS, locks of files belong to a table, which all threads of a process usually share. On Windows they
//! belong to a file's handle, so any thread will do.

use std::io;

#[cfg(unix)]
use super::unix::sqlite_calls;

/// What to do if [`leave`] fails.
#[cfg(not(target_os = "macos"))]
pub(crate) const HINT: &str =
    "Linux has the system calls close_range and unshare for it: let the container's seccomp profile allow one of them";
#[cfg(target_os = "macos")]
pub(crate) const HINT: &str = "macOS has none: read the file on Linux or Windows, or by another driver, such as adbc_driver_sqlite \
                               (adbc: URIs)";

/// Gives this thread a table of its own, in which SQLite may open files.
///
/// # Errors
/// The system does not do that.
pub(crate) fn leave() -> io::Result<()> {
    leave_process()?;
    #[cfg(unix)]
    sqlite_calls::install();
    Ok(())
}

/// Gives this thread a table of its own, without what is open in the process: a copy of a pipe's end would keep the
/// pipe open. Only the standard error stays, for the message of a panic.
#[cfg(target_os = "linux")]
fn leave_process() -> io::Result<()> {
    let close_range = |first: libc::c_uint, last: libc::c_uint, flags: libc::c_uint| {
        // SAFETY: the call takes three numbers. Afterwards no code uses the closed descriptors in this thread.
        match unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // Linux 5.9 and the profiles of containers have this one.
    if close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_UNSHARE).is_ok() {
        return close_range(0, 1, 0);
    }
    // SAFETY: the call takes a number.
    if unsafe { libc::unshare(libc::CLONE_FILES) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let names = std::fs::read_dir("/proc/thread-self/fd")?.map(|entry| Ok(entry?.file_name()));
    for name in names.collect::<io::Result<Vec<_>>>()? {
        if let Some(number) = name.to_str().and_then(|name| name.parse().ok()).filter(|number| *number != 2) {
            // SAFETY: as above. The directory's own descriptor is closed already.
            unsafe { libc::close(number) };
        }
    }
    Ok(())
}

#[cfg(target_os = "macos")]
fn leave_process() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(windows)]
fn leave_process() -> io::Result<()> {
    Ok(())
}
