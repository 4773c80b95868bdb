//! One connection, from accepting to its end: what it is for, who is there, and then its session.

use std::io;
use std::net::Shutdown;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crate::auth::LoginError;
use crate::cancel::Reason;
use crate::engine::EngineError;
use crate::error::{Failure, SqlState};
use crate::extended::Prepared;
use crate::input::Input;
use crate::limits::LimitError;
use crate::message::backend::Status;
use crate::newcomer::Newcomer;
use crate::observe::{Observer, Value, count};
use crate::registry::Arrival;
use crate::serve::Shared;
use crate::session::Session;
use crate::settings::Settings;
use crate::socket::{Output, Socket};
use crate::startup::{self, Purpose};

/// How long a client that is refused may take to take the reason.
const FAREWELL: Duration = Duration::from_secs(2);

/// All that happens on one connection.
pub(crate) fn connection(shared: &Arc<Shared>, newcomer: Newcomer, socket: &Arc<Socket>) {
    let mut output = Output::new(Arc::clone(socket));
    let mut newcomer = Some(newcomer);
    // A session that panics leaves nothing behind but its client, who is told: all else is dropped on the way here.
    let conversation = catch_unwind(AssertUnwindSafe(|| converse(shared, &mut newcomer, socket, &mut output)));
    let mut conversation = conversation.unwrap_or(Err(Failure::Panicked));
    // Whatever else it looks like: its reading was ended for another connection's sake.
    if conversation.is_err() && newcomer.as_ref().is_some_and(Newcomer::was_driven_out) {
        conversation = Err(LimitError::AddressLogins.into());
    }
    drop(newcomer);
    if let Err(failure) = &conversation {
        refused(&shared.observer, socket, failure);
    }
    // For what is to be told at last.
    let _ = socket.set_deadline(Instant::now().checked_add(FAREWELL));
    match conversation {
        Ok(()) => {}
        // Nothing may be said where a handshake has failed, or has not come to its end.
        Err(_) if socket.is_silent() => {}
        // Nobody is left to be told.
        Err(Failure::Disconnected(error)) if !is_timeout(&error) => {}
        Err(Failure::Disconnected(_)) => startup::refuse(&mut output, &LoginError::Late.into()),
        Err(failure) => startup::refuse(&mut output, &failure),
    }
    socket.say_goodbye();
    // The descriptor may have a duplicate in a supervisor, so closing this one would not tell the client.
    socket.shutdown(Shutdown::Write);
}

/// Refuses a client of another database. libpq and others send the user's name where nobody has named a database.
fn is_served(served: Option<&str>, client: &startup::Settings) -> Result<(), EngineError> {
    let asked = client.database.as_str();
    let Some(served) = served else { return Ok(()) };
    if asked.is_empty() || asked == client.user || asked.eq_ignore_ascii_case(served) {
        return Ok(());
    }
    let hint = format!("This server has the database \"{served}\".");
    let message = format!("database \"{asked}\" does not exist");
    Err(EngineError { hint: Some(hint), ..EngineError::new(SqlState::INVALID_CATALOG_NAME, message) })
}

/// Writes down that a client was not let in, and why.
fn refused(observer: &Observer, socket: &Socket, failure: &Failure) {
    match failure {
        Failure::Login(LoginError::Password(_) | LoginError::TooManyFailures(_)) => count(&observer.failed_logins),
        Failure::Limit(_) => count(&observer.refusals),
        _ => {}
    }
    // The text of a login's failure names the user, and nothing that was to prove it.
    let (peer, code, reason) = (peer(socket), failure.code(), failure.to_string());
    let fields = [("peer", &*peer), ("code", code.as_str()), ("reason", &*reason)];
    observer.tell("refused", &fields.map(|(name, text)| (name, Value::Text(text))));
}

fn peer(socket: &Socket) -> String {
    socket.peer().map_or_else(|| "unix".to_owned(), |peer| peer.to_string())
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn converse(
    shared: &Arc<Shared>,
    newcomer: &mut Option<Newcomer>,
    socket: &Arc<Socket>,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut input = Input::new(Arc::clone(socket));
    socket.prepare()?;
    socket.set_deadline(Instant::now().checked_add(shared.limits.login))?;
    let tls = shared.tls.read().unwrap_or_else(PoisonError::into_inner).clone();
    match startup::purpose(socket, &mut input, output, tls.as_deref())? {
        // A connection that closes is nothing, unless it was closed here.
        Purpose::Nothing if newcomer.as_ref().is_some_and(Newcomer::was_driven_out) => {
            Err(LimitError::AddressLogins.into())
        }
        Purpose::Nothing => Ok(()),
        Purpose::Cancel { process, secret } => {
            let control = shared.registry.find(process, &secret);
            let stopping = control.as_ref().and_then(|control| control.stop(Reason::Canceled));
            // The client waits for the connection to end, not for the statement to; but only once its statement is
            // the one that is stopped may it go on to the next.
            socket.say_goodbye();
            socket.shutdown(Shutdown::Both);
            if let Some(stopping) = stopping {
                stopping.wait(None);
            }
            Ok(())
        }
        Purpose::Session(settings) => session(shared, newcomer, socket, input, output, &settings),
    }
}

fn session(
    shared: &Arc<Shared>,
    newcomer: &mut Option<Newcomer>,
    socket: &Arc<Socket>,
    mut input: Input,
    output: &mut Output,
    client: &startup::Settings,
) -> Result<(), Failure> {
    client.negotiate(output.buffer());
    if shared.is_draining.load(Ordering::SeqCst) {
        return Err(LimitError::Draining.into());
    }
    let who = shared.gate.login(socket, &mut input, output, &client.user)?;
    newcomer.as_mut().map_or(Ok(()), Newcomer::is_known)?;
    socket.set_deadline(None)?;
    is_served(shared.engine.database(), client)?;
    shared.registry.admit(&who, &shared.limits)?;
    let engine = shared.engine.session(&who)?;
    let (interrupt, observer) = (engine.interrupt_handle(), &shared.observer);
    let arrival = Arrival { who, interrupt, socket: Arc::clone(socket), secret_bytes: client.secret_bytes() };
    let ticket = shared.registry.register(arrival, &shared.limits, &shared.spools, observer)?;
    drop(newcomer.take());
    count(&observer.logins);
    let begun = Instant::now();
    let (peer, role, tls) =
        (peer(socket), ticket.control.who.role.to_string(), socket.tls().map_or("no", |tls| tls.version()));
    let fields = [("peer", &*peer), ("user", &ticket.control.who.name), ("role", &role), ("tls", tls)];
    observer.tell("login", &fields.map(|(name, text)| (name, Value::Text(text))));
    shared.watch.add(socket.as_ref(), ticket.process)?;
    startup::welcome(output, client, &shared.version, ticket.process, &ticket.secret);
    let output = std::mem::replace(output, Output::new(Arc::clone(socket)));
    let (control, prepared) = (Arc::clone(&ticket.control), Prepared::default());
    let encode_cpu = shared.encode_cpu;
    let settings = Settings::new(&[
        ("server_version", &shared.version),
        ("server_version_num", &version_number(&shared.version)),
        ("session_authorization", &client.user),
        ("application_name", &client.application_name),
    ]);
    let (status, dialect) = (Status::Idle, "");
    let time_zone = String::new();
    let link_estimate = None;
    Session {
        input,
        output,
        engine,
        control,
        status,
        prepared,
        settings,
        dialect,
        time_zone,
        encode_cpu,
        link_estimate,
    }
    .run(&client.given, ticket.process);
    observer.sent.fetch_add(socket.sent(), Ordering::Relaxed);
    let fields = [
        ("peer", Value::Text(&peer)),
        ("user", Value::Text(&ticket.control.who.name)),
        ("seconds", Value::Seconds(begun.elapsed().as_secs_f64())),
        ("statements", Value::Number(ticket.control.statements())),
        ("sent", Value::Number(socket.sent())),
    ];
    observer.tell("end", &fields);
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
    fn versions_have_their_numbers() {
        assert_eq!(version_number("15.0 (Colonnade 0.1.0, DuckDB 1.0)"), "150000");
        assert_eq!(version_number("17.4"), "170004");
        assert_eq!(version_number("9.6.24"), "90624");
    }
}
