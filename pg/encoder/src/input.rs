//! Converts C's arguments to the types of `colonnade-wire`.

use std::ffi::{CStr, c_char};

use colonnade_wire::{Bitmap, Column, DataType, Field, IndexType, Layout, Schema, Unit, Values};

use crate::error::Failure;

/// A key and a value of a field's metadata, NUL-terminated UTF-8.
#[repr(C)]
pub struct ColonnadePair {
    /// The key.
    pub key: *const c_char,
    /// The value.
    pub value: *const c_char,
}

/// One field; its children follow it.
#[repr(C)]
pub struct ColonnadeField {
    /// NUL-terminated UTF-8.
    pub name: *const c_char,
    /// The zone of a timestamp, NUL-terminated UTF-8; null if it has none.
    pub zone: *const c_char,
    /// Metadata.
    pub pairs: *const ColonnadePair,
    /// Pairs of metadata.
    pub pair_count: u32,
    /// The number of following fields that are directly below this one.
    pub children: u32,
    /// The number of the type; FORMAT §4.
    pub type_id: u8,
    /// 1 if the field may contain NULLs.
    pub nullable: u8,
    /// A decimal's precision, a time's unit, or a dictionary's index type; FORMAT §4.
    pub parameter: u8,
    /// A decimal's scale.
    pub scale: i8,
    /// 1 if a dictionary's values are ordered.
    pub ordered: u8,
}

/// The buffers of one column of one chunk. Its children's columns follow it.
#[repr(C)]
pub struct ColonnadeColumn {
    /// Rows. For a child of a list or a dictionary, this is the number of items.
    pub rows: usize,
    /// Validity bits, ⌈rows / 8⌉ bytes; null if all rows are valid.
    pub validity: *const u8,
    /// Values, bits, offsets (4 bytes each, rows + 1) or indices.
    pub values: *const u8,
    /// Bytes of `values`.
    pub values_length: usize,
    /// The bytes to which the offsets of text and binary columns refer.
    pub data: *const u8,
    /// Bytes of `data`.
    pub data_length: usize,
}

impl ColonnadeColumn {
    pub(crate) const EMPTY: Self = Self {
        rows: 0,
        validity: std::ptr::null(),
        values: std::ptr::null(),
        values_length: 0,
        data: std::ptr::null(),
        data_length: 0,
    };
}

/// A C array; null is an empty one.
///
/// # Safety
///
/// `first` is null or valid for `count` elements for as long as the caller keeps the slice.
pub(crate) unsafe fn array<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: as promised by the caller.
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// A C string; `None` for null.
///
/// # Safety
///
/// `text` is null or NUL-terminated for as long as the caller keeps the string.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Result<Option<&'a str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as promised by the caller.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| Failure::Argument("a name is not valid UTF-8".to_owned()))
}

/// A stream's columns.
///
/// # Safety
///
/// All pointers in the fields are valid.
pub(crate) unsafe fn schema(fields: &[ColonnadeField]) -> Result<Schema, Failure> {
    let mut rest = fields.iter();
    let mut schema = Schema::default();
    while let Some(first) = rest.next() {
        // SAFETY: as promised by the caller.
        schema.fields.push(unsafe { field(first, &mut rest, 1) }?);
    }
    Ok(schema)
}

/// FORMAT §4.
const MAX_DEPTH: usize = 64;

unsafe fn field(
    raw: &ColonnadeField,
    rest: &mut std::slice::Iter<'_, ColonnadeField>,
    depth: usize,
) -> Result<Field, Failure> {
    // SAFETY: as promised by the caller.
    let (name, pairs) = unsafe { (text(raw.name)?.unwrap_or(""), array(raw.pairs, raw.pair_count as usize)) };
    let impossible = || Failure::Argument(format!("field \"{name}\": type {} is not possible so", raw.type_id));
    let (precision, scale) = (raw.parameter, raw.scale);
    let data_type = match raw.type_id {
        1 => DataType::Bool,
        3 => DataType::Int16,
        4 => DataType::Int32,
        5 => DataType::Int64,
        8 => DataType::UInt32,
        11 => DataType::Float32,
        12 => DataType::Float64,
        15 if (1..=38).contains(&precision) && scale <= precision as i8 => DataType::Decimal128 { precision, scale },
        16 if (1..=76).contains(&precision) && scale <= precision as i8 => DataType::Decimal256 { precision, scale },
        17 => DataType::Date32,
        20 => DataType::Time64(unit(raw.parameter).ok_or_else(impossible)?),
        21 => {
            // SAFETY: as promised by the caller.
            let zone = unsafe { text(raw.zone) }?.map(str::to_owned);
            DataType::Timestamp { unit: unit(raw.parameter).ok_or_else(impossible)?, zone }
        }
        25 => DataType::IntervalMonthDayNano,
        26 => DataType::Utf8,
        28 => DataType::Binary,
        31 => DataType::List,
        34 => DataType::Struct,
        36 => DataType::Dictionary {
            index: match raw.parameter {
                6 => IndexType::UInt8,
                7 => IndexType::UInt16,
                8 => IndexType::UInt32,
                _ => return Err(impossible()),
            },
            ordered: raw.ordered != 0,
        },
        _ => return Err(impossible()),
    };
    let wanted = match data_type {
        DataType::List | DataType::Dictionary { .. } => raw.children == 1,
        DataType::Struct => raw.children <= u32::from(u16::MAX),
        _ => raw.children == 0,
    };
    if !wanted || depth > MAX_DEPTH {
        return Err(impossible());
    }
    let mut field = Field::new(name, data_type, raw.nullable != 0);
    for pair in pairs {
        // SAFETY: as promised by the caller.
        let (key, value) = unsafe { (text(pair.key)?, text(pair.value)?) };
        field.metadata.push((key.unwrap_or("").to_owned(), value.unwrap_or("").to_owned()));
    }
    for _ in 0..raw.children {
        let child = rest.next().ok_or_else(impossible)?;
        // SAFETY: as promised by the caller.
        field.children.push(unsafe { self::field(child, rest, depth + 1) }?);
    }
    Ok(field)
}

fn unit(number: u8) -> Option<Unit> {
    [Unit::Second, Unit::Millisecond, Unit::Microsecond, Unit::Nanosecond].get(number as usize).copied()
}

/// The columns of one chunk.
///
/// # Safety
///
/// The buffers are valid for as long as the caller keeps the columns.
pub(crate) unsafe fn columns<'a>(schema: &Schema, raw: &[ColonnadeColumn]) -> Result<Vec<Column<&'a [u8]>>, Failure> {
    let mut rest = raw.iter();
    // SAFETY: as promised by the caller.
    let columns = schema.fields.iter().map(|field| unsafe { column(field, &mut rest) });
    let columns = columns.collect::<Result<_, _>>()?;
    match rest.next() {
        None => Ok(columns),
        Some(_) => Err(Failure::Argument("more columns than fields".to_owned())),
    }
}

unsafe fn column<'a>(
    field: &Field,
    rest: &mut std::slice::Iter<'_, ColonnadeColumn>,
) -> Result<Column<&'a [u8]>, Failure> {
    let raw = rest.next().ok_or_else(|| Failure::Argument("fewer columns than fields".to_owned()))?;
    // SAFETY: as promised by the caller.
    let (validity, values, data) = unsafe {
        (
            array(raw.validity, raw.rows.div_ceil(8)),
            array(raw.values, raw.values_length),
            array(raw.data, raw.data_length),
        )
    };
    let mut children = Vec::with_capacity(field.children.len());
    for child in &field.children {
        // SAFETY: as promised by the caller.
        children.push(unsafe { column(child, rest) }?);
    }
    let values = match field.data_type.layout() {
        Layout::Bits => Values::Bits(Bitmap::new(values)),
        Layout::Bytes { .. } => Values::Bytes { offsets: values, data },
        Layout::Struct => Values::Struct(children),
        layout @ (Layout::List(_) | Layout::Dictionary(_)) => {
            let child = children.pop().ok_or_else(|| Failure::Argument("a child is missing".to_owned()))?;
            match layout {
                Layout::List(_) => Values::List { offsets: values, child: Box::new(child) },
                _ => Values::Dictionary { indices: values, values: Box::new(child) },
            }
        }
        _ => Values::Fixed(values),
    };
    let validity = (!raw.validity.is_null() && raw.rows > 0).then(|| Bitmap::new(validity));
    Ok(Column { rows: raw.rows, validity, values })
}
