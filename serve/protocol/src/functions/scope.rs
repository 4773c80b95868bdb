//! Finds calls of table functions in a statement, and the WITH clauses in whose scope they stand.

use std::ops::Range;

use colonnade_sql::{Dialect, Token, TokenKind, code};

use super::calls::is_named;

/// A call of a table function. Places are bytes of the statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableCall {
    /// The schema, if one is written.
    pub schema: Option<String>,
    /// The name.
    pub name: String,
    /// From the name to the parenthesis that closes the arguments.
    pub place: Range<usize>,
    /// The arguments.
    pub arguments: Vec<TableArgument>,
    /// The WITH clauses that the call sees, the outermost first. In a WITH clause, these are the ones before it.
    pub scopes: Vec<Range<usize>>,
    /// Whether the call stands where a table may.
    pub is_in_from: bool,
    /// Whether it stands within WITH RECURSIVE.
    pub is_recursive: bool,
    /// Whether it has a name for its rows.
    pub has_alias: bool,
    /// Whether an argument has the name of its parameter: `f(x => 1)`.
    pub has_names: bool,
}

/// An argument of a table function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableArgument {
    /// Where it stands. A subquery's place is without its parentheses.
    pub place: Range<usize>,
    /// Whether it is a subquery, and not a single value.
    pub is_query: bool,
}

/// What a part of a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clause {
    /// Before a word that says it.
    Start,
    /// Where tables stand.
    From,
    /// The condition of a join, behind which a comma begins the next table.
    Condition,
    Other,
}

/// What is between two parentheses, or the whole statement.
#[derive(Debug)]
struct Level {
    /// The token that opens it.
    open: usize,
    clause: Clause,
    with: Option<With>,
    /// Whether this is a function's arguments.
    is_call: bool,
    /// Whether this is the query of a WITH clause.
    is_with_query: bool,
    arguments: Vec<Range<usize>>,
    /// The first token of the present argument.
    argument: usize,
}

/// A WITH clause.
#[derive(Clone, Copy, Debug)]
struct With {
    start: usize,
    is_recursive: bool,
    /// Whether its list has not ended.
    is_open: bool,
    /// Where the last complete query of its list ends; the start if there is none.
    end: usize,
}

/// Words that follow a table, so that they are no name for it.
const AFTER_TABLE: [&str; 36] = [
    "where",
    "group",
    "order",
    "having",
    "limit",
    "offset",
    "union",
    "intersect",
    "except",
    "join",
    "inner",
    "left",
    "right",
    "full",
    "cross",
    "natural",
    "asof",
    "positional",
    "semi",
    "anti",
    "on",
    "using",
    "window",
    "qualify",
    "sample",
    "tablesample",
    "select",
    "returning",
    "set",
    "fetch",
    "for",
    "pivot",
    "unpivot",
    "with",
    "when",
    "at",
];

/// The call that closes first, of those that `is_known` accepts by their schema, their name and where they begin. So
/// calls within its arguments, and those in WITH clauses before it, have been replaced already.
pub fn table_call(
    statement: &str,
    dialect: Dialect,
    mut is_known: impl FnMut(Option<&str>, &str, usize) -> bool,
) -> Option<TableCall> {
    let tokens: Vec<_> = code(statement, dialect).collect();
    let mut levels = vec![Level::new(0, Clause::Start)];
    for at in 0..tokens.len() {
        let token = &tokens[at];
        match token.kind {
            TokenKind::Symbol(b'(' | b'[' | b'{') => {
                let level = open(&tokens, at, levels.last());
                levels.push(level);
            }
            TokenKind::Symbol(b')' | b']' | b'}') => {
                if levels.len() == 1 {
                    return None;
                }
                let mut level = levels.pop()?;
                level.end_argument(&tokens, at);
                if token.is_symbol(b')')
                    && level.is_call
                    && let Some((schema, name, first)) = name_before(&tokens, level.open)
                    && !names_columns(&tokens, levels.last(), first)
                    && is_known(schema.as_deref(), &name, tokens[first].start)
                {
                    return Some(found(&tokens, &levels, &level, (schema, name, first), at));
                }
                if let Some(above) = levels.last_mut() {
                    above.after_query(&tokens, at, &level);
                }
            }
            _ => {
                if let Some(level) = levels.last_mut() {
                    level.read(&tokens, at);
                }
            }
        }
    }
    None
}

impl Level {
    fn new(open: usize, clause: Clause) -> Self {
        Self {
            open,
            clause,
            with: None,
            is_call: false,
            is_with_query: false,
            arguments: Vec::new(),
            argument: open + 1,
        }
    }

    /// Reads a token that is no parenthesis.
    fn read(&mut self, tokens: &[Token<'_>], at: usize) {
        let token = &tokens[at];
        if let Some(with) = &mut self.with
            && with.is_open
        {
            return;
        }
        if token.is_symbol(b',') {
            self.end_argument(tokens, at);
            if self.clause == Clause::Condition {
                self.clause = Clause::From;
            }
            return;
        }
        if token.kind != TokenKind::Word {
            return;
        }
        match token.text.to_ascii_lowercase().as_str() {
            "with" if begins_list(tokens, at) => {
                let is_recursive = tokens.get(at + 1).is_some_and(|next| next.is_word("recursive"));
                self.with = Some(With { start: token.start, is_recursive, is_open: true, end: token.start });
            }
            // IS DISTINCT FROM compares.
            "from" if at > 0 && tokens[at - 1].is_word("distinct") => {}
            "from" | "join" | "using" => self.clause = Clause::From,
            "on" if self.clause == Clause::From => self.clause = Clause::Condition,
            "union" | "except" | "intersect" => self.clause = Clause::Start,
            "select" | "where" | "group" | "having" | "window" | "qualify" | "order" | "limit" | "offset"
            | "values" | "set" | "returning" | "when" | "into" | "update" => self.clause = Clause::Other,
            _ => {}
        }
    }

    fn end_argument(&mut self, tokens: &[Token<'_>], at: usize) {
        if self.is_call && at > self.argument {
            self.arguments.push(self.argument..at);
        }
        debug_assert!(at < tokens.len());
        self.argument = at + 1;
    }

    /// Notes the end of a query that may be one of the WITH clause. Its list goes on with a comma.
    fn after_query(&mut self, tokens: &[Token<'_>], at: usize, query: &Level) {
        if let Some(with) = &mut self.with
            && with.is_open
            && query.is_with_query
        {
            with.end = tokens[at].end();
            with.is_open = tokens.get(at + 1).is_some_and(|next| next.is_symbol(b','));
        }
    }
}

/// Whether a list of queries with names follows WITH, and not WITH ORDINALITY or another word.
fn begins_list(tokens: &[Token<'_>], at: usize) -> bool {
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(word));
    if is(at + 1, "recursive") {
        return true;
    }
    let is_name = tokens.get(at + 1).is_some_and(Token::is_identifier);
    is_name && (is(at + 2, "as") || tokens.get(at + 2).is_some_and(|token| token.is_symbol(b'(')))
}

/// The level that the parenthesis `at` opens.
fn open(tokens: &[Token<'_>], at: usize, above: Option<&Level>) -> Level {
    let mut level = Level::new(at, Clause::Start);
    let Some(before) = at.checked_sub(1).map(|before| &tokens[before]) else { return level };
    if let Some(Level { with: Some(with), .. }) = above
        && with.is_open
    {
        level.is_with_query = before.is_one_of(&["as", "materialized"]);
        return level;
    }
    // A word before a parenthesis is a name, or one such as IN, FROM or AND, which no function has.
    level.is_call = tokens[at].is_symbol(b'(') && before.is_identifier();
    let is_table = above.is_some_and(|above| above.clause == Clause::From)
        && (before.is_one_of(&["from", "join", "lateral", "using"]) || !before.is_identifier());
    if is_table {
        level.clause = Clause::From;
    }
    level
}

/// The name in front of a parenthesis, with its schema, and the name's first token.
fn name_before(tokens: &[Token<'_>], open: usize) -> Option<(Option<String>, String, usize)> {
    let name = &tokens[open.checked_sub(1)?];
    let part = |back: usize| {
        let (dot, part) = (open.checked_sub(back)?, open.checked_sub(back + 1)?);
        (tokens[dot].is_symbol(b'.') && tokens[part].is_identifier()).then_some(part)
    };
    let folded = |at: usize| tokens[at].folded().into_owned();
    let schema = part(2);
    // A database in front of the schema is the served one, or the statement fails later.
    let first = schema.map_or(open - 1, |schema| part(4).unwrap_or(schema));
    Some((schema.map(folded), name.folded().into_owned(), first))
}

/// Whether the name at `first` is that of a table, and its columns follow in parentheses: a table may have the name of
/// a function.
fn names_columns(tokens: &[Token<'_>], level: Option<&Level>, first: usize) -> bool {
    let Some(before) = first.checked_sub(1).map(|before| &tokens[before]) else { return false };
    if before.is_one_of(&["into", "table", "references", "copy"]) {
        return true;
    }
    let is_create = |words: &[&str]| {
        tokens[0].is_word("create") && tokens.iter().take(5).any(|token| token.is_one_of(words)) && level.is_some()
    };
    let is_outermost = level.is_some_and(|level| level.open == 0);
    if is_outermost && before.is_word("exists") && is_create(&["table", "view"]) {
        return true;
    }
    if is_outermost && (before.is_word("view") && is_create(&["view"]) || before.is_word("on") && is_create(&["index"]))
    {
        return true;
    }
    // The name of a table in FROM follows the table.
    level.is_some_and(|level| level.clause == Clause::From) && !begins_table(before) && may_end_table(before)
}

/// Whether a table follows this token.
fn begins_table(before: &Token<'_>) -> bool {
    before.is_one_of(&["from", "join", "lateral", "using"])
        || matches!(before.kind, TokenKind::Symbol(b',' | b'(' | b':'))
}

/// Whether this token may end a table, or is the AS behind it.
fn may_end_table(before: &Token<'_>) -> bool {
    before.is_identifier() || matches!(before.kind, TokenKind::Symbol(b')' | b']') | TokenKind::Text)
}

fn found(
    tokens: &[Token<'_>],
    levels: &[Level],
    call: &Level,
    (schema, name, first): (Option<String>, String, usize),
    close: usize,
) -> TableCall {
    let before = first.checked_sub(1).map(|before| &tokens[before]);
    let is_in_from =
        levels.last().is_some_and(|level| level.clause == Clause::From) && before.is_some_and(begins_table);
    let withs = || levels.iter().filter_map(|level| level.with);
    let scopes = withs().filter(|with| with.end > with.start).map(|with| with.start..with.end).collect();
    let next = tokens.get(close + 1);
    let has_alias = before.is_some_and(|before| before.is_symbol(b':'))
        || next.is_some_and(|next| match next.kind {
            TokenKind::Name => true,
            TokenKind::Word => !next.is_one_of(&AFTER_TABLE),
            _ => false,
        });
    TableCall {
        schema,
        name,
        place: tokens[first].start..tokens[close].end(),
        arguments: call.arguments.iter().map(|range| argument(tokens, range)).collect(),
        has_names: call.arguments.iter().any(|range| is_named(&tokens[range.clone()])),
        scopes,
        is_in_from,
        is_recursive: withs().any(|with| with.is_recursive && with.is_open),
        has_alias,
    }
}

/// An argument of these tokens.
fn argument(tokens: &[Token<'_>], range: &Range<usize>) -> TableArgument {
    let inner = &tokens[range.clone()];
    let place = inner[0].start..inner[inner.len() - 1].end();
    let first = inner.iter().find(|token| !token.is_symbol(b'('));
    let begins_query = first.is_some_and(|token| {
        token.is_one_of(&[
            "select",
            "with",
            "from",
            "values",
            "table",
            "pivot",
            "unpivot",
            "summarize",
            "describe",
            "show",
        ])
    });
    let mut depth = 0_usize;
    // Whether the first parenthesis closes at the end.
    let is_whole = inner[0].is_symbol(b'(')
        && inner.iter().enumerate().all(|(at, token)| {
            match token.kind {
                TokenKind::Symbol(b'(') => depth += 1,
                TokenKind::Symbol(b')') => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth > 0 || at + 1 == inner.len()
        });
    if begins_query && is_whole {
        return TableArgument { place: inner[0].end()..inner[inner.len() - 1].start, is_query: true };
    }
    TableArgument { place, is_query: false }
}

#[cfg(test)]
mod tests;
