//! Rows of a query: RowDescription and DataRow messages.

mod fetch;
pub(crate) mod scroll;
pub(crate) mod spool;
pub(crate) mod tickets;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use crate::charset::values::RowEncoder;
use crate::connection::cancel::Control;
use crate::connection::output::Output;
use crate::copy::lines;
use crate::engine::{EngineError, Rows};
use crate::error::{ClientError, Failure, SqlState};
use crate::limits::{Budget, Charged, LimitError};
use crate::message::backend::{self, MESSAGE_HEADER, Messages};
use crate::rows::scroll::ScrollRows;
use crate::rows::spool::Spool;
use crate::value::oid::{self, ColumnOrigin, TypeInfo};
use crate::value::types::{Type, TypeKind};
use crate::value::{ColumnWriter, TextStyle, Unsupported, ValueError};

pub use fetch::Receiver;

/// The names of the formats, for error messages.
const TEXT: &str = "a text result";
const BINARY: &str = "a binary result";
const NULL: [u8; 4] = (-1i32).to_be_bytes();

/// The most columns of a result as rows, as in PostgreSQL (`MaxTupleAttributeNumber`).
pub const MAX_COLUMNS: usize = 1664;

/// A result with more columns than its form has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("target lists can have at most {limit} entries, and this result has {count} columns")]
pub struct TooManyColumns {
    /// The result's columns.
    pub count: usize,
    /// The limit.
    pub limit: usize,
}

impl ClientError for TooManyColumns {
    fn code(&self) -> SqlState {
        SqlState::TOO_MANY_COLUMNS
    }

    fn hint(&self) -> Option<String> {
        let hint =
            "Select fewer columns, or read them by COPY (…) TO STDOUT (FORMAT colonnade), as colonnade.read_sql does.";
        (self.limit == MAX_COLUMNS).then(|| hint.to_owned())
    }
}

/// The largest row in bytes: PostgreSQL's limit (`MaxAllocSize`), which clients rely on.
const MAX_ROW_BYTES: usize = (1 << 30) - 1;

/// Which columns are sent in binary: none, all, or each by its own code, as in Bind.
#[derive(Clone, Debug, Default)]
pub struct Formats(Vec<i16>);

impl Formats {
    /// From Bind's format codes, 0 for text and 1 for binary.
    pub fn new(codes: Vec<i16>) -> Self {
        Self(codes)
    }

    fn is_binary(&self, column: usize) -> bool {
        let code = if self.0.len() == 1 { self.0.first() } else { self.0.get(column) };
        code == Some(&1)
    }
}

/// Appends RowDescription for columns with these names, types and origins.
pub fn describe(
    out: &mut Messages,
    columns: &[(String, Type)],
    origins: &[ColumnOrigin],
    formats: &Formats,
) -> Result<(), Failure> {
    check_count(columns.len())?;
    if let Some((name, type_)) = columns.iter().find(|(_, type_)| type_.kind == TypeKind::Unsupported) {
        let (column, data_type) = (name.clone(), type_.name.clone());
        return Err(Unsupported { column, data_type, format: TEXT }.into());
    }
    let columns = columns.iter().enumerate();
    let columns =
        columns.map(|(at, (name, type_))| (name.as_str(), origin(origins, at), type_.info(), formats.code(at)));
    Ok(backend::row_description(out, columns)?)
}

fn origin(origins: &[ColumnOrigin], column: usize) -> ColumnOrigin {
    origins.get(column).copied().unwrap_or_default()
}

impl Formats {
    fn code(&self, column: usize) -> i16 {
        i16::from(self.is_binary(column))
    }
}

fn check_count(count: usize) -> Result<(), Failure> {
    if count > MAX_COLUMNS { Err(TooManyColumns { count, limit: MAX_COLUMNS }.into()) } else { Ok(()) }
}

/// A result that the client reads in parts.
pub struct Cursor {
    rows: Box<dyn Rows>,
    schema: Schema,
    origins: Vec<ColumnOrigin>,
    rest: Option<Charged<RecordBatch>>,
    /// Whether the last batch was read.
    has_ended: bool,
    is_set_aside: bool,
    /// The number of rows that were read.
    position: u64,
    /// All rows, if it can move back. They take the place of `rows`.
    scroll: Option<Box<ScrollRows>>,
}

/// The number of rows that were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentRows {
    All(u64),
    /// The requested number. The result may have more rows.
    Some(u64),
}

impl Cursor {
    /// Starts before the first row.
    ///
    /// # Errors
    /// If a column cannot be sent in its format.
    pub fn new(rows: Box<dyn Rows>, formats: &Formats) -> Result<Self, Failure> {
        let schema = lines::described_schema(rows.as_ref());
        check_count(schema.fields().len())?;
        lines::check(&schema, TEXT)?;
        let (origins, rest, scroll, position) = (rows.origins().to_vec(), None, None, 0);
        let cursor = Self { rows, schema, origins, rest, has_ended: false, is_set_aside: false, position, scroll };
        cursor.check(formats)?;
        Ok(cursor)
    }

    /// Fails if a column cannot be sent in its format.
    pub fn check(&self, formats: &Formats) -> Result<(), Failure> {
        for (at, field) in self.schema.fields().iter().enumerate() {
            let empty = arrow_array::new_empty_array(field.data_type());
            if formats.is_binary(at) && ColumnWriter::new(field, empty.as_ref(), BINARY)?.binary_oid().is_none() {
                return Err(Unsupported::new(field, BINARY).into());
            }
        }
        Ok(())
    }

    /// Appends RowDescription.
    ///
    /// # Errors
    /// If the client's encoding does not have a character of a name.
    pub fn describe(&self, out: &mut Messages, formats: &Formats) -> Result<(), Failure> {
        let columns = self.schema.fields().iter().enumerate();
        let columns = columns
            .map(|(at, field)| (field.name().as_str(), origin(&self.origins, at), oid::of(field), formats.code(at)));
        Ok(backend::row_description(out, columns)?)
    }

    /// The names and types of the columns.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = (&str, TypeInfo)> {
        self.schema.fields().iter().map(|field| (field.name().as_str(), oid::of(field)))
    }

    pub fn send(
        &mut self,
        output: &mut Output,
        control: &Control,
        formats: &Formats,
        style: TextStyle,
        limit: Option<u64>,
    ) -> Result<SentRows, Failure> {
        let mut sent = 0;
        while limit.is_none_or(|limit| sent < limit) {
            let Some(batch) = self.next(control)? else { return Ok(SentRows::All(sent)) };
            let count = self.take_rows(&control.budget, &batch, limit.map(|limit| limit - sent))?;
            self.write(output, &batch, 0..count, formats, style)?;
            sent += count as u64;
            if limit.is_none() {
                // Rows are sent before the engine computes the next ones.
                output.flush()?;
            }
        }
        Ok(SentRows::Some(sent))
    }

    /// The next batch that has rows.
    pub fn next(&mut self, control: &Control) -> Result<Option<RecordBatch>, Failure> {
        if let Some(rest) = self.rest.take() {
            return Ok(Some(RecordBatch::clone(&rest)));
        }
        if let Some(scroll) = &mut self.scroll {
            control.check()?;
            return scroll.next(&control.budget);
        }
        while !self.has_ended {
            control.check()?;
            match self.rows.next() {
                Ok(Some(batch)) if batch.num_rows() == 0 => {}
                Ok(Some(batch)) => return Ok(Some(batch)),
                Ok(None) => self.has_ended = true,
                // An interrupted engine fails. The reason of the interrupt says more than its error.
                Err(error) => return Err(interrupted(control, error)),
            }
        }
        Ok(None)
    }

    /// Skips at most `limit` rows. Gives their number.
    pub fn skip(&mut self, control: &Control, limit: Option<u64>) -> Result<u64, Failure> {
        let mut skipped = 0;
        while limit.is_none_or(|limit| skipped < limit) {
            let Some(batch) = self.next(control)? else { break };
            skipped += self.take_rows(&control.budget, &batch, limit.map(|limit| limit - skipped))? as u64;
        }
        Ok(skipped)
    }

    /// The number of rows of `batch` to use now. The other rows are kept for the next call.
    fn take_rows(
        &mut self,
        budget: &Arc<Budget>,
        batch: &RecordBatch,
        wanted: Option<u64>,
    ) -> Result<usize, LimitError> {
        let wanted = wanted.and_then(|wanted| usize::try_from(wanted).ok()).unwrap_or(usize::MAX);
        let count = wanted.min(batch.num_rows());
        self.position += count as u64;
        if count < batch.num_rows() {
            let rest = batch.slice(count, batch.num_rows() - count);
            self.rest = Some(budget.keep(rest, batch.get_array_memory_size())?);
        }
        Ok(count)
    }

    /// Writes the remaining rows to a file, so that the engine can run another statement.
    pub fn set_aside(&mut self, control: &Control) -> Result<(), Failure> {
        if self.is_set_aside || self.has_ended || self.scroll.is_some() {
            return Ok(());
        }
        let (schema, names) = (self.rows.schema(), self.rows.type_names().to_vec());
        let spool = Spool::write(&control.spools, &control.budget, schema, names, || self.next(control))?;
        self.rows = Box::new(spool);
        self.has_ended = false;
        self.is_set_aside = true;
        Ok(())
    }

    fn write(
        &self,
        output: &mut Output,
        batch: &RecordBatch,
        rows: impl Iterator<Item = usize>,
        formats: &Formats,
        style: TextStyle,
    ) -> Result<(), Failure> {
        let columns = lines::column_writers(&self.schema, batch, TEXT)?;
        let fields = (columns.len() as i16).to_be_bytes();
        let mut encoder = output.encoding().charset().map(|charset| {
            let of_type =
                |(at, column): (usize, &ColumnWriter<'_>)| column.binary_oid().filter(|_| formats.is_binary(at));
            RowEncoder::new(charset, columns.iter().enumerate().map(of_type))
        });
        for row in rows {
            let buffer = output.buffer();
            let start = buffer.len();
            let mut written = Ok(());
            backend::message(buffer, b'D', |out| {
                out.extend_from_slice(&fields);
                for (at, column) in columns.iter().enumerate() {
                    if written.is_ok() {
                        written = if formats.is_binary(at) {
                            column.write_binary(row, out)
                        } else {
                            text(column, row, style, out)
                        };
                    }
                }
            });
            let mut encoded = Ok(());
            if let (Some(encoder), Ok(())) = (&mut encoder, &written) {
                encoded = encoder.encode(buffer, start, start + MESSAGE_HEADER);
            }
            if buffer.len() - start > MAX_ROW_BYTES {
                written = Err(ValueError::TooLarge { format: "a row" });
            }
            // A failure is made for the last row only: it is large, and this loop is short.
            if written.is_err() || encoded.is_err() {
                buffer.truncate(start);
                written?;
                encoded?;
            }
            output.flush_if_full()?;
        }
        Ok(())
    }
}

/// Why a result ended early: the reason of the interrupt, if there was one, or else the error.
pub fn interrupted(control: &Control, error: EngineError) -> Failure {
    control.check().err().unwrap_or_else(|| error.into())
}

fn text(column: &ColumnWriter<'_>, row: usize, style: TextStyle, out: &mut Vec<u8>) -> Result<(), ValueError> {
    if column.is_null(row) {
        out.extend_from_slice(&NULL);
        return Ok(());
    }
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    column.write_text(row, style, out)?;
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}
