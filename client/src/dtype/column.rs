//! Converts one array to another type.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, ArrowTemporalType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, Float32Type,
    Float64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt32Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowNativeTypeOp, BooleanArray, PrimitiveArray, downcast_integer, downcast_primitive_array,
    new_null_array,
};
use arrow_buffer::{BooleanBuffer, i256};
use arrow_cast::display::array_value_to_string;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use super::float::{Float, Scratch};
use super::kind::{TypeFamily, is_text, kind};
use super::temporal::{Rescale, has_finer_digits, has_zone, is_iso};
use super::text::Texts;
use super::{Dtype, codes};

/// Digits of the largest integer of 128 bits.
const INTEGER_DIGITS: u8 = 39;
/// Characters of a value that an error shows.
const SHOWN: usize = 60;

/// Why an array cannot have the type. Rows are counted from 0, within the array.
#[derive(Debug)]
pub(super) enum ConversionError {
    /// The type would change the value in this row.
    Changed(usize),
    /// The type has no value near the value in this row.
    Impossible(usize),
    /// All of it.
    Failed(ArrowError),
}

/// The array in the new type.
pub(super) fn convert(array: &ArrayRef, dtype: &Dtype) -> Result<ArrayRef, ConversionError> {
    let (from, to) = (array.data_type(), &dtype.target);
    if from == to {
        return Ok(array.clone());
    }
    if let DataType::Dictionary(_, values) = from {
        if let Some(dictionary) = array.as_dictionary_opt::<UInt32Type>()
            && codes::make(values, to)
            && dictionary.values().null_count() == 0
        {
            return codes::as_type(dictionary, to).map_err(ConversionError::Failed);
        }
        return convert(&cast(array, values)?, dtype);
    }
    if let DataType::Dictionary(_, values) = to {
        let plain = convert(array, &Dtype { target: values.as_ref().clone(), lossy: dtype.lossy })?;
        // This fails if there are more values than indices.
        return cast_with_options(&plain, to, &CastOptions { safe: false, ..CastOptions::default() })
            .map_err(ConversionError::Failed);
    }
    match (from, to) {
        (DataType::Utf8, DataType::Utf8View) | (DataType::Binary, DataType::BinaryView) => {
            return codes::views(array).map_err(ConversionError::Failed);
        }
        (DataType::Utf8, DataType::LargeUtf8) => return codes::large(array).map_err(ConversionError::Failed),
        _ => {}
    }
    match (kind(from), kind(to)) {
        (TypeFamily::Null, _) => Ok(new_null_array(to, array.len())),
        (
            TypeFamily::Moment | TypeFamily::Zoned | TypeFamily::Time,
            TypeFamily::Moment | TypeFamily::Zoned | TypeFamily::Time,
        ) => rescaled(array, dtype),
        (TypeFamily::Decimal, TypeFamily::Float) => floats(array, dtype),
        (TypeFamily::Float, TypeFamily::Decimal) => decimals(array, dtype),
        (TypeFamily::Text, TypeFamily::Float) => floats(array, dtype),
        (TypeFamily::Text, TypeFamily::Decimal) => decimals(array, dtype),
        (TypeFamily::Text, TypeFamily::Integer) => integers(array, dtype),
        (TypeFamily::Text, TypeFamily::Bool) => bools(array),
        (TypeFamily::Text, TypeFamily::Moment | TypeFamily::Zoned | TypeFamily::Time) => moments(array, dtype),
        (
            TypeFamily::Bool | TypeFamily::Integer | TypeFamily::Float | TypeFamily::Decimal,
            TypeFamily::Bool | TypeFamily::Integer | TypeFamily::Float | TypeFamily::Decimal,
        ) => numbers(array, dtype),
        (TypeFamily::Moment, TypeFamily::Text) => cast(&plainly(array)?, to),
        _ => cast(array, to),
    }
}

/// A value in the form that an error shows.
pub(super) fn shown(array: &dyn Array, row: usize) -> String {
    let text = display(array, row).unwrap_or_else(|_| "a value".to_owned());
    let cut = text.char_indices().nth(SHOWN).map(|(index, _)| index);
    let text = cut.map_or_else(|| text.clone(), |index| format!("{}…", &text[..index]));
    if is_text(array.data_type()) { format!("{text:?}") } else { text }
}

fn display(array: &dyn Array, row: usize) -> Result<String, ArrowError> {
    match unzoned(array.data_type()) {
        Some(target) => {
            let one = rescaled(&array.slice(row, 1), &Dtype { target, lossy: false });
            one.map_or_else(|_| Ok("a value".to_owned()), |one| array_value_to_string(&one, 0))
        }
        None => array_value_to_string(array, row),
    }
}

/// The same type with UTC as an offset, because this build of arrow-rs knows no names of zones.
fn unzoned(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Timestamp(unit, Some(_)) => Some(DataType::Timestamp(*unit, Some("+00:00".into()))),
        _ => None,
    }
}

fn plainly(array: &ArrayRef) -> Result<ArrayRef, ConversionError> {
    unzoned(array.data_type())
        .map_or_else(|| Ok(array.clone()), |target| rescaled(array, &Dtype { target, lossy: false }))
}

/// arrow-rs's conversion, if it makes no value NULL.
fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ConversionError> {
    let made = cast_with_options(array, to, &CastOptions { safe: true, ..CastOptions::default() })
        .map_err(ConversionError::Failed)?;
    if made.null_count() != array.null_count() {
        let lost = (0..array.len()).find(|&row| array.is_valid(row) && made.is_null(row));
        return Err(ConversionError::Impossible(lost.unwrap_or_default()));
    }
    Ok(made)
}

/// Converts by arrow-rs and back, because arrow-rs rounds silently.
fn numbers(array: &ArrayRef, dtype: &Dtype) -> Result<ArrayRef, ConversionError> {
    let made = cast(array, &dtype.target)?;
    if dtype.lossy {
        return match overflowed(array, &made) {
            Some(row) => Err(ConversionError::Impossible(row)),
            None => Ok(made),
        };
    }
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let back = cast_with_options(&made, array.data_type(), &options).map_err(ConversionError::Failed)?;
    match difference(array, &back) {
        Some(row) => Err(ConversionError::Changed(row)),
        None => Ok(made),
    }
}

/// The first finite float that became infinite.
fn overflowed(array: &ArrayRef, made: &ArrayRef) -> Option<usize> {
    let wide = array.as_primitive_opt::<Float64Type>()?;
    let narrow = made.as_primitive_opt::<Float32Type>()?;
    (0..wide.len()).find(|&row| wide.is_valid(row) && wide.value(row).is_finite() && !narrow.value(row).is_finite())
}

/// The first row in which two arrays of one type differ.
fn difference(one: &ArrayRef, other: &ArrayRef) -> Option<usize> {
    let (one, other): (&dyn Array, &dyn Array) = (one, other);
    downcast_primitive_array!(
        (one, other) => {
            (0..one.len()).find(|&row| one.is_valid(row) && (other.is_null(row) || one.value(row).is_ne(other.value(row))))
        },
        (DataType::Boolean, _) => {
            let (one, other) = (one.as_boolean(), other.as_boolean());
            (0..one.len()).find(|&row| one.is_valid(row) && (other.is_null(row) || one.value(row) != other.value(row)))
        },
        _ => Some(0),
    )
}

fn fits<T>(found: Option<(T, bool)>, row: usize, lossy: bool) -> Result<T, ConversionError> {
    match found {
        Some((value, same)) if same || lossy => Ok(value),
        Some(_) => Err(ConversionError::Changed(row)),
        None => Err(ConversionError::Impossible(row)),
    }
}

/// An array of as many rows, with the same NULLs.
fn build<T: ArrowPrimitiveType>(
    like: &dyn Array,
    to: &DataType,
    mut value: impl FnMut(usize) -> Result<T::Native, ConversionError>,
) -> Result<ArrayRef, ConversionError> {
    let nulls = like.logical_nulls();
    let mut values = Vec::with_capacity(like.len());
    for row in 0..like.len() {
        let valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        values.push(if valid { value(row)? } else { T::Native::default() });
    }
    Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), nulls).with_data_type(to.clone())))
}

fn unexpected(array: &dyn Array) -> ConversionError {
    ConversionError::Failed(ArrowError::CastError(format!("no conversion of {} is known", array.data_type())))
}

/// Decimals and text.
fn floats(array: &ArrayRef, dtype: &Dtype) -> Result<ArrayRef, ConversionError> {
    match dtype.target {
        DataType::Float32 => floats_of::<Float32Type>(array, dtype),
        DataType::Float64 => floats_of::<Float64Type>(array, dtype),
        _ => Err(unexpected(array)),
    }
}

fn floats_of<T: ArrowPrimitiveType<Native: Float>>(
    array: &ArrayRef,
    dtype: &Dtype,
) -> Result<ArrayRef, ConversionError> {
    let mut scratch = Scratch::default();
    let lossy = dtype.lossy;
    if let Some(texts) = Texts::new(array) {
        return build::<T>(array, &dtype.target, |row| fits(scratch.float_of_text(texts.value(row)), row, lossy));
    }
    match array.data_type() {
        DataType::Decimal128(_, scale) => {
            let decimals = array.as_primitive::<Decimal128Type>();
            build::<T>(array, &dtype.target, |row| {
                let value = decimals.value(row);
                let quick = T::Native::quick(value, *scale).map(|float| (float, true));
                fits(quick.or_else(|| scratch.float_of_decimal(i256::from_i128(value), *scale)), row, lossy)
            })
        }
        DataType::Decimal256(_, scale) => {
            let decimals = array.as_primitive::<Decimal256Type>();
            build::<T>(array, &dtype.target, |row| {
                fits(scratch.float_of_decimal(decimals.value(row), *scale), row, lossy)
            })
        }
        _ => Err(unexpected(array)),
    }
}

/// Converts each value to units of 10^-scale, and reports whether it is unchanged.
type Units<'a> = Box<dyn FnMut(usize, u8, i8) -> Option<(i256, bool)> + 'a>;

/// Floats and text.
fn units(array: &ArrayRef, round: bool) -> Result<Units<'_>, ConversionError> {
    let mut scratch = Scratch::default();
    if let Some(texts) = Texts::new(array) {
        return Ok(Box::new(move |row, precision, scale| scratch.scaled(texts.value(row), precision, scale, round)));
    }
    match array.data_type() {
        // The shortest decimal number of a float32 is not that of the same value as float64.
        DataType::Float32 => {
            let floats = array.as_primitive::<Float32Type>();
            Ok(Box::new(move |row, precision, scale| {
                scratch.scaled(&format!("{:e}", floats.value(row)), precision, scale, round)
            }))
        }
        DataType::Float64 => {
            let floats = array.as_primitive::<Float64Type>();
            Ok(Box::new(move |row, precision, scale| {
                scratch.scaled(&format!("{:e}", floats.value(row)), precision, scale, round)
            }))
        }
        _ => Err(unexpected(array)),
    }
}

fn decimals(array: &ArrayRef, dtype: &Dtype) -> Result<ArrayRef, ConversionError> {
    let mut units = units(array, true)?;
    match dtype.target {
        DataType::Decimal128(precision, scale) => build::<Decimal128Type>(array, &dtype.target, |row| {
            let value = fits(units(row, precision, scale), row, dtype.lossy)?;
            value.to_i128().ok_or(ConversionError::Impossible(row))
        }),
        DataType::Decimal256(precision, scale) => {
            build::<Decimal256Type>(array, &dtype.target, |row| fits(units(row, precision, scale), row, dtype.lossy))
        }
        _ => Err(unexpected(array)),
    }
}

fn integers(array: &ArrayRef, dtype: &Dtype) -> Result<ArrayRef, ConversionError> {
    let mut units = units(array, false)?;
    let to = &dtype.target;
    macro_rules! of {
        ($integer:ty) => {
            build::<$integer>(array, to, |row| {
                let value = fits(units(row, INTEGER_DIGITS, 0), row, dtype.lossy)?;
                value.to_i128().and_then(|value| value.try_into().ok()).ok_or(ConversionError::Impossible(row))
            })
        };
    }
    downcast_integer!(to => (of), _ => Err(unexpected(array)))
}

/// The texts for true and false in PostgreSQL, MySQL and SQLite.
fn bools(array: &ArrayRef) -> Result<ArrayRef, ConversionError> {
    let texts = Texts::new(array).ok_or_else(|| unexpected(array))?;
    let mut values = vec![false; array.len()];
    for (row, value) in values.iter_mut().enumerate().filter(|(row, _)| array.is_valid(*row)) {
        *value = match texts.value(row).to_ascii_lowercase().as_str() {
            "t" | "true" | "1" => true,
            "f" | "false" | "0" => false,
            _ => return Err(ConversionError::Impossible(row)),
        };
    }
    Ok(Arc::new(BooleanArray::new(BooleanBuffer::from(values), array.nulls().cloned())))
}

/// Dates and times that are text, in the form of ISO 8601.
fn moments(array: &ArrayRef, dtype: &Dtype) -> Result<ArrayRef, ConversionError> {
    let texts = Texts::new(array).ok_or_else(|| unexpected(array))?;
    let zoned = matches!(dtype.target, DataType::Timestamp(_, Some(_)));
    let date = matches!(dtype.target, DataType::Date32 | DataType::Date64);
    for row in (0..array.len()).filter(|&row| array.is_valid(row)) {
        let text = texts.value(row);
        // arrow-rs cuts off digits, drops a time if a date is wanted, and drops a zone if none is wanted.
        if !dtype.lossy && (has_finer_digits(text, &dtype.target) || date && text.contains(':')) {
            return Err(ConversionError::Changed(row));
        }
        // arrow-rs also reads other forms, and reads digits alone as a number of units.
        if !is_iso(text, &dtype.target) {
            return Err(ConversionError::Impossible(row));
        }
        // A leap second would become the next second. A timestamp without its zone is ambiguous.
        if text.contains(":60") || has_zone(text) && !zoned || zoned && !has_zone(text) {
            return Err(ConversionError::Impossible(row));
        }
    }
    match unzoned(&dtype.target) {
        Some(offset) => rescaled(&cast(array, &offset)?, dtype),
        None => cast(array, &dtype.target),
    }
}

/// Dates, timestamps and times in another unit.
fn rescaled(array: &ArrayRef, dtype: &Dtype) -> Result<ArrayRef, ConversionError> {
    let rescale = Rescale::new(array.data_type(), &dtype.target).ok_or_else(|| unexpected(array))?;
    let one = |value: i64, row: usize| fits(rescale.apply(value), row, dtype.lossy);
    match array.data_type() {
        DataType::Date32 => units_of::<Date32Type>(array, &dtype.target, one),
        DataType::Date64 => units_of::<Date64Type>(array, &dtype.target, one),
        DataType::Time32(TimeUnit::Second) => units_of::<Time32SecondType>(array, &dtype.target, one),
        DataType::Time32(_) => units_of::<Time32MillisecondType>(array, &dtype.target, one),
        DataType::Time64(TimeUnit::Microsecond) => units_of::<Time64MicrosecondType>(array, &dtype.target, one),
        DataType::Time64(_) => units_of::<Time64NanosecondType>(array, &dtype.target, one),
        DataType::Timestamp(TimeUnit::Second, _) => units_of::<TimestampSecondType>(array, &dtype.target, one),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            units_of::<TimestampMillisecondType>(array, &dtype.target, one)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            units_of::<TimestampMicrosecondType>(array, &dtype.target, one)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => units_of::<TimestampNanosecondType>(array, &dtype.target, one),
        _ => Err(unexpected(array)),
    }
}

fn units_of<T: ArrowTemporalType>(
    array: &ArrayRef,
    to: &DataType,
    one: impl Fn(i64, usize) -> Result<i64, ConversionError>,
) -> Result<ArrayRef, ConversionError>
where
    i64: From<T::Native>,
{
    let values = array.as_primitive::<T>();
    let value = |row: usize| one(i64::from(values.value(row)), row);
    let narrow =
        |row: usize| value(row).and_then(|value| i32::try_from(value).map_err(|_| ConversionError::Impossible(row)));
    match to {
        DataType::Date32 => build::<Date32Type>(array, to, narrow),
        DataType::Date64 => build::<Date64Type>(array, to, value),
        DataType::Time32(TimeUnit::Second) => build::<Time32SecondType>(array, to, narrow),
        DataType::Time32(_) => build::<Time32MillisecondType>(array, to, narrow),
        DataType::Time64(TimeUnit::Microsecond) => build::<Time64MicrosecondType>(array, to, value),
        DataType::Time64(_) => build::<Time64NanosecondType>(array, to, value),
        DataType::Timestamp(TimeUnit::Second, _) => build::<TimestampSecondType>(array, to, value),
        DataType::Timestamp(TimeUnit::Millisecond, _) => build::<TimestampMillisecondType>(array, to, value),
        DataType::Timestamp(TimeUnit::Microsecond, _) => build::<TimestampMicrosecondType>(array, to, value),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => build::<TimestampNanosecondType>(array, to, value),
        _ => Err(unexpected(array)),
    }
}
