//! Values as they stand in a row: a length of 4 bytes, −1 for NULL, then as many bytes.
//! <https://www.postgresql.org/docs/current/protocol-message-formats.html>, DataRow.

use crate::Error;

/// Bytes of a value's length.
pub(super) const LENGTH: usize = 4;
const NULL: i32 = -1;

/// Why a value has no place in its column.
#[derive(Debug)]
pub(super) enum Fault {
    /// Its bytes are not those of the type.
    Damaged,
    /// The column cannot hold it: SQLSTATE and why.
    Refused(&'static str, String),
    /// What is nested in it has said why.
    Within(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Within(error)
    }
}

/// Reads the value at `at` and moves on. `None` is NULL.
#[inline]
pub(super) fn value<'a>(block: &'a [u8], at: &mut usize) -> Result<Option<&'a [u8]>, Fault> {
    let length: [u8; LENGTH] = array(block, *at)?;
    *at += LENGTH;
    match i32::from_be_bytes(length) {
        NULL => Ok(None),
        length => {
            // A negative length is far beyond the block.
            let Some(value) = block[*at..].get(..length as u32 as usize) else { return Err(Fault::Damaged) };
            *at += value.len();
            Ok(Some(value))
        }
    }
}

/// The same for a type whose values have `N` bytes.
#[inline]
pub(super) fn fixed<const N: usize>(block: &[u8], at: &mut usize) -> Result<Option<[u8; N]>, Fault> {
    let length: [u8; LENGTH] = array(block, *at)?;
    let length = i32::from_be_bytes(length);
    *at += LENGTH;
    if length == N as i32 {
        let value = array(block, *at)?;
        *at += N;
        Ok(Some(value))
    } else if length == NULL {
        Ok(None)
    } else {
        Err(Fault::Damaged)
    }
}

/// `N` bytes from `at` on. `at` is within the block or at its end.
#[inline]
pub(super) fn array<const N: usize>(block: &[u8], at: usize) -> Result<[u8; N], Fault> {
    // Not `ok_or`, which would make and drop an error for each value that is none.
    match block[at..].first_chunk() {
        Some(bytes) => Ok(*bytes),
        None => Err(Fault::Damaged),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn values_are_read_one_after_the_other() {
        let block = b"\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\0\0\0\0\x01c";
        let mut at = 0;
        assert_eq!(value(block, &mut at).unwrap(), Some(&b"ab"[..]));
        assert_eq!(value(block, &mut at).unwrap(), None);
        assert_eq!(value(block, &mut at).unwrap(), Some(&b""[..]));
        assert_eq!(fixed(block, &mut at).unwrap(), Some(*b"c"));
        assert_eq!(at, block.len());
        assert!(value(block, &mut at).is_err());
    }

    #[test]
    fn lengths_that_cannot_be_are_refused() {
        for block in [&b"\xff\xff\xff\xfe"[..], b"\x7f\xff\xff\xff", b"\0\0\0\x05abcd", b"\0\0\0", b""] {
            assert!(value(block, &mut 0).is_err());
            assert!(fixed::<4>(block, &mut 0).is_err());
        }
        assert!(fixed::<2>(b"\0\0\0\x03abc", &mut 0).is_err());
    }
}
