//! TLS for the connections of all sources. It does not depend on any database. The sockets and the buffers are ours, so
//! one receive brings many records; rustls decrypts in place, and the result is copied once to the message's buffer.
//!
//! A source makes a [`TlsConfig`] of its options ([`TlsOptions`]; errors use the database's names of them,
//! [`TlsOptionNames`]), and opens a [`TlsStream`] over a connected socket. [`verifier`] decides whether a certificate
//! is trusted.

mod config;
mod error;
mod options;
mod stream;
mod verifier;

pub(crate) use colonnade_login::certificate::Certificate;
pub(crate) use config::TlsConfig;
pub(crate) use error::refused;
pub(crate) use options::{Check, Identity, Roots, TlsOptionNames, TlsOptions, Version};
pub(crate) use stream::TlsStream;
