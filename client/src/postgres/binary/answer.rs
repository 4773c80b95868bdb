//! The receiving thread's side: describe, ask the catalog, run.

use bytes::Bytes;

use super::catalog::{self, Catalog};
use super::decoder::Decoder;
use super::kind::{self, Column};
use crate::feed::POLL;
use crate::inbox::Kept;
use crate::postgres::extended::{Batch, Format, ResultColumn, row_description};
use crate::postgres::link::Link;
use crate::postgres::message::{self, Body, protocol, shown};
use crate::postgres::parameters::Bound;
use crate::rows::{Decoder as _, Part};
use crate::session::{End, Outcome, Tick};
use crate::{Described, Error, ErrorKind, Pool, QueryOptions, Sent};

/// The name of this client's own statements, which must not replace the user's. A pooler may know it from an earlier
/// session, so it is closed first.
const OWN: &str = "colonnade";
/// The user's.
const USERS: &str = "";
/// Tags that count rows.
const COUNTED: [&str; 6] = ["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "FETCH"];

/// What a statement is to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::postgres) enum Wanted {
    /// Rows; another statement does not run.
    Rows,
    /// Rows or none.
    Any,
}

/// Asks for the rows of `sql` and passes them on.
pub(in crate::postgres) fn answer(
    link: &mut Link,
    pool: &Pool,
    tick: Tick<'_>,
    statement: &Bound,
    options: &QueryOptions,
    wanted: Wanted,
    tell: &mut dyn FnMut(Part<Column, Bytes>),
) -> Outcome {
    link.incoming.set_patience(Some(POLL))?;
    let mut talk = Talk { link, tick, synced: false };
    let result = talk.rows(pool, statement, options, wanted, tell);
    talk.outcome(result)
}

/// Runs a statement with values, and passes over what it returns. Gives the rows that it touched.
pub(in crate::postgres) fn execute(link: &mut Link, tick: Tick<'_>, statement: &Bound) -> Outcome {
    link.incoming.set_patience(Some(POLL))?;
    let mut talk = Talk { link, tick, synced: false };
    let result = talk.execute(statement);
    talk.outcome(result)
}

/// Asks what `sql` takes and gives, with parameters of these types.
pub(in crate::postgres) fn describe(
    link: &mut Link,
    tick: Tick<'_>,
    sql: &str,
    types: &[u32],
    tell: &mut dyn FnMut(Described),
) -> Outcome {
    link.incoming.set_patience(Some(POLL))?;
    let mut talk = Talk { link, tick, synced: false };
    let described = match talk.description(sql, types) {
        Err(End::Lost(error)) => return Err(error),
        Err(End::Refused(error)) => Err(error),
        Ok(described) => Ok(described),
    };
    talk.settle()?;
    Ok(described.map(|described| {
        tell(described);
        None
    }))
}

struct Talk<'a> {
    link: &'a mut Link,
    tick: Tick<'a>,
    /// Whether the server has been asked for ReadyForQuery.
    synced: bool,
}

impl Talk<'_> {
    fn outcome(&mut self, result: Result<Option<u64>, End>) -> Outcome {
        match result {
            Ok(rows) => Ok(Ok(rows)),
            Err(End::Lost(error)) => Err(error),
            // ReadyForQuery is still to come. A fatal error is the last message; why the connection then ended is the error's business.
            Err(End::Refused(error)) => match self.settle() {
                Ok(()) => Ok(Err(error)),
                Err(_) => Err(error),
            },
        }
    }

    fn rows(
        &mut self,
        pool: &Pool,
        statement: &Bound,
        options: &QueryOptions,
        wanted: Wanted,
        tell: &mut dyn FnMut(Part<Column, Bytes>),
    ) -> Result<Option<u64>, End> {
        self.agree_on_encoding()?;
        let types: Vec<_> = statement.values.iter().map(|value| value.type_oid).collect();
        let (_, Some(described)) = self.describe(&statement.sql, &types)? else {
            if wanted == Wanted::Any {
                return self.effect(&statement.values);
            }
            let error = Error::new(ErrorKind::Usage, "the statement returns no rows")
                .with_hint("in Python, Connection.execute runs it");
            return Err(End::Refused(error));
        };
        let catalog = if kind::needs_catalog(&described, options) { self.ask(&described)? } else { Catalog::default() };
        let columns = kind::columns(&described, &catalog, options).map_err(End::Refused)?;
        let formats: Vec<_> = columns.iter().map(|column| column.format).collect();
        tell(Part::Columns(columns));
        self.run(&statement.values, &formats, &catalog)?;
        loop {
            if self.link.incoming.peek(self.tick)? == b'D' {
                let sink = &mut |bytes| tell(Part::Rows(bytes));
                self.link.incoming.rows(pool, options.max_message_bytes, self.tick, sink)?;
                continue;
            }
            let (kind, body) = self.message()?;
            if kind != b'C' {
                return Err(unexpected(kind));
            }
            let tag = Body(&body).text()?.into_owned();
            let rows = message::rows_of_tag(&tag);
            if rows.is_none() && COUNTED.iter().any(|word| tag.starts_with(word)) {
                return Err(End::Lost(protocol(format!("a tag {tag:?}"))));
            }
            self.settle()?;
            return Ok(rows);
        }
    }

    /// Text must be UTF-8 whatever the session has said since login; it can go on saying so afterwards.
    fn agree_on_encoding(&mut self) -> Result<(), End> {
        if self.link.server.sends_utf8() {
            return Ok(());
        }
        let set = "SELECT pg_catalog.set_config('client_encoding', 'UTF8', true)";
        self.own(Batch::default(), set)?;
        Ok(())
    }

    fn execute(&mut self, statement: &Bound) -> Result<Option<u64>, End> {
        self.agree_on_encoding()?;
        let types: Vec<_> = statement.values.iter().map(|value| value.type_oid).collect();
        let batch = Batch::default().parse(USERS, &statement.sql, &types).map_err(End::Refused)?;
        self.finish(batch, &statement.values)
    }

    /// Runs the user's statement, which has no columns. Gives the rows that it touched.
    fn effect(&mut self, values: &[Sent]) -> Result<Option<u64>, End> {
        self.finish(Batch::default(), values)
    }

    /// Runs the user's statement, behind what `batch` has, and passes over its rows.
    fn finish(&mut self, batch: Batch, values: &[Sent]) -> Result<Option<u64>, End> {
        self.synced = true;
        self.link.send(&batch.run(USERS, values, &[]).sync())?;
        loop {
            let (kind, body) = self.message()?;
            match kind {
                b'1' | b'2' | b'D' => {}
                b'C' => {
                    let rows = message::rows_of_tag(&Body(&body).text()?);
                    self.settle()?;
                    return Ok(rows);
                }
                b'I' => {
                    self.settle()?;
                    return Ok(None);
                }
                _ => return Err(unexpected(kind)),
            }
        }
    }

    /// A statement's parameters and columns as Arrow has them.
    fn description(&mut self, sql: &str, types: &[u32]) -> Result<Described, End> {
        self.agree_on_encoding()?;
        let (parameters, described) = self.describe(sql, types)?;
        let Some(described) = described else { return Ok(Described { parameters, schema: None }) };
        let options = QueryOptions::default();
        let catalog =
            if kind::needs_catalog(&described, &options) { self.ask(&described)? } else { Catalog::default() };
        let columns = kind::columns(&described, &catalog, &options).map_err(End::Refused)?;
        Ok(Described { parameters, schema: Some(Decoder::new(&columns).0) })
    }

    /// The types of a statement's parameters, and its columns; `None` if it gives no rows.
    fn describe(&mut self, sql: &str, types: &[u32]) -> Result<(Vec<u32>, Option<Vec<ResultColumn>>), End> {
        let mut parameters = Vec::new();
        let batch = Batch::default().parse(USERS, sql, types).map_err(End::Refused)?;
        self.link.send(&batch.describe(USERS).flush())?;
        loop {
            let (kind, body) = self.message()?;
            match kind {
                b'1' => {}
                b't' => {
                    let mut body = Body(&body);
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

    fn ask(&mut self, described: &[ResultColumn]) -> Result<Catalog, End> {
        let mut catalog = Catalog::default();
        for row in self.own(Batch::default(), &catalog::question(described))? {
            catalog.take(&row)?;
        }
        Ok(catalog)
    }

    /// Runs a statement of this client's own, within the transaction; gives its rows.
    fn own(&mut self, before: Batch, sql: &str) -> Result<Vec<Vec<u8>>, End> {
        self.link.send(&own(before, sql)?.flush())?;
        self.own_rows()
    }

    fn own_rows(&mut self) -> Result<Vec<Vec<u8>>, End> {
        let (mut rows, mut complete, mut kept) = (Vec::new(), false, Kept::default());
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

    /// Starts the user's statement; its rows are next.
    fn run(&mut self, values: &[Sent], formats: &[Format], catalog: &Catalog) -> Result<(), End> {
        // Not before the statement was parsed: some of these also say how its literals are read.
        let styled = formats.contains(&Format::Text) && !catalog.styles.is_empty();
        let mut batch = Batch::default();
        if styled {
            batch = own(batch, &catalog::set_styles())?;
        }
        batch = batch.run(USERS, values, formats);
        // In a transaction of the user's they would outlive the statement.
        if styled && !self.link.is_idle() {
            batch = own(batch, &catalog.restore_styles())?;
        }
        self.synced = true;
        self.link.send(&batch.sync())?;
        if styled {
            self.own_rows()?;
        }
        match self.message()? {
            (b'2', _) => Ok(()),
            (kind, _) => Err(unexpected(kind)),
        }
    }

    /// Passes over what comes up to ReadyForQuery.
    fn settle(&mut self) -> Result<(), Error> {
        if !self.synced {
            self.synced = true;
            self.link.send(&Batch::default().sync())?;
        }
        loop {
            let (kind, len) = self.link.incoming.header(self.tick)?;
            match kind {
                b'Z' => {
                    let body = self.link.incoming.body(kind, len, self.tick)?;
                    self.link.note_status(Body(&body).byte()?);
                    return Ok(());
                }
                b'S' => {
                    let body = self.link.incoming.body(kind, len, self.tick)?;
                    self.link.server.note(&body)?;
                }
                _ => self.link.incoming.skip(len, self.tick)?,
            }
        }
    }

    /// The next message that is part of the answer.
    fn message(&mut self) -> Result<(u8, Vec<u8>), End> {
        loop {
            let (kind, len) = self.link.incoming.header(self.tick)?;
            let body = self.link.incoming.body(kind, len, self.tick)?;
            match kind {
                b'N' | b'A' => {}
                b'S' => self.link.server.note(&body)?,
                b'E' => return Err(End::Refused(message::error_response(&body))),
                _ => return Ok((kind, body)),
            }
        }
    }
}

fn own(batch: Batch, sql: &str) -> Result<Batch, Error> {
    Ok(batch.close(OWN).parse(OWN, sql, &[])?.run(OWN, &[], &[]).close(OWN))
}

fn unexpected(kind: u8) -> End {
    End::Lost(protocol(format!("a message {}", shown(kind))))
}
