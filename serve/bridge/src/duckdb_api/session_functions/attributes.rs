//! `colonnade_attributes(database, schema, name)`: a type of a user as JSON: DuckDB's name of it, and the fields that it
//! has as a row. `duckdb_types()` has neither. `composite_types.sql` calls it.

use std::fmt::Write as _;

use colonnade_duckdb_api::extension::{ExtensionInput, POSITIONAL_ONLY, VOLATILE, add_parameter};
use colonnade_duckdb_api::scalar::{self, ScalarFunction};
use colonnade_server::caller::json_text;
use colonnade_server::value::types::fields;
use colonnade_sql::{Dialect, quote};

use super::super::handles::{CallbackError, OwnedType, checked, report};
use super::super::results::write_texts;
use super::super::symbols::{Api, Handle};

/// Gives a database the function.
///
/// # Safety
/// `input` is that of an entry that runs.
pub(super) unsafe fn register(api: &'static Api, input: &ExtensionInput) -> Result<(), CallbackError> {
    // A plan may run again, when the type is another one.
    let (name, stability) = ("colonnade_attributes", VOLATILE);
    let function = ScalarFunction {
        name,
        stability,
        user_data: None,
        resolve: None,
        bind: scalar::no_data,
        begin: scalar::no_state,
        execute,
    };
    // SAFETY: the caller promises the input; the types live until the signature has them; the callbacks keep nothing.
    unsafe {
        function.register(api, input.context, input.extension, |_, signature| {
            let text = OwnedType::parse(api, input.context, "VARCHAR")?;
            for name in ["database", "schema", "name"] {
                add_parameter(api, signature, name, &text, POSITIONAL_ONLY)?;
            }
            checked(api, |error| (api.v2_function_signature_set_return_type)(signature, text.handle, error))
        })
    }
}

/// Answers for the rows of a chunk. Without the type the answer is NULL.
unsafe extern "C" fn execute(info: Handle, context: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an execution, and the context of the statement. The vectors have
    // texts.
    unsafe {
        report(error, |api| {
            let rows = scalar::row_count(api, info)?;
            let parts = [0, 1, 2].map(|number| scalar::argument(api, info, number));
            let [database, schema, name] = parts;
            let parts = [database?, schema?, name?];
            let (mut places, mut bytes) = (Vec::with_capacity(rows), Vec::new());
            for row in 0..rows {
                let quoted = parts.iter().map(|part| {
                    let entry = part.entry(row);
                    let text = std::str::from_utf8(part.is_valid(entry).then(|| part.text(entry))?).ok()?;
                    Some(quote::identifier(text, Dialect::DuckDb))
                });
                let name = quoted.collect::<Option<Vec<_>>>().map(|parts| parts.join("."));
                let found = name.and_then(|name| OwnedType::parse(api, context, &name).ok()?.text().ok());
                let start = bytes.len();
                bytes.extend_from_slice(found.as_deref().map(described).unwrap_or_default().as_bytes());
                places.push(found.map(|_| start..bytes.len()));
            }
            write_texts(api, scalar::result(api, info)?, &places, &bytes)
        });
    }
}

/// A type as an object.
fn described(type_name: &str) -> String {
    let mut object = format!(r#"{{"type":{},"fields":["#, json_text(type_name));
    for (at, field) in fields(type_name).unwrap_or_default().iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(object, r#"{comma}{{"name":{},"type":{}}}"#, json_text(&field.name), json_text(field.type_name));
    }
    object + "]}"
}
