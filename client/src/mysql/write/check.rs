//! Texts and bytes that a column would change, or refuse.

use super::column_type::{ColumnType, TextSet};
use crate::write::misfit::ValueMisfit;

/// # Errors
/// The column would change the text.
pub(super) fn check_text(to: &ColumnType, text: &str) -> Result<(), ValueMisfit> {
    // The bytes are counted faster, and are never fewer than the characters.
    let is_longer = |most: usize| text.len() > most && text.chars().count() > most;
    match to {
        ColumnType::Varchar { most, .. } | ColumnType::Char { most, .. } if is_longer(*most) => {
            Err(ValueMisfit::length(text.chars().count(), &to.name()))
        }
        ColumnType::Char { .. } if text.ends_with(' ') => {
            Err(ValueMisfit::text("a text that ends with a space, which CHAR drops"))
        }
        // In another character set the length differs, and the server checks it.
        ColumnType::Text { bytes, set: TextSet::Utf8mb4 } if text.len() as u64 > *bytes => {
            Err(ValueMisfit::length(text.chars().count(), &to.name()))
        }
        // The server would also take another case, and numbers.
        ColumnType::Enum { labels, .. } if !labels.iter().any(|label| label == text) => {
            Err(ValueMisfit::text(format!("{text:?} is not a label of the enum")))
        }
        ColumnType::Set { labels, .. } if !is_set(labels, text) => {
            Err(ValueMisfit::text(format!("{text:?} is not labels of the set, in its order")))
        }
        ColumnType::Uuid if !is_uuid(text) => {
            Err(ValueMisfit::text("a text that is not a uuid of 36 characters in lower case"))
        }
        _ => Ok(()),
    }
}

/// # Errors
/// The column would cut the bytes, or fill them up.
pub(super) fn check_bytes(to: &ColumnType, bytes: &[u8]) -> Result<(), ValueMisfit> {
    let fits = match to {
        ColumnType::Binary(length) => bytes.len() == *length,
        ColumnType::Varbinary(most) => bytes.len() <= *most,
        ColumnType::Blob(most) => bytes.len() as u64 <= *most,
        _ => false,
    };
    if fits {
        return Ok(());
    }
    Err(ValueMisfit::number(format_args!("a value of {} bytes", bytes.len()), &to.name()))
}

/// Whether a text lists labels in the order in which the set has them, as MySQL shows it.
fn is_set(labels: &[String], text: &str) -> bool {
    let mut rest = labels.iter();
    text.is_empty() || text.split(',').all(|part| rest.any(|label| label == part))
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_its_order() {
        let labels = ["a", "b", "c"].map(str::to_owned);
        for (text, expected) in [("", true), ("a,c", true), ("c,a", false), ("a,a", false), ("d", false), ("A", false)]
        {
            assert_eq!(is_set(&labels, text), expected, "{text}");
        }
    }
}
