//! `FORMAT arrow`: an Arrow IPC stream in CopyData messages (Arrow Columnar Format, "IPC Streaming Format").

use arrow_ipc::writer::StreamWriter;
use arrow_schema::Schema;

use super::context::Context;
use crate::error::Failure;
use crate::message::backend;

pub(super) fn check(schema: &Schema) -> Result<(), Failure> {
    StreamWriter::try_new(Vec::new(), schema)?;
    Ok(())
}

pub(super) fn write(
    context: &mut Context<'_>,
    schema: &Schema,
    response: impl FnOnce(&mut Context<'_>),
) -> Result<u64, Failure> {
    let mut writer = StreamWriter::try_new(Vec::new(), schema)?;
    response(context);
    send(context, writer.get_mut())?;
    let mut sent = 0;
    while let Some(batch) = context.next()? {
        writer.write(&batch)?;
        send(context, writer.get_mut())?;
        sent += batch.num_rows() as u64;
    }
    writer.finish()?;
    send(context, writer.get_mut())?;
    Ok(sent)
}

/// Sends the bytes in `written` and clears it.
fn send(context: &mut Context<'_>, written: &mut Vec<u8>) -> Result<(), Failure> {
    /// The largest message, in bytes. A larger batch is sent in several.
    const MAX_MESSAGE_BYTES: usize = 1 << 30;
    for part in written.chunks(MAX_MESSAGE_BYTES) {
        if let Some(header) = backend::copy_data_header(part.len()) {
            context.output.send(&[&header, part])?;
        }
    }
    written.clear();
    Ok(())
}
