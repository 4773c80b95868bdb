//! TLS for the sources' connections: what they share, whatever database is behind it.
//!
//! A source makes a [`Config`] of its options ([`Options`], named in errors by the words of that database, [`Words`]) and
//! [`Stream::open`]s it over a connected socket. What may be trusted is decided in [`verifier`], once.

mod config;
mod error;
mod stream;
mod verifier;

pub(crate) use colonnade_login::certificate::Certificate;
pub(crate) use config::{Check, Config, Identity, Options, Roots, Version, Words};
pub(crate) use error::refused;
pub(crate) use stream::Stream;
