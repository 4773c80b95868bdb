//! SET, RESET and SHOW, and what BEGIN and SET TRANSACTION ask for.

use super::StatementKind;
use super::parser::Parser;
use super::spool::{Argument, argument};
use crate::{Token, TokenKind};

/// SET name TO value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// The setting's name; `timezone` for SET TIME ZONE, `client_encoding` for SET NAMES, `session_authorization` for
    /// SET SESSION AUTHORIZATION.
    pub name: String,
    /// Its value, of several with commas between them; `None` for DEFAULT.
    pub value: Option<String>,
    /// Whether for the transaction alone.
    pub is_local: bool,
}

/// SELECT set_config('name', value, is_local), and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetConfig {
    /// The setting's name.
    pub name: String,
    /// Its value: a text or a parameter.
    pub value: Argument,
    /// Whether for the transaction alone.
    pub is_local: bool,
}

/// The setting that is written as two words.
const AUTHORIZATION: &str = "session_authorization";

/// What BEGIN and SET TRANSACTION ask for. Of several values, the last one counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// ISOLATION LEVEL.
    pub isolation: Option<IsolationLevel>,
    /// READ ONLY, or READ WRITE.
    pub read_only: Option<bool>,
    /// DEFERRABLE, or NOT DEFERRABLE.
    pub deferrable: Option<bool>,
    /// Anything at all, these included.
    pub are_any: bool,
}

impl Modes {
    /// Whether they are more than what every transaction can be: READ ONLY or SERIALIZABLE.
    pub fn are_strict(self) -> bool {
        self.read_only == Some(true) || self.isolation == Some(IsolationLevel::Serializable)
    }
}

/// How far a transaction is isolated from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are SQL's")]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl IsolationLevel {
    /// Its name in SQL, as PostgreSQL shows it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "read uncommitted",
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Serializable => "serializable",
        }
    }

    /// The level with this name, in any letter case.
    pub fn named(name: &str) -> Option<Self> {
        let levels = [Self::ReadUncommitted, Self::ReadCommitted, Self::RepeatableRead, Self::Serializable];
        levels.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }
}

/// SET, after that word; `None` if it is of another grammar than PostgreSQL's.
pub(super) fn set(mut parser: Parser<'_>) -> Option<StatementKind> {
    let is_session = parser.word("session");
    if is_session && parser.word("characteristics") {
        return (parser.word("as") && parser.word("transaction"))
            .then(|| StatementKind::SetTransaction { modes: modes(parser), are_defaults: true });
    }
    let is_local = !is_session && parser.word("local");
    if (is_session || parser.word("session")) && parser.word("authorization") {
        return Some(StatementKind::Set(Set { name: AUTHORIZATION.to_owned(), value: value(parser), is_local }));
    }
    if parser.word("constraints") {
        return Some(StatementKind::SetConstraints { are_all: parser.word("all") });
    }
    if parser.word("transaction") {
        return Some(StatementKind::SetTransaction { modes: modes(parser), are_defaults: false });
    }
    if parser.word("time") {
        let is_default = parser.word("zone") && parser.word("local");
        let value = if is_default { None } else { value(parser) };
        return Some(StatementKind::Set(Set { name: "timezone".to_owned(), value, is_local }));
    }
    let name = parser.name()?.folded().into_owned();
    let is_names = name == "names";
    if !parser.word("to") && !parser.symbol(b'=') && !is_names && !matches!(name.as_str(), "timezone" | "role") {
        return None;
    }
    let name = if is_names { "client_encoding".to_owned() } else { name };
    Some(StatementKind::Set(Set { name, value: value(parser), is_local }))
}

/// A call of set_config, after SELECT; `None` for other queries.
pub(super) fn set_config(mut parser: Parser<'_>) -> Option<SetConfig> {
    let dialect = parser.dialect;
    let mut function = parser.name()?;
    if parser.symbol(b'.') {
        function = function.is_name("pg_catalog").then(|| parser.name()).flatten()?;
    }
    if !function.is_name("set_config") || !parser.symbol(b'(') {
        return None;
    }
    let name = parser.take()?.string(dialect)?.into_owned();
    let value = parser.symbol(b',').then(|| argument(&mut parser, "a text")).and_then(Result::ok)?;
    let is_cast = parser.symbol(b':');
    if is_cast && !(parser.symbol(b':') && parser.word("text")) || !parser.symbol(b',') {
        return None;
    }
    let is_local = parser.word("true");
    let is_end = (is_local || parser.word("false")) && parser.symbol(b')') && parser.peek().is_none();
    is_end.then_some(SetConfig { name, value, is_local })
}

/// RESET, after that word; `None` if it is of another grammar than PostgreSQL's.
pub(super) fn reset(parser: Parser<'_>) -> Option<StatementKind> {
    which(parser).map(StatementKind::Reset)
}

/// SHOW, after that word; `None` if it is of another grammar than PostgreSQL's.
pub(super) fn show(parser: Parser<'_>) -> Option<StatementKind> {
    which(parser).map(StatementKind::Show)
}

/// The setting that RESET and SHOW name, and nothing after it; within, `None` for ALL.
fn which(mut parser: Parser<'_>) -> Option<Option<String>> {
    let first = parser.name()?;
    let words: &[(&str, &[&str], &str)] = &[
        ("time", &["zone"], "timezone"),
        ("transaction", &["isolation", "level"], "transaction_isolation"),
        ("session", &["authorization"], AUTHORIZATION),
    ];
    let name = match words.iter().find(|(word, ..)| first.is_word(word) && parser.peek().is_some()) {
        Some((_, rest, name)) => rest.iter().all(|word| parser.word(word)).then(|| (*name).to_owned())?,
        None => first.folded().into_owned(),
    };
    let is_all = first.is_word("all");
    parser.peek().is_none().then_some((!is_all).then_some(name))
}

/// The modes that come next.
pub(super) fn modes(parser: Parser<'_>) -> Modes {
    let mut modes = Modes::default();
    // The last two words.
    let mut before = [None::<Token<'_>>; 2];
    for token in parser.take_while_some() {
        let is = |at: usize, word: &str| before[at].is_some_and(|before| before.is_word(word));
        if is(1, "read") && token.is_one_of(&["only", "write"]) {
            modes.read_only = Some(token.is_word("only"));
        } else if token.is_word("deferrable") {
            modes.deferrable = Some(!is(1, "not"));
        } else if is(1, "level") && token.is_word("serializable") {
            modes.isolation = Some(IsolationLevel::Serializable);
        } else if is(0, "level") {
            let name = before[1].map(|first| format!("{} {}", first.text, token.text));
            modes.isolation = name.and_then(|name| IsolationLevel::named(&name)).or(modes.isolation);
        }
        modes.are_any |= !token.is_one_of(&["transaction", "work"]);
        before = [before[1], Some(token)];
    }
    modes
}

/// Whether the end of a transaction says AND CHAIN, and not AND NO CHAIN.
pub(super) fn chains(parser: Parser<'_>) -> bool {
    let mut is_negated = false;
    for token in parser.take_while_some() {
        if token.is_word("chain") {
            return !is_negated;
        }
        is_negated = token.is_word("no");
    }
    false
}

/// What comes after `=`: words, strings and numbers, which commas separate; `None` for DEFAULT.
fn value(parser: Parser<'_>) -> Option<String> {
    let dialect = parser.dialect;
    let text = |token: &Token<'_>| match token.string(dialect) {
        Some(text) => text.into_owned(),
        None => token.folded().into_owned(),
    };
    let tokens: Vec<_> = parser.take_while_some().collect();
    match &tokens[..] {
        [token] if token.is_word("default") => return None,
        [interval, value, rest @ ..] if interval.is_word("interval") && value.kind == TokenKind::Text => {
            if let Some(hours) = hours(&text(value), rest) {
                return Some(hours);
            }
        }
        _ => {}
    }
    Some(tokens.iter().map(|token| if token.is_symbol(b',') { ", ".to_owned() } else { text(token) }).collect())
}

/// The hours in `INTERVAL '+02:00' HOUR TO MINUTE`, a time zone (PostgreSQL's manual, "SET"), where they are whole.
fn hours(value: &str, fields: &[Token<'_>]) -> Option<String> {
    if !fields.iter().zip(["hour", "to", "minute"]).all(|(token, word)| token.is_word(word)) {
        return None;
    }
    let (hours, minutes) = value.split_once(':').unwrap_or((value, "00"));
    let hours: i8 = hours.parse().ok()?;
    (minutes == "00").then(|| hours.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, Statement};

    fn kind(sql: &str) -> StatementKind {
        Statement::of(sql, Dialect::DuckDb).kind
    }

    #[test]
    fn a_call_may_set_a_setting() {
        let config =
            |value, is_local| StatementKind::SetConfig(SetConfig { name: "search_path".to_owned(), value, is_local });
        for (sql, expected) in [
            ("select set_config('search_path', 'a, b', false)", config(Argument::Literal("a, b".to_owned()), false)),
            ("SELECT pg_catalog.set_config('search_path', $2::text, TRUE)", config(Argument::Parameter(2), true)),
        ] {
            assert_eq!(kind(sql), expected);
        }
        for other in [
            "select set_config('a', 'b', false) as c",
            "select set_config('a', 'b', false), 1",
            "select set_config('a', b, false) from t",
            "select s.set_config('a', 'b', false)",
            "select set_config('a', 'b', $1)",
            "select set_config('a', 'b'",
        ] {
            assert_eq!(kind(other), StatementKind::Query { has_with: false }, "{other}");
        }
    }

    #[test]
    fn settings_have_a_name_and_a_value() {
        let set = |name: &str, value: Option<&str>, is_local| {
            StatementKind::Set(Set { name: name.to_owned(), value: value.map(ToOwned::to_owned), is_local })
        };
        for (sql, expected) in [
            ("SET DateStyle = ISO, 'MDY'", set("datestyle", Some("iso, MDY"), false)),
            ("set session x to default", set("x", None, false)),
            ("set local \"X\" to 'it''s'", set("X", Some("it's"), true)),
            ("set time zone local", set("timezone", None, false)),
            ("set time zone interval '+02:00' hour to minute", set("timezone", Some("2"), false)),
            ("set timezone 'UTC'", set("timezone", Some("UTC"), false)),
            ("set names 'utf8'", set("client_encoding", Some("utf8"), false)),
            ("set x = -1.5", set("x", Some("-1.5"), false)),
            ("set variable x = 1", StatementKind::Other("SET".to_owned())),
            ("set session authorization default", set("session_authorization", None, false)),
            ("set local session authorization 'a'", set("session_authorization", Some("a"), true)),
            ("set role none", set("role", Some("none"), false)),
            ("set local role \"A\"", set("role", Some("A"), true)),
            ("set role = a", set("role", Some("a"), false)),
            ("set constraints all deferred", StatementKind::SetConstraints { are_all: true }),
            ("set constraints a, b immediate", StatementKind::SetConstraints { are_all: false }),
            ("reset session authorization", StatementKind::Reset(Some("session_authorization".to_owned()))),
            ("reset time zone", StatementKind::Reset(Some("timezone".to_owned()))),
            ("reset local x", StatementKind::Other("RESET".to_owned())),
            ("show session authorization", StatementKind::Show(Some("session_authorization".to_owned()))),
            ("reset all", StatementKind::Reset(None)),
            ("reset DateStyle", StatementKind::Reset(Some("datestyle".to_owned()))),
            ("show all", StatementKind::Show(None)),
            ("show transaction isolation level", StatementKind::Show(Some("transaction_isolation".to_owned()))),
            ("show time zone", StatementKind::Show(Some("timezone".to_owned()))),
            ("show all tables", StatementKind::Other("SHOW".to_owned())),
        ] {
            assert_eq!(kind(sql), expected, "{sql}");
        }
        let modes = |isolation, read_only, deferrable| Modes { isolation, read_only, deferrable, are_any: true };
        assert_eq!(kind("begin work"), StatementKind::Begin(Modes::default()));
        assert_eq!(kind("start transaction read only"), StatementKind::Start(modes(None, Some(true), None)));
        assert_eq!(
            kind("begin isolation level READ  committed, read write not deferrable"),
            StatementKind::Begin(modes(Some(IsolationLevel::ReadCommitted), Some(false), Some(false)))
        );
        assert_eq!(
            kind("set transaction read only, read write, deferrable isolation level repeatable read"),
            StatementKind::SetTransaction {
                modes: modes(Some(IsolationLevel::RepeatableRead), Some(false), Some(true)),
                are_defaults: false
            }
        );
        assert_eq!(
            kind("set session characteristics as transaction isolation level serializable"),
            StatementKind::SetTransaction {
                modes: modes(Some(IsolationLevel::Serializable), None, None),
                are_defaults: true
            }
        );
    }
}
