//! What the formats share: the result, and the client that it is sent to.

use colonnade_wire::LinkEstimate;

use crate::connection::cancel::Control;
use crate::connection::output::Output;
use crate::engine::Rows;
use crate::error::Failure;
use crate::value::TextStyle;

/// What a format needs to send a result.
pub(crate) struct Context<'a> {
    pub output: &'a mut Output,
    pub control: &'a Control,
    pub encode_cpu: f64,
    pub text_style: TextStyle,
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
