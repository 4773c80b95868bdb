//! The places of libpq's files, and who may read them.
//! <https://www.postgresql.org/docs/current/libpq-pgpass.html>,
//! <https://www.postgresql.org/docs/current/libpq-pgservice.html>,
//! <https://www.postgresql.org/docs/current/libpq-ssl.html>

use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// The places of a user's files, in the form of the system.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    /// The user's folder: HOME, or APPDATA on Windows.
    folder: Option<PathBuf>,
}

/// Names within the user's folder.
struct Names {
    variable: &'static str,
    passwords: &'static str,
    services: &'static str,
    certificates: &'static str,
    /// The folder with the system's services, if PGSYSCONFDIR names no other.
    system: Option<&'static str>,
}

#[cfg(unix)]
const NAMES: Names = Names {
    variable: "HOME",
    passwords: ".pgpass",
    services: ".pg_service.conf",
    certificates: ".postgresql",
    // Debian's.
    system: Some("/etc/postgresql-common"),
};
#[cfg(windows)]
const NAMES: Names = Names {
    variable: "APPDATA",
    passwords: r"postgresql\pgpass.conf",
    services: r"postgresql\.pg_service.conf",
    certificates: "postgresql",
    system: None,
};

impl Files {
    /// With the values of environment variables.
    pub(crate) fn new(lookup: impl Fn(&str) -> Option<String>) -> Self {
        Self { folder: lookup(NAMES.variable).map(PathBuf::from) }
    }

    /// The file of passwords.
    pub(crate) fn passwords(&self) -> Option<PathBuf> {
        self.within(NAMES.passwords)
    }

    /// The user's file of services.
    pub(crate) fn services(&self) -> Option<PathBuf> {
        self.within(NAMES.services)
    }

    /// The folder of the system's file of services, if PGSYSCONFDIR names no other.
    pub(crate) fn system_services() -> Option<PathBuf> {
        NAMES.system.map(PathBuf::from)
    }

    /// A file with a certificate, a key or revoked certificates.
    pub(crate) fn certificate(&self, name: &str) -> Option<PathBuf> {
        Some(self.within(NAMES.certificates)?.join(name))
    }

    /// The place of such a file, as people write it.
    pub(crate) fn certificate_place(name: &str) -> String {
        if cfg!(windows) {
            format!(r"%{}%\{}\{name}", NAMES.variable, NAMES.certificates)
        } else {
            format!("~/{}/{name}", NAMES.certificates)
        }
    }

    /// The place of the file of passwords, as people write it.
    pub(crate) fn passwords_place() -> String {
        if cfg!(windows) {
            format!(r"%{}%\{}", NAMES.variable, NAMES.passwords)
        } else {
            format!("~/{}", NAMES.passwords)
        }
    }

    fn within(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(name))
    }
}

/// Whether only its owner may read a file. For files of root, its group may, if `group_of_root`. Windows keeps rights in
/// lists, which libpq does not read either: a user's folder is the user's.
#[cfg(unix)]
pub(crate) fn is_private(file: &Metadata, group_of_root: bool) -> bool {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    let forbidden = if group_of_root && file.uid() == 0 { 0o037 } else { 0o077 };
    file.permissions().mode() & forbidden == 0
}

#[cfg(windows)]
pub(crate) fn is_private(_: &Metadata, _: bool) -> bool {
    true
}

/// Whether it is a directory of sockets for which the file of passwords says `localhost`: the defaults of PostgreSQL and
/// of Debian.
pub(crate) fn is_socket_directory(path: &Path) -> bool {
    ["/tmp", "/var/run/postgresql"].iter().any(|default| path.as_os_str() == *default)
}
