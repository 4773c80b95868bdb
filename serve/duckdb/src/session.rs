//! One client's session in DuckDB.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use colonnade_server::error::Failure;
use colonnade_server::functions::Functions;
use colonnade_server::parameter::InputError;
use colonnade_server::value::types::TypeKind;
use colonnade_server::{
    BatchSize, CatalogVersion, ColumnCheck, Description, EngineAnswer, EngineError, EngineSession, InsertedRows,
    Interrupt, Parameter,
};
use colonnade_sql::split::split;
use colonnade_sql::{Dialect, Statement, StatementKind};

use crate::aggregates::Purpose;
use crate::cast::cast;
use crate::fenced::FencedConnection;
use crate::inputs::requested;
use crate::insert::{BATCH_NAME, Insertion};
use crate::nested_limits::NestedLimits;
use crate::outline::Outline;
use crate::placeholder::Placeholders;
use crate::repeated::returning;
use crate::{
    LibraryConnection, ServedDatabase, Translated, UserFence, definitions, describe, divisions, errors, literal,
    numbered, repeated, truncate,
};

/// The size of batches for queries of the session itself.
pub(crate) const OWN_BATCH: BatchSize =
    BatchSize { rows: 2048, bytes: 1 << 20, columns: usize::MAX, may_be_encoded: false, has_origins: false };

/// The statements by which the server removes a part of what a session has. It never passes on those of clients.
const DISCARDS: [&str; 3] = ["DISCARD TEMP", "RESET ALL", "DEALLOCATE ALL"];

fn of_input(error: InputError) -> EngineError {
    Failure::from(error).into()
}

/// A session over a connection of DuckDB's library.
pub struct TranslatingSession<C> {
    pub(crate) connection: FencedConnection<C>,
    pub(crate) served: ServedDatabase,
    /// Whether the transaction has an INSERT that says what to do with keys that are there.
    resolves_conflicts: bool,
}

impl<C: LibraryConnection> TranslatingSession<C> {
    /// A session in the database `served`, behind a user's fence.
    pub fn new(connection: C, served: ServedDatabase, fence: UserFence) -> Self {
        Self { connection: FencedConnection::new(connection, fence), served, resolves_conflicts: false }
    }

    /// A client's statement in DuckDB's SQL, unless it is too large.
    pub(crate) fn translated(&self, statement: &str) -> Result<Translated, EngineError> {
        self.connection.check_size(statement)?;
        Ok(Translated::new(statement, &self.served))
    }

    /// A statement that runs, with DuckDB's calls of aggregates in Python, and with literals in the form of the types
    /// that their places give them.
    fn runnable(&mut self, statement: &str, purpose: Purpose) -> Result<Translated, EngineError> {
        let translated = self.translated(statement)?;
        let translated = self.with_aggregates(translated, purpose)?;
        self.with_literals(translated)
    }

    fn with_literals(&mut self, translated: Translated) -> Result<Translated, EngineError> {
        if !literal::may_be_open(&translated.text) {
            return Ok(translated);
        }
        let mut types = match Outline::of(&translated.text) {
            Some(outline) => outline.literal_types(&self.connection.open_literals(&Translated::of(&outline.text))?),
            None => self.connection.open_literals(&translated)?,
        };
        let mut called = HashMap::new();
        for (start, name) in literal::row_casts(&translated.text) {
            let Err(place) = types.binary_search_by_key(&start, |(start, _)| *start) else { continue };
            let type_ = match called.entry(name) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(describe::type_called(&mut self.connection, name)?),
            };
            if let Some(type_) = type_.as_ref().filter(|type_| type_.has_rows()) {
                types.insert(place, (start, type_.clone()));
            }
        }
        let edits = literal::typed(&translated.text, &types).map_err(of_input)?;
        Ok(translated.edited(edits))
    }

    /// Runs a query of a function in Python, which may only read ([`LibraryConnection::read`]).
    ///
    /// # Errors
    /// DuckDB's error.
    pub fn read(&mut self, query: &str, size: BatchSize) -> Result<EngineAnswer, EngineError> {
        // Without the semicolon behind it. Several statements are passed on together, and refused.
        let mut spans = split(query, Dialect::DuckDb);
        let text = match (spans.next(), spans.next()) {
            (Some(only), None) => only.text,
            _ => query,
        };
        let translated = self.runnable(text, Purpose::Run)?;
        let translated = self.with_tables(translated, &[])?;
        self.connection.read(&translated, size)
    }

    fn run(
        &mut self,
        statement: &Statement<'_>,
        parameters: &[Parameter],
        size: BatchSize,
        must_give_rows: bool,
    ) -> Result<EngineAnswer, EngineError> {
        let (translated, values) = self.with_values(statement.text, parameters, Purpose::Run)?;
        let different = self.check_repeated(statement, &translated, &values)?;
        if let Some(update) = returning::read(&statement.kind, &translated.text)
            && let Some(answer) = self.update_returning(&update, &translated, &values, size)?
        {
            return Ok(answer);
        }
        let answer = self.connection.execute(&translated, &values, size, must_give_rows)?;
        Ok(match (answer, different) {
            (EngineAnswer::Done { .. }, Some(_)) => EngineAnswer::Done { changed: different },
            (answer, _) => answer,
        })
    }

    /// Remembers what the error of a COMMIT means, if this statement fails only then.
    fn note_conflicts(&mut self, statement: &Statement<'_>) {
        self.resolves_conflicts = match statement.kind {
            StatementKind::Begin(_)
            | StatementKind::Start(_)
            | StatementKind::Commit { .. }
            | StatementKind::Rollback { .. } => false,
            _ => self.resolves_conflicts || repeated::has_conflict_clause(statement),
        };
    }

    /// Refuses values whose lists are nested deeper than those of their places, such as a column: DuckDB would make
    /// texts of the inner ones.
    fn check_dimensions(
        &mut self,
        translated: &Translated,
        placeholders: &Placeholders,
        casts: &[Option<String>],
        values: &[&Parameter],
    ) -> Result<(), EngineError> {
        let is_deep = |parameter: &&&Parameter| {
            parameter.value.check_dimensions(&parameter.type_).is_err() && !placeholders.is_cast(parameter.number - 1)
        };
        let deep: Vec<_> = values.iter().filter(is_deep).collect();
        if deep.is_empty() {
            return Ok(());
        }
        let mut others = casts.to_vec();
        deep.iter().for_each(|parameter| others[parameter.number - 1] = None);
        let places =
            describe::parameter_types(&mut self.connection, &translated.clone().edited(placeholders.casts(&others)))?;
        for parameter in deep {
            let place = places
                .iter()
                .find(|(number, type_)| *number == parameter.number && matches!(type_.kind, TypeKind::List(_)));
            place.map_or(Ok(()), |(_, type_)| parameter.value.check_dimensions(type_)).map_err(of_input)?;
        }
        Ok(())
    }

    /// A statement as DuckDB reads it, with a cast for each placeholder, and the values of these.
    pub(crate) fn with_values<'p>(
        &mut self,
        statement: &str,
        parameters: &'p [Parameter],
        purpose: Purpose,
    ) -> Result<(Translated, Vec<&'p Parameter>), EngineError> {
        if parameters.is_empty() {
            let translated = self.runnable(statement, purpose)?;
            return Ok((self.with_tables(translated, &[])?, Vec::new()));
        }
        let translated = self.translated(statement)?;
        let translated = self.with_aggregates(translated, purpose)?;
        let limits = NestedLimits::find(&translated.text).values(parameters);
        let translated = translated.edited(limits);
        let divisions = divisions::of_parameters(&translated.text, parameters);
        let translated = translated.edited(divisions);
        let placeholders = Placeholders::find(&translated.text);
        let mut casts = vec![None; placeholders.count()];
        let mut values = Vec::with_capacity(parameters.len());
        for parameter in parameters.iter().filter(|parameter| placeholders.has(parameter.number - 1)) {
            let type_name = cast(&parameter.type_, &parameter.value);
            casts[parameter.number - 1] = Some(type_name.map_err(of_input)?);
            values.push(parameter);
        }
        self.check_dimensions(&translated, &placeholders, &casts, &values)?;
        // The types of parameters may decide those of literals: `'{1,2}' = $1`.
        let translated = self.with_literals(translated.edited(placeholders.casts(&casts)))?;
        if !self.may_call_tables(&translated.text) {
            return Ok((translated, values));
        }
        let translated = self.with_tables(translated, &values)?;
        // Those of calls of table functions do not occur any more.
        let placeholders = Placeholders::find(&translated.text);
        values.retain(|parameter| placeholders.has(parameter.number - 1));
        Ok((translated, values))
    }
}

impl<C: LibraryConnection> EngineSession for TranslatingSession<C> {
    /// Sets the result of `pg_backend_pid()` (`catalog_functions.sql`).
    fn set_session_number(&mut self, process: i32) -> Result<(), EngineError> {
        let statement = Translated::of(&format!("SET VARIABLE colonnade_process = {process}"));
        self.connection.execute(&statement, &[], OWN_BATCH, false).map(drop)
    }

    fn execute(
        &mut self,
        statement: &Statement<'_>,
        parameters: &[Parameter],
        size: BatchSize,
    ) -> Result<EngineAnswer, EngineError> {
        if DISCARDS.contains(&statement.text) {
            return self.connection.library().discard(statement.text).map(|()| EngineAnswer::Done { changed: None });
        }
        let resolved = self.resolves_conflicts;
        self.note_conflicts(statement);
        let done = |()| EngineAnswer::Done { changed: None };
        let answer = if let Some(table) = numbered::table(statement) {
            self.create(statement, table).map(done)
        } else if let Some(truncate) = truncate::read(statement.text) {
            self.truncate(&truncate).map(done)
        } else if let Some(definition) = definitions::read(statement.text)
            && self.define(definition)?
        {
            Ok(done(()))
        } else if let Some(inputs) = requested(statement) {
            self.inputs(statement, inputs, parameters, size)
        } else {
            self.run(statement, parameters, size, false)
        };
        match statement.kind {
            StatementKind::Commit { .. } if resolved => answer.map_err(errors::repeatable),
            _ => answer.map_err(|error| self.with_violated(error, statement)),
        }
    }

    fn query(
        &mut self,
        statement: &Statement<'_>,
        parameters: &[Parameter],
        size: BatchSize,
    ) -> Result<EngineAnswer, EngineError> {
        self.note_conflicts(statement);
        let answer = match requested(statement) {
            Some(inputs) => self.inputs(statement, inputs, parameters, size),
            None => self.run(statement, parameters, size, true),
        };
        answer.map_err(|error| self.with_violated(error, statement))
    }

    fn query_checked(
        &mut self,
        statement: &Statement<'_>,
        size: BatchSize,
        check: ColumnCheck,
    ) -> Result<EngineAnswer, EngineError> {
        if let Some(inputs) = requested(statement) {
            let answer = self.inputs(statement, inputs, &[], size)?;
            if let EngineAnswer::Rows(rows) = &answer {
                check(rows.as_ref())?;
            }
            return Ok(answer);
        }
        self.note_conflicts(statement);
        let translated = self.runnable(statement.text, Purpose::Run)?;
        let translated = self.with_tables(translated, &[])?;
        self.check_repeated(statement, &translated, &[])?;
        let answer = self.connection.query_checked(&translated, size, check);
        answer.map_err(|error| self.with_violated(error, statement))
    }

    fn describe(&mut self, statement: &Statement<'_>, types: &[u32]) -> Result<Description, EngineError> {
        match requested(statement) {
            Some(inputs) => self.describe_inputs(statement, inputs, types),
            None => self.description(statement, types),
        }
    }

    fn catalog_version(&mut self) -> Option<CatalogVersion> {
        self.connection.library().catalog_version()
    }

    fn insert(&mut self, rows: InsertedRows<'_>) -> Result<u64, EngineError> {
        let table = rows.table.to_owned();
        let Insertion { statement, batches } = Insertion::new(rows)?;
        let statement = Translated::of(&statement).with_names(&self.served);
        // The client has not written this statement, so a position in it has no meaning.
        let without_position = |error| EngineError { position: None, ..error };
        let inserted = self.connection.insert(&statement, BATCH_NAME, batches).map_err(without_position);
        inserted.map_err(|error| self.with_violated_of(error, || Some(table)))
    }

    /// A CREATE TABLE with columns that number their rows becomes several statements. So do a TRUNCATE of several tables, an
    /// ALTER TABLE with several commands, and a statement that may change a row twice.
    fn needs_transaction(&self, statement: &Statement<'_>) -> bool {
        numbered::table(statement).is_some()
            || truncate::read(statement.text).is_some()
            || definitions::read(statement.text).is_some()
            || repeated::read(&statement.kind, statement.text).is_some()
            || returning::read(&statement.kind, statement.text).is_some()
    }

    fn functions(&mut self) -> Option<&mut dyn Functions> {
        self.connection.library().functions()
    }

    fn take_notices(&mut self) -> Vec<String> {
        self.connection.library().take_notices()
    }

    fn dialect(&self) -> Dialect {
        Dialect::DuckDb
    }

    fn interrupt_handle(&self) -> Arc<dyn Interrupt> {
        self.connection.as_library().interrupt_handle()
    }
}
