//! What the kernel reports of a TCP connection, and how many unsent bytes it buffers. Both sides of a transfer need
//! this for the controller of `wire`, which does no I/O.
//!
//! Only Linux reports enough. Elsewhere [`queue`] gives nothing.

use std::net::TcpStream;

use colonnade_wire::Queue;

/// Limits how many unsent bytes the kernel buffers, because these bytes were encoded for an earlier state of the link.
/// If it fails, a change of the link is noticed later.
pub fn limit_unsent(socket: &TcpStream) {
    #[cfg(target_os = "linux")]
    linux::limit_unsent(socket);
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
}

/// What the connection has sent, and what limits it; `None` if the kernel cannot tell. On an encrypted connection these
/// are bytes of TLS records, some per mille more than the data. Only their growth matters.
pub fn queue(socket: &TcpStream) -> Option<Queue> {
    #[cfg(target_os = "linux")]
    return linux::queue(socket);
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

    use colonnade_wire::{Queue, UNSENT};

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

    pub(super) fn limit_unsent(socket: &TcpStream) {
        let (unsent, size) = (UNSENT as libc::c_int, size_of::<libc::c_int>() as libc::socklen_t);
        // SAFETY: the descriptor is open, and the value a c_int that outlives the call.
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_NOTSENT_LOWAT,
                (&raw const unsent).cast(),
                size,
            );
        }
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
            // Packets after a lost one count as delivered. Otherwise a loss would look like a pause, and its end like a
            // burst.
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
        use std::net::TcpListener;

        use super::*;

        #[test]
        fn the_kernel_counts_unsent_and_delivered_bytes() {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut socket, _) = listener.accept().unwrap();
            limit_unsent(&socket);
            assert_eq!(queue(&socket).unwrap().delivered, 0);
            socket.set_nonblocking(true).unwrap();
            let mut sent = 0;
            while let Ok(written) = socket.write(&[7; 65536]) {
                sent += written as u64;
            }
            let full = queue(&socket).unwrap();
            assert!(full.unsent > 0 && full.delivered + full.unsent <= sent, "{full:?} of {sent}");
            drop(client.read_exact(&mut vec![0; sent as usize]));
            // The last acknowledgement may still be under way.
            while queue(&socket).unwrap().delivered < sent {
                std::thread::yield_now();
            }
            assert_eq!(queue(&socket).unwrap().unsent, 0);
        }
    }
}
