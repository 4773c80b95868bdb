//! Compresses a chunk's body with a codec. FORMAT §3.

use zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode;
use zstd::zstd_safe::{CCtx, CParameter, compress_bound, get_error_name};

use crate::EncodeError;

/// LZ4's block format.
pub(super) fn lz4(body: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let mut compressed = vec![0; lz4_flex::block::get_maximum_output_size(body.len())];
    let length = lz4_flex::block::compress_into(body, &mut compressed);
    compressed.truncate(length.map_err(|error| EncodeError::Codec(error.to_string()))?);
    Ok(compressed)
}

/// Zstandard's compressor. It keeps its memory between chunks, whatever their levels are: new memory takes as long as a
/// small chunk.
pub(super) struct Zstd {
    level: i32,
    context: CCtx<'static>,
}

impl Zstd {
    pub(super) fn new() -> Result<Self, EncodeError> {
        let context = CCtx::try_create().ok_or(EncodeError::OutOfMemory)?;
        Ok(Self { level: 0, context })
    }

    pub(super) fn compress(&mut self, level: i32, body: &[u8]) -> Result<Vec<u8>, EncodeError> {
        if level != self.level {
            self.context.set_parameter(CParameter::CompressionLevel(level)).map_err(failed)?;
            self.level = level;
        }
        let mut compressed = Vec::with_capacity(compress_bound(body.len()));
        self.context.compress2(&mut compressed, body).map_err(failed)?;
        Ok(compressed)
    }
}

/// Zstandard's errors are negative numbers.
fn failed(code: usize) -> EncodeError {
    if code.wrapping_neg() == ZSTD_ErrorCode::ZSTD_error_memory_allocation as usize {
        return EncodeError::OutOfMemory;
    }
    EncodeError::Codec(get_error_name(code).to_owned())
}
