//! The client's encoding, which `client_encoding` sets. The server has all texts in UTF-8, and converts them where
//! messages are read and written.
//!
//! `names.rs` has PostgreSQL's names, `single_byte.rs` and `multi_byte.rs` the tables of the character sets, and
//! `values.rs` converts the texts within values and rows.

mod multi_byte;
mod names;
mod pages;
mod single_byte;
pub(crate) mod values;

use std::borrow::Cow;
use std::fmt::Write as _;

use multi_byte::MultiByte;
use single_byte::SingleByte;

use crate::sqlstate::SqlState;

/// The encoding of a client's texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientEncoding {
    /// UTF-8. Texts are only checked.
    #[default]
    Utf8,
    /// PostgreSQL's SQL_ASCII: nothing is converted, so that texts are UTF-8 too.
    SqlAscii,
    /// Another character set.
    Other(Charset),
}

/// A character set other than Unicode.
#[derive(Clone, Copy, Debug)]
pub struct Charset {
    name: &'static str,
    table: Table,
}

#[derive(Clone, Copy, Debug)]
enum Table {
    /// ISO 8859-1: the bytes are the numbers of the characters.
    Latin1,
    Single(&'static SingleByte),
    Multi(&'static MultiByte),
}

impl PartialEq for Charset {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Charset {}

/// A name that is not that of an encoding for clients.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodingNameError {
    /// PostgreSQL has no such encoding.
    #[error("invalid value for parameter \"client_encoding\": \"{0}\"")]
    Unknown(String),
    /// PostgreSQL has it, and this server does not.
    #[error("client_encoding {0} is not supported by this server; use UTF8")]
    NotBuilt(&'static str),
}

impl EncodingNameError {
    /// The SQLSTATE for the client.
    pub fn code(&self) -> SqlState {
        match self {
            Self::Unknown(_) => SqlState::INVALID_PARAMETER_VALUE,
            Self::NotBuilt(_) => SqlState::FEATURE_NOT_SUPPORTED,
        }
    }
}

/// A text that cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// The bytes are no text in the encoding.
    #[error("invalid byte sequence for encoding \"{encoding}\": {bytes}")]
    Invalid {
        /// PostgreSQL's name of the encoding.
        encoding: &'static str,
        /// The bytes, as hexadecimal numbers.
        bytes: String,
    },
    /// The other encoding does not have the character.
    #[error("character with byte sequence {bytes} in encoding \"{from}\" has no equivalent in encoding \"{to}\"")]
    NoEquivalent {
        /// The character's bytes, as hexadecimal numbers.
        bytes: String,
        /// PostgreSQL's name of their encoding.
        from: &'static str,
        /// PostgreSQL's name of the other encoding.
        to: &'static str,
    },
}

impl TextError {
    /// The SQLSTATE for the client.
    pub fn code(&self) -> SqlState {
        match self {
            Self::Invalid { .. } => SqlState::new("22021"),
            Self::NoEquivalent { .. } => SqlState::new("22P05"),
        }
    }
}

const UTF8: &str = "UTF8";

/// What a character set has at the beginning of some bytes that are not ASCII.
enum Decoded {
    /// A character of this number of bytes.
    Character(char, usize),
    /// The first bytes of a character.
    Incomplete,
    /// No character has these first bytes.
    Invalid(usize),
    /// These bytes could be a character, but the set has none there.
    Unassigned(usize),
}

impl ClientEncoding {
    /// The encoding of a name, which PostgreSQL reads without letter case and signs.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<Self, EncodingNameError> {
        names::find(name)
    }

    /// PostgreSQL's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => UTF8,
            Self::SqlAscii => "SQL_ASCII",
            Self::Other(charset) => charset.name,
        }
    }

    /// The character set to convert from and to; `None` if texts are UTF-8.
    pub fn charset(self) -> Option<Charset> {
        match self {
            Self::Utf8 | Self::SqlAscii => None,
            Self::Other(charset) => Some(charset),
        }
    }

    /// A client's text in UTF-8.
    ///
    /// # Errors
    /// If the bytes are no text in this encoding, or one that Unicode does not have.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, TextError> {
        let Some(charset) = self.charset() else {
            return std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| {
                let wrong = bytes.get(error.valid_up_to()..).unwrap_or_default();
                let length = error.error_len().unwrap_or(wrong.len());
                TextError::Invalid { encoding: UTF8, bytes: shown(wrong.get(..length).unwrap_or_default()) }
            });
        };
        if bytes.is_ascii() {
            // ASCII is UTF-8.
            return Ok(std::str::from_utf8(bytes).map_or(Cow::Borrowed(""), Cow::Borrowed));
        }
        let mut text = String::with_capacity(bytes.len() * 2);
        charset.decode_all(bytes, &mut text)?;
        Ok(Cow::Owned(text))
    }
}

impl Charset {
    /// Appends the characters of `bytes` to `text`. Gives the number of bytes before an incomplete character at the end.
    ///
    /// # Errors
    /// If other bytes are no characters.
    pub fn decode(self, bytes: &[u8], text: &mut String) -> Result<usize, TextError> {
        let mut at = 0;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let ascii = rest.get(..rest.iter().take_while(|byte| byte.is_ascii()).count()).unwrap_or_default();
            if !ascii.is_empty() {
                text.push_str(std::str::from_utf8(ascii).unwrap_or_default());
                at += ascii.len();
                continue;
            }
            if rest.is_empty() {
                break;
            }
            let first = |length: usize| shown(rest.get(..length).unwrap_or(rest));
            match self.first(rest) {
                Decoded::Character(character, length) => {
                    text.push(character);
                    at += length;
                }
                Decoded::Incomplete => break,
                Decoded::Invalid(length) => {
                    return Err(TextError::Invalid { encoding: self.name, bytes: first(length) });
                }
                Decoded::Unassigned(length) => {
                    return Err(TextError::NoEquivalent { bytes: first(length), from: self.name, to: UTF8 });
                }
            }
        }
        Ok(at)
    }

    /// The same for a whole text.
    fn decode_all(self, bytes: &[u8], text: &mut String) -> Result<(), TextError> {
        let read = self.decode(bytes, text)?;
        if read < bytes.len() { Err(self.incomplete(bytes.get(read..).unwrap_or_default())) } else { Ok(()) }
    }

    /// The error for a text that ends with the first bytes of a character.
    pub fn incomplete(self, bytes: &[u8]) -> TextError {
        TextError::Invalid { encoding: self.name, bytes: shown(bytes) }
    }

    fn first(self, bytes: &[u8]) -> Decoded {
        match (self.table, bytes) {
            (Table::Latin1, &[byte, ..]) => Decoded::Character(char::from(byte), 1),
            (Table::Single(set), &[byte, ..]) => {
                set.character(byte).map_or(Decoded::Unassigned(1), |character| Decoded::Character(character, 1))
            }
            (Table::Multi(set), bytes) => set.first(bytes),
            (_, []) => Decoded::Incomplete,
        }
    }

    /// Appends the bytes of a text. If a character has none, the bytes of the characters before it stay.
    ///
    /// # Errors
    /// If the character set does not have a character.
    pub fn encode(self, text: &str, out: &mut Vec<u8>) -> Result<(), TextError> {
        text.chars().try_for_each(|character| match self.push(character, out) {
            true => Ok(()),
            false => {
                let bytes = shown(character.encode_utf8(&mut [0; 4]).as_bytes());
                Err(TextError::NoEquivalent { bytes, from: UTF8, to: self.name })
            }
        })
    }

    /// Appends the bytes of a text, with a question mark for a character that the character set does not have. It is for
    /// the texts of errors: an error about the error's text would hide the error.
    pub fn encode_lossy(self, text: &str, out: &mut Vec<u8>) {
        for character in text.chars() {
            if !self.push(character, out) {
                out.push(b'?');
            }
        }
    }

    /// Appends the bytes of a character, if it has any.
    fn push(self, character: char, out: &mut Vec<u8>) -> bool {
        if character.is_ascii() {
            out.push(character as u8);
            return true;
        }
        match self.table {
            Table::Latin1 => u8::try_from(character).map(|byte| out.push(byte)).is_ok(),
            Table::Single(set) => set.byte(character).map(|byte| out.push(byte)).is_some(),
            Table::Multi(set) => set.push(character, out),
        }
    }
}

fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (at, byte) in bytes.iter().enumerate() {
        // Writing to a text does not fail.
        let _ = write!(text, "{}{byte:#04x}", if at > 0 { " " } else { "" });
    }
    text
}

#[cfg(test)]
mod tests;
