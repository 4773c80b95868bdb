//! What drivers set, reset and show: PostgreSQL's settings, as far as they make a difference to a client.
//!
//! What the engine has a setting for (the time zone, the search path, and all that is DuckDB's own) it is asked to set;
//! the others are kept here. A value that would change what values look like is refused, since they always look the same.

use std::time::Duration;

use crate::lex::{Kind, Lexer, Token};
use crate::limits::{self, Time};

/// A statement about settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// SET, or SET LOCAL: until the transaction ends.
    Set {
        /// Which one; its place in [`Settings`].
        setting: usize,
        /// Its new value; `None` for the one it had when the session began.
        value: Option<String>,
        /// Whether for the transaction alone.
        is_local: bool,
    },
    /// SHOW.
    Show(usize),
    /// SHOW ALL, though not DuckDB's SHOW ALL TABLES.
    ShowAll,
    /// RESET ALL; a part of DISCARD ALL.
    ResetAll,
    /// SET TRANSACTION, SET SESSION CHARACTERISTICS: what is asked of transactions.
    Transaction(Modes),
}

/// What BEGIN and SET TRANSACTION ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// Nothing is to be written.
    pub read_only: bool,
    /// More than the snapshot that the engine gives.
    pub serializable: bool,
}

/// Why a setting is not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// A value that it does not have here.
    #[error("parameter \"{name}\" cannot be \"{value}\" here; it is {only}")]
    Value {
        /// The setting.
        name: &'static str,
        /// The value that was wanted.
        value: String,
        /// What it may be.
        only: &'static str,
    },
    /// A setting that cannot be set.
    #[error("parameter \"{0}\" cannot be changed")]
    Fixed(&'static str),
    /// Transactions that the engine does not have.
    #[error("transactions are neither serializable nor, by SET, read-only here")]
    Transaction,
}

/// Who gives a setting its sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sense {
    /// It says something about the client and changes nothing.
    Free,
    /// It has this value, whatever is said about it.
    Only(&'static [&'static str]),
    /// It tells what the server is.
    Fixed,
    /// It is accepted, but does nothing; the client is warned.
    Idle,
    /// A time that the server keeps.
    Shorter(Time),
    /// The engine has it too.
    Engine,
}

struct Known {
    name: &'static str,
    default: &'static str,
    sense: Sense,
    /// Whether clients are told of a change (PostgreSQL's GUC_REPORT).
    is_reported: bool,
}

const fn known(name: &'static str, default: &'static str, sense: Sense, is_reported: bool) -> Known {
    Known { name, default, sense, is_reported }
}

use Sense::{Engine, Fixed, Free, Idle, Only, Shorter};

const KNOWN: [Known; 35] = [
    known("application_name", "", Free, true),
    known("bytea_output", "hex", Only(&["hex"]), false),
    known("check_function_bodies", "on", Free, false),
    known("client_encoding", "UTF8", Only(&["utf8", "utf-8", "unicode"]), true),
    known("client_min_messages", "notice", Free, false),
    known("DateStyle", "ISO, MDY", Only(&["iso", "iso, mdy", "iso,mdy"]), true),
    known("default_transaction_isolation", "repeatable read", Only(&["repeatable read", "read committed"]), false),
    known("default_transaction_read_only", "off", Only(&["off", "false", "0"]), true),
    // Floats are always the shortest text that reads back as the same number.
    known("extra_float_digits", "1", Free, false),
    known("idle_in_transaction_session_timeout", "0", Shorter(Time::IdleInTransaction), false),
    known("idle_session_timeout", "0", Shorter(Time::Idle), false),
    known("in_hot_standby", "off", Fixed, true),
    known("integer_datetimes", "on", Fixed, true),
    known("IntervalStyle", "postgres", Only(&["postgres"]), true),
    known("is_superuser", "off", Fixed, true),
    known("jit", "off", Free, false),
    known("lc_collate", "C", Fixed, false),
    known("lc_messages", "C", Free, false),
    known("lc_monetary", "C", Free, false),
    known("lock_timeout", "0", Idle, false),
    known("max_identifier_length", "63", Fixed, false),
    known("row_security", "on", Free, false),
    known("search_path", "main", Engine, true),
    known("server_encoding", "UTF8", Fixed, true),
    known("server_version", "", Fixed, true),
    known("server_version_num", "150000", Fixed, false),
    known("session_authorization", "", Fixed, true),
    known("standard_conforming_strings", "on", Only(&["on", "true", "1"]), true),
    known("statement_timeout", "0", Shorter(Time::Statement), false),
    known("synchronize_seqscans", "on", Free, false),
    known("TimeZone", "UTC", Engine, true),
    known("transaction_isolation", "repeatable read", Only(&["repeatable read", "read committed"]), false),
    known("transaction_read_only", "off", Only(&["off", "false", "0"]), false),
    known("transaction_deferrable", "off", Free, false),
    known("xmloption", "content", Free, false),
];

/// A session's values.
#[derive(Clone, Debug)]
pub struct Settings {
    defaults: Vec<String>,
    values: Vec<String>,
    /// What SET LOCAL has to give back.
    local: Vec<(usize, String)>,
}

/// What changing a setting asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// A statement for the engine, to run first.
    pub engine: Option<String>,
    /// A time that the session is not to take longer than.
    pub time: Option<(Time, Option<Duration>)>,
    /// Whether it has no effect.
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
        Self { values: defaults.clone(), defaults, local: Vec::new() }
    }

    /// A setting's name.
    pub fn name(setting: usize) -> &'static str {
        KNOWN[setting].name
    }

    /// A setting's value.
    pub fn value(&self, setting: usize) -> &str {
        &self.values[setting]
    }

    /// All names and values.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        KNOWN.iter().zip(&self.values).map(|(known, value)| (known.name, value.as_str()))
    }

    /// What it takes to set a setting.
    ///
    /// # Errors
    /// If it cannot be set, or not to this value.
    pub fn plan(&self, setting: usize, value: Option<&str>) -> Result<Change, SettingError> {
        let known = &KNOWN[setting];
        let value = value.unwrap_or(&self.defaults[setting]);
        match known.sense {
            Free => Ok(Change::default()),
            Idle => Ok(Change { is_idle: value != known.default, ..Change::default() }),
            Only(values) if values.iter().any(|only| only.eq_ignore_ascii_case(value)) => Ok(Change::default()),
            Only(_) if value.eq_ignore_ascii_case(known.default) => Ok(Change::default()),
            Only(_) => Err(SettingError::Value { name: known.name, value: value.to_owned(), only: known.default }),
            Fixed if value == self.values[setting] => Ok(Change::default()),
            Fixed => Err(SettingError::Fixed(known.name)),
            Shorter(which) => match limits::time(value) {
                Some(time) => Ok(Change { time: Some((which, time)), ..Change::default() }),
                None => Err(SettingError::Value {
                    name: known.name,
                    value: value.to_owned(),
                    only: "a time, such as 500, 30s or 5min",
                }),
            },
            Engine => {
                let value = if known.name == "search_path" { without_catalog(value) } else { value.to_owned() };
                let sql = format!("SET {} = '{}'", known.name, value.replace('\'', "''"));
                Ok(Change { engine: Some(sql), ..Change::default() })
            }
        }
    }

    /// Sets it; gives the value to report, if clients are told of it.
    pub fn set(&mut self, setting: usize, value: Option<&str>, is_local: bool) -> Option<(&'static str, String)> {
        let known = &KNOWN[setting];
        let value = match known.sense {
            // Its other spellings mean the same.
            Only(_) => known.default.to_owned(),
            _ => value.unwrap_or(&self.defaults[setting]).to_owned(),
        };
        let before = std::mem::replace(&mut self.values[setting], value.clone());
        if is_local {
            self.local.push((setting, before.clone()));
        }
        (known.is_reported && before != value).then_some((known.name, value))
    }

    /// The settings to give back at the end of a transaction, the last one first.
    pub fn take_local(&mut self) -> Vec<(usize, String)> {
        let mut local = std::mem::take(&mut self.local);
        local.reverse();
        local
    }

    /// What is set now is what the session begins with.
    pub fn settle(&mut self) {
        self.defaults.clone_from(&self.values);
    }

    /// Those that are not as they were in the beginning.
    pub fn changed(&self) -> Vec<usize> {
        (0..KNOWN.len()).filter(|&at| self.values[at] != self.defaults[at]).collect()
    }
}

/// A search path without PostgreSQL's catalog, which is found at the end of each here (postgres_fdw wants it alone).
fn without_catalog(path: &str) -> String {
    let is_kept = |name: &&str| !name.eq_ignore_ascii_case("pg_catalog");
    let names: Vec<_> = path.split(',').map(str::trim).filter(is_kept).collect();
    if names.is_empty() { "main".to_owned() } else { names.join(",") }
}

/// A setting's place, by its name in any case.
fn find(name: &str) -> Option<usize> {
    KNOWN.iter().position(|known| known.name.eq_ignore_ascii_case(name))
}

/// Whether there is a setting of this name here.
pub fn is_known(name: &str) -> bool {
    find(name).is_some()
}

/// Reads a statement about settings that are known here; all others are the engine's.
pub fn command(statement: &str) -> Option<Command> {
    let mut words = Words(Lexer::new(statement).peekable());
    if words.take("set") {
        let is_session = words.take("session");
        if is_session && words.take("characteristics") {
            return (words.take("as") && words.take("transaction")).then(|| Command::Transaction(modes(words)));
        }
        let is_local = !is_session && words.take("local");
        if words.take("transaction") {
            return Some(Command::Transaction(modes(words)));
        }
        let name =
            if words.take("time") { words.take("zone").then(|| "TimeZone".to_owned())? } else { words.name()? };
        let is_names = name.eq_ignore_ascii_case("names");
        let setting = find(if is_names { "client_encoding" } else { &name })?;
        if !words.take("to") && !words.symbol(b'=') && !name.eq_ignore_ascii_case("timezone") && !is_names {
            return None;
        }
        return Some(Command::Set { setting, value: words.value(), is_local });
    }
    if words.take("reset") {
        let is_all = words.take("all");
        if is_all {
            return Some(Command::ResetAll);
        }
        let setting = find(&words.name()?)?;
        return Some(Command::Set { setting, value: None, is_local: false });
    }
    if words.take("show") {
        if words.take("transaction") && words.take("isolation") {
            return find("transaction_isolation").map(Command::Show);
        }
        if words.take("time") {
            return find("TimeZone").map(Command::Show);
        }
        let name = words.name()?;
        if words.0.next().is_some() {
            return None;
        }
        return if name.eq_ignore_ascii_case("all") { Some(Command::ShowAll) } else { find(&name).map(Command::Show) };
    }
    None
}

/// What BEGIN asks for.
pub fn begin_modes(statement: &str) -> Modes {
    modes(Words(Lexer::new(statement).peekable()))
}

fn modes(words: Words<'_>) -> Modes {
    let words: Vec<_> = words.0.collect();
    let has =
        |first: &str, second: &str| words.windows(2).any(|pair| pair[0].is_word(first) && pair[1].is_word(second));
    Modes { read_only: has("read", "only"), serializable: has("level", "serializable") }
}

struct Words<'a>(std::iter::Peekable<Lexer<'a>>);

impl Words<'_> {
    fn take(&mut self, word: &str) -> bool {
        self.0.next_if(|token| token.is_word(word)).is_some()
    }

    fn symbol(&mut self, symbol: u8) -> bool {
        self.0.next_if(|token| token.kind == Kind::Symbol(symbol)).is_some()
    }

    fn name(&mut self) -> Option<String> {
        let is_name = |token: &Token<'_>| matches!(token.kind, Kind::Word | Kind::Name);
        self.0.next_if(is_name).map(|token| token.value())
    }

    /// What comes after `=`: words, strings and numbers, which commas separate; `None` for DEFAULT.
    fn value(&mut self) -> Option<String> {
        let tokens: Vec<_> = self.0.by_ref().collect();
        if let [token] = &tokens[..]
            && token.is_word("default")
        {
            return None;
        }
        let mut value = String::new();
        for token in tokens {
            match token.kind {
                Kind::Symbol(b',') => value.push_str(", "),
                _ => value.push_str(&token.value()),
            }
        }
        Some(value)
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
