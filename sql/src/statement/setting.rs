//! SET, RESET and SHOW, and what BEGIN and SET TRANSACTION ask for.

use super::StatementKind;
use super::parser::Parser;
use crate::{Token, TokenKind};

/// SET name TO value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// The setting's name; `timezone` for SET TIME ZONE, `client_encoding` for SET NAMES.
    pub name: String,
    /// Its value, of several with commas between them; `None` for DEFAULT.
    pub value: Option<String>,
    /// Whether for the transaction alone.
    pub is_local: bool,
}

/// What BEGIN and SET TRANSACTION ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// READ ONLY.
    pub read_only: bool,
    /// ISOLATION LEVEL SERIALIZABLE.
    pub serializable: bool,
    /// Anything at all, these two included.
    pub are_any: bool,
}

/// SET, after that word; `None` if it is of another grammar than PostgreSQL's.
pub(super) fn set(mut parser: Parser<'_>) -> Option<StatementKind> {
    let is_session = parser.word("session");
    if is_session && parser.word("characteristics") {
        return (parser.word("as") && parser.word("transaction")).then(|| StatementKind::SetTransaction(modes(parser)));
    }
    let is_local = !is_session && parser.word("local");
    if parser.word("transaction") {
        return Some(StatementKind::SetTransaction(modes(parser)));
    }
    if parser.word("time") {
        let is_default = parser.word("zone") && parser.word("local");
        let value = if is_default { None } else { value(parser) };
        return Some(StatementKind::Set(Set { name: "timezone".to_owned(), value, is_local }));
    }
    let name = parser.name()?.folded().into_owned();
    let is_names = name == "names";
    if !parser.word("to") && !parser.symbol(b'=') && !is_names && name != "timezone" {
        return None;
    }
    let name = if is_names { "client_encoding".to_owned() } else { name };
    Some(StatementKind::Set(Set { name, value: value(parser), is_local }))
}

/// RESET, after that word.
pub(super) fn reset(mut parser: Parser<'_>) -> Option<StatementKind> {
    let name = parser.name()?;
    Some(StatementKind::Reset((!name.is_word("all")).then(|| name.folded().into_owned())))
}

/// SHOW, after that word; `None` if it is of another grammar than PostgreSQL's.
pub(super) fn show(mut parser: Parser<'_>) -> Option<StatementKind> {
    if parser.word("time") {
        return Some(StatementKind::Show(Some("timezone".to_owned())));
    }
    if parser.word("transaction") {
        return parser.word("isolation").then(|| StatementKind::Show(Some("transaction_isolation".to_owned())));
    }
    let name = parser.name()?;
    let name = (!name.is_word("all")).then(|| name.folded().into_owned());
    parser.peek().is_none().then_some(StatementKind::Show(name))
}

/// The modes that come next.
pub(super) fn modes(parser: Parser<'_>) -> Modes {
    let mut modes = Modes::default();
    let mut before = None::<Token<'_>>;
    for token in parser.take_while_some() {
        let follows = |word: &str| before.is_some_and(|before| before.is_word(word));
        modes.read_only |= token.is_word("only") && follows("read");
        modes.serializable |= token.is_word("serializable") && follows("level");
        modes.are_any |= !token.is_one_of(&["transaction", "work"]);
        before = Some(token);
    }
    modes
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
