//! Against rustls's own server, which can do at will what PostgreSQL does rarely.

#![allow(clippy::unwrap_used)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion};

use super::super::options::{TlsOptionNames, TlsOptions, Version};
use super::*;

/// `openssl req -new -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 7300 -subj /O=x/CN=db.example
/// -sha384`
const SELF_SIGNED: &str = "\
    MIIBlzCCAT2gAwIBAgIUEbslg6UsWcT5tseoiH9GTgiRkTUwCgYIKoZIzj0EAwMwITEKMAgGA1UECgwBeDETMBEGA1UEAwwKZGIu \
    ZXhhbXBsZTAeFw0yNjExMjIwMzQ5NDRaFw00NjExMTcwMzQ5NDRaMCExCjAIBgNVBAoMAXgxEzARBgNVBAMMCmRiLmV4YW1wbGUw \
    WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATGnzM7OWeNv5WFmT3NIMzg4vrRwChxPKvqUm0AkgxPyCbl3MZOV5vq/awg29CavJXW \
    pcxc2uUAPWe0mvFYCnHTo1MwUTAdBgNVHQ4EFgQU27ES5eaA7xa99KR6p6sAGgG41w8wHwYDVR0jBBgwFoAU27ES5eaA7xa99KR6 \
    p6sAGgG41w8wDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAwNIADBFAiEA4a5xLrLvg/qcNHS2rCFqEgUX4Nz/3wiNwdmO6PnB \
    XF0CIGVkj+VEyqmskZe9ptCgh/h4YzU19G0/xNELM0scbcDy";
/// Its key, in PKCS #8; nothing else uses it.
const KEY: &str = "\
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNCsmkLZO5RF4vOpraKnMhw07iQ6FI3W2Z7AubNQ5TDKhRANCAATG \
    nzM7OWeNv5WFmT3NIMzg4vrRwChxPKvqUm0AkgxPyCbl3MZOV5vq/awg29CavJXWpcxc2uUAPWe0mvFYCnHT";

static WORDS: TlsOptionNames =
    TlsOptionNames { mode: "mode", roots: "roots", certificate: "certificate", key: "key", revoked: "revoked" };

fn server(versions: &[&'static SupportedProtocolVersion]) -> ServerConnection {
    let key = BASE64.decode(KEY.replace(char::is_whitespace, "")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![BASE64.decode(SELF_SIGNED.replace(char::is_whitespace, "")).unwrap().into()],
            PrivatePkcs8KeyDer::from(key).into(),
        )
        .unwrap();
    ServerConnection::new(Arc::new(config)).unwrap()
}

/// A stream, and what `serve` gives at the other end of it.
fn connected<T: Send + 'static>(
    version: &'static SupportedProtocolVersion,
    serve: impl FnOnce(&mut ServerConnection, &mut TcpStream) -> T + Send + 'static,
) -> (TlsStream, JoinHandle<T>) {
    let (socket, mut peer) = Socket::pair();
    let serving = thread::spawn(move || {
        let mut tls = server(&[version]);
        serve(&mut tls, &mut peer)
    });
    socket.set_timeout(Some(Duration::from_secs(20)));
    let config = TlsConfig::new(&TlsOptions::new(&WORDS)).unwrap();
    (TlsStream::open(socket, &config, "db.example", &mut || Ok(())).unwrap(), serving)
}

fn receive(stream: &mut TlsStream, room: usize, whole: bool) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(room);
    // SAFETY: there is room for `room` bytes, of which as many as are told are then there.
    unsafe {
        let count = stream.receive(bytes.as_mut_ptr(), room, whole)?;
        bytes.set_len(count);
    }
    Ok(bytes)
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 % 251) as u8).collect()
}

#[test]
fn bytes_arrive_in_any_room_and_through_changes_of_keys() {
    let data = pattern(3_000_000);
    let sent = data.clone();
    let (mut stream, serving) = connected(&TLS13, move |tls, peer| {
        let mut stream = rustls::Stream::new(tls, peer);
        for part in sent.chunks(300_001) {
            stream.write_all(part).unwrap();
            // The answer to it must leave, too.
            stream.conn.refresh_traffic_keys().unwrap();
        }
        let mut echo = vec![0; 200_000];
        stream.read_exact(&mut echo).unwrap();
        echo
    });
    let mut found = Vec::new();
    let mut rooms = [1, 5, 8192, 100, 1 << 20, 40_000].into_iter().cycle();
    while found.len() < data.len() {
        let (room, whole) = (rooms.next().unwrap().min(data.len() - found.len()), found.len() % 2 == 0);
        let bytes = receive(&mut stream, room, whole).unwrap();
        assert!(!bytes.is_empty() && (!whole || bytes.len() == room));
        found.extend_from_slice(&bytes);
    }
    assert!(found == data);
    stream.send(&data[..200_000]).unwrap();
    assert!(serving.join().unwrap() == data[..200_000]);
    assert_eq!(receive(&mut stream, 10, false).unwrap(), []);
    assert_eq!(receive(&mut stream, 10, true).unwrap(), []);
    assert_eq!(stream.version(), "TLSv1.3");
}

#[test]
fn what_comes_while_something_is_sent_is_kept() {
    let (mut stream, serving) = connected(&TLS12, |tls, peer| {
        let mut stream = rustls::Stream::new(tls, peer);
        stream.write_all(&pattern(50_000)).unwrap();
        let mut question = [0; 3];
        stream.read_exact(&mut question).unwrap();
        stream.write_all(b"end").unwrap();
        question
    });
    assert_eq!(receive(&mut stream, 10, false).unwrap(), &pattern(10)[..]);
    stream.send(b"abc").unwrap();
    stream.send(b"").unwrap();
    assert_eq!(&serving.join().unwrap(), b"abc");
    let rest = receive(&mut stream, 49_993, true).unwrap();
    assert_eq!((&rest[..49_990], &rest[49_990..]), (&pattern(50_000)[10..], b"end".as_slice()));
    assert_eq!(stream.version(), "TLSv1.2");
}

#[test]
fn a_wait_ends_and_what_has_come_is_not_lost() {
    let (mut stream, serving) = connected(&TLS13, |tls, peer| {
        let mut stream = rustls::Stream::new(tls, peer);
        stream.write_all(b"abc").unwrap();
        let mut more = [0];
        stream.read_exact(&mut more).unwrap();
        stream.write_all(b"def").unwrap();
    });
    stream.socket().set_timeout(Some(Duration::from_millis(50)));
    assert_eq!(receive(&mut stream, 100, true).unwrap(), b"abc");
    assert_eq!(receive(&mut stream, 100, true).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    stream.send(b"?").unwrap();
    serving.join().unwrap();
    assert_eq!(receive(&mut stream, 100, true).unwrap(), b"def");
}

#[test]
fn bytes_that_are_not_the_peers_break_the_stream() {
    let (mut stream, serving) = connected(&TLS13, |tls, peer| {
        rustls::Stream::new(tls, peer).write_all(b"abc").unwrap();
        peer.write_all(&[0x17, 3, 3, 0, 20]).unwrap();
        peer.write_all(&[7; 20]).unwrap();
        let mut alert = Vec::new();
        peer.read_to_end(&mut alert).unwrap();
        alert
    });
    assert_eq!(receive(&mut stream, 3, true).unwrap(), b"abc");
    assert_eq!(receive(&mut stream, 1, false).unwrap_err().kind(), io::ErrorKind::InvalidData);
    // It stays broken, and says so without harm.
    assert!(receive(&mut stream, 1, false).is_err());
    assert!(stream.send(b"x").is_err());
    drop(stream);
    assert!(!serving.join().unwrap().is_empty());
}

#[test]
fn a_peer_without_tls_is_no_server() {
    for answer in [b"E\0\0\0\x08oops".as_slice(), b"", &[0x16; 200_000]] {
        let (socket, mut peer) = Socket::pair();
        let serving = thread::spawn(move || {
            let mut hello = [0; 16];
            peer.read_exact(&mut hello).unwrap();
            let _ = peer.write_all(answer);
        });
        socket.set_timeout(Some(Duration::from_secs(20)));
        let config =
            TlsConfig::new(&TlsOptions { versions: (Version::Tls13, Version::Tls13), ..TlsOptions::new(&WORDS) });
        let error = TlsStream::open(socket, &config.unwrap(), "db.example", &mut || Ok(())).unwrap_err();
        assert!(error.message().contains("TLS"), "{error}");
        serving.join().unwrap();
    }
}
