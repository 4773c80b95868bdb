//! Our format: the encoder and the decoder of the wire crate, in fixed configurations.

use arrow_array::{ArrayRef, RecordBatch};
use bytes::Bytes;
use colonnade_wire::arrow::{array_from_column, columns_from_batch, schema_from_arrow};
use colonnade_wire::{Chunk, Config, DecodeLimits, Decoder, Encoder, Message, Schema};

use crate::Result;
use crate::clock::Stopwatch;
use crate::contender::{Contender, Sample, compare, receive};
use crate::table::Table;

/// The measured configurations.
pub const CONFIGS: [&str; 7] =
    ["plain", "light", "light+fsst", "light+lz4", "light+zstd-1", "light+zstd-3", "light+zstd-9"];

/// Colonnade in one configuration.
pub struct Colonnade {
    name: String,
    config: Config,
}

impl Colonnade {
    /// With a configuration's name, as in the protocol's option `compression`.
    ///
    /// # Errors
    /// There is no such configuration.
    pub fn new(config: &str) -> Result<Self> {
        Ok(Self { name: format!("Colonnade {config}"), config: config.parse()? })
    }
}

impl Contender for Colonnade {
    fn name(&self) -> &str {
        &self.name
    }

    fn pass(&self, table: &Table, check: bool) -> Result<Sample> {
        let (mut encode, mut decode) = (Stopwatch::default(), Stopwatch::default());
        let mut stream = Stream::start(table)?;
        for chunk in &table.chunks {
            // The encoder's output goes to the socket unchanged, in one vectored write.
            let sent = encode.time(|| stream.encode(chunk, self.config))?;
            let received = receive(sent.slices(), sent.len());
            drop(sent);
            let batch = decode.time(|| stream.decode(received.into()))?;
            if check {
                compare(chunk, &RecordBatch::try_new(chunk.schema(), batch)?)?;
            }
        }
        let bytes = stream.finish()?;
        Ok(Sample { bytes, encode: encode.total(), decode: decode.total() })
    }
}

/// The encoder and the decoder of one stream.
pub struct Stream {
    encoder: Encoder,
    decoder: Decoder,
    schema: Schema,
    bytes: usize,
}

impl Stream {
    /// A stream whose schema has been sent.
    ///
    /// # Errors
    /// A column has a type that the format does not support.
    pub fn start(table: &Table) -> Result<Self> {
        let schema = schema_from_arrow(&table.schema)?;
        let mut stream = Self {
            encoder: Encoder::new(schema.clone()),
            decoder: Decoder::new(DecodeLimits::default()),
            schema,
            bytes: 0,
        };
        let message = stream.encoder.schema_message();
        stream.bytes += message.len();
        stream.decoder.message(message.into())?;
        Ok(stream)
    }

    /// The chunk in the form in which it would be sent.
    ///
    /// # Errors
    /// The encoder refuses it.
    pub fn encode<'a>(&mut self, batch: &'a RecordBatch, config: Config) -> Result<Chunk<'a>> {
        let chunk = self.encoder.chunk(batch.num_rows(), &columns_from_batch(batch), config)?;
        self.bytes += chunk.len();
        Ok(chunk)
    }

    /// All columns of a received message as Arrow arrays.
    ///
    /// # Errors
    /// The message is damaged or not a chunk.
    pub fn decode(&mut self, message: Bytes) -> Result<Vec<ArrayRef>> {
        let Message::Chunk(chunk) = self.decoder.message(message)? else {
            return Err("not a chunk".into());
        };
        self.schema.fields.iter().enumerate().map(|(i, field)| Ok(array_from_column(field, chunk.column(i)?))).collect()
    }

    /// Ends the stream and returns its length in bytes.
    ///
    /// # Errors
    /// The decoder has not received the whole stream.
    pub fn finish(mut self) -> Result<usize> {
        let message = self.encoder.end_message();
        self.bytes += message.len();
        self.decoder.message(message.into())?;
        self.decoder.finish()?;
        Ok(self.bytes)
    }
}
