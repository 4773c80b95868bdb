//! The cost of small chunks for a wide table.
//!
//! In the paper (§3.2), column encodings become ineffective if hundreds of columns leave few rows in a chunk. Target:
//! the 274-column table in 1 MB chunks takes at most 15 % more bytes than in 16 MB chunks.

use colonnade_wire::Config;

use crate::Result;
use crate::colonnade::Stream;
use crate::table::{CHUNK_ROWS, Table};

/// The sizes of chunks to compare, in bytes of plain Arrow buffers.
const SIZES: [usize; 3] = [1 << 20, 4 << 20, 16 << 20];

/// One chunk size.
pub struct Size {
    pub chunk_bytes: usize,
    pub rows_per_chunk: usize,
    pub light: f64,
    pub zstd: f64,
}

/// The bytes per row of a table with each size of chunks, in two configurations.
///
/// # Errors
/// The encoder refuses a chunk.
pub fn compare(table: &Table) -> Result<Vec<Size>> {
    let whole = arrow_select::concat::concat_batches(&table.schema, &table.chunks)?;
    SIZES
        .iter()
        .map(|&chunk_bytes| {
            let table = Table::cut(&table.name, std::slice::from_ref(&whole), CHUNK_ROWS, chunk_bytes)?;
            Ok(Size {
                chunk_bytes,
                rows_per_chunk: table.chunks[0].num_rows(),
                light: bytes_per_row(&table, Config::LIGHT)?,
                zstd: bytes_per_row(&table, Config::light_zstd(1))?,
            })
        })
        .collect()
}

fn bytes_per_row(table: &Table, config: Config) -> Result<f64> {
    let mut stream = Stream::start(table)?;
    let mut bytes = 0;
    for chunk in &table.chunks {
        bytes += stream.encode(chunk, config)?.len();
    }
    Ok(bytes as f64 / table.rows as f64)
}
