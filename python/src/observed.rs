//! A stream that tells Python how far it is, and which error has ended it.

use arrow_schema::SchemaRef;
use client::{Batch, ContinueCheck, Error, ErrorKind, ResultStream, Stats};
use colonnade_client as client;
use pyo3::prelude::*;

use crate::error::to_py;

/// A stream whose batches are decoded here, so that it has the error of a value too.
pub(crate) struct Observed {
    inner: Box<dyn ResultStream>,
    /// Called with the rows and the bytes of the columns up to now, which are also the counts of this stream.
    report: Option<Py<PyAny>>,
    /// Called with the exception that ends the stream.
    failed: Py<PyAny>,
    rows: u64,
    bytes: u64,
}

impl Observed {
    pub(crate) fn new(inner: Box<dyn ResultStream>, report: Option<Py<PyAny>>, failed: Py<PyAny>) -> Self {
        Self { inner, report, failed, rows: 0, bytes: 0 }
    }

    fn decoded(&mut self, keep: ContinueCheck<'_>) -> Result<Option<Batch>, Error> {
        let Some(batch) = self.inner.next(keep)? else { return Ok(None) };
        let batch = Batch::from(batch.decode()?);
        self.rows += batch.rows() as u64;
        if self.report.is_some() {
            self.bytes += batch.bytes();
        }
        Ok(Some(batch))
    }

    fn tell(&self, exception: PyErr) {
        // Without an interpreter, nobody needs it.
        Python::try_attach(|py| self.failed.call1(py, (exception,)).map(drop));
    }
}

impl ResultStream for Observed {
    fn schema(&self) -> &SchemaRef {
        self.inner.schema()
    }

    fn next(&mut self, keep: ContinueCheck<'_>) -> Result<Option<Batch>, Error> {
        let batch = self.decoded(keep).inspect_err(|error| {
            // The exception of an interrupt is raised by the one who waits.
            if error.kind() != ErrorKind::Interrupted
                && let Some(exception) = Python::try_attach(|py| to_py(py, error))
            {
                self.tell(exception);
            }
        })?;
        let counts = (self.rows, self.bytes);
        let report =
            self.report.as_ref().and_then(|report| Python::try_attach(|py| report.call1(py, counts).map(drop)));
        if let Some(Err(exception)) = report {
            self.tell(exception);
            return Err(Error::new(ErrorKind::Interrupted, "the function for the progress has raised an exception"));
        }
        Ok(batch)
    }

    fn stats(&self) -> Stats {
        Stats { rows: self.rows, wire_bytes: self.bytes, ..self.inner.stats() }
    }
}
