//! One spooled result: its file, and the index of its parts.

use std::fs::File;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use colonnade_wire::Config;

use crate::engine::{EngineError, SessionUser};
use crate::error::{Failure, SqlState};
use crate::limits::{Charge, LimitError};

/// A spooled result. Each part is in the file as it is sent: CopyData messages, of which each carries one message of a
/// stream.
pub struct Spooled {
    user: SessionUser,
    ttl: Option<Duration>,
    pub file: File,
    /// What is known when the query's columns are.
    form: OnceLock<KeptForm>,
    state: Mutex<State>,
}

/// What all parts have in common.
#[derive(Debug)]
pub struct KeptForm {
    /// How the chunks are encoded.
    pub config: Config,
    /// The engine's names of the columns' types.
    pub type_names: Vec<String>,
    /// The number of columns.
    pub columns: usize,
}

struct State {
    parts: Vec<Part>,
    is_complete: bool,
    /// The number of sessions that are reading a part.
    readers: usize,
    last_use: Instant,
    /// The file's bytes, in the space of all and in that of the user.
    space: [Charge; 2],
}

/// One part of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The first byte in the file.
    pub start: u64,
    /// Its bytes in the file: those of the stream, and five for each of its messages.
    pub length: u64,
    /// Its rows.
    pub rows: u64,
    /// The size of its columns as plain Arrow buffers.
    pub plain_bytes: u64,
    /// The size of its stream.
    pub encoded_bytes: u64,
    /// The largest number of rows of a chunk.
    pub max_rows: usize,
    /// The largest number of plain bytes of a chunk.
    pub max_plain_bytes: usize,
    /// The size of the largest message.
    pub max_message_bytes: usize,
}

impl Spooled {
    pub(super) fn new(user: &SessionUser, file: File, space: [Charge; 2], ttl: Option<Duration>) -> Self {
        let state = State { parts: Vec::new(), is_complete: false, readers: 0, last_use: Instant::now(), space };
        Self { user: user.clone(), ttl, file, form: OnceLock::new(), state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn user(&self) -> &SessionUser {
        &self.user
    }

    pub(super) fn belongs_to(&self, user: &SessionUser) -> bool {
        let parts = |user: &SessionUser| (user.entry, user.role);
        self.user.name == user.name && parts(&self.user) == parts(user)
    }

    pub(super) fn touch(&self) {
        self.state().last_use = Instant::now();
    }

    pub(super) fn has_expired(&self, now: Instant) -> bool {
        let state = self.state();
        let idle = now.saturating_duration_since(state.last_use);
        state.is_complete && state.readers == 0 && self.ttl.is_some_and(|ttl| idle >= ttl)
    }

    pub(super) fn set_form(&self, form: KeptForm) {
        // It is set once, by the writer, before it adds a part.
        let _ = self.form.set(form);
    }

    pub fn form(&self) -> Option<&KeptForm> {
        self.form.get()
    }

    /// Charges the file's bytes before they are written.
    pub(super) fn charge(&self, bytes: u64) -> Result<(), LimitError> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut state = self.state();
        let [all, own] = &mut state.space;
        let before = all.bytes();
        all.set(bytes)?;
        own.set(bytes).inspect_err(|_| {
            // Less is always possible.
            let _ = all.set(before);
        })
    }

    /// Adds a part that is completely in the file. Gives its number.
    pub(super) fn add(&self, part: Part) -> usize {
        let mut state = self.state();
        state.parts.push(part);
        state.last_use = Instant::now();
        state.parts.len()
    }

    pub(super) fn complete(&self) {
        let mut state = self.state();
        (state.is_complete, state.last_use) = (true, Instant::now());
    }

    /// The parts from `first` to `last`, which count from 1. The ticket does not expire until the guard is dropped.
    ///
    /// # Errors
    /// If there is no such part, or it is not complete.
    pub fn parts(&self, first: i64, last: i64) -> Result<(Vec<Part>, ReadGuard<'_>), Failure> {
        let mut state = self.state();
        let error = |code, message, hint: String| EngineError { hint: Some(hint), ..EngineError::new(code, message) };
        let index = |number: i64| usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let count = state.parts.len();
        for number in [first, last] {
            if index(number).is_some_and(|index| index < count) {
                continue;
            }
            if number > 0 && !state.is_complete {
                let message = format!("part {number} is not complete: the query still runs");
                let hint = "Read a part after colonnade_spool has given its row.".to_owned();
                return Err(error(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message, hint).into());
            }
            let message = format!("part {number} does not exist");
            return Err(error(SqlState::UNDEFINED_OBJECT, message, format!("The parts are 1 to {count}.")).into());
        }
        let range = index(first)
            .zip(index(last))
            .and_then(|(first, last)| state.parts.get(first..=last).filter(|parts| !parts.is_empty()));
        let Some(parts) = range.map(<[Part]>::to_vec) else {
            let message = format!("part {last} is not after part {first}");
            let hint = "Name the first part, and with the option last the last one.".to_owned();
            return Err(error(SqlState::INVALID_PARAMETER_VALUE, message, hint).into());
        };
        state.readers += 1;
        Ok((parts, ReadGuard(self)))
    }
}

/// A read in progress.
pub struct ReadGuard<'a>(&'a Spooled);

impl Drop for ReadGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.readers -= 1;
        state.last_use = Instant::now();
    }
}
