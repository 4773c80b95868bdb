//! Table functions. DuckDB has no table functions over a subquery in its C interface, so a call is made between two
//! statements:
//!
//! 1. `colonnade_collect` collects the rows of each input query, in their order (`collect.rs`).
//! 2. The function is called (`run.rs`, `batches.rs`).
//! 3. `colonnade_rows` gives the rows of the result to the outer statement (`rows.rs`).
//!
//! The two functions find a call by a random name, which only the session knows that has made it. The calls of its next
//! statement have the same names, so that a statement that is repeated has the same text in DuckDB.

mod batches;
mod class;
mod collect;
mod rows;
mod run;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

use colonnade_udf::{
    CallError, CollectedRows, Collector, Function, FunctionKind, MemoryBudget, MemoryCharge, OutputColumn,
    SessionProcesses,
};

use super::handles::CallbackError;
use super::session::{Failure, Session, is_token, random_token};
use super::sql_type::SqlType;
use super::symbols::{Api, Handle};
use batches::Batches;

pub(super) use class::TableCall;

/// The most rows of one call of a function in LANGUAGE PYTHON_MAP.
const BATCH_ROWS: usize = 122_880;
/// The group of the arguments that are single values.
const VALUES: usize = 0;

/// An argument: which query it comes from, and which column of that query it is.
#[derive(Clone, Debug)]
struct Argument {
    group: usize,
    column: usize,
    type_: SqlType,
}

/// A call of a table function.
struct Call {
    session: Arc<Session>,
    processes: SessionProcesses,
    /// What is called.
    function: Arc<Function>,
    arguments: Vec<Argument>,
    /// The declared columns; none for TABLE(*).
    results: Vec<(String, SqlType)>,
    groups: Vec<Mutex<Group>>,
    /// For LANGUAGE PYTHON_MAP: calls of parts of the rows.
    batches: Option<Batches>,
    /// For functions that add a column to others of the query.
    block: Option<Block>,
    output: OnceLock<Output>,
}

/// Functions that get whole columns of a query, and add columns to others of it.
struct Block {
    calls: Vec<(Arc<Function>, Vec<Argument>)>,
    /// What each column of the result is.
    columns: Vec<Source>,
}

/// A column of a result.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// That of the query.
    Query(usize),
    /// The result of a call.
    Call(usize),
}

/// The result of a call.
struct Output {
    columns: Vec<(String, SqlType)>,
    batches: Vec<Batch>,
}

/// The rows of an input query, or the arguments that are single values.
struct Group {
    types: Vec<SqlType>,
    collector: Collector,
    /// The number of rows that have come.
    rows: u64,
}

/// Rows of the result.
#[derive(Debug)]
struct Batch {
    rows: usize,
    /// The names and SQL types of the columns, if they are not declared. A type may be one that is converted.
    names: Vec<(String, String)>,
    /// An argument that is passed on under several names is there once.
    columns: Vec<Arc<OutputColumn<'static>>>,
    /// What is charged for the columns.
    charges: Vec<MemoryCharge>,
}

static CALLS: LazyLock<Mutex<HashMap<String, Arc<Call>>>> = LazyLock::new(Mutex::default);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Call {
    fn find(name: &str) -> Result<Arc<Self>, CallbackError> {
        lock(&CALLS)
            .get(name)
            .cloned()
            .ok_or_else(|| CallbackError::bind("there is no call of a table function with this name"))
    }

    /// Makes the call known by a name, and gives it: a new one, or that of a call before.
    ///
    /// # Errors
    /// If the name is no token, or the system has no random bytes.
    fn publish(self: &Arc<Self>, name: Option<String>) -> Result<String, String> {
        let name = name.map_or_else(random_token, Ok)?;
        if !is_token(&name) {
            return Err("the name of a call is not a random one".to_owned());
        }
        lock(&CALLS).insert(name.clone(), Arc::clone(self));
        Ok(name)
    }

    /// Forgets the call, unless its name is that of another one meanwhile.
    fn forget(self: &Arc<Self>, name: &str) {
        let mut calls = lock(&CALLS);
        if calls.get(name).is_some_and(|known| Arc::ptr_eq(known, self)) {
            calls.remove(name);
        }
    }

    /// Keeps the failure, and gives the text by which the session finds it.
    fn failed(&self, error: &CallError) -> CallbackError {
        self.session.call_failed(error, &self.function)
    }

    fn several_values(&self, name: &str) -> CallbackError {
        let message = format!("argument \"{name}\" of {} has more than one value", self.function.name);
        self.session.fail(Failure { code: "22023".into(), message, ..Failure::default() })
    }
}

/// Registers both functions with a database that was opened.
///
/// # Safety
/// The handles are those of an entry that runs.
pub(super) unsafe fn register(api: &'static Api, context: Handle, extension: Handle) -> Result<(), CallbackError> {
    // SAFETY: the caller promises it.
    unsafe {
        collect::register(api, context, extension)?;
        rows::register(api, context, extension)
    }
}

/// What collects the rows of a query with these types.
fn group(function: &Function, types: Vec<(String, SqlType)>, budget: &Arc<MemoryBudget>) -> Result<Group, CallError> {
    let column = |(name, type_): &(String, SqlType)| colonnade_udf::FunctionColumn {
        name: name.clone(),
        type_name: type_.name.clone(),
        column_type: type_.column_type.clone(),
        is_scalar: false,
    };
    let collected = Function {
        id: 0,
        name: function.name.clone(),
        parameters: types.iter().map(column).collect(),
        results: Vec::new(),
        source: String::new(),
        kind: FunctionKind::Table,
        is_strict: false,
        is_arrow: function.is_arrow,
    };
    let collector = Collector::new(Arc::new(collected), budget)?;
    Ok(Group { types: types.into_iter().map(|(_, type_)| type_).collect(), collector, rows: 0 })
}

/// The rows of all groups, as far as they are collected.
fn taken(groups: &[Mutex<Group>]) -> Result<Vec<Arc<CollectedRows>>, CallError> {
    groups.iter().map(|group| lock(group).collector.take().map(Arc::new)).collect()
}
