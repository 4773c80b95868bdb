//! What PostgreSQL's operators of jsonb find in texts of JSON.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::keyed::number_key;

/// How deep a value may be nested. Each level of a text is read once more for the level below it.
const DEPTH: usize = 512;

/// Why two values cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// The text is not JSON.
    #[error("invalid input syntax for type json: {0}")]
    Syntax(String),
    /// Both values are nested deeper than this.
    #[error("jsonb nested deeper than {DEPTH} levels cannot be compared")]
    TooDeep,
}

/// One level of a value.
enum Level<'a> {
    Object(HashMap<String, &'a RawValue>),
    Array(Vec<&'a RawValue>),
    Scalar(Scalar),
}

#[derive(PartialEq)]
enum Scalar {
    Null,
    Boolean(bool),
    Text(String),
    /// The key of the number, which 1 and 1.0 share; its text, if it is none of PostgreSQL's.
    Number(Vec<u8>),
}

/// Whether a value contains another one: `container @> part` (manual of PostgreSQL 15, §8.14.3).
///
/// # Errors
/// A text is not JSON, or both are nested too deeply.
pub fn contains(container: &str, part: &str) -> Result<bool, JsonError> {
    let (container, part) = (read(container)?, read(part)?);
    match (&container, &part) {
        // An array also contains what its elements are, but only here: no array within a value does.
        (Level::Array(elements), Level::Scalar(_)) => any_contains(&levels(elements)?, &part, 1),
        _ => level_contains(&container, &part, 1),
    }
}

fn level_contains(container: &Level<'_>, part: &Level<'_>, depth: usize) -> Result<bool, JsonError> {
    if depth > DEPTH {
        return Err(JsonError::TooDeep);
    }
    match (container, part) {
        (Level::Object(container), Level::Object(part)) => {
            for (key, value) in part {
                let Some(other) = container.get(key) else { return Ok(false) };
                if !level_contains(&read(other.get())?, &read(value.get())?, depth + 1)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Level::Array(container), Level::Array(part)) => {
            let container = levels(container)?;
            for element in part {
                if !any_contains(&container, &read(element.get())?, depth + 1)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Level::Scalar(container), Level::Scalar(part)) => Ok(container == part),
        _ => Ok(false),
    }
}

fn any_contains(elements: &[Level<'_>], part: &Level<'_>, depth: usize) -> Result<bool, JsonError> {
    for element in elements {
        if level_contains(element, part, depth)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn levels<'a>(values: &[&'a RawValue]) -> Result<Vec<Level<'a>>, JsonError> {
    values.iter().map(|value| read(value.get())).collect()
}

fn read(text: &str) -> Result<Level<'_>, JsonError> {
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    let error = |error: serde_json::Error| JsonError::Syntax(error.to_string());
    Ok(match text.as_bytes().first() {
        // Of several values with one key, the last counts, as in jsonb.
        Some(b'{') => Level::Object(serde_json::from_str(text).map_err(error)?),
        Some(b'[') => Level::Array(serde_json::from_str(text).map_err(error)?),
        Some(b'"') => Level::Scalar(Scalar::Text(serde_json::from_str(text).map_err(error)?)),
        _ => Level::Scalar(match text {
            "null" => Scalar::Null,
            "true" => Scalar::Boolean(true),
            "false" => Scalar::Boolean(false),
            _ => {
                serde_json::from_str::<&RawValue>(text).map_err(error)?;
                Scalar::Number(number_key(text).unwrap_or_else(|| text.as_bytes().to_vec()))
            }
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containment_is_postgresqls() {
        for (container, part, expected) in [
            (r#"{"a": {"b": 1, "c": 2}}"#, r#"{"a": {"b": 1.0}}"#, true),
            (r#"{"a": {"b": 1}}"#, r#"{"b": 1}"#, false),
            ("[1, 2, [1, 3]]", "[1, 3]", false),
            ("[1, 2, [1, 3]]", "[[1, 3], 2, 2]", true),
            ("[[1, 2]]", "1", false),
            (r#"["a", 1e1]"#, "10", true),
            ("10", "[10]", false),
            (r#"{"a": [1]}"#, r#"{"a": 1}"#, false),
            (r#"{"a": 1}"#, "{}", true),
            ("{}", "[]", false),
            (r#"[{"a": 1, "b": null}]"#, r#"[{"b": null}]"#, true),
            (r#"{"a": 1, "a": 2}"#, r#"{"a": 1}"#, false),
            (r#""\u00e9""#, "\"é\"", true),
            ("12345678901234567890.1", "12345678901234567890.2", false),
            (" true ", "true", true),
        ] {
            assert_eq!(contains(container, part), Ok(expected), "{container} @> {part}");
        }
    }

    #[test]
    fn what_is_no_json_or_too_deep_is_an_error() {
        for text in ["", "x", "[1", r#"{"a"}"#, "1 2"] {
            assert!(matches!(contains(text, "1"), Err(JsonError::Syntax(_))), "{text}");
        }
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(contains(&nested(DEPTH), &nested(DEPTH)), Ok(true));
        assert_eq!(contains(&nested(DEPTH + 1), &nested(DEPTH + 1)), Err(JsonError::TooDeep));
        assert_eq!(contains(&nested(100_000), &nested(3)), Ok(true));
    }
}
