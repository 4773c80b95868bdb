//! The state of each connection, which the supervisor reads if the worker dies.
//!
//! It is a file in memory that both processes have open. The worker writes to it by system calls, so a record survives a corruption
//! of the worker's memory. A write costs well under a microsecond.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::parcel;

/// Bytes of a record: two of state, then the user and the statement, each behind its length.
const RECORD: usize = 1024;
const STATE: usize = 2;
/// Bytes of a statement that are kept.
const STATEMENT: usize = 800;
const USER: usize = RECORD - STATE - 2 * LENGTH - STATEMENT;
const LENGTH: usize = 2;

/// The first byte of a record; it is 0 in between.
const RESTING: u8 = 1;
const HANDED_OVER: u8 = 2;
/// The record of a statement that did not stop, so that the worker ends itself. No connection has this number.
const GIVEN_UP: u32 = 1 << 20;

#[derive(Debug)]
pub(crate) struct Board {
    file: File,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// Whether the last message sent was a ReadyForQuery, without encryption. Then an error may follow.
    pub is_at_rest: bool,
    /// Whether the worker has not taken it yet, so that nothing was read or written.
    pub is_untouched: bool,
    /// Whether the engine worked for it.
    pub is_busy: bool,
    pub user: String,
    pub statement: String,
}

impl Board {
    pub fn new() -> io::Result<Self> {
        Ok(Self { file: parcel::file("colonnade-board")? })
    }

    pub fn from_descriptor(file: OwnedFd) -> Self {
        Self { file: file.into() }
    }

    fn write(&self, slot: u32, at: usize, bytes: &[u8]) {
        // If the board cannot be written, only the client's last error and a line of the log are lost.
        let _ = self.file.write_all_at(bytes, u64::from(slot) * RECORD as u64 + at as u64);
    }

    fn clear(&self, slot: u32) {
        self.write(slot, 0, &[0; RECORD]);
    }

    /// Notes that a connection was sent to the worker, which clears the record when it takes it.
    pub fn hand_over(&self, slot: u32) {
        self.clear(slot);
        self.write(slot, 0, &[HANDED_OVER]);
    }

    /// The statement that did not stop, if the worker ended itself for one.
    pub fn given_up(&self) -> Record {
        self.record(GIVEN_UP)
    }

    fn read(&self, slot: u32) -> Option<[u8; RECORD]> {
        let mut bytes = [0; RECORD];
        self.file.read_exact_at(&mut bytes, u64::from(slot) * RECORD as u64).is_ok().then_some(bytes)
    }

    pub fn record(&self, slot: u32) -> Record {
        let Some(bytes) = self.read(slot) else { return Record::default() };
        let text = |at: usize, most: usize| {
            let length = usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]])).min(most);
            String::from_utf8_lossy(&bytes[at + LENGTH..][..length]).into_owned()
        };
        let user = text(STATE, USER);
        Record {
            is_at_rest: bytes[0] == RESTING,
            is_untouched: bytes[0] == HANDED_OVER,
            is_busy: bytes[1] == 1,
            user,
            statement: text(STATE + LENGTH + USER, STATEMENT),
        }
    }
}

impl AsFd for Board {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// A connection's record, for its session to write.
#[derive(Debug)]
pub(crate) struct Slot {
    board: Arc<Board>,
    number: u32,
    is_at_rest: AtomicBool,
    busy: AtomicU8,
}

impl Slot {
    pub fn new(board: Arc<Board>, number: u32) -> Self {
        board.clear(number);
        Self { board, number, is_at_rest: AtomicBool::new(false), busy: AtomicU8::new(0) }
    }

    /// Notes that the last message sent was a ReadyForQuery.
    pub fn rests(&self) {
        self.is_at_rest.store(true, Ordering::Relaxed);
        self.board.write(self.number, 0, &[RESTING]);
    }

    /// Notes that something will be sent.
    pub fn speaks(&self) {
        if self.is_at_rest.swap(false, Ordering::Relaxed) {
            self.board.write(self.number, 0, &[0]);
        }
    }

    pub fn works(&self, is_busy: bool) {
        if self.busy.swap(is_busy.into(), Ordering::Relaxed) != u8::from(is_busy) {
            self.board.write(self.number, 1, &[is_busy.into()]);
        }
    }

    /// Notes that its statement does not stop, so that the worker ends. The connection's own record may be cleared before.
    pub fn gives_up(&self) {
        if let Some(bytes) = self.board.read(self.number) {
            self.board.write(GIVEN_UP, 0, &bytes);
        }
    }

    /// Notes the statement of this user that the engine gets next.
    pub fn statement(&self, user: &str, statement: &str) {
        let mut bytes = [0; RECORD - STATE];
        let mut put = |at: usize, text: &str, most: usize| {
            let text = &text.as_bytes()[..text.floor_char_boundary(most)];
            bytes[at..][..LENGTH].copy_from_slice(&(text.len() as u16).to_le_bytes());
            bytes[at + LENGTH..][..text.len()].copy_from_slice(text);
            at + LENGTH + text.len()
        };
        put(0, user, USER);
        let end = put(LENGTH + USER, statement, STATEMENT);
        self.board.write(self.number, STATE, &bytes[..end]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_process_reads_what_was_written() {
        let board = Arc::new(Board::new().unwrap());
        assert_eq!(board.record(3), Record::default());
        board.hand_over(3);
        assert!(board.record(3).is_untouched);
        let slot = Slot::new(Arc::clone(&board), 3);
        assert!(!board.record(3).is_untouched);
        let long = "é".repeat(STATEMENT);
        slot.statement("alice", &long);
        slot.works(true);
        slot.rests();
        let other = Board::from_descriptor(board.as_fd().try_clone_to_owned().unwrap());
        let found = other.record(3);
        assert!(found.is_at_rest && found.is_busy);
        assert_eq!(other.given_up(), Record::default());
        slot.gives_up();
        assert_eq!((found.user.as_str(), found.statement.as_str()), ("alice", &long[..STATEMENT]));
        slot.statement("bob", "select 1");
        slot.speaks();
        slot.works(false);
        let found = other.record(3);
        assert!(!found.is_at_rest && !found.is_busy);
        assert_eq!((found.user.as_str(), found.statement.as_str()), ("bob", "select 1"));
        assert_eq!(other.record(4), Record::default());
        let given_up = other.given_up();
        assert!(given_up.is_busy && given_up.user == "alice");
    }
}
