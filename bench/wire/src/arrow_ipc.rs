//! A competing format: an Arrow IPC stream by arrow-rs, with the buffers plain, or compressed by LZ4 or Zstandard.
//!
//! It is read with validation (offsets and UTF-8), as ours is, and without a copy if the buffers are plain.

use arrow_ipc::CompressionType;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};

use crate::Result;
use crate::clock::Stopwatch;
use crate::contender::{Contender, Sample, compare, receive};
use crate::table::Table;

/// The measured codecs. Zstandard has level 1, which is also pyarrow's default.
pub const CODECS: [(&str, Option<CompressionType>); 3] = [
    ("Arrow IPC", None),
    ("Arrow IPC, LZ4", Some(CompressionType::LZ4_FRAME)),
    ("Arrow IPC, ZSTD-1", Some(CompressionType::ZSTD)),
];

/// Arrow IPC with one codec.
pub struct ArrowIpc {
    name: &'static str,
    options: IpcWriteOptions,
}

impl ArrowIpc {
    /// With the codec of an entry of [`CODECS`].
    ///
    /// # Errors
    /// The codec is not compiled in.
    pub fn new((name, codec): (&'static str, Option<CompressionType>)) -> Result<Self> {
        let mut options = IpcWriteOptions::default().try_with_compression(codec)?;
        if codec == Some(CompressionType::ZSTD) {
            options = options.try_with_compression_level(Some(1))?;
        }
        Ok(Self { name, options })
    }
}

impl Contender for ArrowIpc {
    fn name(&self) -> &str {
        self.name
    }

    fn pass(&self, table: &Table, check: bool) -> Result<Sample> {
        let (mut encode, mut decode) = (Stopwatch::default(), Stopwatch::default());
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &table.schema, self.options.clone())?;
        let mut reader = StreamDecoder::new();
        let mut bytes = 0;
        for chunk in &table.chunks {
            encode.time(|| writer.write(chunk))?;
            let sent = writer.get_mut();
            bytes += sent.len();
            let mut received = receive([sent.as_slice()], sent.len());
            sent.clear();
            let batch = decode.time(|| reader.decode(&mut received))?.ok_or("no batch in the message")?;
            if check {
                compare(chunk, &batch)?;
            }
        }
        Ok(Sample { bytes, encode: encode.total(), decode: decode.total() })
    }
}
