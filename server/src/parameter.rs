//! Values that come from a client, for parameters and for COPY … FROM: PostgreSQL's text and binary forms, turned into
//! what a CAST in the engine takes.

mod binary;
mod instant;
mod text;

pub use binary::from_binary;
pub use instant::{Instant, instant};
pub use text::from_text;

use crate::sqlstate::SqlState;
use crate::value::types::{Type, TypeKind};

/// A value as the engine takes it. A CAST to the value's type gives its text a meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterValue {
    /// NULL.
    Null,
    /// A text for the engine to read.
    Text(String),
    /// Bytes as they are.
    Bytes(Vec<u8>),
    /// The items of a list.
    List(Vec<ParameterValue>),
    /// A value as the client has sent it, for an engine that takes PostgreSQL's own forms.
    Sent {
        /// The number of its type; 0 if the client left that open.
        type_oid: u32,
        /// Whether the bytes are the type's binary form, and not its text.
        is_binary: bool,
        /// `None` is NULL.
        bytes: Option<Vec<u8>>,
    },
}

impl ParameterValue {
    /// What it holds, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Sent { bytes, .. } => bytes.as_ref().map_or(0, Vec::len) + ALLOCATION,
            Self::Text(text) => text.len() + ALLOCATION,
            Self::Bytes(bytes) => bytes.len() + ALLOCATION,
            Self::List(items) => items.iter().map(|item| size_of_val(item) + item.bytes()).sum::<usize>() + ALLOCATION,
        }
    }

    /// How many lists there are within each other; 0 for a value that is no list.
    pub fn dimensions(&self) -> usize {
        match self {
            Self::List(items) => 1 + items.iter().map(Self::dimensions).max().unwrap_or(0),
            _ => 0,
        }
    }
}

/// What an allocation costs beside its bytes.
const ALLOCATION: usize = 16;

/// What a value becomes at most that comes as these bytes: known before it is read, since the items of a list take far more than what
/// stands between them.
pub(crate) fn most_bytes(type_: &Type, bytes: &[u8], is_binary: bool) -> usize {
    let (items, digits) = match (&type_.kind, is_binary) {
        (TypeKind::List(item), true) => (binary::items(bytes), if item.is_numeric() { binary::MOST_DIGITS } else { 0 }),
        (TypeKind::List(_), false) => (bytes.iter().filter(|byte| matches!(byte, b',' | b'{')).count(), 0),
        _ => (0, 0),
    };
    bytes.len() + ALLOCATION + items * (size_of::<ParameterValue>() + ALLOCATION + digits)
}

/// A value that is not of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// A text that the type does not have.
    #[error("invalid input syntax for type {type_name}: \"{text}\"")]
    Syntax {
        /// The type, in the engine's words.
        type_name: String,
        /// The text, or its beginning.
        text: String,
    },
    /// Bytes that the type does not have.
    #[error("incorrect binary data format of a value of type {0}")]
    Binary(String),
    /// A type that has no binary form here.
    #[error("values of type {0} are not accepted in binary")]
    NoBinary(String),
    /// Bytes that are not UTF-8.
    #[error("invalid byte sequence for encoding \"UTF8\"")]
    Encoding,
    /// A number or a time beyond what the engine's type holds.
    #[error("a value is out of range for type {0}")]
    Range(String),
}

impl InputError {
    /// Its SQLSTATE.
    pub fn code(&self) -> SqlState {
        match self {
            Self::Syntax { .. } => SqlState::INVALID_TEXT_REPRESENTATION,
            Self::Binary(_) => SqlState::new("22P03"),
            Self::NoBinary(_) => SqlState::FEATURE_NOT_SUPPORTED,
            Self::Encoding => SqlState::new("22021"),
            Self::Range(_) => SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        }
    }

    /// `text` is not a value of `type_`.
    pub fn syntax(type_: &Type, text: &str) -> Self {
        /// As many characters of a wrong value are shown.
        const SHOWN: usize = 80;
        Self::Syntax { type_name: type_.name.clone(), text: text.chars().take(SHOWN).collect() }
    }
}
