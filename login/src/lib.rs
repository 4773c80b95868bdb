//! What both ends of a login compute, and bytes alone: no sockets, no files, no randomness.
//!
//! - [`scram`]: the keys of SCRAM-SHA-256, and the [`Verifier`](scram::Verifier) that a server keeps in place of a password;
//! - [`certificate`]: what of a certificate binds a login to a channel, and whom it names.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod certificate;
pub mod scram;
