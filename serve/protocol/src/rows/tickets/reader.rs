//! Reads parts of a spooled result: as they are in the file, or decoded into batches.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_buffer::MutableBuffer;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use colonnade_wire::arrow::{array_from_column, schema_to_arrow};
use colonnade_wire::{DecodeLimits, Decoder, EncodedChunk, EncodingSet, Level, Link, Message};

use super::spooled::KeptForm;
use super::{CHUNK, Part, Spooled};
use crate::connection::cancel::Control;
use crate::connection::output::Output;
use crate::copy::options::StreamOptions;
use crate::engine::{EngineError, Rows};
use crate::error::{Failure, SqlState};

/// The bytes of CopyData before its payload.
const FRAME: u64 = 5;
/// The server wrote the file itself, so only the protocol's own limit holds.
const LIMITS: DecodeLimits = DecodeLimits { message_bytes: i32::MAX as u64, decoded_bytes: u64::MAX };

impl KeptForm {
    /// Whether a reader with these options gets the chunks of `part` as they are. `link` is the distance to the reader:
    /// for one on another machine, the controller encodes the chunks for its link.
    pub fn suits(&self, part: &Part, options: &StreamOptions, link: Link) -> bool {
        let is_wanted = match options.compression {
            None => matches!(link, Link::SameMachine | Link::Loopback),
            Some(config) => config == self.config,
        };
        // A chunk may be a little larger than requested, because its rows follow from the average size of a row.
        let is_small = options.chunk_bytes >= CHUNK.bytes || part.max_plain_bytes <= options.chunk_bytes;
        is_wanted
            && (self.config.level == Level::Plain || options.encodings == EncodingSet::ALL)
            && options.codecs.contains(self.config.codec)
            && is_small
            && part.max_rows <= options.chunk_rows
            && part.max_message_bytes <= options.max_message_bytes
    }
}

/// Sends the messages of a part as they are in the file. After an error, the client has received complete messages
/// only.
///
/// # Errors
/// If the statement is to be stopped, or the file or the socket fails.
pub fn send(output: &mut Output, control: &Control, file: &File, part: &Part) -> Result<(), Failure> {
    output.flush()?;
    let end = part.start + part.length;
    let mut at = part.start;
    while at < end {
        control.check()?;
        let length = 1 + u64::from(message_length(file, at)?);
        output.send_file(file, at, length)?;
        at += length;
    }
    Ok(())
}

/// The length of the CopyData message at `at`, without its first byte.
fn message_length(file: &File, at: u64) -> Result<u32, Failure> {
    let mut header = [0; FRAME as usize];
    file.read_exact_at(&mut header, at).map_err(unreadable)?;
    let [_, a, b, c, d] = header;
    Ok(u32::from_be_bytes([a, b, c, d]))
}

fn unreadable(error: io::Error) -> Failure {
    EngineError::new(SqlState::IO_ERROR, format!("cannot read a spooled result: {error}")).into()
}

/// The columns and rows that a reader asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The numbers of the columns, from 0, in the reader's order; `None` is all.
    pub columns: Option<Vec<usize>>,
    /// The largest number of rows.
    pub limit: Option<u64>,
}

impl Selection {
    /// Whether it is everything.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

/// Decodes parts that follow one another. For readers that cannot take their chunks as they are or want less of them,
/// and for the other formats of COPY.
pub struct PartReader {
    spooled: Arc<Spooled>,
    parts: std::vec::IntoIter<Part>,
    decoder: Decoder,
    /// The columns of the reader.
    schema: SchemaRef,
    type_names: Vec<String>,
    columns: Option<Vec<usize>>,
    /// The rows that are left; `None` is all.
    left: Option<u64>,
    at: u64,
    end: u64,
}

impl PartReader {
    /// Begins to read parts, of which there is at least one.
    ///
    /// # Errors
    /// If the file cannot be read, or there is no such column.
    pub fn new(spooled: &Arc<Spooled>, parts: Vec<Part>, selection: Selection) -> Result<Self, Failure> {
        let mut reader = Self {
            spooled: Arc::clone(spooled),
            parts: parts.into_iter(),
            decoder: Decoder::new(LIMITS),
            schema: Arc::new(arrow_schema::Schema::empty()),
            type_names: spooled.form().map_or_else(Vec::new, |form| form.type_names.clone()),
            columns: None,
            left: selection.limit,
            at: 0,
            end: 0,
        };
        reader.begin_part();
        if let Some(Message::Schema(schema)) = reader.message()? {
            reader.schema = Arc::new(schema_to_arrow(&schema));
        }
        if let Some(columns) = selection.columns {
            reader.choose(columns)?;
        }
        Ok(reader)
    }

    /// Restricts the columns.
    fn choose(&mut self, columns: Vec<usize>) -> Result<(), Failure> {
        let count = self.schema.fields().len();
        if let Some(odd) = columns.iter().find(|column| **column >= count) {
            let message = format!("column {} does not exist", odd.saturating_add(1));
            let hint = Some(format!("The columns are 1 to {count}."));
            return Err(EngineError { hint, ..EngineError::new(SqlState::UNDEFINED_COLUMN, message) }.into());
        }
        self.schema = Arc::new(self.schema.project(&columns)?);
        if self.type_names.len() == count {
            self.type_names = columns.iter().map(|column| self.type_names[*column].clone()).collect();
        }
        self.columns = Some(columns);
        Ok(())
    }

    /// Goes to the next part. Says whether there is one.
    fn begin_part(&mut self) -> bool {
        let Some(part) = self.parts.next() else { return false };
        (self.at, self.end) = (part.start, part.start + part.length);
        self.decoder = Decoder::new(LIMITS);
        true
    }

    fn message(&mut self) -> Result<Option<Message>, Failure> {
        if self.at >= self.end {
            return Ok(None);
        }
        let length = u64::from(message_length(&self.spooled.file, self.at)?);
        // Aligned, so that plain columns are slices of it (FORMAT §3).
        let mut message = MutableBuffer::from_len_zeroed(length.saturating_sub(4) as usize);
        self.spooled.file.read_exact_at(&mut message, self.at + FRAME).map_err(unreadable)?;
        self.at += 1 + length;
        let message = self.decoder.message(Bytes::from_owner(Owned(message))).map_err(damaged)?;
        Ok(Some(message))
    }

    fn batch(&self, chunk: &EncodedChunk) -> Result<RecordBatch, Failure> {
        let array = |at: usize| Ok(array_from_column(&chunk.schema().fields[at], chunk.column(at).map_err(damaged)?));
        let arrays = match &self.columns {
            None => (0..chunk.columns()).map(array).collect::<Result<Vec<_>, Failure>>()?,
            Some(columns) => columns.iter().copied().map(array).collect::<Result<Vec<_>, Failure>>()?,
        };
        let options = RecordBatchOptions::new().with_row_count(Some(chunk.rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, Failure> {
        while self.left != Some(0) {
            match self.message()? {
                Some(Message::Chunk(chunk)) => {
                    let batch = self.batch(&chunk)?;
                    let Some(left) = &mut self.left else { return Ok(Some(batch)) };
                    let rows = usize::try_from(*left).map_or(batch.num_rows(), |left| left.min(batch.num_rows()));
                    *left -= rows as u64;
                    return Ok(Some(batch.slice(0, rows)));
                }
                Some(_) => {}
                None => {
                    self.decoder.finish().map_err(damaged)?;
                    if !self.begin_part() {
                        return Ok(None);
                    }
                }
            }
        }
        Ok(None)
    }
}

/// A buffer as an owner of bytes.
struct Owned(MutableBuffer);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

fn damaged(error: colonnade_wire::DecodeError) -> Failure {
    EngineError::new(SqlState::IO_ERROR, format!("a spooled result is damaged: {error}")).into()
}

impl Rows for PartReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn type_names(&self) -> &[String] {
        &self.type_names
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        self.next_batch().map_err(EngineError::from)
    }
}
