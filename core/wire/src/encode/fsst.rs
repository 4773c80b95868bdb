//! Text, compressed with a table of symbols, with the fsst crate. FORMAT §6.9.

use fsst::Compressor;

use super::body::Body;

/// For fewer bytes a symbol table costs more than it saves.
pub(super) const MIN_BYTES: usize = 2048;

/// How many bytes of a column are used to train a table.
const TRAINING: usize = 32 << 10;

/// Training uses pieces of this size, spread over the column.
const PIECE: usize = 512;

/// The column is divided into runs of this size, so that the crate can compress several at a time.
const RUN: usize = 16 << 10;

/// The number of runs that are compressed at the same time.
const LANES: usize = 4;

/// A column's symbol table, and its compression ratio on the data that it was trained on.
pub(super) struct Trained {
    compressor: Box<Compressor>,
    ratio: f64,
}

impl Trained {
    /// A table for `data`.
    pub(super) fn on(data: &[u8]) -> Self {
        let step = (data.len() / (TRAINING / PIECE)).max(PIECE);
        let pieces: Vec<&[u8]> = data.chunks(step).map(|stretch| &stretch[..stretch.len().min(PIECE)]).collect();
        let compressor = Box::new(Compressor::train(&pieces));
        Self { compressor, ratio: 0.0 }
    }

    /// Adds the symbol table and the compressed data, and returns its length. The caller checks whether it saved
    /// enough.
    pub(super) fn put(&mut self, body: &mut Body<'_>, data: &[u8]) -> usize {
        let (symbols, lengths) = (self.compressor.symbol_table(), self.compressor.symbol_lengths());
        body.put(lengths);
        for (symbol, &length) in symbols.iter().zip(lengths) {
            body.put(&symbol.to_u64().to_le_bytes()[..length as usize]);
        }
        body.align(8);
        // A piece must not be empty, because each of the crate's cursors needs a byte.
        let runs: Vec<&[u8]> = data.chunks((data.len() / (2 * LANES)).clamp(1, RUN)).collect();
        let out = body.tail();
        let before = out.len();
        self.compressor.compress_bulk_into::<LANES>(&runs, out, &mut Vec::new());
        let written = out.len() - before;
        if self.ratio == 0.0 {
            self.ratio = written as f64 / data.len() as f64;
        }
        written
    }

    /// Number of symbols.
    pub(super) fn symbols(&self) -> u8 {
        self.compressor.n_symbols() as u8
    }

    /// Whether the data has changed so much that the table must be trained again, given that `length` bytes compressed
    /// to `written` bytes.
    pub(super) fn is_stale(&self, written: usize, length: usize) -> bool {
        written as f64 > length as f64 * (self.ratio * 1.15)
    }
}
