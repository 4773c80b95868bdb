//! Rows as text: RowDescription and DataRow messages.

use crate::copy::{Context, lines};
use crate::error::Failure;
use crate::message::backend;
use crate::oid;

/// What a column that has no text is refused for.
const FORMAT: &str = "a text result";
/// The length of a NULL.
const NULL: [u8; 4] = (-1i32).to_be_bytes();

/// Sends the rows; gives their number.
pub fn write(mut context: Context<'_>) -> Result<u64, Failure> {
    let schema = lines::schema(context.rows.as_ref());
    let fields = schema.fields();
    let count = i16::try_from(fields.len()).map_err(|_| Failure::TooManyColumns(fields.len()))?.to_be_bytes();
    lines::check(&schema, FORMAT)?;
    let columns = fields.iter().map(|field| (field.name().as_str(), oid::of(field)));
    backend::row_description(context.output.buffer(), columns);
    let mut sent = 0;
    while let Some(batch) = context.next()? {
        let columns = lines::columns(&schema, &batch, FORMAT)?;
        for row in 0..batch.num_rows() {
            backend::message(context.output.buffer(), b'D', |out| {
                out.extend_from_slice(&count);
                for column in &columns {
                    if column.is_null(row) {
                        out.extend_from_slice(&NULL);
                        continue;
                    }
                    let start = out.len();
                    out.extend_from_slice(&[0; 4]);
                    column.write_text(row, out);
                    let length = (out.len() - start - 4) as u32;
                    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
                }
            });
            context.output.flush_if_full()?;
        }
        context.output.flush()?;
        sent += batch.num_rows() as u64;
    }
    Ok(sent)
}
