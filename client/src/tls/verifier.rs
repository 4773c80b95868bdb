//! Decides whether a server's certificate is trusted.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, ServerName, TrustAnchor, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, OtherError, SignatureScheme};
use webpki::{
    CertRevocationList, EndEntityCert, ExpirationPolicy, KeyUsage, OwnedCertRevocationList, RevocationCheckDepth,
    RevocationOptionsBuilder, UnknownStatusPolicy, anchor_from_trusted_cert,
};

use super::Certificate;
use super::options::{Check, Version};

/// Why a certificate is not trusted. It is recovered from rustls's error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    UnknownIssuer,
    /// It is that of an authority, such as a self-signed one, and is not trusted.
    Authority,
    Expired,
    NotYetValid,
    Revoked,
    /// No current revocation list covers it.
    RevocationUnknown,
    /// It is for other names, which are these.
    Name(Vec<String>),
    /// X.509 of before 1996, which has no extensions.
    Old,
    Malformed,
    Other(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownIssuer => "no authority that is trusted has signed it",
            Self::Authority => "it is self-signed, or that of an authority, and is not trusted",
            Self::Expired => "it has expired",
            Self::NotYetValid => "it is not valid yet",
            Self::Revoked => "it has been revoked",
            Self::RevocationUnknown => "no current list of revoked certificates covers it and its issuers",
            Self::Name(names) if names.is_empty() => "it is for no name at all",
            Self::Name(names) => return write!(f, "it is for {}", names.join(", ")),
            Self::Old => "it has X.509's first version, which has too few fields to be verified",
            Self::Malformed => "it is malformed",
            Self::Other(why) => why,
        })
    }
}

impl StdError for Refusal {}

impl From<webpki::Error> for Refusal {
    fn from(error: webpki::Error) -> Self {
        use webpki::Error;
        match error {
            Error::UnknownIssuer => Self::UnknownIssuer,
            Error::CaUsedAsEndEntity => Self::Authority,
            Error::CertExpired { .. } => Self::Expired,
            Error::CertNotValidYet { .. } => Self::NotYetValid,
            Error::CertRevoked => Self::Revoked,
            Error::UnknownRevocationStatus | Error::CrlExpired { .. } => Self::RevocationUnknown,
            Error::UnsupportedCertVersion => Self::Old,
            Error::BadDer | Error::BadDerTime | Error::TrailingData(_) => Self::Malformed,
            error => Self::Other(error.to_string()),
        }
    }
}

impl From<Refusal> for rustls::Error {
    fn from(refusal: Refusal) -> Self {
        // The alert that is sent to the server follows from these.
        Self::InvalidCertificate(match refusal {
            Refusal::UnknownIssuer => CertificateError::UnknownIssuer,
            Refusal::Expired => CertificateError::Expired,
            Refusal::NotYetValid => CertificateError::NotValidYet,
            Refusal::Revoked => CertificateError::Revoked,
            Refusal::Malformed => CertificateError::BadEncoding,
            other => CertificateError::Other(OtherError(Arc::new(other))),
        })
    }
}

/// Verifies by [`Check`].
#[derive(Debug)]
pub(super) struct CertificateVerifier {
    check: Check,
    roots: Vec<CertificateDer<'static>>,
    anchors: Vec<TrustAnchor<'static>>,
    revoked: Vec<CertRevocationList<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl CertificateVerifier {
    /// # Errors
    /// None of the roots can be read, or one of the lists cannot be read.
    pub(super) fn new(
        check: Check,
        roots: Vec<CertificateDer<'static>>,
        revoked: &[CertificateRevocationListDer<'_>],
        algorithms: WebPkiSupportedAlgorithms,
    ) -> Result<Self, webpki::Error> {
        let read: Vec<_> = roots.iter().map(|root| anchor_from_trusted_cert(root).map(|a| a.to_owned())).collect();
        // A system's collection may contain a certificate that cannot be read. It is then not trusted.
        if let (true, Some(Err(error))) = (read.iter().all(Result::is_err), read.first()) {
            return Err(error.clone());
        }
        let anchors = read.into_iter().flatten().collect();
        let revoked: Result<_, _> =
            revoked.iter().map(|list| OwnedCertRevocationList::from_der(list).map(Into::into)).collect();
        Ok(Self { check, roots, anchors, revoked: revoked?, algorithms })
    }

    fn chain(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Refusal> {
        // A trusted certificate may be that of the server itself, such as a self-signed one. Then no path is needed.
        if self.roots.iter().any(|root| root.as_ref() == shown.as_ref()) {
            return match Certificate::parse(shown).ok_or(Refusal::Malformed)?.validity {
                (from, _) if now.as_secs() < from => Err(Refusal::NotYetValid),
                (_, until) if now.as_secs() > until => Err(Refusal::Expired),
                _ => Ok(()),
            };
        }
        let lists: Vec<_> = self.revoked.iter().collect();
        let revocation = RevocationOptionsBuilder::new(&lists).ok().map(|options| {
            options
                .with_depth(RevocationCheckDepth::Chain)
                .with_status_policy(UnknownStatusPolicy::Deny)
                .with_expiration_policy(ExpirationPolicy::Enforce)
                .build()
        });
        EndEntityCert::try_from(shown)?.verify_for_usage(
            self.algorithms.all,
            &self.anchors,
            intermediates,
            now,
            KeyUsage::server_auth(),
            revocation,
            None,
        )?;
        Ok(())
    }

    /// Checks the handshake's signature by the key of a certificate of any X.509 version. A scheme may mean several
    /// algorithms; in TLS 1.3 it means only the first one, and the older schemes of RSA are not allowed (RFC 8446
    /// §4.2.3).
    fn signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
        version: Version,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        use SignatureScheme as Scheme;
        let certificate = Certificate::parse(certificate).ok_or(Refusal::Malformed)?;
        let (algorithm, key) = certificate.key;
        let most = match (version, signed.scheme) {
            (Version::Tls12, _) => usize::MAX,
            (Version::Tls13, Scheme::RSA_PKCS1_SHA256 | Scheme::RSA_PKCS1_SHA384 | Scheme::RSA_PKCS1_SHA512) => 0,
            (Version::Tls13, _) => 1,
        };
        let candidates = self.algorithms.mapping.iter().filter(|(scheme, _)| *scheme == signed.scheme);
        let fits = candidates
            .flat_map(|(_, algorithms)| algorithms.iter().take(most))
            .filter(|candidate| candidate.public_key_alg_id().as_ref() == algorithm)
            .any(|candidate| candidate.verify_signature(key, message, signed.signature()).is_ok());
        if fits {
            return Ok(HandshakeSignatureValid::assertion());
        }
        Err(rustls::Error::InvalidCertificate(CertificateError::BadSignature))
    }
}

/// Whether a certificate is for a host. If its extensions name no host, the subject's name counts, as libpq accepts it
/// and as in PostgreSQL's documentation (RFC 6125 §6.4.4).
fn name(shown: &CertificateDer<'_>, host: &ServerName<'_>) -> Result<(), Refusal> {
    let certificate = Certificate::parse(shown).ok_or(Refusal::Malformed)?;
    if !certificate.has_alternative_names {
        let host = host.to_str();
        let subject = certificate.common_name.into_iter();
        let names: Vec<String> = subject.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        return if names.iter().any(|name| covers(name, &host)) { Ok(()) } else { Err(Refusal::Name(names)) };
    }
    match EndEntityCert::try_from(shown)?.verify_is_valid_for_subject_name(host) {
        Err(webpki::Error::CertNotValidForName(context)) => {
            // They have the form `DnsName("db.example")`.
            let bare = |name: &String| name.split('"').nth(1).unwrap_or(name).to_owned();
            Err(Refusal::Name(context.presented.iter().map(bare).collect()))
        }
        other => Ok(other?),
    }
}

/// Whether a subject's common name, which may have `*` as its first label, is that of the host.
fn covers(name: &str, host: &str) -> bool {
    let same = |one: &str, other: &str| !one.is_empty() && one.eq_ignore_ascii_case(other);
    match name.strip_prefix("*.") {
        Some(domain) => host.split_once('.').is_some_and(|(label, rest)| !label.is_empty() && same(domain, rest)),
        None => same(name, host),
    }
}

impl ServerCertVerifier for CertificateVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.check >= Check::Chain {
            self.chain(end_entity, intermediates, now)?;
        }
        if self.check >= Check::Name {
            name(end_entity, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signature(message, certificate, signed, Version::Tls12)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signature(message, certificate, signed, Version::Tls13)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_stands_for_one_label() {
        assert!(covers("db.example", "DB.example"));
        assert!(covers("*.example", "db.example"));
        for (name, host) in
            [("*.example", "example"), ("*.example", "a.b.example"), ("*.example", ".example"), ("", ""), ("*", "db")]
        {
            assert!(!covers(name, host), "{name} {host}");
        }
    }
}
