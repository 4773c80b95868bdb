//! Literals without a type of their own, whose form depends on the type that their place gives them.

use colonnade_server::parameter::{InputError, ParameterValue, from_text};
use colonnade_server::value::types::{Type, TypeKind};
use colonnade_sql::edit::Edits;
use colonnade_sql::{Dialect, code};

use super::expression;
use crate::cast::cast as cast_name;
use crate::types;

/// Whether a statement may have literals whose form depends on the type that their place gives them. It is decided
/// without DuckDB.
pub fn may_be_open(statement: &str) -> bool {
    let may_be_row = || statement.match_indices(['\'', '$']).any(|(at, _)| is_row(&statement[at + 1..]));
    (statement.contains(['\\', '{']) || may_be_row())
        && code(statement, Dialect::DuckDb)
            .any(|token| token.string(Dialect::DuckDb).is_some_and(|value| is_open(&value)))
}

/// Whether a text may be a row's.
pub(super) fn is_row(value: &str) -> bool {
    value.trim_ascii_start().starts_with('(')
}

/// Whether DuckDB reads a text as another list, another row or as other bytes than PostgreSQL, if its place gives it
/// such a type.
pub fn is_open(value: &str) -> bool {
    let list = Type::list_of(types::named("VARCHAR"));
    // A backslash alone is in the ESCAPE of each LIKE.
    value.len() > 1 && value.contains('\\')
        || is_row(value)
        || value.trim_ascii_start().starts_with('{') && from_text(&list, value).is_ok()
}

/// The literals that may be rows and have a cast: the first byte of each, and the name of the type. DuckDB tells the
/// types of those in queries alone.
pub fn row_casts(statement: &str) -> Vec<(usize, &str)> {
    let tokens: Vec<_> = code(statement, Dialect::DuckDb).collect();
    let is = |at: usize, symbol| tokens.get(at).is_some_and(|token| token.is_symbol(symbol));
    let is_cast = |at: usize| is(at + 1, b':') && is(at + 2, b':');
    let is_call = |at: usize| {
        at > 1
            && is(at - 1, b'(')
            && tokens[at - 2].is_word("cast")
            && tokens.get(at + 1).is_some_and(|as_| as_.is_word("as"))
    };
    let mut found = Vec::new();
    for (at, literal) in tokens.iter().enumerate() {
        let first = match () {
            () if is_cast(at) => at + 3,
            () if is_call(at) => at + 2,
            () => continue,
        };
        let Some(value) = literal.string(Dialect::DuckDb) else { continue };
        let mut end = first;
        while tokens.get(end).is_some_and(|token| token.name().is_some()) && is(end + 1, b'.') {
            end += 2;
        }
        while is(end + 1, b'[') && is(end + 2, b']') {
            end += 2;
        }
        let is_named = tokens.get(first).is_some_and(|token| token.name().is_some());
        if let (true, true, Some(last)) = (is_named, value.contains('('), tokens.get(end)) {
            found.push((literal.start, &statement[tokens[first].start..last.end()]));
        }
    }
    found
}

/// The changes that put literals into the form of the types that their places give them. `types` has the first byte of
/// each.
///
/// # Errors
/// A text that is not of its type.
pub fn typed(statement: &str, types: &[(usize, Type)]) -> Result<Edits, InputError> {
    let mut edits = Edits::default();
    for token in code(statement, Dialect::DuckDb) {
        let Ok(found) = types.binary_search_by_key(&token.start, |(start, _)| *start) else { continue };
        let (type_, Some(value)) = (&types[found].1, token.string(Dialect::DuckDb)) else { continue };
        let mut item = type_;
        while let TypeKind::List(inner) = &item.kind {
            item = inner;
        }
        let is_list = matches!(type_.kind, TypeKind::List(_)) && value.trim_ascii_start().starts_with(['{', '[']);
        // Rows have DuckDB's text form.
        if is_list && !matches!(item.kind, TypeKind::Record | TypeKind::Map | TypeKind::Unsupported) {
            let value = from_text(type_, &value)?;
            value.check_dimensions(type_)?;
            edits.replace(token.range(), own_cast(&value, &cast_name(type_, &value)?));
        } else if matches!(type_.kind, TypeKind::Composite { .. }) {
            edits.replace(token.range(), own_cast(&from_text(type_, &value)?, &type_.name));
        } else if type_.kind == TypeKind::Bytes && type_.name == "BLOB" {
            edits.replace(token.range(), expression(&from_text(type_, &value)?));
        }
    }
    Ok(edits)
}

/// A cast that gives its column no name (`column_names.py`): the client's cast around it may give one.
fn own_cast(value: &ParameterValue, type_name: &str) -> String {
    format!("CAST(({}) AS {type_name})", expression(value))
}
