//! Receiving rows in large blocks: all that is done for a row here is to step over it.

use std::thread::sleep;
use std::time::Duration;

use bytes::Bytes;

use crate::postgres::incoming::Incoming;
use crate::postgres::message::{self, HEADER};
use crate::postgres::simple::{check_size, no_memory};
use crate::session::Tick;
use crate::{Buffer, Error, Pool};

/// Bytes of a block, unless a single row is larger: it should still be in a cache when it is decoded.
const BLOCK: usize = 256 << 10;
/// A result of fewer bytes is not worth waiting for more.
const HASTE: u64 = 1 << 20;
/// A reception of fewer bytes was too early.
const TOO_FEW: usize = 64 << 10;
/// PostgreSQL sends 8 KiB at a time. Whoever waits for each of them spends more on waking up than on anything else;
/// after so long there is more, and the socket's buffer is not full yet.
const PAUSE: Duration = Duration::from_micros(200);

/// Receives DataRow messages up to the first message of another type. Each block that `sink` gets is whole messages.
///
/// # Errors
/// The connection is lost, a message is larger than the limit, or there is no memory.
pub(super) fn receive(
    incoming: &mut Incoming,
    pool: &Pool,
    limit: Option<u64>,
    tick: Tick<'_>,
    sink: &mut dyn FnMut(Bytes),
) -> Result<(), Error> {
    let take = |len: usize| pool.take(len).ok_or_else(|| no_memory(len));
    let before = incoming.received();
    let at_hand = incoming.hand_over();
    let mut buffer = take(at_hand.len().max(BLOCK))?;
    buffer.extend(at_hand);
    // The end of the last whole message.
    let mut whole = 0;
    loop {
        let next = step(buffer.as_ref(), &mut whole, limit)?;
        let Some(next) = next else {
            incoming.give_back(&buffer.as_ref()[whole..]);
            if whole > 0 {
                sink(buffer.freeze().slice(..whole));
            }
            return Ok(());
        };
        // Passes the whole rows on; the part of one goes into another block.
        let mut pass_on = |buffer: &mut Buffer, whole: &mut usize| -> Result<(), Error> {
            let mut fresh = take((next - *whole).max(BLOCK))?;
            fresh.extend(&buffer.as_ref()[*whole..]);
            let full = std::mem::replace(buffer, fresh).freeze();
            if *whole > 0 {
                sink(full.slice(..*whole));
            }
            *whole = 0;
            Ok(())
        };
        if next > buffer.as_ref().len() + buffer.missing() || buffer.missing() == 0 {
            pass_on(&mut buffer, &mut whole)?;
        }
        match incoming.receive(&mut buffer, tick)? {
            // Rows that come slowly are passed on all the same.
            0 if whole > 0 => pass_on(&mut buffer, &mut whole)?,
            count => {
                tick()?;
                if count < TOO_FEW && incoming.received() - before > HASTE {
                    sleep(PAUSE);
                }
            }
        }
    }
}

/// Moves `whole` behind the last whole row of `bytes`. Gives where the next one ends, as far as can be told; `None` if
/// the next message is no row.
fn step(bytes: &[u8], whole: &mut usize, limit: Option<u64>) -> Result<Option<usize>, Error> {
    while let Some(header) = bytes[*whole..].first_chunk::<HEADER>() {
        let (kind, len) = message::header(*header)?;
        if kind != b'D' {
            return Ok(None);
        }
        let end = *whole + HEADER + len;
        if end > bytes.len() {
            check_size(len, limit)?;
            return Ok(Some(end));
        }
        *whole = end;
    }
    Ok(Some(*whole + HEADER))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn rows_are_stepped_over() {
        let bytes = b"D\0\0\0\x06\0\0D\0\0\0\x0a\0\x01\xff\xff\xff\xffC\0\0\0\x04";
        let stepped = |len: usize| {
            let mut whole = 0;
            let next = step(&bytes[..len], &mut whole, None).unwrap();
            (whole, next)
        };
        assert_eq!(stepped(0), (0, Some(5)));
        assert_eq!(stepped(6), (0, Some(7)));
        assert_eq!(stepped(7), (7, Some(12)));
        assert_eq!(stepped(17), (7, Some(18)));
        assert_eq!(stepped(20), (18, Some(23)));
        assert_eq!(stepped(bytes.len()), (18, None));
    }

    #[test]
    fn a_row_above_the_limit_is_refused_before_there_is_memory_for_it() {
        assert!(step(b"D\x7f\xff\xff\xff", &mut 0, None).is_err());
        assert!(step(b"D\0\0\x01\0", &mut 0, Some(100)).is_err());
        assert!(step(b"D\0\0\0\x03", &mut 0, None).is_err());
    }
}
