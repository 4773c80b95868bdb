//! A call of a dispatcher that DuckDB has bound: the function, the session, and types that fit.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use super::capture::{CapturedCall, Role};
use super::handles::{CallbackError, OwnedType, checked, copied, object, owned};
use super::registry::{self, Definition};
use super::session::{Failure, Session, given_during};
use super::symbols::{Api, Handle, Opaque, RawText};

/// The arguments of a dispatcher before those of the function: the id and the token.
pub(super) const OWN_ARGUMENTS: u64 = 2;

/// A call that is bound.
pub(super) struct BoundCall {
    pub session: Arc<Session>,
    pub definition: Arc<Definition>,
    /// Its place among the calls of a statement whose arguments are captured.
    captured: Option<Arc<CapturedCall>>,
    scalars: Mutex<Scalars>,
}

/// The values of scalar parameters in one execution.
#[derive(Default)]
struct Scalars {
    /// The session's number of the statement.
    statement: u64,
    by_name: HashMap<String, Vec<u8>>,
}

impl BoundCall {
    /// What the call does.
    pub fn role(&self) -> Role {
        self.captured.as_ref().map_or(Role::Run, CapturedCall::role)
    }

    /// Notes the call, if the session captures. The caller keeps this until the statement ends.
    pub fn noted(mut self) -> Self {
        self.captured = self.session.capture().map(|capture| capture.note(self.definition.function.id));
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
        // The argument is evaluated for this connection now. So its own token is accepted only from `colonnade_session()`, and that of
        // another connection is not, wherever it comes from.
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
        let function = &definition.function;
        if definition.dispatcher() != *name {
            return Err(CallbackError::bind(format!("{} is called by {}", function.name, definition.dispatcher())));
        }
        if variadic != definition.parameters.len() as u64 {
            let wanted = definition.parameters.len();
            return Err(CallbackError::bind(format!(
                "{} takes {wanted} arguments, and {variadic} are given",
                function.name
            )));
        }
        for (number, parameter) in (OWN_ARGUMENTS..).zip(&definition.parameters) {
            // SAFETY: the index is one of an argument.
            let found = OwnedType::new(api, |out, error| unsafe {
                (api.v2_function_bind_get_arg_type)(info, number, out, error)
            })?;
            let wanted = OwnedType::parse(api, context, &parameter.name)?;
            let mut is_equal = false;
            // SAFETY: both types live.
            checked(api, |error| unsafe {
                (api.v2_logical_type_is_equal)(found.handle, wanted.handle, &raw mut is_equal, error)
            })?;
            if !is_equal {
                let position = number - OWN_ARGUMENTS + 1;
                let text = format!("argument {position} of {} must have the type {}", function.name, parameter.name);
                return Err(CallbackError::bind(text));
            }
        }
        session.workers()?;
        Ok(Self { session, definition, scalars: Mutex::default(), captured: None })
    }

    /// Checks that the argument of a scalar parameter is one value, in all calls of an execution. `value` is that of one call; `None` if it
    /// has several.
    pub fn check_scalar(&self, name: &str, value: Option<Vec<u8>>) -> Result<(), CallbackError> {
        let mut scalars = self.scalars.lock().unwrap_or_else(PoisonError::into_inner);
        let statement = self.session.statement();
        if scalars.statement != statement {
            *scalars = Scalars { statement, ..Scalars::default() };
        }
        let is_one = value.is_some_and(|value| match scalars.by_name.get(name) {
            Some(known) => *known == value,
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
    Arc::ptr_eq(&left.definition, &right.definition) && Arc::ptr_eq(&left.session, &right.session) && is_one_capture
}

/// An argument that is a constant text.
///
/// # Safety
/// `info` is that of a bind callback that runs.
pub(super) unsafe fn constant(api: &'static Api, info: Handle, index: u64) -> Result<String, CallbackError> {
    let mut value = ptr::null_mut();
    // SAFETY: the caller promises the information.
    checked(api, |error| unsafe { (api.v2_function_bind_get_arg_value)(info, index, &raw mut value, error) })?;
    let mut is_null = false;
    let mut text = RawText { bytes: ptr::null(), length: 0 };
    // SAFETY: the value is this side's until it is destroyed below; the text is copied before.
    unsafe {
        let read = checked(api, |error| (api.v2_value_is_null)(value, &raw mut is_null, error)).and_then(|()| {
            if is_null {
                return Err(CallbackError::bind("the id of a function is NULL"));
            }
            checked(api, |error| (api.v2_value_get_varchar)(value, &raw mut text, error))
        });
        let read = read.map(|()| copied(&text));
        (api.v2_value_destroy)(&raw mut value);
        read
    }
}
