//! Shared by text and CSV: one CopyData message for each row, several of them in one write to the socket.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Fields, Schema};

use super::context::Context;
use crate::charset::Charset;
use crate::engine::Rows;
use crate::error::Failure;
use crate::message::backend;
use crate::value::{ColumnWriter, Unsupported, ValueError, with_database_type};

/// The schema of a result, with the engine's names of the types.
pub(crate) fn described_schema(rows: &dyn Rows) -> Schema {
    let schema = rows.schema();
    let names = rows.type_names().iter().map(Some).chain(std::iter::repeat(None));
    let fields = schema.fields().iter().zip(names).map(|(field, name)| match name {
        Some(name) => Arc::new(with_database_type(field, name)),
        None => Arc::clone(field),
    });
    Schema::new(fields.collect::<Fields>())
}

/// A writer for each column of a batch.
pub(crate) fn column_writers<'a>(
    schema: &Schema,
    batch: &'a RecordBatch,
    format: &'static str,
) -> Result<Vec<ColumnWriter<'a>>, Unsupported> {
    let pairs = schema.fields().iter().zip(batch.columns());
    pairs.map(|(field, array)| ColumnWriter::new(field, array.as_ref(), format)).collect()
}

/// Refuses a result with a column that the format cannot carry. It is called before anything is sent.
pub(crate) fn check(schema: &Schema, format: &'static str) -> Result<(), Unsupported> {
    for field in schema.fields() {
        let empty = arrow_array::new_empty_array(field.data_type());
        ColumnWriter::new(field, empty.as_ref(), format)?;
    }
    Ok(())
}

/// Sends every row as one CopyData message, which `line` writes in UTF-8. `charset` is that of the data, if they are not
/// UTF-8. The protocol allows other boundaries, but clients that
/// read row by row depend on PostgreSQL's: one row in each message.
pub(crate) fn write(
    context: &mut Context<'_>,
    schema: &Schema,
    format: &'static str,
    charset: Option<Charset>,
    mut line: impl FnMut(&[ColumnWriter<'_>], usize, &mut Vec<u8>) -> Result<(), ValueError>,
) -> Result<u64, Failure> {
    let mut sent = 0;
    while let Some(batch) = context.next()? {
        let columns = column_writers(schema, &batch, format)?;
        for row in 0..batch.num_rows() {
            let buffer = context.output.buffer();
            let (start, mut result) = (buffer.len(), Ok(()));
            backend::message(buffer, b'd', |out| result = line(&columns, row, out));
            if let Err(error) = finish_line(buffer, start, charset, result) {
                buffer.truncate(start);
                return Err(error);
            }
            context.output.flush_if_full()?;
        }
        context.output.flush()?;
        sent += batch.num_rows() as u64;
    }
    Ok(sent)
}

/// Sends a header in a message of its own, which `line` writes in UTF-8.
pub(crate) fn write_header(
    context: &mut Context<'_>,
    charset: Option<Charset>,
    line: impl FnOnce(&mut Vec<u8>),
) -> Result<(), Failure> {
    let buffer = context.output.buffer();
    let start = buffer.len();
    backend::message(buffer, b'd', line);
    let finished = finish_line(buffer, start, charset, Ok(()));
    if finished.is_err() {
        buffer.truncate(start);
    }
    finished
}

/// Converts the message that begins at `start`.
fn finish_line(
    out: &mut Vec<u8>,
    start: usize,
    charset: Option<Charset>,
    written: Result<(), ValueError>,
) -> Result<(), Failure> {
    written?;
    Ok(charset.map_or(Ok(()), |charset| charset.encode_message(out, start))?)
}
