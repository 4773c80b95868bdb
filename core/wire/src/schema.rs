//! The columns of a stream: names, types, nesting. FORMAT §4.

/// The most levels of nested fields; a top-level field is the first. FORMAT §4.
pub const MAX_DEPTH: usize = 64;

/// The columns of a stream, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// One field for each column. Names may repeat.
    pub fields: Vec<Field>,
    /// Key-value pairs about the whole stream.
    pub metadata: Vec<(String, String)>,
}

/// One column, or one child of a nested column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The column's name; may be empty.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// Whether it may contain NULLs.
    pub nullable: bool,
    /// The nested fields: one for lists and dictionaries (the values), any number for structs, one struct of two (key,
    /// value) for maps, none otherwise.
    pub children: Vec<Field>,
    /// Key-value pairs about the column.
    pub metadata: Vec<(String, String)>,
}

impl Field {
    /// A field without children or metadata.
    pub fn new(name: impl Into<String>, data_type: DataType, nullable: bool) -> Self {
        Self { name: name.into(), data_type, nullable, children: Vec::new(), metadata: Vec::new() }
    }

    /// The same field with children.
    #[must_use]
    pub fn with_children(mut self, children: Vec<Field>) -> Self {
        self.children = children;
        self
    }
}

/// The unit of a time, timestamp or duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Unit {
    /// Seconds.
    Second = 0,
    /// Milliseconds.
    Millisecond = 1,
    /// Microseconds.
    Microsecond = 2,
    /// Nanoseconds.
    Nanosecond = 3,
}

/// A column's type, with Apache Arrow's meaning. Children are in [`Field::children`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are Arrow's and FORMAT §4 lists them")]
pub enum DataType {
    Null,
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    Float32,
    Float64,
    Decimal32 {
        precision: u8,
        scale: i8,
    },
    Decimal64 {
        precision: u8,
        scale: i8,
    },
    Decimal128 {
        precision: u8,
        scale: i8,
    },
    Decimal256 {
        precision: u8,
        scale: i8,
    },
    /// Days since 1970-01-01.
    Date32,
    /// Milliseconds since 1970-01-01.
    Date64,
    Time32(Unit),
    Time64(Unit),
    Timestamp {
        unit: Unit,
        zone: Option<String>,
    },
    Duration(Unit),
    IntervalYearMonth,
    IntervalDayTime,
    IntervalMonthDayNano,
    Utf8,
    LargeUtf8,
    Binary,
    LargeBinary,
    FixedSizeBinary(u32),
    List,
    LargeList,
    FixedSizeList(u32),
    Struct,
    Map {
        sorted: bool,
    },
    Dictionary {
        index: IndexType,
        ordered: bool,
    },
}

/// The type of a dictionary column's indices. The numbers are the type ids of FORMAT §4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are Arrow's")]
pub enum IndexType {
    Int8 = 2,
    Int16 = 3,
    Int32 = 4,
    Int64 = 5,
    UInt8 = 6,
    UInt16 = 7,
    UInt32 = 8,
    UInt64 = 9,
}

impl IndexType {
    /// Bytes of one index.
    pub fn width(self) -> usize {
        match self {
            Self::Int8 | Self::UInt8 => 1,
            Self::Int16 | Self::UInt16 => 2,
            Self::Int32 | Self::UInt32 => 4,
            Self::Int64 | Self::UInt64 => 8,
        }
    }
}

/// The memory layout of a type's values. FORMAT §5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// No buffer; every row is NULL.
    None,
    /// One bit for each row.
    Bits,
    /// Integers of 1, 2, 4 or 8 bytes.
    Integer(usize),
    /// Floats of 4 or 8 bytes.
    Float(usize),
    /// Values of that many bytes, without arithmetic.
    Opaque(usize),
    /// Integers of 16 or 32 bytes.
    Wide(usize),
    /// Records of small signed integers, with the number of bytes of each.
    Parts(&'static [usize]),
    /// Offsets of that many bytes, and bytes. `utf8` if the bytes are text.
    Bytes {
        /// Bytes of an offset, 4 or 8.
        offset: usize,
        /// Whether each value is valid UTF-8.
        utf8: bool,
    },
    /// Offsets of that many bytes, and a child.
    List(usize),
    /// A child of that many rows a row.
    FixedList(usize),
    /// Children of one row a row.
    Struct,
    /// Indices, and a child of values.
    Dictionary(IndexType),
}

impl Layout {
    /// Bytes of one value, for the layouts whose values are all of one width.
    pub fn fixed_width(self) -> Option<usize> {
        match self {
            Self::Integer(w) | Self::Float(w) | Self::Opaque(w) | Self::Wide(w) => Some(w),
            Self::Parts(parts) => Some(parts.iter().sum()),
            _ => None,
        }
    }
}

impl DataType {
    /// How the type's values lie in memory.
    pub fn layout(&self) -> Layout {
        match self {
            Self::Null => Layout::None,
            Self::Bool => Layout::Bits,
            Self::Int8 | Self::UInt8 => Layout::Integer(1),
            Self::Int16 | Self::UInt16 => Layout::Integer(2),
            Self::Int32
            | Self::UInt32
            | Self::Decimal32 { .. }
            | Self::Date32
            | Self::Time32(_)
            | Self::IntervalYearMonth => Layout::Integer(4),
            Self::Int64
            | Self::UInt64
            | Self::Decimal64 { .. }
            | Self::Date64
            | Self::Time64(_)
            | Self::Timestamp { .. }
            | Self::Duration(_) => Layout::Integer(8),
            Self::Float16 => Layout::Opaque(2),
            Self::Float32 => Layout::Float(4),
            Self::Float64 => Layout::Float(8),
            Self::Decimal128 { .. } => Layout::Wide(16),
            Self::Decimal256 { .. } => Layout::Wide(32),
            Self::IntervalDayTime => Layout::Parts(&[4, 4]),
            Self::IntervalMonthDayNano => Layout::Parts(&[4, 4, 8]),
            Self::Utf8 => Layout::Bytes { offset: 4, utf8: true },
            Self::LargeUtf8 => Layout::Bytes { offset: 8, utf8: true },
            Self::Binary => Layout::Bytes { offset: 4, utf8: false },
            Self::LargeBinary => Layout::Bytes { offset: 8, utf8: false },
            Self::FixedSizeBinary(width) => Layout::Opaque(*width as usize),
            Self::List | Self::Map { .. } => Layout::List(4),
            Self::LargeList => Layout::List(8),
            Self::FixedSizeList(size) => Layout::FixedList(*size as usize),
            Self::Struct => Layout::Struct,
            Self::Dictionary { index, .. } => Layout::Dictionary(*index),
        }
    }
}
