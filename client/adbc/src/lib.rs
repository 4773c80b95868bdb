//! The ADBC driver: every source of the client behind ADBC's C interface, version 1.1.
//! <https://arrow.apache.org/adbc/current/format/specification.html>
//!
//! ```text
//!   AdbcDriver ──> AdbcDatabase ──> AdbcConnection ──> AdbcStatement ──execute──> Rows ──> Arrow's C stream
//!                   a URI            a Session          a text and parameters
//! ```
//!
//! `adbc_ffi` exports these types as a table of C functions. [`exported`] replaces three of its functions, so that a stream reports its
//! errors with SQLSTATE and status.

mod connection;
mod driver;
mod error;
mod exported;
mod info;
mod ingest;
mod objects;
mod options;
mod parameters;
mod partitions;
mod rows;
mod schema;
mod session;
mod statement;
mod stream;
mod types;
mod value;
