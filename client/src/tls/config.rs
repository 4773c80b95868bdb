//! Makes rustls's configuration of a source's options.

use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, IpAddr, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};

use super::options::{Check, Identity, Roots, TlsOptionNames, TlsOptions, Version};
use super::verifier::CertificateVerifier;
use crate::{Error, ErrorKind};

/// The configuration of handshakes, shared by all connections to the same server.
#[derive(Clone, Debug)]
pub(crate) struct TlsConfig {
    client: Arc<ClientConfig>,
    check: Check,
    /// Whether an accepted certificate proves the server's identity.
    pub(super) identifies: bool,
    pub(super) words: &'static TlsOptionNames,
}

impl TlsConfig {
    /// Reads the files that the options name.
    ///
    /// # Errors
    /// A file cannot be read or lacks the expected content, or a key does not belong to its certificate.
    pub(crate) fn new(options: &TlsOptions) -> Result<Self, Error> {
        let words = options.words;
        let revoked = match &options.revoked {
            Some(file) => certificates::<CertificateRevocationListDer<'_>>(file, words.revoked)?,
            None => Vec::new(),
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = roots(&options.roots, words)?;
        let verifier =
            CertificateVerifier::new(options.check, roots, &revoked, provider.signature_verification_algorithms)
                .map_err(|error| unusable(words.roots, error))?;
        let (oldest, newest) = options.versions;
        let versions: Vec<_> = [(Version::Tls12, &TLS12), (Version::Tls13, &TLS13)]
            .into_iter()
            .filter_map(|(version, known)| (oldest..=newest).contains(&version).then_some(known))
            .collect();
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(|_| Error::new(ErrorKind::Usage, "no version of TLS is left between the oldest and the newest"))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut client = match &options.identity {
            None => builder.with_no_client_auth(),
            Some(Identity { certificate, key }) => {
                let chain = certificates::<CertificateDer<'_>>(certificate, words.certificate)?;
                let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unread(words.key, key, &error))?;
                builder.with_client_auth_cert(chain, key).map_err(|error| {
                    Error::new(ErrorKind::Usage, format!("the client's certificate cannot be used: {error}"))
                        .with_hint(format!("check that {} is the key of {}", words.key, words.certificate))
                })?
            }
        };
        client.enable_sni = options.name_indication;
        client.alpn_protocols.clone_from(&options.protocols);
        client.resumption = Resumption::disabled();
        // Everybody can get a certificate for a name from a public authority.
        let identifies = match options.check {
            Check::Nothing => false,
            Check::Chain => matches!(options.roots, Roots::File(_)),
            Check::Name => true,
        };
        Ok(Self { client: Arc::new(client), check: options.check, identifies, words })
    }

    /// Starts a connection to a host.
    ///
    /// # Errors
    /// The host's name must be checked, but no certificate can have it.
    pub(super) fn connection(&self, host: &str) -> Result<UnbufferedClientConnection, Error> {
        let name = match ServerName::try_from(host.to_owned()) {
            Ok(name) => name,
            Err(_) if self.check < Check::Name => ServerName::IpAddress(IpAddr::from(Ipv4Addr::UNSPECIFIED)),
            Err(_) => {
                return Err(Error::new(ErrorKind::Usage, format!("no certificate can be for the host {host:?}"))
                    .with_hint("name the host as its certificate does"));
            }
        };
        UnbufferedClientConnection::new(self.client.clone(), name)
            .map_err(|cause| Error::new(ErrorKind::Connect, "TLS cannot be started").with_cause(cause))
    }
}

fn roots(roots: &Roots, words: &TlsOptionNames) -> Result<Vec<CertificateDer<'static>>, Error> {
    match roots {
        Roots::Nobody => Ok(Vec::new()),
        Roots::File(file) => certificates(file, words.roots),
        Roots::System => {
            let found = rustls_native_certs::load_native_certs();
            if found.certs.is_empty() {
                let error = Error::new(ErrorKind::Usage, "no root certificates were found on this system")
                    .with_hint(format!("name a file with {}", words.roots));
                return Err(match found.errors.into_iter().next() {
                    Some(cause) => error.with_cause(cause),
                    None => error,
                });
            }
            Ok(found.certs)
        }
    }
}

/// All items of one kind in a PEM file, at least one.
fn certificates<T: PemObject>(file: &Path, word: &str) -> Result<Vec<T>, Error> {
    let items: Result<Vec<T>, pem::Error> = T::pem_file_iter(file).and_then(Iterator::collect);
    match items {
        Ok(items) if items.is_empty() => Err(unread(word, file, &pem::Error::NoItemsFound)),
        Ok(items) => Ok(items),
        Err(error) => Err(unread(word, file, &error)),
    }
}

fn unread(word: &str, file: &Path, error: &pem::Error) -> Error {
    let why = match error {
        pem::Error::Io(cause) if cause.kind() == io::ErrorKind::NotFound => "there is no such file".to_owned(),
        pem::Error::Io(cause) => crate::system::plain(cause),
        pem::Error::NoItemsFound => "it has none in PEM, or an encrypted one".to_owned(),
        error => format!("it is not PEM: {error}"),
    };
    Error::new(ErrorKind::Usage, format!("{word} {} cannot be used: {why}", file.display()))
}

fn unusable(word: &str, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Usage, format!("the certificates of {word} cannot be used: {error}")).with_cause(error)
}
