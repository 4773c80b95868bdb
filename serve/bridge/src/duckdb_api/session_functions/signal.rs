//! `colonnade_signal(signal, process, milliseconds)`: a session cancels the statement of another one, or ends it.
//! `sessions.sql` has PostgreSQL's functions, which call it.

use std::ptr;
use std::sync::Arc;

use colonnade_duckdb_api::arguments::constant;
use colonnade_duckdb_api::extension::{ExtensionInput, POSITIONAL_ONLY, VOLATILE, add_parameter};
use colonnade_duckdb_api::scalar::{self, ScalarFunction};
use colonnade_server::caller::{Caller, Signal, SignalRefusal};

use super::super::handles::{CallbackError, EXECUTOR, INTERRUPT, OwnedType, checked, object, owned, report};
use super::super::results::set_nulls;
use super::super::symbols::{Api, Handle};

struct Call {
    signal: Signal,
    /// None for a statement of the server's own, such as that which makes the macros.
    caller: Option<Arc<Caller>>,
}

/// Gives a database the function.
///
/// # Safety
/// `input` is that of an entry that runs.
pub(super) unsafe fn register(api: &'static Api, input: &ExtensionInput) -> Result<(), CallbackError> {
    let (name, stability) = ("colonnade_signal", VOLATILE);
    let function =
        ScalarFunction { name, stability, user_data: None, resolve: None, bind, begin: scalar::no_state, execute };
    // SAFETY: the caller promises the input; the types live until the signature has them; the callbacks take what they
    // have given DuckDB.
    unsafe {
        function.register(api, input.context, input.extension, |_, signature| {
            let types = ["VARCHAR", "INTEGER", "BIGINT", "BOOLEAN"];
            let [signal, process, milliseconds, result] = types.map(|name| OwnedType::parse(api, input.context, name));
            for (name, type_) in [("signal", signal?), ("process", process?), ("milliseconds", milliseconds?)] {
                add_parameter(api, signature, name, &type_, POSITIONAL_ONLY)?;
            }
            let result = result?;
            checked(api, |error| (api.v2_function_signature_set_return_type)(signature, result.handle, error))
        })
    }
}

impl Call {
    fn send(&self, process: i32, milliseconds: i64) -> Result<bool, CallbackError> {
        let caller = self.caller.as_ref().ok_or("signals are sent by a client's own statements")?;
        caller.signal(self.signal, process, milliseconds).map_err(|refusal| CallbackError {
            code: if refusal == SignalRefusal::Stopped { INTERRUPT } else { EXECUTOR },
            text: refusal.to_string(),
        })
    }
}

/// Finds the session: statements are planned on its thread.
unsafe extern "C" fn bind(info: Handle, own_info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of a bind.
    unsafe {
        report(error, |api| {
            let signal = match &*constant(api, info, 0)? {
                "cancel" => Signal::Cancel,
                "terminate" => Signal::Terminate,
                _ => return Err(CallbackError::bind("there is no such signal")),
            };
            let mut call = owned(Call { signal, caller: Caller::current() });
            checked(api, |error| (api.v2_scalar_function_bind_set_bind_data)(own_info, &raw mut call, error))
        });
    }
}

/// Answers for the rows of a chunk, in their order.
unsafe extern "C" fn execute(info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an execution, whose data are those of `bind`. The vectors have the
    // types of the signature.
    unsafe {
        report(error, |api| {
            let call: &Call = object(api, |out, error| (api.v2_scalar_function_exec_get_bind_data)(info, out, error))?;
            let rows = scalar::row_count(api, info)?;
            let (processes, times) = (scalar::argument(api, info, 1)?, scalar::argument(api, info, 2)?);
            let (result, mut data) = (scalar::result(api, info)?, ptr::null_mut());
            checked(api, |error| (api.v2_vector_get_data_mutable)(result, &raw mut data, error))?;
            let answers = std::slice::from_raw_parts_mut(data.cast::<bool>(), rows);
            for (row, answer) in answers.iter_mut().enumerate() {
                let (process, time) = (processes.entry(row), times.entry(row));
                if !processes.is_valid(process) || !times.is_valid(time) {
                    set_nulls(api, result, row, std::iter::once(0))?;
                    continue;
                }
                *answer = call.send(processes.value(process), times.value(time))?;
            }
            Ok(())
        });
    }
}
