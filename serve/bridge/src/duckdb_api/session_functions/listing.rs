//! `colonnade_listing(what)`: what the session has, as JSON. `sessions.sql` has PostgreSQL's views, which call it.

use std::sync::Arc;

use colonnade_duckdb_api::arguments::constant;
use colonnade_duckdb_api::extension::{ExtensionInput, POSITIONAL_ONLY, VOLATILE, add_parameter};
use colonnade_duckdb_api::scalar::{self, ScalarFunction};
use colonnade_server::caller::{Caller, Listed};

use super::super::handles::{CallbackError, OwnedType, checked, object, owned, report};
use super::super::results::repeat_text;
use super::super::symbols::{Api, Handle};

struct Call {
    what: Listed,
    /// None for a statement of the server's own, and for the queries of functions, which see an empty list.
    caller: Option<Arc<Caller>>,
}

/// Gives a database the function.
///
/// # Safety
/// `input` is that of an entry that runs.
pub(super) unsafe fn register(api: &'static Api, input: &ExtensionInput) -> Result<(), CallbackError> {
    // A plan may run again, when the session has something else.
    let (name, stability) = ("colonnade_listing", VOLATILE);
    let function =
        ScalarFunction { name, stability, user_data: None, resolve: None, bind, begin: scalar::no_state, execute };
    // SAFETY: the caller promises the input; the types live until the signature has them; the callbacks take what they
    // have given DuckDB.
    unsafe {
        function.register(api, input.context, input.extension, |_, signature| {
            let text = OwnedType::parse(api, input.context, "VARCHAR")?;
            add_parameter(api, signature, "what", &text, POSITIONAL_ONLY)?;
            checked(api, |error| (api.v2_function_signature_set_return_type)(signature, text.handle, error))
        })
    }
}

/// Finds the session: statements are planned on its thread.
unsafe extern "C" fn bind(info: Handle, own_info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of a bind.
    unsafe {
        report(error, |api| {
            let what = match &*constant(api, info, 0)? {
                "statements" => Listed::Statements,
                "cursors" => Listed::Cursors,
                "modes" => Listed::Modes,
                _ => return Err(CallbackError::bind("there is no such list")),
            };
            let mut call = owned(Call { what, caller: Caller::current() });
            checked(api, |error| (api.v2_scalar_function_bind_set_bind_data)(own_info, &raw mut call, error))
        });
    }
}

/// Gives each row of a chunk the list.
unsafe extern "C" fn execute(info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an execution, whose data are those of `bind`. The vector has texts.
    unsafe {
        report(error, |api| {
            let call: &Call = object(api, |out, error| (api.v2_scalar_function_exec_get_bind_data)(info, out, error))?;
            let list = call.caller.as_ref().map_or_else(|| "[]".to_owned(), |caller| caller.list(call.what));
            repeat_text(api, scalar::result(api, info)?, scalar::row_count(api, info)?, &list)
        });
    }
}
