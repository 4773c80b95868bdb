//! Computations that both ends of a login need. They use only bytes: no sockets, no files, no random numbers.
//!
//! - [`scram`]: the keys of SCRAM-SHA-256, and the [`Verifier`](scram::Verifier) that a server stores instead of a
//!   password;
//! - [`certificate`]: the fields of a certificate that bind a login to a channel, and its names.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod certificate;
pub mod scram;
