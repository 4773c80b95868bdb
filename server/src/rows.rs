//! Rows of a query: RowDescription and DataRow messages.

use arrow_schema::Schema;

use crate::copy::{Context, lines};
use crate::engine::Rows;
use crate::error::Failure;
use crate::message::backend;
use crate::oid;
use crate::value::{Column, Unsupported};

/// What a column that has no text is refused for.
const TEXT: &str = "a text result";
const BINARY: &str = "a binary result";
/// The length of a NULL.
const NULL: [u8; 4] = (-1i32).to_be_bytes();

/// Which columns are sent in binary: none, all, or one by one, as Bind says.
#[derive(Clone, Debug, Default)]
pub struct Formats(Vec<i16>);

impl Formats {
    /// From Bind's format codes, 0 for text and 1 for binary.
    pub fn new(codes: Vec<i16>) -> Self {
        Self(codes)
    }

    fn is_binary(&self, column: usize) -> bool {
        let code = if self.0.len() == 1 { self.0.first() } else { self.0.get(column) };
        code == Some(&1)
    }
}

/// The columns of a result, if rows can carry them.
pub fn columns(rows: &dyn Rows) -> Result<Schema, Failure> {
    let schema = lines::schema(rows);
    let count = schema.fields().len();
    i16::try_from(count).map_err(|_| Failure::TooManyColumns(count))?;
    lines::check(&schema, TEXT)?;
    Ok(schema)
}

/// Writes RowDescription.
pub fn describe(out: &mut Vec<u8>, schema: &Schema, formats: &Formats) -> Result<(), Failure> {
    for (at, field) in schema.fields().iter().enumerate() {
        let empty = arrow_array::new_empty_array(field.data_type());
        if formats.is_binary(at) && Column::new(field, empty.as_ref(), BINARY)?.binary_oid().is_none() {
            return Err(Unsupported::new(field, BINARY).into());
        }
    }
    let columns = schema.fields().iter().enumerate();
    let columns = columns.map(|(at, field)| (field.name().as_str(), oid::of(field), i16::from(formats.is_binary(at))));
    backend::row_description(out, columns);
    Ok(())
}

/// Sends the rows; gives their number.
pub fn write(context: &mut Context<'_>, schema: &Schema, formats: &Formats) -> Result<u64, Failure> {
    let count = (schema.fields().len() as i16).to_be_bytes();
    let mut sent = 0;
    while let Some(batch) = context.next()? {
        let columns = lines::columns(schema, &batch, TEXT)?;
        for row in 0..batch.num_rows() {
            let buffer = context.output.buffer();
            let start = buffer.len();
            let mut result = Ok(());
            backend::message(buffer, b'D', |out| {
                out.extend_from_slice(&count);
                for (at, column) in columns.iter().enumerate() {
                    if !formats.is_binary(at) {
                        text(column, row, out);
                    } else if result.is_ok() {
                        result = column.write_binary(row, out);
                    }
                }
            });
            if let Err(error) = result {
                buffer.truncate(start);
                return Err(error.into());
            }
            context.output.flush_if_full()?;
        }
        context.output.flush()?;
        sent += batch.num_rows() as u64;
    }
    Ok(sent)
}

fn text(column: &Column<'_>, row: usize, out: &mut Vec<u8>) {
    if column.is_null(row) {
        out.extend_from_slice(&NULL);
        return;
    }
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    column.write_text(row, out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}
