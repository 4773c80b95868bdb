//! Results of queries as Arrow batches.
//!
//! A [`Connection`] answers a query with a [`ResultStream`]: a schema and, one by one, [`Batch`]es, whose columns are
//! decoded on request. Each kind of source implements these two traits. The code that uses the batches (tables,
//! dataframes, files) is elsewhere, and is the same for all sources.
//!
//! ```text
//!   postgres::connect ──> Connection ──query──> ResultStream ──next──> Batch ──column──> Arrow array
//!                                                   ▲
//!   a thread: socket ──> Pool buffer ──queue────────┘   (decoding runs while receiving, a few chunks behind)
//! ```
//!
//! The sources are [`postgres`] (`colonnade serve`, and PostgreSQL with or without the extension; `spec/PROTOCOL.md`),
//! [`mysql`] (MySQL and MariaDB), [`sqlite`] (SQLite's files), and [`arrow_stream`] (any producer of Arrow's C stream
//! in this process).

mod allowance;
mod arrays;
mod arrow_form;
mod arrow_moments;
pub mod arrow_stream;
mod arrow_text;
mod batch;
pub mod catalog;
mod channel;
mod chunks;
mod connect;
pub mod dtype;
mod error;
pub mod export;
mod feed;
mod file_uri;
mod gaps;
mod inbox;
mod link;
mod literal;
mod logical;
pub mod mysql;
mod options;
mod parameter;
pub mod partition;
mod place;
mod pool;
pub mod postgres;
mod printable;
mod produced;
mod require_auth;
mod rows;
mod shared_connection;
mod source;
pub mod sqlite;
mod statement;
mod stats;
mod system;
mod tls;
mod transport;
mod uri;
mod write;

pub use allowance::limited;
pub use batch::Batch;
pub use chunks::ChunkLimits;
pub use colonnade_sql::Dialect;
pub use connect::{Login, connect, connect_as, connect_for};
pub use error::{Error, ErrorKind};
pub use file_uri::{FileUri, MEMORY};
pub use gaps::Gaps;
pub use literal::bind;
pub use logical::logical;
pub use options::{Compression, Parallel, QueryOptions, StoredDates, TYPE_NAME_KEY};
pub use parameter::{Date, Parameters, Sent, Time, Value};
pub use pool::{ALIGNMENT, Buffer, Pool};
pub use printable::printable;
pub use produced::Produced;
pub use source::{
    Answer, Cancel, Connection, ContinueCheck, ResultStream, SchemaCheck, StatementDescription, Transaction,
};
pub use statement::{Access, Statement};
pub use stats::Stats;
pub use transport::{EncoderKind, ExtensionVersions, SocketKind, StreamFormat, TlsState, Transport};
pub use write::{IfExists, TableWriter, WriteTarget, Writing, check_target, fitted, write};
