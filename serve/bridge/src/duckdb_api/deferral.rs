//! Deferred calls, whose functions run beside the plan: in the plan, such a call gives its arguments, and
//! `deferred_calls.rs` calls the function for whole batches of the result.
//!
//! The session decides before it binds a statement. A deferred call gives a STRUCT of its arguments by reference. The
//! name of the first field is a mark that nobody else knows, by which the session finds the column again. If the
//! result's type has several forms in Arrow, a last field tells which one the session uses: a list of the type, which
//! is NULL, so that nothing below it has to be written.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use colonnade_udf::{ColumnType, FunctionKind};

use super::handles::{CallbackError, KnownTypes, OwnedType, checked};
use super::registry::{Definition, OWN_ARGUMENTS};
use super::sql_type::SqlType;
use super::symbols::{Api, Handle};

/// The most rows of a vector (`STANDARD_VECTOR_SIZE`).
const VECTOR_ROWS: usize = 2048;

/// What a session knows of the calls that it binds.
pub(super) struct Deferral {
    secret: String,
    is_on: AtomicBool,
    /// The functions of the calls that were bound since `begin`, in the order of binding; `None` after `end`.
    calls: Mutex<Option<Vec<Arc<Definition>>>>,
    types: KnownTypes,
}

impl Deferral {
    pub fn new(secret: String) -> Self {
        Self { secret, is_on: AtomicBool::new(false), calls: Mutex::default(), types: KnownTypes::default() }
    }

    /// Begins to note calls. `defers`: calls of functions that can be deferred are.
    pub fn begin(&self, defers: bool) {
        *self.calls() = Some(Vec::new());
        self.is_on.store(defers, Ordering::SeqCst);
    }

    /// Ends deferring, and gives the functions of the calls that were bound.
    pub fn end(&self) -> Vec<Arc<Definition>> {
        self.is_on.store(false, Ordering::SeqCst);
        self.calls().take().unwrap_or_default()
    }

    fn calls(&self) -> MutexGuard<'_, Option<Vec<Arc<Definition>>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::SeqCst)
    }

    /// Notes a call that is bound, after `begin`.
    pub fn note(&self, definition: &Arc<Definition>) {
        self.calls().as_mut().into_iter().for_each(|calls| calls.push(Arc::clone(definition)));
    }

    /// The name of the first field of a deferred call's result.
    pub fn mark(&self, definition: &Definition) -> String {
        format!("colonnade {} {:016x}", self.secret, definition.function.id)
    }

    /// The type of a deferred call's result.
    pub fn result_type(
        &self,
        api: &'static Api,
        context: Handle,
        definition: &Definition,
    ) -> Result<Arc<OwnedType>, CallbackError> {
        let mut fields = Vec::new();
        for (number, parameter) in definition.parameters.iter().enumerate() {
            let name = if number == 0 { self.mark(definition) } else { number.to_string() };
            fields.push(format!("\"{name}\" {}", parameter.name));
        }
        if definition.result.arrow().is_none() {
            fields.push(format!("\"result\" {}[]", definition.result.name));
        }
        // SAFETY: the context is that of a bind that runs.
        unsafe { self.types.parse(api, context, &format!("STRUCT({})", fields.join(", "))) }
    }
}

/// Whether calls of a function can be deferred.
pub(super) fn is_deferrable(definition: &Definition) -> bool {
    let function = &definition.function;
    function.kind == FunctionKind::Scalar
        && !definition.parameters.is_empty()
        && function.parameters.iter().all(|parameter| !parameter.is_scalar)
        && definition.parameters.iter().chain([&definition.result]).all(is_exact)
}

/// Whether DuckDB gives each value of a type to Arrow as it is. Intervals and UHUGEINT overflow there, and unions have
/// another layout. The macro of a function with a MAP is more than the call.
fn is_exact(type_: &SqlType) -> bool {
    let is_own = !matches!(
        type_.column_type,
        ColumnType::Interval | ColumnType::UInt128 | ColumnType::Map(..) | ColumnType::Union(_)
    );
    is_own && type_.children.iter().all(is_exact)
}

/// Writes the arguments of a deferred call to its result, by reference.
///
/// # Safety
/// `info` is that of an execution that runs, `result` is its result, whose type is that of `Deferral::result_type`.
pub(super) unsafe fn give_arguments(
    api: &'static Api,
    info: Handle,
    definition: &Definition,
    result: Handle,
) -> Result<(), CallbackError> {
    let parameters = definition.parameters.len() as u64;
    for number in 0..parameters {
        let (mut argument, mut field) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the caller promises both handles; the struct has a field for each argument, of its type.
        unsafe {
            checked(api, |error| {
                (api.v2_scalar_function_exec_get_arg)(info, OWN_ARGUMENTS + number, &raw mut argument, error)
            })?;
            checked(api, |error| (api.v2_vector_get_child)(result, number, &raw mut field, error))?;
            checked(api, |error| (api.v2_vector_reference)(field, argument, error))?;
        }
    }
    if definition.result.arrow().is_none() {
        let (mut field, mut words) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: as above; after the arguments there is one more field, which is flat. Its bitmap has a bit for each
        // row of a vector.
        unsafe {
            checked(api, |error| (api.v2_vector_get_child)(result, parameters, &raw mut field, error))?;
            checked(api, |error| (api.v2_vector_flat_get_validity_mutable)(field, &raw mut words, error))?;
            std::slice::from_raw_parts_mut(words, VECTOR_ROWS / 64).fill(0);
        }
    }
    Ok(())
}
