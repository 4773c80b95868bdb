//! One client's session: its queries one after the other, each answered before the next is read.

pub(crate) mod configure;
pub(crate) mod copy_in;
pub(crate) mod cursors;
pub(crate) mod extended;
pub(crate) mod listing;
pub(crate) mod portal;
pub(crate) mod prepared;
pub mod query;
pub(crate) mod savepoint;
pub(crate) mod settings;
pub(crate) mod source;
pub(crate) mod transaction;

use std::sync::Arc;

use colonnade_sql::{Statement, StatementKind};

use crate::connection::cancel::{Control, Running};
use crate::connection::input::Input;
use crate::connection::socket::Output;
use crate::copy::{self, Context, Copy, Parsed, options::Format};
use crate::engine::{Answer, BatchSize, EngineError, Parameter, Rows, Session as EngineSession};
use crate::error::{Failure, SqlState};
use crate::message::ProtocolError;
use crate::message::backend::{self, Report, Status};
use crate::message::frontend::{Message, Phase, Target};
use crate::rows::{self, Cursor, Formats, Sent};
use crate::session::extended::{Prepared, Step};
use crate::session::settings::{Command, Settings};

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
        let begun = self.engine.introduce(process).map_err(Failure::from).and_then(|()| self.set_given(given));
        if let Err(failure) = begun.and_then(|()| self.converse()) {
            // What is fatal is told if anybody is left to hear it.
            self.report(&failure, "FATAL", None);
            let _ = self.output.flush();
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
                        self.fail(&failure, step.query().map(|query| (query, 0)));
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
        let statements = match query::statements(sql, self.engine.as_ref()) {
            Ok(statements) => statements,
            Err(failure) => {
                self.fail(&failure, None);
                return Ok(());
            }
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
        let statement = Statement::of(text, self.engine.dialect());
        Ok(self.engine()?.execute(&statement, &[], BATCH).map(drop)?)
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
        if let Some(dialect) = self.engine.source() {
            return self.pass(statement, dialect, described);
        }
        self.check_transaction(&statement.kind)?;
        match &statement.kind {
            StatementKind::Begin(_) | StatementKind::Commit | StatementKind::Rollback => self.transaction(statement),
            StatementKind::Copy(copy) => match Parsed::new(copy.as_ref().map_err(Clone::clone)?, text)? {
                Parsed::ToStdout(copy) => self.copy(text, &copy),
                Parsed::FromStdin(copy) => self.copy_in(&copy),
                Parsed::Engine => self.execute(statement),
            },
            StatementKind::Discard(what) if what == "ALL" => {
                if self.is_in_transaction() {
                    return Err(EngineError::new(
                        SqlState::ACTIVE_SQL_TRANSACTION,
                        "DISCARD ALL cannot run inside a transaction block",
                    )
                    .into());
                }
                self.prepared.deallocate(None);
                self.configure(&statement.kind, Command::ResetAll, described)
            }
            StatementKind::Discard(_) | StatementKind::Unlisten => {
                self.complete(&statement.kind);
                Ok(())
            }
            StatementKind::Deallocate(name) => self.deallocate(statement, name.as_deref()),
            StatementKind::Notification(_) => Err(Failure::NotSupported("LISTEN or NOTIFY")),
            StatementKind::Savepoint(savepoint) => self.savepoint(savepoint),
            StatementKind::Cursor(_) => self.cursors(statement),
            kind => match settings::command(kind) {
                Some(command) => self.configure(kind, command, described),
                None => self.execute(statement),
            },
        }
    }

    /// What was not prepared through the protocol was prepared with PREPARE, in the engine.
    pub fn deallocate(&mut self, statement: &Statement<'_>, name: Option<&str>) -> Result<(), Failure> {
        if !self.prepared.deallocate(name) {
            return self.execute(statement);
        }
        self.complete(&statement.kind);
        Ok(())
    }

    /// Tells the client that a statement without rows is done.
    pub fn complete(&mut self, kind: &StatementKind) {
        backend::command_complete(self.output.buffer(), &query::tag(kind, None, None));
    }

    pub fn is_in_transaction(&self) -> bool {
        self.status != Status::Idle
    }

    /// In a failed transaction only its end is possible.
    pub fn check_transaction(&self, kind: &StatementKind) -> Result<(), Failure> {
        // What savepoints can do then, they know themselves.
        let is_end = matches!(kind, StatementKind::Commit | StatementKind::Rollback | StatementKind::Savepoint(_))
            // A source knows by itself what it does then.
            || self.engine.source().is_some();
        if self.status == Status::Failed && !is_end { Err(Failure::AbortedTransaction) } else { Ok(()) }
    }

    /// Lets others stop what runs from here on.
    pub fn start(&self) -> Result<Running, Failure> {
        let running = self.control.start();
        self.control.check()?;
        Ok(running)
    }

    /// Runs a statement of the engine's, and sends what it gives.
    pub fn execute(&mut self, statement: &Statement<'_>) -> Result<(), Failure> {
        let _running = self.start()?;
        let formats = Formats::default();
        let tag = match self.run_engine(statement, &[], &formats)? {
            Outcome::Rows(mut cursor) => {
                cursor.describe(self.output.buffer(), &formats);
                let (Sent::All(sent) | Sent::Some(sent)) =
                    cursor.send(&mut self.output, &self.control, &formats, None)?;
                query::tag(&statement.kind, Some(sent), None)
            }
            Outcome::Done(changed) => query::tag(&statement.kind, None, changed),
        };
        backend::command_complete(self.output.buffer(), &tag);
        Ok(())
    }

    /// Has the engine run a statement; its rows are to be read.
    pub fn run_engine(
        &mut self,
        statement: &Statement<'_>,
        values: &[Parameter],
        formats: &Formats,
    ) -> Result<Outcome, Failure> {
        Ok(match self.answer(statement, values, BATCH)? {
            Answer::Rows(rows) => Outcome::Rows(Cursor::new(rows, formats)?),
            Answer::Done { changed } => Outcome::Done(changed),
        })
    }

    /// Runs COPY … TO STDOUT.
    pub fn copy(&mut self, text: &str, copy: &Copy) -> Result<(), Failure> {
        let (query, start) = copy.query(text);
        let query = Statement::of(&query, self.engine.dialect());
        // What SHOW tells of this session's settings, the engine does not know.
        let listing = match source::kept(&query.kind, self.engine.source()) {
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
        let before = || start.map(|start| text[..start].chars().count());
        let placed = |failure: Failure| failure.placed(before());
        let rows = match listing {
            Some(listing) => listing.into_rows()?,
            None => self.checked_rows(&query, copy, size).map_err(placed)?,
        };
        let context = Context { output: &mut self.output, control: &self.control, encode_cpu: self.encode_cpu, rows };
        let rows = copy::copy_out(context, &copy.options).map_err(placed)?;
        backend::command_complete(self.output.buffer(), &format!("COPY {rows}"));
        Ok(())
    }

    /// The rows of COPY's query, which does not run if its columns do not fit the format.
    fn checked_rows(&mut self, query: &Statement<'_>, copy: &Copy, size: BatchSize) -> Result<Box<dyn Rows>, Failure> {
        let options = copy.options.clone();
        let check = Box::new(move |columns: &dyn Rows| copy::check(columns, &options).map_err(EngineError::from));
        match self.answered(query, |engine| engine.query_checked(query, size, check))? {
            Answer::Rows(rows) => Ok(rows),
            Answer::Done { .. } => Err(EngineError::no_rows().into()),
        }
    }

    /// Has the engine run a statement of the client's.
    pub fn answer(
        &mut self,
        statement: &Statement<'_>,
        values: &[Parameter],
        size: BatchSize,
    ) -> Result<Answer, Failure> {
        let run = |session: &mut Self| session.answered(statement, |engine| engine.execute(statement, values, size));
        if self.engine.needs_transaction(statement) { self.in_transaction(run) } else { run(self) }
    }

    /// The same for one that must give rows.
    pub fn query_answer(
        &mut self,
        statement: &Statement<'_>,
        values: &[Parameter],
        size: BatchSize,
    ) -> Result<Answer, Failure> {
        self.answered(statement, |engine| engine.query(statement, values, size))
    }

    fn answered<T>(
        &mut self,
        statement: &Statement<'_>,
        run: impl FnOnce(&mut dyn EngineSession) -> Result<T, EngineError>,
    ) -> Result<T, Failure> {
        if !query::reads_only(&statement.kind) {
            self.prepared.savepoints.may_write();
        }
        let answer = run(self.engine()?);
        answer.map_err(|error| {
            let error = source::explained(error, statement.text, self.engine.source());
            rows::interrupted(&self.control, error)
        })
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
