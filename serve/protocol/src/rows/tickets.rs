//! Spooled results by ticket (PROTOCOL §11): a query has run once, and sessions of its user read its parts.
//!
//! The rows of `colonnade_spool` are an ordinary result: its iterator runs the query and gives one row when a part is
//! in the file. So portals, both protocols, COPY, time limits and cancellation need no code of their own.
//!
//! A part is in the file exactly as it is sent: CopyData messages with a complete stream, whose chunks are numbered
//! from 0 (`docs/decisions/0019-a-part-is-a-stream.md`). The index in memory has one entry for each part; the file has
//! the lengths of the messages. Readers for which the kept chunks do not fit read decoded batches through the code of
//! every other COPY, with its controller.
//!
//! A spool outlives its session, so it is not charged to it. Its bytes have a charge of `--spool-size` and one of
//! `--spool-user-size`. The watcher's tick ends expired tickets.

mod reader;
mod spooled;
mod writer;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::engine::{EngineError, SessionUser};
use crate::error::{Failure, SqlState};
use crate::limits::{Budget, LimitError, Limits};
use crate::observe::SpoolCounts;
use crate::rows::spool::unnamed_file;

pub use reader::{PartReader, Selection, send};
pub use spooled::{Part, Spooled};
pub use writer::{CHUNK, SpoolSettings, SpoolingRows};

/// The largest number of tickets. Each has an open file, and a process has few descriptors.
const MAX_TICKETS: usize = 512;
/// The largest number of one user's tickets, so that others have some.
const MAX_USER_TICKETS: usize = MAX_TICKETS / 2;

/// Proof of the right to read a spooled result: 128 random bits, written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket([u8; 16]);

impl Ticket {
    fn random() -> io::Result<Self> {
        let mut bits = [0; 16];
        rustix::rand::getrandom(&mut bits, rustix::rand::GetRandomFlags::empty())?;
        Ok(Self(bits))
    }

    fn parse(text: &str) -> Option<Self> {
        let is_digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digits.then(|| u128::from_str_radix(text, 16).ok()).flatten().map(|bits| Self(bits.to_be_bytes()))
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// The spooled results of a server.
pub struct Tickets {
    directory: PathBuf,
    space: Arc<Budget>,
    /// The most bytes of one user's results.
    user_bytes: Option<usize>,
    /// The space of each user who has results.
    user_spaces: Mutex<HashMap<String, Weak<Budget>>>,
    /// How long a ticket lives after its last use, at most.
    ttl: Option<Duration>,
    by_ticket: Mutex<HashMap<Ticket, Arc<Spooled>>>,
    begun: AtomicU64,
    refused: AtomicU64,
    parts_sent: AtomicU64,
}

impl Tickets {
    pub fn new(limits: &Limits) -> Arc<Self> {
        let directory = limits.ticket_directory.clone().unwrap_or_else(std::env::temp_dir);
        Arc::new(Self {
            directory,
            space: Budget::new(limits.ticket_bytes, LimitError::Tickets),
            user_bytes: limits.user_ticket_bytes,
            user_spaces: Mutex::default(),
            ttl: limits.ticket_ttl,
            by_ticket: Mutex::default(),
            begun: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            parts_sent: AtomicU64::new(0),
        })
    }

    fn by_ticket(&self) -> MutexGuard<'_, HashMap<Ticket, Arc<Spooled>>> {
        self.by_ticket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The space of a user. It exists as long as the user has results, so a reader's last one counts too.
    fn user_space(&self, user: &SessionUser) -> Arc<Budget> {
        let mut spaces = self.user_spaces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(space) = spaces.get(&user.name).and_then(Weak::upgrade) {
            return space;
        }
        spaces.retain(|_, space| space.strong_count() > 0);
        let space = Budget::new(self.user_bytes, LimitError::UserTickets);
        spaces.insert(user.name.clone(), Arc::downgrade(&space));
        space
    }

    /// Adds an empty result of `user` that is being written. `ttl` shortens the server's.
    ///
    /// # Errors
    /// If there are too many tickets, or the directory cannot be written.
    fn add(&self, user: &SessionUser, ttl: Option<Duration>) -> Result<(Ticket, Arc<Spooled>), Failure> {
        let ticket = Ticket::random()?;
        let file = unnamed_file(&self.directory).map_err(unwritable)?;
        let ttl = ttl.into_iter().chain(self.ttl).min();
        let space = [self.space.empty_charge(), self.user_space(user).empty_charge()];
        let spooled = Arc::new(Spooled::new(user, file, space, ttl));
        let mut by_ticket = self.by_ticket();
        if by_ticket.len() >= MAX_TICKETS {
            return Err(LimitError::TicketCount(MAX_TICKETS).into());
        }
        if by_ticket.values().filter(|other| other.user().name == user.name).count() >= MAX_USER_TICKETS {
            return Err(LimitError::TicketCount(MAX_USER_TICKETS).into());
        }
        by_ticket.insert(ticket, Arc::clone(&spooled));
        self.begun.fetch_add(1, Relaxed);
        Ok((ticket, spooled))
    }

    /// The result of this ticket.
    ///
    /// # Errors
    /// The same for a text that is no ticket, for an unknown ticket, and for one of another user or role: the error
    /// must not reveal which tickets exist.
    pub fn find(&self, ticket: &str, user: &SessionUser) -> Result<Arc<Spooled>, Failure> {
        let by_ticket = self.by_ticket();
        let found = Ticket::parse(ticket).and_then(|ticket| by_ticket.get(&ticket));
        let spooled = found.filter(|spooled| spooled.belongs_to(user) && !spooled.has_expired(Instant::now()));
        spooled.inspect(|spooled| spooled.touch()).cloned().ok_or_else(no_ticket)
    }

    /// Ends a ticket. Readers of its parts read to the end.
    ///
    /// # Errors
    /// Those of [`Tickets::find`].
    pub fn release(&self, ticket: &str, user: &SessionUser) -> Result<(), Failure> {
        let spooled = self.find(ticket, user)?;
        self.by_ticket().retain(|_, other| !Arc::ptr_eq(other, &spooled));
        Ok(())
    }

    fn remove(&self, ticket: Ticket) {
        let removed = self.by_ticket().remove(&ticket);
        // The file is freed without the lock.
        drop(removed);
    }

    /// Ends the tickets that were not used for their time to live.
    pub fn expire(&self, now: Instant) {
        let expired: Vec<_> = self.by_ticket().extract_if(|_, spooled| spooled.has_expired(now)).collect();
        drop(expired);
    }

    /// Ends the tickets of users who do not exist any more.
    pub fn end_others(&self, exists: impl Fn(&SessionUser) -> bool) {
        let ended: Vec<_> = self.by_ticket().extract_if(|_, spooled| !exists(spooled.user())).collect();
        drop(ended);
    }

    /// Counts a spool that has failed, if a limit of the spool is the reason.
    fn count_failure(&self, failure: &Failure) {
        use LimitError::{TicketCount, TicketDiskFull, Tickets, UserTickets};
        if let Failure::Limit(Tickets(_) | UserTickets(_) | TicketCount(_) | TicketDiskFull) = failure {
            self.refused.fetch_add(1, Relaxed);
        }
    }

    pub fn count_parts(&self, count: usize) {
        self.parts_sent.fetch_add(count as u64, Relaxed);
    }

    pub fn counts(&self) -> SpoolCounts {
        let spaces = self.user_spaces.lock().unwrap_or_else(PoisonError::into_inner);
        let largest = spaces.values().filter_map(Weak::upgrade).map(|space| space.used()).max();
        drop(spaces);
        SpoolCounts {
            tickets: self.by_ticket().len() as u64,
            bytes: self.space.used() as u64,
            largest_user_bytes: largest.unwrap_or_default() as u64,
            begun: self.begun.load(Relaxed),
            refused: self.refused.load(Relaxed),
            parts_sent: self.parts_sent.load(Relaxed),
        }
    }
}

fn unwritable(error: io::Error) -> Failure {
    if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
        return LimitError::TicketDiskFull.into();
    }
    EngineError::new(SqlState::IO_ERROR, format!("cannot write to --spool-directory: {error}")).into()
}

fn no_ticket() -> Failure {
    let hint = "It is not valid, has expired or was released, belongs to another user, or the server has restarted. \
                Run colonnade_spool again.";
    let error = EngineError::new(SqlState::UNDEFINED_OBJECT, "this ticket does not exist");
    EngineError { hint: Some(hint.to_owned()), ..error }.into()
}

#[cfg(test)]
mod quota_tests;
#[cfg(test)]
mod tests;
