//! What a statement is, by its first words; the statement that it carries, likewise.
//!
//! Only what is named here passes. The engine is then asked for its own kind of the same text.

use colonnade_sql::{Token, TokenKind};

use super::rules::{Rules, Section};
use super::{Refusal, Rights, fold, tokens, value};

/// How many of the first tokens are looked at. No statement that is allowed says later what it is.
pub const LOOK: usize = 64;

/// What a statement is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The engine's kinds that it may have.
    pub kinds: &'static [&'static str],
    /// Where the statement that it carries begins, and that one's kinds.
    pub inner: Option<(usize, &'static [&'static str])>,
}

const QUERY: &[&str] = &["select", "multi"];
/// What WITH begins.
const WITH: &[&str] = &["select", "multi", "insert", "update", "delete", "merge_into"];

const TRANSACTIONS: [&str; 6] = ["begin", "start", "commit", "end", "rollback", "abort"];
/// Words that begin statements of the engine's, for nobody. All others that are not named here are errors of syntax.
const REFUSED: [&str; 5] = ["load", "install", "force", "import", "uninstall"];
const CREATED: [&str; 8] = ["table", "view", "macro", "function", "schema", "sequence", "index", "type"];
const CREATE_MODIFIERS: [&str; 6] = ["or", "replace", "temp", "temporary", "unique", "recursive"];
const ALTERED: [&str; 3] = ["table", "view", "sequence"];
const DESCRIBED: [&str; 10] =
    ["table", "column", "view", "index", "sequence", "type", "macro", "function", "schema", "materialized"];

/// Reads a statement's kind.
///
/// # Errors
/// If it is none that this user may send.
pub fn read(sql: &str, head: &[Token<'_>], rules: &Rules, rights: Rights) -> Result<Shape, Refusal> {
    let Some(first) = head.first() else { return Ok(Shape::default()) };
    let carried = |from: Option<usize>, what| {
        let start = from.ok_or(Refusal::NoStatement(what))?;
        let head = tokens(&sql[start..]).take(LOOK).collect::<Result<Vec<_>, _>>()?;
        let kinds = head.first().and_then(plain).ok_or_else(|| refused_to_all(&format!("{what} of this statement")))?;
        permitted(kinds, rules, rights)?;
        Ok(Some((start, kinds)))
    };
    let shape = match word(first).as_str() {
        "explain" => Shape { kinds: &["explain", "multi"], inner: carried(explained(head), "EXPLAIN")? },
        "prepare" => {
            let body = head.iter().position(|token| token.is_word("as")).and_then(|at| head.get(at + 1));
            Shape { kinds: &["prepare", "multi"], inner: carried(body.map(|token| token.start), "PREPARE")? }
        }
        name if REFUSED.contains(&name) => return Err(refused_to_all(&name.to_uppercase())),
        name => {
            let unknown = || Refusal::NoSuchStatement { word: shown(first), place: sql[..first.start].chars().count() };
            Shape { kinds: plain(first).or_else(|| other(name)).ok_or_else(unknown)?, inner: None }
        }
    };
    permitted(shape.kinds, rules, rights)?;
    details(head, rules, rights)?;
    Ok(shape)
}

/// The kinds of statements that others may carry.
fn plain(first: &Token<'_>) -> Option<&'static [&'static str]> {
    Some(match word(first).as_str() {
        "(" | "select" | "from" | "values" | "table" | "show" | "describe" | "desc" | "summarize" | "pivot"
        | "unpivot" | "pivot_wider" | "pivot_longer" => QUERY,
        "with" => WITH,
        "insert" => &["insert"],
        "update" => &["update"],
        "delete" | "truncate" => &["delete"],
        "merge" => &["merge_into"],
        _ => return None,
    })
}

fn other(first: &str) -> Option<&'static [&'static str]> {
    Some(match first {
        "execute" => &["execute"],
        "deallocate" => &["drop"],
        "create" => &["create"],
        "drop" => &["drop"],
        "alter" | "comment" => &["alter"],
        "set" | "reset" | "use" => &["set"],
        "pragma" => &["pragma", "set"],
        // A kind of the lists: the engine has the same one for both.
        "call" | "checkpoint" => &["call"],
        "vacuum" | "analyze" => &["vacuum"],
        "attach" => &["attach"],
        "detach" => &["detach"],
        "export" => &["export"],
        "copy" => &["copy", "copy_database", "pragma"],
        _ if TRANSACTIONS.contains(&first) => &["transaction"],
        _ => return None,
    })
}

/// Whether the kinds are on this user's list: the first one decides, the others are the engine's variants of it.
fn permitted(kinds: &[&str], rules: &Rules, rights: Rights) -> Result<(), Refusal> {
    for kind in kinds.iter().take(1) {
        match rules.class(Section::Kinds, kind) {
            Some(class) if class.permits(rights) => {}
            class => {
                let nobody = class.is_none_or(|class| class.is_for_nobody(rights));
                return Err(Refusal::NotAllowed(kind.to_uppercase().replace('_', " "), nobody));
            }
        }
    }
    Ok(())
}

/// What the words after the first one may be.
fn details(head: &[Token<'_>], rules: &Rules, rights: Rights) -> Result<(), Refusal> {
    let words = || head.iter().map(word).skip(1);
    match head.first().map(word).unwrap_or_default().as_str() {
        "create" => {
            let object = words().find(|word| !CREATE_MODIFIERS.contains(&word.as_str())).unwrap_or_default();
            one_of(&object, &CREATED, "CREATE")
        }
        "drop" => one_of(&words().next().unwrap_or_default(), &CREATED, "DROP"),
        "alter" => one_of(&words().next().unwrap_or_default(), &ALTERED, "ALTER"),
        "comment" => one_of(&words().nth(1).unwrap_or_default(), &DESCRIBED, "COMMENT ON"),
        "set" | "reset" => set(&head[1..], rules, rights),
        "pragma" => {
            let name = head.get(1).map(|token| fold(&value(token))).unwrap_or_default();
            let sets = head.get(2).is_some_and(|token| token.kind == TokenKind::Symbol(b'='));
            listed(if sets { Section::Settings } else { Section::Pragmas }, &name, "PRAGMA", rules, rights)
        }
        _ => Ok(()),
    }
}

/// SET and RESET, after that word.
fn set(rest: &[Token<'_>], rules: &Rules, rights: Rights) -> Result<(), Refusal> {
    let is = |at: usize, word: &str| rest.get(at).is_some_and(|token| token.is_word(word));
    let at = usize::from(is(0, "session") || is(0, "local"));
    if is(at, "variable") || (is(at, "time") && is(at + 1, "zone")) {
        return Ok(());
    }
    if is(at, "global") {
        return Err(refused_to_all("SET GLOBAL"));
    }
    let name = rest.get(at).map(|token| fold(&value(token))).unwrap_or_default();
    if rules.class(Section::Settings, &name).is_none() {
        return Err(Refusal::UnknownSetting(name));
    }
    listed(Section::Settings, &name, "SET", rules, rights)
}

fn listed(section: Section, name: &str, what: &str, rules: &Rules, rights: Rights) -> Result<(), Refusal> {
    match rules.class(section, name) {
        Some(class) if class.permits(rights) => Ok(()),
        class => {
            let nobody = class.is_none_or(|class| class.is_for_nobody(rights));
            Err(Refusal::NotAllowed(format!("{what} {name}"), nobody))
        }
    }
}

fn one_of(found: &str, allowed: &[&str], what: &str) -> Result<(), Refusal> {
    if allowed.contains(&found) { Ok(()) } else { Err(refused_to_all(&format!("{what} {}", found.to_uppercase()))) }
}

/// Where the statement in EXPLAIN [ANALYZE] [(options)] begins. If options are taken for a query or a query for options,
/// the engine finds no statement of an allowed kind there.
fn explained(head: &[Token<'_>]) -> Option<usize> {
    const OPTIONS: [&str; 8] = ["analyze", "format", "verbose", "costs", "buffers", "timing", "settings", "summary"];
    let mut at = 1;
    if head.get(at).is_some_and(|token| token.is_word("analyze")) {
        at += 1;
    }
    let is_open = head.get(at).is_some_and(|token| token.kind == TokenKind::Symbol(b'('));
    if is_open && head.get(at + 1).is_some_and(|token| OPTIONS.iter().any(|option| token.is_word(option))) {
        at += 1 + head.get(at..)?.iter().position(|token| token.kind == TokenKind::Symbol(b')'))?;
    }
    head.get(at).map(|token| token.start)
}

/// A keyword in lower case, or a symbol; a quoted name is no keyword.
fn word(token: &Token<'_>) -> String {
    match token.kind {
        TokenKind::Word => token.text.to_ascii_lowercase(),
        TokenKind::Symbol(_) => token.text.to_owned(),
        _ => String::new(),
    }
}

fn shown(first: &Token<'_>) -> String {
    const MOST: usize = 32;
    first.text.chars().take(MOST).collect()
}

fn refused_to_all(what: &str) -> Refusal {
    Refusal::NotAllowed(what.to_owned(), true)
}
