//! One connection from accept to close: its purpose, the login, and the session.

pub(crate) mod cancel;
pub(crate) mod input;
pub(crate) mod listen;
pub(crate) mod origin;
pub(crate) mod output;
pub(crate) mod pending_login;
pub(crate) mod process_exit;
pub(crate) mod registry;
pub(crate) mod sender;
pub(crate) mod socket;
pub(crate) mod startup;
pub(crate) mod stop_reason;
pub(crate) mod thread_clock;
mod waiting;
pub(crate) mod watch;

use std::io;
use std::net::Shutdown;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crate::auth::LoginError;
use crate::caller::Caller;
use crate::connection::input::Input;
use crate::connection::output::Output;
use crate::connection::pending_login::PendingLogin;
use crate::connection::registry::NewSession;
use crate::connection::socket::Socket;
use crate::connection::startup::{Purpose, StartupMessage};
use crate::connection::stop_reason::StopReason;
use crate::engine::EngineError;
use crate::error::{Failure, SqlState};
use crate::limits::LimitError;
use crate::observe::{FieldValue, Observer, increment};
use crate::serve::context::ServerContext;
use crate::session::prepared::Prepared;
use crate::session::prepared::lists::SessionLists;
use crate::session::settings::Settings;
use crate::session::{Reported, Session, TransactionState};

/// How long a refused client may take to read the reason.
const LAST_MESSAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves one connection.
pub(crate) fn serve(shared: &Arc<ServerContext>, pending: PendingLogin, socket: &Arc<Socket>) {
    let mut output = Output::new(Arc::clone(socket));
    let mut pending = Some(pending);
    // When a session panics, unwinding drops everything that it held. Its client still gets an error.
    let ended = catch_unwind(AssertUnwindSafe(|| handle_connection(shared, &mut pending, socket, &mut output)));
    let mut ended = ended.unwrap_or(Err(Failure::Panicked));
    // The connection was evicted. That is the reason, whatever error the read gave.
    if ended.is_err() && pending.as_ref().is_some_and(PendingLogin::was_evicted) {
        ended = Err(LimitError::AddressLogins.into());
    }
    drop(pending);
    if let Err(failure) = &ended {
        log_refusal(&shared.observer, socket, failure);
    }
    let _ = socket.set_deadline(Instant::now().checked_add(LAST_MESSAGE_TIMEOUT));
    match ended {
        Ok(()) => {}
        // If the handshake has not completed, no message can be sent.
        Err(_) if socket.has_failed_handshake() => {}
        // The client is gone.
        Err(Failure::Disconnected(error)) if !is_timeout(&error) => {}
        Err(Failure::Disconnected(_)) => startup::refuse(&mut output, &LoginError::TimedOut.into()),
        Err(failure) => startup::refuse(&mut output, &failure),
    }
    socket.send_close_alert();
    // The supervisor may hold a duplicate of the descriptor, so closing this one would not close the connection.
    socket.shutdown(Shutdown::Write);
}

/// Refuses a client that names another database. libpq and others send the user's name if no database is named.
fn check_database(served: Option<&str>, client: &StartupMessage) -> Result<(), EngineError> {
    let asked = client.database.as_str();
    let Some(served) = served else { return Ok(()) };
    if asked.is_empty() || asked == client.user || asked.eq_ignore_ascii_case(served) {
        return Ok(());
    }
    let hint = format!("This server has the database \"{served}\".");
    let message = format!("database \"{asked}\" does not exist");
    Err(EngineError { hint: Some(hint), ..EngineError::new(SqlState::INVALID_CATALOG_NAME, message) })
}

/// Logs that a client was refused, and why.
fn log_refusal(observer: &Observer, socket: &Socket, failure: &Failure) {
    if let Some(LoginError::Password(_) | LoginError::TooManyFailures(_)) = failure.client_error() {
        increment(&observer.failed_logins);
    } else if let Failure::Limit(_) = failure {
        increment(&observer.refusals);
    }
    // The text of a failed login names the user. It contains no secret.
    let (peer, code, reason) = (peer(socket), failure.code(), failure.to_string());
    let fields = [("peer", &*peer), ("code", code.as_str()), ("reason", &*reason)];
    observer.log_event("refused", &fields.map(|(name, text)| (name, FieldValue::Text(text))));
}

fn peer(socket: &Socket) -> String {
    socket.peer().map_or_else(|| "unix".to_owned(), |peer| peer.to_string())
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn handle_connection(
    shared: &Arc<ServerContext>,
    pending: &mut Option<PendingLogin>,
    socket: &Arc<Socket>,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut input = Input::new(Arc::clone(socket));
    socket.prepare()?;
    socket.set_deadline(Instant::now().checked_add(shared.limits.login))?;
    let tls = shared.tls.read().unwrap_or_else(PoisonError::into_inner).clone();
    match startup::purpose(socket, &mut input, output, tls.as_deref())? {
        // A client may close without a message. An error is due only if this server closed the connection.
        Purpose::Closed if pending.as_ref().is_some_and(PendingLogin::was_evicted) => {
            Err(LimitError::AddressLogins.into())
        }
        Purpose::Closed => Ok(()),
        Purpose::Cancel { process, secret } => {
            let control = shared.registry.find(process, &secret);
            let stopping = control.as_ref().and_then(|control| control.stop(StopReason::Canceled));
            // The client waits for this connection to end, and may then send its next statement. So it ends only after
            // the interrupt is assigned to the current one.
            socket.send_close_alert();
            socket.shutdown(Shutdown::Both);
            if let Some(stopping) = stopping {
                stopping.wait(None);
            }
            Ok(())
        }
        Purpose::Session(client) => run_session(shared, pending, socket, input, output, &client),
    }
}

fn run_session(
    shared: &Arc<ServerContext>,
    pending: &mut Option<PendingLogin>,
    socket: &Arc<Socket>,
    mut input: Input,
    output: &mut Output,
    client: &StartupMessage,
) -> Result<(), Failure> {
    client.negotiate(output.buffer());
    if shared.is_draining.load(Ordering::SeqCst) {
        return Err(LimitError::Draining.into());
    }
    let user = shared.authenticator.login(socket, &mut input, output, &client.user)?;
    pending.as_mut().map_or(Ok(()), PendingLogin::mark_logged_in)?;
    socket.set_deadline(None)?;
    check_database(shared.engine.database(), client)?;
    shared.registry.check_limits(&user, &shared.limits)?;
    let engine = shared.engine.session(&user)?;
    let (interrupt, observer) = (engine.interrupt_handle(), &shared.observer);
    let new = NewSession { user, interrupt, socket: Arc::clone(socket), secret_bytes: client.secret_bytes() };
    let registration = shared.registry.register(new, &shared.limits, &shared.spools, observer)?;
    // The user may have been removed before this session was one of those that end then.
    if !shared.authenticator.has_name(&registration.control.user) {
        return Err(Failure::Shutdown);
    }
    drop(pending.take());
    increment(&observer.logins);
    let begun = Instant::now();
    let (peer, role, tls) =
        (peer(socket), registration.control.user.role.to_string(), socket.tls().map_or("no", |tls| tls.version()));
    let fields = [("peer", &*peer), ("user", &registration.control.user.name), ("role", &role), ("tls", tls)];
    observer.log_event("login", &fields.map(|(name, text)| (name, FieldValue::Text(text))));
    shared.watch.add(socket.as_ref(), registration.process)?;
    let is_source = engine.source().is_some();
    startup::confirm_login(output, client, &shared.version, is_source, registration.process, &registration.secret);
    let output = std::mem::replace(output, Output::new(Arc::clone(socket)));
    let settings = Settings::new(&[
        ("server_version", &shared.version),
        ("server_version_num", &version_number(&shared.version)),
        ("session_authorization", &client.user),
        ("application_name", &client.application_name),
    ]);
    let control = Arc::clone(&registration.control);
    let is_stopped = move || control.check().is_err();
    let (locks, control) = (shared.locks.holder(is_stopped), Arc::clone(&registration.control));
    let notifications = shared.notifications.session(registration.process);
    let (lists, registry) = (SessionLists::default(), Arc::clone(&shared.registry));
    let caller = Caller::new(locks, notifications, registration.process, control, registry, lists.clone());
    let session = Session {
        input,
        output,
        database: Arc::clone(&shared.engine),
        engine,
        process: registration.process,
        startup_settings: client.settings.clone().into(),
        control: Arc::clone(&registration.control),
        tickets: Arc::clone(&shared.tickets),
        caller: caller.into(),
        transaction: TransactionState::default(),
        prepared: Prepared::new(lists),
        settings,
        reported: Reported::default(),
        encode_cpu: shared.encode_cpu,
        link_estimate: None,
    };
    session.run();
    observer.sent.fetch_add(socket.sent(), Ordering::Relaxed);
    let fields = [
        ("peer", FieldValue::Text(&peer)),
        ("user", FieldValue::Text(&registration.control.user.name)),
        ("seconds", FieldValue::Seconds(begun.elapsed().as_secs_f64())),
        ("statements", FieldValue::Number(registration.control.statements())),
        ("sent", FieldValue::Number(socket.sent())),
    ];
    observer.log_event("end", &fields);
    Ok(())
}

/// PostgreSQL's number for a version: 150004 for 15.4, 90624 for 9.6.24.
fn version_number(version: &str) -> String {
    let numbers = version.split(' ').next().unwrap_or_default().split('.');
    let mut numbers = numbers.map(|part| part.parse().unwrap_or(0u32)).chain([0, 0, 0]);
    let (first, second, third) = (numbers.next(), numbers.next(), numbers.next());
    let [first, second, third] = [first, second, third].map(|number| number.unwrap_or(0).min(9999));
    if first < 10 { format!("{first}{second:02}{third:02}") } else { format!("{first}{second:04}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_numbers_are_postgresqls() {
        assert_eq!(version_number("15.0 (Colonnade 0.1.0, Engine 1.0)"), "150000");
        assert_eq!(version_number("17.4"), "170004");
        assert_eq!(version_number("9.6.24"), "90624");
    }
}
