//! Runs statements on the engine.

use colonnade_sql::{Dialect, Statement, StatementKind, code};

use crate::connection::cancel::WorkGuard;
use crate::engine::{BatchSize, EngineAnswer, EngineError, EngineSession, Parameter};
use crate::error::Failure;
use crate::rows::{self, Cursor, Formats, SentRows};
use crate::session::query;
use crate::session::state::Session;

/// The size of batches, unless the client sets it. It is small enough for a low latency, and large enough for a low
/// overhead.
pub const BATCH: BatchSize =
    BatchSize { rows: 16_384, bytes: 4 << 20, columns: rows::MAX_COLUMNS, may_be_encoded: false, has_origins: false };

/// The same, of a result whose columns are described after it has begun.
pub const DESCRIBED_BATCH: BatchSize = BatchSize { has_origins: true, ..BATCH };

/// The result of a statement that the engine ran.
pub enum Outcome {
    Rows(Cursor),
    /// The statement gives no rows. The number of changed rows, if it is known.
    Done(Option<u64>),
}

impl Session {
    /// Runs a statement that the session has written.
    pub fn run_own_statement(&mut self, text: &str) -> Result<(), Failure> {
        let statement = Statement::of(text, self.engine.dialect());
        Ok(self.engine()?.execute(&statement, &[], BATCH).map(drop)?)
    }

    /// The engine. Unfinished results are set aside first, so that it can run a statement.
    pub fn engine(&mut self) -> Result<&mut dyn EngineSession, Failure> {
        self.prepared.set_portals_aside(&self.control)?;
        Ok(self.engine.as_mut())
    }

    /// Starts a statement. Other threads can stop it until the guard is dropped.
    pub fn start(&self) -> Result<WorkGuard, Failure> {
        let running = self.control.start();
        self.control.check()?;
        Ok(running)
    }

    /// Runs a statement on the engine, and sends its result.
    pub fn execute(&mut self, statement: &Statement<'_>) -> Result<(), Failure> {
        let _running = self.start()?;
        let formats = Formats::default();
        let tag = match self.run_client_statement(statement, &[], &formats, DESCRIBED_BATCH)? {
            Outcome::Rows(mut cursor) => {
                cursor.describe(self.output.buffer(), &formats)?;
                let style = self.settings.text_style();
                let (SentRows::All(sent) | SentRows::Some(sent)) =
                    cursor.send(&mut self.output, &self.control, &formats, style, None)?;
                query::tag(&statement.kind, Some(sent), None)
            }
            Outcome::Done(changed) => query::tag(&statement.kind, None, changed),
        };
        self.finish(&tag);
        Ok(())
    }

    /// Runs a client's statement on the engine. The caller reads the rows.
    pub fn run_client_statement(
        &mut self,
        statement: &Statement<'_>,
        values: &[Parameter],
        formats: &Formats,
        size: BatchSize,
    ) -> Result<Outcome, Failure> {
        if let StatementKind::Spool(spool) = &statement.kind {
            let rows = self.spool_rows(spool.as_ref().map_err(Clone::clone)?, values)?;
            return Ok(Outcome::Rows(Cursor::new(rows, formats)?));
        }
        Ok(match self.answer(statement, values, size)? {
            EngineAnswer::Rows(rows) => Outcome::Rows(Cursor::new(rows, formats)?),
            EngineAnswer::Done { changed } => {
                if let Some(name) = statement.prepared_name(self.engine.dialect()) {
                    let text =
                        self.control.budget.keep(statement.text.to_owned(), name.len() + statement.text.len())?;
                    self.prepared.statements.note_prepare(&name, text);
                }
                Outcome::Done(changed)
            }
        })
    }

    /// Runs a client's statement on the engine, in a transaction if the engine needs one.
    pub fn answer(
        &mut self,
        statement: &Statement<'_>,
        values: &[Parameter],
        size: BatchSize,
    ) -> Result<EngineAnswer, Failure> {
        let run =
            |session: &mut Self| session.run_on_engine(statement, |engine| engine.execute(statement, values, size));
        if self.engine.needs_transaction(statement) { self.in_transaction(run) } else { run(self) }
    }

    /// Runs a client's statement that must give rows.
    pub fn query_answer(
        &mut self,
        statement: &Statement<'_>,
        values: &[Parameter],
        size: BatchSize,
    ) -> Result<EngineAnswer, Failure> {
        self.run_on_engine(statement, |engine| engine.query(statement, values, size))
    }

    pub fn run_on_engine<T>(
        &mut self,
        statement: &Statement<'_>,
        run: impl FnOnce(&mut dyn EngineSession) -> Result<T, EngineError>,
    ) -> Result<T, Failure> {
        if !query::reads_only(&statement.kind) {
            self.transaction.savepoints.may_write();
        }
        self.transaction.is_unused = false;
        self.prepared.modes.set(self.modes(), self.settings.transaction_defaults());
        let answer = run(self.engine()?);
        answer.map_err(|error| {
            let error = with_catalog_hint(error, statement.text, self.engine.source());
            rows::interrupted(&self.control, error)
        })
    }
}

/// The engine's error. A hint is added if the statement uses pg_catalog and the source has none.
fn with_catalog_hint(error: EngineError, statement: &str, source: Option<Dialect>) -> EngineError {
    let Some(dialect) = source.filter(|dialect| !dialect.is_postgres() && error.hint.is_none()) else { return error };
    if !code(statement, dialect).any(|token| token.is_name("pg_catalog")) {
        return error;
    }
    let hint = "The source is not a PostgreSQL and has no pg_catalog; query the source's own catalog.";
    EngineError { hint: Some(hint.to_owned()), ..error }
}
