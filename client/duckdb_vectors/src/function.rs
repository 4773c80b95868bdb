//! `colonnade_vectors(token, columns…)`: gathers the rows of a result, and gives a ticket for each of them.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use colonnade_duckdb_api::arguments::{argument_type, constant};
use colonnade_duckdb_api::extension::{
    ANY, ExtensionInput, POSITIONAL_ONLY, POSITIONAL_VARIADIC, VOLATILE, add_parameter, describe,
    register as register_extensions,
};
use colonnade_duckdb_api::handles::{CallbackError, OwnedType, checked, object, owned, report};
use colonnade_duckdb_api::scalar::{self, ScalarFunction};
use colonnade_duckdb_api::symbols::{Api, Handle};
use colonnade_duckdb_api::vectors::VectorValues;

use crate::executor::Executor;
use crate::result::{VectorResult, lock};

/// The bits of a ticket that number the rows of an executor.
pub(crate) const ROW_BITS: u32 = 40;
/// The number of executors of a result at most, so that a ticket is positive.
const MAX_EXECUTORS: u64 = 1 << (63 - ROW_BITS);

/// An executor of a plan, as DuckDB keeps it.
struct State {
    number: u64,
    executor: Arc<Mutex<Executor>>,
    vectors: Vec<VectorValues>,
}

/// The function's name, and that of its extension.
static NAME: OnceLock<&'static CStr> = OnceLock::new();

/// Which databases have the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Databases {
    /// All that the process opens from now on.
    All,
    /// Those that [`with_function`] opens.
    Own,
}

/// Whether all databases have it.
static ALL: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread opens a database that has the function.
    static OPENS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// Gives databases the function. `path` is the file of DuckDB's library, which is loaded. Another copy of this crate in
/// the process needs another name.
///
/// # Errors
/// Why not.
pub fn register(path: &str, name: &'static CStr, databases: Databases) -> Result<(), String> {
    NAME.get_or_init(|| name);
    ALL.fetch_or(databases == Databases::All, Ordering::Relaxed);
    register_extensions(Api::load(path)?, &[describe_vectors])
}

/// Opens a database that has the function. DuckDB loads extensions in the thread that opens it.
pub fn with_function<T>(open: impl FnOnce() -> T) -> T {
    struct Opening(bool);
    impl Drop for Opening {
        fn drop(&mut self) {
            OPENS_OWN.set(self.0);
        }
    }
    let _opening = Opening(OPENS_OWN.replace(true));
    open()
}

fn name() -> &'static CStr {
    NAME.get().copied().unwrap_or(c"colonnade_vectors")
}

unsafe extern "C" fn describe_vectors(descriptor: *mut c_void) -> i32 {
    let entry: unsafe extern "C" fn(*const ExtensionInput) = enter;
    // SAFETY: DuckDB passes a descriptor.
    unsafe { describe(descriptor, name(), c"v2.0.0", ptr::null(), entry as *const c_void) }
}

unsafe extern "C" fn enter(input: *const ExtensionInput) {
    if !ALL.load(Ordering::Relaxed) && !OPENS_OWN.get() {
        return;
    }
    // SAFETY: DuckDB passes the input of an entry, whose error lives.
    unsafe {
        let input = &*input;
        report(input.error, |api| register_function(api, input));
    }
}

/// # Safety
/// `input` is that of an entry that runs.
unsafe fn register_function(api: &'static Api, input: &ExtensionInput) -> Result<(), CallbackError> {
    let function = ScalarFunction {
        name: name().to_str().map_err(|_| "the name of a function is not UTF-8")?,
        stability: VOLATILE,
        user_data: None,
        resolve: None,
        bind,
        begin,
        execute,
    };
    // SAFETY: the caller promises the input; the types live until the signature has them; the callbacks take what they
    // have given DuckDB.
    unsafe {
        function.register(api, input.context, input.extension, |factory, signature| {
            let varchar = OwnedType::parse(api, input.context, "VARCHAR")?;
            let bigint = OwnedType::parse(api, input.context, "BIGINT")?;
            let any = OwnedType::new(api, |out, error| {
                (api.v2_factory_create_type_from_id)(factory, ANY, ptr::null(), ptr::null(), 0, out, error)
            })?;
            for (name, type_, kind) in [("token", &varchar, POSITIONAL_ONLY), ("columns", &any, POSITIONAL_VARIADIC)] {
                add_parameter(api, signature, name, type_, kind)?;
            }
            checked(api, |error| (api.v2_function_signature_set_return_type)(signature, bigint.handle, error))
        })
    }
}

/// Finds the result, whose columns must have the types of the arguments.
unsafe extern "C" fn bind(info: Handle, own_info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of a bind.
    unsafe {
        report(error, |api| {
            let (mut fixed, mut columns, null) = (0, 0, ptr::null_mut());
            checked(api, |error| {
                (api.v2_function_bind_get_arg_count)(info, &raw mut fixed, &raw mut columns, null, null, error)
            })?;
            let token = constant(api, info, 0)?;
            let result = VectorResult::find(&token);
            let result = result.ok_or_else(|| CallbackError::bind("there is no result with this token"))?;
            let types = (fixed..fixed + columns).map(|number| argument_type(api, info, number)?.text());
            if types.collect::<Result<Vec<_>, _>>()? != result.types() {
                return Err(CallbackError::bind("the columns of the result have other types"));
            }
            let mut data = owned(result);
            checked(api, |error| (api.v2_scalar_function_bind_set_bind_data)(own_info, &raw mut data, error))
        });
    }
}

/// Makes an executor.
unsafe extern "C" fn begin(info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an initialization, whose data is that of `bind`.
    unsafe {
        report(error, |api| {
            let result: &Arc<VectorResult> =
                object(api, |out, error| (api.v2_scalar_function_init_get_bind_data)(info, out, error))?;
            let (number, executor) = result.new_executor();
            if number >= MAX_EXECUTORS {
                return Err("a result has too many executors".into());
            }
            let mut state = owned(State { number, executor, vectors: Vec::with_capacity(result.types().len()) });
            checked(api, |error| (api.v2_scalar_function_init_set_init_data)(info, &raw mut state, error))
        });
    }
}

/// Gathers the rows of a chunk.
unsafe extern "C" fn execute(info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an execution, whose data are those of `bind` and `begin`. Only this
    // thread has the latter now. The vectors have the types that `bind` has compared.
    unsafe {
        report(error, |api| {
            let result: &Arc<VectorResult> =
                object(api, |out, error| (api.v2_scalar_function_exec_get_bind_data)(info, out, error))?;
            let state: &mut State =
                object(api, |out, error| (api.v2_scalar_function_exec_get_init_data)(info, out, error))?;
            let rows = scalar::row_count(api, info)?;
            if rows == 0 {
                return Ok(());
            }
            state.vectors.clear();
            for number in 1..=result.types().len() as u64 {
                state.vectors.push(scalar::argument(api, info, number)?);
            }
            let (tickets, mut data) = (scalar::result(api, info)?, ptr::null_mut());
            checked(api, |error| (api.v2_vector_get_data_mutable)(tickets, &raw mut data, error))?;
            let mut executor = lock(&state.executor);
            let first = (state.number << ROW_BITS) + executor.rows();
            if let Err(error) = executor.append(&state.vectors, rows) {
                let text = error.to_string();
                result.fail(error);
                return Err(CallbackError::failed(text));
            }
            drop(executor);
            result.count(rows as u64);
            let tickets = std::slice::from_raw_parts_mut(data.cast::<u64>(), rows);
            tickets.iter_mut().zip(first..).for_each(|(ticket, number)| *ticket = number);
            Ok(())
        });
    }
}
