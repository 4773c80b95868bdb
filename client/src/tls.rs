//! TLS for the sources' connections: what they share, whatever database is behind it.
//!
//! A source makes a [`TlsConfig`] of its options ([`TlsOptions`], named in errors by the words of that database, [`TlsOptionNames`]) and
//! [`TlsStream::open`]s it over a connected socket. What may be trusted is decided in [`verifier`], once.

mod config;
mod error;
mod stream;
mod verifier;

pub(crate) use colonnade_login::certificate::Certificate;
pub(crate) use config::{Check, Identity, Roots, TlsConfig, TlsOptionNames, TlsOptions, Version};
pub(crate) use error::refused;
pub(crate) use stream::TlsStream;
