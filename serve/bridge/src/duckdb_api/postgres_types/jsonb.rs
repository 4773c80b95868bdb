//! PostgreSQL's operators `@>` and `<@` of jsonb. DuckDB's `json_contains` also finds a part deep within a value, and
//! takes 1 and 1.0 for different numbers.

use colonnade_duckdb_api::extension::{CONSISTENT, ExtensionInput, POSITIONAL_ONLY, add_parameter};
use colonnade_duckdb_api::scalar::{self, ScalarFunction};
use colonnade_server::value::jsonb;

use super::{conversion, each, named_type, write};
use crate::duckdb_api::handles::{CallbackError, OwnedType, checked, report};
use crate::duckdb_api::symbols::{Api, Handle, ScalarCallback};

/// Registers the operators.
///
/// # Safety
/// `input` is that of an entry that runs.
pub(super) unsafe fn register(api: &'static Api, input: &ExtensionInput) -> Result<(), CallbackError> {
    for (name, execute) in [("@>", execute::<0> as ScalarCallback), ("<@", execute::<1>)] {
        let function = ScalarFunction {
            name,
            stability: CONSISTENT,
            user_data: None,
            resolve: None,
            bind: scalar::no_data,
            begin: scalar::no_state,
            execute,
        };
        // SAFETY: the caller promises the input; the types live until the signature has them; the callbacks take what
        // they have given DuckDB.
        unsafe {
            function.register(api, input.context, input.extension, |factory, signature| {
                let json = named_type(api, input, factory, "JSON", "VARCHAR")?;
                let boolean = OwnedType::parse(api, input.context, "BOOLEAN")?;
                add_parameter(api, signature, "first", &json, POSITIONAL_ONLY)?;
                add_parameter(api, signature, "second", &json, POSITIONAL_ONLY)?;
                checked(api, |error| (api.v2_function_signature_set_return_type)(signature, boolean.handle, error))
            })?;
        }
    }
    Ok(())
}

/// `CONTAINER` is the number of the argument that contains the other one.
unsafe extern "C" fn execute<const CONTAINER: u64>(info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an execution. The vectors have texts.
    unsafe {
        report(error, |api| {
            let containers = scalar::argument(api, info, CONTAINER)?;
            let parts = scalar::argument(api, info, 1 - CONTAINER)?;
            let found = each(scalar::row_count(api, info)?, &[&containers, &parts], |entries| {
                let text = |bytes| std::str::from_utf8(bytes).map_err(|_| "a text is not UTF-8");
                let (whole, part) = (text(containers.text(entries[0]))?, text(parts.text(entries[1]))?);
                let found = jsonb::contains(whole, part);
                found.map(Some).map_err(conversion)
            })?;
            write(api, scalar::result(api, info)?, &found)
        });
    }
}
