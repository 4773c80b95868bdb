//! A connection that one query at a time uses.

use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::descriptor_table;
use super::library::{self, Database, InterruptHandle};
use super::location::Location;
use super::running::{Started, deliver, run};
use crate::feed::{self, NoItem, POLL};
use crate::partition::PartSupport;
use crate::partition::siblings::Siblings;
use crate::produced::{self, Produced};
use crate::stats::Meter;
use crate::write::Writing;
use crate::{
    Answer, Cancel, Connection, ContinueCheck, Dialect, Error, ErrorKind, QueryOptions, ResultStream, Statement,
    Transaction,
};

/// An SQLite file, opened read-only.
pub struct SqliteConnection(Arc<Shared>);

/// The handle that interrupts the running writer of a connection.
pub(super) type WriterInterrupt = Arc<Mutex<Option<InterruptHandle>>>;

struct Shared {
    location: Location,
    name: String,
    software: String,
    interrupt: InterruptHandle,
    /// Connections that read parts of this connection's results.
    siblings: Siblings,
    writer: WriterInterrupt,
    state: Mutex<State>,
    changed: Condvar,
}

enum State {
    /// The database, and the number of queries so far.
    Idle(Database, u64),
    /// The number of the running query.
    Busy(u64),
    Closed,
}

/// Opens a file and checks that it is a database.
///
/// # Errors
/// There is no such file, it is not a database, or another process has locked it for too long.
pub fn connect(location: &Location, keep: ContinueCheck<'_>) -> Result<SqliteConnection, Error> {
    let name = location.name();
    let (sender, opened) = sync_channel(1);
    let place = location.clone();
    // Another process may hold a lock.
    descriptor_table::spawn(move || {
        let _ = sender.send(open(&place));
    })?;
    let database = match feed::receive(&opened, keep) {
        Ok(database) => database.map_err(|error| error.with_origin(&name))?,
        Err(reason) => return Err(no_item(&reason).with_origin(&name)),
    };
    Ok(SqliteConnection(Arc::new(Shared {
        location: location.clone(),
        name,
        software: format!("SQLite {}", library::version()),
        interrupt: database.interrupt(),
        siblings: Siblings::default(),
        writer: WriterInterrupt::default(),
        state: Mutex::new(State::Idle(database, 0)),
        changed: Condvar::new(),
    })))
}

fn open(location: &Location) -> Result<Database, Error> {
    location.check()?;
    let (name, is_uri) = location.file()?;
    let database = Database::open(&name, is_uri, location.patience, location.access)?;
    // Opening a file reads nothing.
    run(&database, "SELECT count(*) FROM sqlite_schema", None)?;
    Ok(database)
}

impl Connection for SqliteConnection {
    fn query(
        &self,
        statement: Statement<'_>,
        options: &QueryOptions,
        keep: ContinueCheck<'_>,
    ) -> Result<Box<dyn ResultStream>, Error> {
        match self.begin(statement, options, true, keep)? {
            Answer::Rows(rows) => Ok(rows),
            Answer::Done(_) => Err(no_item(&NoItem::Gone).with_origin(&self.0.name)),
        }
    }

    fn run(&self, statement: Statement<'_>, options: &QueryOptions, keep: ContinueCheck<'_>) -> Result<Answer, Error> {
        self.begin(statement, options, false, keep)
    }

    fn transaction(&self) -> Option<Transaction> {
        match &*self.0.state() {
            State::Idle(database, _) if database.in_transaction() => Some(Transaction::Open),
            State::Idle(..) => Some(Transaction::None),
            State::Busy(_) | State::Closed => None,
        }
    }

    fn execute(&self, statement: Statement<'_>, keep: ContinueCheck<'_>) -> Result<Option<u64>, Error> {
        let (sql, parameters) = (statement.sql.to_owned(), statement.parameters.cloned());
        self.work(keep, move |database| run(database, &sql, parameters.as_ref()))
    }

    fn partitioning(&self) -> PartSupport<'_> {
        PartSupport::Parts(self)
    }

    fn writing(&self) -> Result<&dyn Writing, Error> {
        Ok(self)
    }

    fn canceller(&self) -> Arc<dyn Cancel> {
        Arc::new(Canceller { shared: self.0.clone(), number: None })
    }

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn name(&self) -> &str {
        &self.0.name
    }

    fn server(&self) -> &str {
        &self.0.software
    }

    fn is_open(&self) -> bool {
        !matches!(*self.0.state(), State::Closed)
    }

    fn close(&self) {
        let mut state = self.0.state();
        if let State::Busy(_) = *state {
            self.0.interrupt.stop();
        }
        *state = State::Closed;
        self.0.changed.notify_all();
    }
}

impl SqliteConnection {
    /// Starts a statement. Returns when its columns are known, or when it has ended without columns.
    fn begin(
        &self,
        statement: Statement<'_>,
        options: &QueryOptions,
        rows_only: bool,
        keep: ContinueCheck<'_>,
    ) -> Result<Answer, Error> {
        let meter = Meter::start();
        let (database, lease) = self.0.take(keep)?;
        let canceller = lease.canceller();
        let (begun, opened) = sync_channel(1);
        let (sender, batches) = produced::queue();
        let (sql, parameters) = (statement.sql.to_owned(), statement.parameters.cloned());
        let options = options.clone();
        descriptor_table::spawn(move || {
            let end = deliver(&database, (&sql, parameters.as_ref()), &options, rows_only, begun, &sender);
            // The database is released before the reader learns of the end and may start another query.
            lease.give_back(database);
            let _ = sender.send(end);
        })?;
        let schema = match self.0.wait(&opened, &canceller, keep)? {
            Some(Started::Rows(schema)) => schema,
            Some(Started::Done(changed)) => {
                // The end event comes when the database is free again.
                self.0.wait(&batches, &canceller, keep)?;
                return Ok(Answer::Done(changed));
            }
            // The end event comes in place of a batch.
            None => match self.0.wait(&batches, &canceller, keep)? {
                Some(Err(error)) => return Err(error.with_origin(&self.0.name)),
                _ => return Err(no_item(&NoItem::Gone).with_origin(&self.0.name)),
            },
        };
        Ok(Answer::Rows(Box::new(Produced::new(schema, batches, Arc::new(canceller), meter, &self.0.name))))
    }

    pub(super) fn location(&self) -> &Location {
        &self.0.location
    }

    /// The place for the handle of a writer, which is cancelled with this connection.
    pub(super) fn writer(&self) -> &WriterInterrupt {
        &self.0.writer
    }

    pub(super) fn known_siblings(&self) -> &Siblings {
        &self.0.siblings
    }

    /// Runs `work` with the database on a separate thread, which can be abandoned.
    pub(super) fn work<T: Send + 'static>(
        &self,
        keep: ContinueCheck<'_>,
        work: impl FnOnce(&Database) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        Self::together(std::slice::from_ref(self), keep, move |databases| work(&databases[0]))
    }

    /// Runs `work` with the databases of several connections, at least one, on one thread.
    pub(super) fn together<T: Send + 'static>(
        connections: &[Self],
        keep: ContinueCheck<'_>,
        work: impl FnOnce(&[Database]) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let mut taken = Vec::with_capacity(connections.len());
        for connection in connections {
            taken.push(connection.0.take(keep)?);
        }
        let (databases, leases): (Vec<_>, Vec<_>) = taken.into_iter().unzip();
        let cancellers: Vec<_> = leases.iter().map(Lease::canceller).collect();
        let (sender, done) = sync_channel(1);
        descriptor_table::spawn(move || {
            let result = work(&databases);
            for (database, lease) in databases.into_iter().zip(leases) {
                lease.give_back(database);
            }
            let _ = sender.send(result);
        })?;
        let (first, canceller) = (&connections[0].0, &cancellers[0]);
        match first.wait(&done, canceller, keep)? {
            Some(result) => result.map_err(|error| error.with_origin(&first.name)),
            None => Err(no_item(&NoItem::Gone).with_origin(&first.name)),
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is one assignment, so a panic elsewhere leaves nothing half-done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of an abandoned result, and takes the database.
    fn take(self: &Arc<Self>, keep: ContinueCheck<'_>) -> Result<(Database, Lease), Error> {
        let mut state = self.state();
        loop {
            match &*state {
                State::Closed => return Err(self.unavailable("the connection is closed: open a new one")),
                State::Busy(_) if !self.interrupt.is_stopped() => {
                    return Err(self.unavailable(
                        "the connection still delivers a result: read it to its end, drop it, or open a second connection",
                    ));
                }
                State::Busy(_) => {
                    drop(self.changed.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner));
                    // It may wait for a lock whose holder asks for the state.
                    if !keep() {
                        return Err(no_item(&NoItem::Interrupted).with_origin(&self.name));
                    }
                    state = self.state();
                }
                State::Idle(_, last) => {
                    let number = last + 1;
                    if let State::Idle(database, _) = std::mem::replace(&mut *state, State::Busy(number)) {
                        database.arm();
                        return Ok((database, Lease { shared: self.clone(), number }));
                    }
                }
            }
        }
    }

    /// The next event of the thread, or `None` if it has ended. If the caller interrupts, the thread is stopped.
    fn wait<T>(
        &self,
        answer: &Receiver<T>,
        canceller: &Canceller,
        keep: ContinueCheck<'_>,
    ) -> Result<Option<T>, Error> {
        match feed::receive(answer, keep) {
            Ok(answer) => Ok(Some(answer)),
            Err(NoItem::Gone) => Ok(None),
            Err(NoItem::Interrupted) => {
                produced::stop(answer, canceller, |_| true)?;
                Err(no_item(&NoItem::Interrupted).with_origin(&self.name))
            }
        }
    }

    fn unavailable(&self, message: &str) -> Error {
        Error::new(ErrorKind::Unavailable, message).with_origin(&self.name)
    }
}

/// A thread's right to use the database. If it is lost, the connection is closed.
struct Lease {
    shared: Arc<Shared>,
    number: u64,
}

impl Lease {
    fn canceller(&self) -> Canceller {
        Canceller { shared: self.shared.clone(), number: Some(self.number) }
    }

    /// Releases the database for the next query.
    fn give_back(self, database: Database) {
        let mut state = self.shared.state();
        if let State::Busy(_) = *state {
            *state = State::Idle(database, self.number);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        // After `give_back`, another thread may have begun the next query.
        if matches!(*state, State::Busy(running) if running == self.number) {
            *state = State::Closed;
        }
        drop(state);
        self.shared.changed.notify_all();
    }
}

/// Cancels the query with this number, or any query, and those of siblings.
struct Canceller {
    shared: Arc<Shared>,
    number: Option<u64>,
}

impl Cancel for Canceller {
    fn cancel(&self) -> Result<(), Error> {
        // The lock is held, so that the interrupt cannot reach the next query.
        let state = self.shared.state();
        if matches!(*state, State::Busy(running) if self.number.is_none_or(|number| number == running)) {
            self.shared.interrupt.stop();
        }
        drop(state);
        match self.number {
            Some(_) => Ok(()),
            None => {
                if let Some(writer) = &*self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner) {
                    writer.stop();
                }
                self.shared.siblings.cancel()
            }
        }
    }
}

fn no_item(reason: &NoItem) -> Error {
    match reason {
        NoItem::Interrupted => Error::new(ErrorKind::Interrupted, "interrupted"),
        NoItem::Gone => Error::new(ErrorKind::ConnectionLost, "the thread that runs the query died"),
    }
}
