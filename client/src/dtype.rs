//! Converts columns to the types of the option `dtype`. It wraps a result in another one: a batch carries the plan, and
//! a column is converted when it is decoded. Sources and destinations do not depend on it.
//!
//! A conversion is *exact*: every value can be converted back unchanged. A value for which this is not so ends the
//! result with an error that names it. A `lossy` conversion takes the nearest value instead: towards zero for an
//! integer, the earlier one for a time. A value without a near value, such as a number out of range, is an error in
//! both cases. No value becomes NULL.

mod codes;
mod column;
mod float;
mod kind;
mod name;
mod number;
mod temporal;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

use crate::arrow_form::is_known_extension;
use crate::{Batch, ContinueCheck, Error, ErrorKind, ResultStream, Stats};

/// A type that a column gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dtype {
    /// The type.
    pub target: DataType,
    /// Whether values may change.
    pub lossy: bool,
}

/// The conversions of one result.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The source's schema.
    from: SchemaRef,
    /// For each column its new type, if it gets one.
    columns: Vec<Option<Dtype>>,
}

impl Plan {
    /// Whether a column gets a type that codes of its values make; `None` if it gets none.
    pub(crate) fn takes_codes(&self, index: usize) -> Option<bool> {
        let dtype = self.columns.get(index)?.as_ref()?;
        Some(codes::make(self.from.field(index).data_type(), &dtype.target))
    }

    /// Converts one column of a batch. `first_row` is the number of rows before the batch.
    pub(crate) fn convert(&self, index: usize, array: ArrayRef, first_row: u64) -> Result<ArrayRef, Error> {
        let Some(dtype) = self.columns.get(index).and_then(Option::as_ref) else { return Ok(array) };
        column::convert(&array, dtype).map_err(|fault| {
            let (name, target) = (self.from.field(index).name(), name::of(&dtype.target));
            let place = |row: usize| {
                format!("column {name:?}, row {}: {}", first_row + row as u64 + 1, column::shown(&array, row))
            };
            let (message, hint) = match fault {
                column::ConversionError::Changed(row) => (
                    format!("{} is not exact as {target}", place(row)),
                    format!("lossy:{target} allows the nearest value; or choose a type that represents every value"),
                ),
                column::ConversionError::Impossible(row) => (
                    format!("{} is no value of {target}", place(row)),
                    "choose a type that represents every value, or convert the column in the query".to_owned(),
                ),
                column::ConversionError::Failed(cause) => (
                    format!("column {name:?} cannot be {target}: {cause}"),
                    "convert the column in the query".to_owned(),
                ),
            };
            Error::new(ErrorKind::Database, message).with_sqlstate("22000").with_hint(hint)
        })
    }
}

/// The same rows with some columns, by number, in other types. If a column has several types, the last one counts.
///
/// # Errors
/// There is no such column, or its values can never have the type.
pub fn convert(stream: Box<dyn ResultStream>, dtypes: &[(usize, Dtype)]) -> Result<Box<dyn ResultStream>, Error> {
    let from = stream.schema().clone();
    let mut columns = vec![None; from.fields().len()];
    let mut fields = from.fields().to_vec();
    for (index, dtype) in dtypes {
        let Some(field) = from.fields().get(*index) else {
            return Err(Error::new(ErrorKind::Usage, format!("the result has no column number {index}")));
        };
        if let Err(why) = kind::possible(field.data_type(), &dtype.target) {
            let (name, own, target) = (field.name(), name::of(field.data_type()), name::of(&dtype.target));
            let message = format!("column {name:?} is {own} and cannot be {target}: {why}");
            return Err(Error::new(ErrorKind::Unsupported, message)
                .with_hint("convert the column in the query, or read it as it is"));
        }
        fields[*index] = Arc::new(retyped(field, &dtype.target));
        columns[*index] = Some(dtype.clone());
    }
    Ok(Box::new(Converted::new(stream, columns, fields.into())))
}

/// The same rows with texts and bytes as views, except within other types. Columns keep what their metadata says.
pub fn with_views(stream: Box<dyn ResultStream>) -> Box<dyn ResultStream> {
    let from = stream.schema().clone();
    let target = |field: &Field| match field.data_type() {
        DataType::Utf8 => Some(DataType::Utf8View),
        DataType::Binary => Some(DataType::BinaryView),
        _ => None,
    };
    let targets: Vec<_> = from.fields().iter().map(|field| target(field)).collect();
    if targets.iter().all(Option::is_none) {
        return stream;
    }
    let fields = from.fields().iter().zip(&targets).map(|(field, target)| match target {
        Some(target) => Arc::new(Field::clone(field).with_data_type(target.clone())),
        None => field.clone(),
    });
    let fields = fields.collect();
    let columns = targets.into_iter().map(|target| target.map(|target| Dtype { target, lossy: false }));
    Box::new(Converted::new(stream, columns.collect(), fields))
}

/// The name of a type, as the options have it.
pub(crate) fn name_of(data_type: &DataType) -> String {
    name::of(data_type)
}

/// The metadata describes the meaning of text or bytes. It is kept while the column remains text or bytes.
fn retyped(field: &Field, target: &DataType) -> Field {
    let alike = kind::is_text(field.data_type()) && kind::is_text(target)
        || kind::is_binary(field.data_type()) && kind::is_binary(target);
    let mut metadata = if alike || field.data_type() == target { field.metadata().clone() } else { Default::default() };
    if !is_known_extension(field) {
        // The values alone were asked for.
        metadata.remove(EXTENSION_TYPE_NAME_KEY);
        metadata.remove(EXTENSION_TYPE_METADATA_KEY);
    }
    Field::new(field.name(), target.clone(), field.is_nullable()).with_metadata(metadata)
}

struct Converted {
    stream: Box<dyn ResultStream>,
    plan: Arc<Plan>,
    schema: SchemaRef,
    /// Rows of the batches so far.
    rows: u64,
}

impl Converted {
    /// The rows of `stream` with these types, as these fields.
    fn new(stream: Box<dyn ResultStream>, columns: Vec<Option<Dtype>>, fields: Fields) -> Self {
        let from = stream.schema().clone();
        let schema = Arc::new(Schema::new_with_metadata(fields, from.metadata().clone()));
        Self { stream, plan: Arc::new(Plan { from, columns }), schema, rows: 0 }
    }
}

impl ResultStream for Converted {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self, keep: ContinueCheck<'_>) -> Result<Option<Batch>, Error> {
        let Some(batch) = self.stream.next(keep)? else { return Ok(None) };
        let first_row = self.rows;
        self.rows += batch.rows() as u64;
        Ok(Some(batch.converted(self.schema.clone(), self.plan.clone(), first_row)))
    }

    fn stats(&self) -> Stats {
        self.stream.stats()
    }
}
