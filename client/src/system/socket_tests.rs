#![allow(clippy::unwrap_used)]

#[cfg(unix)]
use std::io::Read as _;
use std::io::Write as _;
use std::net::TcpListener;
use std::thread;

use super::*;

impl Socket {
    /// A connection over TCP, and its other end.
    pub(crate) fn pair() -> (Self, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Self::new(Stream::Tcp(stream)).unwrap(), listener.accept().unwrap().0)
    }
}

fn received(socket: &Socket, room: usize, whole: bool) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; room];
    // SAFETY: there is room for `room` bytes.
    let count = unsafe { socket.receive(bytes.as_mut_ptr(), room, whole) }?;
    bytes.truncate(count);
    Ok(bytes)
}

#[test]
fn a_whole_part_is_waited_for() {
    let (socket, mut peer) = Socket::pair();
    let sending = thread::spawn(move || {
        for piece in [&b"one "[..], b"two ", b"three"] {
            peer.write_all(piece).unwrap();
            // Each piece is to arrive by itself.
            thread::sleep(Duration::from_millis(5));
        }
        peer
    });
    assert_eq!(received(&socket, 13, true).unwrap(), b"one two three");
    drop(sending.join().unwrap());
    assert_eq!(received(&socket, 13, true).unwrap(), b"");
}

#[test]
fn what_came_before_the_end_is_given() {
    let (socket, mut peer) = Socket::pair();
    peer.write_all(b"some").unwrap();
    drop(peer);
    assert_eq!(received(&socket, 100, true).unwrap(), b"some");
    assert_eq!(received(&socket, 100, true).unwrap(), b"");
}

#[test]
fn a_timeout_ends_a_call_and_not_the_connection() {
    let (socket, mut peer) = Socket::pair();
    socket.set_timeout(Some(Duration::from_millis(20)));
    assert_eq!(received(&socket, 4, true).unwrap_err().kind(), Io::WouldBlock);
    assert!(!socket.is_readable());
    peer.write_all(b"ab").unwrap();
    assert!(socket.is_readable_within(Duration::from_secs(20)));
    assert_eq!(received(&socket, 4, true).unwrap(), b"ab");
    // The other handle has the same timeout.
    let shared = socket.share().unwrap();
    assert_eq!(received(&shared, 4, false).unwrap_err().kind(), Io::WouldBlock);
    peer.write_all(b"cd").unwrap();
    shared.set_timeout(None);
    assert_eq!(received(&socket, 2, true).unwrap(), b"cd");
}

#[test]
fn a_peer_that_does_not_read_ends_a_send_in_time() {
    let (socket, mut peer) = Socket::pair();
    socket.set_send_timeout(Duration::from_millis(20));
    let bytes = vec![7; 64 << 20];
    assert_eq!(socket.send(&bytes).unwrap_err().kind(), Io::WouldBlock);
    // It reads again.
    let reading = thread::spawn(move || io::copy(&mut peer, &mut io::sink()).unwrap());
    socket.set_send_timeout(Duration::from_secs(20));
    socket.send_slices(&[b"", &bytes, b"", b"end"]).unwrap();
    socket.shutdown();
    assert!(reading.join().unwrap() > bytes.len() as u64);
}

#[test]
fn another_handle_ends_a_call_that_waits() {
    let (socket, peer) = Socket::pair();
    let shared = socket.share().unwrap();
    let waiting = thread::spawn(move || received(&socket, 1, true));
    shared.shutdown();
    // Windows says with an error that this side has ended the connection.
    match waiting.join().unwrap() {
        Ok(bytes) => assert!(bytes.is_empty()),
        Err(error) => assert!(cfg!(windows) && error.kind() != Io::WouldBlock, "{error}"),
    }
    drop(peer);
}

// Not under wine, which closes the connection as any other. Windows itself has not been tried.
#[cfg(unix)]
#[test]
fn a_connection_can_be_closed_by_a_reset() {
    let (socket, mut peer) = Socket::pair();
    socket.reset_at_close();
    drop(socket);
    assert_eq!(peer.read(&mut [0]).unwrap_err().kind(), Io::ConnectionReset);
}

#[test]
fn the_kind_of_a_connection_is_known() {
    assert_eq!(Socket::pair().0.kind(), SocketKind::Loopback);
    let error = Socket::tcp("127.0.0.1", 1, Some(Duration::from_secs(20))).unwrap_err();
    assert!(!plain(&error).contains("os error") && !plain(&error).ends_with('.'));
}
