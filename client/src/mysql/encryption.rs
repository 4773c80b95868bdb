//! The encryption of a connection, by the options of MySQL's clients.
//! <https://dev.mysql.com/doc/refman/8.4/en/connection-options.html#encrypted-connection-options>

use std::path::PathBuf;

use crate::tls::{Check, Identity, Roots, TlsConfig, TlsOptionNames, TlsOptions};
use crate::{Error, ErrorKind};

static WORDS: TlsOptionNames =
    TlsOptionNames { mode: "ssl-mode", roots: "ssl-ca", certificate: "ssl-cert", key: "ssl-key", revoked: "ssl-crl" };

/// `ssl-mode`, from the weakest to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mode {
    Disabled,
    /// If the server supports it.
    Preferred,
    Required,
    VerifyCa,
    VerifyIdentity,
}

/// The options of a URI.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Encryption {
    mode: Option<Mode>,
    authority: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    revoked: Option<PathBuf>,
}

impl Encryption {
    /// Sets one of the five options.
    ///
    /// # Errors
    /// There is no such mode.
    pub(super) fn set(&mut self, key: &str, value: String) -> Result<(), Error> {
        let file = Some(PathBuf::from(&value));
        match key {
            "ssl-ca" => self.authority = file,
            "ssl-cert" => self.certificate = file,
            "ssl-key" => self.key = file,
            "ssl-crl" => self.revoked = file,
            _ => {
                self.mode = Some(match value.to_uppercase().as_str() {
                    "DISABLED" => Mode::Disabled,
                    "PREFERRED" => Mode::Preferred,
                    "REQUIRED" => Mode::Required,
                    "VERIFY_CA" => Mode::VerifyCa,
                    "VERIFY_IDENTITY" => Mode::VerifyIdentity,
                    _ => {
                        let message =
                            "ssl-mode is not one of DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY";
                        return Err(Error::new(ErrorKind::Usage, message));
                    }
                });
            }
        }
        Ok(())
    }

    /// If an authority is named, it is used.
    pub(super) fn mode(&self) -> Mode {
        self.mode.unwrap_or(if self.authority.is_some() { Mode::VerifyCa } else { Mode::Preferred })
    }

    /// # Errors
    /// A file cannot be read, or the certificate has no key.
    pub(super) fn config(&self) -> Result<TlsConfig, Error> {
        let mut options = TlsOptions::new(&WORDS);
        options.check = match self.mode() {
            Mode::VerifyCa => Check::Chain,
            Mode::VerifyIdentity => Check::Name,
            Mode::Disabled | Mode::Preferred | Mode::Required => Check::Nothing,
        };
        options.roots = match &self.authority {
            Some(file) => Roots::File(file.clone()),
            None if options.check == Check::Nothing => Roots::Nobody,
            None => Roots::System,
        };
        options.identity = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => Some(Identity { certificate: certificate.clone(), key: key.clone() }),
            (None, None) => None,
            _ => return Err(Error::new(ErrorKind::Usage, "of ssl-cert and ssl-key, one is missing")),
        };
        options.revoked.clone_from(&self.revoked);
        TlsConfig::new(&options)
    }
}
