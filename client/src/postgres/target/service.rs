//! Service files: parameters under a name.
//! <https://www.postgresql.org/docs/current/libpq-pgservice.html>

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::settings::{Lookup, Settings, usage};
use crate::system::{Files, plain};
use crate::{Error, ErrorKind};

/// Takes the parameters of a service that the connection string does not set.
///
/// # Errors
/// No file has the service, or a file cannot be read.
pub(super) fn fill(settings: &mut Settings, lookup: Lookup<'_>) -> Result<(), Error> {
    let Some(service) = settings.text("service").map(str::to_owned).or_else(|| lookup("PGSERVICE")) else {
        return Ok(());
    };
    let users = settings.text("servicefile").map(str::to_owned).or_else(|| lookup("PGSERVICEFILE")).map(PathBuf::from);
    let users = users.or_else(|| Files::new(lookup).services());
    let systems = lookup("PGSYSCONFDIR").map(PathBuf::from).or_else(Files::system_services);
    let files: Vec<_> = users.into_iter().chain(systems.map(|folder| folder.join("pg_service.conf"))).collect();
    for file in &files {
        match fs::read_to_string(file) {
            Ok(text) => {
                if take(settings, &text, &service, file)? {
                    return Ok(());
                }
            }
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => {
                let message = format!("the service file {} cannot be read: {}", file.display(), plain(&cause));
                return Err(usage(message).with_cause(cause));
            }
        }
    }
    let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    Err(usage(format!("no service file has a service {service:?}"))
        .with_hint(format!("add a section [{service}] to {}", files.join(" or "))))
}

/// Takes the parameters of a service from a file. Returns whether the file has the service.
fn take(settings: &mut Settings, text: &str, service: &str, file: &Path) -> Result<bool, Error> {
    let mut found = false;
    for (number, line) in text.lines().enumerate() {
        let place = format!("{}, line {}", file.display(), number + 1);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            if found {
                break;
            }
            found = name.strip_suffix(']') == Some(service);
        } else if found {
            if line.starts_with("ldap:") || line.starts_with("ldaps:") {
                return Err(
                    Error::new(ErrorKind::Unsupported, "services in LDAP are not supported").with_detail(Some(place))
                );
            }
            let odd = |message: &str| usage(message).with_detail(Some(place.clone()));
            let (name, value) =
                line.split_once('=').ok_or_else(|| odd("a service file has a line that is not keyword=value"))?;
            let name = name.trim_end();
            if matches!(name, "service" | "servicefile") {
                return Err(odd("a service file names a service within a service"));
            }
            settings
                .add(name, value.trim_start().to_owned(), place.clone())
                .map_err(|error| error.with_detail(Some(place.clone())))?;
        }
    }
    Ok(found)
}
