//! Parses the value of one option.

use std::ops::Deref;

use colonnade_sql::statement::{CopyOption, OptionValue};

use crate::charset::ClientEncoding;

use super::{ColumnSelection, Direction, Format, OptionError};

pub(super) struct RawOption<'a>(pub &'a CopyOption);

impl Deref for RawOption<'_> {
    type Target = CopyOption;

    fn deref(&self) -> &CopyOption {
        self.0
    }
}

impl RawOption<'_> {
    /// Refuses an option that the format does not have.
    pub(super) fn check_format(&self, format: Format) -> Result<(), OptionError> {
        let belongs = match self.name.as_str() {
            "delimiter" | "null" | "header" => !format.is_binary(),
            "quote" | "escape" | "force_quote" | "force_null" | "force_not_null" => format == Format::Csv,
            "version" | "compression" | "encodings" | "codecs" | "chunk_rows" | "chunk_bytes" | "max_message_bytes" => {
                format == Format::Colonnade
            }
            _ => true,
        };
        let format = match format {
            Format::Text => "text",
            Format::Csv => "csv",
            Format::Binary => "binary",
            Format::Colonnade => "colonnade",
            Format::Arrow => "arrow",
        };
        if belongs { Ok(()) } else { Err(OptionError::WrongFormat { name: self.name.clone(), format }) }
    }

    /// Refuses an option that the direction does not have.
    pub(super) fn check_direction(&self, direction: Direction) -> Result<(), OptionError> {
        let (belongs, name) = match (self.name.as_str(), direction) {
            ("force_quote", Direction::In) => (false, "FROM"),
            (
                "compression" | "encodings" | "codecs" | "chunk_rows" | "chunk_bytes" | "max_message_bytes",
                Direction::In,
            ) => (false, "FROM"),
            ("force_null" | "force_not_null", Direction::Out) => (false, "TO"),
            _ => (true, ""),
        };
        if belongs { Ok(()) } else { Err(OptionError::WrongDirection { name: self.name.clone(), direction: name }) }
    }

    pub(super) fn invalid_value(&self, expected: &str) -> OptionError {
        let value = match &self.value {
            OptionValue::None => String::new(),
            OptionValue::All => "*".to_owned(),
            OptionValue::Text(text) => text.clone(),
            OptionValue::List(names) => format!("({})", names.join(", ")),
        };
        OptionError::Value { name: self.name.clone(), value, expected: expected.to_owned() }
    }

    pub(super) fn text(&self) -> Result<&str, OptionError> {
        match &self.value {
            OptionValue::Text(text) => Ok(text),
            _ => Err(self.invalid_value("a word, a number or a string")),
        }
    }

    pub(super) fn byte(&self) -> Result<u8, OptionError> {
        match self.text()?.as_bytes() {
            [byte] => Ok(*byte),
            _ => Err(self.invalid_value("a single one-byte character")),
        }
    }

    pub(super) fn boolean(&self) -> Result<bool, OptionError> {
        let text = match &self.value {
            OptionValue::None => return Ok(true),
            _ => self.text()?.to_ascii_lowercase(),
        };
        match text.as_str() {
            "true" | "on" | "1" => Ok(true),
            "false" | "off" | "0" => Ok(false),
            _ => Err(self.invalid_value("true or false")),
        }
    }

    pub(super) fn columns(&self) -> Result<ColumnSelection, OptionError> {
        match &self.value {
            OptionValue::All => Ok(ColumnSelection::All),
            OptionValue::List(names) => Ok(ColumnSelection::Columns(names.clone())),
            _ => Err(self.invalid_value("* or names of columns in parentheses")),
        }
    }

    /// The columnar formats have texts in UTF-8 only.
    pub(super) fn encoding(&self, format: Format) -> Result<ClientEncoding, OptionError> {
        let expected = "the name of an encoding that the server supports, such as utf8 or latin1";
        let encoding = ClientEncoding::named(self.text()?).map_err(|_| self.invalid_value(expected))?;
        let suits = !format.is_columnar() || encoding.charset().is_none();
        if suits { Ok(encoding) } else { Err(self.invalid_value("utf8")) }
    }

    pub(super) fn number(&self, least: u64, most: u64) -> Result<u64, OptionError> {
        let number = self.text()?.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| self.invalid_value(&format!("a number from {least} to {most}")))
    }

    pub(super) fn parsed<T: std::str::FromStr>(&self, expected: &str) -> Result<T, OptionError> {
        self.text()?.parse().map_err(|_| self.invalid_value(expected))
    }
}
