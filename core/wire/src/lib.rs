//! The Colonnade stream format: encodes columns into chunks, and decodes chunks.
//!
//! A *stream* carries the result of one query: a schema, *chunks* of rows, an end. Inside a chunk every *column* has
//! its own *encoding*, chosen by sampling. A *codec* may compress the whole chunk. `spec/FORMAT.md` defines every byte;
//! comments here refer to its sections.
//!
//! ```text
//!   Column<&[u8]> ──> Encoder::chunk ──> Chunk::slices ──> (a socket, a file) ──> Decoder::message ──> Column<Bytes>
//!                        │ Config                                                     EncodedChunk::column
//!                        └── Controller; a Writer is both
//! ```
//!
//! This crate does no I/O and knows no database. Its input is raw buffers (`Column<&[u8]>`), so that an encoder inside
//! a PostgreSQL backend needs no Arrow library. With the feature `arrow` it also bridges to arrow-rs.
//!
//! - **Choosing an encoding** costs one pass for minima and maxima, and a sample of 256 values (`encode/sample.rs`). If
//!   values repeat in the sample, the encoder estimates the number of distinct values (birthday estimate) and may try a
//!   dictionary. The full scan stops as soon as a dictionary cannot be smaller. An attempt that did not help is
//!   repeated only after 16 chunks (`RetryInterval`).
//! - **Plain buffers are borrowed**: a chunk is a list of slices for one vectored write, and the reader's columns are
//!   slices of the one allocation that received the message.
//! - **Nothing is trusted.** The decoder's `Reader` cannot leave its bytes, its `Budget` is charged before each
//!   allocation, and every way the bytes can be wrong is a variant of [`Damage`]. Chunks and the whole stream carry
//!   XXH3 checksums.
//! - **The [`Controller`]** is the one place that decides how the next chunk is encoded. `docs/explanation/adaptive.md`
//!   states its model.
//!
//! # Examples
//!
//! ```
//! use bytes::Bytes;
//! use colonnade_wire::{Column, Config, DataType, Decoder, Encoder, Field, DecodeLimits, Message, Schema, Values};
//!
//! let schema = Schema { fields: vec![Field::new("n", DataType::Int32, false)], metadata: vec![] };
//! let values: Vec<u8> = (0..1000i32).flat_map(i32::to_le_bytes).collect();
//!
//! let mut encoder = Encoder::new(schema);
//! let column = Column { rows: 1000, validity: None, values: Values::Fixed(&values[..]) };
//! let mut stream = vec![encoder.schema_message()];
//! stream.push(encoder.chunk(1000, &[column], Config::LIGHT)?.slices().concat());
//! stream.push(encoder.end_message());
//!
//! let mut decoder = Decoder::new(DecodeLimits::default());
//! for message in stream {
//!     if let Message::Chunk(chunk) = decoder.message(Bytes::from(message))? {
//!         let Values::Fixed(decoded) = chunk.column(0)?.values else { unreachable!() };
//!         assert_eq!(decoded, values);
//!     }
//! }
//! assert_eq!(decoder.finish()?.rows, 1000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "arrow")]
pub mod arrow;
mod bitmap;
mod checksum;
mod clock;
mod column;
mod config;
mod controller;
mod decode;
mod encode;
mod encoding;
mod error;
mod int;
mod message;
mod schema;
mod simd;
mod writer;

pub use bitmap::Bitmap;
pub use column::{Column, Values};
pub use config::{Codec, CodecSet, Config, EncodingSet, Level, UnknownName};
pub use controller::{ChunkCost, Controller, Link, LinkEstimate, LinkSample, UNSENT};
pub use decode::{Decoder, EncodedChunk, Message, Totals};
pub use encode::{Chunk, Codes, ColumnInput, Encoder, Narrow};
pub use encoding::Encoding;
pub use error::{Damage, DecodeError, EncodeError};
pub use message::{DecodeLimits, HEADER_LEN, RequestedSize, message_length};
pub use schema::{DataType, Field, IndexType, Layout, MAX_DEPTH, Schema, Unit};
pub use writer::{Queue, Writer};
