//! Windows.

use std::io::{self, IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::event::{PollFlags, Timespec};
use rustix::net::{RecvFlags, recv};
use windows_sys::Win32::Foundation::{ERROR_INSUFFICIENT_BUFFER, GetLastError};
use windows_sys::Win32::System::WindowsProgramming::GetUserNameW;

use super::stream::Stream;
use crate::{Error, ErrorKind};

/// An Arrow producer's code for a stream that was cancelled: ECANCELED of the C library (UCRT).
pub(crate) const CANCELED: i32 = 105;

/// The event that the peer has closed its side: it is told without being asked for.
pub(super) const PEER_CLOSED: PollFlags = PollFlags::empty();

/// What a new socket needs before its first call. Calls have no flag that makes them return at once.
pub(super) fn prepare(stream: &Stream) -> io::Result<()> {
    let Stream::Tcp(stream) = stream;
    stream.set_nonblocking(true)
}

/// Sends what the system takes at once.
pub(super) fn send(stream: &Stream, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let Stream::Tcp(stream) = stream;
    (&mut &*stream).write_vectored(slices)
}

/// Receives what is there.
pub(super) fn receive(stream: &Stream, to: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
    let (_, count) = recv(stream.handle(), to, RecvFlags::empty())?;
    Ok(count)
}

/// In whole milliseconds, the system's unit, and not less: a wait that ends early would begin again at once.
pub(super) fn poll_time(left: Duration) -> Timespec {
    let left = Duration::from_millis(u64::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX));
    Timespec { tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: left.subsec_nanos() as _ }
}

/// The name of the user who runs this process, as libpq takes it (`pg_fe_getauthname`).
///
/// # Errors
/// The system does not tell it.
pub(crate) fn user_name() -> Result<String, Error> {
    let mut room = vec![0u16; 257];
    loop {
        let mut length = u32::try_from(room.len()).unwrap_or(u32::MAX);
        // SAFETY: the place has `length` units, and both live as long as the call.
        if unsafe { GetUserNameW(room.as_mut_ptr(), &raw mut length) } != 0 {
            // With the final zero.
            room.truncate(length.saturating_sub(1) as usize);
            return String::from_utf16(&room).map_err(|_| unnamed("its name is not Unicode"));
        }
        // SAFETY: it takes nothing.
        if unsafe { GetLastError() } != ERROR_INSUFFICIENT_BUFFER || length as usize <= room.len() {
            return Err(unnamed(&io::Error::last_os_error().to_string()));
        }
        room.resize(length as usize, 0);
    }
}

fn unnamed(why: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("the connection names no user, and Windows does not name this one: {why}"))
        .with_hint("name the user: postgresql://USER@host/…, mysql://USER@host/…")
}
