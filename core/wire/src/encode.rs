//! Encodes columns into messages.

mod body;
mod bytes_column;
mod chunk;
mod codec;
mod column;
mod column_input;
mod dictionary;
mod fixed;
mod floats;
mod fsst;
mod integers;
mod nested;
mod nulls;
mod retry;
mod sample;
mod schema;

use std::time::Duration;

use crate::clock::Moment;
use crate::message::{HEADER_LEN, Header, MessageKind};
use crate::{
    Codec, CodecSet, Column, Config, Damage, DecodeError, DecodeLimits, EncodeError, EncodingSet, Level, Schema,
    checksum,
};
use body::Body;
pub use chunk::Chunk;
use chunk::Light;
use codec::Zstd;
use column::{Context, Memory};
pub use column_input::{Codes, ColumnInput, Narrow};

/// Encodes the chunks of one stream.
///
/// Between chunks it keeps results for each column: symbol tables, float exponents, and which encodings did not save
/// enough.
pub struct Encoder {
    schema: Schema,
    encodings: EncodingSet,
    codecs: CodecSet,
    memory: Vec<Memory>,
    zstd: Option<Zstd>,
    spare: Vec<u8>,
    chunks: u32,
    rows: u64,
    running: checksum::Running,
}

impl Encoder {
    /// An encoder at the start of a stream.
    pub fn new(schema: Schema) -> Self {
        let memory = schema.fields.iter().map(|_| Memory::default()).collect();
        Self {
            schema,
            encodings: EncodingSet::ALL,
            codecs: CodecSet::ALL,
            memory,
            zstd: None,
            spare: Vec::new(),
            chunks: 0,
            rows: 0,
            running: checksum::Running::default(),
        }
    }

    /// Restricts the encoder to what its reader supports.
    #[must_use]
    pub fn allow(mut self, encodings: EncodingSet, codecs: CodecSet) -> Self {
        (self.encodings, self.codecs) = (encodings, codecs);
        self
    }

    /// The stream's columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The first message.
    pub fn schema_message(&mut self) -> Vec<u8> {
        let body = schema::encode(&self.schema);
        self.message(MessageKind::Schema, &body)
    }

    /// The last message.
    pub fn end_message(&mut self) -> Vec<u8> {
        let mut body = Vec::with_capacity(24);
        body.extend_from_slice(&self.rows.to_le_bytes());
        body.extend_from_slice(&u64::from(self.chunks).to_le_bytes());
        body.extend_from_slice(&self.running.value().to_le_bytes());
        self.message(MessageKind::End, &body)
    }

    fn message(&mut self, kind: MessageKind, body: &[u8]) -> Vec<u8> {
        let mut header = Header {
            kind,
            codec: 0,
            length: (HEADER_LEN + body.len()) as u64,
            checksum: 0,
            rows: 0,
            sequence: 0,
            body_length: body.len() as u64,
        };
        let mut message = header.seal(std::iter::once(body)).to_vec();
        self.running.push(header.checksum);
        message.extend_from_slice(body);
        message
    }

    /// Encodes the next chunk: `columns`, of `rows` rows each, in the schema's order.
    ///
    /// A codec is not used if the reader does not support it, or if it would make the chunk larger. The result may
    /// borrow from the columns.
    ///
    /// # Errors
    ///
    /// The columns do not fit the schema, or the chunk is too large. Nothing was added to the stream then.
    pub fn chunk<'a>(
        &mut self,
        rows: usize,
        columns: &[Column<&'a [u8]>],
        config: Config,
    ) -> Result<Chunk<'a>, EncodeError> {
        self.encode(rows, columns.iter().map(ColumnInput::Column), config)
    }

    /// As [`Encoder::chunk`], of columns of which some may be in a form that is closer to a database's memory. The
    /// chunk is in the same format.
    ///
    /// # Errors
    ///
    /// As for [`Encoder::chunk`].
    pub fn chunk_of<'a>(
        &mut self,
        rows: usize,
        columns: &[ColumnInput<'_, 'a>],
        config: Config,
    ) -> Result<Chunk<'a>, EncodeError> {
        self.encode(rows, columns.iter().copied(), config)
    }

    fn encode<'c, 'a: 'c>(
        &mut self,
        rows: usize,
        columns: impl ExactSizeIterator<Item = ColumnInput<'c, 'a>>,
        config: Config,
    ) -> Result<Chunk<'a>, EncodeError> {
        if columns.len() != self.schema.fields.len() {
            return Err(EncodeError::Columns { expected: self.schema.fields.len(), found: columns.len() });
        }
        let row_count = u32::try_from(rows).ok().filter(|&rows| rows <= i32::MAX as u32);
        let row_count = row_count.ok_or(EncodeError::TooLarge(rows))?;
        let codec = if self.codecs.contains(config.codec) { config.codec } else { Codec::None };
        let mut body = Body::new(std::mem::take(&mut self.spare), codec == Codec::None);
        let mut plain_bytes = 0;
        self.columns(&mut body, rows, columns, config.level, &mut plain_bytes)?;
        let (body_length, fsst) = (body.len(), body.fsst());
        if body_length > i32::MAX as usize - HEADER_LEN {
            return Err(EncodeError::TooLarge(body_length));
        }
        let (mut own, mut borrowed) = body.finish();
        let mut used = 0;
        let started = (codec != Codec::None).then(Moment::now);
        if let Some(compressed) = self.compress(codec, &own)? {
            self.spare = std::mem::replace(&mut own, compressed);
            borrowed.clear();
            used = match codec {
                Codec::None => 0,
                Codec::Lz4 => 1,
                Codec::Zstd(_) => 2,
            };
        }
        let codec_time = started.map_or(Duration::ZERO, |started| started.elapsed().cpu);
        let light = Light { bytes: body_length + fsst.saved, compressing: fsst.time + codec_time };
        let stored = own.len() + borrowed.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        let mut header = Header {
            kind: MessageKind::Chunk,
            codec: used,
            length: (HEADER_LEN + stored) as u64,
            checksum: 0,
            rows: row_count,
            sequence: self.chunks,
            body_length: body_length as u64,
        };
        let chunk = Chunk::new(&mut header, own, borrowed, plain_bytes, light);
        self.count(&header);
        Ok(chunk)
    }

    /// Adds a whole chunk message that another encoder made for the same schema and reader. It gets this stream's next
    /// sequence number and a new checksum.
    ///
    /// So several encoders can work for one stream. [`Chunk::plain_bytes`] is 0, because the chunk is not decoded.
    ///
    /// # Errors
    ///
    /// The message is damaged (header and checksum are checked) or not a chunk. Nothing was added to the stream then.
    pub fn adopt<'a>(&mut self, message: &'a [u8]) -> Result<Chunk<'a>, DecodeError> {
        let limits = DecodeLimits { message_bytes: u64::MAX, decoded_bytes: u64::MAX };
        let mut header = Header::open(message, &limits)?;
        if header.kind != MessageKind::Chunk {
            return Err(Damage::OutOfPlace.into());
        }
        header.sequence = self.chunks;
        let chunk = Chunk::new(&mut header, Vec::new(), vec![(0, &message[HEADER_LEN..])], 0, Light::default());
        self.count(&header);
        Ok(chunk)
    }

    /// Takes back the memory of a chunk that was sent, to reuse it for the next one.
    pub fn recycle(&mut self, chunk: Chunk<'_>) {
        let own = chunk.into_own();
        if own.capacity() > self.spare.capacity() {
            self.spare = own;
        }
    }

    fn count(&mut self, chunk: &Header) {
        self.running.push(chunk.checksum);
        self.chunks += 1;
        self.rows += u64::from(chunk.rows);
    }

    fn columns<'c, 'a: 'c>(
        &mut self,
        body: &mut Body<'a>,
        rows: usize,
        columns: impl ExactSizeIterator<Item = ColumnInput<'c, 'a>>,
        level: Level,
        plain_bytes: &mut usize,
    ) -> Result<(), EncodeError> {
        body.tail().resize(columns.len() * 4, 0);
        body.align(8);
        let mut context = Context::new(level, self.encodings);
        for (index, (column, field)) in columns.zip(&self.schema.fields).enumerate() {
            let size = column.plain_bytes(field).filter(|_| column.rows() == rows);
            *plain_bytes += size.ok_or(EncodeError::Buffers(index))?;
            body.align(8);
            body.set_directory(index, body.len() as u32);
            context.top_level(body, index, &column, field, &mut self.memory[index])?;
            body.align(8);
        }
        Ok(())
    }

    /// The compressed body, if there is a codec and it makes the body smaller.
    fn compress(&mut self, codec: Codec, body: &[u8]) -> Result<Option<Vec<u8>>, EncodeError> {
        let compressed = match codec {
            Codec::None => return Ok(None),
            Codec::Lz4 => codec::lz4(body)?,
            Codec::Zstd(level) => match &mut self.zstd {
                Some(zstd) => zstd.compress(level, body)?,
                none @ None => none.insert(Zstd::new()?).compress(level, body)?,
            },
        };
        Ok((compressed.len() < body.len()).then_some(compressed))
    }
}
