//! Rows of text or binary values, gathered into batches.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema};

use super::{CopyDataError, TargetColumn};
use crate::error::Failure;
use crate::limits::budget::{Budget, Charge};
use crate::parameter::{InputError, ParameterValue, from_binary, from_text, most_bytes};
use crate::value::types::{Type, TypeKind};

/// A batch is as large as one of these says.
const ROWS: usize = 122_880;
const BYTES: usize = 16 << 20;
/// By how much the charge for it grows, so that not each value asks.
const STEP: usize = 1 << 20;

/// A value as it is in the data; `None` is NULL.
pub(super) enum Raw<'a> {
    Text(&'a [u8]),
    Binary(&'a [u8]),
}

pub(super) struct Rows {
    targets: Vec<TargetColumn>,
    columns: Vec<Filler>,
    rows: usize,
    bytes: usize,
    /// Rows in batches before.
    before: u64,
    /// For what is in the columns.
    charge: Charge,
}

enum Filler {
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    List(Vec<ParameterValue>),
}

impl Rows {
    pub fn new(targets: Vec<TargetColumn>, budget: &Arc<Budget>) -> Self {
        let columns = targets.iter().map(|target| Filler::new(&target.type_)).collect();
        Self { targets, columns, rows: 0, bytes: 0, before: 0, charge: budget.nothing() }
    }

    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// The number of the row that is being read, from 1.
    fn row(&self) -> u64 {
        self.before + self.rows as u64 + 1
    }

    /// Puts the value into column `at` of the row that is being read.
    pub fn value(&mut self, at: usize, raw: Option<Raw<'_>>) -> Result<(), Failure> {
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
            Raw::Text(bytes) => (bytes, false),
            Raw::Binary(bytes) => (bytes, true),
        };
        let most = most_bytes(&target.type_, bytes, is_binary);
        self.bytes += most;
        charge(&mut self.charge, self.bytes)?;
        let value = match raw {
            Raw::Text(bytes) => {
                let text = std::str::from_utf8(bytes).map_err(|_| wrong(InputError::Encoding))?;
                // Most values are texts that the engine reads as they are.
                if let (
                    Filler::Text(builder),
                    TypeKind::Text | TypeKind::Int2 | TypeKind::Int4 | TypeKind::Int8 | TypeKind::Float8,
                ) = (&mut *column, &target.type_.kind)
                {
                    builder.append_value(text);
                    return Ok(());
                }
                from_text(&target.type_, text)
            }
            Raw::Binary(bytes) => from_binary(&target.type_, bytes),
        };
        let value = value.map_err(wrong)?;
        // A number of few bytes may have many digits.
        self.bytes += value.bytes().saturating_sub(most);
        column.push(value);
        charge(&mut self.charge, self.bytes)
    }

    /// The row is complete, with `width` values.
    pub fn end_row(&mut self, width: usize) -> Result<(), Failure> {
        if let Some(target) = self.targets.get(width) {
            return Err(CopyDataError::Missing { column: target.name.clone(), row: self.row() }.into());
        }
        self.rows += 1;
        self.bytes += 4 * width;
        Ok(())
    }

    pub fn batch(&mut self, all: bool) -> Result<Option<RecordBatch>, Failure> {
        let is_full = self.rows >= ROWS || self.bytes >= BYTES;
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
        self.before += self.rows as u64;
        (self.rows, self.bytes) = (0, 0);
        self.charge.set(0)?;
        Ok(Some(batch))
    }
}

fn charge(charge: &mut Charge, bytes: usize) -> Result<(), Failure> {
    // Builders grow to twice what is in them.
    if 2 * bytes > charge.bytes() {
        charge.set(2 * bytes + STEP)?;
    }
    Ok(())
}

/// What a column is called in a batch, whatever it is called elsewhere.
pub(crate) fn column_name(at: usize) -> String {
    format!("c{at}")
}

impl Filler {
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
            // A value has the form of its type; NULL has none.
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

/// The values as an array: lists of texts or bytes, as deep as the type says.
fn values_array(type_: &Type, values: Vec<ParameterValue>) -> ArrayRef {
    let TypeKind::List(item) = &type_.kind else {
        let mut filler = Filler::new(type_);
        values.into_iter().for_each(|value| filler.push(value));
        return filler.array(type_);
    };
    let nulls: NullBuffer = values.iter().map(|value| matches!(value, ParameterValue::List(_))).collect();
    let (mut items, mut offsets) = (Vec::new(), vec![0i32]);
    for value in values {
        if let ParameterValue::List(list) = value {
            items.extend(list);
        }
        // A batch holds some megabytes.
        offsets.push(items.len() as i32);
    }
    let items = values_array(item, items);
    let field = Arc::new(Field::new("item", items.data_type().clone(), true));
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Arc::new(ListArray::new(field, offsets, items, Some(nulls)))
}

/// Whether a column comes as what it is, and needs no cast.
pub fn is_plain(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Utf8 | DataType::List(_))
}
