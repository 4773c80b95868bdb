//! Sends a result in the format of the COPY.

use super::context::Context;
use super::lines;
use crate::copy::options::{CopyOptions, Format};
use crate::engine::Rows;
use crate::error::Failure;
use crate::message::backend;
use crate::rows;

/// Refuses columns that the format cannot carry, and options that name columns which the result does not have.
pub(crate) fn check(result: &dyn Rows, options: &CopyOptions) -> Result<(), Failure> {
    let (schema, described) = (result.schema(), lines::described_schema(result));
    let columns = schema.fields().len();
    let limit = if options.format.is_columnar() { backend::MAX_COPY_COLUMNS } else { rows::MAX_COLUMNS };
    if columns > limit {
        return Err(rows::TooManyColumns { count: columns, limit }.into());
    }
    match options.format {
        Format::Text => super::text::check(&described),
        Format::Csv => super::csv::check(&described, options),
        Format::Binary => super::binary::check(&described),
        Format::Arrow => super::arrow::check(&schema),
        Format::Colonnade => super::colonnade::check(&schema),
    }
}

/// Sends a result: CopyOutResponse, CopyData…, CopyDone. Gives the number of rows.
///
/// After an error, the client has received only complete messages, so an ErrorResponse can follow.
pub(crate) fn copy_out(mut context: Context<'_>, options: &CopyOptions) -> Result<u64, Failure> {
    if options.format.is_columnar() {
        context.rows = super::texts::without_keys(context.rows);
    }
    check(context.rows.as_ref(), options)?;
    let schema = context.rows.schema();
    let columns = schema.fields().len();
    let response = |context: &mut Context<'_>| {
        backend::copy_out_response(context.output.buffer(), options.format.is_binary(), columns)
    };
    let described = lines::described_schema(context.rows.as_ref());
    let rows = match options.format {
        Format::Text => super::text::write(&mut context, &described, options, response),
        Format::Csv => super::csv::write(&mut context, &described, options, response),
        Format::Binary => super::binary::write(&mut context, &described, response),
        Format::Arrow => super::arrow::write(&mut context, &schema, response),
        Format::Colonnade => super::colonnade::write(&mut context, &schema, &options.colonnade, response),
    }?;
    backend::copy_done(context.output.buffer());
    Ok(rows)
}
