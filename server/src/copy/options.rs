//! COPY's options: PostgreSQL's, and those of `FORMAT colonnade` (PROTOCOL.md).

mod raw;

use colonnade_sql::statement::CopyOption;
use colonnade_wire::{CodecSet, Config, EncodingSet};

use raw::RawOption;

/// The form in which rows leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// PostgreSQL's tab-separated text.
    #[default]
    Text,
    /// Comma-separated values.
    Csv,
    /// PostgreSQL's binary rows.
    Binary,
    /// Columnar chunks; FORMAT.md.
    Colonnade,
    /// An Arrow IPC stream.
    Arrow,
}

impl Format {
    /// Whether CopyOutResponse calls it binary.
    pub fn is_binary(self) -> bool {
        !matches!(self, Self::Text | Self::Csv)
    }
}

/// All options, with their defaults filled in.
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
    /// What FORMAT csv alone has.
    pub csv: CsvOptions,
    /// What FORMAT colonnade alone has.
    pub colonnade: StreamOptions,
}

/// QUOTE, ESCAPE, FORCE_QUOTE, FORCE_NULL, FORCE_NOT_NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// Surrounds a value that holds special characters.
    pub quote: u8,
    /// Precedes a quote within a quoted value.
    pub escape: u8,
    /// Which columns are always quoted on their way out.
    pub force_quote: Chosen,
    /// In which columns a quoted value that is the NULL string is NULL, too.
    pub force_null: Chosen,
    /// In which columns the NULL string is a value although it is not quoted.
    pub force_not_null: Chosen,
}

/// The columns that an option is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Chosen {
    /// None.
    #[default]
    None,
    /// All of them.
    All,
    /// These.
    Columns(Vec<String>),
}

impl Chosen {
    /// Whether it is about each of the columns of these names, which differ by more than their case.
    ///
    /// # Errors
    /// If `option` names a column that is not among them.
    pub fn among(&self, columns: &[&str], option: &'static str) -> Result<Vec<bool>, OptionError> {
        let Self::Columns(names) = self else { return Ok(vec![*self == Self::All; columns.len()]) };
        let is = |name: &String, column: &&str| name.eq_ignore_ascii_case(column);
        if let Some(name) = names.iter().find(|name| !columns.iter().any(|column| is(name, column))) {
            return Err(OptionError::UnknownColumn { column: name.clone(), option });
        }
        Ok(columns.iter().map(|column| names.iter().any(|name| is(name, column))).collect())
    }
}

/// Which way the rows go.
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

/// How chunks are made, and what the client takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// A pinned configuration; `None` leaves it to the controller.
    pub compression: Option<Config>,
    /// Encodings the client decodes.
    pub encodings: EncodingSet,
    /// Codecs the client decodes.
    pub codecs: CodecSet,
    /// At most so many rows a chunk.
    pub chunk_rows: usize,
    /// At most so many bytes a chunk, counted plain; a row that is larger gets a chunk of its own.
    pub chunk_bytes: usize,
    /// No message may be larger.
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

/// The newest version of FORMAT.md that is spoken here.
pub const VERSION: u32 = 1;
/// A chunk counts its rows in 32 bits, but no reader wants that many at once.
const MAX_CHUNK_ROWS: u64 = 1 << 24;
/// A CopyData message counts its bytes in 31 bits; this leaves room for its header.
const MAX_MESSAGE_BYTES: u64 = (1 << 31) - 64;
/// The smallest message limit that makes sense: a header and a schema.
const MIN_MESSAGE_BYTES: u64 = 1 << 10;

/// What is wrong with the options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// Given twice.
    #[error("conflicting or redundant options: {0} is given twice")]
    Redundant(String),
    /// No such option.
    #[error("option \"{0}\" not recognized")]
    Unknown(String),
    /// No such format.
    #[error("COPY format \"{0}\" not recognized")]
    Format(String),
    /// A value the option cannot have.
    #[error("option \"{name}\" cannot be \"{value}\"; it must be {expected}")]
    Value {
        /// The option.
        name: String,
        /// Its value as given.
        value: String,
        /// What it may be.
        expected: String,
    },
    /// An option of another format.
    #[error("option \"{name}\" is not available with FORMAT {format}")]
    WrongFormat {
        /// The option.
        name: String,
        /// The format asked for.
        format: &'static str,
    },
    /// A version from the future.
    #[error("colonnade version {0} is not supported; this server speaks version {VERSION}")]
    Version(u32),
    /// An option of the other direction.
    #[error("option \"{name}\" is not available with COPY {direction}")]
    WrongDirection {
        /// The option.
        name: String,
        /// The direction asked for.
        direction: &'static str,
    },
    /// An option names a column that is not there.
    #[error("column \"{column}\" of option {option} is not copied")]
    UnknownColumn {
        /// The column.
        column: String,
        /// The option.
        option: &'static str,
    },
}

impl OptionError {
    /// What the user can do.
    pub fn hint(&self) -> Option<String> {
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
    /// Checks what was written and fills in the defaults.
    ///
    /// # Errors
    /// For what is unknown, given twice, out of range, of another format or of the other direction.
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
                "encoding" => option.utf8()?,
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

    /// Rules that concern several options (PostgreSQL's `ProcessCopyOptions`).
    fn check(&self) -> Result<(), OptionError> {
        let wrong = |name: &str, value: &[u8], expected: &str| {
            Err(OptionError::Value {
                name: name.to_owned(),
                value: String::from_utf8_lossy(value).into_owned(),
                expected: expected.to_owned(),
            })
        };
        let is_newline = |b: u8| b == b'\n' || b == b'\r';
        if is_newline(self.delimiter) {
            return wrong("delimiter", &[self.delimiter], "no newline or carriage return");
        }
        if self.null.bytes().any(is_newline) {
            return wrong("null", self.null.as_bytes(), "without newline or carriage return");
        }
        if self.null.as_bytes().contains(&self.delimiter) {
            return wrong("delimiter", &[self.delimiter], "a character that option null does not hold");
        }
        if self.format == Format::Csv {
            if self.delimiter == self.csv.quote {
                return wrong("delimiter", &[self.delimiter], "different from option quote");
            }
            if self.null.as_bytes().contains(&self.csv.quote) {
                return wrong("quote", &[self.csv.quote], "a character that option null does not hold");
            }
        } else if b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&self.delimiter) {
            return wrong("delimiter", &[self.delimiter], "no letter, digit, backslash or dot");
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
