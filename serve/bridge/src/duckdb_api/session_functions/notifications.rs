//! `colonnade_notifications(action, channel, payload)`: a session sends a notification, or names the channels on which it
//! listens. `notifications.sql` has PostgreSQL's functions, which call it.

use std::sync::Arc;

use colonnade_duckdb_api::arguments::constant;
use colonnade_duckdb_api::extension::{ExtensionInput, POSITIONAL_ONLY, VOLATILE, add_parameter};
use colonnade_duckdb_api::scalar::{self, ScalarFunction};
use colonnade_server::caller::Caller;

use super::super::handles::{CallbackError, EXECUTOR, OwnedType, checked, object, owned, report};
use super::super::results::{set_nulls, write_text};
use super::super::symbols::{Api, Handle};
use super::super::vectors::VectorValues;

const NAME: &str = "colonnade_notifications";
/// Between the names of channels, which cannot contain it.
const SEPARATOR: &str = "\0";

#[derive(Clone, Copy)]
enum Action {
    Notify,
    Channels,
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
    // SAFETY: the caller promises the input; the type lives until the signature has it; the callbacks take what they
    // have given DuckDB.
    unsafe {
        function.register(api, input.context, input.extension, |_, signature| {
            let text = OwnedType::parse(api, input.context, "VARCHAR")?;
            for name in ["action", "channel", "payload"] {
                add_parameter(api, signature, name, &text, POSITIONAL_ONLY)?;
            }
            checked(api, |error| (api.v2_function_signature_set_return_type)(signature, text.handle, error))
        })
    }
}

impl Call {
    /// The value of a row; `None` is NULL.
    fn answer(&self, channel: &str, payload: &str) -> Result<Option<String>, CallbackError> {
        let caller = self.caller.as_ref().ok_or("notifications are sent by a client's own statements")?;
        match self.action {
            Action::Notify => caller
                .notifications
                .notify(channel, payload)
                .map(|()| Some(String::new()))
                .map_err(|error| CallbackError { code: EXECUTOR, text: error.to_string() }),
            Action::Channels => {
                let channels = caller.notifications.channels();
                Ok((!channels.is_empty()).then(|| channels.join(SEPARATOR)))
            }
        }
    }
}

/// Finds the session: statements are planned on its thread.
unsafe extern "C" fn bind(info: Handle, own_info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of a bind.
    unsafe {
        report(error, |api| {
            let action = match constant(api, info, 0)?.as_str() {
                "notify" => Action::Notify,
                "channels" => Action::Channels,
                _ => return Err(CallbackError::bind("there is no such action")),
            };
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
            let (channels, payloads) = (scalar::argument(api, info, 1)?, scalar::argument(api, info, 2)?);
            let result = scalar::result(api, info)?;
            for row in 0..scalar::row_count(api, info)? {
                match call.answer(text(&channels, row)?, text(&payloads, row)?)? {
                    Some(answer) => write_text(api, result, row, &answer)?,
                    None => set_nulls(api, result, row, std::iter::once(0))?,
                }
            }
            Ok(())
        });
    }
}

/// A row's text. As in PostgreSQL, NULL is an empty one.
///
/// # Safety
/// The vector is of VARCHAR, and has this row.
unsafe fn text(values: &VectorValues, row: usize) -> Result<&str, CallbackError> {
    let entry = values.entry(row);
    if !values.is_valid(entry) {
        return Ok("");
    }
    // SAFETY: the caller promises both.
    std::str::from_utf8(unsafe { values.text(entry) }).map_err(|_| "a text is not UTF-8".into())
}
