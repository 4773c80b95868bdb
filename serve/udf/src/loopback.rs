//! Queries that a function runs while it is called: `_conn.execute(sql)`.
//!
//! The function process asks over the ring, as it does for more memory. The thread that waits for its answer has the
//! query run, writes rows into the ring, and waits again. It writes one batch at a time, and the function process keeps
//! the rows in its own memory, which is limited. Everything that it asks is checked: it may send any text, as often as
//! its time allows.

mod reply;
mod watch;

use std::sync::Arc;

use crate::layout::{Answer, AnswerHead, DATA, MAX_RECORD, Request, RequestHead};
use crate::process::Process;
use crate::ring::Ring;
use crate::stop::EndCondition;

pub use reply::{LoopbackReply, ReplyError};

/// The longest query in bytes. `serve/colonnade_serve/_udf/ring.py` has the same.
const MAX_QUERY: usize = 1 << 20;

/// Where functions run their queries.
pub trait Loopback: Send + Sync {
    /// A connection for the queries of one call. It is called without a lock, by the thread that waits for the call.
    ///
    /// # Errors
    /// Why there is none.
    fn connect(&self) -> Result<Arc<dyn LoopbackConnection>, LoopbackError>;
}

/// A connection for the queries of one call, which run one after the other.
pub trait LoopbackConnection: Send + Sync {
    /// Begins a query that only reads, and ends the one before. The text is UTF-8 without NUL; nothing else is known of
    /// it.
    ///
    /// # Errors
    /// Why not. The function may catch it.
    fn query(&self, sql: &str) -> Result<(), LoopbackError>;

    /// Writes the next rows of the query. The first ones may be none, so that the columns are known.
    ///
    /// # Errors
    /// The query's error, and one if there are no more rows.
    fn next(&self, reply: LoopbackReply<'_>) -> Result<LoopbackRows, LoopbackError>;

    /// Makes what runs in [`Self::query`] or [`Self::next`] end soon. A thread of its own calls this repeatedly until
    /// it has ended. No query can end meanwhile, so this must not wait for a lock that the thread of the query holds
    /// when it ends.
    fn interrupt(&self);
}

/// Rows that are written: made by [`LoopbackReply::finish`].
#[derive(Debug)]
pub struct LoopbackRows {
    rows: usize,
    /// The place and the bytes of the columns' description.
    description: (usize, usize),
    words: usize,
    end: usize,
    /// Whether the query has more rows.
    pub has_more: bool,
}

/// Why a query has failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LoopbackError {
    /// The SQLSTATE: five characters.
    pub code: String,
    /// What happened.
    pub message: String,
    /// Details. Empty if there are none.
    pub detail: String,
    /// What the user can do. Empty if nothing is known.
    pub hint: String,
    /// Where it happened within functions that the query has called, one call in each line. Empty if it did not.
    pub context: String,
}

impl LoopbackError {
    /// An error without details.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), ..Self::default() }
    }

    /// The bytes that the function process reads: each text after its length of 4 bytes, cut to what fits into an
    /// error's record.
    fn record(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for text in [&self.code, &self.message, &self.detail, &self.hint, &self.context] {
            let text = &text[..text.floor_char_boundary(MAX_RECORD / 8)];
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes
    }
}

impl From<ReplyError> for LoopbackError {
    fn from(error: ReplyError) -> Self {
        let code = match error {
            ReplyError::TooLarge => "53200",
            ReplyError::Misuse => "XX000",
        };
        Self::new(code, error.to_string())
    }
}

/// The queries of one call.
pub(crate) struct Queries {
    pub end: EndCondition,
    loopback: Option<Arc<dyn Loopback>>,
    connection: Option<Arc<dyn LoopbackConnection>>,
    /// The SQLSTATEs of those that have failed.
    failed: Vec<String>,
}

impl Queries {
    pub fn new(end: EndCondition, loopback: Option<Arc<dyn Loopback>>) -> Self {
        Self { end, loopback, connection: None, failed: Vec::new() }
    }

    /// Whether a query has failed with this SQLSTATE. Then the function may fail with it too; a function process cannot
    /// invent one.
    pub fn has_failed_with(&self, code: &str) -> bool {
        self.failed.iter().any(|known| known == code)
    }

    /// Serves what a function process asks, and gives the next request to it.
    pub fn serve(
        &mut self,
        process: &Arc<Process>,
        kind: Answer,
        answer: &AnswerHead,
    ) -> Result<RequestHead, &'static str> {
        let at = usize::try_from(answer.wanted).ok().filter(|at| *at >= DATA && at.is_multiple_of(8));
        let at = at.filter(|at| *at <= process.ring.size()).ok_or("the place of a query is wrong")?;
        let result = match kind {
            Answer::Query => match text(&process.ring, at, answer.record_bytes)? {
                Some(sql) => self.begin(process, &sql).and_then(|()| self.next(process, at)),
                None => Err(LoopbackError::new("22021", "a query of a function is not valid UTF-8, or has a NUL")),
            },
            _ => self.next(process, at),
        };
        let ring = &process.ring;
        let (request, rows, (groups_at, groups), words, end, more) = match result {
            Ok(LoopbackRows { rows, description, words, end, has_more }) => {
                (Request::Rows, rows, description, words, end, has_more)
            }
            Err(error) => {
                if !self.has_failed_with(&error.code) {
                    self.failed.push(error.code.clone());
                }
                let bytes = error.record();
                let place = if ring.grow(at.saturating_add(bytes.len())) { ring.slice(at, bytes.len()) } else { None };
                // Without room, the function process raises an error without a text.
                let length = place.inspect(|place| place.write(0, &bytes)).map_or(0, |place| place.len());
                (Request::QueryFailed, 0, (at, length), 0, at, false)
            }
        };
        let function = u64::from(more);
        Ok(RequestHead { request, function, rows, groups_at, groups, data_end: end, capacity: ring.size(), words })
    }

    fn begin(&mut self, process: &Arc<Process>, sql: &str) -> Result<(), LoopbackError> {
        let connection = match &self.connection {
            Some(connection) => connection,
            None => {
                let loopback = self.loopback.as_ref();
                let none = || LoopbackError::new("0A000", "functions cannot run queries here");
                self.connection.insert(loopback.ok_or_else(none)?.connect()?)
            }
        };
        let _watched = watch::begin(Arc::clone(connection), self.end.clone(), Arc::clone(process));
        connection.query(sql)
    }

    fn next(&self, process: &Arc<Process>, at: usize) -> Result<LoopbackRows, LoopbackError> {
        let none = || LoopbackError::new("55000", "a function has no query that runs");
        let connection = self.connection.as_ref().ok_or_else(none)?;
        let _watched = watch::begin(Arc::clone(connection), self.end.clone(), Arc::clone(process));
        connection.next(LoopbackReply::new(&process.ring, at))
    }
}

/// A copy of the query; `None` if it is no text.
fn text(ring: &Ring, at: usize, bytes: u64) -> Result<Option<String>, &'static str> {
    let length = usize::try_from(bytes).ok().filter(|length| *length <= MAX_QUERY).ok_or("a query is too long")?;
    let bytes = ring.slice(at, length).ok_or("a query is not within the ring")?.to_vec();
    Ok(String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')))
}
