//! A column that is gathered.

use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, BooleanArray, make_array};
use arrow_buffer::{ArrowNativeType, BooleanBufferBuilder, Buffer, MutableBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use colonnade_duckdb_api::vectors::VectorValues;

use crate::text::Texts;
use crate::types::{ColumnType, ROOM_ROWS, Storage, VectorForm};
use crate::validity::Validity;
use crate::views::Views;

/// The values of one column, until they are a batch's.
pub(crate) struct Column {
    type_: ColumnType,
    form: VectorForm,
    validity: Validity,
    values: Values,
}

enum Values {
    Bits(BooleanBufferBuilder),
    Fixed(MutableBuffer),
    Texts(Box<Texts>),
    Views(Box<Views>),
}

impl Column {
    pub fn new(type_: ColumnType, form: VectorForm) -> Self {
        let values = match type_.storage {
            Storage::Boolean => Values::Bits(BooleanBufferBuilder::new(0)),
            Storage::Text | Storage::Uuid if form == VectorForm::Views => Values::Views(Box::default()),
            Storage::Text | Storage::Uuid => Values::Texts(Box::new(Texts::new(form == VectorForm::Encoded))),
            _ => Values::Fixed(MutableBuffer::new(0)),
        };
        Self { type_, form, validity: Validity::default(), values }
    }

    /// Appends the rows of a vector.
    ///
    /// # Safety
    /// The vector has the column's type, and so many rows.
    pub unsafe fn append(&mut self, values: &VectorValues, rows: usize) -> Result<(), ArrowError> {
        // SAFETY: the caller promises the type of the values.
        unsafe {
            match &mut self.values {
                Values::Texts(texts) if self.type_.storage == Storage::Uuid => {
                    self.validity.append(values, rows);
                    texts.append_uuids(values, rows)
                }
                Values::Texts(texts) => texts.append(values, rows, &mut self.validity),
                Values::Views(views) => {
                    self.validity.append(values, rows);
                    if self.type_.storage == Storage::Uuid {
                        views.append_uuids(values, rows)
                    } else {
                        views.append(values, rows)
                    }
                }
                Values::Bits(bits) => {
                    let has_null = self.validity.append(values, rows);
                    for row in 0..rows {
                        let entry = values.entry(row);
                        bits.append((!has_null || values.is_valid(entry)) && values.value::<u8>(entry) != 0);
                    }
                    Ok(())
                }
                Values::Fixed(buffer) => {
                    let has_null = self.validity.append(values, rows);
                    match self.type_.storage {
                        Storage::Decimal16 if self.form != VectorForm::Encoded => {
                            append(buffer, values, rows, has_null, |value: i16| i128::from(value))
                        }
                        Storage::Decimal32 if self.form != VectorForm::Encoded => {
                            append(buffer, values, rows, has_null, |value: i32| i128::from(value))
                        }
                        Storage::Decimal64 if self.form != VectorForm::Encoded => {
                            append(buffer, values, rows, has_null, |value: i64| i128::from(value))
                        }
                        Storage::Decimal16 => append(buffer, values, rows, has_null, |value: i16| i64::from(value)),
                        Storage::Decimal32 => append(buffer, values, rows, has_null, |value: i32| i64::from(value)),
                        Storage::Same(1) => append(buffer, values, rows, has_null, |value: i8| value),
                        Storage::Same(2) => append(buffer, values, rows, has_null, |value: i16| value),
                        Storage::Same(4) => append(buffer, values, rows, has_null, |value: i32| value),
                        Storage::Same(16) => append(buffer, values, rows, has_null, |value: i128| value),
                        _ => append(buffer, values, rows, has_null, |value: i64| value),
                    }
                    Ok(())
                }
            }
        }
    }

    /// The bytes that have been gathered, roughly.
    pub fn bytes(&self) -> usize {
        match &self.values {
            Values::Bits(bits) => bits.len() / 8,
            Values::Fixed(values) => values.len(),
            Values::Texts(texts) => texts.bytes(),
            Values::Views(views) => views.bytes(),
        }
    }

    /// The array of the rows, of which none is left.
    pub fn take(&mut self) -> ArrayRef {
        let nulls = self.validity.take();
        match &mut self.values {
            Values::Bits(bits) => Arc::new(BooleanArray::new(bits.finish(), nulls)),
            Values::Texts(texts) => texts.take(nulls, self.type_.arrow == DataType::Utf8),
            Values::Views(views) => views.take(nulls, self.type_.arrow == DataType::Utf8View),
            Values::Fixed(values) => {
                let buffer: Buffer = std::mem::replace(values, MutableBuffer::new(0)).into();
                let (type_, width) = match (&self.type_.arrow, self.type_.storage) {
                    (same, Storage::Same(width)) => (same.clone(), width),
                    (same, _) if self.form != VectorForm::Encoded => (same.clone(), 16),
                    (DataType::Decimal128(precision, scale), _) => (DataType::Decimal64(*precision, *scale), 8),
                    (same, _) => (same.clone(), 8),
                };
                let rows = buffer.len() / width;
                let labels = self.type_.labels.iter().map(|labels| labels.to_data()).collect();
                let builder = ArrayData::builder(type_).len(rows).nulls(nulls).add_buffer(buffer).child_data(labels);
                // SAFETY: the buffer is aligned, and has a value of the type's width for each row. DuckDB's enums have
                // no other numbers than those of their labels, and under a NULL it is 0.
                make_array(unsafe { builder.build_unchecked() })
            }
        }
    }
}

/// Appends values that are converted. Under a NULL they are zero: the memory behind it may have values of others.
///
/// # Safety
/// The vector has values of the type S, and so many rows.
unsafe fn append<S: ArrowNativeType, T: ArrowNativeType>(
    buffer: &mut MutableBuffer,
    values: &VectorValues,
    rows: usize,
    has_null: bool,
    convert: impl Fn(S) -> T,
) {
    let missing = if buffer.is_empty() { ROOM_ROWS * size_of::<T>() } else { 0 };
    buffer.reserve(missing.max(rows * size_of::<T>()));
    let start = buffer.len();
    // SAFETY: the caller promises the vector; the buffer has room for the rows, is aligned for each of Arrow's types,
    // and its length is set to what was written.
    let appended = unsafe {
        let place = buffer.as_mut_ptr().add(start).cast::<T>();
        let data = values.data::<S>();
        match values.selection(rows) {
            Some(entries) => {
                for (row, &entry) in entries.iter().enumerate() {
                    place.add(row).write(convert(data.add(entry as usize).read_unaligned()));
                }
            }
            // The compiler makes this one copy if nothing is converted.
            None => (0..rows).for_each(|row| place.add(row).write(convert(data.add(row).read_unaligned()))),
        }
        buffer.set_len(start + rows * size_of::<T>());
        std::slice::from_raw_parts_mut(place, rows)
    };
    if has_null {
        clear_nulls(appended, values);
    }
}

/// Makes the values of NULLs zero.
fn clear_nulls<T: ArrowNativeType>(appended: &mut [T], values: &VectorValues) {
    let rows = appended.len();
    match values.selection(rows) {
        Some(entries) => {
            for (value, &entry) in appended.iter_mut().zip(entries) {
                *value = if values.is_valid(entry as usize) { *value } else { T::default() };
            }
        }
        None => {
            // SAFETY: the vector is flat, because it has no selection, and has these rows.
            let words = unsafe { values.validity(rows) }.unwrap_or_default();
            for (values, &word) in appended.chunks_mut(64).zip(words) {
                let mut nulls = !word & (u64::MAX >> (64 - values.len()));
                while nulls != 0 {
                    values[nulls.trailing_zeros() as usize] = T::default();
                    nulls &= nulls - 1;
                }
            }
        }
    }
}
