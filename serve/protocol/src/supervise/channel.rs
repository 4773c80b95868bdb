//! Messages between supervisor and worker over a socket pair. Some carry descriptors.
//!
//! Both ends are the same version of the program, so the format may change in any version.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, Shutdown, SocketFlags, SocketType, recvmsg, sendmsg, shutdown, socketpair,
};

/// The kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ChannelMessage {
    /// To the worker, as the first message. The descriptors are the board, the setup, the credentials and, if there is
    /// one, the log.
    Setup = 1,
    /// To the worker: the descriptor is a client's socket, and the number is its slot.
    Client = 2,
    /// To the worker: the descriptor is the socket of a request for metrics.
    Metrics = 3,
    /// To the worker: the first descriptor holds users and certificates that replace the present ones. The second one
    /// is the log, if there is one.
    Reload = 4,
    /// To the worker: refuse new sessions, and send `Drained` when the open ones have ended.
    Drain = 5,
    /// To the worker: end.
    Stop = 6,
    /// To the supervisor: the worker accepts clients.
    Ready = 7,
    /// To the supervisor: the connection in this slot has ended.
    Ended = 8,
    /// To the supervisor: all sessions have ended since Drain.
    Drained = 9,
    /// To the supervisor: start a helper program.
    StartHelper = 10,
    /// To the worker: the descriptor is the socket to the helper. Without one it could not be started; the number is
    /// the error's.
    Helper = 11,
}

impl ChannelMessage {
    const ALL: [Self; 11] = [
        Self::Setup,
        Self::Client,
        Self::Metrics,
        Self::Reload,
        Self::Drain,
        Self::Stop,
        Self::Ready,
        Self::Ended,
        Self::Drained,
        Self::StartHelper,
        Self::Helper,
    ];
}

#[derive(Debug)]
pub(crate) struct Received {
    pub message: ChannelMessage,
    pub slot: u32,
    /// The descriptors. If this process has reached its limit, some are missing.
    pub descriptors: Vec<OwnedFd>,
}

/// One end of the pair.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: OwnedFd,
}

/// The maximum number of descriptors in a message.
const MAX_DESCRIPTORS: usize = 4;
const MESSAGE_BYTES: usize = 5;

impl Channel {
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Self { socket: one }, Self { socket: other }))
    }

    pub fn from_descriptor(socket: OwnedFd) -> Self {
        Self { socket }
    }

    pub fn into_descriptor(self) -> OwnedFd {
        self.socket
    }

    /// Sends a message; the other end gets duplicates of the descriptors.
    pub fn send(&self, message: ChannelMessage, slot: u32, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[0] = message as u8;
        bytes[1..].copy_from_slice(&slot.to_le_bytes());
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        loop {
            match sendmsg(&self.socket, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL) {
                Err(rustix::io::Errno::INTR) => {}
                result => return result.map(drop).map_err(io::Error::from),
            }
        }
    }

    /// Waits for a message; `None` when the other end is gone.
    pub fn receive(&self) -> io::Result<Option<Received>> {
        let mut bytes = [0; MESSAGE_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let length = loop {
            let mut slices = [IoSliceMut::new(&mut bytes)];
            match recvmsg(&self.socket, &mut slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::CONNRESET) => return Ok(None),
                result => break result?.bytes,
            }
        };
        let mut descriptors = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                descriptors.extend(received);
            }
        }
        if length == 0 {
            return Ok(None);
        }
        let damaged =
            || io::Error::new(io::ErrorKind::InvalidData, "a message between supervisor and worker is damaged");
        let message = *ChannelMessage::ALL.iter().find(|message| **message as u8 == bytes[0]).ok_or_else(damaged)?;
        let [_, slot @ ..] = bytes;
        if length != MESSAGE_BYTES {
            return Err(damaged());
        }
        Ok(Some(Received { message, slot: u32::from_le_bytes(slot), descriptors }))
    }

    /// Makes `receive` on this end return `None`.
    pub fn stop_receiving(&self) {
        // It fails if the other end is closed, which has the same effect.
        let _ = shutdown(&self.socket, Shutdown::Read);
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};

    use super::*;

    #[test]
    fn messages_arrive_with_their_descriptors() {
        let (one, other) = Channel::pair().unwrap();
        let mut file = crate::memory_file::create("test").unwrap();
        file.write_all(b"content").unwrap();
        one.send(ChannelMessage::Client, 7, &[file.as_fd()]).unwrap();
        one.send(ChannelMessage::Drain, 0, &[]).unwrap();
        let received = other.receive().unwrap().unwrap();
        assert_eq!((received.message, received.slot, received.descriptors.len()), (ChannelMessage::Client, 7, 1));
        let mut same = std::fs::File::from(received.descriptors.into_iter().next().unwrap());
        same.rewind().unwrap();
        let mut content = String::new();
        same.read_to_string(&mut content).unwrap();
        assert_eq!(content, "content");
        assert_eq!(other.receive().unwrap().unwrap().message, ChannelMessage::Drain);
        drop(one);
        assert!(other.receive().unwrap().is_none());
        assert!(other.send(ChannelMessage::Ready, 0, &[]).is_err());
    }
}
