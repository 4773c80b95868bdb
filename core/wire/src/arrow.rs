//! Converts between this crate's columns and arrow-rs: schemas, batches to encode, arrays from decoded columns. No
//! values are copied.

mod array;
mod batch;
mod inputs;
mod schema;
mod size;

pub use array::array_from_column;
pub use batch::{columns_from_batch, rows_per_chunk, rows_per_part};
pub use inputs::BatchColumns;
pub use schema::{UnsupportedType, schema_from_arrow, schema_to_arrow};
pub use size::{codes_plain_bytes, plain_bytes};
