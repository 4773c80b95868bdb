//! A connection of the client's, shared by an ADBC connection and its statements: transactions, one result at a time,
//! cancellation.

mod settings;
mod transaction;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adbc_core::CancelHandle;
use adbc_core::error::{Result, Status};
use arrow_array::RecordBatch;
use colonnade_client::{Answer, Cancel, Connection, Dialect, Parameters, QueryOptions, Statement};

use crate::error::{converted, refused, with_sqlstate};
use crate::partitions::local::{Part, WeakPart};
use crate::rows::{Rows, WeakRows};
use crate::types;

pub(crate) use transaction::Isolation;
use transaction::Transactions;

/// A connection to a database.
pub(crate) struct Session {
    source: Arc<dyn Connection>,
    transactions: Mutex<Transactions>,
    /// The result that is read last, if it still is.
    current: Mutex<WeakRows>,
    /// Whether the execution that runs is to stop. A request to the source stops one statement, and an execution may
    /// have several.
    cancelled: Arc<AtomicBool>,
    /// The part of another connection's result that was read last.
    part: Arc<Mutex<WeakPart>>,
}

impl Session {
    pub(crate) fn new(source: Arc<dyn Connection>) -> Self {
        Self {
            source,
            transactions: Mutex::default(),
            current: Mutex::default(),
            cancelled: Arc::default(),
            part: Arc::default(),
        }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.source.dialect()
    }

    pub(crate) fn source(&self) -> &dyn Connection {
        &*self.source
    }

    /// The source, for what may outlive this session.
    pub(crate) fn shared_source(&self) -> &Arc<dyn Connection> {
        &self.source
    }

    /// Begins an execution: what was cancelled before is over.
    ///
    /// # Errors
    /// The connection delivers a result, or a transaction cannot be begun.
    pub(crate) fn begin_execution(&self) -> Result<()> {
        self.cancelled.store(false, Ordering::Release);
        self.free()?;
        self.begin_transaction()
    }

    /// Begins an execution in parts, which are read over other connections: these do not see what an open transaction
    /// did.
    ///
    /// # Errors
    /// The connection delivers a result.
    pub(crate) fn begin_partitions(&self) -> Result<()> {
        self.cancelled.store(false, Ordering::Release);
        self.free()
    }

    /// Begins to read a part of a result that only this process can read.
    ///
    /// # Errors
    /// Those of the source.
    pub(crate) fn read_local_part(&self, part: Part) -> Result<Rows> {
        let Some((sql, options)) = part.own_query() else {
            *self.part.lock().unwrap_or_else(PoisonError::into_inner) = part.downgrade();
            return Rows::streamed(part.open()?);
        };
        self.begin_execution()?;
        match self.run(sql, None, options)? {
            Answer::Rows(stream) => {
                let rows = Rows::streamed(stream)?;
                self.reads(rows.downgrade());
                Ok(rows)
            }
            Answer::Done(affected) => Rows::none(affected),
        }
    }

    /// Runs one statement once.
    ///
    /// # Errors
    /// Those of the source.
    pub(crate) fn run(&self, sql: &str, parameters: Option<&Parameters>, options: &QueryOptions) -> Result<Answer> {
        let statement = Statement { sql, parameters };
        let answer = self.source.run(statement, options, &mut || true).map_err(|error| converted(&error))?;
        Ok(match answer {
            Answer::Rows(rows) => Answer::Rows(types::stream(rows, self.source(), options)),
            answer => answer,
        })
    }

    /// Runs a statement for its effect, and passes over its rows.
    ///
    /// # Errors
    /// Those of the source.
    pub(crate) fn execute(&self, sql: &str, parameters: Option<&Parameters>) -> Result<Option<u64>> {
        self.source.execute(Statement { sql, parameters }, &mut || true).map_err(|error| converted(&error))
    }

    /// All rows of a query of this driver's own.
    ///
    /// # Errors
    /// The connection delivers a result; otherwise those of the source.
    pub(crate) fn ask(&self, sql: &str, parameters: &Parameters) -> Result<Vec<RecordBatch>> {
        self.begin_execution()?;
        let statement = Statement { sql, parameters: Some(parameters) };
        let read = || {
            let mut rows = self.source.query(statement, &QueryOptions::default(), &mut || true)?;
            let mut batches = Vec::new();
            while let Some(batch) = rows.next(&mut || true)? {
                batches.push(batch.decode()?);
            }
            Ok(batches)
        };
        read().map_err(|error| converted(&error))
    }

    /// Notes which result is being read.
    pub(crate) fn reads(&self, rows: WeakRows) {
        *self.current() = rows;
    }

    /// # Errors
    /// A result is not read to its end.
    fn free(&self) -> Result<()> {
        let rows = self.current().clone();
        if rows.is_open() {
            let message =
                "the connection still delivers a result: read it to its end, release it, or open a second connection";
            return Err(refused(Status::InvalidState, message));
        }
        Ok(())
    }

    /// Whether somebody asked to stop the execution that runs.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// # Errors
    /// Somebody asked to stop.
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        if self.is_cancelled() {
            return Err(with_sqlstate(refused(Status::Cancelled, "the execution was cancelled"), "57014"));
        }
        Ok(())
    }

    /// What stops the execution that runs, or the result that is read.
    pub(crate) fn canceller(&self) -> Box<dyn CancelHandle> {
        Box::new(Canceller {
            source: self.source.canceller(),
            cancelled: self.cancelled.clone(),
            part: self.part.clone(),
        })
    }

    fn current(&self) -> MutexGuard<'_, WeakRows> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn transactions(&self) -> MutexGuard<'_, Transactions> {
        self.transactions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Canceller {
    source: Arc<dyn Cancel>,
    cancelled: Arc<AtomicBool>,
    part: Arc<Mutex<WeakPart>>,
}

impl CancelHandle for Canceller {
    fn try_cancel(&self) -> Result<()> {
        self.cancelled.store(true, Ordering::Release);
        // Not under the lock, which whoever begins to read a part would wait for.
        let part = self.part.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.source.cancel().and(part.cancel()).map_err(|error| converted(&error))
    }
}
