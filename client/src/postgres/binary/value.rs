//! Values of a row: a length of 4 bytes, −1 for NULL, then the value's bytes.
//! <https://www.postgresql.org/docs/current/protocol-message-formats.html>, DataRow.

use crate::Error;

/// Bytes of a value's length.
pub(super) const LENGTH: usize = 4;
const NULL: i32 = -1;
/// The size of the largest value of a type with values of fixed size.
const WIDEST: usize = 16;

/// Why a value cannot be stored in its column.
#[derive(Debug)]
pub(super) enum ValueFault {
    /// Its bytes are not a value of the type.
    Damaged,
    /// The column cannot represent it: SQLSTATE and reason.
    Refused(&'static str, String),
    /// A nested value has reported the reason.
    Within(Error),
}

impl From<Error> for ValueFault {
    fn from(error: Error) -> Self {
        Self::Within(error)
    }
}

/// Reads the value at `at` and moves on. `None` is NULL.
#[inline]
pub(super) fn value<'a>(block: &'a [u8], at: &mut usize) -> Result<Option<&'a [u8]>, ValueFault> {
    let length: [u8; LENGTH] = array(block, *at)?;
    *at += LENGTH;
    match i32::from_be_bytes(length) {
        NULL => Ok(None),
        length => {
            // A negative length ends far beyond the block.
            let Some(value) = block[*at..].get(..length as u32 as usize) else { return Err(ValueFault::Damaged) };
            *at += value.len();
            Ok(Some(value))
        }
    }
}

/// A value of a type whose values have `N` bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fixed<const N: usize> {
    /// The bytes are arbitrary if it is NULL or damaged.
    pub(super) bytes: [u8; N],
    pub(super) is_null: bool,
    /// Whether its length is wrong.
    pub(super) is_damaged: bool,
}

/// Reads a value of a type whose values have `N` bytes, at most 16, and moves on. The value affects no branch: callers
/// check at the end whether any value was damaged.
#[inline]
pub(super) fn fixed<const N: usize>(block: &[u8], at: &mut usize) -> Fixed<N> {
    const { assert!(N <= WIDEST) };
    // One check of the block's end for all bytes that are read.
    let Some(window) = block[*at..].first_chunk::<{ LENGTH + WIDEST }>() else { return last(block, at) };
    let length = i32::from_be_bytes(head(window));
    let is_null = length == NULL;
    *at += if is_null { LENGTH } else { LENGTH + N };
    Fixed { bytes: head(&window[LENGTH..]), is_null, is_damaged: !is_null & (length != N as i32) }
}

/// The same near the end of a block.
#[cold]
fn last<const N: usize>(block: &[u8], at: &mut usize) -> Fixed<N> {
    let read = value(block, at).map(|value| value.map(<[u8; N]>::try_from));
    Fixed {
        bytes: if let Ok(Some(Ok(bytes))) = read { bytes } else { [0; N] },
        is_null: matches!(read, Ok(None)),
        is_damaged: matches!(read, Err(_) | Ok(Some(Err(_)))),
    }
}

fn head<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut head = [0; N];
    head.copy_from_slice(&bytes[..N]);
    head
}

/// `N` bytes from `at` on. `at` is within the block or at its end.
#[inline]
pub(super) fn array<const N: usize>(block: &[u8], at: usize) -> Result<[u8; N], ValueFault> {
    // Not `ok_or`, which would create and drop an error for each valid value.
    match block[at..].first_chunk() {
        Some(bytes) => Ok(*bytes),
        None => Err(ValueFault::Damaged),
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
        assert_eq!(fixed(block, &mut at), Fixed { bytes: *b"c", is_null: false, is_damaged: false });
        assert_eq!(at, block.len());
        assert!(value(block, &mut at).is_err());
    }

    #[test]
    fn lengths_that_cannot_be_are_refused() {
        for block in [&b"\xff\xff\xff\xfe"[..], b"\x7f\xff\xff\xff", b"\0\0\0\x05abcd", b"\0\0\0", b""] {
            assert!(value(block, &mut 0).is_err());
            assert!(fixed::<4>(block, &mut 0).is_damaged);
            assert!(fixed::<4>(&[block, &[0; WIDEST]].concat(), &mut 0).is_damaged);
        }
        assert!(fixed::<2>(b"\0\0\0\x03abc", &mut 0).is_damaged);
    }

    #[test]
    fn values_amid_a_block_are_those_at_its_end() {
        for block in [&b"\0\0\0\x04abcd"[..], b"\xff\xff\xff\xff"] {
            let (mut amid, mut end) = (0, 0);
            let (one, other) = (fixed::<4>(&[block, &[0; WIDEST]].concat(), &mut amid), fixed::<4>(block, &mut end));
            assert_eq!((one.is_null, one.is_damaged, amid), (other.is_null, other.is_damaged, end));
            assert!(one.is_null || one == other);
        }
    }
}
