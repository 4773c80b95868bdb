//! Errors of a handshake, with hints.

use std::error::Error as StdError;
use std::io;

use rustls::{AlertDescription, CertificateError};

use super::config::TlsConfig;
use super::verifier::Refusal;
use crate::system::plain;
use crate::{Error, ErrorKind};

/// A failed handshake.
pub(super) fn handshake(cause: io::Error, config: &TlsConfig, host: &str) -> Error {
    let words = config.words;
    let Some(error) = cause.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) else {
        let why = match cause.kind() {
            io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
            _ => plain(&cause),
        };
        return Error::new(ErrorKind::Connect, format!("the TLS connection failed: {why}")).with_cause(cause);
    };
    let made = match error {
        rustls::Error::InvalidCertificate(reason) => {
            let refusal = refusal(reason);
            Error::new(ErrorKind::Connect, format!("the server's certificate is not trusted: {refusal}"))
                .with_hint(advice(&refusal, config, host))
        }
        rustls::Error::AlertReceived(alert) => alerted(*alert, config),
        rustls::Error::PeerIncompatible(_) => {
            Error::new(ErrorKind::Connect, format!("the TLS connection failed: {error}"))
                .with_hint("the server must speak TLS 1.2 or 1.3 and know a cipher that is not outdated")
        }
        rustls::Error::InvalidMessage(_) => Error::new(ErrorKind::Connect, "the server's answer to TLS is not TLS")
            .with_hint(format!("choose another {}", words.mode)),
        error => Error::new(ErrorKind::Connect, format!("the TLS connection failed: {error}")),
    };
    made.with_cause(cause)
}

fn refusal(reason: &CertificateError) -> Refusal {
    match reason {
        CertificateError::UnknownIssuer => Refusal::UnknownIssuer,
        CertificateError::Expired => Refusal::Expired,
        CertificateError::NotValidYet => Refusal::NotYetValid,
        CertificateError::Revoked => Refusal::Revoked,
        CertificateError::BadEncoding => Refusal::Malformed,
        CertificateError::Other(other) => match other.0.downcast_ref() {
            Some(refusal) => Refusal::clone(refusal),
            None => Refusal::Other(other.to_string()),
        },
        other => Refusal::Other(other.to_string()),
    }
}

fn advice(refusal: &Refusal, config: &TlsConfig, host: &str) -> String {
    let words = config.words;
    match refusal {
        Refusal::UnknownIssuer | Refusal::Authority => {
            format!("name a file with the certificate of the server's authority by {}", words.roots)
        }
        Refusal::Name(_) => {
            format!("connect by one of these names in place of {host:?}, or choose another {}", words.mode)
        }
        Refusal::Expired | Refusal::NotYetValid => {
            "renew the server's certificate, or check this machine's clock".into()
        }
        Refusal::Old => "issue a new certificate for the server, with the names of its host (subjectAltName)".into(),
        Refusal::Revoked => "issue a new certificate for the server".into(),
        Refusal::RevocationUnknown => {
            format!("add the current lists of all its issuers to the file of {}", words.revoked)
        }
        Refusal::Malformed | Refusal::Other(_) => "check the server's certificate".into(),
    }
}

fn told(alert: AlertDescription) -> &'static str {
    match alert {
        AlertDescription::CertificateRequired | AlertDescription::NoCertificate => {
            "it asks for a certificate of the client's"
        }
        AlertDescription::UnknownCA => "it does not know who has signed the client's certificate",
        AlertDescription::CertificateExpired => "the client's certificate has expired",
        AlertDescription::CertificateRevoked => "the client's certificate has been revoked",
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::DecryptError => "it does not accept the client's certificate",
        AlertDescription::ProtocolVersion => "it supports no version of TLS that is allowed here",
        AlertDescription::NoApplicationProtocol => "it does not support sslnegotiation=direct",
        _ => "its reason is of no help",
    }
}

fn asked(alert: AlertDescription, config: &TlsConfig) -> String {
    let words = config.words;
    match alert {
        AlertDescription::ProtocolVersion => "the server must speak TLS 1.2 or 1.3".into(),
        AlertDescription::CertificateRequired
        | AlertDescription::NoCertificate
        | AlertDescription::UnknownCA
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateRevoked
        | AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::DecryptError => {
            format!("name one that the server accepts by {}, and its key by {}", words.certificate, words.key)
        }
        _ => "the server's log may say more".into(),
    }
}

/// A refusal after the handshake: in TLS 1.3 the client's handshake ends before the server checks the client's
/// certificate.
pub(crate) fn refused(error: &Error, config: &TlsConfig) -> Option<Error> {
    let cause = StdError::source(error)?.downcast_ref::<io::Error>()?;
    match cause.get_ref()?.downcast_ref::<rustls::Error>()? {
        rustls::Error::AlertReceived(alert) => Some(alerted(*alert, config)),
        _ => None,
    }
}

fn alerted(alert: AlertDescription, config: &TlsConfig) -> Error {
    Error::new(ErrorKind::Connect, format!("the server refused the TLS connection: {}", told(alert)))
        .with_hint(asked(alert, config))
}
