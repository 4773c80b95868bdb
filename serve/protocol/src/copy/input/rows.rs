//! Gathers rows of text or binary values into batches.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema};

use super::{CopyDataError, ReadRows};
use crate::charset::{Charset, TextError};
use crate::engine::TargetColumn;
use crate::error::Failure;
use crate::limits::{Budget, Charge};
use crate::parameter::{InputError, ParameterValue, check_number, from_binary, from_text, max_bytes};
use crate::value::types::{Type, TypeKind};

/// A batch is complete when it reaches this number of rows, or [`BATCH_BYTES`].
const BATCH_ROWS: usize = 122_880;
const BATCH_BYTES: usize = 16 << 20;
/// The charge grows in steps of this many bytes, because a change for each value would be slow.
const CHARGE_STEP: usize = 1 << 20;

/// A value as it is in the data.
pub(super) enum RawValue<'a> {
    Text(&'a [u8]),
    Binary(&'a [u8]),
}

pub(super) struct Rows {
    targets: Vec<TargetColumn>,
    columns: Vec<ColumnBuilder>,
    rows: usize,
    bytes: usize,
    /// The rows of the earlier batches.
    earlier_rows: u64,
    /// The charge for the values in `columns`.
    charge: Charge,
}

enum ColumnBuilder {
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    List(Vec<ParameterValue>),
}

impl Rows {
    pub fn new(targets: Vec<TargetColumn>, budget: &Arc<Budget>) -> Self {
        let columns = targets.iter().map(|target| ColumnBuilder::new(&target.type_)).collect();
        Self { targets, columns, rows: 0, bytes: 0, earlier_rows: 0, charge: budget.empty_charge() }
    }

    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// The number of the current row, from 1.
    fn row(&self) -> u64 {
        self.earlier_rows + self.rows as u64 + 1
    }

    /// Adds the value of column `at` to the current row. `None` is NULL.
    pub fn value(&mut self, at: usize, raw: Option<RawValue<'_>>) -> Result<(), Failure> {
        let row = self.row();
        let (Some(column), Some(target)) = (self.columns.get_mut(at), self.targets.get(at)) else {
            return Err(CopyDataError::Extra { row }.into());
        };
        let wrong = |error| CopyDataError::Value { error, column: target.name.clone(), row };
        let Some(raw) = raw else {
            column.push(ParameterValue::Null);
            return Ok(());
        };
        let (bytes, is_binary) = match raw {
            RawValue::Text(bytes) => (bytes, false),
            RawValue::Binary(bytes) => (bytes, true),
        };
        let bound = max_bytes(&target.type_, bytes, is_binary);
        self.bytes += bound;
        grow_charge(&mut self.charge, self.bytes)?;
        let value = match raw {
            RawValue::Text(bytes) => {
                let text = std::str::from_utf8(bytes).map_err(|_| wrong(InputError::Encoding))?;
                // The text of these types needs no change, because the engine casts it as it is.
                if let (
                    ColumnBuilder::Text(builder),
                    TypeKind::Text | TypeKind::Int2 | TypeKind::Int4 | TypeKind::Int8 | TypeKind::Float8,
                ) = (&mut *column, &target.type_.kind)
                {
                    check_number(&target.type_, text).map_err(wrong)?;
                    builder.append_value(text);
                    return Ok(());
                }
                from_text(&target.type_, text)
            }
            RawValue::Binary(bytes) => from_binary(&target.type_, bytes),
        };
        let value = value.map_err(wrong)?;
        value.check_dimensions(&target.type_).map_err(wrong)?;
        // A binary number of few bytes may have many digits as text.
        self.bytes += value.bytes().saturating_sub(bound);
        column.push(value);
        grow_charge(&mut self.charge, self.bytes)
    }

    /// Adds a value in binary form whose texts are in another encoding.
    pub fn value_in(&mut self, charset: Charset, at: usize, bytes: &[u8]) -> Result<(), Failure> {
        let Some(target) = self.targets.get(at) else { return self.value(at, None) };
        let wrong = |error: TextError| CopyDataError::Value {
            error: error.into(),
            column: target.name.clone(),
            row: self.row(),
        };
        let decoded = charset.decode_value(Some(target.type_.info().oid), bytes).map_err(wrong)?;
        self.value(at, Some(RawValue::Binary(&decoded)))
    }

    /// Ends the current row, which has `width` values.
    pub fn end_row(&mut self, width: usize) -> Result<(), Failure> {
        if let Some(target) = self.targets.get(width) {
            return Err(CopyDataError::Missing { column: target.name.clone(), row: self.row() }.into());
        }
        self.rows += 1;
        self.bytes += 4 * width;
        Ok(())
    }

    pub fn batch(&mut self, all: bool) -> Result<Option<ReadRows>, Failure> {
        let is_full = self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES;
        if self.rows == 0 || !(all || is_full) {
            return Ok(None);
        }
        let arrays = self.columns.iter_mut().zip(&self.targets).map(|(column, target)| column.array(&target.type_));
        let arrays: Vec<ArrayRef> = arrays.collect();
        let fields =
            arrays.iter().enumerate().map(|(at, array)| Field::new(column_name(at), array.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options)?;
        self.earlier_rows += self.rows as u64;
        (self.rows, self.bytes) = (0, 0);
        self.charge.set(0)?;
        Ok(Some(batch.into()))
    }
}

fn grow_charge(charge: &mut Charge, bytes: usize) -> Result<(), Failure> {
    // A builder's capacity is up to twice its contents.
    if 2 * bytes > charge.bytes() {
        charge.set(2 * bytes + CHARGE_STEP)?;
    }
    Ok(())
}

/// The name of a column in a batch. It depends on the position only.
pub(crate) fn column_name(at: usize) -> String {
    format!("c{at}")
}

impl ColumnBuilder {
    fn new(type_: &Type) -> Self {
        match type_.kind {
            TypeKind::Bytes => Self::Bytes(BinaryBuilder::new()),
            TypeKind::List(_) => Self::List(Vec::new()),
            _ => Self::Text(StringBuilder::new()),
        }
    }

    fn push(&mut self, value: ParameterValue) {
        match (self, value) {
            (Self::Text(builder), ParameterValue::Text(text)) => builder.append_value(text),
            (Self::Bytes(builder), ParameterValue::Bytes(bytes)) => builder.append_value(bytes),
            (Self::List(values), value) => values.push(value),
            // Only NULL can reach these arms, because other values have the form of their type, which is checked.
            (Self::Text(builder), _) => builder.append_null(),
            (Self::Bytes(builder), _) => builder.append_null(),
        }
    }

    fn array(&mut self, type_: &Type) -> ArrayRef {
        match self {
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Bytes(builder) => Arc::new(builder.finish()),
            Self::List(values) => values_array(type_, std::mem::take(values)),
        }
    }
}

/// The values as an array of nested lists of texts or bytes. The type determines the depth.
fn values_array(type_: &Type, values: Vec<ParameterValue>) -> ArrayRef {
    let TypeKind::List(item) = &type_.kind else {
        let mut builder = ColumnBuilder::new(type_);
        values.into_iter().for_each(|value| builder.push(value));
        return builder.array(type_);
    };
    let nulls: NullBuffer = values.iter().map(|value| matches!(value, ParameterValue::List(_))).collect();
    let (mut items, mut offsets) = (Vec::new(), vec![0i32]);
    for value in values {
        if let ParameterValue::List(list) = value {
            items.extend(list);
        }
        // A batch has some megabytes, so the offsets fit into 32 bits.
        offsets.push(items.len() as i32);
    }
    let items = values_array(item, items);
    let field = Arc::new(Field::new("item", items.data_type().clone(), true));
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Arc::new(ListArray::new(field, offsets, items, Some(nulls)))
}

/// Whether the INSERT must cast a column of this Arrow type, because its values are texts.
pub fn needs_cast(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::List(_))
}
