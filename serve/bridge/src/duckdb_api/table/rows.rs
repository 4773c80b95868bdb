//! `colonnade_rows(call)`: the rows of a call's result, for the outer statement.

use std::ptr;
use std::sync::{Arc, Mutex};

use colonnade_duckdb_api::arguments::constant;
use colonnade_duckdb_api::extension::{MadeFunction, POSITIONAL_ONLY, add_parameter};

use super::{Call, lock};
use crate::duckdb_api::handles::{CallbackError, OwnedType, checked, object, owned, raw, report};
use crate::duckdb_api::registry::TYPES;
use crate::duckdb_api::results::{self, TargetRows};
use crate::duckdb_api::symbols::{Api, Handle};

const NAME: &str = "colonnade_rows";
/// The rows of a chunk of DuckDB's.
const CHUNK_ROWS: usize = 2048;

/// The next row: the number of the batch, and the row in it.
#[derive(Clone, Copy, Default)]
struct Position {
    batch: usize,
    row: usize,
}

/// # Safety
/// The handles are those of an entry that runs.
pub(super) unsafe fn register(api: &'static Api, context: Handle, extension: Handle) -> Result<(), CallbackError> {
    let mut function = MadeFunction { handle: ptr::null_mut(), destroy: api.v2_table_function_destroy };
    // SAFETY: the caller promises the context.
    let varchar = unsafe { OwnedType::parse(api, context, "VARCHAR") }?;
    // SAFETY: the caller promises the handles; all others live until the end of this function; the callbacks have their
    // declarations.
    unsafe {
        let mut factory = ptr::null_mut();
        checked(api, |error| (api.v2_context_get_factory)(context, &raw mut factory, error))?;
        checked(api, |error| (api.v2_table_function_create)(factory, &raw mut function.handle, error))?;
        let handle = function.handle;
        let text = raw(NAME);
        checked(api, |error| (api.v2_table_function_set_name)(handle, &raw const text, error))?;
        let mut signature = ptr::null_mut();
        checked(api, |error| (api.v2_table_function_get_signature)(handle, &raw mut signature, error))?;
        add_parameter(api, signature, "call", &varchar, POSITIONAL_ONLY)?;
        checked(api, |error| (api.v2_table_function_set_bind_callback)(handle, bind, error))?;
        checked(api, |error| (api.v2_table_function_set_init_global_callback)(handle, begin, error))?;
        checked(api, |error| (api.v2_table_function_set_exec_callback)(handle, execute, error))?;
        checked(api, |error| (api.v2_table_function_set_projection_pushdown)(handle, true, error))?;
        checked(api, |error| (api.v2_extension_register_table_function)(extension, handle, error))
    }
}

unsafe extern "C" fn bind(info: Handle, own_info: Handle, context: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of a bind.
    unsafe {
        report(error, |api| {
            let call = Call::find(&constant(api, info, 0)?)?;
            let output = call.output.get().ok_or_else(|| CallbackError::bind("the table function was not called"))?;
            for (name, type_) in &output.columns {
                let (name, type_) = (raw(name), TYPES.parse(api, context, &type_.name)?);
                checked(api, |error| {
                    (api.v2_table_function_bind_add_result_column)(own_info, &raw const name, type_.handle, error)
                })?;
            }
            let rows = output.batches.iter().map(|batch| batch.rows as u64).sum();
            checked(api, |error| (api.v2_table_function_bind_set_cardinality)(own_info, rows, true, error))?;
            let mut data = owned(call);
            checked(api, |error| (api.v2_function_bind_set_bind_data)(info, &raw mut data, error))
        });
    }
}

unsafe extern "C" fn begin(info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an initialization.
    unsafe {
        report(error, |api| {
            // One thread, so that the rows keep their order.
            checked(api, |error| (api.v2_table_function_init_global_set_max_threads)(info, 1, error))?;
            let mut state = owned(Mutex::new(Position::default()));
            checked(api, |error| (api.v2_table_function_init_global_set_global_state)(info, &raw mut state, error))
        });
    }
}

unsafe extern "C" fn execute(info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an execution, whose data are those of `bind` and `begin`. The
    // columns of the chunk are some of those that `bind` has added, flat, with room for a chunk's rows.
    unsafe {
        report(error, |api| {
            let call: &Arc<Call> =
                object(api, |out, error| (api.v2_table_function_exec_get_bind_data)(info, out, error))?;
            let position: &Mutex<Position> =
                object(api, |out, error| (api.v2_table_function_exec_get_global_state)(info, out, error))?;
            let mut chunk = ptr::null_mut();
            checked(api, |error| (api.v2_table_function_exec_get_output_chunk)(info, &raw mut chunk, error))?;
            let vector = |index: u64| {
                let mut vector = ptr::null_mut();
                checked(api, |error| (api.v2_data_chunk_get_vector)(chunk, index, &raw mut vector, error))?;
                Ok::<_, CallbackError>(vector)
            };
            let mut position = lock(position);
            let output = call.output.get().ok_or("the table function was not called")?;
            let (columns, output) = (&output.columns, &output.batches);
            while output.get(position.batch).is_some_and(|batch| batch.rows == position.row) {
                *position = Position { batch: position.batch + 1, row: 0 };
            }
            let Some(batch) = output.get(position.batch) else {
                // A chunk without rows is the end.
                let first = vector(0)?;
                return checked(api, |error| (api.v2_vector_set_size)(first, 0, error));
            };
            let count = (batch.rows - position.row).min(CHUNK_ROWS);
            let mut wanted = 0;
            checked(api, |error| (api.v2_table_function_exec_get_column_count)(info, &raw mut wanted, error))?;
            for index in 0..wanted {
                let mut number = 0;
                checked(api, |error| {
                    (api.v2_table_function_exec_get_column_index)(info, index, &raw mut number, error)
                })?;
                let found = usize::try_from(number).ok().and_then(|at| batch.columns.get(at).zip(columns.get(at)));
                let (column, (_, type_)) = found.ok_or("the result of a table function has no such column")?;
                let bytes = column.slice_bytes(&type_.column_type, position.row, count);
                let exceeded = |exceeded| call.session.exceeded(exceeded, &call.function);
                let _charge = call.processes.budget().charge(bytes).map_err(exceeded)?;
                let part = column.slice(&type_.column_type, position.row, count);
                let target = TargetRows { first: 0, count, sources: None };
                let written = results::write(api, vector(index)?, type_, Some(&part), target);
                written.map_err(|error| call.session.result_failed(error, &call.function))?;
            }
            position.row += count;
            let first = vector(0)?;
            // The size of the first column is that of the chunk.
            checked(api, |error| (api.v2_vector_set_size)(first, count as u64, error))
        });
    }
}
