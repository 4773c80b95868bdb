//! A result whose columns have Arrow's extension types for what their metadata states, for files that keep them:
//! Parquet has logical types of UUIDs and JSON, and a reader of the result gets their texts.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use crate::arrow_form::children;
use crate::write::exact_array::{ArrayTarget, convert_columns};
use crate::{Batch, ContinueCheck, Error, ErrorKind, ResultStream, Stats, TYPE_NAME_KEY};

/// The same rows. A text that is no UUID where the metadata states one is an error that names its column and row.
pub fn logical(stream: Box<dyn ResultStream>) -> Box<dyn ResultStream> {
    let from = stream.schema().clone();
    let targets: Vec<_> = from.fields().iter().map(target).collect();
    if targets.iter().all(Option::is_none) {
        return stream;
    }
    let field = |(own, target): (&FieldRef, &Option<ArrayTarget>)| match target {
        Some(target) => target.field.clone(),
        None => own.clone(),
    };
    let fields: Fields = from.fields().iter().zip(&targets).map(field).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, from.metadata().clone()));
    Box::new(Logical { stream, schema, targets, rows: 0 })
}

/// `None` if the column stays as it is.
fn target(column: &FieldRef) -> Option<ArrayTarget> {
    let target = ArrayTarget { field: stated(column)?, type_name: String::new() };
    target.check(column).is_ok().then_some(target)
}

fn stated(field: &FieldRef) -> Option<FieldRef> {
    let name = field.metadata().get(TYPE_NAME_KEY).map(String::as_str);
    let (data_type, extension) = match (field.data_type(), name) {
        (DataType::Utf8, Some("UUID")) => (DataType::FixedSizeBinary(16), Some("arrow.uuid")),
        (DataType::Utf8, Some("JSON")) => (DataType::Utf8, Some("arrow.json")),
        (nested, _) => (children(nested, &mut |_, child| stated(child))?, None),
    };
    let mut made = Field::clone(field).with_data_type(data_type);
    if let Some(extension) = extension {
        made.metadata_mut().insert(EXTENSION_TYPE_NAME_KEY, extension);
        made.metadata_mut().insert(EXTENSION_TYPE_METADATA_KEY, "");
    }
    Some(Arc::new(made))
}

struct Logical {
    stream: Box<dyn ResultStream>,
    schema: SchemaRef,
    targets: Vec<Option<ArrayTarget>>,
    /// Rows of the batches so far.
    rows: u64,
}

impl ResultStream for Logical {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self, keep: ContinueCheck<'_>) -> Result<Option<Batch>, Error> {
        let Some(batch) = self.stream.next(keep)? else { return Ok(None) };
        let (part, batch) = (batch.part(), batch.decode()?);
        let columns = convert_columns(&batch, self.rows, |place, array, field| match &self.targets[place] {
            Some(target) if target.field.data_type() != array.data_type() => target.convert(array, field),
            _ => Ok(array.clone()),
        })?;
        self.rows += batch.num_rows() as u64;
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let made = RecordBatch::try_new_with_options(self.schema.clone(), columns, &rows);
        let wrong =
            |cause| Error::new(ErrorKind::Unsupported, "a batch has other columns than its schema").with_cause(cause);
        Ok(Some(Batch::from(made.map_err(wrong)?).of_part(part)))
    }

    fn stats(&self) -> Stats {
        self.stream.stats()
    }
}
