//! Rows in the types of a table's columns: each value is exact, or an error that names its column and row.
//!
//! For databases whose libraries take Arrow's batches and round or wrap what does not fit: DuckDB and ADBC's drivers.

mod array;
mod leaf;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Fields, Schema, SchemaRef};

use self::array::Unfit;
use super::{check, unsupported_column};
use crate::{Batch, Error, ErrorKind, Keep, ResultStream, Stats};

const ADVICE: &str = "convert the data: dtype={…: …}; spec/TYPES.md lists what a column accepts";

/// The same rows, with the columns' types of `targets`, in order. `types` are the database's names of these types, for
/// errors. The names of the columns stay those of the data.
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
    let mut fields = Vec::with_capacity(targets.len());
    for ((own, target), shown) in from.fields().iter().zip(targets).zip(&types) {
        if !array::can_fit(own.data_type(), target.data_type()) {
            let what = format!("a column of type {shown} cannot hold values of {} exactly", own.data_type());
            return Err(unsupported_column(own.name(), &what, ADVICE));
        }
        fields.push(Arc::new(target.as_ref().clone().with_name(own.name()).with_nullable(true)));
    }
    let schema = Arc::new(Schema::new(Fields::from(fields)));
    Ok(Box::new(Fitted { stream, schema, types, rows: 0 }))
}

struct Fitted {
    stream: Box<dyn ResultStream>,
    schema: SchemaRef,
    types: Vec<String>,
    /// Rows of the batches so far.
    rows: u64,
}

impl ResultStream for Fitted {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self, keep: Keep<'_>) -> Result<Option<Batch>, Error> {
        let Some(batch) = self.stream.next(keep)? else { return Ok(None) };
        let batch = batch.decode()?;
        let mut columns = Vec::with_capacity(batch.num_columns());
        // The first row that has a misfit, as a writer of rows would find it.
        let mut first: Option<(usize, Error)> = None;
        for ((column, field), shown) in batch.columns().iter().zip(self.schema.fields()).zip(&self.types) {
            match array::fit(column, field.data_type(), None, shown) {
                Ok(made) => columns.push(made),
                Err(Unfit::Failed(cause)) => {
                    let what = format!("it cannot become {shown}: {cause}");
                    return Err(unsupported_column(field.name(), &what, ADVICE));
                }
                Err(Unfit::Value(row, misfit)) if first.as_ref().is_none_or(|(before, _)| row < *before) => {
                    first = Some((row, misfit.at(field.name(), self.rows + row as u64 + 1)));
                }
                Err(Unfit::Value(..)) => {}
            }
        }
        if let Some((_, error)) = first {
            return Err(error);
        }
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
