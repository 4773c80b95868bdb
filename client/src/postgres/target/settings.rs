//! The texts of a connection's parameters, by name, and their origins.
//! <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS>,
//! <https://www.postgresql.org/docs/current/libpq-envars.html>

use std::collections::BTreeMap;

use crate::{Error, ErrorKind};

/// libpq's parameters and their environment variables.
const PARAMETERS: [(&str, &str); 42] = [
    ("application_name", "PGAPPNAME"),
    ("channel_binding", "PGCHANNELBINDING"),
    ("client_encoding", "PGCLIENTENCODING"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("dbname", "PGDATABASE"),
    ("fallback_application_name", ""),
    ("gssdelegation", "PGGSSDELEGATION"),
    ("gssencmode", "PGGSSENCMODE"),
    ("gsslib", "PGGSSLIB"),
    ("host", "PGHOST"),
    ("hostaddr", "PGHOSTADDR"),
    ("keepalives", ""),
    ("keepalives_count", ""),
    ("keepalives_idle", ""),
    ("keepalives_interval", ""),
    ("krbsrvname", "PGKRBSRVNAME"),
    ("load_balance_hosts", "PGLOADBALANCEHOSTS"),
    ("options", "PGOPTIONS"),
    ("passfile", "PGPASSFILE"),
    ("password", "PGPASSWORD"),
    ("port", "PGPORT"),
    ("replication", ""),
    ("require_auth", "PGREQUIREAUTH"),
    ("requirepeer", "PGREQUIREPEER"),
    ("service", "PGSERVICE"),
    ("servicefile", "PGSERVICEFILE"),
    ("ssl_max_protocol_version", "PGSSLMAXPROTOCOLVERSION"),
    ("ssl_min_protocol_version", "PGSSLMINPROTOCOLVERSION"),
    ("sslcert", "PGSSLCERT"),
    ("sslcertmode", "PGSSLCERTMODE"),
    ("sslcompression", "PGSSLCOMPRESSION"),
    ("sslcrl", "PGSSLCRL"),
    ("sslcrldir", "PGSSLCRLDIR"),
    ("sslkey", "PGSSLKEY"),
    ("sslmode", "PGSSLMODE"),
    ("sslnegotiation", "PGSSLNEGOTIATION"),
    ("sslpassword", ""),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("sslsni", "PGSSLSNI"),
    ("target_session_attrs", "PGTARGETSESSIONATTRS"),
    ("tcp_user_timeout", ""),
    ("user", "PGUSER"),
];

/// Looks up variables. An empty variable counts as unset.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The process's environment.
pub(super) fn of_process(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Texts by parameter.
#[derive(Default)]
pub(super) struct Settings(BTreeMap<&'static str, Setting>);

struct Setting {
    value: String,
    /// The variable or file of the value; `None` for the connection string.
    place: Option<String>,
}

impl Settings {
    /// Sets a parameter from the connection string. The last value counts.
    ///
    /// # Errors
    /// There is no such parameter, or the value has a NUL, which ends a string in the start-up message.
    pub(super) fn set(&mut self, name: &str, value: String) -> Result<(), Error> {
        let name = known(name)?;
        check(&value)?;
        self.0.insert(name, Setting { value, place: None });
        Ok(())
    }

    /// Sets a parameter from another origin, if it is not set yet.
    ///
    /// # Errors
    /// As for [`Settings::set`].
    pub(super) fn add(&mut self, name: &str, value: String, place: String) -> Result<(), Error> {
        let name = known(name)?;
        check(&value)?;
        self.0.entry(name).or_insert(Setting { value, place: Some(place) });
        Ok(())
    }

    /// Sets the missing parameters from the environment.
    ///
    /// # Errors
    /// As for [`Settings::set`].
    pub(super) fn fill(&mut self, lookup: Lookup<'_>) -> Result<(), Error> {
        for (name, variable) in PARAMETERS {
            if let Some(value) = lookup(variable).filter(|_| !variable.is_empty()) {
                self.add(name, value, variable.to_owned())?;
            }
        }
        Ok(())
    }

    /// The names and texts of all parameters that are set, and whether the connection string has set them.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &str, bool)> {
        self.0.iter().map(|(name, setting)| (*name, setting.value.as_str(), setting.place.is_none()))
    }

    /// The text of a parameter; `None` if it is not set. An empty text means the default.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|setting| setting.value.as_str()).filter(|value| !value.is_empty())
    }

    /// The interpreted value of a parameter, if it is set.
    ///
    /// # Errors
    /// Those of `parse`, with the origin of the value.
    pub(super) fn value<T>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.text(name).map(parse).transpose().map_err(|error| self.blame(name, error))
    }

    /// An error about a parameter, with the origin of its value.
    pub(super) fn blame(&self, name: &str, error: Error) -> Error {
        match self.0.get(name).and_then(|setting| setting.place.as_ref()) {
            Some(place) => error.with_detail(Some(format!("{place} says so"))),
            None => error,
        }
    }
}

fn known(name: &str) -> Result<&'static str, Error> {
    let found = PARAMETERS.iter().find(|(known, _)| *known == name);
    found.map(|(known, _)| *known).ok_or_else(|| usage(format!("unknown connection parameter {name:?}")))
}

fn check(value: &str) -> Result<(), Error> {
    if value.contains('\0') {
        return Err(usage("the connection string holds a NUL character"));
    }
    Ok(())
}

pub(super) fn usage(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, message)
}
