//! Indexes of a table that changes. DuckDB alters no table with an index, but in one transaction an index can be dropped,
//! the table altered, and the index made again.

use colonnade_server::EngineError;
use colonnade_sql::{Dialect, Token, TokenKind, quote};

use super::number;
use crate::{LibraryConnection, TranslatingSession};

/// An index that a user has made, of columns alone.
pub(super) struct Index {
    /// Its name with its schema.
    qualified: String,
    name: String,
    is_unique: bool,
    columns: Vec<String>,
}

/// What a command does with names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    /// The column that has another name from then on.
    renamed: Option<(String, String)>,
    /// The column that is no longer there.
    dropped: Option<String>,
    /// The table's name from then on.
    table: Option<String>,
}

/// What a command does to a table, if DuckDB refuses it for a table with an index. `command` is its tokens.
pub(super) fn effect(command: &[Token<'_>]) -> Option<Effect> {
    let is = |at: usize, word: &str| command.get(at).is_some_and(|token| token.is_word(word));
    let name = |at: usize| command.get(at).and_then(Token::name).map(|_| command[at].folded().into_owned());
    let has = |word: &str| command.iter().any(|token| token.is_word(word));
    let mut effect = Effect::default();
    if is(0, "rename") {
        if is(1, "to") {
            effect.table = Some(name(2)?);
        } else {
            let at = if is(1, "column") { 2 } else { 1 };
            effect.renamed = is(at + 1, "to").then(|| Some((name(at)?, name(at + 2)?))).flatten();
            effect.renamed.as_ref()?;
        }
    } else if is(0, "drop") && !is(1, "constraint") {
        let at = if is(1, "column") { 2 } else { 1 };
        let at = if is(at, "if") { at + 2 } else { at };
        effect.dropped = Some(name(at)?);
    } else if is(0, "add") {
        let is_column = !["constraint", "unique", "primary", "foreign", "check"].iter().any(|word| is(1, word));
        // Otherwise DuckDB adds it beside an index.
        if !(is_column && has("not") && has("null")) {
            return None;
        }
    } else if !is(0, "alter") || is(command.len() - 1, "default") || has("set") && has("default") {
        return None;
    }
    Some(effect)
}

impl Effect {
    /// The index afterwards; `None` if a column of it is gone.
    fn changed(&self, index: &Index) -> Option<Vec<String>> {
        let is = |column: &String, name: &String| column.eq_ignore_ascii_case(name);
        if self.dropped.as_ref().is_some_and(|dropped| index.columns.iter().any(|column| is(column, dropped))) {
            return None;
        }
        let name = |column: &String| match &self.renamed {
            Some((before, after)) if is(column, before) => after.clone(),
            _ => column.clone(),
        };
        Some(index.columns.iter().map(name).collect())
    }
}

impl<C: LibraryConnection> TranslatingSession<C> {
    /// The indexes that users have made of a table; `None` if one is of expressions, which cannot be made again, and for a
    /// temporary table.
    pub(super) fn indexes(&mut self, table: &str) -> Result<Option<Vec<Index>>, EngineError> {
        if self.is_temporary(table)? {
            return Ok(None);
        }
        let query = format!(
            "SELECT colonnade_catalog.pg.quote_ident(schema), name, is_unique, list_contains(columns, 0), \
                    [colonnade_catalog.pg.unquoted(element) for element in elements]::JSON \
             FROM colonnade_catalog.pg.indexes \
             WHERE relation = {} AND oid NOT IN (SELECT oid FROM colonnade_catalog.pg.declared)",
            number(table)
        );
        let translated = self.translated(&query)?;
        let mut found = Vec::new();
        for row in self.own_rows(&translated, &[])? {
            let [Some(schema), Some(name), Some(is_unique), Some(has_expression), Some(columns)] = &row[..] else {
                return Ok(None);
            };
            if has_expression.starts_with('t') {
                return Ok(None);
            }
            found.push(Index {
                qualified: format!("{schema}.{}", quote::identifier(name, Dialect::DuckDb)),
                name: quote::identifier(name, Dialect::DuckDb),
                is_unique: is_unique.starts_with('t'),
                columns: strings(columns),
            });
        }
        Ok(Some(found))
    }

    /// Runs `alter` without these indexes, and makes them again. The caller has begun a transaction.
    pub(super) fn without_indexes(
        &mut self,
        table: &str,
        indexes: &[Index],
        effect: &Effect,
        alter: impl FnOnce(&mut Self) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        for index in indexes {
            self.run_own(&format!("DROP INDEX {}", index.qualified))?;
        }
        alter(self)?;
        let place = table.rfind('.').map_or("", |dot| &table[..=dot]);
        let table = match &effect.table {
            Some(name) => format!("{place}{}", quote::identifier(name, Dialect::DuckDb)),
            None => table.to_owned(),
        };
        for index in indexes {
            let Some(columns) = effect.changed(index) else { continue };
            let columns: Vec<_> = columns.iter().map(|column| quote::identifier(column, Dialect::DuckDb)).collect();
            let unique = if index.is_unique { "UNIQUE " } else { "" };
            self.run_own(&format!("CREATE {unique}INDEX {} ON {table} ({})", index.name, columns.join(", ")))?;
        }
        Ok(())
    }
}

/// The texts of a list in JSON.
fn strings(list: &str) -> Vec<String> {
    colonnade_sql::code(list, Dialect::DuckDb)
        .filter(|token| token.kind == TokenKind::Name)
        .filter_map(|token| token.name().map(std::borrow::Cow::into_owned))
        .collect()
}
