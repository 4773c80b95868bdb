//! From Arrow's arrays to a worker's ring.

use arrow_array::cast::AsArray as _;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use colonnade_udf::{CallError, CallInputs, Form};

use super::super::arguments::{write_bytes, write_fixed};

/// The rows of a call.
pub(super) enum Chosen {
    All,
    /// Those of a strict function, in none of which an argument is NULL.
    Rows(Vec<u32>),
}

impl Chosen {
    /// The rows in which no column is NULL.
    pub fn without_nulls(columns: &[ArrayRef], rows: usize) -> Self {
        let nulls: Vec<_> =
            columns.iter().filter(|column| column.null_count() > 0).filter_map(|column| column.nulls()).collect();
        if nulls.is_empty() {
            return Self::All;
        }
        Self::Rows((0..rows as u32).filter(|row| nulls.iter().all(|nulls| nulls.is_valid(*row as usize))).collect())
    }

    /// How many of these rows there are.
    pub fn count(&self, rows: usize) -> usize {
        match self {
            Self::All => rows,
            Self::Rows(rows) => rows.len(),
        }
    }

    fn iter(&self, rows: usize) -> impl Iterator<Item = usize> {
        let (all, some) = match self {
            Self::All => (rows, &[][..]),
            Self::Rows(rows) => (0, rows.as_slice()),
        };
        (0..all).chain(some.iter().map(|row| *row as usize))
    }
}

/// Writes a column as the next parameter.
pub(super) fn write(inputs: &mut CallInputs<'_>, column: &ArrayRef, chosen: &Chosen) -> Result<(), CallError> {
    inputs.parameter(Form::Array)?;
    match column.data_type() {
        DataType::Boolean => {
            let values = column.as_boolean();
            // A byte for each value, and zero for NULL.
            let bytes: Vec<u8> =
                chosen.iter(column.len()).map(|row| u8::from(values.is_valid(row) && values.value(row))).collect();
            write_fixed(inputs, &bytes, &valid(column, chosen))
        }
        DataType::Utf8 => texts(inputs, column, chosen, |row| column.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => texts(inputs, column, chosen, |row| column.as_string::<i64>().value(row)),
        DataType::Utf8View => texts(inputs, column, chosen, |row| column.as_string_view().value(row)),
        DataType::Decimal32(..) => wide(inputs, column, chosen, 4),
        DataType::Decimal64(..) => wide(inputs, column, chosen, 8),
        other => match other.primitive_width() {
            Some(width) => fixed(inputs, column, chosen, width),
            None => Ok(()),
        },
    }
}

fn valid(column: &ArrayRef, chosen: &Chosen) -> Vec<bool> {
    chosen.iter(column.len()).map(|row| column.is_valid(row)).collect()
}

/// Values of this width. Those of NULL rows become zero.
fn fixed(inputs: &mut CallInputs<'_>, column: &ArrayRef, chosen: &Chosen, width: usize) -> Result<(), CallError> {
    let data = column.to_data();
    let all = data.buffers().first().map_or(&[][..], |buffer| &buffer[data.offset() * width..][..data.len() * width]);
    if matches!(chosen, Chosen::All) && column.null_count() == 0 {
        let size = colonnade_udf::NodeSize { length: column.len(), values: all.len(), ..Default::default() };
        inputs.node(size)?.values.write(0, all);
        return Ok(());
    }
    let mut bytes = Vec::with_capacity(chosen.count(column.len()) * width);
    for row in chosen.iter(column.len()) {
        if column.is_valid(row) {
            bytes.extend_from_slice(&all[row * width..][..width]);
        } else {
            bytes.resize(bytes.len() + width, 0);
        }
    }
    write_fixed(inputs, &bytes, &valid(column, chosen))
}

/// Decimals of this width, as those of 16 bytes that workers read. Those of NULL rows become zero.
fn wide(inputs: &mut CallInputs<'_>, column: &ArrayRef, chosen: &Chosen, width: usize) -> Result<(), CallError> {
    let data = column.to_data();
    let all = data.buffers().first().map_or(&[][..], |buffer| &buffer[data.offset() * width..][..data.len() * width]);
    let mut bytes = Vec::with_capacity(chosen.count(column.len()) * 16);
    for row in chosen.iter(column.len()) {
        let value = &all[row * width..][..width];
        let is_negative = column.is_valid(row) && value.last().is_some_and(|byte| byte & 0x80 != 0);
        let mut wide = [if is_negative { 0xff } else { 0 }; 16];
        if column.is_valid(row) {
            wide[..width].copy_from_slice(value);
        }
        bytes.extend_from_slice(&wide);
    }
    write_fixed(inputs, &bytes, &valid(column, chosen))
}

fn texts<'a>(
    inputs: &mut CallInputs<'_>,
    column: &'a ArrayRef,
    chosen: &Chosen,
    text: impl Fn(usize) -> &'a str,
) -> Result<(), CallError> {
    let mut offsets = Vec::with_capacity(chosen.count(column.len()) + 1);
    let mut heap = Vec::new();
    offsets.push(0);
    for row in chosen.iter(column.len()) {
        if column.is_valid(row) {
            heap.extend_from_slice(text(row).as_bytes());
        }
        offsets.push(heap.len() as u64);
    }
    write_bytes(inputs, &offsets, &heap, &valid(column, chosen))
}
