//! A call of a dispatcher that DuckDB has bound: the function, the session, and types that fit.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use colonnade_duckdb_api::arguments::{argument_type, constant};
use colonnade_udf::MemoryVec;

use super::capture::{CapturedCall, Role};
use super::deferral;
use super::handles::{CallbackError, checked, object, owned};
use super::registry::{self, Definition, OWN_ARGUMENTS};
use super::session::{Failure, Session, given_during};
use super::symbols::{Api, Handle, Opaque};

/// The most arguments of a function that takes any: as many as it could declare.
const MAX_ARGUMENTS: usize = 100;
/// DuckDB's name of the type of a NULL that has none.
const NO_TYPE: &str = "\"NULL\"";
/// That of the type of a parameter before it is known.
const UNRESOLVED: &str = "UNKNOWN";

/// A call that is bound.
pub(super) struct BoundCall {
    pub session: Arc<Session>,
    pub definition: Arc<Definition>,
    /// Whether the call gives its arguments instead of its result (`deferral.rs`).
    pub is_deferred: bool,
    /// Whether the types of arguments are not known yet: of a prepared statement, or of a macro that is being made.
    is_unresolved: bool,
    /// Its place among the calls of a statement whose arguments are captured.
    captured: Option<Arc<CapturedCall>>,
    scalars: Mutex<Scalars>,
}

/// The values of scalar parameters in one execution.
#[derive(Default)]
struct Scalars {
    /// The session's number of the statement.
    statement: u64,
    by_name: HashMap<String, MemoryVec<u8>>,
}

impl BoundCall {
    /// Refuses to run a call whose types were not known when it was bound: its vectors have others.
    pub fn check_resolved(&self) -> Result<(), CallbackError> {
        if !self.is_unresolved {
            return Ok(());
        }
        let message =
            format!("the types of the arguments of {} are not known: cast them", self.definition.function.name);
        Err(self.session.fail(Failure { code: "42P18".into(), message, ..Failure::default() }))
    }

    /// What the call does.
    pub fn role(&self) -> Role {
        self.captured.as_ref().map_or(Role::Run, CapturedCall::role)
    }

    /// Notes the call, if the session captures. The caller keeps this until the statement ends.
    pub fn noted(mut self) -> Self {
        self.captured = self.session.capture().map(|capture| capture.note(self.definition.declared));
        self
    }

    /// Reads the arguments of a dispatcher.
    ///
    /// # Safety
    /// `info` and `context` are those of a bind callback that runs, whose function has its name as user data.
    pub unsafe fn read(api: &'static Api, info: Handle, context: Handle) -> Result<Self, CallbackError> {
        let (mut fixed, mut variadic) = (0, 0);
        let null = ptr::null_mut();
        // SAFETY: the caller promises the information; the places live.
        checked(api, |error| unsafe {
            (api.v2_function_bind_get_arg_count)(info, &raw mut fixed, &raw mut variadic, null, null, error)
        })?;
        // SAFETY: the caller promises both.
        let name = unsafe {
            object::<&'static str>(api, |out, error| (api.v2_function_bind_get_user_data)(info, out, error))
        }?;
        // SAFETY: the caller promises the information.
        let (token, given) = given_during(|| unsafe { constant(api, info, 1) });
        // The argument is evaluated for this connection now. So its own token is accepted only from
        // `colonnade_session()`, and that of another connection is not, wherever it comes from.
        let token = token?;
        let session = given.filter(|given| *given == token).and_then(|token| Session::find(&token));
        let session = session
            .ok_or_else(|| CallbackError::bind(format!("the second argument of {name} is colonnade_session()")))?;
        // SAFETY: the caller promises the information.
        let id = unsafe { constant(api, info, 0) }?;
        let number = registry::parse_id(&id);
        let Some(definition) = number.and_then(registry::find) else {
            let message = format!("there is no function in Python with the id {id}");
            return Err(session.fail(Failure {
                code: "42883".into(),
                message,
                unknown: Some(id),
                ..Failure::default()
            }));
        };
        if definition.dispatcher() != *name {
            let (function, dispatcher) = (&definition.function.name, definition.dispatcher());
            return Err(CallbackError::bind(format!("{function} is called by {dispatcher}")));
        }
        // SAFETY: the caller promises the information.
        let types =
            || (OWN_ARGUMENTS..OWN_ARGUMENTS + variadic).map(|number| unsafe { argument_type(api, info, number) });
        let mut is_unresolved = false;
        let definition = if definition.is_variadic {
            let names = types().map(|type_| type_?.text()).collect::<Result<Vec<_>, _>>()?;
            is_unresolved = names.iter().any(|name| name == UNRESOLVED);
            let names = names.into_iter().map(|name| if name == UNRESOLVED { "VARCHAR".to_owned() } else { name });
            variant(&session, &definition, names.collect())?
        } else {
            definition
        };
        let function = &definition.function;
        if variadic != definition.parameters.len() as u64 {
            let wanted = definition.parameters.len();
            return Err(CallbackError::bind(format!(
                "{} takes {wanted} arguments, and {variadic} are given",
                function.name
            )));
        }
        for ((position, found), parameter) in (1..).zip(types()).zip(&definition.parameters) {
            let found = found?;
            // SAFETY: the context is that of a bind that runs.
            let wanted = unsafe { registry::TYPES.parse(api, context, &parameter.name) }?;
            let mut is_equal = false;
            // SAFETY: both types live.
            checked(api, |error| unsafe {
                (api.v2_logical_type_is_equal)(found.handle, wanted.handle, &raw mut is_equal, error)
            })?;
            if !is_equal && !is_unresolved {
                let text = format!("argument {position} of {} must have the type {}", function.name, parameter.name);
                return Err(CallbackError::bind(text));
            }
        }
        session.processes()?;
        let is_deferred = session.deferral.is_on() && deferral::is_deferrable(&definition) && !is_unresolved;
        Ok(Self { session, definition, is_deferred, is_unresolved, captured: None, scalars: Mutex::default() })
    }

    /// Checks that the argument of a scalar parameter is one value, in all calls of an execution. `value` is that of
    /// one call; `None` if it has several.
    pub fn check_scalar(&self, name: &str, value: Option<MemoryVec<u8>>) -> Result<(), CallbackError> {
        let mut scalars = self.scalars.lock().unwrap_or_else(PoisonError::into_inner);
        let statement = self.session.statement();
        if scalars.statement != statement {
            *scalars = Scalars { statement, ..Scalars::default() };
        }
        let is_one = value.is_some_and(|value| match scalars.by_name.get(name) {
            Some(known) => **known == *value,
            None => {
                scalars.by_name.insert(name.to_owned(), value);
                true
            }
        });
        if is_one {
            return Ok(());
        }
        let message = format!("argument \"{name}\" of {} has more than one value", self.definition.function.name);
        Err(self.session.fail(Failure { code: "22023".into(), message, ..Failure::default() }))
    }

    /// The call as data of DuckDB's.
    pub fn into_opaque(self) -> Opaque {
        Opaque { equals: Some(is_same), ..owned(self) }
    }
}

/// Whether two calls are the same, so that one result serves both.
unsafe extern "C" fn is_same(left: *mut c_void, right: *mut c_void) -> bool {
    // SAFETY: DuckDB compares the data of one function, which `into_opaque` has made, while it lives.
    let (left, right) = unsafe { (&*left.cast::<BoundCall>(), &*right.cast::<BoundCall>()) };
    let is_one_capture = match (&left.captured, &right.captured) {
        (None, None) => true,
        (Some(left), Some(right)) => Arc::ptr_eq(left, right),
        _ => false,
    };
    Arc::ptr_eq(&left.definition, &right.definition)
        && Arc::ptr_eq(&left.session, &right.session)
        && left.is_deferred == right.is_deferred
        && left.is_unresolved == right.is_unresolved
        && is_one_capture
}

/// What a function with any arguments is for arguments of these types.
fn variant(
    session: &Session,
    definition: &Arc<Definition>,
    types: Vec<String>,
) -> Result<Arc<Definition>, CallbackError> {
    let name = &definition.function.name;
    let failed = |code: &'static str, message: String| {
        session.fail(Failure { code: code.into(), message, ..Failure::default() })
    };
    if types.len() > MAX_ARGUMENTS {
        return Err(failed("54023", format!("{name} is called with more than {MAX_ARGUMENTS} arguments")));
    }
    if let Some(at) = types.iter().position(|type_| type_ == NO_TYPE) {
        let position = at + 1;
        return Err(failed("42P18", format!("argument {position} of {name} is a NULL without a type: cast it to one")));
    }
    registry::variant(definition, types).map_err(|error| failed("0A000", format!("{name}: {error}")))
}
