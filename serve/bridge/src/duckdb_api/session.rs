//! Which connection calls: `colonnade_session()`, and what belongs to its token.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use colonnade_udf::{
    CallError, Function, FunctionCaller, Loopback, MemoryBudget, MemoryCharge, MemoryExceeded, SessionProcesses,
    StopFlag,
};

use super::capture::{Capture, StoreError};
use super::deferral::Deferral;
use super::handles::{CallbackError, EXECUTOR, INTERRUPT, INVALID_VALUE};
use super::symbols::{Api, Handle};

/// What precedes the number of a failure in DuckDB's error.
const FAILURE: &str = "colonnade function error ";
/// How many failures of a statement are kept. Each thread of the engine may report one.
const MAX_FAILURES: usize = 64;

/// Why a function has failed, for the session that reports it.
#[derive(Clone, Debug, Default)]
pub(super) struct Failure {
    pub code: Cow<'static, str>,
    pub message: String,
    pub detail: String,
    pub context: String,
    pub line: u32,
    pub position: u32,
    /// The body of the function.
    pub source: String,
    /// The id that no definition is known for.
    pub unknown: Option<String>,
}

/// Where functions run their queries.
pub(crate) struct Queries {
    /// For calls in the plan of a statement, which occupies the connection.
    pub within_statements: Arc<dyn Loopback>,
    /// For calls between two statements: on the connection itself.
    pub between_statements: Arc<dyn Loopback>,
}

/// What belongs to a connection of DuckDB.
pub(super) struct Session {
    pub token: String,
    processes: Mutex<Option<SessionProcesses>>,
    /// The memory of the last inputs of a function that were captured.
    inputs: Mutex<Vec<MemoryCharge>>,
    failures: Mutex<VecDeque<(u64, Failure)>>,
    pub deferral: Deferral,
    /// The number of the statement.
    statement: AtomicU64,
    /// Where its functions run their queries.
    loopback: Mutex<Option<Queries>>,
    /// Ends the calls of its statement.
    pub stop: StopFlag,
    /// The capture of the statement that runs.
    capture: Mutex<Option<Arc<Capture>>>,
}

/// A connection: the number of its database in this process, and its id there.
type ConnectionKey = (u64, u64);

#[derive(Default)]
struct Sessions {
    by_key: HashMap<ConnectionKey, Arc<Session>>,
    by_token: HashMap<String, ConnectionKey>,
}

static SESSIONS: LazyLock<Mutex<Sessions>> = LazyLock::new(Mutex::default);
static LAST_DATABASE: AtomicU64 = AtomicU64::new(0);
static LAST_FAILURE: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The token that `colonnade_session()` gave last on this thread.
    static GIVEN: RefCell<Option<String>> = const { RefCell::new(None) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// The session with a token.
    pub fn find(token: &str) -> Option<Arc<Self>> {
        let sessions = lock(&SESSIONS);
        sessions.by_token.get(token).and_then(|key| sessions.by_key.get(key)).cloned()
    }

    fn of(key: ConnectionKey) -> Result<Arc<Self>, String> {
        let mut sessions = lock(&SESSIONS);
        if let Some(session) = sessions.by_key.get(&key) {
            return Ok(Arc::clone(session));
        }
        let token = random_token()?;
        let session = Arc::new(Self {
            token: token.clone(),
            processes: Mutex::default(),
            inputs: Mutex::default(),
            failures: Mutex::default(),
            deferral: Deferral::new(random_token()?),
            statement: AtomicU64::new(0),
            loopback: Mutex::default(),
            stop: StopFlag::default(),
            capture: Mutex::default(),
        });
        sessions.by_token.insert(token, key);
        sessions.by_key.insert(key, Arc::clone(&session));
        Ok(session)
    }

    /// Forgets the token, and the function processes if they are others' too. Calls that are bound keep the session
    /// until they end.
    pub fn close(&self) {
        let mut sessions = lock(&SESSIONS);
        if let Some(key) = sessions.by_token.remove(&self.token) {
            sessions.by_key.remove(&key);
        }
        drop(sessions);
        // It has the session's object in Python, which has this session.
        let loopback = lock(&self.loopback).take();
        drop(loopback);
        lock(&self.inputs).clear();
        *lock(&self.processes) = None;
    }

    /// Sets the function processes.
    pub fn set_processes(&self, processes: Option<SessionProcesses>) {
        let before = std::mem::replace(&mut *lock(&self.processes), processes);
        before.inspect(SessionProcesses::cancel);
    }

    /// Sets where functions run their queries.
    pub fn set_loopback(&self, queries: Queries) {
        *lock(&self.loopback) = Some(queries);
    }

    /// A caller for a call between two statements of the connection, whose queries run on the connection itself.
    ///
    /// # Errors
    /// If the session has none.
    pub fn caller_between_statements(&self) -> Result<FunctionCaller, CallbackError> {
        let loopback = lock(&self.loopback).as_ref().map(|queries| Arc::clone(&queries.between_statements));
        Ok(self.processes()?.caller().with_loopback(loopback, self.stop.clone()))
    }

    /// A caller for a thread that executes a statement.
    ///
    /// # Errors
    /// If the session has none.
    pub fn caller(&self) -> Result<FunctionCaller, CallbackError> {
        let loopback = lock(&self.loopback).as_ref().map(|queries| Arc::clone(&queries.within_statements));
        Ok(self.processes()?.caller().with_loopback(loopback, self.stop.clone()))
    }

    /// The memory that the session's functions may use in this process.
    ///
    /// # Errors
    /// If the session has no function processes.
    pub fn budget(&self) -> Result<Arc<MemoryBudget>, CallbackError> {
        Ok(Arc::clone(self.processes()?.budget()))
    }

    /// The session's function processes.
    ///
    /// # Errors
    /// If it has none.
    pub fn processes(&self) -> Result<SessionProcesses, CallbackError> {
        lock(&self.processes).clone().ok_or_else(|| CallbackError::bind("this connection has no functions in Python"))
    }

    /// The capture of the statement that runs.
    pub fn capture(&self) -> Option<Arc<Capture>> {
        lock(&self.capture).clone()
    }

    /// Begins a capture, or ends it. Gives the one before.
    pub fn set_capture(&self, capture: Option<Arc<Capture>>) -> Option<Arc<Capture>> {
        std::mem::replace(&mut *lock(&self.capture), capture)
    }

    /// Keeps what is charged for captured inputs until the next statement begins.
    pub fn keep_inputs(&self, charges: Vec<MemoryCharge>) {
        *lock(&self.inputs) = charges;
    }

    /// As `fail`, for arguments that cannot be kept.
    pub fn not_kept(&self, error: StoreError, function: &Function) -> CallbackError {
        let name = &function.name;
        match error {
            StoreError::Memory(exceeded) => {
                let message = format!("the inputs of function \"{name}\": {exceeded}; add SAMPLE");
                self.fail(Failure { code: "53200".into(), message, ..Failure::default() })
            }
            StoreError::Arrays => "the inputs of a function have different lengths".into(),
        }
    }

    /// The number of the present statement. Each execution of a prepared one has a number of its own.
    pub fn statement(&self) -> u64 {
        self.statement.load(Ordering::Relaxed)
    }

    /// Forgets the failures of the statement before.
    pub fn begin_statement(&self) {
        self.statement.fetch_add(1, Ordering::Relaxed);
        lock(&self.failures).clear();
        lock(&self.inputs).clear();
    }

    /// Keeps a failure, and gives DuckDB a short text with its number.
    pub fn fail(&self, failure: Failure) -> CallbackError {
        let number = LAST_FAILURE.fetch_add(1, Ordering::Relaxed) + 1;
        let text = format!("{FAILURE}{number}: {}", failure.message);
        let code = if failure.code.as_ref() == "57014" { INTERRUPT } else { EXECUTOR };
        let mut failures = lock(&self.failures);
        if failures.len() == MAX_FAILURES {
            failures.pop_front();
        }
        failures.push_back((number, failure));
        CallbackError { code, text }
    }

    /// As `fail`, for a call.
    pub fn call_failed(&self, error: &CallError, function: &Function) -> CallbackError {
        self.fail(Failure::of(error, function))
    }

    /// As `fail`, for a function whose data needs more memory than it may have.
    pub fn exceeded(&self, exceeded: MemoryExceeded, function: &Function) -> CallbackError {
        self.call_failed(&CallError::exceeded(function, exceeded), function)
    }

    /// As `fail`, for a value that the type of the result does not have. Another error stays as it is.
    pub fn result_failed(&self, error: CallbackError, function: &Function) -> CallbackError {
        if error.code != INVALID_VALUE {
            return error;
        }
        let message = format!("function \"{}\": {}", function.name, error.text);
        self.fail(Failure { code: "22023".into(), message, ..Failure::default() })
    }

    /// The failure that DuckDB's error names.
    pub fn take_failure(&self, text: &str) -> Option<Failure> {
        let (_, rest) = text.split_once(FAILURE)?;
        let (number, _) = rest.split_once(':')?;
        let number: u64 = number.parse().ok()?;
        let mut failures = lock(&self.failures);
        let at = failures.iter().position(|(known, _)| *known == number)?;
        failures.remove(at).map(|(_, failure)| failure)
    }
}

impl Failure {
    /// What a session reports of a call.
    pub fn of(error: &CallError, function: &Function) -> Self {
        let record = error.record().cloned().unwrap_or_default();
        Self {
            code: error.sqlstate().to_owned().into(),
            message: error.to_string(),
            detail: record.detail,
            context: record.context,
            line: record.line,
            position: record.position,
            source: function.source.clone(),
            unknown: None,
        }
    }
}

/// Calls `work`, and gives the token that `colonnade_session()` has given during it on this thread, which is that of
/// the calling connection.
pub(super) fn given_during<T>(work: impl FnOnce() -> T) -> (T, Option<String>) {
    GIVEN.set(None);
    let result = work();
    (result, GIVEN.take())
}

/// 128 random bits in hexadecimal.
pub(super) fn random_token() -> Result<String, String> {
    let mut bytes = [0; 16];
    let filled = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty());
    if filled.map_err(|error| error.to_string())? < bytes.len() {
        return Err("the system gave too few random bytes".to_owned());
    }
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Whether a text has the form of `random_token`'s.
pub(super) fn is_token(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Registers `colonnade_session()` with a database that was opened.
///
/// # Safety
/// `database` is one of version 1 of the interface.
pub(super) unsafe fn register(api: &Api, database: Handle) -> Result<(), &'static str> {
    const VARCHAR: i32 = 17;
    let number = LAST_DATABASE.fetch_add(1, Ordering::Relaxed);
    let mut connection = std::ptr::null_mut();
    // SAFETY: the caller promises the database; each object is used before it is destroyed. The connection must end
    // here: otherwise the database would stay open.
    unsafe {
        if (api.connect)(database, &raw mut connection) != 0 {
            return Err("no connection for the function colonnade_session");
        }
        let mut function = (api.create_scalar_function)();
        let mut varchar = (api.create_logical_type)(VARCHAR);
        (api.scalar_function_set_name)(function, c"colonnade_session".as_ptr());
        (api.scalar_function_set_return_type)(function, varchar);
        (api.scalar_function_set_extra_info)(function, Box::into_raw(Box::new(number)).cast(), Some(drop_number));
        (api.scalar_function_set_bind)(function, bind);
        (api.scalar_function_set_function)(function, execute);
        let code = (api.register_scalar_function)(connection, function);
        (api.destroy_logical_type)(&raw mut varchar);
        (api.destroy_scalar_function)(&raw mut function);
        (api.disconnect)(&raw mut connection);
        if code == 0 { Ok(()) } else { Err("the function colonnade_session could not be registered") }
    }
}

unsafe extern "C" fn drop_number(number: *mut c_void) {
    // SAFETY: `register` has made it, and DuckDB destroys it once.
    drop(unsafe { Box::from_raw(number.cast::<u64>()) });
}

unsafe extern "C" fn drop_token(token: *mut c_void) {
    // SAFETY: `bind` or `copy_token` has made it, and DuckDB destroys it once.
    drop(unsafe { Box::from_raw(token.cast::<String>()) });
}

unsafe extern "C" fn copy_token(token: *mut c_void) -> *mut c_void {
    // SAFETY: DuckDB copies what `bind` has set, while it lives.
    let token = unsafe { &*token.cast::<String>() };
    Box::into_raw(Box::new(token.clone())).cast()
}

unsafe extern "C" fn bind(info: Handle) {
    let Ok(api) = Api::loaded() else { return };
    let mut context = std::ptr::null_mut();
    // SAFETY: DuckDB calls this with a bind's information; the context lives until it is destroyed here; the extra
    // information is that of `register`. Without data, `execute` reports an error.
    unsafe {
        (api.scalar_function_get_client_context)(info, &raw mut context);
        let connection = (api.client_context_get_connection_id)(context);
        (api.destroy_client_context)(&raw mut context);
        let Some(database) = (api.scalar_function_bind_get_extra_info)(info).cast::<u64>().as_ref() else { return };
        let Ok(session) = Session::of((*database, connection)) else { return };
        let token = Box::into_raw(Box::new(session.token.clone()));
        (api.scalar_function_set_bind_data)(info, token.cast(), Some(drop_token));
        (api.scalar_function_set_bind_data_copy)(info, copy_token);
    }
}

unsafe extern "C" fn execute(info: Handle, input: Handle, output: Handle) {
    let Ok(api) = Api::loaded() else { return };
    // SAFETY: DuckDB calls this with a call's information, its rows, and a vector of texts as long; the data is that of
    // `bind`.
    unsafe {
        let Some(token) = (api.scalar_function_get_bind_data)(info).cast::<String>().as_ref() else {
            (api.scalar_function_set_error)(
                info,
                c"no token for this connection: the system has no random bytes".as_ptr(),
            );
            return;
        };
        for row in 0..(api.data_chunk_get_size)(input) {
            (api.vector_assign_string_element_len)(output, row, token.as_ptr().cast(), token.len() as u64);
        }
        GIVEN.with(|given| *given.borrow_mut() = Some(token.clone()));
    }
}
