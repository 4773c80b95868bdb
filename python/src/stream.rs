//! `colonnade._core.Stream`: the answer to a query, read once.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use arrow_array::StructArray;
use arrow_schema::{DataType, Field, SchemaRef};
use client::arrow_stream::{self, Release};
use client::dtype::Dtype;
use client::{Cancel, ChunkLimits, ContinueCheck, Error, ErrorKind, ResultStream, WriteTarget};
use colonnade_client as client;
use colonnade_interop::rows::RowStream;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::error::{from_py, to_py};
use crate::ffi_stream::struct_field;
use crate::observed::Observed;
use crate::options::limit;
use crate::rare_types::{find_rare_types, kind};
use crate::signals::wait;
use crate::table::{Batch, Table};
use crate::watch::Watch;
use crate::{capsule, ffi_stream, gathered};

mod shared;

use shared::{Consumer, Rest, Shared, ToldFailure};

/// A schema and batches.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Stream {
    shared: Arc<Shared>,
    schema: SchemaRef,
    name: String,
    server: String,
}

impl Stream {
    /// # Errors
    /// A column has a form that Arrow's C interface cannot carry.
    pub(crate) fn new(py: Python<'_>, source: Box<dyn ResultStream>, name: &str, server: &str) -> PyResult<Self> {
        let schema = source.schema().clone();
        client::export::check_schema(&schema).map_err(|error| to_py(py, &error.with_origin(name)))?;
        let shared = Arc::new(Shared::new(source));
        Ok(Self { shared, schema, name: name.to_owned(), server: server.to_owned() })
    }

    /// Closes the stream after an error. An exception of a signal handler may have dropped a batch, so what follows
    /// would be a part of the result.
    fn or_close<T>(&self, py: Python<'_>, read: PyResult<T>) -> PyResult<T> {
        read.inspect_err(|_| py.detach(|| self.shared.close()))
    }

    /// The unread rest. This stream must not be read afterwards.
    pub(crate) fn rest(&self) -> Box<dyn ResultStream> {
        Box::new(Rest { consumer: Consumer(self.shared.clone()), schema: self.schema.clone() })
    }
}

#[pymethods]
impl Stream {
    /// Reads the stream of another library. `cancel` is called, without arguments, to stop the producer. `meanings` has
    /// the SQLSTATE and the message of errors, by the beginning of the producer's text. They are data, because a
    /// consumer may hold the interpreter lock while it waits for the producer, so Python cannot be called then. `notes`
    /// are added to the metadata of fields: a key and a value, by the place of the field. `finish` is called once, with
    /// whether all rows were read; if it is given, a stream without columns is refused. No batch has more than
    /// `chunk_rows` rows, or more than `chunk_bytes` plain bytes unless it has a single row. The second object knows
    /// when the producer is free.
    #[staticmethod]
    #[pyo3(signature = (producer, name, server, *, cancel=None, meanings=None, notes=None, finish=None, chunk_rows=None, chunk_bytes=None))]
    #[allow(clippy::too_many_arguments, reason = "each has its name at the call")]
    fn from_arrow(
        py: Python<'_>,
        producer: &Bound<'_, PyAny>,
        name: &str,
        server: &str,
        cancel: Option<Py<PyAny>>,
        meanings: Option<arrow_stream::Meanings>,
        notes: Option<arrow_stream::FieldNotes>,
        finish: Option<Py<PyAny>>,
        chunk_rows: Option<usize>,
        chunk_bytes: Option<usize>,
    ) -> PyResult<(Self, Production)> {
        let rows = RowStream::taken(producer)?;
        // The producer may run part of the query to learn the schema.
        let finish = finish.map(|finish| -> arrow_stream::Finish {
            Box::new(move |is_complete| {
                let call =
                    |py: Python<'_>| finish.call1(py, (is_complete,)).map(drop).map_err(|error| from_py(py, &error));
                Python::attach(call)
            })
        });
        let options = arrow_stream::PullOptions {
            limits: ChunkLimits { rows: chunk_rows, bytes: chunk_bytes },
            name: name.to_owned(),
            canceller: Arc::new(Callback(cancel)),
            notes: notes.unwrap_or_default(),
            finish,
            meanings: meanings.unwrap_or_default(),
        };
        let opened = py.detach(|| match rows {
            RowStream::Arrow(stream) => arrow_stream::take(stream, options),
            RowStream::Vectors(schema, batches) => {
                let batches = batches.map(|batch| batch.map_err(|error| gathered::of_query(&error)));
                arrow_stream::take_batches(schema, batches, options)
            }
        });
        let (source, release) = opened.map_err(|error| to_py(py, &error))?;
        let stream = Self::new(py, Box::new(source), name, server)?;
        let production = Production { shared: Arc::downgrade(&stream.shared), release };
        Ok((stream, production))
    }

    /// The columns' names.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// For each column, the types in it that some libraries and files lack: interval, decimal256, nested, binary.
    #[getter]
    fn rare_types(&self) -> Vec<Vec<&'static str>> {
        let within = |field: &Arc<Field>| {
            let mut found = Vec::new();
            find_rare_types(field.data_type(), &mut found);
            found
        };
        self.schema.fields().iter().map(within).collect()
    }

    /// For each column the kind of its values: the name of a type of Python's, or None.
    #[getter]
    fn kinds(&self) -> Vec<Option<&'static str>> {
        self.schema.fields().iter().map(|field| kind(field)).collect()
    }

    /// Whether it is neither closed nor read to its end.
    #[getter]
    fn is_open(&self, py: Python<'_>) -> bool {
        py.detach(|| self.shared.is_open())
    }

    /// Ends the stream. A query that still runs is cancelled.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.shared.close());
    }

    /// The next batch, or None after the last. `progress` is called as by `read`, with the counts before this batch.
    #[pyo3(signature = (progress=None))]
    fn next(&self, py: Python<'_>, progress: Option<Bound<'_, PyAny>>) -> PyResult<Option<Batch>> {
        let watch = Watch::new(progress.map(Bound::unbind));
        let batch = watch.wait(py, |keep| {
            watch.note(|| self.shared.stats());
            self.shared.next_decoded(keep)
        });
        Ok(self.or_close(py, batch)?.map(Batch))
    }

    /// All unread batches: decoded as they arrive, or kept encoded until a column is read. `progress` is called about
    /// ten times a second with the numbers of rows and of bytes received up to now. An exception that it raises ends
    /// the stream.
    #[pyo3(signature = (decode, progress=None))]
    fn read(&self, py: Python<'_>, decode: bool, progress: Option<Bound<'_, PyAny>>) -> PyResult<Table> {
        let watch = Watch::new(progress.map(Bound::unbind));
        let batches = watch.wait(py, |keep| {
            let mut batches = Vec::new();
            while let Some(batch) = self.shared.next(keep)? {
                let part = batch.part();
                batches.push((part, if decode { self.shared.decoded(batch)?.into() } else { batch }));
                watch.note(|| self.shared.stats());
            }
            // Parts arrive at the same time; the rows of each part are in order.
            batches.sort_by_key(|(part, _)| *part);
            Ok(batches.into_iter().map(|(_, batch)| batch).collect())
        });
        Ok(Table { schema: self.schema.clone(), batches: self.or_close(py, batches)? })
    }

    /// The same rows with some columns in other types. Each conversion is a column's number, a type (a name, or an
    /// object with `__arrow_c_schema__`) and whether values may change. This stream must not be read afterwards.
    fn converted(&self, py: Python<'_>, dtypes: Vec<(usize, Bound<'_, PyAny>, bool)>) -> PyResult<Self> {
        let dtypes = dtypes
            .into_iter()
            .map(|(index, given, lossy)| Ok((index, dtype(&given, lossy)?)))
            .collect::<PyResult<Vec<(usize, Dtype)>>>()?;
        let rest = self.rest();
        // An error drops the rest, which cancels the query.
        let converted = py.detach(|| client::dtype::convert(rest, &dtypes));
        let converted = converted.map_err(|error| to_py(py, &error.with_origin(&self.name)))?;
        Self::new(py, converted, &self.name, &self.server)
    }

    /// The same rows with Arrow's extension types for UUIDs and JSON that arrive as texts, as far as the columns'
    /// metadata states them. This stream must not be read afterwards.
    fn logical(&self, py: Python<'_>) -> PyResult<Self> {
        Self::new(py, client::logical(self.rest()), &self.name, &self.server)
    }

    /// The same rows with texts and bytes as views, which polars has in memory, except within other types. This stream
    /// must not be read afterwards.
    fn with_views(&self, py: Python<'_>) -> PyResult<Self> {
        Self::new(py, client::dtype::with_views(self.rest()), &self.name, &self.server)
    }

    /// The same rows, with a limit for the bytes of all columns. This stream must not be read afterwards.
    fn limited(&self, bytes: &Bound<'_, PyAny>) -> PyResult<Self> {
        let limited = client::limited(self.rest(), limit(bytes)?.unwrap_or(u64::MAX));
        Self::new(bytes.py(), limited, &self.name, &self.server)
    }

    /// The same rows. `report` is called after each batch with the numbers of rows and of bytes of the columns up to
    /// now; an exception that it raises ends the stream. `failed` is called with the exception that ends the stream,
    /// whoever reads it. Both are called by the thread that reads. This stream must not be read afterwards.
    fn observed(&self, py: Python<'_>, report: Option<Py<PyAny>>, failed: Py<PyAny>) -> PyResult<Self> {
        let observed = Observed::new(self.rest(), report, failed);
        Self::new(py, Box::new(observed), &self.name, &self.server)
    }

    /// The same rows in the types of a table's columns: each value is exact, or an error that names its column and row.
    /// `schema` (an object with `__arrow_c_schema__`) has the types in the order of the columns, `types` their names in
    /// the database. This stream must not be read afterwards.
    fn fitted(&self, py: Python<'_>, schema: &Bound<'_, PyAny>, types: Vec<String>) -> PyResult<Self> {
        let DataType::Struct(targets) = capsule::take_type(schema)? else {
            return Err(PyTypeError::new_err("a schema must be a struct of columns"));
        };
        let fitted = client::fitted(self.rest(), &targets, types);
        Self::new(py, fitted.map_err(|error| to_py(py, &error.with_origin(&self.name)))?, &self.name, &self.server)
    }

    /// Raises an error if the target of a write does not fit the columns: see `client::check_target`.
    fn check_target(&self, py: Python<'_>, if_exists: &str, key: Vec<String>) -> PyResult<()> {
        let checked = if_exists.parse().and_then(|if_exists| {
            let target = WriteTarget { schema: None, table: String::new(), if_exists, key, temporary: false };
            client::check_target(&target, &self.schema)
        });
        checked.map_err(|error| to_py(py, &error))
    }

    /// Ends the stream for a consumer of its capsule, also while that waits for a batch. It may be called from any
    /// thread.
    fn interrupt(&self) {
        self.shared.interrupt();
    }

    /// The exception of the last error that a consumer of the capsule got as text, once. It is the error of `source`,
    /// unless it has one.
    fn failure<'py>(&self, py: Python<'py>, source: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let failure = self.shared.take_failure();
        let exception = match failure {
            None => return Ok(None),
            Some(ToldFailure::Error(error)) => to_py(py, &error),
            Some(ToldFailure::Exception(exception)) => exception,
        };
        let exception = exception.into_value(py).into_bound(py).into_any();
        if exception.getattr_opt("source")?.is_some_and(|named| named.is_none()) {
            exception.setattr("source", source)?;
        }
        Ok(Some(exception))
    }

    /// Counts of what was read so far.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = py.detach(|| self.shared.stats());
        let dict = PyDict::new(py);
        dict.set_item("rows", stats.rows)?;
        dict.set_item("chunks", stats.chunks)?;
        dict.set_item("wire_bytes", stats.wire_bytes)?;
        dict.set_item("seconds_to_schema", stats.to_schema.as_secs_f64())?;
        dict.set_item("seconds", stats.elapsed.as_secs_f64())?;
        dict.set_item("encodings", self.names().into_iter().zip(stats.encodings).collect::<Vec<_>>())?;
        dict.set_item("codecs", stats.codecs)?;
        dict.set_item("configurations", stats.configurations)?;
        dict.set_item("configuration", stats.configuration)?;
        dict.set_item("rows_from", stats.rows_from)?;
        dict.set_item("source", &self.name)?;
        dict.set_item("server", &self.server)?;
        Ok(dict)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, &*self.schema)
    }

    /// The unread batches. The schema is always the stream's own: Arrow allows a producer to ignore a requested one.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let field = struct_field(&self.schema);
        let shared = Consumer(self.shared.clone());
        let caller = thread::current().id();
        let next = move || {
            let pull = |keep: ContinueCheck<'_>| {
                let batch = shared.0.next_decoded(&mut || keep() && !shared.0.is_interrupted())?;
                Ok(batch.map(|batch| Arc::new(StructArray::from(batch)) as _))
            };
            // The thread that asked for the capsule may hold the interpreter lock, and releases it for the wait. Any
            // other thread must not take the lock: the thread that holds it may be waiting for this one.
            let waited = if thread::current().id() == caller {
                Python::try_attach(|py| {
                    // As in `Stream::or_close`.
                    let pulled = wait(py, pull).inspect_err(|_| py.detach(|| shared.0.close()));
                    pulled.map_err(|exception| shared.0.told(ToldFailure::Exception(exception)))
                })
            } else {
                None
            };
            waited.unwrap_or_else(|| pull(&mut || true).map_err(|error| shared.0.told(ToldFailure::Error(error))))
        };
        capsule::stream(py, ffi_stream::export(field, Box::new(next)))
    }
}

/// A producer's work for a stream. It may end a moment after the stream, and must not keep the stream alive.
#[pyclass(frozen, module = "colonnade._core")]
pub(crate) struct Production {
    shared: Weak<Shared>,
    release: Release,
}

#[pymethods]
impl Production {
    /// Whether the stream is still open.
    #[getter]
    fn is_open(&self, py: Python<'_>) -> bool {
        self.shared.upgrade().is_some_and(|shared| py.detach(|| shared.is_open()))
    }

    /// Closes the stream, also for a consumer of its capsule; False if a reader waits for its next batch for longer
    /// than `seconds`.
    fn close(&self, py: Python<'_>, seconds: f64) -> bool {
        let limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
        self.shared.upgrade().is_none_or(|shared| py.detach(|| shared.close_within(limit)))
    }

    /// Waits until the producer is released; False if that takes longer than `seconds`.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        let limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
        py.detach(|| self.release.wait(limit))
    }
}

fn dtype(given: &Bound<'_, PyAny>, lossy: bool) -> PyResult<Dtype> {
    if let Ok(name) = given.extract::<String>() {
        let dtype: Dtype = name.parse().map_err(|error| to_py(given.py(), &error))?;
        return Ok(Dtype { lossy: dtype.lossy || lossy, ..dtype });
    }
    Ok(Dtype { target: capsule::take_type(given)?, lossy })
}

/// A Python function that stops a producer, or nothing.
struct Callback(Option<Py<PyAny>>);

impl Cancel for Callback {
    fn cancel(&self) -> Result<(), Error> {
        let Some(call) = &self.0 else { return Ok(()) };
        // An interpreter that is shutting down stops the producer in its own way.
        let called = Python::try_attach(|py| {
            // A stream may be released while an exception is being handled, which must survive the call.
            let pending = PyErr::take(py);
            let called = call.call0(py).map(drop);
            if let Some(pending) = pending {
                pending.restore(py);
            }
            called
        });
        match called {
            Some(Err(cause)) => {
                Err(Error::new(ErrorKind::Database, "the running query could not be stopped").with_cause(cause))
            }
            Some(Ok(())) | None => Ok(()),
        }
    }
}
