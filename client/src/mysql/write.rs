//! Writes into a table of MySQL or MariaDB, by LOAD DATA LOCAL of a file that is the stream of rows, or by INSERT where
//! the server has switched that off.
//! <https://dev.mysql.com/doc/refman/8.4/en/load-data.html>, <https://mariadb.com/kb/en/load-data-infile/>
//!
//! This thread converts values to text. The connection's thread runs the statements and sends. The socket limits it,
//! and a short queue between both limits this one, so memory does not grow with the rows.

mod check;
mod column_type;
mod digits;
mod merge;
mod moment;
mod number;
mod row_encoder;
mod settings;
mod sweep;
mod table;
mod target_table;
mod transfer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use self::row_encoder::{RowEncoder, Syntax, WrittenColumn};
use self::settings::SessionSettings;
use self::table::quoted;
use self::target_table::TargetTable;
use self::transfer::{RowStatement, Transfer, gone};
use super::connection::{Mysql, MysqlConnection};
use super::server_connection::ServerConnection;
use crate::shared_connection::{AnswerError, AnswerOutcome, Event, Tick, died};
use crate::write::kind::ColumnMeaning;
use crate::write::queue::StepQueue;
use crate::write::{BLOCK, TableWriter, WAITING, WriteTarget, Writing};
use crate::{Connection, ContinueCheck, Error, ErrorKind};

/// ER_DUP_ENTRY
const DUPLICATE: i32 = 1062;

/// What is known before the table is.
struct WritePlan {
    target: WriteTarget,
    columns: Vec<(String, ColumnMeaning)>,
    /// Whether the writer was interrupted or is gone, so that nothing may be committed any more.
    abandoned: Arc<AtomicBool>,
    /// Whether the user has cancelled the write.
    is_cancelled: Box<dyn Fn() -> bool + Send>,
}

impl WritePlan {
    fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }
}

/// The server's software, on which types depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ServerFamily {
    is_mariadb: bool,
    version: (u32, u32),
}

impl ServerFamily {
    /// Of a name and a version, as in `MariaDB 10.11.6`.
    fn of(software: &str) -> Self {
        let (family, version) = software.split_once(' ').unwrap_or((software, ""));
        let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        Self { is_mariadb: family == "MariaDB", version }
    }

    fn is_mariadb(self) -> bool {
        self.is_mariadb
    }

    /// The most digits of a DECIMAL after the point.
    fn max_scale(self) -> u8 {
        if self.is_mariadb && self.version >= (10, 3) { 38 } else { 30 }
    }

    fn has_uuid(self) -> bool {
        self.is_mariadb && self.version >= (10, 7)
    }

    /// Whether GET DIAGNOSTICS has the number of the row.
    fn counts_rows(self) -> bool {
        self.is_mariadb && self.version >= (10, 7)
    }

    /// The collation in which only equal texts are equal, also with spaces at the end.
    fn exact_collation(self) -> Option<&'static str> {
        match self.is_mariadb {
            true => Some("utf8mb4_nopad_bin"),
            false => (self.version >= (8, 0)).then_some("utf8mb4_0900_bin"),
        }
    }
}

/// What the writer has for the thread. If the writer is gone, the thread undoes everything.
enum Step {
    /// Rows as text, and their number.
    Rows(Vec<u8>, u64),
    Finish,
}

/// What the thread has for the writer.
enum Progress {
    /// The table is ready for such rows, in blocks of at most so many bytes, unless a row is longer.
    Ready(Vec<WrittenColumn>, Syntax, usize),
    /// A block was taken out of the queue.
    Taken,
}

impl Writing for MysqlConnection {
    fn begin(
        &self,
        target: &WriteTarget,
        schema: &SchemaRef,
        keep: ContinueCheck<'_>,
    ) -> Result<Box<dyn TableWriter>, Error> {
        let columns = schema.fields().iter().map(|field| Ok((field.name().clone(), ColumnMeaning::of(field)?)));
        let columns: Vec<_> = columns.collect::<Result<_, Error>>()?;
        let abandoned = Arc::<AtomicBool>::default();
        let session = self.session.clone();
        let is_cancelled = Box::new(move || session.is_cancelled());
        let plan = WritePlan { target: target.clone(), columns, abandoned: abandoned.clone(), is_cancelled };
        let (steps, taken) = sync_channel(WAITING + 1);
        let (status, server) = (self.status.clone(), self.session.peer.target.clone());
        let mut events = self.session.start(keep, move |connection, tick, tell| {
            let outcome = run(connection, tick, &plan, &server, &taken, tell)?;
            connection.check_state(&mut || Ok(()))?;
            status.store(connection.status, Ordering::Release);
            Ok(outcome)
        })?;
        let Some(Event::Part(Progress::Ready(columns, syntax, block))) = events.next(keep)? else {
            return Err(died().with_origin(self.name()));
        };
        let encoder = RowEncoder::new(columns, syntax);
        Ok(Box::new(MysqlWriter { queue: StepQueue::new(events, steps, abandoned), encoder, block }))
    }
}

/// Writes all rows, or undoes everything.
fn run(
    connection: &mut ServerConnection,
    tick: Tick<'_>,
    plan: &WritePlan,
    server: &super::uri::Target,
    steps: &Receiver<Step>,
    tell: &mut dyn FnMut(Progress),
) -> AnswerOutcome {
    let family = ServerFamily::of(&connection.server.software);
    let thread = connection.server.thread;
    let mut transfer = Transfer { connection, tick, counts_rows: family.counts_rows(), max_packet: usize::MAX };
    let mut settings = match SessionSettings::enter(&mut transfer) {
        Ok(settings) => settings,
        Err(AnswerError::Refused(error)) => return Ok(Err(error)),
        Err(AnswerError::Lost(error)) => return Err(error),
    };
    transfer.max_packet = settings.max_packet;
    let mut target = match TargetTable::find(&mut transfer, plan, &settings) {
        Ok(target) => target,
        Err(AnswerError::Lost(error)) => return Err(error),
        Err(AnswerError::Refused(error)) => return left(&settings, &mut transfer, Err(error)),
    };
    let result = match write(&mut transfer, plan, &mut settings, &mut target, family, steps, tell) {
        Ok(rows) => Ok(Some(rows)),
        Err(AnswerError::Refused(error)) => {
            let undone = target.undo(&mut transfer, error);
            Err(undone.map_err(|lost| sweep::after(lost, &target, server, thread))?)
        }
        Err(AnswerError::Lost(lost)) => return Err(sweep::after(lost, &target, server, thread)),
    };
    left(&settings, &mut transfer, result)
}

/// Sets the user's settings again.
fn left(settings: &SessionSettings, transfer: &mut Transfer<'_>, result: Result<Option<u64>, Error>) -> AnswerOutcome {
    match settings.leave(transfer) {
        Ok(()) => Ok(result),
        Err(AnswerError::Refused(cause) | AnswerError::Lost(cause)) => match result {
            // The rows are stored. The session has other settings, so nobody may use it.
            Ok(rows) => {
                transfer.connection.incoming.socket().shutdown();
                Ok(Ok(rows))
            }
            Err(error) => Err(error.with_cause(cause)),
        },
    }
}

fn write(
    transfer: &mut Transfer<'_>,
    plan: &WritePlan,
    settings: &mut SessionSettings,
    target: &mut TargetTable,
    family: ServerFamily,
    steps: &Receiver<Step>,
    tell: &mut dyn FnMut(Progress),
) -> Result<u64, AnswerError> {
    let columns = target.begin(transfer, plan, family)?;
    if columns.iter().any(|column| matches!(column.to, column_type::ColumnType::Timestamp(_))) {
        settings.use_utc(transfer)?;
    }
    if plan.is_abandoned() {
        return Err(AnswerError::Refused(gone()));
    }
    let table = target.table();
    let (statement, syntax) = match settings.local_infile {
        true => {
            let name = table::random_name()?;
            (RowStatement::Load(load(&table, &columns, &name), name), Syntax::Load)
        }
        false => (RowStatement::Insert(insert(&table, &columns)), Syntax::Insert),
    };
    tell(Progress::Ready(columns, syntax, BLOCK.min(settings.max_packet / 2)));
    let rows = transfer.rows(&statement, plan, steps, tell).map_err(|error| repeated_key(error, plan))?;
    target.finish(transfer, plan, rows)?;
    Ok(rows)
}

/// The error of a key that two rows of the data have: the table that receives them has no other rows.
fn repeated_key(error: AnswerError, plan: &WritePlan) -> AnswerError {
    match error {
        AnswerError::Refused(error) if error.code() == Some(DUPLICATE) && !plan.target.key.is_empty() => {
            let names: Vec<_> = plan.target.key.iter().map(|name| quoted(name)).collect();
            let message = format!("two rows of the data have the same key ({}): {}", names.join(", "), error.message());
            let made = Error::new(ErrorKind::Database, message).with_sqlstate("21000");
            let made = made.with_detail(error.detail().map(str::to_owned));
            let hint = "an upsert takes one row for each key: drop or aggregate the others before";
            AnswerError::Refused(made.with_hint(hint).with_cause(error))
        }
        error => error,
    }
}

/// LOAD DATA's statement. A text that the server must convert goes through a variable.
fn load(table: &str, columns: &[WrittenColumn], name: &str) -> String {
    let (mut fields, mut conversions) = (Vec::new(), Vec::new());
    for (place, column) in columns.iter().enumerate() {
        let quoted = quoted(&column.name);
        if column.to.is_converted() {
            fields.push(format!("@colonnade_{place}"));
            conversions.push(format!("{quoted} = CONVERT(@colonnade_{place} USING utf8mb4)"));
        } else {
            fields.push(quoted);
        }
    }
    let set = if conversions.is_empty() { String::new() } else { format!(" SET {}", conversions.join(", ")) };
    format!(
        "LOAD DATA LOCAL INFILE '{name}' INTO TABLE {table} CHARACTER SET binary FIELDS TERMINATED BY '\\t' \
         ENCLOSED BY '' ESCAPED BY '\\\\' LINES STARTING BY '' TERMINATED BY '\\n' ({}){set}",
        fields.join(", ")
    )
}

/// The beginning of INSERT.
fn insert(table: &str, columns: &[WrittenColumn]) -> String {
    let names: Vec<_> = columns.iter().map(|column| quoted(&column.name)).collect();
    format!("INSERT INTO {table} ({}) VALUES ", names.join(", "))
}

/// Dropping it stops the connection's thread, which undoes everything.
struct MysqlWriter {
    queue: StepQueue<Mysql, Progress, Step>,
    encoder: RowEncoder,
    /// The bytes from which on a block is sent.
    block: usize,
}

impl MysqlWriter {
    fn send_block(&mut self, keep: ContinueCheck<'_>) -> Result<(), Error> {
        let (block, rows) = self.encoder.take();
        self.queue.send(Step::Rows(block, rows), keep)
    }
}

impl TableWriter for MysqlWriter {
    fn write(&mut self, batch: &RecordBatch, keep: ContinueCheck<'_>) -> Result<(), Error> {
        let columns = self.encoder.columns(batch)?;
        for row in 0..batch.num_rows() {
            self.encoder.push(&columns, row)?;
            if self.encoder.len() >= self.block {
                self.send_block(keep)?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, keep: ContinueCheck<'_>) -> Result<u64, Error> {
        if self.encoder.len() > 0 {
            self.send_block(keep)?;
        }
        Ok(self.queue.finish(Step::Finish, keep)?.unwrap_or_default())
    }
}

impl Drop for MysqlWriter {
    fn drop(&mut self) {
        // Afterwards the table that was being filled is gone.
        self.queue.stop_and_wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_its_limits() {
        let old = ServerFamily::of("MySQL 5.7.44");
        assert_eq!((old.max_scale(), old.has_uuid(), old.exact_collation()), (30, false, None));
        let new = ServerFamily::of("MariaDB 10.11.19");
        assert_eq!((new.max_scale(), new.has_uuid(), new.counts_rows()), (38, true, true));
        assert_eq!(ServerFamily::of("MySQL 8.4.0").exact_collation(), Some("utf8mb4_0900_bin"));
    }
}
