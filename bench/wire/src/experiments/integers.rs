//! Table 6: the integer columns of each table, packed in different ways.
//!
//! As in the paper, they are integers of 4 bytes. lineitem's decimals are included, scaled. Columns with values that do
//! not fit are omitted.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, ArrowPrimitiveType, Int32Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use serde_json::Value;

use super::{Entry, measure};
use crate::args::Args;
use crate::codec::Codec;
use crate::layout::integers::{Integers, Packing};
use crate::layout::monetdb::MonetDb;
use crate::layout::postgresql::PostgreSql;
use crate::table::{self, CHUNK_ROWS, Table};
use crate::{Result, TABLES};

pub fn run(args: &Args) -> Result<Vec<Value>> {
    let mut entries = Vec::new();
    for codec in [Codec::None, Codec::Snappy] {
        entries.push(Entry::new("MonetDB++", MonetDb, codec));
        entries.push(Entry::new("PostgreSQL++", PostgreSql, codec));
        entries.push(Entry::new("binary packing", Integers(Packing::Binary), codec));
        entries.push(Entry::new("PFOR", Integers(Packing::Pfor), codec));
    }
    for config in ["light", "light+lz4", "light+zstd-1"] {
        entries.push(Entry::colonnade(config)?);
    }
    let mut measured = Vec::new();
    for name in args.tables_or(&TABLES) {
        let integers = integer_columns(&table::read(&name, args)?)?;
        let table = Table::cut(&name, &integers, CHUNK_ROWS, args.chunk_bytes)?;
        measured.extend(measure("integers", &table, &entries, args.rounds)?);
    }
    Ok(measured)
}

/// The columns whose values are integers of 4 bytes in all batches, converted to that type.
fn integer_columns(batches: &[RecordBatch]) -> Result<Vec<RecordBatch>> {
    let schema = batches.first().ok_or("the table is empty")?.schema();
    let mut kept = Vec::new();
    let mut columns: Vec<Vec<ArrayRef>> = vec![Vec::new(); batches.len()];
    for (index, field) in schema.fields().iter().enumerate() {
        let narrow: Option<Vec<ArrayRef>> = batches.iter().map(|batch| narrowed(batch.column(index))).collect();
        if let Some(narrow) = narrow {
            kept.push(Field::new(field.name(), DataType::Int32, field.is_nullable()));
            columns.iter_mut().zip(narrow).for_each(|(columns, column)| columns.push(column));
        }
    }
    let schema = Arc::new(Schema::new(kept));
    columns.into_iter().map(|columns| Ok(RecordBatch::try_new(schema.clone(), columns)?)).collect()
}

/// The column as integers of 4 bytes, if it is numeric and all values fit.
fn narrowed(column: &ArrayRef) -> Option<ArrayRef> {
    match column.data_type() {
        DataType::Int16 => narrow::<Int16Type>(column),
        DataType::Int32 => narrow::<Int32Type>(column),
        DataType::Int64 => narrow::<Int64Type>(column),
        DataType::Decimal128(..) => narrow::<Decimal128Type>(column),
        _ => None,
    }
}

fn narrow<T: ArrowPrimitiveType<Native: Into<i128>>>(column: &ArrayRef) -> Option<ArrayRef> {
    // In some of the layouts the smallest integer represents a missing value.
    let fitting = |value: T::Native| i32::try_from(value.into()).ok().filter(|&value| value > i32::MIN);
    let column = column.as_primitive::<T>();
    let mut values = Vec::with_capacity(column.len());
    for value in column {
        values.push(match value {
            Some(value) => Some(fitting(value)?),
            None => None,
        });
    }
    Some(Arc::new(Int32Array::from(values)))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, Decimal128Array, Int16Array, Int64Array, StringArray};

    use super::*;

    #[test]
    fn integers_and_decimals_that_fit_four_bytes_are_kept() -> Result<()> {
        let decimals = Decimal128Array::from(vec![Some(1_050), None]).with_precision_and_scale(15, 2)?;
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("small", Arc::new(Int16Array::from(vec![Some(-3), None])) as ArrayRef, true),
            ("decimal", Arc::new(decimals), true),
            ("fitting", Arc::new(Int64Array::from(vec![1, i64::from(i32::MAX)])), false),
            ("wide", Arc::new(Int64Array::from(vec![1, i64::from(i32::MIN)])), false),
            ("text", Arc::new(StringArray::from(vec!["1", "2"])), false),
        ])?;
        let kept = integer_columns(&[batch])?.remove(0);
        let names: Vec<String> = kept.schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(names, ["small", "decimal", "fitting"]);
        assert_eq!(kept.column(0).as_primitive::<Int32Type>(), &Int32Array::from(vec![Some(-3), None]));
        assert_eq!(kept.column(1).as_primitive::<Int32Type>(), &Int32Array::from(vec![Some(1_050), None]));
        assert!(kept.columns().iter().all(|column| column.data_type() == &DataType::Int32));
        Ok(())
    }
}
