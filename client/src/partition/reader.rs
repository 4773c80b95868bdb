//! Reads the parts: one thread for each, one queue, one result.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use arrow_schema::SchemaRef;
use colonnade_sql::tokens;

use super::agreement::{Agreement, different, fitted};
use super::{PartSupport, PartitionSplit, key, text};
use crate::feed::{self, NoItem};
use crate::stats::Meter;
use crate::{Batch, Connection, ContinueCheck, Error, ErrorKind, QueryOptions, ResultStream, Stats};

/// The decoded batches in the queue for each thread.
const QUEUE_DEPTH: usize = 2;

/// Reads `query` in parts. Rows come as they arrive; [`Batch::part`] gives their order. `setup` runs on each
/// connection before. `query` has no parameters left.
///
/// # Errors
/// The source cannot do this, and the message says why. Otherwise as for [`Connection::query`].
pub fn read(
    connection: &dyn Connection,
    query: &str,
    split: &PartitionSplit,
    setup: &[String],
    options: &QueryOptions,
    keep: ContinueCheck<'_>,
) -> Result<Box<dyn ResultStream>, Error> {
    let source = match connection.partitioning() {
        _ if split.count <= 1 => return whole(connection, query, split, options, keep),
        PartSupport::OneStream => return whole(connection, query, split, options, keep),
        PartSupport::Nothing => {
            return Err(Error::new(ErrorKind::Unsupported, "this source cannot be read in parts")
                .with_hint("leave partition_num out, or give a list of queries")
                .with_origin(connection.name()));
        }
        PartSupport::Parts(source) => source,
    };
    let located = |error: Error| error.with_origin(connection.name());
    let siblings = source.siblings(split.count, setup, split.consistent, keep).map_err(located)?;
    let Some(PartSupport::Parts(first)) = siblings.first().map(|first| first.partitioning()) else {
        return Err(located(Error::new(ErrorKind::Unsupported, "no connection is left to read parts with")));
    };
    let queries = first.parts(query, split, keep).map_err(located)?;
    let by_values =
        !options.stored_dates.by_values.is_empty() || first.has_types_by_values(query, keep).map_err(located)?;
    let agreement = by_values.then(|| Agreement::new(queries.len()));
    Ok(Box::new(Parts::open(siblings, queries, agreement, options, keep)?))
}

/// Reads the query in one stream. A key that is not a column is refused too.
fn whole(
    connection: &dyn Connection,
    query: &str,
    split: &PartitionSplit,
    options: &QueryOptions,
    keep: ContinueCheck<'_>,
) -> Result<Box<dyn ResultStream>, Error> {
    let stream = connection.query(query.into(), options, keep)?;
    if let Some(key) = &split.key {
        let same = |name: &str, key: &str| name.to_lowercase() == key.to_lowercase();
        key::known(stream.schema().fields(), key, |field| field.name(), same)
            .map_err(|error| error.with_origin(connection.name()))?;
    }
    Ok(stream)
}

/// Reads several queries with the same columns as the parts of one result, `at_once` of them at the same time. All see
/// one state of the database. `None` if the source cannot do this, or if a query does not only read. Then they must be
/// read one after another.
///
/// # Errors
/// As for [`Connection::query`]; the queries have different columns.
pub fn read_each(
    connection: &dyn Connection,
    queries: Vec<String>,
    at_once: usize,
    setup: &[String],
    options: &QueryOptions,
    keep: ContinueCheck<'_>,
) -> Result<Option<Box<dyn ResultStream>>, Error> {
    let PartSupport::Parts(source) = connection.partitioning() else { return Ok(None) };
    let at_once = at_once.min(queries.len());
    if at_once <= 1 || !queries.iter().all(|query| text::reads(tokens(query, connection.dialect()))) {
        return Ok(None);
    }
    let opened = source.siblings(at_once, setup, true, keep).and_then(|siblings| {
        if let Some(PartSupport::Parts(first)) = siblings.first().map(|first| first.partitioning()) {
            queries.iter().try_for_each(|query| first.covers(query, keep))?;
        }
        Ok(siblings)
    });
    match opened {
        Ok(siblings) => Ok(Some(Box::new(Parts::open(siblings, queries, None, options, keep)?))),
        // The queries can be read one after another instead. SQLSTATE class 53 means that a resource is exhausted.
        Err(error)
            if error.kind() == ErrorKind::Unsupported
                || error.sqlstate().is_some_and(|code| code.starts_with("53")) =>
        {
            Ok(None)
        }
        Err(error) => Err(error.with_origin(connection.name())),
    }
}

/// The events of a part.
enum Event {
    /// It has been opened.
    Opened,
    /// Decoded rows, and the cost so far.
    Batch(Batch, Stats),
    /// It was read to its end.
    Ended(usize, Stats),
    Failed(Error),
}

/// The state that the threads and the reader share.
struct Shared {
    /// The parts that no thread has begun.
    waiting: Mutex<VecDeque<(usize, String)>>,
    /// The columns of the part that was opened first, or the common columns.
    schema: OnceLock<SchemaRef>,
    /// For parts that may have different types. Each has its own connection.
    agreement: Option<Agreement>,
    /// Set when the reader stops.
    stop: AtomicBool,
    options: QueryOptions,
}

/// The parts of a result as one.
struct Parts {
    shared: Arc<Shared>,
    schema: SchemaRef,
    /// `None` once all is read, or one part has failed.
    events: Option<Receiver<Event>>,
    threads: Vec<JoinHandle<()>>,
    /// All connections stay open until the end: the connection that holds the common state must outlive its own part.
    _connections: Vec<Arc<dyn Connection>>,
    /// What each part has cost.
    costs: Vec<Stats>,
    /// Parts that have not ended.
    left: usize,
    meter: Meter,
    name: String,
}

impl Parts {
    /// Starts reading, and waits until the columns of a part are known.
    fn open(
        mut connections: Vec<Arc<dyn Connection>>,
        queries: Vec<String>,
        agreement: Option<Agreement>,
        options: &QueryOptions,
        keep: ContinueCheck<'_>,
    ) -> Result<Self, Error> {
        let left = queries.len();
        connections.truncate(left);
        let (sender, events) = sync_channel(QUEUE_DEPTH * connections.len());
        let mut queries = queries.into_iter().enumerate();
        // Every connection starts at once, so that all hold the locks that keep the tables unchanged.
        let begun: Vec<_> = queries.by_ref().take(connections.len()).collect();
        let shared = Arc::new(Shared {
            waiting: Mutex::new(queries.collect()),
            schema: OnceLock::new(),
            agreement,
            stop: AtomicBool::new(false),
            options: options.clone(),
        });
        let mut parts = Self {
            shared: shared.clone(),
            schema: SchemaRef::new(arrow_schema::Schema::empty()),
            events: Some(events),
            threads: Vec::with_capacity(connections.len()),
            costs: vec![Stats::default(); left],
            left,
            meter: Meter::start(),
            name: connections.first().map_or_else(String::new, |first| first.name().to_owned()),
            _connections: connections.clone(),
        };
        for (connection, first) in connections.into_iter().zip(begun) {
            let (shared, sender) = (shared.clone(), sender.clone());
            let work = move || pull(&*connection, first, &shared, &sender);
            let thread = feed::spawn("colonnade-part", work).map_err(|error| parts.give_up(error))?;
            parts.threads.push(thread);
        }
        drop(sender);
        // The first event of any part.
        parts.event(keep)?;
        match shared.schema.get() {
            Some(schema) => parts.schema = schema.clone(),
            None => return Err(parts.give_up(Error::new(ErrorKind::ConnectionLost, "a reading thread died"))),
        }
        parts.meter.schema(parts.schema.fields().len());
        Ok(parts)
    }

    /// The next event of a thread; `None` at the end.
    fn event(&mut self, keep: ContinueCheck<'_>) -> Result<Option<Event>, Error> {
        let Some(events) = &self.events else { return Ok(None) };
        match feed::receive(events, keep) {
            Ok(Event::Failed(error)) => Err(self.give_up(error)),
            Ok(event) => Ok(Some(event)),
            Err(NoItem::Gone) => Err(self.give_up(Error::new(ErrorKind::ConnectionLost, "a reading thread died"))),
            Err(NoItem::Interrupted) => Err(self.give_up(Error::new(ErrorKind::Interrupted, "interrupted"))),
        }
    }

    /// Cancels all parts and waits until they have stopped.
    fn give_up(&mut self, error: Error) -> Error {
        self.shared.stop.store(true, Ordering::Release);
        // This wakes a thread that waits for space in the queue.
        self.events = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked has also ended.
            let _ = thread.join();
        }
        self.meter.end();
        error.with_origin(&self.name)
    }
}

impl ResultStream for Parts {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self, keep: ContinueCheck<'_>) -> Result<Option<Batch>, Error> {
        while self.left > 0 {
            match self.event(keep)? {
                Some(Event::Batch(batch, cost)) => {
                    self.costs[batch.part()] = cost;
                    return Ok(Some(batch));
                }
                Some(Event::Ended(part, cost)) => {
                    self.costs[part] = cost;
                    self.left -= 1;
                }
                Some(_) => {}
                None => return Ok(None),
            }
        }
        self.events = None;
        self.meter.end();
        Ok(None)
    }

    fn stats(&self) -> Stats {
        let mut stats = self.meter.stats();
        self.costs.iter().for_each(|cost| stats.add(cost));
        stats
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        // The threads notice this and cancel.
        self.shared.stop.store(true, Ordering::Release);
    }
}

/// Reads one part, and then further waiting parts. This is the whole work of a thread.
fn pull(connection: &dyn Connection, first: (usize, String), shared: &Shared, events: &SyncSender<Event>) {
    let mut next = Some(first);
    while let Some((part, query)) = next {
        if let Err(error) = pull_part(connection, shared, events, part, &query) {
            // The thread that stopped the others has reported the reason.
            if !shared.stop.swap(true, Ordering::AcqRel) {
                let _ = events.send(Event::Failed(error));
            }
            return;
        }
        next = shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    }
}

fn pull_part(
    connection: &dyn Connection,
    shared: &Shared,
    events: &SyncSender<Event>,
    part: usize,
    query: &str,
) -> Result<(), Error> {
    let mut keep = || !shared.stop.load(Ordering::Acquire);
    let mut stream = connection.query(query.into(), &shared.options, &mut keep)?;
    let own = stream.schema().clone();
    let agreed = match &shared.agreement {
        Some(agreement) => agreement.join(&own, &mut keep)?,
        None => own.clone(),
    };
    let schema = shared.schema.get_or_init(|| agreed).clone();
    if own != schema && shared.agreement.is_none() {
        return Err(different(&schema, &own));
    }
    let tell = |event| events.send(event).map_err(|_| Error::new(ErrorKind::Interrupted, "interrupted"));
    tell(Event::Opened)?;
    while let Some(batch) = stream.next(&mut keep)? {
        let batch = Batch::from(fitted(batch.decode()?, &schema)?).of_part(part);
        if let Err(gone) = tell(Event::Batch(batch, stream.stats())) {
            // Cancels, and waits for the end.
            let _ = stream.next(&mut || false);
            return Err(gone);
        }
    }
    tell(Event::Ended(part, stream.stats()))
}
