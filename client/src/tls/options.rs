//! What a source's user has chosen about TLS, and the database's names of it.

use std::path::PathBuf;

/// The check of the server's certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Check {
    /// None. This protects only against passive listeners.
    #[default]
    Nothing,
    /// A trusted authority must have signed it.
    Chain,
    /// In addition, it must be for the host of the connection.
    Name,
}

/// The trusted authorities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Roots {
    #[default]
    Nobody,
    /// The certificates of a PEM file.
    File(PathBuf),
    /// The system's trusted authorities.
    System,
}

/// The client's certificate and its key: PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// Versions of TLS, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    Tls12,
    Tls13,
}

/// The database's names of these options, for errors.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TlsOptionNames {
    pub(crate) mode: &'static str,
    pub(crate) roots: &'static str,
    pub(crate) certificate: &'static str,
    pub(crate) key: &'static str,
    pub(crate) revoked: &'static str,
}

/// The options that a user has given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TlsOptions {
    pub(crate) check: Check,
    pub(crate) roots: Roots,
    pub(crate) identity: Option<Identity>,
    /// Lists of revoked certificates, in PEM. They must cover every certificate of a chain.
    pub(crate) revoked: Option<PathBuf>,
    /// The oldest and the newest allowed version.
    pub(crate) versions: (Version, Version),
    /// Whether the client sends the host's name.
    pub(crate) name_indication: bool,
    /// The protocols to negotiate in the handshake (RFC 7301), by their registered names.
    pub(crate) protocols: Vec<Vec<u8>>,
    pub(crate) words: &'static TlsOptionNames,
}

impl TlsOptions {
    /// No check, no client certificate, any version.
    pub(crate) fn new(words: &'static TlsOptionNames) -> Self {
        Self {
            check: Check::Nothing,
            roots: Roots::Nobody,
            identity: None,
            revoked: None,
            versions: (Version::Tls12, Version::Tls13),
            name_indication: true,
            protocols: Vec::new(),
            words,
        }
    }
}
