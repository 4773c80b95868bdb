//! The login of one connection.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use colonnade_login::scram::{NONCE_BYTES, Verifier};

use super::scram::{self, ScramError, ScramExchange};
use super::throttle::Throttle;
use super::unknown::Unknown;
use super::users::{LONGEST_NAME, Users};
use crate::connection::input::Input;
use crate::connection::origin::Origin;
use crate::connection::socket::{Output, Socket};
use crate::engine::{Role, Who};
use crate::error::{Failure, SqlState};
use crate::message::backend;
use crate::message::frontend::{FrontendMessage, Phase, sasl_initial_response};

/// Why a login fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// A wrong password, or no such user. The client is not told which.
    #[error("password authentication failed for user \"{0}\"")]
    Password(String),
    /// Too many failed logins.
    #[error("too many failed logins; try again in {0} seconds")]
    TooManyFailures(u64),
    /// The start-up message names no user.
    #[error("no PostgreSQL user name specified in startup packet")]
    NoUser,
    /// The connection is not encrypted, so others could read it.
    #[error("connections from other machines have to be encrypted; use sslmode=require or verify-full")]
    NotEncrypted,
    /// The certificate names another user.
    #[error("certificate authentication failed for user \"{0}\": its certificate names another one")]
    Certificate(String),
    /// An error of SCRAM.
    #[error("{0}")]
    Scram(String),
    /// The channel binding of the login.
    #[error("{0}")]
    Binding(String),
    /// The client was too slow.
    #[error("canceling authentication due to timeout")]
    Late,
}

impl LoginError {
    /// The SQLSTATE a client is told.
    pub fn code(&self) -> SqlState {
        match self {
            Self::Password(_) => SqlState::new("28P01"),
            Self::Scram(_) => SqlState::PROTOCOL_VIOLATION,
            Self::Late => SqlState::QUERY_CANCELED,
            Self::TooManyFailures(_) | Self::NoUser | Self::NotEncrypted | Self::Certificate(_) | Self::Binding(_) => {
                SqlState::new("28000")
            }
        }
    }
}

pub(crate) struct Gate {
    /// `None` accepts everybody.
    users: RwLock<Option<Arc<Guests>>>,
    throttle: Throttle,
}

/// The users, and what users that do not exist are asked.
struct Guests {
    users: Users,
    unknown: Unknown,
}

impl Guests {
    fn new(users: Users) -> Arc<Self> {
        let unknown = Unknown::among(&users);
        Arc::new(Self { users, unknown })
    }
}

impl Gate {
    pub fn new(users: Option<Users>) -> Self {
        Self { users: RwLock::new(users.map(Guests::new)), throttle: Throttle::default() }
    }

    /// Replaces the users. Open sessions stay.
    pub fn replace(&self, users: Users) {
        *self.users.write().unwrap_or_else(PoisonError::into_inner) = Some(Guests::new(users));
    }

    /// Authenticates a client that says it is `user`.
    pub fn login(&self, socket: &Socket, input: &mut Input, output: &mut Output, user: &str) -> Result<Who, Failure> {
        let peer = socket.peer();
        if socket.tls().is_none() && peer.is_some_and(|peer| !peer.is_loopback()) {
            return Err(LoginError::NotEncrypted.into());
        }
        let users = self.users.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(guests) = users else {
            check_certificate(socket, user)?;
            return Ok(Who { name: user.to_owned(), role: Role::ReadWrite, connections: None });
        };
        if user.is_empty() {
            return Err(LoginError::NoUser.into());
        }
        // The same work for users that exist and that do not, so that the time tells nothing.
        let (found, unknown) = (guests.users.find(user), guests.unknown.verifier(user));
        let verifier = found.map_or(&unknown, |found| &found.verifier).clone();
        let place = Origin::of(peer);
        // A longer name is no user's, and is not remembered.
        let counted: String = user.chars().take(LONGEST_NAME).collect();
        let end_point = socket.tls().and_then(|tls| tls.end_point());
        // A guess is counted before it is checked. Otherwise many concurrent guesses would count as one.
        let may_guess = || {
            let attempt = self.throttle.attempt(place, &counted, Instant::now());
            attempt.map_err(|wait| LoginError::TooManyFailures(seconds(wait)))
        };
        let said = converse(input, output, end_point, verifier, may_guess).map_err(|failure| named(failure, user))?;
        // No proof fits the verifier of an unknown user. It is refused here even if one did.
        let found = found.ok_or_else(|| LoginError::Password(user.to_owned()))?;
        check_certificate(socket, user)?;
        self.throttle.succeeded(place, &counted);
        backend::authentication_sasl_final(output.buffer(), &said);
        Ok(Who { name: user.to_owned(), role: found.role, connections: found.connections })
    }
}

/// Exchanges the messages of SCRAM; gives the last one.
fn converse(
    input: &mut Input,
    output: &mut Output,
    end_point: Option<&[u8]>,
    verifier: Verifier,
    may_guess: impl FnOnce() -> Result<(), LoginError>,
) -> Result<String, Failure> {
    backend::authentication_sasl(output.buffer(), scram::mechanisms(end_point));
    output.flush()?;
    let nonce = BASE64.encode(random::<NONCE_BYTES>()?);
    let asked = answer(input, |body| {
        let (mechanism, first) = sasl_initial_response(body)?;
        Ok(ScramExchange::begin(mechanism, first, end_point, verifier, &nonce)?)
    })?;
    backend::authentication_sasl_continue(output.buffer(), asked.question());
    output.flush()?;
    answer(input, |body| {
        may_guess()?;
        Ok(asked.check(body)?)
    })
}

fn answer<T>(input: &mut Input, take: impl FnOnce(&[u8]) -> Result<T, Failure>) -> Result<T, Failure> {
    let taken = input.message(Phase::Login, |message| match message {
        FrontendMessage::Password(body) => take(body),
        // Clients that must ask their user for the password close the connection, and connect again.
        _ => Err(gone()),
    })?;
    taken.unwrap_or_else(|| Err(gone()))
}

fn gone() -> Failure {
    Failure::Disconnected(std::io::ErrorKind::UnexpectedEof.into())
}

impl From<ScramError> for Failure {
    fn from(error: ScramError) -> Self {
        match error {
            ScramError::Malformed(_) => LoginError::Scram(error.to_string()).into(),
            ScramError::Binding => LoginError::Binding(error.to_string()).into(),
            // The caller fills in the user.
            ScramError::Wrong => LoginError::Password(String::new()).into(),
        }
    }
}

fn named(failure: Failure, user: &str) -> Failure {
    match failure {
        Failure::Login(LoginError::Password(_)) => LoginError::Password(user.to_owned()).into(),
        other => other,
    }
}

/// Checks that a client certificate, if one is required, names the user.
fn check_certificate(socket: &Socket, user: &str) -> Result<(), LoginError> {
    match socket.tls().and_then(|tls| tls.client()) {
        Some(name) if name.as_deref() != Some(user) => Err(LoginError::Certificate(user.to_owned())),
        _ => Ok(()),
    }
}

fn seconds(wait: Duration) -> u64 {
    wait.as_secs_f64().ceil() as u64
}

fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes)
}
