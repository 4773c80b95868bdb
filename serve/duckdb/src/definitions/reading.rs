//! What a definition says.

use colonnade_sql::{Dialect, Token, TokenKind, code};

use super::{Command, CommandKind, Definition, indexes, names};

/// Reads such a statement. `None` for those that DuckDB runs as they are.
pub(crate) fn read(statement: &str) -> Option<Definition<'_>> {
    let mut head = code(statement, Dialect::DuckDb);
    let (first, second) = (head.next()?, head.next()?);
    let is_any = first.is_one_of(&["drop", "alter"])
        || first.is_word("create") && second.is_one_of(&["type", "index", "unique"]);
    if !is_any {
        return None;
    }
    let mut tokens: Vec<_> = code(statement, Dialect::DuckDb).collect();
    tokens.pop_if(|last| last.is_symbol(b';'));
    let parts = Parts { statement, tokens: &tokens };
    match () {
        () if first.is_word("drop") => parts.dropped(),
        () if second.is_word("type") => parts.refused(),
        () if first.is_word("create") => parts.unnamed_index(),
        () => parts.altered(),
    }
}

/// What DROP drops, of which only tables keep CASCADE.
const KINDS: [&str; 6] = ["table", "view", "type", "sequence", "index", "macro"];

struct Parts<'s, 't> {
    statement: &'s str,
    tokens: &'t [Token<'s>],
}

impl<'s> Parts<'s, '_> {
    fn is(&self, at: usize, word: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_word(word))
    }

    fn text(&self, tokens: std::ops::Range<usize>) -> &'s str {
        match self.tokens.get(tokens) {
            Some([first, .., last]) => &self.statement[first.start..last.end()],
            Some([only]) => only.text,
            _ => "",
        }
    }

    /// The token after a name that begins at `at`, maybe with its schema.
    fn after_name(&self, at: usize) -> Option<usize> {
        let is_name = |at: usize| self.tokens.get(at).is_some_and(|token| token.is_identifier());
        let mut at = at;
        while is_name(at) {
            at += 1;
            match self.tokens.get(at).is_some_and(|token| token.is_symbol(b'.')) {
                true => at += 1,
                false => return Some(at),
            }
        }
        None
    }

    fn dropped(&self) -> Option<Definition<'s>> {
        let kind = KINDS.iter().find(|kind| self.is(1, kind))?;
        let mut at = if self.is(2, "if") && self.is(3, "exists") { 4 } else { 2 };
        let before = self.text(0..at);
        let mut names = Vec::new();
        loop {
            let end = self.after_name(at)?;
            names.push(self.text(at..end));
            if !self.tokens.get(end).is_some_and(|token| token.is_symbol(b',')) {
                at = end;
                break;
            }
            at = end + 1;
        }
        let cascades = self.is(at, "cascade");
        if at + usize::from(cascades || self.is(at, "restrict")) != self.tokens.len() {
            return None;
        }
        let loses_tables = cascades && matches!(*kind, "type" | "sequence" | "macro");
        if names.len() == 1 && !loses_tables {
            return None;
        }
        let after = if loses_tables { "" } else { self.text(at..self.tokens.len()) };
        Some(match *kind {
            "table" => Definition::DropTables { before, tables: names, after },
            _ => Definition::Drop { before, names, after },
        })
    }

    fn unnamed_index(&self) -> Option<Definition<'s>> {
        let is_unique = self.is(1, "unique");
        let index = 1 + usize::from(is_unique);
        let on = index + 1 + usize::from(self.is(index + 1, "concurrently"));
        if !self.is(index, "index") || !self.is(on, "on") {
            return None;
        }
        let start = on + 1 + usize::from(self.is(on + 1, "only"));
        let end = self.after_name(start)?;
        let columns = names::of_columns(self.tokens.get(end..)?)?;
        let rest = self.text(end..self.tokens.len());
        Some(Definition::Index { is_unique, table: self.text(start..end), columns, rest })
    }

    /// A definition of a type that DuckDB cannot have.
    fn refused(&self) -> Option<Definition<'s>> {
        if self.is(0, "alter") {
            let message = "ALTER TYPE is not supported, because DuckDB changes no types";
            let hint = "Create another type, change the columns by ALTER TABLE ... ALTER COLUMN ... TYPE, and drop the old type.";
            return Some(Definition::Refused { message, hint });
        }
        if self.tokens.windows(3).any(|three| {
            let [as_, range, open] = three else { return false };
            as_.is_word("as") && range.is_word("range") && open.is_symbol(b'(')
        }) {
            let message = "CREATE TYPE ... AS RANGE is not supported";
            let hint = "The types of ranges are int4range, int8range, numrange, daterange, tsrange and tstzrange.";
            return Some(Definition::Refused { message, hint });
        }
        let [.., as_, open, close] = self.tokens else { return None };
        let is_empty = as_.is_word("as") && open.is_symbol(b'(') && close.is_symbol(b')');
        let message = "composite types without attributes are not supported";
        is_empty.then_some(Definition::Refused {
            message,
            hint: "Add an attribute, as in CREATE TYPE name AS (a integer).",
        })
    }

    fn altered(&self) -> Option<Definition<'s>> {
        let mut at = 2;
        if !self.is(1, "table") {
            return None;
        }
        if self.is(at, "if") && self.is(at + 1, "exists") {
            at += 2;
        }
        let before = self.text(0..at);
        // DuckDB has no tables that inherit from others.
        if self.is(at, "only") {
            at += 1;
        }
        let end = self.after_name(at)?;
        let table = self.text(at..end);
        let mut commands = Vec::new();
        let (mut start, mut depth) = (end, 0usize);
        for (place, token) in self.tokens.iter().enumerate().skip(end) {
            match token.kind {
                TokenKind::Symbol(b'(' | b'[') => depth += 1,
                TokenKind::Symbol(b')' | b']') => depth = depth.saturating_sub(1),
                TokenKind::Symbol(b',') if depth == 0 => {
                    commands.push(self.command(start, place)?);
                    start = place + 1;
                }
                _ => {}
            }
        }
        commands.push(self.command(start, self.tokens.len())?);
        if let [Command { kind: CommandKind::Other(None), .. }] = commands[..] {
            return None;
        }
        Some(Definition::Alter { before, table, commands })
    }

    /// The command of the tokens from `start` to before `end`.
    fn command(&self, start: usize, end: usize) -> Option<Command<'s>> {
        let text = self.text(start..end);
        (!text.is_empty()).then(|| Command { text, kind: self.command_kind(start, end) })
    }

    fn command_kind(&self, start: usize, end: usize) -> CommandKind<'s> {
        let is = |at: usize, word: &str| at < end && self.is(at, word);
        let name = |at: usize| self.tokens[..end].get(at)?.name().map(|_| self.tokens[at].folded().into_owned());
        let has_column = |at: usize| usize::from(is(at, "column"));
        let place = start + 1 + has_column(start + 1);
        if is(start, "add") && ["if", "not", "exists"].iter().enumerate().all(|(more, word)| is(place + more, word)) {
            if let Some(column) = name(place + 3) {
                return CommandKind::AddColumn { column, rest: self.text(place + 3..end) };
            }
        } else if is(start, "add") {
            let (named, at) = match is(start + 1, "constraint") {
                true => (name(start + 2), start + 3),
                false => (None, start + 1),
            };
            if is(at, "unique") && self.tokens.get(at + 1).is_some_and(|open| open.is_symbol(b'(')) {
                let columns: Vec<_> =
                    self.tokens[at + 2..end - 1].iter().filter(|token| !token.is_symbol(b',')).collect();
                let folded = columns.iter().map(|token| token.name().map(|_| token.folded().into_owned()));
                if let Some(folded) = folded.collect::<Option<Vec<_>>>() {
                    return CommandKind::AddUnique { name: named, columns: self.text(at + 1..end), folded };
                }
            }
        } else if is(start, "drop") && is(start + 1, "constraint") {
            let if_exists = is(start + 2, "if");
            if let Some(name) = name(start + if if_exists { 4 } else { 2 }) {
                return CommandKind::DropConstraint { if_exists, name };
            }
        } else if is(start, "alter") {
            let at = start + 1 + has_column(start + 1);
            let after = match is(at + 1, "set") && is(at + 2, "data") {
                true => at + 3,
                false => at + 1,
            };
            let has_using = (after..end).any(|at| self.is(at, "using"));
            if let (true, false, Some(column)) = (is(after, "type"), has_using, name(at)) {
                return CommandKind::Type { column, type_: self.text(after + 1..end) };
            }
        }
        CommandKind::Other(indexes::effect(&self.tokens[start..end]))
    }
}
