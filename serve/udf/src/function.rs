//! What a function process has to know of a function: its parameters, its result and its text.

/// A function that a function process can run. It never changes: another definition has another id.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The number under which function processes keep the compiled function.
    pub id: u64,
    /// The name with its schema, for messages: `main.f`.
    pub name: String,
    /// What the function takes.
    pub parameters: Vec<FunctionColumn>,
    /// What it gives: one column, or the columns of a table. The name of a single result is not used.
    pub results: Vec<FunctionColumn>,
    /// The body in Python, as it was written.
    pub source: String,
    /// How it is called.
    pub kind: FunctionKind,
    /// Whether a row with a NULL among the arguments is left out of the call and gets NULL as its result.
    pub is_strict: bool,
    /// Whether arguments are arrays of pyarrow instead of NumPy.
    pub is_arrow: bool,
}

/// A parameter, or a column of the result.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionColumn {
    /// The name in Python.
    pub name: String,
    /// The SQL name of the type, for `_types` and messages: `DECIMAL(18,3)`.
    pub type_name: String,
    /// The layout of its values.
    pub column_type: ColumnType,
    /// Whether the argument is one value for the whole call, and a Python value instead of an array (`SCALAR (name)`).
    pub is_scalar: bool,
}

/// How a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// One result for each row.
    Scalar,
    /// One result for each group. One call gets many groups, and `aggr_group`, the group's number for each row.
    Aggregate,
    /// One result for each group. One call gets the rows of one group.
    AggregatePerGroup,
    /// Any number of rows as the result.
    Table,
    /// Any number of rows, and the columns that the function returns.
    AnyTable,
}

/// The type of a column, which decides its layout in the ring. Layouts are Arrow's, except for `Boolean`, `Text`,
/// `Blob` and `Map` as said there. All numbers are little-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// One byte for each value, 0 or 1.
    Boolean,
    /// TINYINT.
    Int8,
    /// SMALLINT.
    Int16,
    /// INTEGER.
    Int32,
    /// BIGINT.
    Int64,
    /// UTINYINT.
    UInt8,
    /// USMALLINT.
    UInt16,
    /// UINTEGER.
    UInt32,
    /// UBIGINT.
    UInt64,
    /// HUGEINT: 16 bytes.
    Int128,
    /// UHUGEINT: 16 bytes.
    UInt128,
    /// REAL.
    Float32,
    /// DOUBLE.
    Float64,
    /// The unscaled value as a signed integer of 16 bytes, for each width.
    Decimal {
        /// The number of digits, from 1 to 38.
        width: u8,
        /// The digits behind the point, up to `width`.
        scale: u8,
    },
    /// VARCHAR, ENUM, BIT: UTF-8. Offsets are of 8 bytes.
    Text,
    /// The same for JSON.
    Json,
    /// Bytes. Offsets are of 8 bytes.
    Blob,
    /// 16 bytes in the order of their text form.
    Uuid,
    /// Days since 1970-01-01 in 4 bytes.
    Date,
    /// Microseconds since midnight in 8 bytes.
    Time,
    /// The time since 1970-01-01 in 8 bytes, without a time zone.
    Timestamp(TimestampUnit),
    /// Microseconds since 1970-01-01 UTC in 8 bytes.
    TimestampTz,
    /// Months and days of 4 bytes, microseconds of 8 bytes.
    Interval,
    /// Offsets of 8 bytes, then the items.
    List(Box<ColumnType>),
    /// The items: `size` for each row, also for a row that is NULL.
    Array {
        /// The type of the items.
        item: Box<ColumnType>,
        /// The number of items in each row.
        size: usize,
    },
    /// The fields, each as long as the column.
    Struct(Vec<(String, ColumnType)>),
    /// Laid out as a list of structs of two fields.
    Map(Box<ColumnType>, Box<ColumnType>),
    /// The member's number in one byte for each row, then the members, each as long as the column (Arrow's sparse
    /// union).
    Union(Vec<(String, ColumnType)>),
}

/// The unit of a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampUnit {
    /// TIMESTAMP_S.
    Second,
    /// TIMESTAMP_MS.
    Millisecond,
    /// TIMESTAMP.
    Microsecond,
    /// TIMESTAMP_NS.
    Nanosecond,
}

impl ColumnType {
    /// The type with one of the SQL names that a function process may give to a column of `TABLE(*)`: those without
    /// fields, and lists of them.
    pub(crate) fn named(name: &str) -> Option<Self> {
        if let Some(item) = name.strip_suffix("[]") {
            let depth = name.len() - name.trim_end_matches("[]").len();
            return if depth <= 16 { Self::named(item).map(|item| Self::List(Box::new(item))) } else { None };
        }
        Some(match name {
            "BOOLEAN" => Self::Boolean,
            "TINYINT" => Self::Int8,
            "SMALLINT" => Self::Int16,
            "INTEGER" => Self::Int32,
            "BIGINT" => Self::Int64,
            "UTINYINT" => Self::UInt8,
            "USMALLINT" => Self::UInt16,
            "UINTEGER" => Self::UInt32,
            "UBIGINT" => Self::UInt64,
            "HUGEINT" => Self::Int128,
            "FLOAT" => Self::Float32,
            "DOUBLE" => Self::Float64,
            "VARCHAR" => Self::Text,
            "BLOB" => Self::Blob,
            "UUID" => Self::Uuid,
            "DATE" => Self::Date,
            "TIME" => Self::Time,
            "TIMESTAMP_S" => Self::Timestamp(TimestampUnit::Second),
            "TIMESTAMP_MS" => Self::Timestamp(TimestampUnit::Millisecond),
            "TIMESTAMP" => Self::Timestamp(TimestampUnit::Microsecond),
            "TIMESTAMP_NS" => Self::Timestamp(TimestampUnit::Nanosecond),
            "TIMESTAMP WITH TIME ZONE" => Self::TimestampTz,
            "INTERVAL" => Self::Interval,
            decimal => {
                let scale = decimal.strip_prefix("DECIMAL(38,")?.strip_suffix(')')?.parse().ok()?;
                return (scale <= 38).then_some(Self::Decimal { width: 38, scale });
            }
        })
    }

    /// The bytes of a value, if all values have the same number of bytes and no items.
    pub fn width(&self) -> Option<usize> {
        Some(match self {
            Self::Boolean | Self::Int8 | Self::UInt8 => 1,
            Self::Int16 | Self::UInt16 => 2,
            Self::Int32 | Self::UInt32 | Self::Float32 | Self::Date => 4,
            Self::Int64 | Self::UInt64 | Self::Float64 | Self::Time | Self::Timestamp(_) | Self::TimestampTz => 8,
            Self::Int128 | Self::UInt128 | Self::Decimal { .. } | Self::Uuid | Self::Interval => 16,
            Self::Text
            | Self::Json
            | Self::Blob
            | Self::List(_)
            | Self::Array { .. }
            | Self::Struct(_)
            | Self::Map(..)
            | Self::Union(_) => {
                return None;
            }
        })
    }

    /// The types of the columns below this one, in the order of their nodes.
    pub fn children(&self) -> Vec<ColumnType> {
        match self {
            Self::List(item) | Self::Array { item, .. } => vec![item.as_ref().clone()],
            Self::Struct(fields) | Self::Union(fields) => fields.iter().map(|(_, field)| field.clone()).collect(),
            Self::Map(key, value) => vec![Self::map_entries(key, value)],
            _ => Vec::new(),
        }
    }

    /// The number of nodes of a column: one for itself, and those of its children. Nodes stand in pre-order.
    pub fn nodes(&self) -> usize {
        1 + self.children().iter().map(Self::nodes).sum::<usize>()
    }

    /// The items of a map.
    fn map_entries(key: &ColumnType, value: &ColumnType) -> ColumnType {
        Self::Struct(vec![("key".to_owned(), key.clone()), ("value".to_owned(), value.clone())])
    }
}

impl Function {
    /// Whether a call gives one result for each group instead of each row.
    pub fn is_aggregate(&self) -> bool {
        matches!(self.kind, FunctionKind::Aggregate | FunctionKind::AggregatePerGroup)
    }
}
