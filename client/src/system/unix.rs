//! Linux and macOS.

pub(super) mod sqlite_calls;
mod user;

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::event::{PollFlags, Timespec};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};

use super::stream::Stream;

pub(crate) use user::user_name;

/// An Arrow producer's code for a stream that was cancelled.
pub(crate) const CANCELED: i32 = libc::ECANCELED;

/// A broken connection is an error, not a signal. macOS has an option of the socket for it, which the standard library
/// sets.
#[cfg(target_os = "linux")]
const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const NO_SIGNAL: SendFlags = SendFlags::empty();

/// The event that the peer has closed its side.
#[cfg(target_os = "linux")]
pub(super) const PEER_CLOSED: PollFlags = PollFlags::RDHUP;
#[cfg(not(target_os = "linux"))]
pub(super) const PEER_CLOSED: PollFlags = PollFlags::empty();

/// What a new socket needs before its first call.
pub(super) fn prepare(_: &Stream) -> io::Result<()> {
    Ok(())
}

/// Sends what the system takes at once.
pub(super) fn send(stream: &Stream, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    let nothing = &mut SendAncillaryBuffer::default();
    Ok(sendmsg(stream.handle(), slices, nothing, SendFlags::DONTWAIT | NO_SIGNAL)?)
}

/// Receives what is there.
pub(super) fn receive(stream: &Stream, to: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
    let (_, count) = recv(stream.handle(), to, RecvFlags::DONTWAIT)?;
    Ok(count)
}

pub(super) fn poll_time(left: Duration) -> Timespec {
    Timespec { tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: left.subsec_nanos().into() }
}
