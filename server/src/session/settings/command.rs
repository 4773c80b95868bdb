//! Statements about settings: SET, RESET, SHOW, and what BEGIN and SET TRANSACTION ask for.

use super::find;
use crate::lex::{Kind, Lexer, Token};

/// A statement about settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// SET, or SET LOCAL: until the transaction ends.
    Set {
        /// Which one; its place in [`super::Settings`].
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
        let is_zone = words.take("time");
        let name = if is_zone { words.take("zone").then(|| "TimeZone".to_owned())? } else { words.name()? };
        let is_names = name.eq_ignore_ascii_case("names");
        let setting = find(if is_names { "client_encoding" } else { &name })?;
        if !words.take("to") && !words.symbol(b'=') && !name.eq_ignore_ascii_case("timezone") && !is_names {
            return None;
        }
        // SET TIME ZONE LOCAL is the default.
        let value = if is_zone && words.take("local") { None } else { words.value() };
        return Some(Command::Set { setting, value, is_local });
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
        if let Some(hours) = hours(&tokens) {
            return Some(hours);
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

/// The hours in `INTERVAL '+02:00' HOUR TO MINUTE`, a time zone (PostgreSQL's manual, "SET"), where they are whole.
fn hours(tokens: &[Token<'_>]) -> Option<String> {
    let [interval, text, rest @ ..] = tokens else { return None };
    let is_interval = interval.is_word("interval") && text.kind == Kind::Text;
    if !is_interval || !rest.iter().zip(["hour", "to", "minute"]).all(|(token, word)| token.is_word(word)) {
        return None;
    }
    let value = text.value();
    let (hours, minutes) = value.split_once(':').unwrap_or((&value, "00"));
    let hours: i8 = hours.parse().ok()?;
    (minutes == "00").then(|| hours.to_string())
}
