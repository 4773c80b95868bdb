//! The names that PostgreSQL gives to indexes without one (`ChooseIndexName` in `src/backend/commands/indexcmds.c`).

use colonnade_server::EngineError;
use colonnade_sql::{Dialect, Token, TokenKind, closing, quote};

use super::without_schema;
use crate::{LibraryConnection, TranslatingSession};

/// What a column of an index without a name is called: its name, that of the function that makes it, or this.
const EXPRESSION: &str = "expr";

/// The names of an index's columns, each of them once. `tokens` begin after the table's name.
pub(super) fn of_columns(tokens: &[Token<'_>]) -> Option<Vec<String>> {
    let open = tokens.iter().position(|token| token.is_symbol(b'('))?;
    let close = closing(tokens, open)?;
    let mut depth = 0_usize;
    let columns = tokens[open + 1..close].split(|token| {
        match token.kind {
            TokenKind::Symbol(b'(' | b'[') => depth += 1,
            TokenKind::Symbol(b')' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.is_symbol(b',')
    });
    let mut names = Vec::new();
    for name in columns.map(of_column) {
        names.push(first_free(&name, |name| !names.contains(name)));
    }
    Some(names)
}

/// The name, or the first of it and a number that is free.
fn first_free(name: &str, is_free: impl Fn(&String) -> bool) -> String {
    let others = (1_u32..).map(|number| format!("{name}{number}"));
    std::iter::once(name.to_owned()).chain(others).find(is_free).unwrap_or_default()
}

fn of_column(column: &[Token<'_>]) -> String {
    let is_named = |next: &Token<'_>| next.is_identifier() || next.is_symbol(b'(');
    match column {
        // A column, maybe with its class or its order, or a function.
        [name, rest @ ..] if name.is_identifier() && rest.first().is_none_or(is_named) => name.folded().into_owned(),
        _ => EXPRESSION.to_owned(),
    }
}

impl<C: LibraryConnection> TranslatingSession<C> {
    /// A name for an index of a table that no other one has.
    pub(super) fn index_name(&mut self, table: &str, columns: &[String]) -> Result<String, EngineError> {
        let base = format!("{}_{}_idx", without_schema(table), columns.join("_"));
        let query = format!(
            "SELECT index_name FROM system.main.duckdb_indexes() \
             WHERE system.main.starts_with(system.main.lower(index_name), system.main.lower({}))",
            quote::string(&base, Dialect::DuckDb)
        );
        let taken = self.first_column(&query)?;
        let name = first_free(&base, |name| !taken.iter().any(|taken| taken.eq_ignore_ascii_case(name)));
        Ok(quote::identifier(&name, Dialect::DuckDb))
    }
}
