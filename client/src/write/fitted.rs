//! Rows in the types of a table's columns: each value is exact, or an error that names its column and row.
//!
//! For databases whose libraries take Arrow's batches and round or wrap what does not fit: DuckDB and ADBC's drivers.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Fields, Schema, SchemaRef};

use super::check;
use super::exact_array::{ArrayTarget, convert_columns};
use crate::{Batch, ContinueCheck, Error, ErrorKind, ResultStream, Stats};

/// The same rows, with the columns' types of `targets`, in order. `types` are the database's names of these types. The
/// names of the columns stay those of the data.
///
/// # Errors
/// There are no columns, two have one name, or values of a column can never have the type.
pub fn fitted(
    stream: Box<dyn ResultStream>,
    targets: &Fields,
    types: Vec<String>,
) -> Result<Box<dyn ResultStream>, Error> {
    let from = stream.schema().clone();
    check(&from)?;
    if from.fields().len() != targets.len() || types.len() != targets.len() {
        let message = format!("the data has {} columns, and {} types are given", from.fields().len(), targets.len());
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let targets = targets.iter().zip(types).map(|(field, type_name)| ArrayTarget { field: field.clone(), type_name });
    let targets: Vec<_> = targets.collect();
    let mut fields = Vec::with_capacity(targets.len());
    for (own, target) in from.fields().iter().zip(&targets) {
        target.check(own)?;
        fields.push(Arc::new(target.field.as_ref().clone().with_name(own.name()).with_nullable(true)));
    }
    let schema = Arc::new(Schema::new(Fields::from(fields)));
    Ok(Box::new(Fitted { stream, schema, targets, rows: 0 }))
}

struct Fitted {
    stream: Box<dyn ResultStream>,
    schema: SchemaRef,
    targets: Vec<ArrayTarget>,
    /// Rows of the batches so far.
    rows: u64,
}

impl ResultStream for Fitted {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self, keep: ContinueCheck<'_>) -> Result<Option<Batch>, Error> {
        let Some(batch) = self.stream.next(keep)? else { return Ok(None) };
        let batch = batch.decode()?;
        let columns =
            convert_columns(&batch, self.rows, |place, array, field| self.targets[place].convert(array, field))?;
        self.rows += batch.num_rows() as u64;
        let made = RecordBatch::try_new(self.schema.clone(), columns);
        let wrong =
            |cause| Error::new(ErrorKind::Unsupported, "a batch has other columns than its schema").with_cause(cause);
        Ok(Some(made.map_err(wrong)?.into()))
    }

    fn stats(&self) -> Stats {
        self.stream.stats()
    }
}
