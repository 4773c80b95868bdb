//! The state of each connection, which the supervisor reads if the worker dies.
//!
//! It is a file in memory that both processes have open. The worker writes to it by system calls, so a record survives
//! a corruption of the worker's memory. A write costs well under a microsecond.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::memory_file;

/// Bytes of a record: two of state, then the user and the statement, each after its length.
const RECORD_BYTES: usize = 1024;
const STATE_BYTES: usize = 2;
/// Bytes of a statement that are kept.
const STATEMENT_BYTES: usize = 800;
const USER_BYTES: usize = RECORD_BYTES - STATE_BYTES - 2 * LENGTH_BYTES - STATEMENT_BYTES;
const LENGTH_BYTES: usize = 2;

/// The values of a record's first byte. Otherwise it is 0.
const READY: u8 = 1;
const SENT_TO_WORKER: u8 = 2;
/// The number of the record for the statement that did not stop. No connection has this number.
const STUCK_STATEMENT: u32 = 1 << 20;

#[derive(Debug)]
pub(crate) struct Board {
    file: File,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// Whether the last message was a ReadyForQuery on a connection without encryption. Then the supervisor can send an
    /// error.
    pub is_ready: bool,
    /// Whether the worker has not taken the connection yet. Then no byte was read or written.
    pub is_not_taken: bool,
    /// Whether the engine runs a statement.
    pub is_busy: bool,
    pub user: String,
    pub statement: String,
}

impl Board {
    pub fn new() -> io::Result<Self> {
        Ok(Self { file: memory_file::create("colonnade-board")? })
    }

    pub fn from_descriptor(file: OwnedFd) -> Self {
        Self { file: file.into() }
    }

    fn write(&self, slot: u32, at: usize, bytes: &[u8]) {
        // If the board cannot be written, only the client's last error and a line of the log are lost.
        let _ = self.file.write_all_at(bytes, u64::from(slot) * RECORD_BYTES as u64 + at as u64);
    }

    fn clear(&self, slot: u32) {
        self.write(slot, 0, &[0; RECORD_BYTES]);
    }

    /// Notes that a connection was sent to the worker. The worker clears the record when it takes the connection.
    pub fn note_sent_to_worker(&self, slot: u32) {
        self.clear(slot);
        self.write(slot, 0, &[SENT_TO_WORKER]);
    }

    /// The record of the statement that did not stop, if the worker has ended itself for that reason.
    pub fn stuck_statement(&self) -> Record {
        self.record(STUCK_STATEMENT)
    }

    fn read(&self, slot: u32) -> Option<[u8; RECORD_BYTES]> {
        let mut bytes = [0; RECORD_BYTES];
        self.file.read_exact_at(&mut bytes, u64::from(slot) * RECORD_BYTES as u64).is_ok().then_some(bytes)
    }

    pub fn record(&self, slot: u32) -> Record {
        let Some(bytes) = self.read(slot) else { return Record::default() };
        let text = |at: usize, most: usize| {
            let length = usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]])).min(most);
            String::from_utf8_lossy(&bytes[at + LENGTH_BYTES..][..length]).into_owned()
        };
        let user = text(STATE_BYTES, USER_BYTES);
        Record {
            is_ready: bytes[0] == READY,
            is_not_taken: bytes[0] == SENT_TO_WORKER,
            is_busy: bytes[1] == 1,
            user,
            statement: text(STATE_BYTES + LENGTH_BYTES + USER_BYTES, STATEMENT_BYTES),
        }
    }
}

impl AsFd for Board {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// A connection's record in the worker. The session writes to it.
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

    /// Notes that other messages follow, so that the connection is not ready.
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

    /// Copies the record to the one for a statement that did not stop. The connection's own record may be cleared
    /// before the worker ends.
    pub fn note_stuck(&self) {
        if let Some(bytes) = self.board.read(self.number) {
            self.board.write(STUCK_STATEMENT, 0, &bytes);
        }
    }

    /// Notes the user and the next statement.
    pub fn note_statement(&self, user: &str, statement: &str) {
        let mut bytes = [0; RECORD_BYTES - STATE_BYTES];
        let mut put = |at: usize, text: &str, most: usize| {
            let text = &text.as_bytes()[..text.floor_char_boundary(most)];
            bytes[at..][..LENGTH_BYTES].copy_from_slice(&(text.len() as u16).to_le_bytes());
            bytes[at + LENGTH_BYTES..][..text.len()].copy_from_slice(text);
            at + LENGTH_BYTES + text.len()
        };
        put(0, user, USER_BYTES);
        let end = put(LENGTH_BYTES + USER_BYTES, statement, STATEMENT_BYTES);
        self.board.write(self.number, STATE_BYTES, &bytes[..end]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_reads_the_records() {
        let board = Arc::new(Board::new().unwrap());
        assert_eq!(board.record(3), Record::default());
        board.note_sent_to_worker(3);
        assert!(board.record(3).is_not_taken);
        let slot = Slot::new(Arc::clone(&board), 3);
        assert!(!board.record(3).is_not_taken);
        let long = "é".repeat(STATEMENT_BYTES);
        slot.note_statement("alice", &long);
        slot.set_busy(true);
        slot.note_ready_for_query();
        let other = Board::from_descriptor(board.as_fd().try_clone_to_owned().unwrap());
        let found = other.record(3);
        assert!(found.is_ready && found.is_busy);
        assert_eq!(other.stuck_statement(), Record::default());
        slot.note_stuck();
        assert_eq!((found.user.as_str(), found.statement.as_str()), ("alice", &long[..STATEMENT_BYTES]));
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
