//! A statement's rows as batches.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Schema, SchemaRef};

use super::column::ColumnBuilder;
use super::kind::ColumnKind;
use super::library::{Database, InterruptHandle, SqliteStatement};
use crate::arrays::Length;
use crate::{Error, ErrorKind, Parameters, QueryOptions};

/// The most rows of a batch, and the bytes at which it ends, unless the query's options say otherwise.
const ROWS: usize = 65_536;
const BYTES: usize = 4 << 20;
/// With the last value, which has at most 10^9 bytes (SQLITE_MAX_LENGTH), offsets then stay below 2^31.
const MOST_BYTES: usize = 1 << 30;
/// The batches with only NULL after which a column without a declared type becomes a column of NULLs.
const OPENING: usize = 16;

/// The answer to a query. The first batch is made at once, because its values decide the types of columns without a
/// declared type.
pub(super) struct StatementRows<'d> {
    statement: SqliteStatement<'d>,
    interrupt: InterruptHandle,
    columns: Vec<ColumnBuilder>,
    schema: SchemaRef,
    /// Batches that are complete.
    ready: VecDeque<RecordBatch>,
    /// Whether the statement has made a step whose row, if there was one, was not read.
    stepped: bool,
    /// Rows that were read from the statement.
    taken: u64,
    ended: bool,
    rows: usize,
    bytes: usize,
    length: Length,
    /// The bytes of a row without the data of its strings.
    width: usize,
}

impl<'d> StatementRows<'d> {
    /// Starts the query.
    ///
    /// # Errors
    /// The statement is wrong, is empty, returns no rows or has a value that cannot be delivered.
    pub(super) fn open(
        database: &'d Database,
        sql: &str,
        parameters: Option<&Parameters>,
        options: &QueryOptions,
    ) -> Result<Self, Error> {
        let positive = |value: Option<u64>, default: usize, name: &str| match value {
            Some(0) => Err(usage(format!("{name} must be at least 1"))),
            Some(value) => Ok(usize::try_from(value).unwrap_or(usize::MAX)),
            None => Ok(default),
        };
        let rows = positive(options.chunk_rows.map(u64::from), ROWS, "chunk_rows")?;
        let bytes = positive(options.chunk_bytes, BYTES, "chunk_bytes")?.min(MOST_BYTES);
        options.refuse_for_plain_source(true)?;
        let mut statement = only_statement(database, sql, parameters)?;
        // Another program may have changed the table since this connection read the schema.
        statement.step()?;
        let columns = columns(&statement, options)?;
        let schema = Arc::new(Schema::empty());
        let interrupt = database.interrupt();
        let width = columns.len() * size_of::<u64>();
        // The first batch has a fixed size, so that types do not depend on the query's options.
        let mut opening = Self {
            statement,
            interrupt,
            columns,
            schema,
            width,
            ready: VecDeque::new(),
            stepped: true,
            taken: 0,
            ended: false,
            rows: ROWS,
            bytes: BYTES,
            length: Length::default(),
        };
        opening.decide(rows)?;
        Ok(Self { rows, bytes, ..opening })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next batch, or `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>, Error> {
        if let Some(batch) = self.ready.pop_front() {
            return Ok(Some(batch));
        }
        match self.arrays()? {
            Some((arrays, rows)) => batch(self.schema.clone(), arrays, rows).map(Some),
            None => Ok(None),
        }
    }

    /// Reads until every column has a type, and cuts the rows into batches of `limit` rows. Then the schema is known.
    fn decide(&mut self, limit: usize) -> Result<(), Error> {
        let mut held = Vec::new();
        while held.len() < OPENING {
            let Some(arrays) = self.arrays()? else { break };
            held.push(arrays);
            self.columns.iter_mut().for_each(|column| column.decide(false));
            if !self.columns.iter().any(ColumnBuilder::is_undecided) {
                break;
            }
        }
        self.columns.iter_mut().for_each(|column| column.decide(true));
        self.schema = Arc::new(Schema::new(self.columns.iter().map(ColumnBuilder::field).collect::<Vec<_>>()));
        for (arrays, rows) in held {
            let arrays = arrays.into_iter().zip(self.schema.fields()).map(|(array, field)| {
                let only_nulls = array.data_type() == &DataType::Null;
                if only_nulls { new_null_array(field.data_type(), rows) } else { array }
            });
            let whole = batch(self.schema.clone(), arrays.collect(), rows)?;
            let parts = (0..rows).step_by(limit).map(|start| whole.slice(start, limit.min(rows - start)));
            self.ready.extend(parts);
        }
        Ok(())
    }

    /// The columns of the next batch, and its rows.
    fn arrays(&mut self) -> Result<Option<(Vec<ArrayRef>, usize)>, Error> {
        if self.ended {
            return Ok(None);
        }
        let (mut rows, mut bytes) = (0, 0);
        let limit = self.length.limit(self.rows);
        while rows < limit && bytes < self.bytes {
            let first = mem::take(&mut self.stepped);
            let Some(row) = (if first { self.statement.row() } else { self.statement.step()? }) else {
                self.ended = true;
                break;
            };
            for (index, column) in self.columns.iter_mut().enumerate() {
                match column.push(rows, row.value(index)) {
                    Ok(more) => bytes += more,
                    Err(misfit) => return Err(misfit.at(&column.name, self.taken + 1)),
                }
            }
            rows += 1;
            bytes += self.width;
            self.taken += 1;
        }
        // SQLite checks its interrupt rarely, and in short statements never.
        if self.interrupt.is_stopped() {
            return Err(Error::new(ErrorKind::Database, "the query was cancelled").with_sqlstate("57014"));
        }
        if rows == 0 {
            return Ok(None);
        }
        self.length.learn(rows, bytes as u64, self.bytes as u64);
        let before = self.taken - rows as u64;
        let mut arrays = Vec::with_capacity(self.columns.len());
        for column in &mut self.columns {
            let array = column.finish(rows).map_err(|misfit| {
                let row = before + 1 + misfit.row.unwrap_or(0) as u64;
                misfit.at(&column.name, row)
            })?;
            arrays.push(array);
        }
        Ok(Some((arrays, rows)))
    }
}

/// The only statement of `sql`, if it returns rows.
fn only_statement<'d>(
    database: &'d Database,
    sql: &str,
    parameters: Option<&Parameters>,
) -> Result<SqliteStatement<'d>, Error> {
    let (first, mut rest) = super::parameters::prepare(database, sql, parameters)?;
    let statement = first.ok_or_else(|| usage("the query is empty"))?;
    if statement.columns() == 0 {
        return Err(Error::no_rows());
    }
    while !rest.is_empty() {
        let (next, after) = database.prepare(rest)?;
        if next.is_some() {
            return Err(Error::several_statements());
        }
        rest = after;
    }
    Ok(statement)
}

/// The columns of a statement that has made its first step.
fn columns(statement: &SqliteStatement<'_>, options: &QueryOptions) -> Result<Vec<ColumnBuilder>, Error> {
    let column = |index| {
        let (name, declaration) = (statement.name(index), statement.declared(index));
        let kind = ColumnKind::read(&name, declaration.as_deref(), options);
        ColumnBuilder::new(name, declaration, kind)
    };
    let columns: Vec<_> = (0..statement.columns()).map(column).collect();
    match options.as_text.iter().find(|name| columns.iter().all(|column| column.name != **name)) {
        Some(name) => Err(usage(format!("as_text names a column {name:?}, which the result does not have"))),
        None => Ok(columns),
    }
}

fn batch(schema: SchemaRef, arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, Error> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, arrays, &options)
        .map_err(|cause| Error::new(ErrorKind::Protocol, "the batch does not fit its schema").with_cause(cause))
}

fn usage(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, message)
}
