//! Columnar formats carry keys of types that the engine lacks as the texts of their values (TYPES.md).

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, LargeListArray, ListArray, MapArray, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use super::lines;
use crate::engine::{EngineError, Rows};
use crate::error::SqlState;
use crate::value::{ColumnWriter, LogicalType, TextStyle, logical_type};

/// The rows with texts instead of keys.
pub(crate) fn without_keys(rows: Box<dyn Rows>) -> Box<dyn Rows> {
    let described = lines::described_schema(rows.as_ref());
    if !described.fields().iter().any(|field| has_keys(field)) {
        return rows;
    }
    let plain = rows.schema();
    let fields = described.fields().iter().zip(plain.fields());
    let fields: Fields = fields.map(|(described, plain)| target(described, plain)).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, plain.metadata().clone()));
    Box::new(Texts { rows, described, schema })
}

struct Texts {
    rows: Box<dyn Rows>,
    /// The fields with the engine's names of types.
    described: Schema,
    schema: SchemaRef,
}

impl Rows for Texts {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn is_gathered(&self) -> bool {
        self.rows.is_gathered()
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        let Some(batch) = self.rows.next()? else { return Ok(None) };
        let columns = self.described.fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, array)| with_texts(field, array)).collect::<Result<_, _>>()?;
        let batch = RecordBatch::try_new(self.schema(), columns).map_err(failed)?;
        Ok(Some(batch))
    }
}

fn failed(error: impl ToString) -> EngineError {
    EngineError::new(SqlState::INTERNAL_ERROR, error.to_string())
}

fn has_keys(field: &Field) -> bool {
    match field.data_type() {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_keys(item),
        DataType::Struct(fields) => fields.iter().any(|field| has_keys(field)),
        _ => matches!(logical_type(field), LogicalType::Keyed(_)),
    }
}

/// The field with texts. `plain` has no more metadata than the engine gives.
fn target(described: &FieldRef, plain: &FieldRef) -> FieldRef {
    let type_ = match (described.data_type(), plain.data_type()) {
        _ if !has_keys(described) => return Arc::clone(plain),
        (DataType::List(item), DataType::List(plain)) => DataType::List(target(item, plain)),
        (DataType::LargeList(item), DataType::LargeList(plain)) => DataType::LargeList(target(item, plain)),
        (DataType::FixedSizeList(item, size), DataType::FixedSizeList(plain, _)) => {
            DataType::FixedSizeList(target(item, plain), *size)
        }
        (DataType::Map(entries, is_sorted), DataType::Map(plain, _)) => {
            DataType::Map(target(entries, plain), *is_sorted)
        }
        (DataType::Struct(fields), DataType::Struct(plain)) => {
            DataType::Struct(fields.iter().zip(plain).map(|(field, plain)| target(field, plain)).collect())
        }
        _ => DataType::Utf8,
    };
    Arc::new(plain.as_ref().clone().with_data_type(type_))
}

fn with_texts(field: &FieldRef, array: &ArrayRef) -> Result<ArrayRef, EngineError> {
    if !has_keys(field) {
        return Ok(Arc::clone(array));
    }
    let nulls = array.nulls().cloned();
    let converted: ArrayRef = match field.data_type() {
        DataType::List(item) => {
            let list = array.as_list::<i32>();
            let values = with_texts(item, list.values())?;
            let item = item_of(list.data_type(), &values);
            Arc::new(ListArray::try_new(item, list.offsets().clone(), values, nulls).map_err(failed)?)
        }
        DataType::LargeList(item) => {
            let list = array.as_list::<i64>();
            let values = with_texts(item, list.values())?;
            let item = item_of(list.data_type(), &values);
            Arc::new(LargeListArray::try_new(item, list.offsets().clone(), values, nulls).map_err(failed)?)
        }
        DataType::FixedSizeList(item, size) => {
            let list = array.as_fixed_size_list();
            let values = with_texts(item, list.values())?;
            let item = item_of(list.data_type(), &values);
            Arc::new(FixedSizeListArray::try_new(item, *size, values, nulls).map_err(failed)?)
        }
        DataType::Map(item, is_sorted) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let entries = with_texts(item, &entries)?;
            let item = item_of(map.data_type(), &entries);
            let (offsets, entries) = (map.offsets().clone(), entries.as_struct().clone());
            Arc::new(MapArray::try_new(item, offsets, entries, nulls, *is_sorted).map_err(failed)?)
        }
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            let columns = columns.map(|(field, array)| with_texts(field, array)).collect::<Result<Vec<_>, _>>()?;
            let plain = array.as_struct().fields().iter().zip(&columns);
            let fields: Fields = plain
                .map(|(field, array)| Arc::new(field.as_ref().clone().with_data_type(array.data_type().clone())))
                .collect();
            Arc::new(StructArray::try_new(fields, columns, nulls).map_err(failed)?)
        }
        _ => texts(field, array)?,
    };
    Ok(converted)
}

fn item_of(list: &DataType, values: &ArrayRef) -> FieldRef {
    match list {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => Arc::new(item.as_ref().clone().with_data_type(values.data_type().clone())),
        _ => Arc::new(Field::new("item", values.data_type().clone(), true)),
    }
}

fn texts(field: &Field, array: &ArrayRef) -> Result<ArrayRef, EngineError> {
    let column = ColumnWriter::new(field, array.as_ref(), "FORMAT colonnade").map_err(failed)?;
    let (mut builder, mut text) = (StringBuilder::new(), Vec::new());
    for row in 0..array.len() {
        if column.is_null(row) {
            builder.append_null();
            continue;
        }
        text.clear();
        column.write_text(row, TextStyle::default(), &mut text).map_err(failed)?;
        builder.append_value(String::from_utf8_lossy(&text));
    }
    Ok(Arc::new(builder.finish()))
}
