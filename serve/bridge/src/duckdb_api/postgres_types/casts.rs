//! The casts of PostgreSQL's types that DuckDB lacks.
//!
//! DuckDB casts a type that it does not know by what it is stored as, a BLOB, and takes the bytes of some other types as they
//! are. So the casts from and to those types are registered too, and refused.

use std::ptr;

use colonnade_duckdb_api::extension::{ExtensionInput, MadeFunction};
use colonnade_server::value::TextStyle;
use colonnade_server::value::keyed::KeyedType;

use super::{conversion, keyed_type, named_type};
use crate::duckdb_api::handles::{CallbackError, OwnedType, checked, object, owned, report};
use crate::duckdb_api::results::{set_nulls, write_texts};
use crate::duckdb_api::symbols::{Api, Handle, Opaque, ScalarCallback};
use crate::duckdb_api::vectors::VectorValues;

/// A type of a cast.
#[derive(Clone, Copy)]
enum Side {
    Text,
    Json,
    Keyed(KeyedType),
    /// A type whose bytes DuckDB would take.
    Stored(&'static str),
}

struct Cast {
    source: Side,
    target: Side,
}

/// What DuckDB casts from and to a BLOB.
const STORED: [&str; 3] = ["BIT", "UUID", "GEOMETRY"];
/// The cost of a cast that DuckDB makes by itself.
const IMPLICIT: i64 = 1;
pub(super) const EXPLICIT: i64 = -1;

/// Registers the casts from and to a type.
///
/// # Safety
/// `input` is that of an entry that runs, and the factory is its own.
pub(super) unsafe fn register(
    api: &'static Api,
    input: &ExtensionInput,
    factory: Handle,
    type_: KeyedType,
) -> Result<(), CallbackError> {
    let own = Side::Keyed(type_);
    let others = [Side::Text, Side::Json].into_iter().chain(STORED.map(Side::Stored));
    for (source, target) in others.flat_map(|other| [(other, own), (own, other)]) {
        // SAFETY: the caller promises both.
        unsafe { register_cast(api, input, factory, Cast { source, target }, EXPLICIT) }?;
    }
    for target in KeyedType::all().filter(|target| type_.casts_to(*target)) {
        let cost = if (type_, target) == (KeyedType::Cidr, KeyedType::Inet) { IMPLICIT } else { EXPLICIT };
        // SAFETY: as above.
        unsafe { register_cast(api, input, factory, Cast { source: own, target: Side::Keyed(target) }, cost) }?;
    }
    Ok(())
}

/// # Safety
/// As for [`register`].
unsafe fn register_cast(
    api: &'static Api,
    input: &ExtensionInput,
    factory: Handle,
    cast: Cast,
    cost: i64,
) -> Result<(), CallbackError> {
    // SAFETY: the caller promises the handles; `execute` takes what DuckDB keeps.
    unsafe {
        let types = (cast.source.type_(api, input, factory)?, cast.target.type_(api, input, factory)?);
        add_cast(api, input, factory, [&types.0, &types.1], cost, Some(owned(cast)), execute)
    }
}

/// Registers one cast. `types` are the source and the target.
///
/// # Safety
/// As for [`register`]. `execute` expects these types and data.
pub(super) unsafe fn add_cast(
    api: &'static Api,
    input: &ExtensionInput,
    factory: Handle,
    types: [&OwnedType; 2],
    cost: i64,
    data: Option<Opaque>,
    execute: ScalarCallback,
) -> Result<(), CallbackError> {
    let mut function = MadeFunction { handle: ptr::null_mut(), destroy: api.v2_cast_function_destroy };
    // SAFETY: the caller promises the handles; the types live until DuckDB has copied them.
    unsafe {
        checked(api, |error| (api.v2_cast_function_create)(factory, &raw mut function.handle, error))?;
        let handle = function.handle;
        checked(api, |error| (api.v2_cast_function_set_source_type)(handle, types[0].handle, error))?;
        checked(api, |error| (api.v2_cast_function_set_target_type)(handle, types[1].handle, error))?;
        checked(api, |error| (api.v2_cast_function_set_implicit_cast_cost)(handle, cost, error))?;
        if let Some(mut data) = data {
            checked(api, |error| (api.v2_cast_function_set_user_data)(handle, &raw mut data, error))?;
        }
        checked(api, |error| (api.v2_cast_function_set_exec_callback)(handle, execute, error))?;
        checked(api, |error| (api.v2_extension_register_cast_function)(input.extension, handle, error))
    }
}

/// A chunk that is cast.
pub(super) struct CastChunk {
    pub rows: usize,
    pub values: VectorValues,
    /// The vector that is written.
    pub output: Handle,
}

impl CastChunk {
    /// # Safety
    /// `info` is that of an execution.
    pub unsafe fn new(api: &'static Api, info: Handle) -> Result<Self, CallbackError> {
        let (mut rows, mut input, mut output) = (0, ptr::null_mut(), ptr::null_mut());
        // SAFETY: the caller promises it.
        unsafe {
            checked(api, |error| (api.v2_cast_function_exec_get_row_count)(info, &raw mut rows, error))?;
            checked(api, |error| (api.v2_cast_function_exec_get_input)(info, &raw mut input, error))?;
            checked(api, |error| (api.v2_cast_function_exec_get_output)(info, &raw mut output, error))?;
            Ok(Self { rows: rows as usize, values: VectorValues::new(api, input)?, output })
        }
    }
}

/// Casts the rows of a chunk. A value that cannot be cast is NULL for TRY_CAST, and fails for CAST, by the same error.
unsafe extern "C" fn execute(info: Handle, _: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of an execution, whose data are those of `register_cast`. The vectors
    // have the types of the cast. Those that are read and written are stored as texts are.
    unsafe {
        report(error, |api| {
            let cast: &Cast = object(api, |out, error| (api.v2_cast_function_exec_get_user_data)(info, out, error))?;
            let CastChunk { rows, values, output } = CastChunk::new(api, info)?;
            if cast.is_refused() {
                set_nulls(api, output, 0, 0..rows)?;
                let has_value = (0..rows).any(|row| values.is_valid(values.entry(row)));
                return if has_value { Err(cast.refusal()) } else { Ok(()) };
            }
            let (mut bytes, mut texts, mut failure) = (Vec::new(), Vec::new(), None);
            for entry in (0..rows).map(|row| values.entry(row)) {
                let start = bytes.len();
                let done = values.is_valid(entry).then(|| cast.value(values.text(entry), &mut bytes));
                match done {
                    Some(Ok(())) => texts.push(Some(start..bytes.len())),
                    Some(Err(error)) => {
                        failure.get_or_insert(error);
                        texts.push(None);
                    }
                    None => texts.push(None),
                }
            }
            write_texts(api, output, &texts, &bytes)?;
            failure.map_or(Ok(()), Err)
        });
    }
}

impl Side {
    /// DuckDB's type.
    ///
    /// # Safety
    /// As for [`register`].
    unsafe fn type_(
        self,
        api: &'static Api,
        input: &ExtensionInput,
        factory: Handle,
    ) -> Result<OwnedType, CallbackError> {
        // SAFETY: the caller promises the handles.
        unsafe {
            match self {
                Self::Text => OwnedType::parse(api, input.context, "VARCHAR"),
                Self::Json => named_type(api, input, factory, "JSON", "VARCHAR"),
                Self::Keyed(type_) => keyed_type(api, input, factory, type_),
                Self::Stored(name) => OwnedType::parse(api, input.context, name),
            }
        }
    }

    fn name(self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Json => "json".to_owned(),
            Self::Keyed(type_) => type_.name().to_owned(),
            Self::Stored(name) => name.to_lowercase(),
        }
    }
}

impl Cast {
    /// Whether the cast is there only because DuckDB's own would be wrong.
    fn is_refused(&self) -> bool {
        matches!((self.source, self.target), (Side::Json | Side::Stored(_), _) | (_, Side::Stored(_)))
    }

    fn refusal(&self) -> CallbackError {
        let (source, target) = (self.source.name(), self.target.name());
        CallbackError::failed(format!("Conversion Error: cannot cast type {source} to {target}; cast to text first"))
    }

    fn value(&self, given: &[u8], out: &mut Vec<u8>) -> Result<(), CallbackError> {
        match (self.source, self.target) {
            (Side::Text, Side::Keyed(type_)) => {
                // DuckDB's texts are UTF-8.
                let text = std::str::from_utf8(given).map_err(|_| "a text is not UTF-8")?;
                let key = type_.parse(text).map_err(conversion)?;
                out.extend_from_slice(&key);
            }
            (Side::Keyed(type_), Side::Text) => {
                type_.write_text(given, TextStyle::default(), out).map_err(conversion)?;
            }
            (Side::Keyed(type_), Side::Json) => {
                let mut text = Vec::new();
                type_.write_text(given, TextStyle::default(), &mut text).map_err(conversion)?;
                out.push(b'"');
                // No text of these types has control characters.
                for byte in text {
                    if matches!(byte, b'"' | b'\\') {
                        out.push(b'\\');
                    }
                    out.push(byte);
                }
                out.push(b'"');
            }
            (Side::Keyed(source), Side::Keyed(target)) => {
                let key = source.cast(given, target).map_err(conversion)?;
                out.extend_from_slice(&key);
            }
            _ => return Err(self.refusal()),
        }
        Ok(())
    }
}
