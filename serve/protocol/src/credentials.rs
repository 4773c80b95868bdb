//! Users and certificates. The supervisor reads their files and sends the contents to the worker.
//!
//! The worker, which runs clients' statements, has no access to these files.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::auth::Users;
use crate::memory_file;
use crate::serve::error::ServeError;
use crate::tls::{self, Pem, TlsFiles, ValidityFault};

/// The files of users and certificates.
#[derive(Clone, Debug, Default)]
pub struct CredentialFiles {
    /// The users. Without a file, the server listens on this machine only, and every client can log in.
    pub users: Option<PathBuf>,
    /// The certificates.
    pub tls: Option<TlsFiles>,
}

/// What the files contain.
pub(crate) struct CredentialContents {
    /// For another process, which reads it with [`Credentials::take`].
    pub memory_file: std::fs::File,
    /// Certificates that can be used, but that clients will not accept.
    pub faults: Vec<ValidityFault>,
}

impl CredentialFiles {
    /// Reads and checks the files.
    pub(crate) fn read(&self) -> Result<CredentialContents, ServeError> {
        let users = match &self.users {
            None => None,
            Some(path) => {
                let text = Users::read_text(path)?;
                Users::from_text(path, &text)?;
                Some(text)
            }
        };
        let pem = self.tls.as_ref().map(Pem::read).transpose()?;
        pem.as_ref().map(tls::Config::new).transpose()?;
        let authorities = pem.as_ref().and_then(|pem| pem.client_authorities.as_deref());
        let parts = [
            users.as_ref().map(String::as_bytes),
            pem.as_ref().map(|pem| &pem.certificate[..]),
            pem.as_ref().map(|pem| &pem.key[..]),
            authorities,
        ];
        let faults = pem.as_ref().map(|pem| pem.validity_faults(SystemTime::now())).unwrap_or_default();
        Ok(CredentialContents { memory_file: memory_file::write(&parts)?, faults })
    }
}

/// Users, and the configuration of TLS.
#[derive(Default)]
pub struct Credentials {
    pub(crate) users: Option<Users>,
    pub(crate) tls: Option<tls::Config>,
}

impl Credentials {
    /// Reads the files in the process that uses them, for a server without a supervisor.
    ///
    /// # Errors
    /// If one of the files cannot be used.
    pub fn load(files: &CredentialFiles) -> Result<Self, ServeError> {
        Self::take(files.read()?.memory_file.into())
    }

    /// Parses the contents that another process has read.
    pub(crate) fn take(memory_file: OwnedFd) -> Result<Self, ServeError> {
        let [users, certificate, key, authorities] = memory_file::read(memory_file)?;
        let text = |bytes| String::from_utf8(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
        let users = users.map(text).transpose()?;
        let users = users.map(|text| Users::from_text(Path::new("-"), &text)).transpose()?;
        let pem = certificate.zip(key).map(|(certificate, key)| Pem::new(certificate, key, authorities));
        Ok(Self { users, tls: pem.as_ref().map(tls::Config::new).transpose()? })
    }
}
