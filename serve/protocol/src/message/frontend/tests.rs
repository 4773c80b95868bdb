use super::*;
use proptest::prelude::*;

/// Reads a message in UTF-8.
fn parse(bytes: &[u8], phase: Phase) -> Result<Option<(FrontendMessage<'_>, usize)>, ProtocolError> {
    super::parse(bytes, phase, ClientEncoding::Utf8)
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn startup(body: &[u8]) -> Vec<u8> {
    let mut bytes = (body.len() as u32 + 4).to_be_bytes().to_vec();
    bytes.extend_from_slice(body);
    bytes
}

#[test]
fn reads_startup_messages() {
    let bytes = startup(b"\x00\x03\x00\x02user\0me\0database\0d\0\0");
    let parameters = vec![("user".into(), "me".into()), ("database".into(), "d".into())];
    let length = bytes.len();
    assert_eq!(parse(&bytes, Phase::Startup), Ok(Some((FrontendMessage::Startup { minor: 2, parameters }, length))));
    assert_eq!(
        parse(&startup(&80_877_103u32.to_be_bytes()), Phase::Startup),
        Ok(Some((FrontendMessage::SslRequest, 8)))
    );
    let cancel = startup(b"\x04\xd2\x16\x2e\x00\x00\x00\x07\x01\x02\x03\x04");
    let expected = FrontendMessage::CancelRequest { process: 7, secret: &[1, 2, 3, 4] };
    assert_eq!(parse(&cancel, Phase::Startup), Ok(Some((expected, 16))));
    assert_eq!(parse(&startup(b"\x00\x02\x00\x00"), Phase::Startup), Err(ProtocolError::Version(2, 0)));
    assert!(matches!(parse(b"GET / HTTP/1.1\r\n", Phase::Startup), Err(ProtocolError::Length { .. })));
}

#[test]
fn reads_queries_one_at_a_time() {
    let mut bytes = message(b'Q', b"select 1\0");
    let first = bytes.len();
    bytes.extend(message(b'X', b""));
    assert_eq!(parse(&bytes, Phase::Ready), Ok(Some((FrontendMessage::Query("select 1".into()), first))));
    assert_eq!(parse(&bytes[first..], Phase::Ready), Ok(Some((FrontendMessage::Terminate, 5))));
    for end in 0..first {
        assert_eq!(parse(&bytes[..end], Phase::Ready), Ok(None), "{end}");
    }
}

#[test]
fn refuses_what_is_wrong() {
    assert_eq!(parse(&message(b'Q', b"select 1"), Phase::Ready), Err(ProtocolError::Truncated('Q')));
    assert_eq!(parse(&message(b'Q', b"a\0b"), Phase::Ready), Err(ProtocolError::Trailing('Q')));
    assert_eq!(parse(b"?", Phase::Ready), Err(ProtocolError::Kind(b'?')));
    assert_eq!(parse(b"Q", Phase::Login), Err(ProtocolError::Unexpected('Q')));
    assert!(matches!(parse(b"p\x01\0\0\0", Phase::Login), Err(ProtocolError::Length { .. })));
    assert!(matches!(parse(b"Q\xff\xff\xff\xff", Phase::Ready), Err(ProtocolError::Length { .. })));
    assert!(matches!(parse(b"X\0\0\0\x03", Phase::Ready), Err(ProtocolError::Length { .. })));
    assert_eq!(parse(&message(b'D', b"Zx\0"), Phase::Ready), Err(ProtocolError::Field('D', "target")));
    assert_eq!(parse(&message(b'P', b"\0q\0\x7f\xff"), Phase::Ready), Err(ProtocolError::Truncated('P')));
}

#[test]
fn texts_are_in_the_clients_encoding() {
    let latin1 = ClientEncoding::named("latin1").unwrap();
    let query = message(b'Q', b"\xe9\0");
    let read = |encoding| super::parse(&query, Phase::Ready, encoding).unwrap().unwrap().0;
    assert_eq!(read(latin1), FrontendMessage::Query("é".into()));
    assert!(matches!(read(ClientEncoding::Utf8), FrontendMessage::InvalidText { kind: b'Q', .. }));
}

#[test]
fn reads_the_extended_protocol() {
    let bind = message(b'B', b"p\0s\0\0\x01\0\x01\0\x02\xff\xff\xff\xff\0\0\0\x01x\0\0");
    let Ok(Some((FrontendMessage::Bind { portal, statement, formats, values, results }, _))) =
        parse(&bind, Phase::Ready)
    else {
        panic!("no Bind");
    };
    assert_eq!((&*portal, &*statement, formats, results), ("p", "s", vec![1], vec![]));
    assert_eq!(values, vec![None, Some(&b"x"[..])]);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for phase in [Phase::Startup, Phase::Login, Phase::Ready] {
            if let Ok(Some((_, length))) = parse(&bytes, phase) {
                prop_assert!(length <= bytes.len() && length >= 4);
            }
        }
    }

    #[test]
    fn arbitrary_bodies_never_panic(
        kind in proptest::sample::select(b"QPBDCEHSdcfpXF".to_vec()),
        body in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        let bytes = message(kind, &body);
        if let Ok(found) = parse(&bytes, Phase::Ready) {
            prop_assert_eq!(found.map(|(_, length)| length), Some(bytes.len()));
        }
    }
}
