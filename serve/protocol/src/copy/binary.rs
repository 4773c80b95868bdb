//! COPY's binary format (PostgreSQL manual, COPY, "Binary Format").

use arrow_schema::Schema;

use super::context::Context;
use super::lines;
use crate::charset::values::RowEncoder;
use crate::error::Failure;
use crate::message::backend::{self, MESSAGE_HEADER};
use crate::value::{ColumnWriter, Unsupported};

const FORMAT: &str = "FORMAT binary";

/// The signature, no flags, no header extension.
const HEADER: [u8; 19] = *b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// Ends the data. It stands where a row has its number of columns.
const TRAILER: i16 = -1;

pub(super) fn write(
    context: &mut Context<'_>,
    schema: &Schema,
    response: impl FnOnce(&mut Context<'_>),
) -> Result<u64, Failure> {
    response(context);
    // As in PostgreSQL, the header is in the message of the first row.
    let mut header = &HEADER[..];
    let count = (schema.fields().len() as i16).to_be_bytes();
    let mut sent = 0;
    while let Some(batch) = context.next()? {
        let columns = lines::column_writers(schema, &batch, FORMAT)?;
        let charset = context.output.encoding().charset();
        let mut encoder = charset.map(|charset| RowEncoder::new(charset, columns.iter().map(ColumnWriter::binary_oid)));
        for row in 0..batch.num_rows() {
            let buffer = context.output.buffer();
            let (start, first) = (buffer.len(), buffer.len() + MESSAGE_HEADER + header.len());
            let mut written = Ok(());
            backend::message(buffer, b'd', |out| {
                out.extend_from_slice(std::mem::take(&mut header));
                out.extend_from_slice(&count);
                written = columns.iter().try_for_each(|column| column.write_binary(row, out));
            });
            let mut result = written.map_err(Failure::from);
            if let (Some(encoder), Ok(())) = (&mut encoder, &result) {
                result = encoder.encode(buffer, start, first).map_err(Failure::from);
            }
            if let Err(error) = result {
                buffer.truncate(start);
                return Err(error);
            }
            context.output.flush_if_full()?;
        }
        context.output.flush()?;
        sent += batch.num_rows() as u64;
    }
    backend::message(context.output.buffer(), b'd', |out| {
        out.extend_from_slice(header);
        out.extend_from_slice(&TRAILER.to_be_bytes());
    });
    Ok(sent)
}

pub(super) fn check(schema: &Schema) -> Result<(), Failure> {
    for field in schema.fields() {
        let empty = arrow_array::new_empty_array(field.data_type());
        if ColumnWriter::new(field, empty.as_ref(), FORMAT)?.binary_oid().is_none() {
            return Err(Unsupported::new(field, FORMAT).into());
        }
    }
    Ok(())
}
