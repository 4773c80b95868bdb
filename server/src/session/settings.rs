//! PostgreSQL's settings that drivers set, reset and show.
//!
//! The engine sets those that it has: the time zone, the search path, and its own. The others are kept here. Values that would
//! change the form of results are refused, because this server has one form only.

mod command;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use colonnade_sql::{Dialect, quote};

use crate::limits::budget::Charge;
use crate::limits::{self, Timeout};
use crate::value::Zone;

pub use command::{Command, command, kept};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// A value that it does not have here.
    #[error("parameter \"{name}\" cannot be \"{value}\" here; it is {only}")]
    Value {
        name: &'static str,
        value: String,
        /// What it may be.
        only: &'static str,
    },
    #[error("parameter \"{0}\" cannot be changed")]
    Fixed(&'static str),
    /// Transactions that the engine does not have.
    #[error("transactions are neither serializable nor, by SET, read-only here")]
    Transaction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// The value is kept and shown, and changes nothing else.
    Kept,
    /// It is accepted if it is one of these ways to write the only value.
    Only(&'static [&'static str]),
    /// It describes the server: only its present value is accepted.
    ReadOnly,
    /// It is accepted without an effect, and the client is warned.
    Ignored,
    /// It sets a time limit, which can only become shorter.
    TimeLimit(Timeout),
    SearchPath,
    /// It sets the time zone, in the engine too.
    TimeZone,
}

struct Known {
    name: &'static str,
    default: &'static str,
    effect: Effect,
    /// Whether clients are told of a change (PostgreSQL's GUC_REPORT).
    is_reported: bool,
}

const fn known(name: &'static str, default: &'static str, effect: Effect, is_reported: bool) -> Known {
    Known { name, default, effect, is_reported }
}

use Effect::{Ignored, Kept, Only, ReadOnly, SearchPath, TimeLimit, TimeZone};

const KNOWN: [Known; 35] = [
    known("application_name", "", Kept, true),
    known("bytea_output", "hex", Only(&["hex"]), false),
    known("check_function_bodies", "on", Kept, false),
    known("client_encoding", "UTF8", Only(&["utf8", "utf-8", "unicode"]), true),
    known("client_min_messages", "notice", Kept, false),
    known("DateStyle", "ISO, MDY", Only(&["iso", "iso, mdy", "iso,mdy"]), true),
    known("default_transaction_isolation", "repeatable read", Only(&["repeatable read", "read committed"]), false),
    known("default_transaction_read_only", "off", Only(&["off", "false", "0"]), true),
    // Floats are always the shortest text that reads back as the same number.
    known("extra_float_digits", "1", Kept, false),
    known("idle_in_transaction_session_timeout", "0", TimeLimit(Timeout::IdleInTransaction), false),
    known("idle_session_timeout", "0", TimeLimit(Timeout::Idle), false),
    known("in_hot_standby", "off", ReadOnly, true),
    known("integer_datetimes", "on", ReadOnly, true),
    known("IntervalStyle", "postgres", Only(&["postgres"]), true),
    known("is_superuser", "off", ReadOnly, true),
    known("jit", "off", Kept, false),
    known("lc_collate", "C", ReadOnly, false),
    known("lc_messages", "C", Kept, false),
    known("lc_monetary", "C", Kept, false),
    known("lock_timeout", "0", Ignored, false),
    known("max_identifier_length", "63", ReadOnly, false),
    known("row_security", "on", Kept, false),
    // PostgreSQL 15 does not report it either. The engine knows its value.
    known("search_path", "main", SearchPath, false),
    known("server_encoding", "UTF8", ReadOnly, true),
    known("server_version", "", ReadOnly, true),
    known("server_version_num", "150000", ReadOnly, false),
    known("session_authorization", "", ReadOnly, true),
    known("standard_conforming_strings", "on", Only(&["on", "true", "1"]), true),
    known("statement_timeout", "0", TimeLimit(Timeout::Statement), false),
    known("synchronize_seqscans", "on", Kept, false),
    known("TimeZone", "UTC", TimeZone, true),
    known("transaction_isolation", "repeatable read", Only(&["repeatable read", "read committed"]), false),
    known("transaction_read_only", "off", Only(&["off", "false", "0"]), false),
    known("transaction_deferrable", "off", Kept, false),
    known("xmloption", "content", Kept, false),
];

#[derive(Clone, Debug)]
pub struct Settings {
    defaults: Vec<String>,
    values: Vec<Value>,
    /// What each SET of the transaction has found, in their order.
    past: Vec<(usize, Value)>,
}

#[derive(Clone, Debug)]
struct Value {
    now: String,
    /// Once the transaction has committed: SET LOCAL leaves it alone.
    lasting: String,
    /// For what the client has set, here and where it is kept to be given back.
    charge: Option<Arc<Charge>>,
}

/// Settings, and the values that they had and are to have again.
pub type Former = Vec<(usize, String)>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The value, as it is shown from then on.
    pub value: String,
    /// A statement for the engine, to run first.
    pub engine: Option<String>,
    /// A time that the session is not to take longer than.
    pub time: Option<(Timeout, Option<Duration>)>,
    /// Whether the client is warned that it has no effect.
    pub is_idle: bool,
}

impl Settings {
    /// With what the start-up said.
    pub fn new(given: &[(&str, &str)]) -> Self {
        let value = |known: &Known| {
            let given = given.iter().find(|(name, _)| name.eq_ignore_ascii_case(known.name));
            given.map_or(known.default, |(_, value)| value).to_owned()
        };
        let defaults: Vec<_> = KNOWN.iter().map(value).collect();
        let values = defaults.iter().map(|value| Value { now: value.clone(), lasting: value.clone(), charge: None });
        Self { values: values.collect(), defaults, past: Vec::new() }
    }

    pub fn name(setting: usize) -> &'static str {
        KNOWN[setting].name
    }

    pub fn value(&self, setting: usize) -> &str {
        &self.values[setting].now
    }

    /// The indices of all settings.
    pub fn places() -> std::ops::Range<usize> {
        0..KNOWN.len()
    }

    pub fn is_path(setting: usize) -> bool {
        KNOWN[setting].effect == SearchPath
    }

    /// What it takes to set a setting, to its first value if none is given.
    ///
    /// # Errors
    /// If it cannot be set, or not to this value.
    pub fn plan(&self, setting: usize, value: Option<&str>) -> Result<Change, SettingError> {
        let known = &KNOWN[setting];
        let value = value.unwrap_or(&self.defaults[setting]);
        let wrong = |only| Err(SettingError::Value { name: known.name, value: value.to_owned(), only });
        let change = Change { value: value.to_owned(), ..Change::default() };
        match known.effect {
            Kept => Ok(change),
            Ignored => Ok(Change { is_idle: value != known.default, ..change }),
            Only(values) if values.iter().chain([&known.default]).any(|only| only.eq_ignore_ascii_case(value)) => {
                // Its other spellings mean the same.
                Ok(Change { value: known.default.to_owned(), ..change })
            }
            Only(_) => wrong(known.default),
            ReadOnly if value == self.value(setting) => Ok(change),
            ReadOnly => Err(SettingError::Fixed(known.name)),
            TimeLimit(which) => match limits::parse_time(value) {
                Some(time) => Ok(Change { time: Some((which, time)), ..change }),
                None => wrong("a time, such as 500, 30s or 5min"),
            },
            SearchPath => Ok(Change { engine: Some(in_engine(known.name, &without_catalog(value))), ..change }),
            TimeZone => match Zone::named(value) {
                Some(zone) => {
                    let value = zone.name().to_owned();
                    Ok(Change { engine: Some(in_engine(known.name, &value)), value, ..change })
                }
                None => {
                    wrong("the name of a time zone, such as UTC or Europe/Berlin, or whole hours east of Greenwich")
                }
            },
        }
    }

    /// What setting a value takes of the session's memory: it, what it was before, and what it is to be again.
    pub fn bytes(&self, setting: usize, now: &str) -> usize {
        let before = &self.values[setting];
        size_of::<(usize, Value)>() + 2 * now.len() + before.now.len() + before.lasting.len()
    }

    /// Sets it, to the end of the session or, if `is_local`, of the transaction; gives the value to report, if clients are told
    /// of it. `charge` is for what it takes.
    pub fn set(
        &mut self,
        setting: usize,
        now: String,
        is_local: bool,
        charge: Charge,
    ) -> Option<(&'static str, String)> {
        let before = self.values[setting].clone();
        let lasting = if is_local { before.lasting.clone() } else { now.clone() };
        self.past.push((setting, before));
        self.replace(setting, Value { now, lasting, charge: Some(Arc::new(charge)) })
    }

    /// Gives it back a value that it had; gives that to report, likewise.
    pub fn give_back(&mut self, setting: usize, now: String) -> Option<(&'static str, String)> {
        let (lasting, charge) = (self.values[setting].lasting.clone(), self.values[setting].charge.clone());
        self.replace(setting, Value { now, lasting, charge })
    }

    fn replace(&mut self, setting: usize, value: Value) -> Option<(&'static str, String)> {
        let known = &KNOWN[setting];
        let before = std::mem::replace(&mut self.values[setting], value);
        let now = &self.values[setting].now;
        (known.is_reported && before.now != *now).then(|| (known.name, now.clone()))
    }

    /// How often something was set in the transaction: what [`Settings::roll_back`] goes back to.
    pub fn mark(&self) -> usize {
        self.past.len()
    }

    /// The transaction has committed. What was set for it alone is to be given back.
    pub fn commit(&mut self) -> Former {
        let mut changed: Vec<_> = self.past.drain(..).map(|(setting, _)| setting).collect();
        changed.sort_unstable();
        changed.dedup();
        let is_local = |setting: &usize| self.values[*setting].now != self.values[*setting].lasting;
        changed.into_iter().filter(is_local).map(|setting| (setting, self.values[setting].lasting.clone())).collect()
    }

    /// The transaction is undone as far as `mark`; 0 is its beginning. All that was set since is to be given back.
    pub fn roll_back(&mut self, mark: usize) -> Former {
        let mut former = BTreeMap::new();
        for (setting, before) in self.past.drain(mark..).rev() {
            self.values[setting].lasting = before.lasting;
            former.insert(setting, before.now);
        }
        former.into_iter().filter(|(setting, now)| self.values[*setting].now != *now).collect()
    }

    /// Makes the present values those that the session began with.
    pub fn settle(&mut self) {
        self.defaults = self.values.iter().map(|value| value.now.clone()).collect();
        self.past.clear();
    }

    /// The settings whose values differ from those at the session's beginning.
    pub fn changed(&self) -> Vec<usize> {
        (0..KNOWN.len()).filter(|&at| self.values[at].now != self.defaults[at]).collect()
    }
}

fn in_engine(name: &str, value: &str) -> String {
    format!("SET {name} = {}", quote::string(value, Dialect::POSTGRES))
}

/// A search path without PostgreSQL's catalog, which is found at the end of each here (postgres_fdw wants it alone), and
/// without the schema that is called as the user is.
fn without_catalog(path: &str) -> String {
    let is_kept = |name: &&str| !name.eq_ignore_ascii_case("pg_catalog") && name.trim_matches('"') != "$user";
    let names: Vec<_> = path.split(',').map(str::trim).filter(is_kept).collect();
    if names.is_empty() { "main".to_owned() } else { names.join(",") }
}

/// A setting's place, by its name in any case.
fn find(name: &str) -> Option<usize> {
    KNOWN.iter().position(|known| known.name.eq_ignore_ascii_case(name))
}

pub fn is_known(name: &str) -> bool {
    find(name).is_some()
}

#[cfg(test)]
mod tests;
