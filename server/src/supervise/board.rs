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
const READY: u8 = 1;
const SENT_TO_WORKER: u8 = 2;
/// The record of a statement that did not stop, so that the worker ends itself. No connection has this number.
const STUCK_STATEMENT: u32 = 1 << 20;

#[derive(Debug)]
pub(crate) struct Board {
    file: File,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// Whether the last message sent was a ReadyForQuery, without encryption. Then an error may follow.
    pub is_ready: bool,
    /// Whether the worker has not taken it yet, so that nothing was read or written.
    pub is_not_taken: bool,
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
    pub fn note_sent_to_worker(&self, slot: u32) {
        self.clear(slot);
        self.write(slot, 0, &[SENT_TO_WORKER]);
    }

    /// The statement that did not stop, if the worker ended itself for one.
    pub fn stuck_statement(&self) -> Record {
        self.record(STUCK_STATEMENT)
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
            is_ready: bytes[0] == READY,
            is_not_taken: bytes[0] == SENT_TO_WORKER,
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
    is_ready: AtomicBool,
    busy: AtomicU8,
}

impl Slot {
    pub fn new(board: Arc<Board>, number: u32) -> Self {
        board.clear(number);
        Self { board, number, is_ready: AtomicBool::new(false), busy: AtomicU8::new(0) }
    }

    /// Notes that the last message sent was a ReadyForQuery.
    pub fn note_ready_for_query(&self) {
        self.is_ready.store(true, Ordering::Relaxed);
        self.board.write(self.number, 0, &[READY]);
    }

    /// Notes that something will be sent.
    pub fn note_sending(&self) {
        if self.is_ready.swap(false, Ordering::Relaxed) {
            self.board.write(self.number, 0, &[0]);
        }
    }

    pub fn set_busy(&self, is_busy: bool) {
        if self.busy.swap(is_busy.into(), Ordering::Relaxed) != u8::from(is_busy) {
            self.board.write(self.number, 1, &[is_busy.into()]);
        }
    }

    /// Notes that its statement does not stop, so that the worker ends. The connection's own record may be cleared before.
    pub fn note_stuck(&self) {
        if let Some(bytes) = self.board.read(self.number) {
            self.board.write(STUCK_STATEMENT, 0, &bytes);
        }
    }

    /// Notes the statement of this user that the engine gets next.
    pub fn note_statement(&self, user: &str, statement: &str) {
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
        board.note_sent_to_worker(3);
        assert!(board.record(3).is_not_taken);
        let slot = Slot::new(Arc::clone(&board), 3);
        assert!(!board.record(3).is_not_taken);
        let long = "é".repeat(STATEMENT);
        slot.note_statement("alice", &long);
        slot.set_busy(true);
        slot.note_ready_for_query();
        let other = Board::from_descriptor(board.as_fd().try_clone_to_owned().unwrap());
        let found = other.record(3);
        assert!(found.is_ready && found.is_busy);
        assert_eq!(other.stuck_statement(), Record::default());
        slot.note_stuck();
        assert_eq!((found.user.as_str(), found.statement.as_str()), ("alice", &long[..STATEMENT]));
        slot.note_statement("bob", "select 1");
        slot.note_sending();
        slot.set_busy(false);
        let found = other.record(3);
        assert!(!found.is_ready && !found.is_busy);
        assert_eq!((found.user.as_str(), found.statement.as_str()), ("bob", "select 1"));
        assert_eq!(other.record(4), Record::default());
        let stuck = other.stuck_statement();
        assert!(stuck.is_busy && stuck.user == "alice");
    }
}
