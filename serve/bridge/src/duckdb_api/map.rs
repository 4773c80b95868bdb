//! The callbacks of `colonnade_map`: one result for each row.

use arrow_array::ArrayRef;
use colonnade_duckdb_api::scalar;
use colonnade_udf::{CallError, FunctionCaller};

use super::arguments::runs::Runs;
use super::arguments::{self, Rows, WriteError};
use super::bound::BoundCall;
use super::capture::{KeepError, Role, from_vector};
use super::deferral;
use super::handles::{CallbackError, checked, object, owned, report};
use super::registry::OWN_ARGUMENTS;
use super::registry::TYPES;
use super::results::{self, NONE, TargetRows};
use super::symbols::{Api, Handle};
use super::vectors::VectorValues;

/// What a thread of DuckDB has for a call: a function process that no other thread uses.
struct ThreadState {
    caller: FunctionCaller,
}

/// Decides the type of the result.
pub(super) unsafe extern "C" fn resolve(info: Handle, types: Handle, context: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of a bind.
    unsafe {
        report(error, |api| {
            let call = BoundCall::read(api, info, context)?;
            call.session.deferral.note(&call.definition);
            let result = if call.is_deferred {
                call.session.deferral.result_type(api, context, &call.definition)?
            } else {
                TYPES.parse(api, context, &call.definition.result.name)?
            };
            checked(api, |error| (api.v2_scalar_function_resolve_types_set_return_type)(types, result.handle, error))
        });
    }
}

/// Keeps the call.
pub(super) unsafe extern "C" fn bind(info: Handle, own_info: Handle, context: Handle, error: *mut Handle) {
    // SAFETY: as in `resolve`.
    unsafe {
        report(error, |api| {
            let mut call = BoundCall::read(api, info, context)?.noted().into_opaque();
            checked(api, |error| (api.v2_scalar_function_bind_set_bind_data)(own_info, &raw mut call, error))
        });
    }
}

/// Takes a caller for this thread.
pub(super) unsafe extern "C" fn begin(info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an initialization, whose data is that of `bind`.
    unsafe {
        report(error, |api| {
            let call: &BoundCall =
                object(api, |out, error| (api.v2_scalar_function_init_get_bind_data)(info, out, error))?;
            call.check_resolved()?;
            let mut state = owned(ThreadState { caller: call.session.caller()? });
            checked(api, |error| (api.v2_scalar_function_init_set_init_data)(info, &raw mut state, error))
        });
    }
}

/// Calls the function for the rows of a vector.
pub(super) unsafe extern "C" fn execute(info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an execution, whose data are those of `bind` and `begin`. Only this
    // thread has the latter.
    unsafe {
        report(error, |api| {
            let call: &BoundCall =
                object(api, |out, error| (api.v2_scalar_function_exec_get_bind_data)(info, out, error))?;
            let state: &mut ThreadState =
                object(api, |out, error| (api.v2_scalar_function_exec_get_init_data)(info, out, error))?;
            let rows = scalar::row_count(api, info)?;
            if rows == 0 {
                return Ok(());
            }
            let result = scalar::result(api, info)?;
            let parameters = call.definition.parameters.len() as u64;
            if call.is_deferred {
                return deferral::give_arguments(api, info, &call.definition, result);
            }
            let numbers = OWN_ARGUMENTS..OWN_ARGUMENTS + parameters;
            let arguments = numbers.map(|number| scalar::argument(api, info, number)).collect::<Result<Vec<_>, _>>()?;
            map(api, call, &mut state.caller, &arguments, rows, result)
        });
    }
}

/// # Safety
/// `result` is the vector of an execution's result, and `arguments` are those of its function.
unsafe fn map(
    api: &Api,
    call: &BoundCall,
    caller: &mut FunctionCaller,
    arguments: &[VectorValues],
    rows: usize,
    result: Handle,
) -> Result<(), CallbackError> {
    let function = &call.definition.function;
    // A row's result is computed once if all arguments are constants.
    let is_constant = !arguments.is_empty()
        && arguments.iter().all(|values| values.is_constant)
        && call.definition.volatility != super::registry::Volatility::Volatile;
    let distinct = if is_constant { 1 } else { rows };
    let has_null = |row: usize| arguments.iter().any(|values| !values.is_valid(values.entry(row)));
    let is_reduced = function.is_strict && (0..distinct).any(has_null);
    let chosen: Vec<u32> =
        if is_reduced { (0..distinct as u32).filter(|row| !has_null(*row as usize)).collect() } else { Vec::new() };
    let called = if is_reduced { Rows::Chosen(&chosen) } else { Rows::First(distinct) };
    let sources: Option<Vec<u32>> = (is_reduced || is_constant).then(|| {
        let mut sources = vec![NONE; rows];
        if is_constant {
            sources.fill(if called.len() == 0 { NONE } else { 0 });
        } else {
            chosen.iter().zip(0..).for_each(|(row, source)| sources[*row as usize] = source);
        }
        sources
    });
    let target = TargetRows { first: 0, count: rows, sources: sources.as_deref() };
    if called.len() == 0 {
        // SAFETY: the caller promises the vector, whose type `resolve` has set.
        return unsafe { results::write(api, result, &call.definition.result, None, target) };
    }
    match call.role() {
        Role::Run => {}
        role => {
            if let Role::Capture(capture) = role {
                let count = called.len();
                capture.keep(count, None, |rows| captured(call, arguments, called, rows)).map_err(
                    |error| match error {
                        KeepError::Store(error) => call.session.not_kept(error, function),
                        KeepError::Callback(error) => error,
                    },
                )?;
            }
            // SAFETY: as above.
            return unsafe { results::write(api, result, &call.definition.result, None, target) };
        }
    }
    let failed = |error: CallError| call.session.call_failed(&error, function);
    let not_written = |error: WriteError| match error {
        WriteError::Call(error) => failed(error),
        WriteError::Engine(error) => error,
        WriteError::Memory(exceeded) => call.session.exceeded(exceeded, function),
    };
    let mut inputs = caller.prepare(function, called.len()).map_err(failed)?;
    for ((values, type_), parameter) in arguments.iter().zip(&call.definition.parameters).zip(&function.parameters) {
        if parameter.is_scalar {
            let value = arguments::one_value(inputs.budget(), type_, values, called).map_err(not_written)?;
            call.check_scalar(&parameter.name, value)?;
        }
        arguments::write(&mut inputs, type_, values, called, parameter.is_scalar).map_err(not_written)?;
    }
    let output = inputs.call().map_err(failed)?;
    let column = output.columns.first().ok_or("a function has no result")?;
    // SAFETY: as above.
    let written = unsafe { results::write(api, result, &call.definition.result, Some(column), target) };
    written.map_err(|error| call.session.result_failed(error, function))
}

/// The arrays of some rows of a call. `rows` counts among those that the function is called with.
fn captured(
    call: &BoundCall,
    arguments: &[VectorValues],
    called: Rows<'_>,
    rows: &[usize],
) -> Result<Vec<ArrayRef>, KeepError> {
    let rows = rows.iter().map(|row| match called {
        Rows::First(_) => Some(*row),
        Rows::Chosen(chosen) => Some(chosen[*row] as usize),
    });
    let budget = call.session.budget().map_err(WriteError::from)?;
    let rows = Runs::of(&budget, rows).map_err(WriteError::from)?;
    let columns = arguments.iter().zip(&call.definition.parameters).map(|(values, type_)| {
        if type_.storage.is_nested() {
            return from_vector(type_, &values.flattened()?, &rows);
        }
        from_vector(type_, values, &rows)
    });
    Ok(columns.collect::<Result<_, WriteError>>()?)
}
