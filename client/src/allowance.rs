//! A limit for the size of a result.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow_schema::SchemaRef;

use crate::{Batch, ContinueCheck, Error, ErrorKind, ResultStream, Stats};

/// PostgreSQL's SQLSTATE of an exceeded limit of a program.
const SQLSTATE: &str = "54000";

/// The bytes that a result has taken so far.
#[derive(Debug)]
struct Account {
    used: AtomicU64,
    most: u64,
}

impl Account {
    /// # Errors
    /// The result exceeds its limit.
    fn charge(&self, bytes: u64) -> Result<(), Error> {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if used <= self.most {
            return Ok(());
        }
        let message = format!("the result takes more than the {} bytes that max_result_bytes allows", self.most);
        Err(Error::new(ErrorKind::Limit, message)
            .with_sqlstate(SQLSTATE)
            .with_hint("ask for fewer rows or columns, read it batch by batch, or raise max_result_bytes"))
    }
}

/// The bytes of one batch that count towards the limit.
#[derive(Debug)]
pub(crate) struct Share {
    account: Arc<Account>,
    /// The bytes in which it arrived.
    arrived: u64,
    /// The columns that were decoded separately.
    decoded: Vec<AtomicBool>,
}

impl Share {
    /// Counts a decoded column. The received bytes are kept too.
    ///
    /// # Errors
    /// The result exceeds its limit.
    pub(crate) fn column(&self, index: usize, bytes: u64) -> Result<(), Error> {
        match self.decoded.get(index) {
            Some(decoded) if !decoded.swap(true, Ordering::Relaxed) => self.account.charge(bytes),
            _ => Ok(()),
        }
    }

    /// Counts all columns as decoded. The received bytes are not kept.
    ///
    /// # Errors
    /// The result exceeds its limit.
    pub(crate) fn whole(&self, bytes: u64) -> Result<(), Error> {
        self.account.charge(bytes.saturating_sub(self.arrived))
    }
}

/// The same result, with a limit of `most` bytes for its columns as plain Arrow buffers.
pub fn limited(inner: Box<dyn ResultStream>, most: u64) -> Box<dyn ResultStream> {
    Box::new(Limited { inner, account: Arc::new(Account { used: AtomicU64::new(0), most }) })
}

struct Limited {
    inner: Box<dyn ResultStream>,
    account: Arc<Account>,
}

impl ResultStream for Limited {
    fn schema(&self) -> &SchemaRef {
        self.inner.schema()
    }

    fn next(&mut self, keep: ContinueCheck<'_>) -> Result<Option<Batch>, Error> {
        let Some(batch) = self.inner.next(keep)? else { return Ok(None) };
        let arrived = batch.bytes();
        self.account.charge(arrived)?;
        let decoded = (0..batch.schema().fields().len()).map(|_| AtomicBool::new(false)).collect();
        let share = Share { account: self.account.clone(), arrived, decoded };
        Ok(Some(batch.accounted(Arc::new(share))))
    }

    fn stats(&self) -> Stats {
        self.inner.stats()
    }
}
