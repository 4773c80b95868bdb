//! General compressors over whole messages: those that the paper compares (Tables 4 and 5), and Zstandard, which is
//! newer.

use std::fmt;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use liblzma::read::XzDecoder;
use liblzma::write::XzEncoder;
use lz4_flex::block as lz4;
use snap::raw as snappy;

use crate::Result;

/// A compressor, with its level if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    None,
    Snappy,
    Lz4,
    Gzip(u32),
    Zstd(i32),
    Xz(u32),
}

/// Bytes before a compressed message that contain its original length.
const PREFIX: usize = 4;

impl Codec {
    /// The message in compressed form. `buffer` is reused for all messages.
    ///
    /// # Errors
    /// The message is too long.
    pub fn compress<'a>(self, plain: &'a [u8], buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        let prefix = u32::try_from(plain.len())?.to_le_bytes();
        // A compressor that fills a slice does not need zeros each time; one that fills a vector needs it empty.
        let most = match self {
            Self::None => return Ok(plain),
            Self::Snappy => snappy::max_compress_len(plain.len()),
            Self::Lz4 => lz4::get_maximum_output_size(plain.len()),
            Self::Zstd(_) => zstd::zstd_safe::compress_bound(plain.len()),
            Self::Gzip(_) | Self::Xz(_) => {
                buffer.clear();
                buffer.extend_from_slice(&prefix);
                0
            }
        };
        if buffer.len() < PREFIX + most {
            buffer.resize(PREFIX + most, 0);
        }
        let length = match self {
            Self::None => 0,
            Self::Snappy => snappy::Encoder::new().compress(plain, &mut buffer[PREFIX..])?,
            Self::Lz4 => lz4::compress_into(plain, &mut buffer[PREFIX..])?,
            Self::Zstd(level) => zstd::bulk::compress_to_buffer(plain, &mut buffer[PREFIX..], level)?,
            Self::Gzip(level) => {
                let mut encoder = GzEncoder::new(&mut *buffer, Compression::new(level));
                encoder.write_all(plain)?;
                encoder.finish()?.len() - PREFIX
            }
            Self::Xz(level) => {
                let mut encoder = XzEncoder::new(&mut *buffer, level);
                encoder.write_all(plain)?;
                encoder.finish()?.len() - PREFIX
            }
        };
        buffer[..PREFIX].copy_from_slice(&prefix);
        Ok(&buffer[..PREFIX + length])
    }

    /// The original message.
    ///
    /// # Errors
    /// These bytes were not made by [`Codec::compress`].
    pub fn decompress<'a>(self, sent: &'a [u8], buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        if self == Self::None {
            return Ok(sent);
        }
        let (prefix, packed) = sent.split_first_chunk::<PREFIX>().ok_or("the message ends early")?;
        let length = u32::from_le_bytes(*prefix) as usize;
        if matches!(self, Self::Gzip(_) | Self::Xz(_)) {
            buffer.clear();
            buffer.reserve(length);
        } else if buffer.len() < length {
            buffer.resize(length, 0);
        }
        let found = match self {
            Self::None => 0,
            Self::Snappy => snappy::Decoder::new().decompress(packed, &mut buffer[..length])?,
            Self::Lz4 => lz4::decompress_into(packed, &mut buffer[..length])?,
            Self::Zstd(_) => zstd::bulk::decompress_to_buffer(packed, &mut buffer[..length])?,
            Self::Gzip(_) => GzDecoder::new(packed).read_to_end(buffer)?,
            Self::Xz(_) => XzDecoder::new(packed).read_to_end(buffer)?,
        };
        if found == length { Ok(&buffer[..length]) } else { Err("the message has another length than it says".into()) }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => out.write_str("none"),
            Self::Snappy => out.write_str("Snappy"),
            Self::Lz4 => out.write_str("LZ4"),
            Self::Gzip(level) => write!(out, "GZIP-{level}"),
            Self::Zstd(level) => write!(out, "ZSTD-{level}"),
            Self::Xz(level) => write!(out, "XZ-{level}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Codec; 6] = [Codec::None, Codec::Snappy, Codec::Lz4, Codec::Gzip(6), Codec::Zstd(1), Codec::Xz(6)];

    #[test]
    fn what_is_compressed_comes_back() -> Result<()> {
        let repetitive: Vec<u8> = (0..50_000_u32).flat_map(|i| (i % 300).to_le_bytes()).collect();
        for codec in ALL {
            let (mut packed, mut unpacked) = (Vec::new(), Vec::new());
            // A short message after a long one must not contain remains of the long one.
            for message in [repetitive.as_slice(), b"short", b""] {
                let sent = codec.compress(message, &mut packed)?.to_vec();
                assert_eq!(codec.decompress(&sent, &mut unpacked)?, message, "{codec}");
            }
        }
        Ok(())
    }

    #[test]
    fn what_repeats_itself_gets_smaller() -> Result<()> {
        let repetitive = b"again and ".repeat(10_000);
        for codec in &ALL[1..] {
            assert!(codec.compress(&repetitive, &mut Vec::new())?.len() < repetitive.len() / 10, "{codec}");
        }
        Ok(())
    }

    #[test]
    fn what_is_cut_off_is_an_error() -> Result<()> {
        let message = b"again and ".repeat(100);
        for codec in &ALL[1..] {
            let mut buffer = Vec::new();
            let sent = codec.compress(&message, &mut buffer)?;
            assert!(codec.decompress(&sent[..sent.len() - 1], &mut Vec::new()).is_err(), "{codec}");
        }
        Ok(())
    }
}
