//! The values of one column of a batch, in few forms.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Decimal256Type, Float64Type, Int64Type, IntervalMonthDayNanoType, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Decimal256Array, FixedSizeBinaryArray, Float64Array,
    Int64Array, IntervalMonthDayNanoArray, LargeBinaryArray, LargeListArray, LargeStringArray, StringArray,
    UInt64Array,
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, IntervalUnit};

use crate::{Error, ErrorKind};

/// A column of a batch. Its narrower and encoded forms are converted to these, without a change of values.
#[derive(Debug)]
pub(crate) enum ColumnValues {
    Null,
    Bool(BooleanArray),
    /// Integers, and the numbers of units of dates, times, timestamps and durations.
    Integer(Int64Array),
    Unsigned(UInt64Array),
    Float(Float64Array),
    Decimal(Decimal128Array),
    WideDecimal(Decimal256Array),
    Text(StringArray),
    LongText(LargeStringArray),
    Bytes(BinaryArray),
    LongBytes(LargeBinaryArray),
    FixedBytes(FixedSizeBinaryArray),
    Interval(IntervalMonthDayNanoArray),
    List(LargeListArray, Box<ColumnValues>),
}

/// One value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scalar<'v> {
    Null,
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Decimal(i128),
    WideDecimal(arrow_buffer::i256),
    Text(&'v str),
    Bytes(&'v [u8]),
    Interval(arrow_buffer::IntervalMonthDayNano),
    /// The place of a list's elements.
    List(usize, usize, &'v ColumnValues),
}

impl ColumnValues {
    /// The values of an array.
    ///
    /// # Errors
    /// An interval is out of range.
    pub(crate) fn of(array: &ArrayRef) -> Result<Self, Error> {
        let to = |wanted: &DataType| converted(array, wanted);
        Ok(match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bool(array.as_boolean().clone()),
            DataType::UInt64 => Self::Unsigned(array.as_primitive::<UInt64Type>().clone()),
            DataType::Float16 | DataType::Float32 | DataType::Float64 => {
                Self::Float(to(&DataType::Float64)?.as_primitive::<Float64Type>().clone())
            }
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale) => {
                let decimals = to(&DataType::Decimal128(*precision, *scale))?;
                Self::Decimal(decimals.as_primitive::<Decimal128Type>().clone())
            }
            DataType::Decimal256(..) => Self::WideDecimal(array.as_primitive::<Decimal256Type>().clone()),
            DataType::Utf8 => Self::Text(array.as_string().clone()),
            DataType::LargeUtf8 | DataType::Utf8View => Self::LongText(to(&DataType::LargeUtf8)?.as_string().clone()),
            DataType::Binary => Self::Bytes(array.as_binary().clone()),
            DataType::LargeBinary | DataType::BinaryView => {
                Self::LongBytes(to(&DataType::LargeBinary)?.as_binary().clone())
            }
            DataType::FixedSizeBinary(_) => Self::FixedBytes(array.as_fixed_size_binary().clone()),
            DataType::Interval(_) => {
                let intervals = to(&DataType::Interval(IntervalUnit::MonthDayNano))?;
                Self::Interval(intervals.as_primitive::<IntervalMonthDayNanoType>().clone())
            }
            DataType::Date32 | DataType::Time32(_) => Self::integers(&to(&DataType::Int32)?)?,
            DataType::Dictionary(_, values) => Self::of(&to(values)?)?,
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::ListView(field)
            | DataType::LargeListView(field)
            | DataType::FixedSizeList(field, _) => {
                let lists = to(&DataType::LargeList(field.clone()))?.as_list::<i64>().clone();
                let elements = Self::of(lists.values())?;
                Self::List(lists, Box::new(elements))
            }
            _ => Self::integers(array)?,
        })
    }

    fn integers(array: &ArrayRef) -> Result<Self, Error> {
        Ok(Self::Integer(converted(array, &DataType::Int64)?.as_primitive::<Int64Type>().clone()))
    }

    /// The value of a row.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Scalar<'_> {
        macro_rules! value {
            ($array:expr, $make:expr) => {
                if $array.is_null(row) { Scalar::Null } else { $make($array.value(row)) }
            };
        }
        match self {
            Self::Null => Scalar::Null,
            Self::Bool(array) => value!(array, Scalar::Bool),
            Self::Integer(array) => value!(array, Scalar::Integer),
            Self::Unsigned(array) => value!(array, Scalar::Unsigned),
            Self::Float(array) => value!(array, Scalar::Float),
            Self::Decimal(array) => value!(array, Scalar::Decimal),
            Self::WideDecimal(array) => value!(array, Scalar::WideDecimal),
            Self::Text(array) => value!(array, Scalar::Text),
            Self::LongText(array) => value!(array, Scalar::Text),
            Self::Bytes(array) => value!(array, Scalar::Bytes),
            Self::LongBytes(array) => value!(array, Scalar::Bytes),
            Self::FixedBytes(array) => value!(array, Scalar::Bytes),
            Self::Interval(array) => value!(array, Scalar::Interval),
            Self::List(array, _) if array.is_null(row) => Scalar::Null,
            Self::List(array, elements) => {
                let offsets = array.value_offsets();
                Scalar::List(offsets[row] as usize, offsets[row + 1] as usize, elements)
            }
        }
    }
}

/// The array as another type that holds the same values.
fn converted(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, Error> {
    if array.data_type() == wanted {
        return Ok(array.clone());
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, wanted, &options).map_err(|cause| {
        let message = format!("a column of {} cannot be read as {wanted}: {cause}", array.data_type());
        Error::new(ErrorKind::Unsupported, message).with_sqlstate("0A000")
    })
}

/// The scale of the decimals in a type.
pub(crate) fn decimal_scale(data_type: &DataType) -> i8 {
    match data_type {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => *scale,
        DataType::Dictionary(_, values) => decimal_scale(values),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => decimal_scale(field.data_type()),
        _ => 0,
    }
}
