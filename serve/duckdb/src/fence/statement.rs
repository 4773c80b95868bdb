//! Finds the kind of a statement by its first words, and the kind of the statement within EXPLAIN or PREPARE.
//!
//! Only the statements that are listed here are accepted. Then DuckDB's kind of the same text is compared.

use colonnade_sql::{Token, TokenKind};

use super::rules::{Rules, Section};
use super::{Refusal, Rights, fold, tokens, value};

/// The number of first tokens that are examined. They are enough to find the kind of every allowed statement.
pub const HEAD_TOKENS: usize = 64;

/// The kind of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementShape {
    /// The kinds that DuckDB may find.
    pub kinds: &'static [&'static str],
    /// The statement within it: its first byte, and its kinds.
    pub inner: Option<(usize, &'static [&'static str])>,
}

const QUERY: &[&str] = &["select", "multi"];
/// The kinds of statements that begin with WITH.
const WITH: &[&str] = &["select", "multi", "insert", "update", "delete", "merge_into"];

const TRANSACTIONS: [&str; 6] = ["begin", "start", "commit", "end", "rollback", "abort"];
/// The first words of DuckDB's statements that no client may send. Other words that are not listed here are syntax
/// errors.
const REFUSED: [&str; 5] = ["load", "install", "force", "import", "uninstall"];
const CREATED: [&str; 8] = ["table", "view", "macro", "function", "schema", "sequence", "index", "type"];
const CREATE_MODIFIERS: [&str; 6] = ["or", "replace", "temp", "temporary", "unique", "recursive"];
const ALTERED: [&str; 3] = ["table", "view", "sequence"];
const DESCRIBED: [&str; 10] =
    ["table", "column", "view", "index", "sequence", "type", "macro", "function", "schema", "materialized"];

/// Finds a statement's kind.
///
/// # Errors
/// If this user may not send statements of this kind.
pub fn read(sql: &str, head: &[Token<'_>], rules: &Rules, rights: Rights) -> Result<StatementShape, Refusal> {
    let Some(first) = head.first() else { return Ok(StatementShape::default()) };
    let carried = |from: Option<usize>, what| {
        let start = from.ok_or(Refusal::NoStatement(what))?;
        let head = tokens(&sql[start..]).take(HEAD_TOKENS).collect::<Result<Vec<_>, _>>()?;
        let kinds =
            head.first().and_then(carried_kinds).ok_or_else(|| refused_to_all(&format!("{what} of this statement")))?;
        check_kinds(kinds, rules, rights)?;
        Ok(Some((start, kinds)))
    };
    let shape = match word(first).as_str() {
        "explain" => StatementShape { kinds: &["explain", "multi"], inner: carried(explained_start(head), "EXPLAIN")? },
        "prepare" => {
            let body = head.iter().position(|token| token.is_word("as")).and_then(|at| head.get(at + 1));
            StatementShape { kinds: &["prepare", "multi"], inner: carried(body.map(|token| token.start), "PREPARE")? }
        }
        name if REFUSED.contains(&name) => return Err(refused_to_all(&name.to_uppercase())),
        name => {
            let unknown =
                || Refusal::NoSuchStatement { word: excerpt(first), place: sql[..first.start].chars().count() };
            StatementShape {
                kinds: carried_kinds(first).or_else(|| other_kinds(name)).ok_or_else(unknown)?,
                inner: None,
            }
        }
    };
    check_kinds(shape.kinds, rules, rights)?;
    check_details(head, rules, rights)?;
    Ok(shape)
}

/// The kinds of a statement that may be within EXPLAIN or PREPARE.
fn carried_kinds(first: &Token<'_>) -> Option<&'static [&'static str]> {
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

fn other_kinds(first: &str) -> Option<&'static [&'static str]> {
    Some(match first {
        "execute" => &["execute"],
        "deallocate" => &["drop"],
        "create" => &["create"],
        "drop" => &["drop"],
        // DuckDB adds some columns by several statements, in one transaction: with NOT NULL, UNIQUE, or a default that
        // is not constant.
        "alter" => &["alter", "multi"],
        "comment" => &["alter"],
        "set" | "reset" | "use" => &["set"],
        "pragma" => &["pragma", "set"],
        // DuckDB has the same kind for both.
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

/// Checks whether this user may send statements of these kinds. The first kind decides. The others are DuckDB's
/// variants of it.
fn check_kinds(kinds: &[&str], rules: &Rules, rights: Rights) -> Result<(), Refusal> {
    for kind in kinds.iter().take(1) {
        match rules.class(Section::Kinds, kind) {
            Some(class) if class.permits(rights) => {}
            class => {
                let is_refused_to_all = class.is_none_or(|class| class.is_refused_to_all(rights));
                return Err(Refusal::NotAllowed(kind.to_uppercase().replace('_', " "), is_refused_to_all));
            }
        }
    }
    Ok(())
}

/// Checks the words after the first one.
fn check_details(head: &[Token<'_>], rules: &Rules, rights: Rights) -> Result<(), Refusal> {
    let words = || head.iter().map(word).skip(1);
    match head.first().map(word).unwrap_or_default().as_str() {
        "create" => {
            let object = words().find(|word| !CREATE_MODIFIERS.contains(&word.as_str())).unwrap_or_default();
            check_object(&object, &CREATED, "CREATE")
        }
        "drop" => check_object(&words().next().unwrap_or_default(), &CREATED, "DROP"),
        "alter" => check_object(&words().next().unwrap_or_default(), &ALTERED, "ALTER"),
        "comment" => check_object(&words().nth(1).unwrap_or_default(), &DESCRIBED, "COMMENT ON"),
        "set" | "reset" => check_setting(&head[1..], rules, rights),
        "pragma" => {
            let name = head.get(1).map(|token| fold(&value(token))).unwrap_or_default();
            let sets = head.get(2).is_some_and(|token| token.kind == TokenKind::Symbol(b'='));
            check_list(if sets { Section::Settings } else { Section::Pragmas }, &name, "PRAGMA", rules, rights)
        }
        _ => Ok(()),
    }
}

/// Checks SET and RESET. `rest` are the tokens after this word.
fn check_setting(rest: &[Token<'_>], rules: &Rules, rights: Rights) -> Result<(), Refusal> {
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
    check_list(Section::Settings, &name, "SET", rules, rights)
}

fn check_list(section: Section, name: &str, what: &str, rules: &Rules, rights: Rights) -> Result<(), Refusal> {
    match rules.class(section, name) {
        Some(class) if class.permits(rights) => Ok(()),
        class => {
            let is_refused_to_all = class.is_none_or(|class| class.is_refused_to_all(rights));
            Err(Refusal::NotAllowed(format!("{what} {name}"), is_refused_to_all))
        }
    }
}

fn check_object(found: &str, allowed: &[&str], what: &str) -> Result<(), Refusal> {
    if allowed.contains(&found) { Ok(()) } else { Err(refused_to_all(&format!("{what} {}", found.to_uppercase()))) }
}

/// The first byte of the statement in EXPLAIN [ANALYZE] [(options)]. If options are mistaken for a query, or a query
/// for options, DuckDB finds no statement of an allowed kind there.
fn explained_start(head: &[Token<'_>]) -> Option<usize> {
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

/// A keyword in lower case, or a symbol. For a quoted name, which is not a keyword, the empty text.
fn word(token: &Token<'_>) -> String {
    match token.kind {
        TokenKind::Word => token.text.to_ascii_lowercase(),
        TokenKind::Symbol(_) => token.text.to_owned(),
        _ => String::new(),
    }
}

fn excerpt(first: &Token<'_>) -> String {
    const MOST: usize = 32;
    first.text.chars().take(MOST).collect()
}

fn refused_to_all(what: &str) -> Refusal {
    Refusal::NotAllowed(what.to_owned(), true)
}
