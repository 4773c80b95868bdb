//! The server's certificate, and the authorities for clients' certificates. Both are in PEM files.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use colonnade_login::certificate::Certificate;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use super::Tls;

/// The application protocol of TLS without an SSLRequest (libpq 17's `sslnegotiation=direct`, registered with IANA).
pub(super) const ALPN: &[u8] = b"postgresql";

/// The paths of the PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate and its intermediate certificates.
    pub certificate: PathBuf,
    /// Its key. Only the owner and the group may read the file.
    pub key: PathBuf,
    /// The authorities for clients' certificates. If there are any, each encrypted connection must present a
    /// certificate with the name of the user that logs in.
    pub client_authorities: Option<PathBuf>,
}

/// Why TLS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// A file has other contents.
    #[error("{path} contains no {what} in PEM form: {reason}")]
    Pem {
        /// The file.
        path: PathBuf,
        /// The expected contents.
        what: &'static str,
        /// The problem.
        reason: String,
    },
    /// Other users could read the key.
    #[error("{0} can be read by everyone; protect it: chmod 600 {0}")]
    Exposed(PathBuf),
    /// The certificate and the key do not match, or cannot be used.
    #[error("cannot use {certificate} with {key}: {error}")]
    Mismatch {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// The error of rustls.
        error: rustls::Error,
    },
    /// The authorities cannot be used.
    #[error("cannot check clients' certificates with {path}: {reason}")]
    Authorities {
        /// The file of the authorities.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
}

/// The configuration for connections.
pub(crate) struct Config {
    rustls: Arc<ServerConfig>,
    end_point: Option<Arc<[u8]>>,
}

/// The contents of the files.
pub(crate) struct Pem {
    pub(super) files: TlsFiles,
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
    pub client_authorities: Option<Vec<u8>>,
}

impl Pem {
    /// Reads the files.
    pub fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        let mode = fs::metadata(&files.key).map_err(|error| TlsError::File { path: files.key.clone(), error })?;
        if mode.permissions().mode() & 0o007 != 0 {
            return Err(TlsError::Exposed(files.key.clone()));
        }
        Ok(Self {
            files: files.clone(),
            certificate: read(&files.certificate)?,
            key: read(&files.key)?,
            client_authorities: files.client_authorities.as_deref().map(read).transpose()?,
        })
    }

    /// The contents that another process has read.
    pub fn new(certificate: Vec<u8>, key: Vec<u8>, client_authorities: Option<Vec<u8>>) -> Self {
        let unnamed = || PathBuf::from("-");
        let files = TlsFiles {
            certificate: unnamed(),
            key: unnamed(),
            client_authorities: client_authorities.as_ref().map(|_| unnamed()),
        };
        Self { files, certificate, key, client_authorities }
    }
}

impl Config {
    pub fn new(pem: &Pem) -> Result<Self, TlsError> {
        let files = &pem.files;
        let chain = certificates(&files.certificate, &pem.certificate)?;
        let end_point = chain.first().and_then(|leaf| Certificate::parse(leaf)?.end_point()).map(Arc::from);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let mismatch =
            |error| TlsError::Mismatch { certificate: files.certificate.clone(), key: files.key.clone(), error };
        // 1.2 and 1.3.
        let builder = builder.with_safe_default_protocol_versions().map_err(mismatch)?;
        let builder = match files.client_authorities.as_ref().zip(pem.client_authorities.as_ref()) {
            None => builder.with_no_client_auth(),
            Some((path, authorities)) => {
                let refused = |reason: String| TlsError::Authorities { path: path.clone(), reason };
                let mut roots = RootCertStore::empty();
                for authority in certificates(path, authorities)? {
                    roots.add(authority).map_err(|error| refused(error.to_string()))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder.with_client_cert_verifier(verifier.map_err(|error| refused(error.to_string()))?)
            }
        };
        let mut rustls = builder.with_single_cert(chain, key(&files.key, &pem.key)?).map_err(mismatch)?;
        rustls.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Self { rustls: Arc::new(rustls), end_point })
    }

    /// Starts the encryption of a connection. A client that begins with TLS must name the protocol by ALPN.
    pub fn connection(&self, is_direct: bool) -> io::Result<Tls> {
        Tls::new(Arc::clone(&self.rustls), self.end_point.clone(), is_direct)
    }
}

pub(super) fn certificates(path: &Path, text: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let invalid = |reason: String| TlsError::Pem { path: path.to_owned(), what: "certificate", reason };
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let found = found.map_err(|error| invalid(error.to_string()))?;
    if found.is_empty() { Err(invalid("it contains none".to_owned())) } else { Ok(found) }
}

fn key(path: &Path, text: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(text).map_err(|error| TlsError::Pem {
        path: path.to_owned(),
        what: "private key",
        reason: error.to_string(),
    })
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|error| TlsError::File { path: path.to_owned(), error })
}
