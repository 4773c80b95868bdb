//! `numeric` without digits (`colonnade_server::value::unconstrained`). DuckDB rounds what is cast to a decimal, so the
//! casts to this one are our own.

use std::ffi::c_void;
use std::ptr;

use colonnade_duckdb_api::extension::ExtensionInput;
use colonnade_server::value::unconstrained::{
    NAME, NumericError, SCALE, from_decimal, from_double, from_float, from_text, write_text,
};

use super::casts::{CastChunk, EXPLICIT, add_cast};
use super::named_type;
use crate::duckdb_api::handles::{CallbackError, OwnedType, checked, object, owned, report};
use crate::duckdb_api::results::{set_nulls, write_texts};
use crate::duckdb_api::symbols::{Api, Handle};

/// A type from which values are cast.
#[derive(Clone, Copy)]
enum Source {
    Text,
    Json,
    Float,
    Double,
    /// With so many digits in all, and behind the point.
    Decimal {
        width: u8,
        scale: u8,
    },
}

/// DuckDB's cost of a cast between decimals.
const SAME: i64 = 0;
/// The most digits of DuckDB's decimals, and those of the decimals that have eight bytes.
const MAX_WIDTH: u8 = 38;
const MAX_WIDTH_OF_8_BYTES: u8 = 18;

/// Registers the casts.
///
/// # Safety
/// `input` is that of an entry that runs.
pub(super) unsafe fn register(api: &'static Api, input: &ExtensionInput) -> Result<(), CallbackError> {
    // SAFETY: the caller promises the input; the handles live until the end of this function.
    unsafe {
        let mut factory = ptr::null_mut();
        checked(api, |error| (api.v2_context_get_factory)(input.context, &raw mut factory, error))?;
        let own = OwnedType::parse(api, input.context, NAME)?;
        let text = OwnedType::parse(api, input.context, "VARCHAR")?;
        add_cast(api, input, factory, [&own, &text], EXPLICIT, None, write)?;
        let read_as = |type_: &OwnedType, source: Source| {
            let cost = if matches!(source, Source::Decimal { .. }) { SAME } else { EXPLICIT };
            add_cast(api, input, factory, [type_, &own], cost, Some(owned(source)), read)
        };
        read_as(&text, Source::Text)?;
        read_as(&named_type(api, input, factory, "JSON", "VARCHAR")?, Source::Json)?;
        read_as(&OwnedType::parse(api, input.context, "FLOAT")?, Source::Float)?;
        read_as(&OwnedType::parse(api, input.context, "DOUBLE")?, Source::Double)?;
        // DuckDB loses no digit of the others.
        for scale in SCALE + 1..=MAX_WIDTH {
            for width in scale..=MAX_WIDTH {
                let type_ = OwnedType::parse(api, input.context, &format!("DECIMAL({width},{scale})"))?;
                read_as(&type_, Source::Decimal { width, scale })?;
            }
        }
    }
    Ok(())
}

/// Casts the rows of a chunk to this type. A value that is refused is NULL for TRY_CAST, and fails for CAST.
unsafe extern "C" fn read(info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an execution, whose data are those of `register`. The vectors have
    // the types of the cast: the values of the second are of 16 bytes.
    unsafe {
        report(error, |api| {
            let source: &Source =
                object(api, |out, error| (api.v2_cast_function_exec_get_user_data)(info, out, error))?;
            let CastChunk { rows, values, output } = CastChunk::new(api, info)?;
            let (mut stored, mut nulls, mut failure) = (Vec::with_capacity(rows), Vec::new(), None);
            for (row, entry) in (0..rows).map(|row| (row, values.entry(row))) {
                let value = values.is_valid(entry).then(|| match *source {
                    Source::Text => from_text(&String::from_utf8_lossy(values.text(entry))),
                    Source::Json => from_json(&String::from_utf8_lossy(values.text(entry))),
                    Source::Float => from_float(values.value(entry)),
                    Source::Double => from_double(values.value(entry)),
                    Source::Decimal { width: ..=MAX_WIDTH_OF_8_BYTES, scale } => {
                        from_decimal(values.value::<i64>(entry).into(), scale)
                    }
                    Source::Decimal { scale, .. } => from_decimal(values.value(entry), scale),
                });
                if !matches!(value, Some(Ok(_))) {
                    nulls.push(row);
                }
                match value {
                    Some(Err(refused)) => {
                        failure.get_or_insert(refused);
                        stored.push(0);
                    }
                    Some(Ok(value)) => stored.push(value),
                    None => stored.push(0),
                }
            }
            set_nulls(api, output, 0, nulls.into_iter())?;
            let mut data: *mut c_void = ptr::null_mut();
            checked(api, |error| (api.v2_vector_get_data_mutable)(output, &raw mut data, error))?;
            for (row, value) in stored.into_iter().enumerate() {
                data.cast::<i128>().add(row).write_unaligned(value);
            }
            failure.map_or(Ok(()), |refused| Err(refusal(&refused)))
        });
    }
}

/// Casts the rows of a chunk to texts.
unsafe extern "C" fn write(info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an execution. The vectors have the types of the cast, of which the
    // values of the first are of 16 bytes.
    unsafe {
        report(error, |api| {
            let CastChunk { rows, values, output } = CastChunk::new(api, info)?;
            let mut bytes = Vec::new();
            let texts = (0..rows).map(|row| values.entry(row)).map(|entry| {
                values.is_valid(entry).then(|| {
                    let start = bytes.len();
                    write_text(values.value(entry), &mut bytes);
                    start..bytes.len()
                })
            });
            let texts: Vec<_> = texts.collect();
            write_texts(api, output, &texts, &bytes)
        });
    }
}

/// The number in a text of JSON, which may be a string.
fn from_json(text: &str) -> Result<i128, NumericError> {
    let text = text.trim();
    from_text(text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text))
}

/// An error in the class of DuckDB's own errors of casts.
fn refusal(error: &NumericError) -> CallbackError {
    let class = if matches!(error, NumericError::Syntax(_)) { "Conversion Error" } else { "Out of Range Error" };
    CallbackError::failed(format!("{class}: {error}"))
}
