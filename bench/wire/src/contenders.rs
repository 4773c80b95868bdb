//! The contenders of the main table.

use crate::codec::Codec;
use crate::contender::Contender;
use crate::layout::Serialized;
use crate::layout::postgresql::PostgreSql;
use crate::{Result, arrow_ipc, colonnade, parquet_file};

/// All contenders, in the order of the tables.
///
/// # Errors
/// A codec is not compiled in.
pub fn all() -> Result<Vec<Box<dyn Contender>>> {
    let mut all: Vec<Box<dyn Contender>> = Vec::new();
    for config in colonnade::CONFIGS {
        all.push(Box::new(colonnade::Colonnade::new(config)?));
    }
    for codec in arrow_ipc::CODECS {
        all.push(Box::new(arrow_ipc::ArrowIpc::new(codec)?));
    }
    all.push(Box::new(Serialized::new("the paper's layout", PostgreSql, Codec::None)));
    all.push(Box::new(Serialized::new("the paper's layout, Snappy", PostgreSql, Codec::Snappy)));
    all.push(Box::new(parquet_file::ParquetZstd));
    Ok(all)
}
