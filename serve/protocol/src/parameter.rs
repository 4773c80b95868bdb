//! Reads values from a client, for parameters and for COPY … FROM: PostgreSQL's text and binary forms become texts that
//! a CAST of the engine accepts.

mod binary;
mod composite;
mod instant;
mod interval;
mod keyed;
mod text;
mod times;

pub use binary::from_binary;
pub use instant::{Instant, parse_instant};
pub use text::{check_number, from_text};

use crate::charset::TextError;
use crate::error::{ClientError, SqlState};
use crate::value::types::{Type, TypeKind};

/// PostgreSQL's white space (`isspace` in the C locale, `array_isspace`). Others are characters of the value.
const SPACE: [char; 6] = [' ', '\t', '\n', '\u{b}', '\u{c}', '\r'];

/// A value in the form for the engine. The engine casts a text to the value's type.
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
    /// A value as the client has sent it, for an engine that accepts PostgreSQL's own forms.
    Sent {
        /// The number of its type; 0 if the client left that open.
        type_oid: u32,
        /// Whether the bytes are the type's binary form. Otherwise they are its text.
        is_binary: bool,
        /// `None` is NULL.
        bytes: Option<Vec<u8>>,
    },
}

impl ParameterValue {
    /// The memory that it occupies, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Sent { bytes, .. } => bytes.as_ref().map_or(0, Vec::len) + ALLOCATION_OVERHEAD,
            Self::Text(text) => text.len() + ALLOCATION_OVERHEAD,
            Self::Bytes(bytes) => bytes.len() + ALLOCATION_OVERHEAD,
            Self::List(items) => {
                items.iter().map(|item| size_of_val(item) + item.bytes()).sum::<usize>() + ALLOCATION_OVERHEAD
            }
        }
    }

    /// The number of nested lists; 0 for a value that is not a list.
    pub fn dimensions(&self) -> usize {
        match self {
            Self::List(items) => 1 + items.iter().map(Self::dimensions).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// Refuses lists of another depth than the type's: a value of PostgreSQL's type `text[]` may have any number of
    /// dimensions, a column of the engine has one.
    ///
    /// # Errors
    /// The depths differ.
    pub fn check_dimensions(&self, type_: &Type) -> Result<(), InputError> {
        if self.has_depth_of(type_) { Ok(()) } else { Err(InputError::Dimensions(type_.name.clone())) }
    }

    fn has_depth_of(&self, type_: &Type) -> bool {
        match (self, &type_.kind) {
            (Self::Null | Self::Sent { .. }, _) => true,
            (Self::List(items), TypeKind::List(item)) => items.iter().all(|value| value.has_depth_of(item)),
            (value, kind) => matches!(value, Self::List(_)) == matches!(kind, TypeKind::List(_)),
        }
    }
}

/// The overhead of an allocation, in bytes.
const ALLOCATION_OVERHEAD: usize = 16;

/// An upper bound of the memory of the value with these bytes, before it is read. The items of a list need much more
/// memory than their bytes in a message.
pub(crate) fn max_bytes(type_: &Type, bytes: &[u8], is_binary: bool) -> usize {
    let (items, digits) = match (&type_.kind, is_binary) {
        (TypeKind::List(item), true) => {
            (binary::claimed_items(bytes), if item.is_numeric() { binary::MAX_DIGITS } else { 0 })
        }
        (TypeKind::List(_), false) => (bytes.iter().filter(|byte| matches!(byte, b',' | b'{')).count(), 0),
        _ => (0, 0),
    };
    composite::expansion(type_).saturating_mul(bytes.len())
        + ALLOCATION_OVERHEAD
        + items * (size_of::<ParameterValue>() + ALLOCATION_OVERHEAD + digits)
}

/// A value that is not of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The text is not a value of the type.
    #[error("invalid input syntax for type {type_name}: \"{text}\"")]
    Syntax {
        /// The engine's name of the type.
        type_name: String,
        /// The text, or its beginning.
        text: String,
    },
    /// The bytes are not a value of the type.
    #[error("incorrect binary data format of a value of type {0}")]
    Binary(String),
    /// The server does not read this type's binary form.
    #[error("values of type {0} are not accepted in binary")]
    NoBinary(String),
    /// The text is not UTF-8.
    #[error("invalid byte sequence for encoding \"UTF8\"")]
    Encoding,
    /// The text cannot be converted from the client's encoding.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A number or a time that the engine's type cannot represent.
    #[error("a value is out of range for type {0}")]
    Range(String),
    /// The text is not a row of the type.
    #[error("malformed record literal: \"{text}\"")]
    Row {
        /// The text, or its beginning.
        text: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// A field of a row in binary has another type than the attribute.
    #[error("binary data has type {sent} instead of expected {expected} in record column {column}")]
    FieldType {
        /// The number of the field, from 1.
        column: usize,
        /// The number of its type.
        sent: u32,
        /// The number of the attribute's type.
        expected: u32,
    },
    /// A row in binary has another number of fields than its type.
    #[error("wrong number of columns: {sent}, expected {expected}")]
    FieldCount {
        /// The number of fields.
        sent: i32,
        /// The number of attributes.
        expected: usize,
    },
    /// The lists of the value are nested more or less deep than those of the type.
    #[error("the value has another number of dimensions than the type {0}")]
    Dimensions(String),
}

impl ClientError for InputError {
    fn code(&self) -> SqlState {
        match self {
            Self::Syntax { .. } | Self::Row { .. } => SqlState::INVALID_TEXT_REPRESENTATION,
            Self::FieldType { .. } | Self::FieldCount { .. } => SqlState::DATATYPE_MISMATCH,
            Self::Binary(_) => SqlState::new("22P03"),
            Self::NoBinary(_) | Self::Dimensions(_) => SqlState::FEATURE_NOT_SUPPORTED,
            Self::Encoding => SqlState::new("22021"),
            Self::Text(error) => error.code(),
            Self::Range(_) => SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        }
    }

    fn detail(&self) -> Option<String> {
        if let Self::Row { problem, .. } = self { Some((*problem).to_owned()) } else { None }
    }

    fn hint(&self) -> Option<String> {
        matches!(self, Self::NoBinary(_)).then(|| "Send the value as text.".to_owned())
    }
}

impl InputError {
    /// The error for a text that is not a value of `type_`.
    pub fn syntax(type_: &Type, text: &str) -> Self {
        Self::Syntax { type_name: type_.name.clone(), text: beginning(text) }
    }

    fn row(text: &str, problem: &'static str) -> Self {
        Self::Row { text: beginning(text), problem }
    }
}

/// The part of a text that is shown.
fn beginning(text: &str) -> String {
    const SHOWN: usize = 80;
    text.chars().take(SHOWN).collect()
}
