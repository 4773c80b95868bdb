//! The connection's thread while rows are written: statements, files of LOAD DATA, and what the server says of them.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_local_infile_request.html>
//!
//! A server may ask for any file, at any time. This client answers one request only: the one for the random name in
//! the LOAD DATA that it has sent just before. No file is opened: the name means the rows of the writer.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::{Progress, Step, WritePlan};
use crate::feed::POLL;
use crate::mysql::answer::FILE_REQUEST;
use crate::mysql::packet::{Command, Done, err, protocol};
use crate::mysql::server_connection::ServerConnection;
use crate::mysql::text_answer::TextAnswer;
use crate::shared_connection::{AnswerError, Tick};
use crate::write::other_count;
use crate::{Error, ErrorKind};

/// The bytes of a file. A server reports errors only at the end of one, and reads in vain until then.
const FILE: usize = 64 << 20;
/// If no rows come for so long, the file ends, so that the server does not wait within a statement.
const PAUSE: Duration = Duration::from_secs(10);
/// The most bytes of a packet of a file.
const PART: usize = 1 << 20;
/// The SQLSTATE of a killed statement, and the attempts to run one that must not be killed: a late KILL can stop it.
const KILLED: &str = "70100";
const ATTEMPTS: usize = 10;
/// ER_BINLOG_UNSAFE_STATEMENT, which says nothing about values.
const ABOUT_THE_LOG: &str = "1592";
/// SQLSTATEs of warnings that say nothing about the value.
const GENERAL: [&str; 2] = ["01", "HY"];

/// The statement of rows.
pub(super) enum RowStatement {
    /// LOAD DATA, and the name of its file.
    Load(String, String),
    /// The beginning of INSERT, before its rows.
    Insert(String),
}

pub(super) struct Transfer<'a> {
    pub(super) connection: &'a mut ServerConnection,
    pub(super) tick: Tick<'a>,
    /// Whether the server's diagnostics have the numbers of rows.
    pub(super) counts_rows: bool,
    /// The most bytes of a packet, which is a part of a file, or an INSERT.
    pub(super) max_packet: usize,
}

/// What the server knows of an error or a warning, if it says it.
#[derive(Default)]
struct Condition {
    state: Option<String>,
    /// Among the rows of the last statement, from 1.
    row: Option<u64>,
}

/// What the writer has sent, or why nothing will come.
enum Waited {
    Step(Step),
    Pause,
    Gone(Error),
}

impl Transfer<'_> {
    /// Runs a statement.
    pub(super) fn ask(&mut self, sql: &str) -> Result<TextAnswer, AnswerError> {
        self.connection.answer(sql, &mut *self.tick)
    }

    /// Runs a statement that must not be stopped by a cancel request: it cleans up.
    pub(super) fn ask_at_last(&mut self, sql: &str) -> Result<TextAnswer, AnswerError> {
        let mut attempts = 1..ATTEMPTS;
        loop {
            match self.connection.answer(sql, &mut || Ok(())) {
                Err(AnswerError::Refused(error)) if error.sqlstate() == Some(KILLED) && attempts.next().is_some() => {}
                answer => return answer,
            }
        }
    }

    /// Writes all rows. Returns their number.
    pub(super) fn rows(
        &mut self,
        statement: &RowStatement,
        plan: &WritePlan,
        steps: &Receiver<Step>,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<u64, AnswerError> {
        let (mut stored, mut next) = (0, None);
        loop {
            let step = match next.take() {
                Some(step) => step,
                None => match wait(plan, steps, None) {
                    Waited::Step(step) => step,
                    Waited::Pause => continue,
                    Waited::Gone(error) => return Err(AnswerError::Refused(error)),
                },
            };
            let Step::Rows(block, rows) = step else { return Ok(stored) };
            match statement {
                RowStatement::Load(sql, name) => {
                    let loaded;
                    (loaded, next) = self.load(sql, name, stored, Step::Rows(block, rows), plan, steps, tell)?;
                    stored += loaded;
                }
                RowStatement::Insert(head) => {
                    tell(Progress::Taken);
                    self.insert(head, &block, rows, stored)?;
                    stored += rows;
                }
            }
        }
    }

    /// Sends a file of rows, beginning with a block. Returns its rows, and the step that follows, if it is known.
    #[allow(clippy::too_many_arguments, reason = "the state of one loop over the steps")]
    fn load(
        &mut self,
        sql: &str,
        name: &str,
        before: u64,
        first: Step,
        plan: &WritePlan,
        steps: &Receiver<Step>,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<(u64, Option<Step>), AnswerError> {
        self.connection.command(Command::Query, sql.as_bytes())?;
        let request = self.packet()?;
        if request.split_first() != Some((&FILE_REQUEST, name.as_bytes())) {
            return Err(protocol("something else than the request for the rows of LOAD DATA").into());
        }
        let (mut rows, mut sent) = (0, 0);
        let (mut next, mut gone) = (Some(first), None);
        while let Some(Step::Rows(block, count)) = next.take_if(|step| matches!(step, Step::Rows(..))) {
            tell(Progress::Taken);
            self.send(&block)?;
            rows += count;
            sent += block.len();
            if sent >= FILE {
                break;
            }
            match wait(plan, steps, Some(PAUSE)) {
                Waited::Step(step) => next = Some(step),
                Waited::Pause => break,
                Waited::Gone(error) => gone = Some(error),
            }
        }
        // An empty packet ends the file.
        self.connection.incoming.reply(&[])?;
        let answer = self.done();
        match (gone, answer) {
            (_, Err(AnswerError::Lost(error))) => return Err(AnswerError::Lost(error)),
            (Some(error), _) => return Err(AnswerError::Refused(error)),
            (None, Err(AnswerError::Refused(error))) => return Err(self.with_row(error, before)?),
            (None, Ok(done)) => self.check(done, rows, before)?,
        }
        Ok((rows, next))
    }

    fn insert(&mut self, head: &str, block: &[u8], rows: u64, before: u64) -> Result<(), AnswerError> {
        let statement = [head.as_bytes(), block].concat();
        if statement.len() >= self.max_packet {
            let message = format!(
                "the rows {} to {} need a statement of {} bytes, and the server's max_allowed_packet is {}",
                before + 1,
                before + rows,
                statement.len(),
                self.max_packet
            );
            let error = Error::new(ErrorKind::Database, message).with_sqlstate("54000");
            return Err(AnswerError::Refused(error.with_hint("raise max_allowed_packet, or set local_infile=ON")));
        }
        self.connection.command(Command::Query, &statement)?;
        match self.done() {
            Err(AnswerError::Refused(error)) => Err(self.with_row(error, before)?),
            Err(lost) => Err(lost),
            Ok(done) => self.check(done, rows, before),
        }
    }

    fn send(&mut self, block: &[u8]) -> Result<(), AnswerError> {
        for part in block.chunks(PART.min(self.max_packet / 2).max(1)) {
            if let Err(broken) = self.connection.incoming.reply(part) {
                // If the server has ended the session, its last packet has the reason.
                return Err(match self.packet() {
                    Err(AnswerError::Refused(error)) => AnswerError::Lost(error),
                    _ => AnswerError::Lost(broken),
                });
            }
        }
        Ok(())
    }

    /// The next packet, or the error that it reports.
    fn packet(&mut self) -> Result<Vec<u8>, AnswerError> {
        let packet = self.connection.incoming.packet(&mut *self.tick)?;
        if packet.first() != Some(&0xff) {
            return Ok(packet);
        }
        match err(&packet)? {
            (error, true) => Err(AnswerError::Lost(error)),
            (error, false) => Err(AnswerError::Refused(error)),
        }
    }

    /// The end of a statement without rows.
    fn done(&mut self) -> Result<Done, AnswerError> {
        let packet = self.packet()?;
        if packet.first() != Some(&0) {
            return Err(protocol("something else than the end of a statement").into());
        }
        Ok(self.connection.note(Done::ok(&packet)?))
    }

    /// # Errors
    /// The server has changed a value, or has stored another number of rows.
    fn check(&mut self, done: Done, rows: u64, before: u64) -> Result<(), AnswerError> {
        if done.warnings > 0 {
            self.check_warnings(before)?;
        }
        if done.rows != rows {
            return Err(AnswerError::Refused(other_count(before + rows, before + done.rows)));
        }
        Ok(())
    }

    /// # Errors
    /// The last statement has warnings about its values. LOAD DATA LOCAL makes warnings of all errors of values.
    pub(super) fn check_warnings(&mut self, before: u64) -> Result<(), AnswerError> {
        let warnings = self.ask("SHOW WARNINGS")?;
        let place = (0..warnings.rows.len()).find(|row| warnings.text(*row, 1) != Some(ABOUT_THE_LOG));
        let Some(place) = place else { return Ok(()) };
        let Condition { state, row } = self.diagnostics(place + 1)?;
        let code = warnings.text(place, 1).unwrap_or_default();
        let state = state.filter(|state| !GENERAL.iter().any(|class| state.starts_with(class)));
        let state = state.unwrap_or_else(|| "22000".to_owned());
        let error = Error::new(ErrorKind::Database, warnings.text(place, 2).unwrap_or_default())
            .with_sqlstate(state)
            .with_code(code.parse().unwrap_or_default())
            .with_detail(Some(detail(&format!("error number {code}"), row, before)));
        Err(AnswerError::Refused(error))
    }

    /// The error of a statement with several rows, with the number of the row if the server knows it.
    fn with_row(&mut self, error: Error, before: u64) -> Result<AnswerError, AnswerError> {
        if error.sqlstate() == Some(KILLED) {
            return Ok(AnswerError::Refused(error));
        }
        let row = self.diagnostics(1)?.row;
        let known = error.detail().unwrap_or_default().to_owned();
        Ok(AnswerError::Refused(error.with_detail(Some(detail(&known, row, before)))))
    }

    /// The SQLSTATE and the row of a condition of the last statement.
    fn diagnostics(&mut self, condition: usize) -> Result<Condition, AnswerError> {
        let row = if self.counts_rows { ", @colonnade_row = ROW_NUMBER" } else { "" };
        let sql = format!("GET DIAGNOSTICS CONDITION {condition} @colonnade_state = RETURNED_SQLSTATE{row}");
        if self.try_to_ask(&sql)?.is_none() {
            return Ok(Condition::default());
        }
        let answer = self.try_to_ask("SELECT @colonnade_state, @colonnade_row")?;
        self.try_to_ask("SET @colonnade_state = NULL, @colonnade_row = NULL")?;
        let Some(answer) = answer else { return Ok(Condition::default()) };
        let row = answer.text(0, 1).and_then(|row| row.parse().ok()).filter(|row| *row > 0);
        Ok(Condition { state: answer.text(0, 0).map(str::to_owned), row })
    }

    /// Runs a statement whose refusal is less important than the error that it would describe.
    fn try_to_ask(&mut self, sql: &str) -> Result<Option<TextAnswer>, AnswerError> {
        match self.ask(sql) {
            Ok(answer) => Ok(Some(answer)),
            Err(AnswerError::Refused(_)) => Ok(None),
            Err(lost) => Err(lost),
        }
    }
}

/// What is known about the place of an error: the server counts the rows of one statement.
fn detail(known: &str, row: Option<u64>, before: u64) -> String {
    match row {
        Some(row) => format!("row {}, {known}", before + row),
        None if before > 0 => format!("after row {before}, {known}"),
        None => known.to_owned(),
    }
}

/// Waits for the writer, at most so long.
fn wait(plan: &WritePlan, steps: &Receiver<Step>, limit: Option<Duration>) -> Waited {
    let begun = Instant::now();
    loop {
        let step = steps.recv_timeout(POLL);
        if plan.is_abandoned() || matches!(step, Err(RecvTimeoutError::Disconnected)) {
            return Waited::Gone(gone());
        }
        if (plan.is_cancelled)() {
            return Waited::Gone(Error::new(ErrorKind::Database, "the write was cancelled").with_sqlstate(KILLED));
        }
        match step {
            Ok(step) => return Waited::Step(step),
            Err(_) if limit.is_some_and(|limit| begun.elapsed() >= limit) => return Waited::Pause,
            Err(_) => {}
        }
    }
}

pub(super) fn gone() -> Error {
    Error::new(ErrorKind::Interrupted, "the writer has stopped")
}
