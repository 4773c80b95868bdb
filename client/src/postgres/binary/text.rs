//! Values whose conversion to text is simple.

use super::value::ValueFault;

/// The only version of `jsonb_send`'s form.
const JSONB_VERSION: u8 = 1;
const HEX: [u8; 16] = *b"0123456789abcdef";
const UUID_LEN: usize = 16;

/// `jsonb_send`: a version, then the text.
pub(super) fn write_jsonb(value: &[u8], text: &mut Vec<u8>) -> Result<(), ValueFault> {
    let Some((&JSONB_VERSION, json)) = value.split_first() else { return Err(ValueFault::Damaged) };
    text.extend_from_slice(json);
    Ok(())
}

/// `uuid_send`: 16 bytes.
pub(super) fn write_uuid(value: &[u8], text: &mut Vec<u8>) -> Result<(), ValueFault> {
    let Ok(bytes) = <[u8; UUID_LEN]>::try_from(value) else { return Err(ValueFault::Damaged) };
    let mut letters = [b'-'; 36];
    let mut at = 0;
    for (place, byte) in bytes.into_iter().enumerate() {
        at += usize::from(matches!(place, 4 | 6 | 8 | 10));
        letters[at] = HEX[usize::from(byte >> 4)];
        letters[at + 1] = HEX[usize::from(byte & 15)];
        at += 2;
    }
    text.extend_from_slice(&letters);
    Ok(())
}

/// `charsend`: one byte, or no character if it is 0. Beyond ASCII, versions of PostgreSQL show it differently.
pub(super) fn write_char(value: &[u8], text: &mut Vec<u8>) -> Result<(), ValueFault> {
    match value {
        [0] => Ok(()),
        [byte] if byte.is_ascii() => {
            text.push(*byte);
            Ok(())
        }
        [_] => {
            Err(ValueFault::Refused("0A000", "a \"char\" beyond ASCII is not supported within another type".to_owned()))
        }
        _ => Err(ValueFault::Damaged),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn text(write: fn(&[u8], &mut Vec<u8>) -> Result<(), ValueFault>, value: &[u8]) -> Option<String> {
        let mut text = Vec::new();
        write(value, &mut text).ok()?;
        Some(String::from_utf8(text).unwrap())
    }

    #[test]
    fn text_is_as_the_output_functions_write_it() {
        let uuid = b"\xa0\xee\xbc\x99\x9c\x0b\x4e\xf8\xbb\x6d\x6b\xb9\xbd\x38\x0a\x11";
        assert_eq!(text(write_uuid, uuid).unwrap(), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11");
        assert_eq!(text(write_jsonb, b"\x01{\"a\": 1}").unwrap(), "{\"a\": 1}");
        assert_eq!(text(write_char, b"x").unwrap(), "x");
        assert_eq!(text(write_char, b"\0").unwrap(), "");
    }

    #[test]
    fn other_bytes_are_refused() {
        for value in [&b""[..], b"\x02{}", b"0123456789abcde", b"0123456789abcdefg"] {
            assert_eq!(text(write_uuid, value), None);
            assert_eq!(text(write_jsonb, value), None);
            assert_eq!(text(write_char, value), None);
        }
        assert_eq!(text(write_char, b"\xe4"), None);
    }
}
