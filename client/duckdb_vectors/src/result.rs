//! One result, while it is gathered and read.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arrow_schema::{ArrowError, Field, Fields, Schema, SchemaRef};

use crate::executor::Executor;
use crate::types::{ColumnType, VectorForm, column_type};

/// The results that are read, by their tokens.
static RESULTS: Mutex<Option<HashMap<String, Weak<VectorResult>>>> = Mutex::new(None);

/// A result that `colonnade_vectors` gathers.
pub struct VectorResult {
    token: String,
    /// DuckDB's names of the columns' types.
    types: Vec<String>,
    schema: SchemaRef,
    columns: Vec<ColumnType>,
    form: VectorForm,
    executors: Mutex<Vec<Arc<Mutex<Executor>>>>,
    /// The rows that have been gathered.
    rows: AtomicU64,
    /// Why rows could not be gathered. DuckDB would give it a class of its own.
    failure: Mutex<Option<ArrowError>>,
}

impl VectorResult {
    /// A result of columns with these names and DuckDB's names of their types. `token` is an argument of the function,
    /// which no other result has; `zone` is the session's time zone. `None` if the vectors of a type cannot be
    /// gathered.
    pub fn begin(token: String, columns: Vec<(String, String)>, zone: &str, form: VectorForm) -> Option<Arc<Self>> {
        let (names, types): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let columns = types.iter().map(|name| column_type(name, zone, form)).collect::<Option<Vec<_>>>()?;
        let field = |(column, name): (&ColumnType, String)| Field::new(name, column.arrow.clone(), true);
        let fields = columns.iter().zip(names).map(field);
        let schema = Arc::new(Schema::new(fields.collect::<Fields>()));
        let result = Arc::new(Self {
            token: token.clone(),
            types,
            schema,
            columns,
            form,
            executors: Mutex::default(),
            rows: AtomicU64::new(0),
            failure: Mutex::default(),
        });
        lock(&RESULTS).get_or_insert_default().insert(token, Arc::downgrade(&result));
        Some(result)
    }

    /// The result with a token.
    pub(crate) fn find(token: &str) -> Option<Arc<Self>> {
        lock(&RESULTS).as_ref()?.get(token)?.upgrade()
    }

    /// The columns, without their names. In batches, texts may be dictionaries of bytes with indices of 32 bits, or
    /// bytes, and form may have 64 bits.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The rows that have been gathered so far.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Counts rows that an executor has gathered.
    pub(crate) fn count(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Notes why rows could not be gathered.
    pub(crate) fn fail(&self, error: ArrowError) {
        lock(&self.failure).get_or_insert(error);
    }

    /// Why rows could not be gathered.
    pub(crate) fn take_failure(&self) -> Option<ArrowError> {
        lock(&self.failure).take()
    }

    /// Forgets the rows that were not read.
    pub(crate) fn clear(&self) {
        lock(&self.executors).clear();
    }

    /// DuckDB's names of the columns' types.
    pub(crate) fn types(&self) -> &[String] {
        &self.types
    }

    /// A new executor, and its number.
    pub(crate) fn new_executor(&self) -> (u64, Arc<Mutex<Executor>>) {
        let executor = Arc::new(Mutex::new(Executor::new(&self.schema, &self.columns, self.form)));
        let mut executors = lock(&self.executors);
        executors.push(Arc::clone(&executor));
        (executors.len() as u64 - 1, executor)
    }

    /// All executors so far.
    pub(crate) fn executors(&self) -> Vec<Arc<Mutex<Executor>>> {
        lock(&self.executors).clone()
    }
}

impl Drop for VectorResult {
    fn drop(&mut self) {
        if let Some(results) = lock(&RESULTS).as_mut() {
            results.remove(&self.token);
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
