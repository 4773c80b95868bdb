//! One client's session: its queries one after the other, each answered before the next is read.

use std::sync::Arc;

use colonnade_wire::LinkEstimate;

use crate::cancel::{Control, Running};
use crate::certain;
use crate::copy::{self, Context, Copy, Parsed, options::Format};
use crate::duckdb;
use crate::engine::{Answer, BatchSize, Dialect, EngineError, Parameter, Rows, Session as EngineSession};
use crate::error::{Failure, SqlState};
use crate::extended::{Prepared, Step};
use crate::input::Input;
use crate::message::ProtocolError;
use crate::message::backend::{self, Report, Status};
use crate::message::frontend::{Message, Phase, Target};
use crate::query::{self, Statement, StatementKind};
use crate::rows::{self, Cursor, Formats, Sent};
use crate::settings::{self, Command, Settings};
use crate::socket::Output;
use crate::source;

/// The size of batches where the client does not say: small enough to come soon, large enough to be worth it.
pub const BATCH: BatchSize = BatchSize { rows: 16_384, bytes: 4 << 20 };

/// A session after its start-up.
pub struct Session {
    pub input: Input,
    pub output: Output,
    pub engine: Box<dyn EngineSession>,
    pub control: Arc<Control>,
    pub status: Status,
    pub prepared: Prepared,
    pub settings: Settings,
    /// Whose SQL the client was told that this is, if it is not this server's own.
    pub dialect: &'static str,
    /// The time zone that the client was told of, if a source has one.
    pub time_zone: String,
    pub encode_cpu: f64,
    /// What earlier results have measured of the link.
    pub link_estimate: Option<LinkEstimate>,
}

/// What a statement of the engine's came to.
pub enum Outcome {
    /// Rows to send.
    Rows(Cursor),
    /// Nothing but, maybe, a number of rows that were changed.
    Done(Option<u64>),
}

/// A message, without what it borrows.
pub enum Request {
    Query(String),
    Extended(Step),
    FunctionCall,
    Sync,
    Flush,
    Ignored,
    Terminate,
    Unexpected(char),
}

impl Session {
    /// Sets what the start-up has `given`, and answers until the client says good-bye, or is gone. The client knows the session as
    /// `process`.
    pub fn run(mut self, given: &[(String, String)], process: i32) {
        let begun = self.introduce(process).and_then(|()| self.set_given(given));
        if let Err(failure) = begun.and_then(|()| self.converse()) {
            // What is fatal is told if anybody is left to hear it.
            self.report(&failure, "FATAL", None);
            let _ = self.output.flush();
        }
    }

    /// Tells the engine what `pg_backend_pid()` is to say (`_catalog_functions.sql`).
    fn introduce(&mut self, process: i32) -> Result<(), Failure> {
        match self.engine.dialect() {
            Dialect::DuckDb => self.run_plain(&format!("SET VARIABLE colonnade_process = {process}")),
            _ => Ok(()),
        }
    }

    fn converse(&mut self) -> Result<(), Failure> {
        // After an error in the extended protocol everything up to Sync is passed over.
        let mut is_skipping = false;
        self.ready()?;
        while let Some(request) = self.input.message(Phase::Ready, request)? {
            if !is_skipping && let Err(failure) = self.end_wait_for_columns(&request) {
                is_skipping = true;
                self.fail(&failure, None);
                self.abandon_pipeline()?;
            }
            match request {
                Request::Terminate => return Ok(()),
                Request::Sync => {
                    is_skipping = false;
                    self.end_pipeline()?;
                    self.ready()?;
                }
                _ if is_skipping => {}
                Request::Query(sql) => {
                    self.end_pipeline()?;
                    self.prepared.forget_unnamed();
                    match self.control.budget.charge(sql.len()) {
                        Ok(_message) => self.query(&sql)?,
                        Err(limit) => self.fail(&limit.into(), None),
                    }
                    self.ready()?;
                }
                Request::Extended(step) => match self.step(&step) {
                    Ok(()) => self.output.flush_if_full()?,
                    Err(failure) if failure.is_fatal() => return Err(failure),
                    Err(failure) => {
                        is_skipping = true;
                        self.fail(&failure, step.place());
                        self.abandon_pipeline()?;
                        // As PostgreSQL does: a client may wait for it before it sends Sync.
                        self.output.flush()?;
                    }
                },
                Request::FunctionCall => {
                    self.fail(&Failure::NotSupported("the function call protocol"), None);
                    self.ready()?;
                }
                Request::Flush => self.output.flush()?,
                Request::Ignored => {}
                Request::Unexpected(kind) => return Err(ProtocolError::Unexpected(kind).into()),
            }
        }
        // The client has hung up, or somebody else has ended the reading and says why.
        self.control.check()
    }

    fn ready(&mut self) -> Result<(), Failure> {
        self.follow();
        if !self.engine.is_open() {
            return Err(Failure::SourceLost);
        }
        backend::ready_for_query(self.output.buffer(), self.status);
        // First, since the client may act on it sooner than this thread goes on.
        self.control.wait(self.is_in_transaction());
        self.output.flush()?;
        self.output.socket().rests();
        Ok(())
    }

    /// Runs a query string: its statements, up to the first that fails.
    fn query(&mut self, sql: &str) -> Result<(), Failure> {
        let statements = match self.engine.dialect() {
            Dialect::DuckDb => query::split(sql),
            dialect => match certain::split(sql, dialect) {
                Ok(statements) => statements,
                Err(failure) => {
                    self.fail(&failure, None);
                    return Ok(());
                }
            },
        };
        if statements.is_empty() {
            backend::empty_query(self.output.buffer());
            return Ok(());
        }
        self.begin_implicitly(&statements)?;
        for statement in &statements {
            match self.statement(statement, None) {
                // Their answers are not gathered without bound.
                Ok(()) => self.output.flush_if_full()?,
                Err(failure) if failure.is_fatal() => return Err(failure),
                Err(failure) => {
                    self.fail(&failure, Some((sql, statement.start)));
                    return self.abandon_pipeline();
                }
            }
        }
        self.end_pipeline()?;
        Ok(())
    }

    /// Runs a statement of the session's own.
    pub fn run_plain(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.engine()?.execute(text, &[], BATCH).map(drop)?)
    }

    /// The engine, free to run a statement.
    pub fn engine(&mut self) -> Result<&mut dyn EngineSession, Failure> {
        self.prepared.set_portals_aside(&self.control)?;
        Ok(self.engine.as_mut())
    }

    /// Runs one statement, and describes the columns it gives unless that is done.
    pub fn statement(&mut self, statement: &Statement<'_>, described: Option<Target>) -> Result<(), Failure> {
        let text = statement.text;
        self.control.runs(text);
        if self.engine.dialect() != Dialect::DuckDb {
            return self.pass(text, described);
        }
        let kind = query::kind(text);
        self.check_transaction(kind)?;
        match kind {
            StatementKind::Begin | StatementKind::Commit | StatementKind::Rollback => self.transaction(text, kind),
            StatementKind::Copy => match copy::parse(text)? {
                Parsed::ToStdout(copy) => self.copy(text, &copy),
                Parsed::FromStdin(copy) => self.copy_in(&copy),
                Parsed::Engine => self.execute(text),
            },
            // What was not prepared through the protocol was prepared with PREPARE, in the engine.
            StatementKind::Deallocate if query::is_discard(text) => {
                if self.is_in_transaction() {
                    return Err(EngineError::new(
                        SqlState::ACTIVE_SQL_TRANSACTION,
                        "DISCARD ALL cannot run inside a transaction block",
                    )
                    .into());
                }
                self.prepared.deallocate(None);
                self.configure(text, Command::ResetAll, described)
            }
            StatementKind::Deallocate if self.prepared.deallocate(query::deallocated(text).as_deref()) => {
                backend::command_complete(self.output.buffer(), &query::tag(text, None, None));
                Ok(())
            }
            StatementKind::Setting => match settings::command(text) {
                Some(command) => self.configure(text, command, described),
                None => self.execute(text),
            },
            StatementKind::Discard => {
                backend::command_complete(self.output.buffer(), &query::tag(text, None, None));
                Ok(())
            }
            StatementKind::Notification => Err(Failure::NotSupported("LISTEN or NOTIFY")),
            StatementKind::Savepoint => self.savepoint(text),
            StatementKind::Cursor => self.cursors(text),
            StatementKind::Numbered => self.create_numbered(text),
            StatementKind::Deallocate | StatementKind::Alone | StatementKind::Other => self.execute(text),
        }
    }

    pub fn is_in_transaction(&self) -> bool {
        self.status != Status::Idle
    }

    /// In a failed transaction only its end is possible.
    pub fn check_transaction(&self, kind: StatementKind) -> Result<(), Failure> {
        // What savepoints can do then, they know themselves.
        let is_end = matches!(kind, StatementKind::Commit | StatementKind::Rollback | StatementKind::Savepoint)
            // A source knows by itself what it does then.
            || self.engine.dialect() != Dialect::DuckDb;
        if self.status == Status::Failed && !is_end { Err(Failure::AbortedTransaction) } else { Ok(()) }
    }

    /// Lets others stop what runs from here on.
    pub fn start(&self) -> Result<Running, Failure> {
        let running = self.control.start();
        self.control.check()?;
        Ok(running)
    }

    /// Runs a statement of the engine's, and sends what it gives.
    pub fn execute(&mut self, text: &str) -> Result<(), Failure> {
        let _running = self.start()?;
        let formats = Formats::default();
        let tag = match self.run_engine(text, &[], &formats)? {
            Outcome::Rows(mut cursor) => {
                cursor.describe(self.output.buffer(), &formats);
                let (Sent::All(sent) | Sent::Some(sent)) =
                    cursor.send(&mut self.output, &self.control, &formats, None)?;
                query::tag(text, Some(sent), None)
            }
            Outcome::Done(changed) => query::tag(text, None, changed),
        };
        backend::command_complete(self.output.buffer(), &tag);
        Ok(())
    }

    /// Has the engine run a statement; its rows are to be read.
    pub fn run_engine(&mut self, text: &str, values: &[Parameter], formats: &Formats) -> Result<Outcome, Failure> {
        Ok(match self.answer(text, values, BATCH)? {
            Answer::Rows(rows) => Outcome::Rows(Cursor::new(rows, formats)?),
            Answer::Done { changed } => Outcome::Done(changed),
        })
    }

    /// Runs COPY … TO STDOUT.
    pub fn copy(&mut self, text: &str, copy: &Copy) -> Result<(), Failure> {
        // What SHOW tells of this session's settings, the engine does not know.
        let listing = match source::kept(&copy.query, self.engine.dialect()) {
            Some(command) => self.listing(&command)?,
            None => None,
        };
        let _running = self.start()?;
        // A batch becomes a chunk where the engine manages to keep to its size.
        let options = &copy.options.colonnade;
        let size = match copy.options.format {
            Format::Colonnade => BatchSize { rows: options.chunk_rows, bytes: options.chunk_bytes },
            _ => BATCH,
        };
        let placed = |failure| match (failure, copy.query_start) {
            (Failure::Engine(mut error), Some(start)) => {
                error.position = error.position.map(|position| text[..start].chars().count() + position);
                Failure::Engine(error)
            }
            (Failure::Engine(error), None) => Failure::Engine(EngineError { position: None, ..error }),
            (failure, _) => failure,
        };
        let rows = match listing {
            Some(listing) => listing.into_rows()?,
            None => self.checked_rows(copy, size).map_err(placed)?,
        };
        let context = Context {
            output: &mut self.output,
            control: &self.control,
            encode_cpu: self.encode_cpu,
            link_estimate: &mut self.link_estimate,
            rows,
        };
        let rows = copy::copy_out(context, &copy.options)?;
        backend::command_complete(self.output.buffer(), &format!("COPY {rows}"));
        Ok(())
    }

    /// The rows of COPY's query, which does not run if its columns do not fit the format.
    fn checked_rows(&mut self, copy: &Copy, size: BatchSize) -> Result<Box<dyn Rows>, Failure> {
        if let Some(columns) = self.answered(&copy.query, |engine, text| engine.preview(text))? {
            copy::check(columns.as_ref(), &copy.options)?;
        }
        match self.query_answer(&copy.query, &[], size)? {
            Answer::Rows(rows) => Ok(rows),
            Answer::Done { .. } => Err(EngineError::no_rows().into()),
        }
    }

    /// Has the engine run a statement of the client's.
    pub fn answer(&mut self, text: &str, values: &[Parameter], size: BatchSize) -> Result<Answer, Failure> {
        self.answered(text, |engine, text| engine.execute(text, values, size))
    }

    /// The same for one that must give rows.
    pub fn query_answer(&mut self, text: &str, values: &[Parameter], size: BatchSize) -> Result<Answer, Failure> {
        self.answered(text, |engine, text| engine.query(text, values, size))
    }

    fn answered<T>(
        &mut self,
        text: &str,
        run: impl FnOnce(&mut dyn EngineSession, &str) -> Result<T, EngineError>,
    ) -> Result<T, Failure> {
        self.prepared.savepoints.note(text);
        let dialect = self.engine.dialect();
        let text = if dialect == Dialect::DuckDb { duckdb::statement(text) } else { text.to_owned() };
        let answer = run(self.engine()?, &text);
        answer.map_err(|error| rows::interrupted(&self.control, source::explained(error, &text, dialect)))
    }

    /// Tells the client that its statement failed, and remembers that its transaction did.
    pub fn fail(&mut self, failure: &Failure, place: Option<(&str, usize)>) {
        self.report(failure, "ERROR", place);
        if self.status == Status::InTransaction {
            self.status = Status::Failed;
        }
    }

    /// `place` is the query string and where, in bytes, the statement starts in it.
    fn report(&mut self, failure: &Failure, severity: &str, place: Option<(&str, usize)>) {
        self.control.failed(failure);
        let (code, message, detail, hint) = (failure.code(), failure.to_string(), failure.detail(), failure.hint());
        let position = failure.position().zip(place).map(|(position, (sql, start))| {
            // From 1, in characters of the whole query string.
            sql[..start].chars().count() + position + 1
        });
        let report = Report {
            severity,
            code: code.as_str(),
            message: &message,
            detail: detail.as_deref(),
            hint: hint.as_deref(),
            position,
        };
        backend::error_response(self.output.buffer(), &report);
    }
}

fn request(message: Message<'_>) -> Request {
    if let Some(step) = Step::from_message(&message) {
        return Request::Extended(step);
    }
    match message {
        Message::Query(sql) => Request::Query(sql.to_owned()),
        Message::FunctionCall => Request::FunctionCall,
        Message::Sync => Request::Sync,
        Message::Flush => Request::Flush,
        // A client that was sending copy data when its COPY failed may not know yet.
        Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => Request::Ignored,
        Message::Terminate => Request::Terminate,
        Message::Password(_) => Request::Unexpected('p'),
        _ => Request::Unexpected('S'),
    }
}
