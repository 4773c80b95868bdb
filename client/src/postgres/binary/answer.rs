//! The conversation about a statement: describe, ask the catalog, run, receive rows.

use super::catalog::{self, Catalog};
use super::decoder::Decoder;
use super::kind::{self, ColumnDescription};
use crate::feed::POLL;
use crate::inbox::AnswerSize;
use crate::postgres::extended::{MessageBatch, ResultColumn, row_description};
use crate::postgres::message::{self, MessageReader, protocol, shown};
use crate::postgres::parameters::BoundStatement;
use crate::postgres::server_connection::ServerConnection;
use crate::rows::Decoder as _;
use crate::shared_connection::{AnswerError, AnswerOutcome, Tick};
use crate::{Error, QueryOptions, Sent, StatementDescription};

/// The name of this client's statements, which must not replace the user's. A pooler may have it from an earlier
/// session, so it is closed first.
const OWN: &str = "colonnade";
/// The name of the user's statement.
pub(super) const USERS: &str = "";
/// Runs a statement with values, and skips its rows. Returns the number of affected rows.
pub(in crate::postgres) fn execute(
    connection: &mut ServerConnection,
    tick: Tick<'_>,
    statement: &BoundStatement,
) -> AnswerOutcome {
    connection.incoming.set_patience(Some(POLL));
    let mut talk = Talk { connection, tick, synced: false };
    let result = talk.execute(statement);
    talk.outcome(result)
}

/// Describes the parameters of `sql`, which have these types, and its columns with these options.
pub(in crate::postgres) fn describe(
    connection: &mut ServerConnection,
    tick: Tick<'_>,
    sql: &str,
    types: &[u32],
    options: &QueryOptions,
    tell: &mut dyn FnMut(StatementDescription),
) -> AnswerOutcome {
    question(connection, tick, |talk| talk.description(sql, types, options), tell)
}

/// The types of the columns of `sql`, which has no parameters; `None` if it gives no rows.
pub(in crate::postgres) fn column_types(
    connection: &mut ServerConnection,
    tick: Tick<'_>,
    sql: &str,
    tell: &mut dyn FnMut(Option<Vec<u32>>),
) -> AnswerOutcome {
    let types = |columns: Vec<ResultColumn>| columns.iter().map(|column| column.type_oid).collect();
    question(connection, tick, |talk| Ok(talk.describe(sql, &[])?.1.map(types)), tell)
}

/// Asks the server something and ends the exchange.
fn question<T>(
    connection: &mut ServerConnection,
    tick: Tick<'_>,
    ask: impl FnOnce(&mut Talk<'_>) -> Result<T, AnswerError>,
    tell: &mut dyn FnMut(T),
) -> AnswerOutcome {
    connection.incoming.set_patience(Some(POLL));
    let mut talk = Talk { connection, tick, synced: false };
    let answer = match ask(&mut talk) {
        Err(AnswerError::Lost(error)) => return Err(error),
        Err(AnswerError::Refused(error)) => Err(error),
        Ok(answer) => Ok(answer),
    };
    talk.read_until_ready()?;
    Ok(answer.map(|answer| {
        tell(answer);
        None
    }))
}

pub(super) struct Talk<'a> {
    pub(super) connection: &'a mut ServerConnection,
    pub(super) tick: Tick<'a>,
    /// Whether Sync was sent.
    pub(super) synced: bool,
}

impl Talk<'_> {
    pub(super) fn outcome(&mut self, result: Result<Option<u64>, AnswerError>) -> AnswerOutcome {
        match result {
            Ok(rows) => Ok(Ok(rows)),
            Err(AnswerError::Lost(error)) => Err(error),
            // ReadyForQuery is still to come. A fatal error is the last message: then the connection has ended, and
            // the error gives the reason.
            Err(AnswerError::Refused(error)) => match self.read_until_ready() {
                Ok(()) => Ok(Err(error)),
                Err(_) => Err(error),
            },
        }
    }

    /// Text must be UTF-8, whatever the session's setting is. The setting is restored afterwards.
    pub(super) fn agree_on_encoding(&mut self) -> Result<(), AnswerError> {
        if self.connection.server.sends_utf8() {
            return Ok(());
        }
        let set = "SELECT pg_catalog.set_config('client_encoding', 'UTF8', true)";
        self.own(set)?;
        Ok(())
    }

    fn execute(&mut self, statement: &BoundStatement) -> Result<Option<u64>, AnswerError> {
        self.agree_on_encoding()?;
        let types: Vec<_> = statement.values.iter().map(|value| value.type_oid).collect();
        let batch = MessageBatch::default().parse(USERS, &statement.sql, &types).map_err(AnswerError::Refused)?;
        self.finish(batch, &statement.values)
    }

    /// Runs the user's statement, which has no columns. Returns the number of affected rows.
    pub(super) fn effect(&mut self, values: &[Sent]) -> Result<Option<u64>, AnswerError> {
        self.finish(MessageBatch::default(), values)
    }

    /// Runs the user's statement after the messages of `batch`, and skips its rows.
    fn finish(&mut self, batch: MessageBatch, values: &[Sent]) -> Result<Option<u64>, AnswerError> {
        self.synced = true;
        self.connection.send(&batch.bind(USERS, values, &[]).execute().sync())?;
        loop {
            let (kind, body) = self.message()?;
            match kind {
                b'1' | b'2' | b'D' => {}
                b'C' => {
                    let rows = message::rows_of_tag(&MessageReader(&body).text()?);
                    self.read_until_ready()?;
                    return Ok(rows);
                }
                b'I' => {
                    self.read_until_ready()?;
                    return Ok(None);
                }
                _ => return Err(unexpected(kind)),
            }
        }
    }

    /// A statement's parameters, and its columns in Arrow's types.
    fn description(
        &mut self,
        sql: &str,
        types: &[u32],
        options: &QueryOptions,
    ) -> Result<StatementDescription, AnswerError> {
        self.agree_on_encoding()?;
        let (parameters, described) = self.describe(sql, types)?;
        let Some(described) = described else { return Ok(StatementDescription { parameters, schema: None }) };
        let columns = self.in_arrow(&described, options)?;
        Ok(StatementDescription { parameters, schema: Some(Decoder::new(&columns).0) })
    }

    /// The types of a statement's parameters, and its columns; `None` if it returns no rows.
    pub(super) fn describe(
        &mut self,
        sql: &str,
        types: &[u32],
    ) -> Result<(Vec<u32>, Option<Vec<ResultColumn>>), AnswerError> {
        let batch = MessageBatch::default().parse(USERS, sql, types).map_err(AnswerError::Refused)?;
        self.connection.send(&batch.describe(USERS).flush())?;
        self.described()
    }

    /// Receives the answers to Parse and Describe.
    pub(super) fn described(&mut self) -> Result<(Vec<u32>, Option<Vec<ResultColumn>>), AnswerError> {
        let mut parameters = Vec::new();
        loop {
            let (kind, body) = self.message()?;
            match kind {
                b'1' => {}
                b't' => {
                    let mut body = MessageReader(&body);
                    for _ in 0..body.u16()? {
                        parameters.push(body.u32()?);
                    }
                }
                b'T' => return Ok((parameters, Some(row_description(&body)?))),
                b'n' => return Ok((parameters, None)),
                _ => return Err(unexpected(kind)),
            }
        }
    }

    /// The columns of a result in Arrow's types. Asks the catalog if necessary.
    pub(super) fn in_arrow(
        &mut self,
        described: &[ResultColumn],
        options: &QueryOptions,
    ) -> Result<Vec<ColumnDescription>, AnswerError> {
        let mut catalog = Catalog { has_float_times: self.connection.server.has_float_times, ..Catalog::default() };
        if kind::needs_catalog(described, options) {
            for row in self.own(&catalog::question(described))? {
                catalog.take(&row)?;
            }
        }
        kind::columns(described, &catalog, options).map_err(AnswerError::Refused)
    }

    /// Runs a statement of this client in the transaction. Returns its rows.
    fn own(&mut self, sql: &str) -> Result<Vec<Vec<u8>>, AnswerError> {
        let batch = MessageBatch::default().close(OWN).parse(OWN, sql, &[])?.bind(OWN, &[], &[]);
        self.connection.send(&batch.execute().close(OWN).flush())?;
        let (mut rows, mut complete, mut kept) = (Vec::new(), false, AnswerSize::default());
        loop {
            let (kind, body) = self.message()?;
            match kind {
                b'3' if complete => return Ok(rows),
                b'1' | b'2' | b'3' => {}
                b'D' => {
                    kept.add(body.len())?;
                    rows.push(body);
                }
                b'C' => complete = true,
                _ => return Err(unexpected(kind)),
            }
        }
    }

    /// Skips all messages up to ReadyForQuery.
    pub(super) fn read_until_ready(&mut self) -> Result<(), Error> {
        if !self.synced {
            self.synced = true;
            self.connection.send(&MessageBatch::default().sync())?;
        }
        loop {
            let (kind, len) = self.connection.incoming.header(self.tick)?;
            match kind {
                b'Z' => {
                    let body = self.connection.incoming.body(kind, len, self.tick)?;
                    self.connection.note_status(MessageReader(&body).byte()?);
                    return Ok(());
                }
                b'S' => {
                    let body = self.connection.incoming.body(kind, len, self.tick)?;
                    self.connection.server.note(&body)?;
                }
                _ => self.connection.incoming.skip(len, self.tick)?,
            }
        }
    }

    /// The type of the next message that is part of the answer, which is not consumed. Notices, settings and
    /// notifications may stand between any two messages.
    pub(super) fn kind(&mut self) -> Result<u8, AnswerError> {
        let Talk { connection, tick, .. } = self;
        loop {
            match connection.incoming.peek(tick)? {
                kind @ (b'N' | b'A' | b'S') => {
                    let (_, len) = connection.incoming.header(tick)?;
                    if kind == b'S' {
                        let body = connection.incoming.body(kind, len, tick)?;
                        connection.server.note(&body)?;
                    } else {
                        connection.incoming.skip(len, tick)?;
                    }
                }
                kind => return Ok(kind),
            }
        }
    }

    /// The next message that is part of the answer.
    pub(super) fn message(&mut self) -> Result<(u8, Vec<u8>), AnswerError> {
        self.kind()?;
        let (kind, len) = self.connection.incoming.header(self.tick)?;
        let body = self.connection.incoming.body(kind, len, self.tick)?;
        if kind == b'E' {
            return Err(AnswerError::Refused(message::error_response(&body)));
        }
        Ok((kind, body))
    }
}

pub(super) fn unexpected(kind: u8) -> AnswerError {
    AnswerError::Lost(protocol(format!("a message {}", shown(kind))))
}
