//! The ADBC driver: every source of the client behind ADBC's C interface, version 1.1.
//! <https://arrow.apache.org/adbc/current/format/specification.html>
//!
//! ```text
//!   AdbcDriver ──> AdbcDatabase ──> AdbcConnection ──> AdbcStatement ──execute──> Rows ──> Arrow's C stream
//!                   a URI            a Session          a text and parameters
//! ```
//!
//! `adbc_ffi` exports these types as a table of C functions. [`exported`] replaces three of its functions, so that a
//! stream reports its errors with SQLSTATE and status. Objects behind its handles are private, so the rows come by a
//! thread-local reference that does not keep them alive.
//!
//! A transaction begins before the first statement that needs it. Several rows of parameters run in one transaction,
//! and their results are collected before the stream begins. Columns get the names of their types from names that the
//! client gives only if `QueryOptions::type_names` requests them.
//!
//! The queries that list tables are in the client (`client/src/catalog/`), because Python's `Connection.tables` uses
//! them too. `client/adbc/python/` is the Python package: the library and thin functions over `adbc_driver_manager`. No
//! code of it is compiled for Python, so one wheel serves all versions. `tests/adbc/go` and `tests/adbc/r` read by
//! other languages' driver managers.

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
