//! Reads DuckDB's names of types, as `typeof` writes them.

use colonnade_udf::ColumnType;

use super::{SqlType, Storage};

/// The deepest nesting.
const MAX_DEPTH: usize = 16;

/// Reads a type; `None` if functions cannot have it.
pub(super) fn parse(name: &str, depth: usize) -> Option<SqlType> {
    if depth > MAX_DEPTH {
        return None;
    }
    let child = |text: &str| parse(text, depth + 1);
    if let Some(inner) = name.strip_suffix(']') {
        let (item, size) = inner.rsplit_once('[')?;
        let item = child(item)?;
        let of = Box::new(item.column_type.clone());
        return Some(if size.is_empty() {
            nested(name, ColumnType::List(of), Storage::List, vec![item])
        } else {
            let size = size.parse().ok()?;
            nested(name, ColumnType::Array { item: of, size }, Storage::Array(size), vec![item])
        });
    }
    let Some((kind, inner)) = name.strip_suffix(')').and_then(|name| name.split_once('(')) else {
        return SqlType::flat(name);
    };
    match kind {
        "STRUCT" | "UNION" => {
            let fields = parts(inner).into_iter().map(|field| {
                let (name, rest) = field_name(field.trim())?;
                Some((name, child(rest.trim())?))
            });
            let fields = fields.collect::<Option<Vec<_>>>()?;
            let columns = fields.iter().map(|(name, type_)| (name.clone(), type_.column_type.clone())).collect();
            let children = fields.into_iter().map(|(_, type_)| type_).collect();
            Some(if kind == "STRUCT" {
                nested(name, ColumnType::Struct(columns), Storage::Struct, children)
            } else {
                nested(name, ColumnType::Union(columns), Storage::Union, children)
            })
        }
        // DuckDB's interface hides the structs that a map is a list of, so that they can be neither flattened nor made room for.
        "MAP" => None,
        "ENUM" => {
            let labels = parts(inner).into_iter().map(|label| unquoted(label.trim(), '\''));
            let labels = labels.collect::<Option<Vec<_>>>()?;
            let width = match labels.len() {
                0 => return None,
                1..=0xff => 1,
                0x100..=0xffff => 2,
                _ => 4,
            };
            let mut type_ = nested(name, ColumnType::Text, Storage::Enum(width), Vec::new());
            type_.labels = labels;
            Some(type_)
        }
        _ => SqlType::flat(name),
    }
}

/// The list of structs that a map becomes; `inner` are the types of keys and values.
pub(super) fn map(inner: &str) -> Option<SqlType> {
    let [key, value] = parts(inner).try_into().ok()?;
    let mut list = parse(&format!("STRUCT(\"key\" {}, \"value\" {})[]", key.trim(), value.trim()), 0)?;
    let [entry] = list.children.as_slice() else { return None };
    let [key, value] = entry.children.as_slice() else { return None };
    list.column_type = ColumnType::Map(Box::new(key.column_type.clone()), Box::new(value.column_type.clone()));
    Some(list)
}

fn nested(name: &str, column_type: ColumnType, storage: Storage, children: Vec<SqlType>) -> SqlType {
    SqlType { name: name.to_owned(), column_type, storage, children, labels: Vec::new() }
}

/// The parts between commas that are within neither quotes nor parentheses.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth, mut quote) = (0, 0_usize, None);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The name of a field, and what follows it.
fn field_name(field: &str) -> Option<(String, &str)> {
    if !field.starts_with('"') {
        return field.split_once(' ').map(|(name, rest)| (name.to_owned(), rest));
    }
    let mut rest = &field[1..];
    loop {
        let at = rest.find('"')?;
        rest = &rest[at + 1..];
        match rest.strip_prefix('"') {
            Some(more) => rest = more,
            None => {
                let name = &field[..field.len() - rest.len()];
                return Some((unquoted(name, '"')?, rest));
            }
        }
    }
}

fn unquoted(text: &str, quote: char) -> Option<String> {
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    Some(inner.replace(&format!("{quote}{quote}"), &quote.to_string()))
}
