//! PostgreSQL's settings that drivers set, reset and show.
//!
//! The engine has the time zone, the search path, and its own settings. The session has the others. Values that would
//! change the form of results are refused, because this server has only one form.

mod command;
mod known;
pub(crate) mod modes;
mod time;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use colonnade_sql::{Dialect, quote};

use crate::charset::{ClientEncoding, EncodingNameError};
use crate::error::{ClientError, SqlState};
use crate::limits::{Charge, Timeout};
use crate::value::{self, TextStyle, Zone};

pub use command::{Command, command, session_command};
use known::Effect::{
    Charged, DateStyle, Encoding, IgnoredTime, IntervalStyle, Only, ReadOnly, Role, SearchPath, TimeLimit, TimeZone,
    Transaction, TransactionDefault,
};
pub use known::is_known;
use known::{
    CLIENT_ENCODING, DATE_STYLE, DEFAULT_DEFERRABLE, DEFAULT_ISOLATION, DEFAULT_READ_ONLY, INTERVAL_STYLE, KNOWN,
    KnownSetting, ROLE, SESSION_AUTHORIZATION, find,
};
use modes::{Mode, TransactionModes};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// The setting cannot have this value.
    #[error("parameter \"{name}\" cannot be \"{value}\"; it must be {only}")]
    Value {
        name: &'static str,
        value: String,
        /// The valid values.
        only: &'static str,
    },
    #[error(transparent)]
    Encoding(#[from] EncodingNameError),
    #[error("parameter \"{0}\" cannot be changed")]
    Fixed(&'static str),
    /// Another role than the client's own.
    #[error("permission denied to set {name} to \"{value}\"")]
    Role {
        /// The setting.
        name: &'static str,
        value: String,
    },
    /// The engine has no such transactions.
    #[error("serializable transactions are not supported")]
    Serializable,
    /// A mode of a transaction in which statements have run.
    #[error("{0} must be the first statement of its transaction")]
    LateMode(&'static str),
}

impl ClientError for SettingError {
    fn code(&self) -> SqlState {
        match self {
            Self::Encoding(error) => error.code(),
            Self::Fixed(_) => SqlState::new("55P02"),
            Self::Role { .. } => SqlState::INSUFFICIENT_PRIVILEGE,
            Self::Value { .. } => SqlState::INVALID_PARAMETER_VALUE,
            Self::Serializable => SqlState::FEATURE_NOT_SUPPORTED,
            Self::LateMode(_) => SqlState::ACTIVE_SQL_TRANSACTION,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Serializable => "Leave it out: a transaction sees one snapshot of the database.",
            Self::Role { .. } => {
                "A session has the role with which its client has logged in. Connect as the other one."
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

#[derive(Clone, Debug)]
pub struct Settings {
    defaults: Vec<String>,
    values: Vec<Value>,
    /// The value before each SET of the transaction, in order.
    history: Vec<(usize, Value)>,
    /// Of the values now.
    text_style: TextStyle,
    client_encoding: ClientEncoding,
    transaction_defaults: TransactionModes,
}

#[derive(Clone, Debug)]
struct Value {
    now: String,
    /// The value after a commit. SET LOCAL does not change it.
    after_commit: String,
    /// The charge for the client's value, here and in `history`.
    charge: Option<Arc<Charge>>,
}

/// Settings with the values to restore.
pub type FormerValues = Vec<(usize, String)>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The new value, as SHOW gives it.
    pub value: String,
    /// A statement that the engine must run first.
    pub engine: Option<String>,
    /// The same, for an engine that is no source.
    pub variable: Option<String>,
    /// A new time limit of the session.
    pub time: Option<(Timeout, Option<Duration>)>,
    /// Whether the client is warned that the value has no effect.
    pub is_ignored: bool,
}

impl Settings {
    /// The settings of a new session, with these initial values.
    pub fn new(given: &[(&str, &str)]) -> Self {
        let value = |known: &KnownSetting| {
            let given = given.iter().find(|(name, _)| name.eq_ignore_ascii_case(known.name));
            given.map_or(known.default, |(_, value)| value).to_owned()
        };
        let defaults: Vec<_> = KNOWN.iter().map(value).collect();
        let values =
            defaults.iter().map(|value| Value { now: value.clone(), after_commit: value.clone(), charge: None });
        let (values, history) = (values.collect(), Vec::new());
        let (text_style, client_encoding, transaction_defaults) = Default::default();
        let settings = Self { values, defaults, history, text_style, client_encoding, transaction_defaults };
        Self { text_style: settings.chosen_style(), ..settings }
    }

    pub fn name(setting: usize) -> &'static str {
        KNOWN[setting].name
    }

    pub fn value(&self, setting: usize) -> &str {
        &self.values[setting].now
    }

    /// The forms of texts.
    pub fn text_style(&self) -> TextStyle {
        self.text_style
    }

    /// The encoding of the client's texts.
    pub fn client_encoding(&self) -> ClientEncoding {
        self.client_encoding
    }

    fn chosen_encoding(&self) -> ClientEncoding {
        let name = find(CLIENT_ENCODING).map(|setting| self.value(setting));
        name.and_then(|name| ClientEncoding::named(name).ok()).unwrap_or_default()
    }

    fn chosen_style(&self) -> TextStyle {
        let value = |name| find(name).map(|setting| self.value(setting));
        TextStyle {
            date: value(DATE_STYLE).and_then(|words| value::DateStyle::default().with(words)).unwrap_or_default(),
            interval: value(INTERVAL_STYLE).and_then(value::IntervalStyle::named).unwrap_or_default(),
        }
    }

    /// The modes of the session's next transactions.
    pub fn transaction_defaults(&self) -> TransactionModes {
        self.transaction_defaults
    }

    fn chosen_defaults(&self) -> TransactionModes {
        let names = [
            (Mode::Isolation, DEFAULT_ISOLATION),
            (Mode::ReadOnly, DEFAULT_READ_ONLY),
            (Mode::Deferrable, DEFAULT_DEFERRABLE),
        ];
        names.into_iter().fold(TransactionModes::default(), |modes, (mode, name)| {
            let value = find(name).map(|setting| mode.parse(name, self.value(setting)));
            value.and_then(Result::ok).map_or(modes, |chosen| modes.with(chosen))
        })
    }

    /// The setting of the next transactions' mode.
    pub fn of_default(mode: Mode) -> Option<usize> {
        KNOWN.iter().position(|known| known.effect == TransactionDefault(mode))
    }

    /// The mode of the present transaction that a setting is.
    pub fn transaction_mode(setting: usize) -> Option<Mode> {
        if let Transaction(mode) = KNOWN[setting].effect { Some(mode) } else { None }
    }

    /// The name with which the client has logged in.
    fn own_role(&self) -> &str {
        find(SESSION_AUTHORIZATION).map_or("", |setting| self.value(setting))
    }

    /// The indices of all settings.
    pub fn indices() -> std::ops::Range<usize> {
        0..KNOWN.len()
    }

    /// Whether the engine has the value too.
    pub fn is_engines(setting: usize) -> bool {
        matches!(KNOWN[setting].effect, SearchPath | TimeZone)
    }

    pub fn is_search_path(setting: usize) -> bool {
        KNOWN[setting].effect == SearchPath
    }

    /// The changes that set a setting to `value`, or to its initial value if `None`.
    ///
    /// # Errors
    /// If the setting cannot be changed, or cannot have this value.
    pub fn plan(&self, setting: usize, value: Option<&str>) -> Result<Change, SettingError> {
        let known = &KNOWN[setting];
        let value = value.unwrap_or(&self.defaults[setting]);
        let invalid = |only| Err(SettingError::Value { name: known.name, value: value.to_owned(), only });
        let change = Change { value: value.to_owned(), ..Change::default() };
        match known.effect {
            Charged => Ok(change),
            Only(values) if values.iter().chain([&known.default]).any(|only| only.eq_ignore_ascii_case(value)) => {
                // The other spellings are the same value.
                Ok(Change { value: known.default.to_owned(), ..change })
            }
            Only(_) => invalid(known.default),
            Encoding => Ok(self.told(setting, ClientEncoding::named(value)?.name().to_owned())),
            DateStyle => match self.text_style().date.with(value) {
                Some(style) => Ok(self.told(setting, style.name())),
                None => invalid("ISO, SQL, Postgres or German, with MDY, DMY or YMD"),
            },
            IntervalStyle => match value::IntervalStyle::named(value) {
                Some(style) => Ok(self.told(setting, style.name().to_owned())),
                None => invalid("postgres, postgres_verbose, sql_standard or iso_8601"),
            },
            TransactionDefault(mode) => {
                let value = TransactionModes::default().with(mode.parse(known.name, value)?).value(mode).to_owned();
                Ok(Change { value, ..change })
            }
            Transaction(_) => Err(SettingError::Fixed(known.name)),
            ReadOnly if value == self.value(setting) => Ok(change),
            ReadOnly => Err(SettingError::Fixed(known.name)),
            Role if value == self.own_role() || known.name == ROLE && value == known.default => Ok(change),
            Role => Err(SettingError::Role { name: known.name, value: value.to_owned() }),
            TimeLimit(_) | IgnoredTime => match time::parse(value) {
                Some(milliseconds) => {
                    let limit = (milliseconds > 0).then(|| Duration::from_millis(milliseconds.into()));
                    let time = if let TimeLimit(which) = known.effect { Some((which, limit)) } else { None };
                    let is_ignored = known.effect == IgnoredTime && limit.is_some();
                    Ok(Change { value: time::shown(milliseconds), time, is_ignored, ..change })
                }
                None => invalid("a time, such as 500, 1.5s or 5min, of at most 2147483647 ms"),
            },
            SearchPath => Ok(Change { engine: Some(set_statement(known.name, &without_catalog(value))), ..change }),
            TimeZone => match Zone::of_setting(value) {
                Some(zone) => {
                    let (value, engine) = (zone.name().into_owned(), set_statement(known.name, &zone.engine_name()));
                    Ok(Change { value, engine: Some(engine), ..change })
                }
                None => invalid(
                    "the name of a time zone, such as UTC or Europe/Berlin, or an offset: 2 hours east, +02:30 west of Greenwich",
                ),
            },
        }
    }

    /// Checks a change in front of a source. A source reads and writes the texts of its statements in the initial
    /// styles, so the session's own texts must have them too.
    ///
    /// # Errors
    /// If it is a style with another value.
    pub fn check_style_of_source(setting: usize, change: &Change) -> Result<(), SettingError> {
        let KnownSetting { name, default, effect, .. } = KNOWN[setting];
        if matches!(effect, DateStyle | IntervalStyle) && change.value != default {
            return Err(SettingError::Value { name, value: change.value.clone(), only: default });
        }
        Ok(())
    }

    /// A change of which the engine is told, for `current_setting` (`catalog_settings.sql`).
    fn told(&self, setting: usize, value: String) -> Change {
        let name = KNOWN[setting].name.to_ascii_lowercase();
        let variable =
            (value != self.value(setting)).then(|| set_statement(&format!("VARIABLE colonnade_{name}"), &value));
        Change { value, variable, ..Change::default() }
    }

    /// The memory that a new value needs: the value itself, and the former values in `history`.
    pub fn bytes(&self, setting: usize, now: &str) -> usize {
        let before = &self.values[setting];
        size_of::<(usize, Value)>() + 2 * now.len() + before.now.len() + before.after_commit.len()
    }

    /// Sets a value until the end of the session or, with `is_local`, of the transaction. Gives the name and the value
    /// if the change must be reported. `charge` is for the memory of [`Settings::bytes`].
    pub fn set(
        &mut self,
        setting: usize,
        now: String,
        is_local: bool,
        charge: Charge,
    ) -> Option<(&'static str, String)> {
        let before = self.values[setting].clone();
        let after_commit = if is_local { before.after_commit.clone() } else { now.clone() };
        self.history.push((setting, before));
        self.replace(setting, Value { now, after_commit, charge: Some(Arc::new(charge)) })
    }

    /// Restores a former value. Gives the name and the value if the change must be reported.
    pub fn restore(&mut self, setting: usize, now: String) -> Option<(&'static str, String)> {
        let (after_commit, charge) = (self.values[setting].after_commit.clone(), self.values[setting].charge.clone());
        self.replace(setting, Value { now, after_commit, charge })
    }

    fn replace(&mut self, setting: usize, value: Value) -> Option<(&'static str, String)> {
        let known = &KNOWN[setting];
        let before = std::mem::replace(&mut self.values[setting], value);
        match known.effect {
            DateStyle | IntervalStyle => self.text_style = self.chosen_style(),
            Encoding => self.client_encoding = self.chosen_encoding(),
            TransactionDefault(_) => self.transaction_defaults = self.chosen_defaults(),
            _ => {}
        }
        let now = &self.values[setting].now;
        (known.is_reported && before.now != *now).then(|| (known.name, now.clone()))
    }

    /// The number of SETs in the transaction so far, for [`Settings::roll_back`].
    pub fn mark(&self) -> usize {
        self.history.len()
    }

    /// Ends the history after a commit. Gives the values to restore after SET LOCAL.
    pub fn commit(&mut self) -> FormerValues {
        let mut changed: Vec<_> = self.history.drain(..).map(|(setting, _)| setting).collect();
        changed.sort_unstable();
        changed.dedup();
        let is_local = |setting: &usize| self.values[*setting].now != self.values[*setting].after_commit;
        changed
            .into_iter()
            .filter(is_local)
            .map(|setting| (setting, self.values[setting].after_commit.clone()))
            .collect()
    }

    /// Removes the history after `mark`; 0 is the transaction's beginning. Gives the values to restore.
    pub fn roll_back(&mut self, mark: usize) -> FormerValues {
        let mut former = BTreeMap::new();
        for (setting, before) in self.history.drain(mark..).rev() {
            self.values[setting].after_commit = before.after_commit;
            former.insert(setting, before.now);
        }
        former.into_iter().filter(|(setting, now)| self.values[*setting].now != *now).collect()
    }

    /// Makes the present values the initial values of the session.
    pub fn use_present_as_defaults(&mut self) {
        self.defaults = self.values.iter().map(|value| value.now.clone()).collect();
        self.history.clear();
    }

    /// The settings whose values differ from their initial values.
    pub fn changed(&self) -> Vec<usize> {
        (0..KNOWN.len()).filter(|&at| self.values[at].now != self.defaults[at]).collect()
    }
}

fn set_statement(name: &str, value: &str) -> String {
    format!("SET {name} = {}", quote::string(value, Dialect::POSTGRES))
}

/// A search path without `pg_catalog` and `"$user"`. PostgreSQL's catalog is always at the end of the engine's search
/// path. postgres_fdw sets a path with `pg_catalog` only.
fn without_catalog(path: &str) -> String {
    let is_kept = |name: &&str| !name.eq_ignore_ascii_case("pg_catalog") && name.trim_matches('"') != "$user";
    let names: Vec<_> = path.split(',').map(str::trim).filter(is_kept).collect();
    if names.is_empty() { "main".to_owned() } else { names.join(",") }
}

/// The value of a text for a switch, as PostgreSQL reads it: also the beginning of a word that could be no other one.
pub fn boolean(text: &str) -> Option<bool> {
    let text = text.trim().to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    match &*text {
        "1" => Some(true),
        "0" => Some(false),
        _ if begins("true", 1) || begins("yes", 1) || begins("on", 2) => Some(true),
        _ if begins("false", 1) || begins("no", 1) || begins("off", 2) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
