//! The receiving thread's side of a statement.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_command_phase_ps.html>

mod instants;

use colonnade_sql::lexer::first_word;
use colonnade_sql::{Dialect, code};

use super::decoder::Decoder;
use super::incoming::Block;
use super::kind::{self, ColumnDescription, Instants, SessionContext};
use super::packet::{Command, Definition, Done, PacketReader, err, protocol};
use super::parameters::BoundStatement;
use super::server_connection::ServerConnection;
use super::undo::Undo;
use crate::rows::{Decoder as _, Part};
use crate::shared_connection::{AnswerError, AnswerOutcome, Tick};
use crate::{Error, ErrorKind, Pool, QueryOptions, SchemaCheck};

/// The first byte of a request for a file.
pub(super) const FILE_REQUEST: u8 = 0xfb;
/// The statement cannot be prepared.
const UNSUPPORTED_PREPARED: &str = "HY000";
/// The first words of statements whose columns are unknown until they run. Statements with RETURNING are like them.
/// MariaDB describes most SHOW statements when it prepares them, but not `SHOW ENGINES` and `SHOW PROCESSLIST`. They
/// change nothing.
const UNFORESEEN: [&str; 3] = ["CALL", "EXECUTE", "SHOW"];

/// What a statement must return.
pub(super) enum ResultMode {
    /// Rows with columns that the check accepts. A statement that is known to return none, or others, does not run.
    Rows(Option<SchemaCheck>),
    /// Rows or none.
    Any,
}

/// Asks for the rows of `sql` in binary and passes them on.
pub(super) fn rows(
    connection: &mut ServerConnection,
    pool: &Pool,
    tick: Tick<'_>,
    statement: &BoundStatement,
    options: &QueryOptions,
    wanted: ResultMode,
    tell: &mut dyn FnMut(Part<ColumnDescription, Block>),
) -> AnswerOutcome {
    outcome(Talk { connection, tick }.rows(pool, statement, options, wanted, tell))
}

/// Runs a statement with values, and skips its rows. A statement that cannot be prepared runs as `literals`. Returns
/// the number of rows that it changed or returned.
pub(super) fn execute_bound(
    connection: &mut ServerConnection,
    tick: Tick<'_>,
    statement: &BoundStatement,
    literals: &str,
) -> AnswerOutcome {
    outcome(Talk { connection, tick }.execute_bound(statement, literals).map(Some))
}

/// Runs a statement and skips its rows. Returns the number of rows that it changed or returned.
pub(super) fn execute(connection: &mut ServerConnection, tick: Tick<'_>, sql: &str) -> AnswerOutcome {
    outcome(Talk { connection, tick }.execute(sql).map(Some))
}

fn outcome(result: Result<Option<u64>, AnswerError>) -> AnswerOutcome {
    match result {
        Ok(rows) => Ok(Ok(rows)),
        Err(AnswerError::Refused(error)) => Ok(Err(error)),
        Err(AnswerError::Lost(error)) => Err(error),
    }
}

struct Talk<'a> {
    connection: &'a mut ServerConnection,
    tick: Tick<'a>,
}

/// A prepared statement.
struct Prepared {
    number: [u8; 4],
    columns: Vec<Definition>,
    /// Whether its columns are unknown until it runs.
    unforeseen: bool,
}

impl Talk<'_> {
    fn rows(
        &mut self,
        pool: &Pool,
        statement: &BoundStatement,
        options: &QueryOptions,
        wanted: ResultMode,
        tell: &mut dyn FnMut(Part<ColumnDescription, Block>),
    ) -> Result<Option<u64>, AnswerError> {
        self.check_instants(statement)?;
        let prepared = match self.prepare(statement) {
            // It has no values, so its text alone is sent.
            Err(AnswerError::Refused(error))
                if matches!(wanted, ResultMode::Any)
                    && statement.count == 0
                    && error.sqlstate() == Some(UNSUPPORTED_PREPARED) =>
            {
                return self.effect(&statement.sql).map(Some);
            }
            prepared => prepared?,
        };
        let undo = if prepared.unforeseen { Some(Undo::begin(self.connection, self.tick)?) } else { None };
        let mut result = self.run(&prepared, pool, statement, options, wanted, tell);
        if let Some(undo) = undo {
            result = undo.end(self.connection, self.tick, result);
        }
        if !matches!(result, Err(AnswerError::Lost(_))) {
            self.connection.command(Command::CloseStatement, &prepared.number)?;
        }
        result
    }

    /// The next packet, or the error that it reports.
    fn packet(&mut self) -> Result<Vec<u8>, AnswerError> {
        let packet = self.connection.incoming.packet(self.tick)?;
        if packet.first() != Some(&0xff) {
            return Ok(packet);
        }
        match err(&packet)? {
            (error, true) => Err(AnswerError::Lost(error)),
            (error, false) => Err(AnswerError::Refused(error)),
        }
    }

    fn prepare(&mut self, statement: &BoundStatement) -> Result<Prepared, AnswerError> {
        self.connection.command(Command::Prepare, statement.sql.as_bytes())?;
        let packet = self.packet().map_err(|end| match end {
            AnswerError::Refused(error) if error.sqlstate() == Some(UNSUPPORTED_PREPARED) => {
                AnswerError::Refused(error.with_hint("statements that cannot be prepared return no result here"))
            }
            end => end,
        })?;
        let mut body = PacketReader(&packet);
        if body.u8()? != 0 {
            return Err(AnswerError::Lost(protocol("something else than a prepared statement")));
        }
        let mut number = [0; 4];
        number.copy_from_slice(body.bytes(4)?);
        let (columns, parameters) = (body.u16()?, body.u16()?);
        self.connection.columns(parameters.into(), self.tick)?;
        let columns = self.connection.columns(columns.into(), self.tick)?;
        if usize::from(parameters) != statement.count {
            self.connection.command(Command::CloseStatement, &number)?;
            let message = "the query has a placeholder ? without a value, or a value in a string or a comment";
            return Err(AnswerError::Refused(
                Error::new(ErrorKind::Usage, message).with_hint("write placeholders as $1 or $name"),
            ));
        }
        let unforeseen = columns.is_empty() && is_unforeseen(&statement.sql);
        Ok(Prepared { number, columns, unforeseen })
    }

    fn run(
        &mut self,
        prepared: &Prepared,
        pool: &Pool,
        statement: &BoundStatement,
        options: &QueryOptions,
        wanted: ResultMode,
        tell: &mut dyn FnMut(Part<ColumnDescription, Block>),
    ) -> Result<Option<u64>, AnswerError> {
        let (mut check, needs_rows) = match wanted {
            ResultMode::Rows(check) => (check, true),
            ResultMode::Any => (None, false),
        };
        if prepared.columns.is_empty() && !prepared.unforeseen && needs_rows {
            return Err(no_rows());
        }
        // Everything that can be checked is checked before the statement runs. Without columns, no rows are expected.
        let instants = self.instants(prepared, &statement.sql, options)?;
        let place = SessionContext {
            collation: self.connection.server.collation,
            instants,
            has_exact_expressions: self.connection.server.is_mariadb(),
        };
        let zone = match &place.instants {
            Instants::Cursor(zone, _) => Some(zone.as_str()),
            _ => None,
        };
        if !prepared.columns.is_empty() {
            accepted(&prepared.columns, &place, options, &mut check).map_err(AnswerError::Refused)?;
        }
        self.connection.command(Command::Execute, &statement.execution(prepared.number, zone.is_some()))?;
        let packet = self.packet()?;
        if packet.first() == Some(&0) {
            let done = self.connection.note(Done::ok(&packet)?);
            self.pass_over_results(done)?;
            return if needs_rows { Err(no_rows()) } else { Ok(Some(done.rows)) };
        }
        let count = self.count(&packet)?;
        let definitions = self.connection.columns(count, self.tick)?;
        let columns = match accepted(&definitions, &place, options, &mut check) {
            Ok(columns) => columns,
            Err(error) => {
                let done = self.receive(pool, options, &mut |_| {})?;
                self.pass_over_results(done)?;
                return Err(AnswerError::Refused(error));
            }
        };
        if zone.is_some() {
            self.expect_cursor(pool, options)?;
        }
        tell(Part::Columns(columns));
        let sink = &mut |block| tell(Part::Rows(block));
        let done = match zone {
            Some(zone) => self.fetch_in_utc(prepared, zone, pool, options, sink)?,
            None => self.receive(pool, options, sink)?,
        };
        if self.pass_over_results(done)? > 0 {
            let error = Error::new(ErrorKind::Unsupported, "the statement returns more than one result");
            return Err(AnswerError::Refused(error.with_hint("let it return one, or run its statements one by one")));
        }
        Ok(None)
    }

    /// Runs a statement that cannot be prepared. Few of these return rows; they are refused after they have run.
    fn effect(&mut self, sql: &str) -> Result<u64, AnswerError> {
        self.connection.command(Command::Query, sql.as_bytes())?;
        let packet = self.packet()?;
        if packet.first() == Some(&0) {
            let done = self.connection.note(Done::ok(&packet)?);
            self.pass_over_results(done)?;
            return Ok(done.rows);
        }
        let (done, _) = self.pass_over_rows(&packet)?;
        self.pass_over_results(done)?;
        let message = "the statement has run, but it cannot be prepared, and so its rows cannot be read";
        Err(AnswerError::Refused(Error::new(ErrorKind::Unsupported, message)))
    }

    /// Passes on binary rows up to their end.
    fn receive(
        &mut self,
        pool: &Pool,
        options: &QueryOptions,
        sink: &mut dyn FnMut(Block),
    ) -> Result<Done, AnswerError> {
        self.connection.incoming.rows(pool, options.max_message_bytes, self.tick, sink)?;
        let packet = self.packet()?;
        if packet.first() != Some(&0xfe) {
            return Err(AnswerError::Lost(protocol("something else than the end of rows")));
        }
        Ok(self.connection.note(Done::end(&packet, self.connection.server.capabilities)?))
    }

    /// Skips the results after the first one. Returns their number.
    fn pass_over_results(&mut self, mut done: Done) -> Result<u64, AnswerError> {
        let mut results = 0;
        while done.more_results() {
            let packet = self.packet()?;
            if packet.first() == Some(&0) {
                done = self.connection.note(Done::ok(&packet)?);
                continue;
            }
            (done, _) = self.pass_over_rows(&packet)?;
            results += 1;
        }
        Ok(results)
    }

    /// Skips one result, in text or binary, after its number of columns.
    fn pass_over_rows(&mut self, packet: &[u8]) -> Result<(Done, u64), AnswerError> {
        let count = self.count(packet)?;
        self.connection.columns(count, self.tick)?;
        let (packet, rows) = self.connection.incoming.skip_text_rows(self.tick)?;
        if packet.first() == Some(&0xff) {
            return Err(match err(&packet)? {
                (error, true) => AnswerError::Lost(error),
                (error, false) => AnswerError::Refused(error),
            });
        }
        Ok((self.connection.note(Done::end(&packet, self.connection.server.capabilities)?), rows))
    }

    fn execute(&mut self, sql: &str) -> Result<u64, AnswerError> {
        self.connection.command(Command::Query, sql.as_bytes())?;
        self.pass_over_answer()
    }

    fn execute_bound(&mut self, statement: &BoundStatement, literals: &str) -> Result<u64, AnswerError> {
        self.check_instants(statement)?;
        let prepared = match self.prepare(statement) {
            Err(AnswerError::Refused(error)) if error.sqlstate() == Some(UNSUPPORTED_PREPARED) => {
                return self.execute(literals);
            }
            prepared => prepared?,
        };
        self.connection.command(Command::Execute, &statement.execution(prepared.number, false))?;
        let result = self.pass_over_answer();
        if !matches!(result, Err(AnswerError::Lost(_))) {
            self.connection.command(Command::CloseStatement, &prepared.number)?;
        }
        result
    }

    /// Skips the whole answer to a statement. Returns the number of rows that it changed.
    fn pass_over_answer(&mut self) -> Result<u64, AnswerError> {
        let packet = self.packet()?;
        let (done, rows) = if packet.first() == Some(&0) {
            let done = self.connection.note(Done::ok(&packet)?);
            (done, done.rows)
        } else {
            self.pass_over_rows(&packet)?
        };
        self.pass_over_results(done)?;
        Ok(rows)
    }

    fn count(&mut self, packet: &[u8]) -> Result<usize, AnswerError> {
        match packet.first() {
            Some(..=0xfa | 0xfc) => Ok(PacketReader(packet).length()? as usize),
            Some(&FILE_REQUEST) => Err(self.refuse_file()?),
            _ => Err(AnswerError::Lost(protocol("no answer to the statement"))),
        }
    }

    /// Answers the request for a file with an empty one. The user has run LOAD DATA LOCAL, or the server wants a file.
    fn refuse_file(&mut self) -> Result<AnswerError, AnswerError> {
        self.connection.incoming.reply(&[])?;
        let packet = self.packet()?;
        if packet.first() != Some(&0) {
            return Err(AnswerError::Lost(protocol("something else than the end of a statement")));
        }
        let done = self.connection.note(Done::ok(&packet)?);
        self.pass_over_results(done)?;
        let message = "the server asked for a file of this machine, which is not sent: no rows were loaded";
        let error = Error::new(ErrorKind::Unsupported, message).with_sqlstate("0A000");
        Ok(AnswerError::Refused(error.with_hint("write_sql loads rows")))
    }
}

/// The columns of a result, if the check accepts them.
fn accepted(
    definitions: &[Definition],
    place: &kind::SessionContext,
    options: &QueryOptions,
    check: &mut Option<SchemaCheck>,
) -> Result<Vec<ColumnDescription>, Error> {
    let columns = kind::columns(definitions, place, options)?;
    if let Some(check) = check.take() {
        check(&Decoder::new(&columns).0)?;
    }
    Ok(columns)
}

fn no_rows() -> AnswerError {
    AnswerError::Refused(Error::no_rows())
}

/// Whether a statement without described columns may return rows.
fn is_unforeseen(sql: &str) -> bool {
    let dialect = Dialect::MYSQL;
    let first = first_word(sql, dialect);
    UNFORESEEN.iter().any(|word| first.eq_ignore_ascii_case(word))
        || code(sql, dialect).any(|token| token.is_word("RETURNING"))
}
