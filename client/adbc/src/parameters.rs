//! The rows of bound data as sets of parameters.

use adbc_core::error::{Error, Result, Status};
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Field};
use colonnade_client::{Parameters, Value};

use crate::error::refused;
use crate::value::value;

/// What a statement's placeholders stand for, one execution a row.
pub(crate) struct ParameterRows {
    reader: Box<dyn RecordBatchReader + Send>,
    /// Whether columns stand for `$name`; otherwise they do for `$1`, `$2`, …, in their order.
    by_name: bool,
    /// The batch at hand, and its next row.
    batch: Option<(RecordBatch, usize)>,
}

impl ParameterRows {
    pub(crate) fn new(reader: Box<dyn RecordBatchReader + Send>, by_name: bool) -> Self {
        Self { reader, by_name, batch: None }
    }

    fn parameters(&self, batch: &RecordBatch, row: usize) -> Result<Parameters> {
        let columns = batch.schema_ref().fields().iter().zip(batch.columns());
        let mut values = columns.enumerate().map(|(place, (field, column))| {
            let name = if self.by_name { field.name().clone() } else { (place + 1).to_string() };
            match cell(field, column, row) {
                Ok(value) => Ok((name, value)),
                Err(what) => Err(refused(Status::InvalidArguments, format!("parameter ${name}: {what}"))),
            }
        });
        if self.by_name {
            return values.collect::<Result<_>>().map(Parameters::Named);
        }
        values.try_fold(Vec::new(), push).map(Parameters::Positional)
    }
}

fn push(mut values: Vec<Value>, value: Result<(String, Value)>) -> Result<Vec<Value>> {
    values.push(value?.1);
    Ok(values)
}

/// The value in a row, which may be one of a dictionary.
fn cell(field: &Field, column: &dyn Array, row: usize) -> std::result::Result<Value, String> {
    match column.as_any_dictionary_opt() {
        Some(dictionary) if dictionary.is_valid(row) => {
            let key = column.slice(row, 1).as_any_dictionary().normalized_keys()[0];
            value(field, dictionary.values(), key)
        }
        _ => value(field, column, row),
    }
}

impl Iterator for ParameterRows {
    type Item = Result<Parameters>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((batch, row)) = self.batch.take()
                && row < batch.num_rows()
            {
                let parameters = self.parameters(&batch, row);
                self.batch = Some((batch, row + 1));
                return Some(parameters);
            }
            match self.reader.next()? {
                Ok(batch) => self.batch = Some((batch, 0)),
                Err(error) => return Some(Err(unreadable(&error))),
            }
        }
    }
}

/// Whoever bound the stream cannot deliver it.
fn unreadable(error: &ArrowError) -> Error {
    refused(Status::InvalidData, format!("the bound stream cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{DictionaryArray, Int64Array, RecordBatchIterator};

    use super::*;

    fn rows(by_name: bool) -> ParameterRows {
        let words = DictionaryArray::<Int32Type>::from_iter([Some("a"), None, Some("b"), Some("a")]);
        let columns: [(_, Arc<dyn Array>); 2] =
            [("i", Arc::new(Int64Array::from(vec![1, 2, 3, 4]))), ("w", Arc::new(words))];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let (schema, parts) = (batch.schema(), [batch.slice(0, 1), batch.slice(1, 0), batch.slice(1, 3)]);
        ParameterRows::new(Box::new(RecordBatchIterator::new(parts.map(Ok), schema)), by_name)
    }

    #[test]
    fn each_row_is_a_set() {
        let text = |text: &str| Value::Text(text.to_owned());
        let sets: Vec<_> = rows(false).collect::<Result<_>>().unwrap();
        let expected = [text("a"), Value::Null, text("b"), text("a")];
        let expected = expected.into_iter().zip(1..).map(|(word, i)| vec![Value::Integer(i), word]);
        assert_eq!(sets, expected.map(Parameters::Positional).collect::<Vec<_>>());
        let named = rows(true).next().unwrap().unwrap();
        assert_eq!(named, Parameters::Named(vec![("i".to_owned(), Value::Integer(1)), ("w".to_owned(), text("a"))]));
    }
}
