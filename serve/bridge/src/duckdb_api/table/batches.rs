//! Calls of a function in LANGUAGE PYTHON_MAP: threads call function processes with batches of rows while further rows
//! are collected.
//!
//! The queries of such calls run on connections other than the session's, which collects rows meanwhile. So they see
//! what is committed. In a transaction that has changed something, the batches wait until all rows are collected. Then
//! the calls run one after another, and their queries on the session's connection.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};

use colonnade_udf::{CollectedRows, Function, FunctionCaller};

use super::run::{self, RunError};
use super::{Argument, Batch, Call, VALUES, lock};
use crate::duckdb_api::handles::CallbackError;
use crate::duckdb_api::session::Session;

/// The batches of one call.
pub(super) struct Batches {
    /// The most calls at a time. With 0, batches wait until all rows are collected.
    threads: usize,
    inner: Mutex<Inner>,
    shared: Arc<Shared>,
}

/// Rows with the number of their batch.
type Numbered = (usize, Arc<CollectedRows>);
/// How rows reach the threads.
type Channel = (SyncSender<Numbered>, Arc<Mutex<Receiver<Numbered>>>);

#[derive(Default)]
struct Inner {
    channel: Option<Channel>,
    threads: Vec<JoinHandle<()>>,
    count: usize,
    waiting: Vec<Arc<CollectedRows>>,
}

#[derive(Default)]
struct Shared {
    results: Mutex<BTreeMap<usize, Batch>>,
    failure: Mutex<Option<RunError>>,
    /// No further call is of use.
    is_over: AtomicBool,
    /// The arguments that are single values, which each batch has.
    values: OnceLock<Arc<CollectedRows>>,
    /// The first thread has a process, if there is one. The others take theirs afterwards, so that it gets the last
    /// one.
    has_begun: OnceLock<()>,
}

impl Drop for Batches {
    /// The threads end after their present call.
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
    }
}

impl Batches {
    pub fn new(threads: usize) -> Self {
        Self { threads, inner: Mutex::default(), shared: Arc::default() }
    }

    /// A caller for a call by the session's thread, after all rows were collected.
    pub fn caller(&self, session: &Session) -> Result<FunctionCaller, CallbackError> {
        if self.threads == 0 { session.caller_between_statements() } else { session.caller() }
    }

    /// Calls the function with these rows, soon. Waits while all threads are busy.
    pub fn call(&self, call: &Arc<Call>, rows: Arc<CollectedRows>) -> Result<(), CallbackError> {
        self.keep_values(call)?;
        if self.threads == 0 {
            let mut inner = lock(&self.inner);
            inner.count += 1;
            inner.waiting.push(rows);
            return Ok(());
        }
        let (sender, number) = {
            let mut inner = lock(&self.inner);
            let number = inner.count;
            inner.count += 1;
            let (sender, receiver) = inner
                .channel
                .get_or_insert_with(|| {
                    let (sender, receiver) = sync_channel(1);
                    (sender, Arc::new(Mutex::new(receiver)))
                })
                .clone();
            // Another thread for each batch, so that a few rows need one process.
            if inner.threads.len() < self.threads {
                let thread = Thread {
                    receiver,
                    shared: Arc::clone(&self.shared),
                    session: Arc::clone(&call.session),
                    function: Arc::clone(&call.function),
                    arguments: call.arguments.clone(),
                    is_first: inner.threads.is_empty(),
                };
                inner.threads.push(thread::spawn(move || thread.run()));
            }
            (sender, number)
        };
        self.check(call)?;
        sender.send((number, rows)).map_err(|_| "the threads of a table function have ended".into())
    }

    /// Whether no call has been made.
    pub fn is_unused(&self) -> bool {
        lock(&self.inner).count == 0
    }

    /// Takes the values, once. The query of the rows runs after they were collected.
    pub fn keep_values(&self, call: &Call) -> Result<(), CallbackError> {
        if self.shared.values.get().is_none() {
            let values = lock(&call.groups[VALUES]).collector.take().map_err(|error| call.failed(&error))?;
            // Only the thread that collects rows comes here.
            let _ = self.shared.values.set(Arc::new(values));
        }
        Ok(())
    }

    /// Waits for all calls. Their results are in the order of the rows.
    pub fn finish(&self, call: &Call) -> Result<Vec<Batch>, CallbackError> {
        if self.threads == 0 {
            let mut caller = self.caller(&call.session)?;
            let values = self.shared.values.get().cloned().unwrap_or_default();
            let waiting = std::mem::take(&mut lock(&self.inner).waiting);
            let called = waiting.into_iter().map(|rows| {
                let mut groups = [Arc::clone(&values), rows];
                run::call(&mut caller, &call.function, &call.arguments, &mut groups)
            });
            return called.map(|batch| batch.map_err(|error| call.run_failed(error))).collect();
        }
        let threads = {
            let mut inner = lock(&self.inner);
            inner.channel = None;
            std::mem::take(&mut inner.threads)
        };
        for thread in threads {
            if thread.join().is_err() {
                return Err("a thread of a table function has panicked".into());
            }
        }
        self.check(call)?;
        Ok(std::mem::take(&mut *lock(&self.shared.results)).into_values().collect())
    }

    fn check(&self, call: &Call) -> Result<(), CallbackError> {
        lock(&self.shared.failure).take().map_or(Ok(()), |error| Err(call.run_failed(error)))
    }
}

struct Thread {
    receiver: Arc<Mutex<Receiver<Numbered>>>,
    shared: Arc<Shared>,
    session: Arc<Session>,
    function: Arc<Function>,
    arguments: Vec<Argument>,
    /// Whether the call needs this thread. Others end if there is no process for them.
    is_first: bool,
}

/// SQLSTATE of a limit on processes.
const TOO_MANY: &str = "53300";

impl Thread {
    fn run(self) {
        let mut caller;
        if self.is_first {
            // If there is none, the first call says so.
            caller = self.session.caller().ok();
            if let Some(taken) = &mut caller {
                let _ = taken.check(&self.function);
            }
            self.shared.has_begun.get_or_init(|| ());
        } else {
            self.shared.has_begun.wait();
            let Ok(mut taken) = self.session.caller() else { return };
            if taken.check(&self.function).is_err_and(|error| error.sqlstate() == TOO_MANY) {
                return;
            }
            caller = Some(taken);
        }
        loop {
            let next = lock(&self.receiver).recv();
            let Ok((number, rows)) = next else { return };
            if self.shared.is_over.load(Ordering::Relaxed) {
                continue;
            }
            let values = self.shared.values.get().cloned().unwrap_or_default();
            let mut groups = [values, rows];
            let called =
                match &mut caller {
                    Some(caller) => run::call(caller, &self.function, &self.arguments, &mut groups),
                    None => self.session.caller().map_err(RunError::Engine).and_then(|taken| {
                        run::call(caller.insert(taken), &self.function, &self.arguments, &mut groups)
                    }),
                };
            match called {
                Ok(batch) => drop(lock(&self.shared.results).insert(number, batch)),
                Err(error) => {
                    self.shared.is_over.store(true, Ordering::Relaxed);
                    lock(&self.shared.failure).get_or_insert(error);
                }
            }
        }
    }
}
