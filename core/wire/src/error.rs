//! Errors: in a peer's bytes ([`DecodeError`]) or in a caller's columns ([`EncodeError`]).

/// Bytes that are not a Colonnade stream, or a damaged one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct DecodeError {
    /// What is wrong.
    pub damage: Damage,
    /// The column of the chunk, if the damage is in a column.
    pub column: Option<usize>,
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.column {
            Some(column) => write!(f, "column {column}: {}", self.damage),
            None => self.damage.fmt(f),
        }
    }
}

impl From<Damage> for DecodeError {
    fn from(damage: Damage) -> Self {
        Self { damage, column: None }
    }
}

/// Every way in which a stream can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The stream ends before its end message, or a message before its length.
    #[error("the stream is truncated")]
    Truncated,
    /// Bytes remain after the last field, column or message.
    #[error("unexpected bytes after the end")]
    TrailingBytes,
    /// The first four bytes are not version 1's.
    #[error("not a Colonnade stream of version 1")]
    Magic,
    /// No such kind of message.
    #[error("unknown message kind {0}")]
    Kind(u8),
    /// The message is not allowed at this place, such as a second schema.
    #[error("a message out of place")]
    OutOfPlace,
    /// No such codec.
    #[error("unknown codec {0}")]
    Codec(u8),
    /// No such type.
    #[error("unknown type {0}")]
    Type(u8),
    /// A type's parameter or its number of children is not allowed.
    #[error("a type's parameters are invalid")]
    TypeParameter,
    /// Fields are nested too deeply.
    #[error("fields are nested more than 64 levels deep")]
    Depth,
    /// No such encoding for this layout.
    #[error("encoding {0} does not apply here")]
    Encoding(u8),
    /// No such NULL layout, or it is not allowed here.
    #[error("NULL layout {0} does not apply here")]
    Nulls(u8),
    /// The checksum does not match the bytes.
    #[error("checksum mismatch: the bytes were changed in transit")]
    Checksum,
    /// A chunk is missing or repeated.
    #[error("chunk {found} arrived instead of chunk {expected}")]
    Sequence {
        /// The expected number.
        expected: u32,
        /// The number that arrived.
        found: u32,
    },
    /// The end message's counts or checksum differ from what was read.
    #[error("the end message does not match the chunks")]
    Totals,
    /// A field that must be zero is not.
    #[error("a reserved field or padding is not zero")]
    NotZero,
    /// The codec's output is not the declared size, or its input is damaged.
    #[error("the compressed body is damaged")]
    Compressed,
    /// The codec could not allocate memory.
    #[error("no memory for the codec")]
    OutOfMemory,
    /// Body length and message length contradict each other.
    #[error("body length and message length disagree")]
    BodyLength,
    /// More bytes are declared than the reader accepts.
    #[error("{declared} bytes declared, but the limit is {limit}; raise the limit or request smaller chunks")]
    OverLimit {
        /// What the stream declares.
        declared: u64,
        /// What the reader accepts.
        limit: u64,
    },
    /// A chunk has more rows or bytes than the reader requested.
    #[error("a chunk of {declared} {unit} arrived, but at most {limit} were requested")]
    Unasked {
        /// `rows` or `bytes`.
        unit: &'static str,
        /// What the chunk declares.
        declared: u64,
        /// What the reader accepts, given what it requested.
        limit: u64,
    },
    /// A position points outside of its buffer or backwards.
    #[error("a position is out of range")]
    Position,
    /// A bit width is larger than the integer.
    #[error("bit width {0} is too large")]
    Width(u8),
    /// A dictionary code or index points beyond the entries.
    #[error("a dictionary code is out of range")]
    Code,
    /// Offsets or lengths have a wrong sum or order.
    #[error("offsets or lengths are inconsistent")]
    Offsets,
    /// Text is not valid UTF-8.
    #[error("text is not valid UTF-8")]
    Utf8,
    /// The NULL count differs from the bitmap.
    #[error("the NULL count does not match the bitmap")]
    NullCount,
    /// ALP exponents or exception positions are out of range.
    #[error("a float's exponents or exceptions are out of range")]
    Alp,
    /// An FSST symbol or code is invalid.
    #[error("a symbol table or its codes are invalid")]
    Symbols,
}

/// Columns that cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The chunk and the schema have different numbers of columns.
    #[error("{found} columns given, but the schema has {expected}")]
    Columns {
        /// Columns of the schema.
        expected: usize,
        /// Columns given.
        found: usize,
    },
    /// A column's buffers do not belong to its type, or are too short for its rows.
    #[error("column {0}: its buffers do not fit its type and row count")]
    Buffers(usize),
    /// The chunk has more than 2^31 - 1 rows or bytes.
    #[error("a chunk of {0} bytes is too large; split it into fewer rows")]
    TooLarge(usize),
    /// The codec failed.
    #[error("the codec failed: {0}")]
    Codec(String),
    /// The codec's library could not allocate memory.
    #[error("no memory for the codec")]
    OutOfMemory,
}
