//! Sends a result in the format of the COPY.

use colonnade_wire::LinkEstimate;

use super::lines;
use crate::connection::cancel::Control;
use crate::connection::socket::Output;
use crate::copy::options::{CopyOptions, Format};
use crate::engine::Rows;
use crate::error::Failure;
use crate::message::backend;
use crate::rows;
use crate::value::IntervalStyle;

/// The columns that CopyOutResponse can count. Formats with rows have the limit of results as rows.
pub(crate) const MAX_COPY_COLUMNS: usize = i16::MAX as usize;

/// What a format needs to send a result.
pub(crate) struct Context<'a> {
    pub output: &'a mut Output,
    pub control: &'a Control,
    pub encode_cpu: f64,
    pub interval_style: IntervalStyle,
    /// The estimate of the link from the session's earlier streams.
    pub link_estimate: &'a mut Option<LinkEstimate>,
    pub rows: Box<dyn Rows>,
}

impl Context<'_> {
    /// The next batch that has rows.
    pub fn next(&mut self) -> Result<Option<arrow_array::RecordBatch>, Failure> {
        loop {
            self.control.check()?;
            match self.rows.next() {
                Ok(Some(batch)) if batch.num_rows() == 0 => {}
                Ok(batch) => return Ok(batch),
                // An interrupted engine fails. The reason of the interrupt says more than its error.
                Err(error) => {
                    self.control.check()?;
                    return Err(error.into());
                }
            }
        }
    }
}

/// Refuses columns that the format cannot carry, and options that name columns which the result does not have.
pub(crate) fn check(result: &dyn Rows, options: &CopyOptions) -> Result<(), Failure> {
    let (schema, described) = (result.schema(), lines::described_schema(result));
    let columns = schema.fields().len();
    let limit = if options.format.is_columnar() { MAX_COPY_COLUMNS } else { rows::MAX_COLUMNS };
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
