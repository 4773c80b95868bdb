//! `colonnade_advisory(action, key, second)`: a session takes an advisory lock, or gives it back. `advisory_locks.sql`
//! has PostgreSQL's functions, which call it.

use std::ptr;
use std::sync::Arc;

use colonnade_duckdb_api::arguments::constant;
use colonnade_duckdb_api::extension::{ExtensionInput, POSITIONAL_ONLY, VOLATILE, add_parameter};
use colonnade_duckdb_api::scalar::{self, ScalarFunction};
use colonnade_server::advisory::{LockKey, LockMode, LockRefusal, LockSpan};
use colonnade_server::caller::Caller;

use super::super::handles::{CallbackError, EXECUTOR, INTERRUPT, OwnedType, checked, object, owned, report};
use super::super::results::set_nulls;
use super::super::symbols::{Api, Handle};
use super::super::vectors::VectorValues;

const NAME: &str = "colonnade_advisory";

#[derive(Clone, Copy)]
enum Action {
    Lock(LockMode, LockSpan),
    TryLock(LockMode, LockSpan),
    Unlock(LockMode),
    UnlockAll,
}

struct Call {
    action: Action,
    /// None for a statement of the server's own, such as that which makes the macros.
    caller: Option<Arc<Caller>>,
}

/// Gives a database the function.
///
/// # Safety
/// `input` is that of an entry that runs.
pub(super) unsafe fn register(api: &'static Api, input: &ExtensionInput) -> Result<(), CallbackError> {
    // Each call has an effect, so none is computed beforehand or once for several rows.
    let stability = VOLATILE;
    let function = ScalarFunction {
        name: NAME,
        stability,
        user_data: None,
        resolve: None,
        bind,
        begin: scalar::no_state,
        execute,
    };
    // SAFETY: the caller promises the input; the types live until the signature has them; the callbacks take what they
    // have given DuckDB.
    unsafe {
        function.register(api, input.context, input.extension, |_, signature| {
            let types =
                ["VARCHAR", "BIGINT", "INTEGER", "BOOLEAN"].map(|name| OwnedType::parse(api, input.context, name));
            let [action, key, second, result] = types;
            for (name, type_) in [("action", action?), ("key", key?), ("second", second?)] {
                add_parameter(api, signature, name, &type_, POSITIONAL_ONLY)?;
            }
            let result = result?;
            checked(api, |error| (api.v2_function_signature_set_return_type)(signature, result.handle, error))
        })
    }
}

impl Action {
    fn parse(text: &str) -> Option<Self> {
        let (words, mode) =
            text.strip_suffix(" shared").map_or((text, LockMode::Exclusive), |words| (words, LockMode::Shared));
        Some(match words {
            "lock" => Self::Lock(mode, LockSpan::Session),
            "lock transaction" => Self::Lock(mode, LockSpan::Transaction),
            "try" => Self::TryLock(mode, LockSpan::Session),
            "try transaction" => Self::TryLock(mode, LockSpan::Transaction),
            "unlock" => Self::Unlock(mode),
            "unlock all" => Self::UnlockAll,
            _ => return None,
        })
    }
}

impl Call {
    fn answer(&self, key: LockKey) -> Result<bool, CallbackError> {
        let caller = self.caller.as_ref().ok_or("advisory locks are taken by a client's own statements")?;
        let holder = &caller.locks;
        let answer = match self.action {
            Action::Lock(mode, span) => holder.lock(key, mode, span).map(|()| true),
            Action::TryLock(mode, span) => holder.try_lock(key, mode, span),
            Action::Unlock(mode) => Ok(holder.unlock(key, mode)),
            Action::UnlockAll => {
                holder.unlock_all();
                Ok(true)
            }
        };
        answer.map_err(|refusal| CallbackError {
            code: if refusal == LockRefusal::Stopped { INTERRUPT } else { EXECUTOR },
            text: refusal.to_string(),
        })
    }
}

/// Finds the session: statements are planned on its thread.
unsafe extern "C" fn bind(info: Handle, own_info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of a bind.
    unsafe {
        report(error, |api| {
            let action = Action::parse(&constant(api, info, 0)?);
            let action = action.ok_or_else(|| CallbackError::bind("there is no such action"))?;
            let mut call = owned(Call { action, caller: Caller::current() });
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
            let (keys, seconds) = (scalar::argument(api, info, 1)?, scalar::argument(api, info, 2)?);
            let (result, mut data) = (scalar::result(api, info)?, ptr::null_mut());
            checked(api, |error| (api.v2_vector_get_data_mutable)(result, &raw mut data, error))?;
            let answers = std::slice::from_raw_parts_mut(data.cast::<bool>(), rows);
            for (row, answer) in answers.iter_mut().enumerate() {
                if !keys.is_valid(keys.entry(row)) {
                    set_nulls(api, result, row, std::iter::once(0))?;
                    continue;
                }
                *answer = call.answer(key(&keys, &seconds, row))?;
            }
            Ok(())
        });
    }
}

/// # Safety
/// The vectors are of BIGINT and of INTEGER, and have this row.
unsafe fn key(keys: &VectorValues, seconds: &VectorValues, row: usize) -> LockKey {
    let (key, second) = (keys.entry(row), seconds.entry(row));
    // SAFETY: the caller promises both.
    unsafe {
        let first: i64 = keys.value(key);
        match seconds.is_valid(second) {
            // The first one was an INTEGER, too.
            true => LockKey::Two(first as i32, seconds.value(second)),
            false => LockKey::One(first),
        }
    }
}
