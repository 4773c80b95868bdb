//! The texts of a connection's parameters, by name, and where they come from.
//! <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS>,
//! <https://www.postgresql.org/docs/current/libpq-envars.html>

use std::collections::BTreeMap;

use crate::{Error, ErrorKind};

/// libpq's parameters, and the variables that stand for them where nothing else does.
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

/// Looks variables up; an empty one is none.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The process's.
pub(super) fn of_process(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Texts by parameter.
#[derive(Default)]
pub(super) struct Settings(BTreeMap<&'static str, Setting>);

struct Setting {
    value: String,
    /// A variable or a file, if it is not the connection string itself.
    place: Option<String>,
}

impl Settings {
    /// Takes what the connection string says; the last word on a parameter counts.
    ///
    /// # Errors
    /// There is no such parameter, or the value holds a NUL, which ends a string in the start-up message.
    pub(super) fn set(&mut self, name: &str, value: String) -> Result<(), Error> {
        let name = known(name)?;
        check(&value)?;
        self.0.insert(name, Setting { value, place: None });
        Ok(())
    }

    /// Takes what another place says of a parameter, if nothing was said before.
    ///
    /// # Errors
    /// As for [`Settings::set`].
    pub(super) fn add(&mut self, name: &str, value: String, place: String) -> Result<(), Error> {
        let name = known(name)?;
        check(&value)?;
        self.0.entry(name).or_insert(Setting { value, place: Some(place) });
        Ok(())
    }

    /// Takes from the environment what nothing was said of.
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

    /// What was said of a parameter. The empty text says that its default is meant.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|setting| setting.value.as_str()).filter(|value| !value.is_empty())
    }

    /// The sense of what was said of a parameter, if anything was.
    ///
    /// # Errors
    /// Those of `parse`, with the place that says so.
    pub(super) fn value<T>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.text(name).map(parse).transpose().map_err(|error| self.blame(name, error))
    }

    /// An error about a parameter, with the place that its value comes from.
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
