//! The settings that affect how a server reads statements and values, as the server reports them.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-ASYNC>
//!
//! A gateway's clients write literals for the settings that the gateway announces. So the client sends these settings
//! at start-up, which makes them the values that RESET restores. PostgreSQL reports each change before it accepts
//! another statement, whatever caused the change: SET, `set_config`, a function, DO, or the end of a transaction.

use std::collections::BTreeMap;

use crate::{Error, ErrorKind};

/// The settings that a gateway announces, in the form of the reports.
const FIXED: [(&str, &str); 4] = [
    ("standard_conforming_strings", "on"),
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO, MDY"),
    ("IntervalStyle", "postgres"),
];
/// The settings that every pooler knows.
const COMMON: [&str; 2] = ["standard_conforming_strings", "DateStyle"];
/// Settings that affect the text of values and are not reported, for casts in a client's statement. The forms of
/// results do not depend on them.
pub(super) const STYLES: &str = "\
    SELECT pg_catalog.set_config('extra_float_digits', '3', false) \
    WHERE pg_catalog.current_setting('extra_float_digits')::pg_catalog.int4 < 1; \
    SELECT pg_catalog.set_config('bytea_output', 'hex', false) \
    WHERE pg_catalog.current_setting('bytea_output') <> 'hex'";
const TIME_ZONE: &str = "TimeZone";
/// PostgreSQL's cant_change_runtime_param.
const CANNOT_CHANGE: &str = "55P02";

/// The relevant reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reports(BTreeMap<&'static str, String>);

impl Reports {
    /// Reads a ParameterStatus.
    pub(super) fn note(&mut self, name: &str, value: &str) {
        let known = FIXED.iter().map(|(name, _)| *name).chain([TIME_ZONE]).find(|known| *known == name);
        if let Some(known) = known {
            self.0.insert(known, value.to_owned());
        }
    }

    pub(super) fn time_zone(&self) -> Option<&str> {
        self.0.get(TIME_ZONE).map(String::as_str)
    }

    /// Whether all settings are as announced.
    pub(super) fn are_known(&self) -> bool {
        self.different().next().is_none()
    }

    /// The settings that are not as announced, with the announced values.
    pub(super) fn different(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        FIXED.into_iter().filter(|(name, value)| self.0.get(name).is_none_or(|reported| reported != value))
    }

    /// Checks that the server reads statements by the rules that the gateway's clients know.
    ///
    /// # Errors
    /// It does not. The connection ends, because statements that clients have already sent would be read differently.
    pub(super) fn check(&self) -> Result<(), Error> {
        let Some((name, value)) = self.different().next() else { return Ok(()) };
        let now = self.0.get(name).map_or("unknown", String::as_str);
        Err(changed(name, now, value))
    }
}

/// The number of settings in a gateway's start-up message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    Common,
    /// Settings whose defaults differ. A pooler may refuse them.
    All,
}

/// The parameters of a gateway's start-up message.
pub(super) fn parameters<'a>(given: Given) -> impl Iterator<Item = (&'a str, &'a str)> {
    FIXED.into_iter().filter(move |(name, _)| given == Given::All || COMMON.contains(name))
}

/// The error of a session with changed settings.
pub(crate) fn changed(name: &str, now: &str, announced: &str) -> Error {
    let message =
        format!("{name} is {now:?} in the source's session, which changes how statements are read: this session ends");
    Error::new(ErrorKind::ConnectionLost, message)
        .with_sqlstate(CANNOT_CHANGE)
        .with_detail(Some(format!("clients were told of {announced:?}, and write values accordingly")))
        .with_hint("leave it as it is; open a new connection")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn all_must_be_reported_and_as_announced() {
        let mut reports = Reports::default();
        assert!(reports.check().is_err());
        for (name, value) in FIXED {
            reports.note(name, value);
        }
        reports.note("application_name", "x");
        assert!(reports.check().is_ok());
        reports.note("standard_conforming_strings", "off");
        let error = reports.check().unwrap_err();
        assert_eq!(error.sqlstate(), Some("55P02"));
        assert!(error.message().contains("standard_conforming_strings"));
    }
}
