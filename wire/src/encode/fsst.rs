//! Text by a table of symbols, with the fsst crate. FORMAT §6.9.

use fsst::Compressor;

use super::body::Body;

/// Bytes from which on a symbol table can pay for itself.
pub(super) const WORTH_FROM: usize = 2048;

/// How many bytes of a column train a table.
const TRAINING: usize = 32 << 10;

/// Training takes pieces of this size from all over the column.
const PIECE: usize = 512;

/// The column is cut into runs of this size, which the crate then compresses several at a time.
const RUN: usize = 16 << 10;

/// Cursors at work at once.
const LANES: usize = 4;

/// A column's symbol table, and how well it did on the data it was made from.
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

    /// Adds the symbol table and the compressed data, and tells its length. The caller sees whether it was worth it.
    pub(super) fn put(&mut self, body: &mut Body<'_>, data: &[u8]) -> usize {
        let (symbols, lengths) = (self.compressor.symbol_table(), self.compressor.symbol_lengths());
        body.put(lengths);
        for (symbol, &length) in symbols.iter().zip(lengths) {
            body.put(&symbol.to_u64().to_le_bytes()[..length as usize]);
        }
        body.align(8);
        // A piece may not be empty: the crate's cursors want a byte each.
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

    /// Whether data that compressed to `written` bytes has drifted from what the table was made for.
    pub(super) fn is_stale(&self, written: usize, length: usize) -> bool {
        written as f64 > length as f64 * (self.ratio * 1.15)
    }
}
