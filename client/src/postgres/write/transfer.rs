//! The connection's thread while rows are written: the transaction, the COPY, and the end of both.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-COPY>

mod stream;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;

use super::steps::{Progress, Step, Steps};
use crate::feed::POLL;
use crate::postgres::message::{self, MessageReader, framed, protocol, shown};
use crate::postgres::server_connection::ServerConnection;
use crate::postgres::simple::{self, AnswerMode, TextPart};
use crate::shared_connection::{AnswerError, AnswerOutcome, Tick};
use crate::write::other_count;
use crate::{Error, ErrorKind, Transaction};

/// The most bytes of a CopyData message. PostgreSQL takes less than 1 GiB.
const LARGEST: usize = 256 << 20;
/// The attempts to roll back: a late cancel request can stop one.
const ATTEMPTS: usize = 3;
const SAVEPOINT: &str = "colonnade_write";

/// Sends the rows of a COPY.
pub(super) trait CopyPayload {
    /// Sends what comes before the first row.
    fn begin(&mut self, _transfer: &mut Transfer<'_>) -> Result<(), AnswerError> {
        Ok(())
    }

    /// Sends rows.
    fn step(&mut self, transfer: &mut Transfer<'_>, step: Step) -> Result<(), AnswerError>;

    /// Sends what comes after the last row.
    fn end(&mut self, _transfer: &mut Transfer<'_>) -> Result<(), AnswerError> {
        Ok(())
    }
}

/// Does the work in a transaction, or in a savepoint of the user's transaction. Returns the number of rows.
pub(super) fn in_transaction(
    connection: &mut ServerConnection,
    tick: Tick<'_>,
    abandoned: &AtomicBool,
    work: impl FnOnce(&mut Transfer<'_>) -> Result<u64, AnswerError>,
) -> AnswerOutcome {
    let nested = !connection.is_idle();
    let mut transfer = Transfer { connection, tick };
    let begin = if nested { format!("SAVEPOINT {SAVEPOINT}") } else { "BEGIN".to_owned() };
    match transfer.ask(&begin) {
        Ok(_) => {}
        Err(AnswerError::Lost(error)) => return Err(error),
        // Nothing was begun, so there is nothing to roll back: the savepoint of this name may be the user's.
        Err(AnswerError::Refused(error)) => return Ok(Err(error)),
    }
    match work(&mut transfer).and_then(|rows| transfer.commit(nested, abandoned).map(|()| rows)) {
        Ok(rows) => Ok(Ok(Some(rows))),
        Err(AnswerError::Lost(error)) => Err(error),
        Err(AnswerError::Refused(error)) => transfer.roll_back(nested).map(|()| Err(error)),
    }
}

pub(super) struct Transfer<'a> {
    connection: &'a mut ServerConnection,
    tick: Tick<'a>,
}

impl Transfer<'_> {
    fn commit(&mut self, nested: bool, abandoned: &AtomicBool) -> Result<(), AnswerError> {
        if abandoned.load(Ordering::Acquire) {
            return Err(AnswerError::Refused(gone()));
        }
        if nested {
            self.ask(&format!("RELEASE SAVEPOINT {SAVEPOINT}"))?;
        } else {
            self.ask("COMMIT").map_err(unknown_end)?;
        }
        Ok(())
    }

    /// Whether the server computes times in floats.
    pub(super) fn has_float_times(&self) -> bool {
        self.connection.server.has_float_times
    }

    /// Runs a statement, and collects its rows as text.
    pub(super) fn ask(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, AnswerError> {
        let query = message::query(sql).map_err(AnswerError::Refused)?;
        let mut rows = Vec::new();
        let mut collect = |part| {
            if let TextPart::Row(row) = part {
                rows.push(row);
            }
        };
        let answer = simple::answer(self.connection, &mut *self.tick, AnswerMode::Ask(&mut collect), &query)?;
        answer.map_err(AnswerError::Refused)?;
        Ok(rows)
    }

    /// Runs a statement that returns no rows. Returns the number of rows that it changed.
    pub(super) fn change(&mut self, sql: &str) -> Result<u64, AnswerError> {
        let query = message::query(sql).map_err(AnswerError::Refused)?;
        let answer = simple::answer(self.connection, &mut *self.tick, AnswerMode::Ask(&mut |_| {}), &query)?;
        answer.map_err(AnswerError::Refused)?.ok_or_else(|| protocol("no number of changed rows").into())
    }

    /// Copies all rows, and compares the server's count with the writer's.
    pub(super) fn copy(
        &mut self,
        statement: &str,
        steps: &Steps<'_>,
        payload: &mut dyn CopyPayload,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<u64, AnswerError> {
        // The writer may find that a column cannot be written.
        let mut next = self.step(steps, false)?;
        self.connection.send(&message::query(statement).map_err(AnswerError::Refused)?)?;
        match self.message()? {
            (b'G', _) => {}
            (b'E', body) => return Err(self.refused(error_of_copy(&body))),
            (kind, _) => return Err(protocol(format!("a message {} before COPY", shown(kind))).into()),
        }
        self.sent(|transfer| payload.begin(transfer))?;
        let expected = loop {
            tell(Progress::Taken);
            match next {
                Step::Finish(rows) => break rows,
                rows => self.sent(|transfer| payload.step(transfer, rows))?,
            }
            next = self.step(steps, true)?;
        };
        self.sent(|transfer| payload.end(transfer))?;
        self.send(&framed(Some(b'c'), &[]))?;
        let stored = self.ready(None)?.map_err(AnswerError::Refused)?;
        match stored {
            Some(stored) if stored == expected => Ok(stored),
            stored => Err(AnswerError::Refused(other_count(expected, stored.unwrap_or_default()))),
        }
    }

    /// Sends a part of the rows. If this client refuses a part, the COPY ends without any row.
    fn sent(&mut self, send: impl FnOnce(&mut Self) -> Result<(), AnswerError>) -> Result<(), AnswerError> {
        match send(self) {
            Err(AnswerError::Refused(error)) => {
                self.send(&message::copy_fail("the rows cannot be sent"))?;
                Err(self.refused(error))
            }
            other => other,
        }
    }

    /// Waits for the writer. Within a COPY, it also looks for an error of the server, and ends the COPY if the writer
    /// is gone: a server that waits for rows does not notice a cancel request.
    fn step(&mut self, steps: &Steps<'_>, copying: bool) -> Result<Step, AnswerError> {
        loop {
            if copying {
                // A cancel request that came between two statements has had no effect, and is repeated here.
                (self.tick)()?;
                self.look()?;
            }
            let step = steps.taken.recv_timeout(POLL);
            let is_gone =
                matches!(step, Err(RecvTimeoutError::Disconnected)) || steps.abandoned.load(Ordering::Acquire);
            match step {
                _ if is_gone && copying => {
                    self.send(&message::copy_fail("the writer has stopped"))?;
                    return Err(self.refused(gone()));
                }
                _ if is_gone => return Err(AnswerError::Refused(gone())),
                Ok(step) => return Ok(step),
                Err(_) => {}
            }
        }
    }

    /// Reads messages that the server has sent meanwhile.
    fn look(&mut self) -> Result<(), AnswerError> {
        while self.connection.incoming.has_input() {
            let (kind, len) = self.connection.incoming.header(&mut *self.tick)?;
            let body = self.connection.incoming.body(kind, len, &mut *self.tick)?;
            match kind {
                b'E' => return Err(self.refused(error_of_copy(&body))),
                b'S' => self.connection.server.note(&body)?,
                b'N' | b'A' => {}
                _ => return Err(protocol(format!("a message {} during COPY", shown(kind))).into()),
            }
        }
        Ok(())
    }

    /// Sends rows of COPY's binary format.
    pub(super) fn send_rows(&mut self, bytes: &[u8]) -> Result<(), AnswerError> {
        bytes.chunks(LARGEST).try_for_each(|part| self.send(&framed(Some(b'd'), part)))
    }

    /// Sends a message.
    fn send(&mut self, bytes: &[u8]) -> Result<(), AnswerError> {
        self.connection.send(bytes).map_err(|broken| self.broken(broken))
    }

    /// The error of a broken connection. If the server has ended the session, its last message has the reason.
    fn broken(&mut self, broken: Error) -> AnswerError {
        while let Ok((kind, body)) = self.message() {
            if kind == b'E' {
                return AnswerError::Lost(error_of_copy(&body));
            }
        }
        AnswerError::Lost(broken)
    }

    /// The next message that is part of an answer.
    fn message(&mut self) -> Result<(u8, Vec<u8>), Error> {
        loop {
            let (kind, len) = self.connection.incoming.header(&mut *self.tick)?;
            let body = self.connection.incoming.body(kind, len, &mut *self.tick)?;
            match kind {
                b'S' => self.connection.server.note(&body)?,
                b'N' | b'A' => {}
                _ => return Ok((kind, body)),
            }
        }
    }

    /// Reads up to ReadyForQuery after an error.
    fn refused(&mut self, error: Error) -> AnswerError {
        match self.ready(Some(error)) {
            Ok(Err(error)) => AnswerError::Refused(error),
            Ok(Ok(_)) => AnswerError::Lost(protocol("an answer after an error")),
            Err(error) => AnswerError::Lost(error),
        }
    }

    /// Reads up to ReadyForQuery. Returns the server's count, or the first error.
    fn ready(&mut self, mut failed: Option<Error>) -> Result<Result<Option<u64>, Error>, Error> {
        let mut rows = None;
        loop {
            match self.message() {
                Ok((b'C', body)) => rows = message::rows_of_tag(&MessageReader(&body).text()?),
                Ok((b'E', body)) => {
                    failed.get_or_insert_with(|| error_of_copy(&body));
                }
                Ok((b'Z', body)) => {
                    self.connection.note_status(MessageReader(&body).byte()?);
                    return Ok(failed.map_or(Ok(rows), Err));
                }
                Ok((kind, _)) => return Err(protocol(format!("a message {} after COPY", shown(kind)))),
                // After a fatal error the connection ends, and the error says why.
                Err(lost) => return Err(failed.unwrap_or(lost)),
            }
        }
    }

    /// Ends the transaction, or what was done since the savepoint.
    fn roll_back(&mut self, nested: bool) -> Result<(), Error> {
        let statements: &[String] = if nested {
            &[format!("ROLLBACK TO SAVEPOINT {SAVEPOINT}"), format!("RELEASE SAVEPOINT {SAVEPOINT}")]
        } else {
            &["ROLLBACK".to_owned()]
        };
        for _ in 0..ATTEMPTS {
            let mut undone = true;
            for sql in statements {
                match self.ask(sql) {
                    Ok(_) => {}
                    Err(AnswerError::Lost(error)) => return Err(error),
                    Err(AnswerError::Refused(_)) => undone = false,
                }
            }
            let now = self.connection.transaction;
            // Without its savepoint, the user's transaction had failed before, and stays so.
            if now == Transaction::None || nested && (undone || now == Transaction::Failed) {
                return Ok(());
            }
        }
        Err(Error::new(ErrorKind::ConnectionLost, "the transaction could not be rolled back: the connection is closed"))
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Interrupted, "the writer has stopped")
}

/// The error of a COPY, with the row and the column that the server names.
fn error_of_copy(body: &[u8]) -> Error {
    let error = message::error_response(body);
    let Some(place) = message::context(body) else { return error };
    let detail = error.detail().map_or_else(|| place.clone(), |detail| format!("{detail}\n{place}"));
    error.with_detail(Some(detail))
}

/// The error of a lost connection during COMMIT.
fn unknown_end(error: AnswerError) -> AnswerError {
    let AnswerError::Lost(cause) = error else { return error };
    let message = format!("the connection was lost during the commit, so the rows may be in the table: {cause}");
    let error = Error::new(ErrorKind::ConnectionLost, message).with_sqlstate("08007");
    AnswerError::Lost(error.with_hint("look into the table before the rows are written again").with_cause(cause))
}
