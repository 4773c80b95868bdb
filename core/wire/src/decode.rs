//! Decodes messages into columns.

mod bytes_column;
mod dictionary;
mod fixed;
mod integers;
mod nested;
mod node;
mod reader;
mod schema;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use zstd::zstd_safe::DCtx;

use crate::message::{HEADER_LEN, Header, MessageKind};
use crate::{Column, Damage, DecodeError, DecodeLimits, Encoding, Field, RequestedSize, Schema, checksum};
use node::Node;
use reader::{Budget, Reader};

/// Reads the messages of one stream in order and checks that they belong together.
pub struct Decoder {
    limits: DecodeLimits,
    requested: Option<RequestedSize>,
    schema: Option<Arc<Schema>>,
    /// Fields of the schema, including nested ones.
    fields: usize,
    chunks: u32,
    rows: u64,
    running: checksum::Running,
    totals: Option<Totals>,
}

/// One message of a stream.
#[derive(Debug)]
pub enum Message {
    /// The first message.
    Schema(Arc<Schema>),
    /// Rows.
    Chunk(EncodedChunk),
    /// The last message.
    End(Totals),
}

/// The totals of a whole stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Rows of all chunks.
    pub rows: u64,
    /// Number of chunks.
    pub chunks: u64,
}

impl Decoder {
    /// A decoder at the start of a stream.
    pub fn new(limits: DecodeLimits) -> Self {
        let running = checksum::Running::default();
        Self { limits, requested: None, schema: None, fields: 0, chunks: 0, rows: 0, running, totals: None }
    }

    /// The same for a reader that requested a size of chunks: larger ones are refused.
    #[must_use]
    pub fn requested(mut self, requested: RequestedSize) -> Self {
        self.requested = Some(requested);
        self
    }

    /// Decodes the next whole message.
    ///
    /// If `bytes` starts at a 64-byte aligned address, plain buffers are aligned slices of it without a copy, which
    /// keep `bytes` alive. Columns of a chunk are decoded later, by [`EncodedChunk::column`].
    ///
    /// # Errors
    ///
    /// The message is damaged, out of order or above the limits. The stream cannot be continued.
    pub fn message(&mut self, bytes: Bytes) -> Result<Message, DecodeError> {
        let header = Header::open(&bytes, &self.limits)?;
        if self.totals.is_some() {
            return Err(Damage::TrailingBytes.into());
        }
        let message = match (header.kind, &self.schema) {
            (MessageKind::Schema, None) => {
                let schema = Arc::new(schema::decode(&bytes[HEADER_LEN..])?);
                self.schema = Some(schema.clone());
                self.fields = schema.fields.iter().map(count).sum();
                Message::Schema(schema)
            }
            (MessageKind::Chunk, Some(schema)) => {
                if header.sequence != self.chunks {
                    return Err(Damage::Sequence { expected: self.chunks, found: header.sequence }.into());
                }
                let bound = self.bound(&header)?;
                let chunk = EncodedChunk::open(schema.clone(), &header, bytes, &self.limits, bound)?;
                self.chunks = self.chunks.wrapping_add(1);
                self.rows += u64::from(header.rows);
                Message::Chunk(chunk)
            }
            (MessageKind::End, Some(_)) => Message::End(self.end(&bytes[HEADER_LEN..])?),
            _ => return Err(Damage::OutOfPlace.into()),
        };
        self.running.push(header.checksum);
        Ok(message)
    }

    /// The limit for a chunk's body and buffers, if a size of chunks was requested and the chunk has more than one row.
    fn bound(&self, header: &Header) -> Result<Option<u64>, DecodeError> {
        let Some(requested) = self.requested else { return Ok(None) };
        let refused = |unit, declared, limit| Err(Damage::Unasked { unit, declared, limit }.into());
        if header.rows > requested.rows {
            return refused("rows", header.rows.into(), requested.rows.into());
        }
        // A row cannot be divided, so it may be as large as the reader's general limit.
        if header.rows == 1 {
            return Ok(None);
        }
        let most = requested.most(self.fields);
        if header.body_length > most {
            return refused("bytes", header.body_length, most);
        }
        Ok(Some(most))
    }

    fn end(&mut self, body: &[u8]) -> Result<Totals, DecodeError> {
        let mut reader = Reader::new(body);
        let (rows, chunks, checksum) = (reader.u64()?, reader.u64()?, reader.u64()?);
        reader.finish()?;
        if rows != self.rows || chunks != u64::from(self.chunks) || checksum != self.running.value() {
            return Err(Damage::Totals.into());
        }
        let totals = Totals { rows, chunks };
        self.totals = Some(totals);
        Ok(totals)
    }

    /// The totals of the stream.
    ///
    /// # Errors
    ///
    /// [`Damage::Truncated`] unless the end message was read.
    pub fn finish(&self) -> Result<Totals, DecodeError> {
        self.totals.ok_or_else(|| Damage::Truncated.into())
    }
}

/// A chunk that was received and checked as a whole. Its columns are still encoded.
#[derive(Debug)]
pub struct EncodedChunk {
    schema: Arc<Schema>,
    rows: usize,
    codec: u8,
    wire_bytes: usize,
    body: Bytes,
    starts: Vec<u32>,
    limit: u64,
    /// Whether the limit comes from the requested size of chunks.
    is_size_requested: bool,
    /// Bytes that each column has decoded to, and their sum, which stays below `limit`.
    charges: Vec<AtomicU64>,
    charged: AtomicU64,
}

impl EncodedChunk {
    fn open(
        schema: Arc<Schema>,
        header: &Header,
        message: Bytes,
        limits: &DecodeLimits,
        bound: Option<u64>,
    ) -> Result<Self, DecodeError> {
        let wire_bytes = message.len();
        let stored = message.slice(HEADER_LEN..);
        let length = header.body_length as usize;
        let body = match header.codec {
            0 => stored,
            1 => {
                let mut body = vec![0; length];
                match lz4_flex::block::decompress_into(&stored, &mut body) {
                    Ok(written) if written == length => Bytes::from(body),
                    _ => return Err(Damage::Compressed.into()),
                }
            }
            2 => {
                let mut body = vec![0; length];
                let whole = zstd::zstd_safe::find_frame_compressed_size(&stored) == Ok(stored.len());
                let mut context = DCtx::try_create().ok_or(Damage::OutOfMemory)?;
                match context.decompress(&mut body[..], &stored) {
                    Ok(written) if whole && written == length => Bytes::from(body),
                    _ => return Err(Damage::Compressed.into()),
                }
            }
            other => return Err(Damage::Codec(other).into()),
        };
        let columns = schema.fields.len();
        let mut reader = Reader::new(&body);
        let mut starts = Vec::with_capacity(columns.min(body.len() / 4) + 1);
        for _ in 0..columns {
            starts.push(reader.u32()?);
        }
        reader.align(8)?;
        let (first, end) = (reader.position(), body.len());
        let ascending = starts.windows(2).all(|pair| pair[0] < pair[1]);
        let aligned = starts.iter().all(|start| start % 8 == 0);
        let inside = starts.last().is_none_or(|&last| (last as usize) < end);
        if !ascending || !aligned || !inside || starts.first().map_or(end, |&start| start as usize) != first {
            return Err(Damage::Position.into());
        }
        starts.push(end as u32);
        let charges = (0..columns).map(|_| AtomicU64::new(0)).collect();
        Ok(Self {
            schema,
            rows: header.rows as usize,
            codec: header.codec,
            wire_bytes,
            body,
            starts,
            limit: limits.decoded_bytes.min(bound.unwrap_or(u64::MAX)),
            is_size_requested: bound.is_some(),
            charges,
            charged: AtomicU64::new(0),
        })
    }

    /// Rows of the chunk.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.schema.fields.len()
    }

    /// The stream's schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Bytes of the message that carried the chunk.
    pub fn wire_bytes(&self) -> usize {
        self.wire_bytes
    }

    /// Bytes of the encoded columns, which the chunk keeps.
    pub fn body_bytes(&self) -> usize {
        self.body.len()
    }

    /// The codec's name.
    pub fn codec(&self) -> &'static str {
        match self.codec {
            0 => "none",
            1 => "lz4",
            _ => "zstd",
        }
    }

    /// The encoding of a column's outermost node.
    ///
    /// # Panics
    ///
    /// If there is no such column.
    pub fn encoding(&self, column: usize) -> Encoding {
        Encoding::from_u8(self.body[self.starts[column] as usize]).unwrap_or(Encoding::Plain)
    }

    /// Decodes a column. May be called in any order, repeatedly, and from several threads.
    ///
    /// # Errors
    ///
    /// The column is damaged, or the chunk's columns together decode to more than the limit.
    ///
    /// # Panics
    ///
    /// If there is no such column.
    pub fn column(&self, column: usize) -> Result<Column<Bytes>, DecodeError> {
        self.decoded(column, false)
    }

    /// The same. But a column of texts or bytes that was sent as a dictionary stays one: its values are
    /// [`Values::Dictionary`](crate::Values::Dictionary), with indices of 32 bits. Entries may be repeated or unused.
    ///
    /// # Errors
    ///
    /// As for [`EncodedChunk::column`].
    ///
    /// # Panics
    ///
    /// If there is no such column.
    pub fn column_with_codes(&self, column: usize) -> Result<Column<Bytes>, DecodeError> {
        self.decoded(column, true)
    }

    fn decoded(&self, column: usize, keep_codes: bool) -> Result<Column<Bytes>, DecodeError> {
        let others = self.charged.load(Ordering::Relaxed).saturating_sub(self.charges[column].load(Ordering::Relaxed));
        let free =
            if self.is_size_requested { self.rows.saturating_mul(count(&self.schema.fields[column])) } else { 0 };
        let mut budget = Budget::new(self.limit, others, free as u64);
        let decoded = self.decode(column, keep_codes, &mut budget).map_err(|damage| {
            let damage = match damage {
                Damage::OverLimit { declared, limit } if self.is_size_requested => {
                    Damage::Unasked { unit: "bytes", declared, limit }
                }
                damage => damage,
            };
            DecodeError { damage, column: Some(column) }
        })?;
        let before = self.charges[column].swap(budget.used(), Ordering::Relaxed);
        self.charged.fetch_add(budget.used().wrapping_sub(before), Ordering::Relaxed);
        Ok(decoded)
    }

    fn decode(&self, column: usize, keep_codes: bool, budget: &mut Budget) -> Result<Column<Bytes>, Damage> {
        let mut reader = self.reader(column);
        let node = Node::read(&mut reader, self.rows, |other| self.bitmap(other, column))?;
        let field = &self.schema.fields[column];
        if !field.nullable && node.present_rows < self.rows {
            return Err(Damage::Nulls(1));
        }
        let decoded = node::decode(node, &mut reader, field, keep_codes, budget)?;
        reader.finish()?;
        Ok(decoded)
    }

    fn reader(&self, column: usize) -> Reader<'_> {
        Reader::shared(&self.body, self.starts[column] as usize, self.starts[column + 1] as usize)
    }

    /// The bitmap of the earlier column `column`, to which column `of` refers.
    fn bitmap(&self, column: usize, of: usize) -> Result<(Bytes, usize), Damage> {
        if column >= of {
            return Err(Damage::Position);
        }
        let nulls = Damage::Nulls(4);
        let node = Node::read(&mut self.reader(column), self.rows, |_| Err(nulls.clone()))?;
        node.validity.map(|validity| (validity, node.present_rows)).ok_or(nulls)
    }
}

/// The number of fields: this one and all nested ones.
fn count(field: &Field) -> usize {
    1 + field.children.iter().map(count).sum::<usize>()
}
