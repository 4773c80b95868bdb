//! A statement: its text, its parameters, and its execution.

use std::sync::Arc;

use adbc_core::error::{Result, Status};
use adbc_core::options::{OptionStatement, OptionValue};
use adbc_core::{CancelHandle, Optionable, PartitionedResult, Statement};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::Schema;
use colonnade_client::{Answer, Parameters, bind};

use crate::error::{converted, not_implemented, refused};
use crate::ingest::{IngestOptions, no_query};
use crate::options::{ReadOptions, integer, no_such_type, truth};
use crate::parameters::ParameterRows;
use crate::partitions::{Partitions, Parts};
use crate::rows::{Rows, WeakRows};
use crate::session::Session;
use crate::{partitions, schema};

/// ADBC's name of the option that binds columns to `$name`; `adbc_core` has none.
const BIND_BY_NAME: &str = "adbc.statement.bind_by_name";
const GIVEN_UP: &str = "the result was given up: its statement was executed again";

/// A statement of a connection.
pub(crate) struct AdbcStatement {
    session: Arc<Session>,
    read: ReadOptions,
    sql: Option<String>,
    /// The next execution uses it up.
    bound: Option<Box<dyn RecordBatchReader + Send>>,
    by_name: bool,
    ingest: IngestOptions,
    /// The last execution's.
    rows: WeakRows,
    /// The last execution's, if it was one in parts.
    parts: Option<Parts>,
}

impl AdbcStatement {
    pub(crate) fn new(session: Arc<Session>, read: ReadOptions) -> Self {
        Self {
            session,
            read,
            sql: None,
            bound: None,
            by_name: false,
            ingest: IngestOptions::default(),
            rows: WeakRows::default(),
            parts: None,
        }
    }

    /// # Errors
    /// There is none.
    fn sql(&self) -> Result<&str> {
        let missing = || refused(Status::InvalidState, "the statement has no text: set its SQL query first");
        self.sql.as_deref().ok_or_else(missing)
    }

    /// Ends the last execution's result, and takes the parameters of the next one.
    fn begin(&mut self) -> Result<Option<ParameterRows>> {
        self.sql()?;
        self.end_results();
        self.session.begin_execution()?;
        Ok(self.bound.take().map(|reader| ParameterRows::new(reader, self.by_name)))
    }

    fn rows(&mut self) -> Result<Rows> {
        if self.ingest.names_table() {
            return Rows::none(Some(self.ingest_bound()?));
        }
        let Some(mut sets) = self.begin()? else { return self.rows_of(None) };
        let Some(first) = sets.next().transpose()? else { return Rows::none(Some(0)) };
        match sets.next().transpose()? {
            None => self.rows_of(Some(&first)),
            Some(second) => self.session.atomically(|| self.collect([Ok(first), Ok(second)].into_iter().chain(sets))),
        }
    }

    /// Runs the statement once.
    fn rows_of(&self, parameters: Option<&Parameters>) -> Result<Rows> {
        match self.session.run(self.sql()?, parameters, &self.read.query)? {
            Answer::Rows(stream) => Rows::streamed(stream),
            Answer::Done(affected) => Rows::none(affected),
        }
    }

    /// Runs the statement for each set of parameters, and keeps all rows.
    fn collect(&self, sets: impl Iterator<Item = Result<Parameters>>) -> Result<Rows> {
        let (mut schema, mut batches, mut affected) = (None, Vec::new(), None);
        for set in sets {
            self.session.check_cancelled()?;
            match self.session.run(self.sql()?, Some(&set?), &self.read.query)? {
                Answer::Done(more) => affected = sum(affected, more),
                Answer::Rows(mut stream) => {
                    let first = schema.get_or_insert_with(|| stream.schema().clone());
                    if first != stream.schema() {
                        let message =
                            "the columns' types depend on the parameters' values: cast the placeholders in the query";
                        return Err(refused(Status::InvalidData, message));
                    }
                    while let Some(batch) = stream.next(&mut || true).map_err(|error| converted(&error))? {
                        batches.push(batch.decode().map_err(|error| converted(&error))?);
                    }
                }
            }
        }
        match schema {
            Some(schema) => Rows::collected(schema, batches),
            None => Rows::none(affected),
        }
    }

    /// The text that becomes parts, with its parameters written into it.
    fn partitioned(&mut self) -> Result<String> {
        let sql = self.sql()?.to_owned();
        self.end_results();
        self.session.begin_partitions()?;
        let Some(reader) = self.bound.take() else { return Ok(sql) };
        let mut sets = ParameterRows::new(reader, self.by_name);
        match (sets.next().transpose()?, sets.next().transpose()?) {
            (Some(set), None) => bind(&sql, &set, self.session.dialect()).map_err(|error| converted(&error)),
            _ => Err(refused(Status::InvalidArguments, "a result in parts has one row of parameters: bind one")),
        }
    }

    /// # Errors
    /// The next execution ingests.
    fn refuse_ingestion(&self, what: &str) -> Result<()> {
        if self.ingest.names_table() { Err(no_query(what)) } else { Ok(()) }
    }

    fn end_results(&mut self) {
        self.rows.give_up(GIVEN_UP);
        self.parts = None;
    }

    /// Writes the bound rows into the table that is named. Returns their number.
    fn ingest_bound(&mut self) -> Result<u64> {
        let missing = || refused(Status::InvalidState, "no rows are bound: bind a batch or a stream first");
        let rows = self.bound.take().ok_or_else(missing)?;
        self.end_results();
        self.session.begin_execution()?;
        self.ingest.ingest(&self.session, rows)
    }

    /// Runs the statement for its effect; gives the rows that it changed.
    fn update(&mut self) -> Result<Option<u64>> {
        if self.ingest.names_table() {
            return self.ingest_bound().map(Some);
        }
        let Some(mut sets) = self.begin()? else { return self.session.execute(self.sql()?, None) };
        let Some(first) = sets.next().transpose()? else { return Ok(Some(0)) };
        match sets.next().transpose()? {
            None => self.session.execute(self.sql()?, Some(&first)),
            Some(second) => self.session.atomically(|| {
                [Ok(first), Ok(second)].into_iter().chain(sets).try_fold(None, |affected, set| {
                    self.session.check_cancelled()?;
                    Ok(sum(affected, self.session.execute(self.sql()?, Some(&set?))?))
                })
            }),
        }
    }
}

/// The rows of several statements, of which some may not count.
fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

impl Statement for AdbcStatement {
    fn bind(&mut self, batch: RecordBatch) -> Result<()> {
        let schema = batch.schema();
        self.bind_stream(Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
    }

    fn bind_stream(&mut self, reader: Box<dyn RecordBatchReader + Send>) -> Result<()> {
        self.bound = Some(reader);
        Ok(())
    }

    fn execute(&mut self) -> Result<Box<dyn RecordBatchReader + Send + 'static>> {
        let rows = self.rows()?;
        self.rows = rows.downgrade();
        self.session.reads(rows.downgrade());
        Ok(Box::new(rows))
    }

    fn execute_update(&mut self) -> Result<Option<i64>> {
        Ok(self.update()?.and_then(|affected| i64::try_from(affected).ok()))
    }

    fn execute_schema(&mut self) -> Result<Schema> {
        self.refuse_ingestion("a schema")?;
        self.end_results();
        schema::of_query(&self.session, self.sql()?, &self.read.query)
    }

    fn execute_partitions(&mut self) -> Result<PartitionedResult> {
        self.refuse_ingestion("a result in parts")?;
        let sql = self.partitioned()?;
        let Partitions { kept, descriptors, schema } = partitions::execute(&self.session, &sql, &self.read)?;
        self.parts = Some(kept);
        Ok(PartitionedResult { partitions: descriptors, schema, rows_affected: -1 })
    }

    fn get_parameter_schema(&self) -> Result<Schema> {
        self.refuse_ingestion("a schema of parameters")?;
        schema::of_parameters(&self.session, self.sql()?)
    }

    /// Each execution prepares the statement anyway where the source can, so there is nothing to send before.
    fn prepare(&mut self) -> Result<()> {
        self.refuse_ingestion("preparing")?;
        self.sql().map(drop)
    }

    fn set_sql_query(&mut self, query: impl AsRef<str>) -> Result<()> {
        self.sql = Some(query.as_ref().to_owned());
        self.ingest.forget_table();
        Ok(())
    }

    fn set_substrait_plan(&mut self, _plan: impl AsRef<[u8]>) -> Result<()> {
        Err(not_implemented("this driver takes no Substrait plans: set an SQL query"))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        self.session.canceller()
    }
}

impl Optionable for AdbcStatement {
    type Option = OptionStatement;

    fn set_option(&mut self, key: OptionStatement, value: OptionValue) -> Result<()> {
        let name = key.as_ref();
        if self.ingest.set(&key, &value)? {
            return Ok(());
        }
        match &key {
            OptionStatement::Other(other) if other == BIND_BY_NAME => {
                self.by_name = truth(name, &value)?;
                Ok(())
            }
            _ => self.read.set(name, &value),
        }
    }

    fn get_option_string(&self, key: OptionStatement) -> Result<String> {
        if let Some(value) = self.ingest.get(&key) {
            return value;
        }
        match key.as_ref() {
            BIND_BY_NAME => Ok(self.by_name.to_string()),
            name => self.read.get(name),
        }
    }

    fn get_option_bytes(&self, key: OptionStatement) -> Result<Vec<u8>> {
        Err(no_such_type(key.as_ref(), "bytes"))
    }

    fn get_option_int(&self, key: OptionStatement) -> Result<i64> {
        let name = key.as_ref().to_owned();
        integer(&name, &self.get_option_string(key)?)
    }

    fn get_option_double(&self, key: OptionStatement) -> Result<f64> {
        Err(no_such_type(key.as_ref(), "float"))
    }
}
