//! The login of one connection.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use colonnade_login::scram::{NONCE_BYTES, Verifier};

use super::scram::{self, ScramError, ScramExchange};
use super::throttle::Throttle;
use super::unknown::UnknownUsers;
use super::users::{MAX_NAME_BYTES, User, Users};
use crate::connection::input::Input;
use crate::connection::origin::Origin;
use crate::connection::output::Output;
use crate::connection::socket::Socket;
use crate::engine::{Role, SessionUser};
use crate::error::{ClientError, Failure, SqlState};
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
    /// Channel binding has failed.
    #[error("{0}")]
    Binding(String),
    /// The client was too slow.
    #[error("canceling authentication due to timeout")]
    TimedOut,
}

impl ClientError for LoginError {
    fn code(&self) -> SqlState {
        match self {
            Self::Password(_) => SqlState::new("28P01"),
            Self::Scram(_) => SqlState::PROTOCOL_VIOLATION,
            Self::TimedOut => SqlState::QUERY_CANCELED,
            Self::TooManyFailures(_) | Self::NoUser | Self::NotEncrypted | Self::Certificate(_) | Self::Binding(_) => {
                SqlState::new("28000")
            }
        }
    }

    fn is_fatal(&self) -> bool {
        true
    }
}

pub(crate) struct Authenticator {
    /// `None` accepts everybody.
    users: RwLock<Option<Arc<UserDirectory>>>,
    throttle: Throttle,
}

/// The users, and the parameters of SCRAM for names that do not exist.
struct UserDirectory {
    users: Users,
    unknown: UnknownUsers,
    /// The numbers of the users' entries ([`SessionUser::entry`]).
    entries: HashMap<String, u64>,
    last_entry: u64,
}

impl UserDirectory {
    /// The users that replace those `before`. Entries with the same name and verifier are the same. With another
    /// verifier, the user may have been removed and another one added, or have a new password: that looks alike.
    fn new(users: Users, before: Option<&Self>) -> Arc<Self> {
        let unknown = UnknownUsers::resembling(&users);
        let mut last_entry = before.map_or(0, |before| before.last_entry);
        let number = |(name, user): (&str, &User)| {
            let same = before.filter(|before| before.users.find(name).is_some_and(|old| old.verifier == user.verifier));
            let number = same.and_then(|before| before.entries.get(name).copied()).unwrap_or_else(|| {
                last_entry += 1;
                last_entry
            });
            (name.to_owned(), number)
        };
        let entries = users.iter().map(number).collect();
        Arc::new(Self { users, unknown, entries, last_entry })
    }
}

impl Authenticator {
    pub fn new(users: Option<Users>) -> Self {
        Self { users: RwLock::new(users.map(|users| UserDirectory::new(users, None))), throttle: Throttle::default() }
    }

    /// Replaces the users.
    pub fn replace(&self, users: Users) {
        let mut present = self.users.write().unwrap_or_else(PoisonError::into_inner);
        *present = Some(UserDirectory::new(users, present.as_deref()));
    }

    fn directory(&self) -> Option<Arc<UserDirectory>> {
        self.users.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the users file still has a user of this name, if there is a file.
    pub fn has_name(&self, user: &SessionUser) -> bool {
        self.directory().is_none_or(|directory| directory.users.find(&user.name).is_some())
    }

    /// Whether the users file still has the entry with which the user has logged in, if there is a file.
    pub fn has_entry(&self, user: &SessionUser) -> bool {
        self.directory().is_none_or(|directory| directory.entries.get(&user.name) == Some(&user.entry))
    }

    /// Authenticates a client that logs in as `user`.
    pub fn login(
        &self,
        socket: &Socket,
        input: &mut Input,
        output: &mut Output,
        user: &str,
    ) -> Result<SessionUser, Failure> {
        let peer = socket.peer();
        if socket.tls().is_none() && peer.is_some_and(|peer| !peer.is_loopback()) {
            return Err(LoginError::NotEncrypted.into());
        }
        let Some(directory) = self.directory() else {
            check_certificate(socket, user)?;
            return Ok(SessionUser {
                name: user.to_owned(),
                role: Role::ReadWrite,
                connections: None,
                functions: true,
                entry: 0,
            });
        };
        if user.is_empty() {
            return Err(LoginError::NoUser.into());
        }
        // The verifier of an unknown user is computed also for a user that exists, so that the time does not tell which
        // users exist.
        let (found, unknown) = (directory.users.find(user), directory.unknown.verifier(user));
        let verifier = found.map_or(&unknown, |found| &found.verifier).clone();
        let origin = Origin::of(peer);
        // No user has a longer name. The cut limits the memory of the throttle.
        let counted_name: String = user.chars().take(MAX_NAME_BYTES).collect();
        let end_point = socket.tls().and_then(|tls| tls.end_point());
        // An attempt is counted before it is checked. Otherwise many concurrent attempts would count as one.
        let count_attempt = || {
            let attempt = self.throttle.attempt(origin, &counted_name, Instant::now());
            attempt.map_err(|wait| LoginError::TooManyFailures(seconds(wait)))
        };
        let server_final = exchange_scram(input, output, end_point, verifier, count_attempt)
            .map_err(|failure| with_user(failure, user))?;
        // No proof fits the verifier of an unknown user. This check refuses the user also if one did.
        let found = found.ok_or_else(|| LoginError::Password(user.to_owned()))?;
        check_certificate(socket, user)?;
        self.throttle.succeeded(origin, &counted_name);
        backend::authentication_sasl_final(output.buffer(), &server_final);
        Ok(SessionUser {
            name: user.to_owned(),
            role: found.role,
            connections: found.connections,
            functions: found.functions,
            entry: directory.entries.get(user).copied().unwrap_or_default(),
        })
    }
}

/// Exchanges the messages of SCRAM. Gives the server's last message, which the caller sends.
fn exchange_scram(
    input: &mut Input,
    output: &mut Output,
    end_point: Option<&[u8]>,
    verifier: Verifier,
    count_attempt: impl FnOnce() -> Result<(), LoginError>,
) -> Result<String, Failure> {
    backend::authentication_sasl(output.buffer(), scram::mechanisms(end_point));
    output.flush()?;
    let nonce = BASE64.encode(random::<NONCE_BYTES>()?);
    let asked = read_response(input, |body| {
        let (mechanism, first) = sasl_initial_response(body)?;
        Ok(ScramExchange::begin(&mechanism, first, end_point, verifier, &nonce)?)
    })?;
    backend::authentication_sasl_continue(output.buffer(), asked.server_first());
    output.flush()?;
    read_response(input, |body| {
        count_attempt()?;
        Ok(asked.check(body)?)
    })
}

fn read_response<T>(input: &mut Input, take: impl FnOnce(&[u8]) -> Result<T, Failure>) -> Result<T, Failure> {
    let taken = input.message(Phase::Login, |message| match message {
        FrontendMessage::Password(body) => take(body),
        // A client that must ask its user for the password closes the connection and connects again.
        _ => Err(disconnected()),
    })?;
    taken.unwrap_or_else(|| Err(disconnected()))
}

fn disconnected() -> Failure {
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

fn with_user(failure: Failure, user: &str) -> Failure {
    match failure.client_error() {
        Some(LoginError::Password(_)) => LoginError::Password(user.to_owned()).into(),
        _ => failure,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(authenticator: &Authenticator) -> HashMap<String, u64> {
        authenticator.directory().unwrap().entries.clone()
    }

    #[test]
    fn a_name_is_another_entry_after_its_user_was_removed_or_has_another_password() {
        let mut users = Users::default();
        let add = |users: &mut Users, name, password| users.add(name, password, Role::ReadWrite, None, false).unwrap();
        add(&mut users, "stays", "one");
        add(&mut users, "goes", "two");
        let authenticator = Authenticator::new(Some(users.clone()));
        let first = entries(&authenticator);
        let user = |entry| SessionUser {
            name: "goes".to_owned(),
            role: Role::ReadWrite,
            connections: None,
            functions: false,
            entry,
        };
        assert!(authenticator.has_entry(&user(first["goes"])) && !authenticator.has_entry(&user(first["stays"])));
        // The same file, and another role.
        users.add("goes", "two", Role::ReadOnly, None, false).unwrap();
        authenticator.replace(users.clone());
        assert_eq!(entries(&authenticator), first);
        let mut without = users.clone();
        without.remove("goes");
        authenticator.replace(without);
        assert!(!authenticator.has_name(&user(first["goes"])) && !authenticator.has_entry(&user(first["goes"])));
        // The user of the same name has another entry, also with the same password.
        authenticator.replace(users.clone());
        let second = entries(&authenticator);
        assert!(authenticator.has_name(&user(first["goes"])) && !authenticator.has_entry(&user(first["goes"])));
        assert_eq!(second["stays"], first["stays"]);
        add(&mut users, "goes", "three");
        authenticator.replace(users);
        let third = entries(&authenticator);
        assert!(![first["goes"], first["stays"], second["goes"]].contains(&third["goes"]));
    }
}
