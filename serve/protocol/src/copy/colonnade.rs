//! `FORMAT colonnade`: each CopyData message carries one message of the stream (FORMAT.md, PROTOCOL.md).

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use colonnade_wire::arrow::{BatchColumns, rows_per_part, schema_from_arrow};
use colonnade_wire::{Chunk, Controller, Encoder, Link, Queue, Writer};

use super::context::Context;
use super::options::StreamOptions;
use crate::connection::sender::{ChunkMessage, Sender};
use crate::error::Failure;
use crate::message::backend;

pub(super) fn check(schema: &Schema) -> Result<(), Failure> {
    schema_from_arrow(schema)?;
    Ok(())
}

pub(super) fn write(
    context: &mut Context<'_>,
    schema: &Schema,
    options: &StreamOptions,
    response: impl FnOnce(&mut Context<'_>),
) -> Result<u64, Failure> {
    let encoder = Encoder::new(schema_from_arrow(schema)?).allow(options.encodings, options.codecs);
    let controller = match options.compression {
        Some(config) => Controller::fixed(config),
        None => adaptive_controller(context, options),
    };
    response(context);
    let mut stream = Stream { context, options, writer: Writer::new(encoder, controller), sender: None };
    stream.begin()?;
    let mut sent = 0;
    while let Some(batch) = stream.context.next()? {
        stream.send_batch(&batch)?;
        sent += batch.num_rows() as u64;
    }
    stream.end()?;
    Ok(sent)
}

/// A controller that begins with the session's estimate of the link, if there is one.
fn adaptive_controller(context: &Context<'_>, options: &StreamOptions) -> Controller {
    let socket = context.output.socket();
    let link = match socket.link() {
        Link::Remote if socket.tcp().and_then(colonnade_tcp::queue).is_none() => Link::Unobserved,
        link => link,
    };
    let controller = Controller::auto(link, options.codecs, context.encode_cpu).overlapped();
    match &context.link_estimate {
        Some(estimate) => controller.remembering(estimate),
        None => controller,
    }
}

/// An upper bound of the bytes of a column's directory entry, node and alignment in a message.
const COLUMN_OVERHEAD: usize = 512;

struct Stream<'s, 'c> {
    context: &'s mut Context<'c>,
    options: &'s StreamOptions,
    writer: Writer,
    /// Sends a chunk while the next one is encoded. Plain chunks need no encoding and are written from the engine's
    /// buffers, so a plain stream has no sender.
    sender: Option<Sender>,
}

impl Stream<'_, '_> {
    fn begin(&mut self) -> Result<(), Failure> {
        let message = self.writer.encoder().schema_message();
        self.send_now(&[&message], 0)?;
        if self.writer.watches_link()
            && let Some(stream) = self.context.output.socket().tcp()
        {
            colonnade_tcp::limit_unsent(stream);
        }
        if !self.writer.is_plain() {
            self.sender = Some(Sender::start(self.context.output.sibling())?);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Failure> {
        if let Some(sender) = self.sender.take() {
            sender.finish()?;
        }
        if let Some(estimate) = self.writer.link_estimate() {
            *self.context.link_estimate = Some(estimate);
        }
        let message = self.writer.encoder().end_message();
        self.send_now(&[&message], 0)
    }

    /// Sends a batch in chunks. The controller's present share limits their size.
    fn send_batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let mut start = 0;
        while start < batch.num_rows() {
            let part = self.next_part(batch.slice(start, batch.num_rows() - start));
            self.send_chunk(&part)?;
            start += part.num_rows();
        }
        Ok(())
    }

    /// The first rows of `batch` that make one chunk. The number of rows follows from the average size of a row. If the
    /// first rows are larger than the average, the part is reduced again, down to one row.
    fn next_part(&mut self, mut batch: RecordBatch) -> RecordBatch {
        // The limit on messages includes more than the columns' buffers.
        let overhead = (batch.num_columns() + 1) * COLUMN_OVERHEAD;
        let most = self.options.max_message_bytes.saturating_sub(overhead).max(1);
        let share = self.writer.share();
        let part = |whole: usize| ((whole as f64 * share) as usize).max(1);
        let (rows, bytes) = (part(self.options.chunk_rows), part(self.options.chunk_bytes.min(most)));
        loop {
            let schema = self.writer.encoder().schema();
            let plain_bytes = BatchColumns::of(schema, &batch).plain_bytes(schema, bytes);
            let step = rows_per_part((batch.num_rows(), plain_bytes), rows, bytes);
            if step >= batch.num_rows() {
                return batch;
            }
            batch = batch.slice(0, step);
        }
    }

    fn send_chunk(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        self.context.control.check()?;
        let rows = batch.num_rows();
        if let Some(chunk) = self.sender.as_mut().and_then(Sender::take_written) {
            self.writer.recycle(chunk);
        }
        let columns = BatchColumns::of(self.writer.encoder().schema(), batch);
        let chunk = self.writer.chunk_of(rows, &columns.inputs())?;
        if self.sender.is_some() {
            return self.send_in_background(chunk.into_owned());
        }
        self.send_now(&chunk.slices(), rows)?;
        self.writer.recycle(chunk);
        Ok(())
    }

    fn send_in_background(&mut self, chunk: Chunk<'static>) -> Result<(), Failure> {
        let (bytes, header) = (chunk.len(), self.header(chunk.len(), chunk.rows())?);
        let Some(sender) = &mut self.sender else { return Ok(()) };
        let (writer, socket, control) = (&mut self.writer, self.context.output.socket(), self.context.control);
        let mut report_queue = |sender: &Sender, sent_bytes: usize| {
            if let Some(queue) = socket.tcp().filter(|_| writer.watches_link()).and_then(colonnade_tcp::queue) {
                let (is_held, sending) = sender.progress();
                writer.link(sent_bytes, &Queue { is_held, sending, ..queue });
            }
        };
        report_queue(sender, 0);
        sender.send(ChunkMessage { header, chunk }, |sender| {
            report_queue(sender, 0);
            control.check()
        })?;
        report_queue(sender, bytes);
        Ok(())
    }

    /// Sends a message on this thread. The sender must not be writing at that time.
    fn send_now(&mut self, message: &[&[u8]], rows: usize) -> Result<(), Failure> {
        let header = self.header(message.iter().map(|slice| slice.len()).sum(), rows)?;
        let slices: Vec<&[u8]> = std::iter::once(&header[..]).chain(message.iter().copied()).collect();
        Ok(self.context.output.send(&slices)?)
    }

    fn header(&self, bytes: usize, rows: usize) -> Result<[u8; 5], Failure> {
        let limit = self.options.max_message_bytes;
        let header = backend::copy_data_header(bytes).filter(|_| bytes <= limit);
        header.ok_or(Failure::MessageTooLarge { bytes, rows, limit })
    }
}
