//! Makes streams with valid frames and arbitrary contents, so that a fuzzer passes the checksums.

use colonnade_wire::HEADER_LEN;
use twox_hash::XxHash3_64;

/// A stream from `bytes`. They are divided into messages by their length fields. The first becomes a schema, the others
/// chunks, and an end message is added. Magic, lengths, sequence numbers, fields that must be zero, and checksums are
/// corrected. Rows, codec, the body length under a codec, and the bodies are not changed.
pub fn repaired(bytes: &[u8]) -> Vec<u8> {
    let mut stream = Vec::with_capacity(bytes.len() + HEADER_LEN + 24);
    let (mut checksums, mut rows) = (Vec::new(), 0);
    let mut rest = bytes;
    let mut number = 0u32;
    while rest.len() >= HEADER_LEN {
        let declared = u64::from_le_bytes(rest[8..16].try_into().expect("eight bytes"));
        let mut length = usize::try_from(declared).unwrap_or(rest.len()).clamp(HEADER_LEN, rest.len());
        if rest.len() - length < HEADER_LEN {
            length = rest.len();
        }
        let (message, after) = rest.split_at(length);
        rest = after;
        let codec = if number == 0 { 0 } else { message[5] % 3 };
        // The seeds contain their own end messages.
        if number > 0 && message[4] == 3 {
            continue;
        }
        let mut header = [0; HEADER_LEN];
        header[4] = if number == 0 { 1 } else { 2 };
        header[5] = codec;
        if number > 0 {
            header[24..28].copy_from_slice(&message[24..28]);
            header[28..32].copy_from_slice(&(number - 1).to_le_bytes());
            rows += u64::from(u32::from_le_bytes(message[24..28].try_into().expect("four bytes")));
        }
        let body_length = (length - HEADER_LEN) as u64;
        header[32..40].copy_from_slice(&body_length.to_le_bytes());
        if codec != 0 {
            header[32..40].copy_from_slice(&message[32..40]);
        }
        checksums.extend(seal(&mut stream, header, &message[HEADER_LEN..]));
        number += 1;
    }
    let mut header = [0; HEADER_LEN];
    header[4] = 3;
    header[32..40].copy_from_slice(&24u64.to_le_bytes());
    let mut body = Vec::from(rows.to_le_bytes());
    body.extend_from_slice(&u64::from(number.saturating_sub(1)).to_le_bytes());
    body.extend_from_slice(&XxHash3_64::oneshot(&checksums).to_le_bytes());
    seal(&mut stream, header, &body);
    stream
}

/// Corrects the checksum of a message that was changed.
pub(crate) fn sealed(message: &mut [u8]) {
    let seed = XxHash3_64::oneshot(&message[..16]);
    let checksum = XxHash3_64::oneshot_with_seed(seed, &message[24..]);
    message[16..24].copy_from_slice(&checksum.to_le_bytes());
}

/// Appends a message and returns its checksum. FORMAT §3.
fn seal(stream: &mut Vec<u8>, mut header: [u8; HEADER_LEN], body: &[u8]) -> [u8; 8] {
    header[..4].copy_from_slice(b"CLN1");
    header[8..16].copy_from_slice(&((HEADER_LEN + body.len()) as u64).to_le_bytes());
    let seed = XxHash3_64::oneshot(&header[..16]);
    let checksum = XxHash3_64::oneshot_with_seed(seed, &[&header[24..], body].concat()).to_le_bytes();
    header[16..24].copy_from_slice(&checksum);
    stream.extend_from_slice(&header);
    stream.extend_from_slice(body);
    checksum
}
