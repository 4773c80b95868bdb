//! A column to be read row by row. Its arrays are downcast once.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalDayTime, IntervalDayTimeType,
    IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalYearMonthType, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, LargeBinaryArray, LargeStringArray,
    StringArray, StringViewArray, UnionArray,
};
use arrow_buffer::{ArrowNativeType, NullBuffer, i256};
use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit};

use super::keyed::KeyedType;
use super::{LogicalType, Unsupported, Zone, logical_type, user_type};

/// A column of a batch, or a child of one.
pub struct ColumnWriter<'a> {
    nulls: Option<&'a NullBuffer>,
    pub(super) values: Values<'a>,
    /// The number of their type, if it is a user's.
    pub(super) user_type: Option<u32>,
}

/// The values of a column, by their type.
pub(super) enum Values<'a> {
    Null,
    Bool(&'a BooleanArray),
    Bool8(&'a [i8]),
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    UInt8(&'a [u8]),
    UInt16(&'a [u16]),
    UInt32(&'a [u32]),
    UInt64(&'a [u64]),
    Integer(Text<'a>),
    Numeric(Text<'a>),
    Float16(&'a [half::f16]),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    Decimal32(&'a [i32], i8),
    Decimal64(&'a [i64], i8),
    Decimal128(&'a [i128], i8),
    Decimal256(&'a [i256], i8),
    Unconstrained(&'a [i128]),
    Text(Text<'a>),
    Bytes(Bytes<'a>),
    Bits(Text<'a>),
    Name(Text<'a>),
    Oid(&'a [u64]),
    Vector { text: Text<'a>, oid: u32 },
    Keyed(Bytes<'a>, KeyedType),
    Uuid(&'a FixedSizeBinaryArray),
    UuidText(Text<'a>),
    Date32(&'a [i32]),
    Date64(&'a [i64]),
    Time32(&'a [i32], TimeUnit),
    Time64(&'a [i64], TimeUnit),
    Json(Text<'a>),
    TimeTz(Text<'a>),
    Timestamp { values: &'a [i64], unit: TimeUnit, zone: Option<Zone> },
    Duration(&'a [i64], TimeUnit),
    Months(&'a [i32]),
    DayTime(&'a [IntervalDayTime]),
    MonthDayNano(&'a [IntervalMonthDayNano]),
    List { offsets: Offsets<'a>, child: Box<ColumnWriter<'a>> },
    Struct(Vec<ColumnWriter<'a>>),
    Map { offsets: Offsets<'a>, entries: Box<ColumnWriter<'a>> },
    Dictionary { indices: Vec<usize>, values: Box<ColumnWriter<'a>> },
    Union { array: &'a UnionArray, children: Vec<(i8, ColumnWriter<'a>)> },
}

/// Strings of any of Arrow's layouts.
pub(super) enum Text<'a> {
    Small(&'a StringArray),
    Large(&'a LargeStringArray),
    View(&'a StringViewArray),
}

impl<'a> Text<'a> {
    pub fn value(&self, row: usize) -> &'a str {
        match self {
            Self::Small(array) => array.value(row),
            Self::Large(array) => array.value(row),
            Self::View(array) => array.value(row),
        }
    }
}

/// Byte strings of any of Arrow's layouts.
pub(super) enum Bytes<'a> {
    Small(&'a BinaryArray),
    Large(&'a LargeBinaryArray),
    View(&'a BinaryViewArray),
    Fixed(&'a FixedSizeBinaryArray),
}

impl<'a> Bytes<'a> {
    pub fn value(&self, row: usize) -> &'a [u8] {
        match self {
            Self::Small(array) => array.value(row),
            Self::Large(array) => array.value(row),
            Self::View(array) => array.value(row),
            Self::Fixed(array) => array.value(row),
        }
    }
}

/// The range of each row's items in a child array.
pub(super) enum Offsets<'a> {
    Small(&'a [i32]),
    Large(&'a [i64]),
    Fixed(usize),
}

impl Offsets<'_> {
    pub fn range(&self, row: usize) -> std::ops::Range<usize> {
        match self {
            Self::Small(offsets) => offsets[row].as_usize()..offsets[row + 1].as_usize(),
            Self::Large(offsets) => offsets[row].as_usize()..offsets[row + 1].as_usize(),
            Self::Fixed(size) => row * size..(row + 1) * size,
        }
    }
}

impl<'a> ColumnWriter<'a> {
    /// The column of `array`, described by `field`. `format` is the format for error messages.
    ///
    /// # Errors
    /// If values of this type have no form in that format; the error names the outermost column.
    pub fn new(field: &Field, array: &'a dyn Array, format: &'static str) -> Result<Self, Unsupported> {
        if depth(field.data_type()) > MAX_DEPTH {
            return Err(Unsupported::new(field, format));
        }
        Self::nested(field, array).ok_or_else(|| Unsupported::new(field, format))
    }

    fn nested(field: &Field, array: &'a dyn Array) -> Option<Self> {
        Some(Self { nulls: array.nulls(), values: values(field, array)?, user_type: user_type(field) })
    }

    /// Whether the value at `row` is NULL.
    pub fn is_null(&self, row: usize) -> bool {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return true;
        }
        match &self.values {
            Values::Null => true,
            Values::Dictionary { indices, values } => values.is_null(indices[row]),
            Values::Union { array, children } => {
                let child = children.iter().find(|(id, _)| *id == array.type_id(row));
                child.is_none_or(|(_, child)| child.is_null(array.value_offset(row)))
            }
            _ => false,
        }
    }
}

fn values<'a>(field: &Field, array: &'a dyn Array) -> Option<Values<'a>> {
    match logical_type(field) {
        LogicalType::Bool8 => return Some(Values::Bool8(array.as_primitive::<Int8Type>().values())),
        LogicalType::Uuid => {
            return Some(match array.data_type() {
                DataType::FixedSizeBinary(_) => Values::Uuid(array.as_fixed_size_binary()),
                _ => Values::UuidText(text(array)?),
            });
        }
        LogicalType::Integer => return text(array).map(Values::Integer),
        LogicalType::Numeric => return text(array).map(Values::Numeric),
        LogicalType::TimeTz => return text(array).map(Values::TimeTz),
        LogicalType::Bits => return text(array).map(Values::Bits),
        LogicalType::Name => return text(array).map(Values::Name),
        LogicalType::Oid => return Some(Values::Oid(array.as_primitive::<UInt64Type>().values())),
        LogicalType::Vector(oid) => return text(array).map(|text| Values::Vector { text, oid }),
        LogicalType::Keyed(type_) => return bytes(array).map(|keys| Values::Keyed(keys, type_)),
        LogicalType::Unconstrained => {
            return Some(Values::Unconstrained(array.as_primitive::<Decimal128Type>().values()));
        }
        LogicalType::Opaque => return None,
        LogicalType::Json => return text(array).map(Values::Json),
        LogicalType::Storage => {}
    }
    Some(match array.data_type() {
        DataType::Null => Values::Null,
        DataType::Boolean => Values::Bool(array.as_boolean()),
        DataType::Int8 => Values::Int8(array.as_primitive::<Int8Type>().values()),
        DataType::Int16 => Values::Int16(array.as_primitive::<Int16Type>().values()),
        DataType::Int32 => Values::Int32(array.as_primitive::<Int32Type>().values()),
        DataType::Int64 => Values::Int64(array.as_primitive::<Int64Type>().values()),
        DataType::UInt8 => Values::UInt8(array.as_primitive::<UInt8Type>().values()),
        DataType::UInt16 => Values::UInt16(array.as_primitive::<UInt16Type>().values()),
        DataType::UInt32 => Values::UInt32(array.as_primitive::<UInt32Type>().values()),
        DataType::UInt64 => Values::UInt64(array.as_primitive::<UInt64Type>().values()),
        DataType::Float16 => Values::Float16(array.as_primitive::<Float16Type>().values()),
        DataType::Float32 => Values::Float32(array.as_primitive::<Float32Type>().values()),
        DataType::Float64 => Values::Float64(array.as_primitive::<Float64Type>().values()),
        DataType::Decimal32(_, scale) => Values::Decimal32(array.as_primitive::<Decimal32Type>().values(), *scale),
        DataType::Decimal64(_, scale) => Values::Decimal64(array.as_primitive::<Decimal64Type>().values(), *scale),
        DataType::Decimal128(_, scale) => Values::Decimal128(array.as_primitive::<Decimal128Type>().values(), *scale),
        DataType::Decimal256(_, scale) => Values::Decimal256(array.as_primitive::<Decimal256Type>().values(), *scale),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Values::Text(text(array)?),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Values::Bytes(bytes(array)?)
        }
        DataType::Date32 => Values::Date32(array.as_primitive::<Date32Type>().values()),
        DataType::Date64 => Values::Date64(array.as_primitive::<Date64Type>().values()),
        DataType::Time32(unit) => Values::Time32(
            match unit {
                TimeUnit::Second => array.as_primitive::<Time32SecondType>().values(),
                _ => array.as_primitive::<Time32MillisecondType>().values(),
            },
            *unit,
        ),
        DataType::Time64(unit) => Values::Time64(
            match unit {
                TimeUnit::Nanosecond => array.as_primitive::<Time64NanosecondType>().values(),
                _ => array.as_primitive::<Time64MicrosecondType>().values(),
            },
            *unit,
        ),
        DataType::Timestamp(unit, zone) => {
            let values = match unit {
                TimeUnit::Second => array.as_primitive::<TimestampSecondType>().values(),
                TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values(),
                TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values(),
                TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values(),
            };
            Values::Timestamp { values, unit: *unit, zone: zone.as_deref().map(Zone::of_arrow) }
        }
        DataType::Duration(unit) => Values::Duration(
            match unit {
                TimeUnit::Second => array.as_primitive::<DurationSecondType>().values(),
                TimeUnit::Millisecond => array.as_primitive::<DurationMillisecondType>().values(),
                TimeUnit::Microsecond => array.as_primitive::<DurationMicrosecondType>().values(),
                TimeUnit::Nanosecond => array.as_primitive::<DurationNanosecondType>().values(),
            },
            *unit,
        ),
        DataType::Interval(IntervalUnit::YearMonth) => {
            Values::Months(array.as_primitive::<IntervalYearMonthType>().values())
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            Values::DayTime(array.as_primitive::<IntervalDayTimeType>().values())
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            Values::MonthDayNano(array.as_primitive::<IntervalMonthDayNanoType>().values())
        }
        DataType::List(item) => {
            let list = array.as_list::<i32>();
            let child = Box::new(ColumnWriter::nested(items(field, item), list.values().as_ref())?);
            Values::List { offsets: Offsets::Small(list.value_offsets()), child }
        }
        DataType::LargeList(item) => {
            let list = array.as_list::<i64>();
            let child = Box::new(ColumnWriter::nested(items(field, item), list.values().as_ref())?);
            Values::List { offsets: Offsets::Large(list.value_offsets()), child }
        }
        DataType::FixedSizeList(item, size) => {
            let child =
                Box::new(ColumnWriter::nested(items(field, item), array.as_fixed_size_list().values().as_ref())?);
            Values::List { offsets: Offsets::Fixed(size.as_usize()), child }
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let children = members(field, fields)
                .iter()
                .zip(columns)
                .map(|(field, child)| ColumnWriter::nested(field, child.as_ref()));
            Values::Struct(children.collect::<Option<_>>()?)
        }
        DataType::Map(entries, _) => {
            let map = array.as_map();
            let entries = match field.data_type() {
                DataType::Map(entries, _) => entries,
                _ => entries,
            };
            let entries = Box::new(ColumnWriter::nested(entries, map.entries())?);
            Values::Map { offsets: Offsets::Small(map.value_offsets()), entries }
        }
        DataType::Dictionary(index, _) => match index.as_ref() {
            DataType::Int8 => dictionary::<Int8Type>(field, array)?,
            DataType::Int16 => dictionary::<Int16Type>(field, array)?,
            DataType::Int32 => dictionary::<Int32Type>(field, array)?,
            DataType::Int64 => dictionary::<Int64Type>(field, array)?,
            DataType::UInt8 => dictionary::<UInt8Type>(field, array)?,
            DataType::UInt16 => dictionary::<UInt16Type>(field, array)?,
            DataType::UInt32 => dictionary::<UInt32Type>(field, array)?,
            DataType::UInt64 => dictionary::<UInt64Type>(field, array)?,
            _ => return None,
        },
        DataType::Union(fields, _) => {
            let array = array.as_union();
            let children =
                fields.iter().map(|(id, field)| Some((id, ColumnWriter::nested(field, array.child(id).as_ref())?)));
            Values::Union { array, children: children.collect::<Option<_>>()? }
        }
        _ => return None,
    })
}

/// The fields of a row. Its own field describes them in more detail than the array.
fn members<'f>(field: &'f Field, fields: &'f Fields) -> &'f Fields {
    match field.data_type() {
        DataType::Struct(fields) => fields,
        _ => fields,
    }
}

/// The field of a list's items. The list's field describes them in more detail than the array.
fn items<'f>(field: &'f Field, item: &'f Field) -> &'f Field {
    match field.data_type() {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => item,
        _ => item,
    }
}

fn text(array: &dyn Array) -> Option<Text<'_>> {
    Some(match array.data_type() {
        DataType::Utf8 => Text::Small(array.as_string()),
        DataType::LargeUtf8 => Text::Large(array.as_string()),
        DataType::Utf8View => Text::View(array.as_string_view()),
        _ => return None,
    })
}

fn bytes(array: &dyn Array) -> Option<Bytes<'_>> {
    Some(match array.data_type() {
        DataType::Binary => Bytes::Small(array.as_binary()),
        DataType::LargeBinary => Bytes::Large(array.as_binary()),
        DataType::BinaryView => Bytes::View(array.as_binary_view()),
        DataType::FixedSizeBinary(_) => Bytes::Fixed(array.as_fixed_size_binary()),
        _ => return None,
    })
}

fn dictionary<'a, K: ArrowDictionaryKeyType>(field: &Field, array: &'a dyn Array) -> Option<Values<'a>> {
    let array = array.as_dictionary::<K>();
    let values_field = Field::new(field.name(), array.values().data_type().clone(), true);
    let values = Box::new(ColumnWriter::nested(&values_field, array.values().as_ref())?);
    // The index of a NULL may be invalid. It is never used.
    let indices = array.keys().values().iter().map(|key| key.as_usize()).collect();
    Some(Values::Dictionary { indices, values })
}

/// The maximum nesting of types. Each level of PostgreSQL's text form doubles the quotes of the level below, so 16
/// levels have up to 2^16.
const MAX_DEPTH: usize = 16;

/// The nesting of a type; 1 for a type without children.
fn depth(type_: &DataType) -> usize {
    1 + match type_ {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => depth(item.data_type()),
        DataType::Struct(fields) => fields.iter().map(|field| depth(field.data_type())).max().unwrap_or_default(),
        _ => 0,
    }
}
