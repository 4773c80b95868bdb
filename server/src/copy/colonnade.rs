//! `FORMAT colonnade`: each CopyData message carries one message of the stream (FORMAT.md, PROTOCOL.md).

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use colonnade_wire::arrow::{columns_from_batch, rows_per_chunk, schema_from_arrow};
use colonnade_wire::{Controller, Encoder, Writer};

use super::Context;
use super::options::ColonnadeOptions;
use crate::error::Failure;
use crate::message::backend;

pub(super) fn write(
    context: &mut Context<'_>,
    schema: &Schema,
    options: &ColonnadeOptions,
    response: impl FnOnce(&mut Context<'_>),
) -> Result<u64, Failure> {
    let encoder = Encoder::new(schema_from_arrow(schema)?).allow(options.encodings, options.codecs);
    let controller = match options.compression {
        Some(config) => Controller::fixed(config),
        None => Controller::auto(context.output.link()),
    };
    response(context);
    let mut stream = Stream { context, options, writer: Writer::new(encoder, controller) };
    let message = stream.writer.encoder().schema_message();
    stream.send(&[&message], 1)?;
    let mut sent = 0;
    while let Some(batch) = stream.context.next()? {
        stream.batch(&batch)?;
        sent += batch.num_rows() as u64;
    }
    let message = stream.writer.encoder().end_message();
    stream.send(&[&message], 1)?;
    Ok(sent)
}

/// Directory, node and alignment of a column take less.
const COLUMN_OVERHEAD: usize = 512;

struct Stream<'s, 'c> {
    context: &'s mut Context<'c>,
    options: &'s ColonnadeOptions,
    writer: Writer,
}

impl Stream<'_, '_> {
    /// Sends a batch in chunks of equal rows. Where rows differ much in size, a part can still be too large; it is
    /// cut further, down to one row.
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let rows = batch.num_rows();
        // What a message has besides its columns' buffers must fit into the limit, too.
        let overhead = (batch.num_columns() + 1) * COLUMN_OVERHEAD;
        let most = self.options.max_message_bytes.saturating_sub(overhead).max(1);
        let bytes = self.options.chunk_bytes.min(most);
        let step = rows_per_chunk(batch, self.options.chunk_rows, bytes);
        if step >= rows {
            return self.chunk(batch);
        }
        for start in (0..rows).step_by(step.max(1)) {
            self.batch(&batch.slice(start, step.min(rows - start)))?;
        }
        Ok(())
    }

    fn chunk(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        self.context.control.check()?;
        let chunk = self.writer.chunk(batch.num_rows(), &columns_from_batch(batch))?;
        self.send(&chunk.slices(), batch.num_rows())?;
        self.writer.recycle(chunk);
        Ok(())
    }

    fn send(&mut self, message: &[&[u8]], rows: usize) -> Result<(), Failure> {
        let bytes = message.iter().map(|slice| slice.len()).sum();
        let limit = self.options.max_message_bytes;
        let header = backend::copy_data_header(bytes).filter(|_| bytes <= limit);
        let Some(header) = header else { return Err(Failure::MessageTooLarge { bytes, rows, limit }) };
        let slices: Vec<&[u8]> = std::iter::once(&header[..]).chain(message.iter().copied()).collect();
        self.context.output.send(&slices)?;
        Ok(())
    }
}
