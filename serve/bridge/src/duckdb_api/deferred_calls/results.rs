//! From the checked results of a function process to an array of Arrow.

use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::{
    Array as _, ArrayRef, BinaryViewArray, LargeBinaryArray, LargeStringArray, StringArray, StringViewArray,
};
use arrow_array::{BooleanArray, make_array};
use arrow_buffer::Buffer;
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::DataType;
use colonnade_udf::{ColumnType, OutputColumn, OutputData};

use super::super::handles::CallbackError;
use super::super::results::label_number;
use super::super::sql_type::SqlType;
use super::arguments::Chosen;

/// The results of several calls in one array.
pub(super) struct Results<'t> {
    /// The type in Arrow.
    type_: DataType,
    sql: &'t SqlType,
    values: Values<'t>,
    /// A bit for each row; `None` while no row is NULL.
    validity: Option<BooleanBufferBuilder>,
    rows: usize,
}

enum Values<'t> {
    Booleans(BooleanBufferBuilder),
    /// Values of this width.
    Fixed(Vec<u8>, usize),
    /// Decimals of this width, which function processes give in 16 bytes. They have at most as many digits as their
    /// type.
    Decimals(Vec<u8>, usize),
    /// Texts, and UUIDs as texts, or blobs.
    Bytes(Offsets, Vec<u8>),
    /// The numbers of an enum's labels.
    Labels(Vec<u32>),
    List(Offsets, Box<Results<'t>>),
    /// Arrays with this number of items.
    Array(usize, Box<Results<'t>>),
    Struct(Vec<Results<'t>>),
}

/// Where the items of each row end; they begin with 0.
type Offsets = Vec<i64>;

fn wrong_layout() -> CallbackError {
    "the result has another layout than its type".into()
}

impl<'t> Results<'t> {
    /// An array of this type without rows.
    ///
    /// # Errors
    /// If no deferred call can give the type.
    pub fn new(type_: &DataType, sql: &'t SqlType, rows: usize) -> Result<Self, CallbackError> {
        let item = |type_: &DataType| -> Result<Box<Self>, CallbackError> {
            let item = sql.children.first().ok_or_else(wrong_layout)?;
            Ok(Box::new(Self::new(type_, item, rows)?))
        };
        let offsets = || {
            let mut offsets = Vec::with_capacity(rows + 1);
            offsets.push(0);
            offsets
        };
        let values = match type_ {
            DataType::Boolean => Values::Booleans(BooleanBufferBuilder::new(rows)),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Values::Bytes(offsets(), Vec::new()),
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Values::Bytes(offsets(), Vec::new()),
            DataType::Dictionary(..) => Values::Labels(Vec::with_capacity(rows)),
            DataType::Decimal32(..) => Values::Decimals(Vec::with_capacity(rows * 4), 4),
            DataType::Decimal64(..) => Values::Decimals(Vec::with_capacity(rows * 8), 8),
            DataType::List(field) | DataType::LargeList(field) => Values::List(offsets(), item(field.data_type())?),
            DataType::FixedSizeList(field, size) => Values::Array(*size as usize, item(field.data_type())?),
            DataType::Struct(fields) if fields.len() == sql.children.len() => {
                let fields = fields.iter().zip(&sql.children);
                let fields = fields.map(|(field, sql)| Self::new(field.data_type(), sql, rows));
                Values::Struct(fields.collect::<Result<_, _>>()?)
            }
            other => {
                let width = other.primitive_width().ok_or_else(wrong_layout)?;
                Values::Fixed(Vec::with_capacity(rows * width), width)
            }
        };
        Ok(Self { type_: type_.clone(), sql, values, validity: None, rows: 0 })
    }

    /// Adds rows that are NULL.
    pub fn add_nulls(&mut self, rows: usize) {
        let before = self.rows;
        let validity = self.validity.get_or_insert_with(|| {
            let mut bits = BooleanBufferBuilder::new(before + rows);
            bits.append_n(before, true);
            bits
        });
        validity.append_n(rows, false);
        self.rows += rows;
        match &mut self.values {
            Values::Booleans(bits) => bits.append_n(rows, false),
            Values::Fixed(values, width) | Values::Decimals(values, width) => {
                values.resize(values.len() + rows * *width, 0);
            }
            Values::Labels(numbers) => numbers.resize(numbers.len() + rows, 0),
            Values::Bytes(offsets, _) | Values::List(offsets, _) => {
                offsets.resize(offsets.len() + rows, offsets.last().copied().unwrap_or(0));
            }
            Values::Array(size, items) => items.add_nulls(rows * *size),
            Values::Struct(fields) => fields.iter_mut().for_each(|field| field.add_nulls(rows)),
        }
    }

    /// Adds the result of a call for the chosen ones of these rows. The others are NULL.
    ///
    /// # Errors
    /// If it has another layout than the type, is too large for it, or has a value that the type does not have.
    pub fn add(&mut self, column: &OutputColumn<'_>, chosen: &Chosen, rows: usize) -> Result<(), CallbackError> {
        let Chosen::Rows(called) = chosen else { return self.add_rows(column, 0, rows) };
        let mut next = 0;
        for (source, row) in called.iter().enumerate() {
            self.add_nulls(*row as usize - next);
            self.add_rows(column, source, source + 1)?;
            next = *row as usize + 1;
        }
        self.add_nulls(rows - next);
        Ok(())
    }

    /// Adds the rows of a result from the first one up to the one before `end`.
    fn add_rows(&mut self, column: &OutputColumn<'_>, first: usize, end: usize) -> Result<(), CallbackError> {
        if column.validity.is_none() {
            return self.add_values(column, first, end);
        }
        for row in first..end {
            match column.is_valid(row) {
                true => self.add_values(column, row, row + 1)?,
                false => self.add_nulls(1),
            }
        }
        Ok(())
    }

    /// As `add_rows`, for rows none of which is NULL.
    fn add_values(&mut self, column: &OutputColumn<'_>, first: usize, end: usize) -> Result<(), CallbackError> {
        if let Some(validity) = &mut self.validity {
            validity.append_n(end - first, true);
        }
        self.rows += end - first;
        match (&mut self.values, &column.data) {
            (Values::Booleans(bits), OutputData::Fixed(found)) if found.width() == 1 => {
                for row in first..end {
                    let mut byte = [0];
                    found.copy_to(row, &mut byte);
                    bits.append(byte == [1]);
                }
            }
            (Values::Fixed(values, width), OutputData::Fixed(found)) if found.width() == *width => {
                let before = values.len();
                values.resize(before + (end - first) * *width, 0);
                found.copy_to(first, &mut values[before..]);
            }
            (Values::Decimals(values, width), OutputData::Fixed(found)) if found.width() == 16 => {
                for row in first..end {
                    values.extend_from_slice(&wide(found, row)[..*width]);
                }
            }
            (Values::Bytes(offsets, bytes), OutputData::Fixed(found)) if self.sql.column_type == ColumnType::Uuid => {
                for row in first..end {
                    push_uuid(bytes, wide(found, row));
                    offsets.push(bytes.len() as i64);
                }
            }
            (Values::Bytes(offsets, bytes), OutputData::Bytes { offsets: ends, bytes: found }) => {
                let (start, before) = (ends[first], bytes.len() as i64);
                bytes.extend_from_slice(&found[start as usize..ends[end] as usize]);
                offsets.extend(ends[first + 1..=end].iter().map(|end| before + (end - start) as i64));
            }
            (Values::Labels(numbers), OutputData::Bytes { offsets, bytes }) => {
                for row in first..end {
                    let label = &bytes[offsets[row] as usize..offsets[row + 1] as usize];
                    numbers.push(label_number(label, self.sql)?);
                }
            }
            (Values::List(offsets, items), OutputData::List { offsets: ends, items: found }) => {
                let (start, before) = (ends[first], items.rows as i64);
                items.add_rows(found, start as usize, ends[end] as usize)?;
                offsets.extend(ends[first + 1..=end].iter().map(|end| before + (end - start) as i64));
            }
            (Values::Array(size, items), OutputData::Array(found)) => {
                items.add_rows(found, first * *size, end * *size)?;
            }
            (Values::Struct(fields), OutputData::Struct(found)) if fields.len() == found.len() => {
                for (field, found) in fields.iter_mut().zip(found) {
                    field.add_rows(found, first, end)?;
                }
            }
            _ => return Err(wrong_layout()),
        }
        Ok(())
    }

    /// The array.
    ///
    /// # Errors
    /// If its texts or items are too many for the type.
    pub fn finish(self) -> Result<ArrayRef, CallbackError> {
        let nulls = self.validity.map(|mut bits| bits.finish().into());
        let with_offsets = |offsets: &Offsets, are_large: bool| {
            if are_large {
                return Ok(Buffer::from_slice_ref(offsets.as_slice()));
            }
            let narrow = offsets.iter().map(|offset| i32::try_from(*offset)).collect::<Result<Vec<_>, _>>();
            let too_large =
                |_| CallbackError::from("the texts or items of one column of a batch are more than 2^31 - 1");
            narrow.map(Buffer::from_vec).map_err(too_large)
        };
        let made = ArrayDataBuilder::new(self.type_.clone()).len(self.rows).nulls(nulls.clone()).align_buffers(true);
        built(match self.values {
            Values::Booleans(mut bits) => return Ok(Arc::new(BooleanArray::new(bits.finish(), nulls))),
            Values::Fixed(values, _) | Values::Decimals(values, _) => made.add_buffer(values.into()),
            Values::Bytes(offsets, bytes) => {
                let type_ = match self.type_ {
                    DataType::Utf8View => DataType::LargeUtf8,
                    DataType::BinaryView => DataType::LargeBinary,
                    ref other => other.clone(),
                };
                let are_large = matches!(type_, DataType::LargeUtf8 | DataType::LargeBinary);
                let made = made.data_type(type_).add_buffer(with_offsets(&offsets, are_large)?);
                let array = built(made.add_buffer(bytes.into()))?;
                return Ok(match self.type_ {
                    DataType::Utf8View => Arc::new(StringViewArray::from(&LargeStringArray::from(array.to_data()))),
                    DataType::BinaryView => Arc::new(BinaryViewArray::from(&LargeBinaryArray::from(array.to_data()))),
                    _ => array,
                });
            }
            Values::Labels(numbers) => {
                let DataType::Dictionary(key, label_type) = &self.type_ else { return Err(wrong_layout()) };
                if **label_type != DataType::Utf8 {
                    return Err(wrong_layout());
                }
                let width = key.primitive_width().ok_or_else(wrong_layout)?;
                let keys: Vec<u8> =
                    numbers.iter().flat_map(|number| number.to_le_bytes().into_iter().take(width)).collect();
                made.add_buffer(keys.into()).add_child_data(StringArray::from(self.sql.labels.clone()).into_data())
            }
            Values::List(offsets, items) => {
                let are_large = matches!(self.type_, DataType::LargeList(_));
                made.add_buffer(with_offsets(&offsets, are_large)?).add_child_data(items.finish()?.into_data())
            }
            Values::Array(_, items) => made.add_child_data(items.finish()?.into_data()),
            Values::Struct(fields) => {
                let children = fields.into_iter().map(|field| Ok(field.finish()?.into_data()));
                made.child_data(children.collect::<Result<Vec<ArrayData>, CallbackError>>()?)
            }
        })
    }
}

fn built(made: ArrayDataBuilder) -> Result<ArrayRef, CallbackError> {
    made.build().map(make_array).map_err(|error| CallbackError::failed(error.to_string()))
}

/// A value of 16 bytes.
fn wide(values: &colonnade_udf::FixedValues<'_>, row: usize) -> [u8; 16] {
    let mut value = [0; 16];
    values.copy_to(row, &mut value);
    value
}

/// Appends a UUID as DuckDB writes it.
fn push_uuid(text: &mut Vec<u8>, bytes: [u8; 16]) {
    for (at, byte) in bytes.into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push(b'-');
        }
        text.extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
    }
}
