//! `colonnade_collect(call, group, number of the row, arguments…)`: collects the rows of an input query.

use std::ptr;
use std::sync::Arc;

use colonnade_duckdb_api::arguments::{argument_type, constant};
use colonnade_duckdb_api::extension::VOLATILE;
use colonnade_duckdb_api::scalar::{self, ScalarFunction};
use colonnade_udf::{CallError, Form};

use super::{BATCH_ROWS, Call, VALUES, lock};
use crate::duckdb_api::arguments::{self, Rows, WriteError};
use crate::duckdb_api::entry::sign;
use crate::duckdb_api::handles::{CallbackError, checked, object, owned, report};
use crate::duckdb_api::registry::OWN_ARGUMENTS;
use crate::duckdb_api::registry::TYPES;
use crate::duckdb_api::symbols::{Api, Handle};
use crate::duckdb_api::vectors::VectorValues;

const NAME: &str = "colonnade_collect";
/// The arguments before those that are collected.
const FIRST: u64 = OWN_ARGUMENTS + 1;

/// A call that is bound, and the group of the rows.
struct Bound {
    call: Arc<Call>,
    group: usize,
}

/// # Safety
/// The handles are those of an entry that runs.
pub(super) unsafe fn register(api: &'static Api, context: Handle, extension: Handle) -> Result<(), CallbackError> {
    let function = ScalarFunction {
        name: NAME,
        stability: VOLATILE,
        user_data: None,
        resolve: Some(resolve),
        bind,
        begin,
        execute,
    };
    // SAFETY: the caller promises the handles; the callbacks take what they have given DuckDB.
    unsafe { function.register(api, context, extension, |factory, signature| sign(api, context, factory, signature)) }
}

impl Bound {
    /// # Safety
    /// `info` and `context` are those of a bind callback that runs.
    unsafe fn read(api: &'static Api, info: Handle, context: Handle) -> Result<Self, CallbackError> {
        // SAFETY: the caller promises the information.
        let (name, group) = unsafe { (constant(api, info, 0)?, constant(api, info, 1)?) };
        let call = Call::find(&name)?;
        let group: usize = group.parse().map_err(|_| CallbackError::bind("the group is no number"))?;
        let found = call.groups.get(group).ok_or_else(|| CallbackError::bind("there is no such group"))?;
        let types: Vec<_> = lock(found).types.iter().map(|type_| type_.name.clone()).collect();
        let (mut fixed, mut variadic, null) = (0, 0, ptr::null_mut());
        // SAFETY: as above; the places live.
        checked(api, |error| unsafe {
            (api.v2_function_bind_get_arg_count)(info, &raw mut fixed, &raw mut variadic, null, null, error)
        })?;
        if variadic != types.len() as u64 + 1 {
            return Err(CallbackError::bind("the arguments are not those of the call"));
        }
        let wanted = std::iter::once("BIGINT").chain(types.iter().map(String::as_str));
        for (number, wanted) in (OWN_ARGUMENTS..).zip(wanted) {
            // SAFETY: the index is one of an argument.
            let found = unsafe { argument_type(api, info, number) }?;
            // SAFETY: the context is that of a bind that runs.
            let wanted = unsafe { TYPES.parse(api, context, wanted) }?;
            let mut is_equal = false;
            // SAFETY: both types live.
            checked(api, |error| unsafe {
                (api.v2_logical_type_is_equal)(found.handle, wanted.handle, &raw mut is_equal, error)
            })?;
            if !is_equal {
                return Err(CallbackError::bind("an argument has another type than the call"));
            }
        }
        Ok(Self { call, group })
    }
}

impl Call {
    /// Collects the arguments that are single values, if all of them are texts.
    ///
    /// # Errors
    /// If they have other types, or there are not as many.
    pub(super) fn collect_texts(&self, texts: &[String]) -> Result<(), CallbackError> {
        let mut group = lock(&self.groups[VALUES]);
        let are_texts = group.types.iter().all(|type_| type_.name == "VARCHAR");
        if !are_texts || group.types.len() != texts.len() {
            return Err("the values of a table function are no texts".into());
        }
        group.rows += 1;
        let written = group.collector.append(1, |inputs| {
            texts.iter().try_for_each(|text| {
                inputs.parameter(Form::Array)?;
                arguments::write_bytes(inputs, &[0, text.len() as u64], text.as_bytes(), &[true])
            })
        });
        written.map_err(|error: CallError| self.failed(&error))
    }
}

unsafe extern "C" fn resolve(_: Handle, types: Handle, context: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of a bind.
    unsafe {
        report(error, |api| {
            let result = TYPES.parse(api, context, "BOOLEAN")?;
            checked(api, |error| (api.v2_scalar_function_resolve_types_set_return_type)(types, result.handle, error))
        });
    }
}

unsafe extern "C" fn bind(info: Handle, own_info: Handle, context: Handle, error: *mut Handle) {
    // SAFETY: as in `resolve`.
    unsafe {
        report(error, |api| {
            let mut bound = owned(Bound::read(api, info, context)?);
            checked(api, |error| (api.v2_scalar_function_bind_set_bind_data)(own_info, &raw mut bound, error))
        });
    }
}

unsafe extern "C" fn begin(info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an initialization.
    unsafe {
        report(error, |api| {
            let mut state = owned(());
            checked(api, |error| (api.v2_scalar_function_init_set_init_data)(info, &raw mut state, error))
        });
    }
}

unsafe extern "C" fn execute(info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an execution, whose data is that of `bind`.
    unsafe {
        report(error, |api| {
            let bound: &Bound =
                object(api, |out, error| (api.v2_scalar_function_exec_get_bind_data)(info, out, error))?;
            let rows = scalar::row_count(api, info)?;
            if rows == 0 {
                return Ok(());
            }
            let argument = |number| scalar::argument(api, info, number);
            let numbers = argument(OWN_ARGUMENTS)?;
            let count = lock(&bound.call.groups[bound.group]).types.len() as u64;
            let arguments = (FIRST..FIRST + count).map(argument).collect::<Result<Vec<_>, _>>()?;
            collect(bound, &numbers, &arguments, rows)?;
            let (result, mut data) = (scalar::result(api, info)?, ptr::null_mut());
            checked(api, |error| (api.v2_vector_get_data_mutable)(result, &raw mut data, error))?;
            // The result has a byte for each row.
            data.cast::<u8>().write_bytes(1, rows);
            Ok(())
        });
    }
}

/// # Safety
/// `numbers` are of 8 bytes, and `arguments` have the types of the group.
unsafe fn collect(
    bound: &Bound,
    numbers: &VectorValues,
    arguments: &[VectorValues],
    rows: usize,
) -> Result<(), CallbackError> {
    let call = &bound.call;
    let mut group = lock(&call.groups[bound.group]);
    // The query numbers its rows in their order. So it is known here, and not only expected of DuckDB's plans, that
    // this order is kept. SAFETY: the caller promises the type.
    let number = |row: usize| unsafe { numbers.value::<i64>(numbers.entry(row)) };
    let (first, last) = (group.rows as i64 + 1, (group.rows + rows as u64) as i64);
    if number(0) != first || number(rows - 1) != last {
        return Err("the rows of a table function's query came in another order".into());
    }
    group.rows += rows as u64;
    let group = &mut *group;
    let types = &group.types;
    let written = group.collector.append(rows, |inputs| {
        let mut pairs = types.iter().zip(arguments);
        pairs.try_for_each(|(type_, values)| arguments::write(inputs, type_, values, Rows::First(rows), false))
    });
    written.map_err(|error| match error {
        WriteError::Call(error) => call.failed(&error),
        WriteError::Engine(error) => error,
        WriteError::Memory(exceeded) => call.session.exceeded(exceeded, &call.function),
    })?;
    if let Some(batches) = &call.batches
        && bound.group != VALUES
        && group.collector.rows() >= BATCH_ROWS
    {
        let rows = group.collector.take().map_err(|error| call.failed(&error))?;
        batches.call(call, Arc::new(rows))?;
    }
    Ok(())
}
