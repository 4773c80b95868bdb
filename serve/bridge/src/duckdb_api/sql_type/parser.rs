//! Reads DuckDB's names of types, as `typeof` writes them.

use colonnade_udf::ColumnType;

use super::{SqlType, Storage};

/// The deepest nesting.
const MAX_DEPTH: usize = 16;

/// Reads a type; `None` if functions cannot have it. `is_converted`: the type is what the macro of a function makes of
/// it.
pub(super) fn parse(name: &str, depth: usize, is_converted: bool) -> Option<SqlType> {
    if depth > MAX_DEPTH {
        return None;
    }
    let child = |text: &str| parse(text, depth + 1, is_converted);
    if let Some(inner) = name.strip_suffix(']') {
        let (text, size) = inner.rsplit_once('[')?;
        let item = child(text)?;
        let of = Box::new(item.column_type.clone());
        let converted = format!("{}[{size}]", item.name);
        let name: &str = if item.is_named(text) { name } else { &converted };
        return Some(if size.is_empty() {
            nested(name, ColumnType::List(of), Storage::List, vec![item])
        } else {
            let size = size.parse().ok()?;
            nested(name, ColumnType::Array { item: of, size }, Storage::Array(size), vec![item])
        });
    }
    let Some((kind, inner)) = name.strip_suffix(')').and_then(|name| name.split_once('(')) else {
        return match name {
            "BIT" | "TIME WITH TIME ZONE" if is_converted => SqlType::flat("VARCHAR"),
            _ => SqlType::flat(name),
        };
    };
    match kind {
        "STRUCT" | "UNION" => {
            let fields = parts(inner).into_iter().map(|field| {
                let (name, rest) = field_name(field.trim())?;
                let type_ = child(rest.trim())?;
                let is_same = type_.is_named(rest.trim());
                Some((name, type_, is_same))
            });
            let fields = fields.collect::<Option<Vec<_>>>()?;
            let is_same = fields.iter().all(|(.., is_same)| *is_same);
            let fields: Vec<_> = fields.into_iter().map(|(name, type_, _)| (name, type_)).collect();
            let columns = fields.iter().map(|(name, type_)| (name.clone(), type_.column_type.clone())).collect();
            let named = fields.iter().map(|(name, type_)| format!("\"{}\" {}", name.replace('"', "\"\""), type_.name));
            let converted = format!("{kind}({})", named.collect::<Vec<_>>().join(", "));
            let name: &str = if is_same { name } else { &converted };
            let children = fields.into_iter().map(|(_, type_)| type_).collect();
            Some(if kind == "STRUCT" {
                nested(name, ColumnType::Struct(columns), Storage::Struct, children)
            } else {
                nested(name, ColumnType::Union(columns), Storage::Union, children)
            })
        }
        // DuckDB's interface hides the structs that a map is a list of, so that they can be neither flattened nor made
        // room for.
        "MAP" if !is_converted => None,
        "MAP" => {
            let [key, value] = parts(inner).try_into().ok()?;
            let (key, value): (&str, &str) = (key, value);
            let mut list = child(&format!("STRUCT(\"key\" {}, \"value\" {})[]", key.trim(), value.trim()))?;
            let [entry] = list.children.as_slice() else { return None };
            let [key, value] = entry.children.as_slice() else { return None };
            list.column_type = ColumnType::Map(Box::new(key.column_type.clone()), Box::new(value.column_type.clone()));
            Some(list)
        }
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
