//! The kernel's statistics of a socket to which rows are sent, for the controller of `wire`.

use colonnade_wire::{Link, Queue};

use crate::socket::Socket;

/// The distance to the server.
pub(crate) fn distance(socket: &Socket) -> Link {
    match socket {
        Socket::Unix(_) => Link::SameMachine,
        Socket::Tcp(stream) => match stream.peer_addr() {
            Ok(peer) if peer.ip().to_canonical().is_loopback() => Link::Loopback,
            _ if queue(socket).is_none() => Link::Unobserved,
            _ => Link::Remote,
        },
    }
}

/// Limits how many unsent bytes the kernel buffers, because these bytes were encoded for an earlier state of the link.
pub(crate) fn limit_unsent(socket: &Socket) {
    #[cfg(target_os = "linux")]
    socket.set(libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &(colonnade_wire::UNSENT as libc::c_int));
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
}

/// What a TCP connection has sent, and what limits it; `None` if the kernel cannot tell. On an encrypted connection
/// these are bytes of TLS records. Only their growth matters.
pub(crate) fn queue(socket: &Socket) -> Option<Queue> {
    #[cfg(target_os = "linux")]
    return match socket {
        Socket::Tcp(stream) => linux::queue(stream),
        Socket::Unix(_) => None,
    };
    #[cfg(not(target_os = "linux"))]
    {
        let _ = socket;
        None
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::net::TcpStream;
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    use colonnade_wire::Queue;

    /// The first fields of `struct tcp_info` (linux/tcp.h). Older kernels have fewer fields, newer ones more.
    #[repr(C)]
    #[derive(Default)]
    struct TcpInfo {
        /// Up to tcpi_ato.
        first: [u32; 4],
        snd_mss: u32,
        rcv_mss: u32,
        unacked: u32,
        sacked: u32,
        /// Up to tcpi_rttvar.
        times: [u32; 11],
        snd_ssthresh: u32,
        snd_cwnd: u32,
        /// Up to tcpi_total_retrans.
        receiving: [u32; 5],
        pacing_rate: u64,
        max_pacing_rate: u64,
        bytes_acked: u64,
        bytes_received: u64,
        segs_out: u32,
        segs_in: u32,
        notsent_bytes: u32,
        min_rtt: u32,
        data_segs_in: u32,
        data_segs_out: u32,
        delivery_rate: u64,
        busy_time: u64,
        /// Microseconds.
        rwnd_limited: u64,
    }

    pub(super) fn queue(socket: &TcpStream) -> Option<Queue> {
        let mut info = TcpInfo::default();
        let mut length = size_of::<TcpInfo>() as libc::socklen_t;
        // SAFETY: the descriptor is open; the kernel writes at most `length` bytes into `info`, whose fields are all
        // integers.
        let status = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &raw mut length,
            )
        };
        (status == 0 && length as usize >= size_of::<TcpInfo>()).then(|| Queue {
            // Packets after a lost one count as delivered. Otherwise a loss would look like a pause.
            delivered: info.bytes_acked + u64::from(info.sacked) * u64::from(info.snd_mss),
            unsent: u64::from(info.notsent_bytes),
            is_slow_start: info.snd_cwnd < info.snd_ssthresh,
            peer_limited: Duration::from_micros(info.rwnd_limited),
            ..Queue::default()
        })
    }

    #[cfg(test)]
    mod tests {
        #![allow(clippy::unwrap_used)]

        use std::io::{Read, Write};
        use std::net::{TcpListener, TcpStream};

        use super::super::*;

        #[test]
        fn the_kernel_counts_delivered_bytes() {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut peer, _) = listener.accept().unwrap();
            let socket = Socket::Tcp(stream);
            assert_eq!(distance(&socket), Link::Loopback);
            // The handshake may count.
            let before = queue(&socket).unwrap().delivered;
            let Socket::Tcp(mut stream) = socket.share().unwrap() else { unreachable!() };
            stream.write_all(&[7; 10_000]).unwrap();
            peer.read_exact(&mut [0; 10_000]).unwrap();
            // The last acknowledgement may still be under way.
            while queue(&socket).unwrap().delivered < before + 10_000 {
                std::thread::yield_now();
            }
            assert_eq!(queue(&socket).unwrap().unsent, 0);
        }
    }
}
