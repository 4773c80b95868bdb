//! TUN devices (Linux, Documentation/networking/tuntap.rst).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Bytes of `struct virtio_net_hdr` in front of a unit, with offload.
pub(crate) const OFFLOAD_HEADER: usize = 10;

/// `struct ifreq`, with the flags of the union.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: libc::c_short,
    rest: [u8; 22],
}

/// Creates a device with this name. It is down, and in this process's network namespace.
pub(crate) fn open(name: &str, offload: bool) -> io::Result<File> {
    let device = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    let flags = libc::IFF_TUN | libc::IFF_NO_PI | if offload { libc::IFF_VNET_HDR } else { 0 };
    let mut request = Request { name: [0; libc::IFNAMSIZ], flags: flags as libc::c_short, rest: [0; 22] };
    if name.len() >= request.name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a device's name has up to 15 bytes"));
    }
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    let fd = device.as_raw_fd();
    // SAFETY: the descriptor is open and the request as long as the kernel's.
    check(unsafe { libc::ioctl(fd, libc::TUNSETIFF, &raw mut request) })?;
    if offload {
        let header = OFFLOAD_HEADER as libc::c_int;
        // SAFETY: the descriptor is open, and the kernel reads a c_int.
        check(unsafe { libc::ioctl(fd, libc::TUNSETVNETHDRSZ, &raw const header) })?;
        let offloads = libc::c_ulong::from(libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6);
        // SAFETY: the descriptor is open, and the kernel takes an integer.
        check(unsafe { libc::ioctl(fd, libc::TUNSETOFFLOAD, offloads) })?;
    }
    Ok(device)
}

/// Gives this thread real-time priority and precise timers. Without the privilege for this, the shaper is only less
/// exact.
pub(crate) fn set_realtime() {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameter outlives the call; both calls concern this thread alone.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority);
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
    }
}

fn check(status: libc::c_int) -> io::Result<()> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
