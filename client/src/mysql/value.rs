//! Values of a binary row: integers and floats of fixed size, all others after a length.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>

/// Why a value cannot be stored in its column.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ValueFault {
    /// Its bytes are not a value of the type.
    Damaged,
    /// A point in time that may be another one.
    Ambiguous,
    /// The column cannot represent it: SQLSTATE and reason.
    Refused(&'static str, String),
}

/// Reads `N` bytes at `at` and moves on.
#[inline]
pub(super) fn fixed<const N: usize>(block: &[u8], at: &mut usize) -> Result<[u8; N], ValueFault> {
    // Not `ok_or`, which would create and drop an error for each valid value.
    match block.get(*at..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => {
            *at += N;
            Ok(*bytes)
        }
        None => Err(ValueFault::Damaged),
    }
}

/// Reads a length and that many bytes at `at`, and moves on.
#[inline]
pub(super) fn counted<'a>(block: &'a [u8], at: &mut usize) -> Result<&'a [u8], ValueFault> {
    let [first] = fixed(block, at)?;
    let len = match first {
        ..=0xfa => usize::from(first),
        _ => long_length(first, block, at)?,
    };
    match block.get(*at..).and_then(|rest| rest.get(..len)) {
        Some(value) => {
            *at += len;
            Ok(value)
        }
        None => Err(ValueFault::Damaged),
    }
}

fn long_length(first: u8, block: &[u8], at: &mut usize) -> Result<usize, ValueFault> {
    match first {
        0xfc => fixed(block, at).map(|bytes| u16::from_le_bytes(bytes).into()),
        0xfd => fixed(block, at).map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]) as usize),
        // A length that exceeds all memory also exceeds the block.
        0xfe => fixed(block, at).map(|bytes| usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(usize::MAX)),
        _ => Err(ValueFault::Damaged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_one_after_the_other() {
        let block = b"\x02ab\x00\xfc\x01\x00c\x07\x00";
        let mut at = 0;
        assert_eq!(counted(block, &mut at), Ok(&b"ab"[..]));
        assert_eq!(counted(block, &mut at), Ok(&b""[..]));
        assert_eq!(counted(block, &mut at), Ok(&b"c"[..]));
        assert_eq!(fixed(block, &mut at).map(u16::from_le_bytes), Ok(7));
        assert_eq!(fixed::<1>(block, &mut at), Err(ValueFault::Damaged));
    }

    #[test]
    fn lengths_that_cannot_be_are_refused() {
        for block in [&b"\x02a"[..], b"\xfb", b"\xff", b"\xfc\x01", b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff", b""] {
            assert_eq!(counted(block, &mut 0), Err(ValueFault::Damaged));
        }
    }
}
