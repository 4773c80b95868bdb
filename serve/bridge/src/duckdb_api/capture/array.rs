//! From vectors of DuckDB to Arrow arrays. `_duckdb/inputs.py` casts them to DuckDB's types again, so types that Arrow
//! has not are texts.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, Decimal128Array, FixedSizeListArray, LargeBinaryArray,
    LargeListArray, LargeStringArray, PrimitiveArray, StructArray,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field, Fields};
use colonnade_udf::{ColumnType, MemoryVec, TimestampUnit};

use crate::duckdb_api::arguments::encoded::Decoded;
use crate::duckdb_api::arguments::runs::Runs;
use crate::duckdb_api::arguments::{WriteError, append_fixed, with_text};
use crate::duckdb_api::handles::CallbackError;
use crate::duckdb_api::sql_type::{SqlType, Storage};
use crate::duckdb_api::vectors::VectorValues;

/// The rows of a vector.
pub(crate) fn from_vector(type_: &SqlType, values: &VectorValues, rows: &Runs) -> Result<ArrayRef, WriteError> {
    let rows = rows.only(|row| values.is_valid(values.entry(row)))?;
    let budget = rows.budget();
    let mut valid = MemoryVec::new(budget);
    for run in rows.runs() {
        valid.resize(valid.len() + run.count, run.first.is_some())?;
    }
    let has_values = !matches!(type_.storage, Storage::Struct | Storage::Array(_) | Storage::Union);
    if has_values && !values.has_memory() && valid.contains(&true) {
        return Err(CallbackError::from("DuckDB gives no values of a nested argument").into());
    }
    // The children of a vector after `first`, in these rows.
    let children = |first: u64, rows: &Runs| {
        let pairs = (first..).zip(&type_.children);
        let columns = pairs.map(|(index, child)| from_vector(child, &values.child(index)?, rows));
        columns.collect::<Result<Vec<_>, WriteError>>()
    };
    let (mut bytes, mut offsets) = (MemoryVec::new(budget), MemoryVec::new(budget));
    Ok(match type_.storage {
        Storage::List => {
            let mut items = Runs::new(budget);
            offsets.push(0_u64)?;
            for row in rows.iter() {
                if let Some(row) = row {
                    // SAFETY: a list is stored as the place of its items and their number.
                    let [start, count]: [u64; 2] = unsafe { values.value(values.entry(row)) };
                    items.push(Some(start as usize), count as usize)?;
                }
                offsets.push(items.len() as u64)?;
            }
            from_children(type_, &valid, &[], &offsets, children(0, &items)?)?
        }
        Storage::Array(size) => from_children(type_, &valid, &[], &[], children(0, &rows.items(size)?)?)?,
        Storage::Struct => from_children(type_, &valid, &[], &[], children(0, &rows)?)?,
        Storage::Union => {
            let tags = values.child(0)?;
            for row in rows.iter() {
                // SAFETY: the number of a union's member is one byte.
                bytes.push(row.map_or(0, |row| unsafe { tags.value::<u8>(tags.entry(row)) }))?;
            }
            from_children(type_, &valid, &bytes, &[], children(1, &rows)?)?
        }
        Storage::Text | Storage::Enum(_) => {
            offsets.push(0)?;
            for row in rows.iter() {
                if let Some(row) = row {
                    with_text(type_, values, values.entry(row), |text| bytes.extend_from_slice(text))?;
                }
                offsets.push(bytes.len() as u64)?;
            }
            from_parts(&type_.column_type, &valid, &bytes, &offsets)?
        }
        storage => {
            let width = type_.column_type.width().unwrap_or(0);
            for row in rows.iter() {
                match row {
                    Some(row) => {
                        let entry = values.entry(row);
                        bytes.append_with(width, |bytes| append_fixed(storage, values, &[entry], bytes))?;
                    }
                    None => bytes.resize(bytes.len() + width, 0)?,
                }
            }
            from_parts(&type_.column_type, &valid, &bytes, &[])?
        }
    })
}

/// Nested values: which of them are not NULL, the numbers of a union's members, where a list's items begin and end, and
/// the columns below. A union is a struct of its member's name and of all members (`_duckdb/unions.py`).
fn from_children(
    type_: &SqlType,
    valid: &[bool],
    tags: &[u8],
    offsets: &[u64],
    children: Vec<ArrayRef>,
) -> Result<ArrayRef, CallbackError> {
    let nulls = null_buffer(valid);
    let item = || children.first().cloned().ok_or("a nested type has no type below it");
    let field = |name: &str, array: &ArrayRef| Field::new(name, array.data_type().clone(), true);
    Ok(match (type_.storage, &type_.column_type) {
        (Storage::List, _) => {
            let (items, offsets) = (item()?, offset_buffer(offsets));
            let list = LargeListArray::try_new(Arc::new(field("item", &items)), offsets, items, nulls);
            Arc::new(list.map_err(invalid)?)
        }
        (Storage::Array(size), _) => {
            let items = item()?;
            let width = i32::try_from(size).map_err(|_| "an array of a function's argument is too long")?;
            let list = FixedSizeListArray::try_new(Arc::new(field("item", &items)), width, items, nulls);
            Arc::new(list.map_err(invalid)?)
        }
        (_, ColumnType::Struct(columns) | ColumnType::Union(columns)) => {
            let fields: Fields = columns.iter().zip(&children).map(|((name, _), array)| field(name, array)).collect();
            let values = StructArray::try_new(fields, children, nulls.clone()).map_err(invalid)?;
            if type_.storage == Storage::Struct {
                return Ok(Arc::new(values));
            }
            let name = |tag: &u8| columns.get(usize::from(*tag)).map(|(name, _)| name.as_str());
            let names: ArrayRef = Arc::new(tags.iter().map(name).collect::<LargeStringArray>());
            let values: ArrayRef = Arc::new(values);
            let fields: Fields = [field("member", &names), field("values", &values)].into_iter().collect();
            Arc::new(StructArray::try_new(fields, vec![names, values], nulls).map_err(invalid)?)
        }
        _ => return Err("a nested value has no columns below it".into()),
    })
}

/// Values that an aggregate has gathered.
pub(crate) fn from_decoded(values: &Decoded<'_>) -> Result<ArrayRef, CallbackError> {
    let Decoded { type_, valid, bytes, offsets, children } = values;
    if type_.storage.is_nested() {
        let children = children.iter().map(from_decoded).collect::<Result<_, _>>()?;
        return from_children(type_, valid, bytes, offsets, children);
    }
    from_parts(&type_.column_type, valid, bytes, offsets)
}

fn invalid(error: ArrowError) -> CallbackError {
    let text = format!("the arguments of a function are not valid: {error}");
    CallbackError { code: crate::duckdb_api::handles::EXECUTOR, text }
}

/// Values as function processes read them: of a fixed width, or texts with their offsets.
pub(crate) fn from_parts(
    column_type: &ColumnType,
    valid: &[bool],
    bytes: &[u8],
    offsets: &[u64],
) -> Result<ArrayRef, CallbackError> {
    use ColumnType as C;
    let nulls = null_buffer(valid);
    Ok(match column_type {
        C::Boolean => Arc::new(BooleanArray::new(bytes.iter().map(|byte| *byte != 0).collect(), nulls)),
        C::Int8 => primitive::<Int8Type>(bytes, nulls),
        C::Int16 => primitive::<Int16Type>(bytes, nulls),
        C::Int32 => primitive::<Int32Type>(bytes, nulls),
        C::Int64 => primitive::<Int64Type>(bytes, nulls),
        C::UInt8 => primitive::<UInt8Type>(bytes, nulls),
        C::UInt16 => primitive::<UInt16Type>(bytes, nulls),
        C::UInt32 => primitive::<UInt32Type>(bytes, nulls),
        C::UInt64 => primitive::<UInt64Type>(bytes, nulls),
        C::Float32 => primitive::<Float32Type>(bytes, nulls),
        C::Float64 => primitive::<Float64Type>(bytes, nulls),
        C::Date => primitive::<Date32Type>(bytes, nulls),
        C::Time => primitive::<Time64MicrosecondType>(bytes, nulls),
        C::Timestamp(TimestampUnit::Second) => primitive::<TimestampSecondType>(bytes, nulls),
        C::Timestamp(TimestampUnit::Millisecond) => primitive::<TimestampMillisecondType>(bytes, nulls),
        C::Timestamp(TimestampUnit::Microsecond) => primitive::<TimestampMicrosecondType>(bytes, nulls),
        C::Timestamp(TimestampUnit::Nanosecond) => primitive::<TimestampNanosecondType>(bytes, nulls),
        C::TimestampTz => {
            let values = ScalarBuffer::from(Buffer::from(bytes));
            Arc::new(PrimitiveArray::<TimestampMicrosecondType>::new(values, nulls).with_timezone("UTC"))
        }
        C::Decimal { width, scale } => {
            let scale = i8::try_from(*scale).map_err(|_| "a decimal has too many digits")?;
            let values = Decimal128Array::new(ScalarBuffer::from(Buffer::from(bytes)), nulls);
            Arc::new(values.with_precision_and_scale(*width, scale).map_err(invalid)?)
        }
        C::Text | C::Json => {
            let text = LargeStringArray::try_new(offset_buffer(offsets), Buffer::from(bytes), nulls);
            Arc::new(text.map_err(invalid)?)
        }
        C::Blob => {
            let blob = LargeBinaryArray::try_new(offset_buffer(offsets), Buffer::from(bytes), nulls);
            Arc::new(blob.map_err(invalid)?)
        }
        C::Int128 => texts(valid, bytes, |value| i128::from_le_bytes(value).to_string()),
        C::UInt128 => texts(valid, bytes, |value| u128::from_le_bytes(value).to_string()),
        C::Uuid => texts(valid, bytes, uuid),
        C::Interval => texts(valid, bytes, interval),
        C::List(_) | C::Array { .. } | C::Struct(_) | C::Map(..) | C::Union(_) => {
            return Err("a nested value has no bytes of its own".into());
        }
    })
}

/// Which values are not NULL; `None` if all have a value.
fn null_buffer(valid: &[bool]) -> Option<NullBuffer> {
    valid.contains(&false).then(|| NullBuffer::from(valid))
}

fn primitive<T: ArrowPrimitiveType>(bytes: &[u8], nulls: Option<NullBuffer>) -> ArrayRef {
    // The copy has the alignment that Arrow needs.
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(Buffer::from(bytes)), nulls))
}

fn offset_buffer(offsets: &[u64]) -> OffsetBuffer<i64> {
    // A column without rows may have no offsets.
    let offsets: Vec<_> = if offsets.is_empty() { vec![0] } else { offsets.iter().map(|at| *at as i64).collect() };
    OffsetBuffer::new(ScalarBuffer::from(offsets))
}

fn texts(valid: &[bool], bytes: &[u8], text: impl Fn([u8; 16]) -> String) -> ArrayRef {
    let (values, _) = bytes.as_chunks::<16>();
    let texts = values.iter().zip(valid).map(|(value, is_valid)| is_valid.then(|| text(*value)));
    Arc::new(texts.collect::<LargeStringArray>())
}

fn uuid(bytes: [u8; 16]) -> String {
    let mut text = String::new();
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// An interval as DuckDB reads it: months, days and microseconds stay apart.
fn interval(bytes: [u8; 16]) -> String {
    let [m0, m1, m2, m3, d0, d1, d2, d3, rest @ ..] = bytes;
    let (months, days) = (i32::from_le_bytes([m0, m1, m2, m3]), i32::from_le_bytes([d0, d1, d2, d3]));
    format!("{months} months {days} days {} microseconds", i64::from_le_bytes(rest))
}
