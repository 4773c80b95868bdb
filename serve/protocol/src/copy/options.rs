//! COPY's options: PostgreSQL's, and those of `FORMAT colonnade` (PROTOCOL.md).

mod raw;

use colonnade_sql::statement::CopyOption;
use colonnade_wire::{CodecSet, Config, EncodingSet, Level};

use raw::RawOption;

use crate::charset::ClientEncoding;
use crate::error::{ClientError, SqlState};

/// The format of the copied rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// PostgreSQL's tab-separated text.
    #[default]
    Text,
    /// Comma-separated values.
    Csv,
    /// PostgreSQL's binary rows.
    Binary,
    /// Columnar chunks (FORMAT.md).
    Colonnade,
    /// An Arrow IPC stream.
    Arrow,
}

impl Format {
    /// Whether CopyOutResponse and CopyInResponse announce it as binary.
    pub fn is_binary(self) -> bool {
        !matches!(self, Self::Text | Self::Csv)
    }

    /// Whether a message has columns, and not rows.
    pub fn is_columnar(self) -> bool {
        matches!(self, Self::Colonnade | Self::Arrow)
    }
}

/// All options. Missing ones have their defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOptions {
    /// FORMAT.
    pub format: Format,
    /// DELIMITER.
    pub delimiter: u8,
    /// NULL.
    pub null: String,
    /// HEADER.
    pub header: bool,
    /// ENCODING, of text and CSV. If `None`, it is the client's.
    pub encoding: Option<ClientEncoding>,
    /// The options of FORMAT csv.
    pub csv: CsvOptions,
    /// The options of FORMAT colonnade.
    pub colonnade: StreamOptions,
}

/// QUOTE, ESCAPE, FORCE_QUOTE, FORCE_NULL, FORCE_NOT_NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// Surrounds a value that holds special characters.
    pub quote: u8,
    /// Precedes a quote within a quoted value.
    pub escape: u8,
    /// Columns whose values are always quoted (COPY TO).
    pub force_quote: ColumnSelection,
    /// Columns in which the NULL string is NULL also if it is quoted (COPY FROM).
    pub force_null: ColumnSelection,
    /// Columns in which the NULL string is a value also if it is not quoted (COPY FROM).
    pub force_not_null: ColumnSelection,
}

/// The columns to which an option applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ColumnSelection {
    /// None.
    #[default]
    None,
    /// All of them.
    All,
    /// These.
    Columns(Vec<String>),
}

impl ColumnSelection {
    /// For each of `columns`, whether the selection contains it. Letter case does not matter.
    ///
    /// # Errors
    /// If the selection names a column that is not among `columns`. The error names `option`.
    pub fn mask(&self, columns: &[&str], option: &'static str) -> Result<Vec<bool>, OptionError> {
        let Self::Columns(names) = self else { return Ok(vec![*self == Self::All; columns.len()]) };
        let is = |name: &String, column: &&str| name.eq_ignore_ascii_case(column);
        if let Some(name) = names.iter().find(|name| !columns.iter().any(|column| is(name, column))) {
            return Err(OptionError::UnknownColumn { column: name.clone(), option });
        }
        Ok(columns.iter().map(|column| names.iter().any(|name| is(name, column))).collect())
    }
}

/// The direction of a COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// COPY … FROM.
    In,
    /// COPY … TO.
    Out,
}

impl Default for CsvOptions {
    fn default() -> Self {
        let (force_quote, force_null, force_not_null) = Default::default();
        Self { quote: b'"', escape: b'"', force_quote, force_null, force_not_null }
    }
}

/// The size and the encoding of chunks, and what the client can decode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// A fixed configuration. If `None`, the controller chooses for each chunk.
    pub compression: Option<Config>,
    /// Encodings the client decodes.
    pub encodings: EncodingSet,
    /// Codecs the client decodes.
    pub codecs: CodecSet,
    /// The maximum number of rows in a chunk.
    pub chunk_rows: usize,
    /// The maximum size of a chunk in bytes before encoding. A larger row gets a chunk of its own.
    pub chunk_bytes: usize,
    /// The maximum size of a message in bytes.
    pub max_message_bytes: usize,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self {
            compression: None,
            encodings: EncodingSet::ALL,
            codecs: CodecSet::ALL,
            chunk_rows: 65_536,
            chunk_bytes: 4 << 20,
            max_message_bytes: 1 << 30,
        }
    }
}

impl StreamOptions {
    /// Whether the engine may give rows in a form of its own: not to a client that asks for plain buffers, into which
    /// they would be converted, or for chunks of a size of its own, which are the engine's batches.
    pub fn may_be_encoded(&self) -> bool {
        let own = Self::default();
        let is_plain = self.compression.is_some_and(|config| config.level == Level::Plain);
        !is_plain && (self.chunk_rows, self.chunk_bytes) == (own.chunk_rows, own.chunk_bytes)
    }
}

/// The newest supported version of FORMAT.md.
pub const VERSION: u32 = 1;
/// The largest `chunk_rows`. The format counts rows in 32 bits; the limit is lower to bound a reader's memory.
const MAX_CHUNK_ROWS: u64 = 1 << 24;
/// The largest message. CopyData counts its bytes in 31 bits, with some of them for the header.
const MAX_MESSAGE_BYTES: u64 = (1 << 31) - 64;
/// The smallest `max_message_bytes`. It has room for a header and a small schema.
const MIN_MESSAGE_BYTES: u64 = 1 << 10;

/// Invalid options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// An option is given twice.
    #[error("conflicting or redundant options: {0} is given twice")]
    Redundant(String),
    /// An unknown option.
    #[error("option \"{0}\" not recognized")]
    Unknown(String),
    /// An unknown format.
    #[error("COPY format \"{0}\" not recognized")]
    Format(String),
    /// An invalid value of an option.
    #[error("option \"{name}\" cannot be \"{value}\"; it must be {expected}")]
    Value {
        /// The option.
        name: String,
        /// The value in the statement.
        value: String,
        /// The valid values.
        expected: String,
    },
    /// An option of another format.
    #[error("option \"{name}\" is not available with FORMAT {format}")]
    WrongFormat {
        /// The option.
        name: String,
        /// The format of the statement.
        format: &'static str,
    },
    /// A newer version of FORMAT.md.
    #[error("colonnade version {0} is not supported; this server supports version {VERSION}")]
    Version(u32),
    /// An option of the other direction.
    #[error("option \"{name}\" is not available with COPY {direction}")]
    WrongDirection {
        /// The option.
        name: String,
        /// The direction of the statement.
        direction: &'static str,
    },
    /// An option names a column that the statement does not copy.
    #[error("column \"{column}\" of option {option} is not copied")]
    UnknownColumn {
        /// The column.
        column: String,
        /// The option.
        option: &'static str,
    },
}

impl ClientError for OptionError {
    fn code(&self) -> SqlState {
        match self {
            Self::Redundant(_) => SqlState::SYNTAX_ERROR,
            // PostgreSQL's invalid_column_reference.
            Self::UnknownColumn { .. } => SqlState::new("42P10"),
            Self::WrongFormat { .. } | Self::WrongDirection { .. } => SqlState::FEATURE_NOT_SUPPORTED,
            _ => SqlState::INVALID_PARAMETER_VALUE,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Unknown(_) => {
                "The options are format, delimiter, null, header, quote, escape, force_quote, force_null, force_not_null, encoding; \
                 and with FORMAT colonnade version, compression, encodings, codecs, chunk_rows, chunk_bytes, max_message_bytes."
            }
            Self::Format(_) => "The formats are text, csv, binary, colonnade and arrow.",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

impl CopyOptions {
    /// Parses the options of a statement. Missing ones get their defaults.
    ///
    /// # Errors
    /// If an option is unknown, given twice, out of range, or not available for the format or the direction.
    pub fn from_raw(written: &[CopyOption], direction: Direction) -> Result<Self, OptionError> {
        for (at, option) in written.iter().enumerate() {
            if written[..at].iter().any(|earlier| earlier.name == option.name) {
                return Err(OptionError::Redundant(option.name.clone()));
            }
        }
        let format = match written.iter().find(|option| option.name == "format") {
            Some(option) => format(&RawOption(option))?,
            None => Format::default(),
        };
        let is_csv = format == Format::Csv;
        let mut options = Self {
            format,
            delimiter: if is_csv { b',' } else { b'\t' },
            null: if is_csv { String::new() } else { "\\N".to_owned() },
            header: false,
            encoding: None,
            csv: CsvOptions::default(),
            colonnade: StreamOptions::default(),
        };
        let mut escape = None;
        for option in written.iter().map(RawOption) {
            option.check_format(format)?;
            option.check_direction(direction)?;
            match option.name.as_str() {
                "format" => {}
                "delimiter" => options.delimiter = option.byte()?,
                "null" => options.null = option.text()?.to_owned(),
                "header" => options.header = option.boolean()?,
                "quote" => options.csv.quote = option.byte()?,
                "escape" => escape = Some(option.byte()?),
                "force_quote" => options.csv.force_quote = option.columns()?,
                "force_null" => options.csv.force_null = option.columns()?,
                "force_not_null" => options.csv.force_not_null = option.columns()?,
                "encoding" => options.encoding = Some(option.encoding(format)?),
                "version" => {
                    let version = option.number(1, u64::from(u32::MAX))? as u32;
                    if version > VERSION {
                        return Err(OptionError::Version(version));
                    }
                }
                "compression" if option.text()? == "auto" => {}
                "compression" => {
                    options.colonnade.compression = Some(option.parsed("auto, or a name such as light or light+lz4")?);
                }
                "encodings" => options.colonnade.encodings = option.parsed("a list of encodings")?,
                "codecs" => options.colonnade.codecs = option.parsed("a list of codecs")?,
                "chunk_rows" => options.colonnade.chunk_rows = option.number(1, MAX_CHUNK_ROWS)? as usize,
                "chunk_bytes" => options.colonnade.chunk_bytes = option.number(1, MAX_MESSAGE_BYTES)? as usize,
                "max_message_bytes" => {
                    options.colonnade.max_message_bytes = option.number(MIN_MESSAGE_BYTES, MAX_MESSAGE_BYTES)? as usize;
                }
                _ => return Err(OptionError::Unknown(option.name.clone())),
            }
        }
        options.csv.escape = escape.unwrap_or(options.csv.quote);
        options.check()?;
        Ok(options)
    }

    /// Checks rules that compare several options (PostgreSQL's `ProcessCopyOptions`).
    fn check(&self) -> Result<(), OptionError> {
        let invalid_value = |name: &str, value: &[u8], expected: &str| {
            Err(OptionError::Value {
                name: name.to_owned(),
                value: String::from_utf8_lossy(value).into_owned(),
                expected: expected.to_owned(),
            })
        };
        let is_newline = |b: u8| b == b'\n' || b == b'\r';
        if is_newline(self.delimiter) {
            return invalid_value("delimiter", &[self.delimiter], "a character other than newline and carriage return");
        }
        if self.null.bytes().any(is_newline) {
            return invalid_value("null", self.null.as_bytes(), "without newline or carriage return");
        }
        if self.null.as_bytes().contains(&self.delimiter) {
            return invalid_value("delimiter", &[self.delimiter], "a character that is not in option null");
        }
        if self.format == Format::Csv {
            if self.delimiter == self.csv.quote {
                return invalid_value("delimiter", &[self.delimiter], "different from option quote");
            }
            if self.null.as_bytes().contains(&self.csv.quote) {
                return invalid_value("quote", &[self.csv.quote], "a character that is not in option null");
            }
        } else if b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&self.delimiter) {
            return invalid_value(
                "delimiter",
                &[self.delimiter],
                "a character other than a lower-case letter, a digit, a backslash and a dot",
            );
        }
        Ok(())
    }
}

fn format(option: &RawOption<'_>) -> Result<Format, OptionError> {
    Ok(match option.text()?.to_ascii_lowercase().as_str() {
        "text" => Format::Text,
        "csv" => Format::Csv,
        "binary" => Format::Binary,
        "colonnade" => Format::Colonnade,
        "arrow" => Format::Arrow,
        other => return Err(OptionError::Format(other.to_owned())),
    })
}

#[cfg(test)]
mod tests;
