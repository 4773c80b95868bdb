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
