//! Connection strings of keywords and values, `host=localhost dbname='my shop'`.
//! <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-KEYWORD-VALUE>

use super::settings::{Settings, usage};
use crate::Error;

/// Whether a text begins with a keyword and an equals sign.
pub(super) fn begins(text: &str) -> bool {
    let rest = text.trim_start().trim_start_matches(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    rest.len() < text.trim_start().len() && rest.trim_start().starts_with('=')
}

/// Reads all of them.
///
/// # Errors
/// A word without a value, a quote without its end, or an unknown keyword. No message quotes a possible part of a
/// password.
pub(super) fn parse(text: &str) -> Result<Settings, Error> {
    let mut settings = Settings::default();
    let mut rest = text.trim_start();
    let mut secret = false;
    while !rest.is_empty() {
        let odd = || usage("the connection string is not one of keyword=value pairs: write values with spaces as '…'");
        let (keyword, behind) = rest.split_once('=').ok_or_else(odd)?;
        let keyword = keyword.trim_end();
        if keyword.is_empty() || keyword.contains(char::is_whitespace) {
            return Err(odd());
        }
        let (value, behind) = value(behind.trim_start())?;
        // The text after a password without quotes may belong to the password.
        settings.set(keyword, value).map_err(|error| if secret { odd() } else { error })?;
        secret |= keyword.contains("password");
        rest = behind.trim_start();
    }
    Ok(settings)
}

/// A value, and the text after it. A backslash makes the next character literal.
fn value(text: &str) -> Result<(String, &str), Error> {
    let quoted = text.strip_prefix('\'');
    let mut letters = quoted.unwrap_or(text).chars();
    let mut value = String::new();
    loop {
        let rest = letters.as_str();
        match letters.next() {
            Some('\\') => value.extend(letters.next()),
            Some('\'') if quoted.is_some() => return Ok((value, letters.as_str())),
            Some(letter) if quoted.is_none() && letter.is_whitespace() => return Ok((value, rest)),
            Some(letter) => value.push(letter),
            None if quoted.is_some() => return Err(usage("the connection string lacks a closing quote")),
            None => return Ok((value, "")),
        }
    }
}
