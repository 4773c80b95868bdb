//! TLS on the server's side: certificates from files, and the encryption of a connection.

mod config;
mod stream;
mod validity;

pub(crate) use config::{Config, Pem};
pub use config::{TlsError, TlsFiles};
pub(crate) use stream::Tls;
pub use validity::ValidityFault;
