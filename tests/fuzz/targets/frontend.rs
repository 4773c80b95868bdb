//! Everything that a client may send to a server. The first byte says whether a start-up message is expected, and
//! the client's encoding.

#![no_main]

use colonnade_server::charset::ClientEncoding;
use colonnade_server::message::frontend::{Phase, parse};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((first, mut rest)) = bytes.split_first() else { return };
    let mut phase = if first % 2 == 0 { Phase::Startup } else { Phase::Ready };
    let encodings = ["utf8", "latin1", "win1252", "euc_jp", "sjis", "big5", "gb18030"];
    let name = encodings[usize::from(first / 2) % encodings.len()];
    let Ok(encoding) = ClientEncoding::named(name) else { return };
    while let Ok(Some((message, length))) = parse(rest, phase, encoding) {
        assert!((4..=rest.len()).contains(&length));
        // Bytes after a message must not change it, and a part of it must not be accepted as the whole.
        assert_eq!(parse(&rest[..length], phase, encoding), Ok(Some((message, length))));
        assert_eq!(parse(&rest[..length - 1], phase, encoding), Ok(None));
        (rest, phase) = (&rest[length..], Phase::Ready);
    }
});
