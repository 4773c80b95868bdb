//! TLS for the connections of all sources.
//!
//! A source makes a [`TlsConfig`] of its options ([`TlsOptions`]; errors use the database's names of them,
//! [`TlsOptionNames`]), and opens a [`TlsStream`] over a connected socket. [`verifier`] decides whether a certificate
//! is trusted.

mod config;
mod error;
mod stream;
mod verifier;

pub(crate) use colonnade_login::certificate::Certificate;
pub(crate) use config::{Check, Identity, Roots, TlsConfig, TlsOptionNames, TlsOptions, Version};
pub(crate) use error::refused;
pub(crate) use stream::TlsStream;
