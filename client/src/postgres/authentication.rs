//! Proving who the user is, by whatever method the server asks for.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP>

use md5::{Digest as _, Md5};

use super::message::{Body, framed, protocol};
use super::scram::{BOUND_MECHANISM, Bound, MECHANISM, Proven, Scram};
use super::target::{Binding, Target};
use crate::{Error, ErrorKind};

/// What a login can be bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EndPoint {
    Unencrypted,
    /// TLS, but the certificate has no hash that both sides could mean, or it is not wanted.
    Unknown,
    /// TLS with a server of this certificate.
    Known(Vec<u8>),
}

/// A login, from the server's first request to its last.
pub(crate) struct Authentication {
    state: State,
    end_point: EndPoint,
    /// Whether the server has proven that it is the other end of the channel.
    bound: bool,
}

/// How far the conversation has come.
#[derive(Default)]
enum State {
    #[default]
    Begun,
    /// A password was sent, or its proof.
    Answered,
    Challenged(Scram),
    /// The server has to prove itself, too, before it lets the user in.
    Proven(Proven),
    Done,
}

impl Authentication {
    pub(crate) fn new(end_point: EndPoint) -> Self {
        Self { state: State::Begun, end_point, bound: false }
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Takes an authentication request. Gives the message to answer with, if there is one.
    ///
    /// # Errors
    /// A method that this client cannot give, a password that it does not have, or a server that does not keep to a
    /// method's rules.
    pub(crate) fn answer(&mut self, request: &[u8], target: &Target) -> Result<Option<Vec<u8>>, Error> {
        let mut body = Body(request);
        let method = body.u32()?;
        // Before anything of a password is sent in another way.
        if target.channel_binding == Binding::Require && !self.bound && !matches!(method, 10..=12) {
            return Err(unbound("the server lets the user in without it"));
        }
        let (next, answer) = match (method, std::mem::take(&mut self.state)) {
            (0, State::Begun | State::Answered) => (State::Done, None),
            (3, State::Begun) => (State::Answered, Some(secret(password(target)?.as_bytes()))),
            (5, State::Begun) => {
                let hashed = md5_of(&target.user, password(target)?, body.bytes(4)?);
                (State::Answered, Some(secret(hashed.as_bytes())))
            }
            (10, State::Begun) => {
                let (mechanism, bound) = self.mechanism(body.bytes(request.len() - 4)?, target)?;
                let scram = Scram::begin(password(target)?, bound)?;
                let first = scram.first();
                let len = (first.len() as u32).to_be_bytes();
                let answer = [mechanism.as_bytes(), b"\0", &len, first.as_bytes()].concat();
                (State::Challenged(scram), Some(framed(Some(b'p'), &answer)))
            }
            (11, State::Challenged(scram)) => {
                let (answer, proven) = scram.answer(text(body.0)?)?;
                (State::Proven(proven), Some(framed(Some(b'p'), answer.as_bytes())))
            }
            (12, State::Proven(proven)) => {
                self.bound = proven.check(text(body.0)?)?;
                (State::Answered, None)
            }
            (7 | 8, State::Begun) => return Err(unsupported("GSSAPI", target)),
            (9, State::Begun) => return Err(unsupported("SSPI", target)),
            (0 | 3 | 5 | 10..=12, _) => return Err(protocol("an authentication request out of its order")),
            _ => return Err(unsupported("a method of authentication that is unknown here", target)),
        };
        self.state = next;
        Ok(answer)
    }

    /// The best of the offered mechanisms, and what the login is then bound to.
    fn mechanism(&self, offered: &[u8], target: &Target) -> Result<(&'static str, Bound), Error> {
        let offers = |mechanism: &str| offered.split(|byte| *byte == 0).any(|name| name == mechanism.as_bytes());
        match (&self.end_point, offers(BOUND_MECHANISM)) {
            (EndPoint::Unencrypted, true) => {
                return Err(protocol("an offer to bind the login to TLS, without any"));
            }
            (EndPoint::Known(hash), true) => return Ok((BOUND_MECHANISM, Bound::To(hash.clone()))),
            (EndPoint::Unencrypted, false) if target.channel_binding == Binding::Require => {
                return Err(unbound("the connection is not encrypted"));
            }
            _ if target.channel_binding == Binding::Require => return Err(unbound("the server does not offer it")),
            _ => {}
        }
        if !offers(MECHANISM) {
            return Err(unsupported("a SASL mechanism that is unknown here", target));
        }
        let bound = if let EndPoint::Known(_) = self.end_point { Bound::NotOffered } else { Bound::No };
        Ok((MECHANISM, bound))
    }
}

fn unbound(why: &str) -> Error {
    Error::new(ErrorKind::Connect, format!("channel_binding=require, but {why}"))
        .with_hint("have the server use TLS, and scram-sha-256 for this user, or leave channel_binding out")
}

/// PasswordMessage.
fn secret(password: &[u8]) -> Vec<u8> {
    framed(Some(b'p'), &[password, b"\0"].concat())
}

fn password(target: &Target) -> Result<&str, Error> {
    target.password.as_deref().ok_or_else(|| {
        Error::new(ErrorKind::Connect, "the server asks for a password, and none was given").with_hint(
            "write it into the URI, as postgresql://user:password@host/, into PGPASSWORD, or into ~/.pgpass, \
                        which only its owner may read",
        )
    })
}

/// `md5` and the hash of the salt and of the hash of password and user, each in hexadecimal.
fn md5_of(user: &str, password: &str, salt: &[u8]) -> String {
    let hex = |parts: [&[u8]; 2]| {
        let hash = Md5::new().chain_update(parts[0]).chain_update(parts[1]).finalize();
        hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let stored = hex([password.as_bytes(), user.as_bytes()]);
    format!("md5{}", hex([stored.as_bytes(), salt]))
}

fn text(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|_| protocol("a SCRAM message that is not one"))
}

fn unsupported(method: &str, target: &Target) -> Error {
    let given = if target.password.is_some() { "; the password was not sent" } else { "" };
    Error::new(ErrorKind::Unsupported, format!("the server asks for {method}, which this version cannot give{given}"))
        .with_hint(format!("let user {:?} in by password (scram-sha-256)", target.user))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::target::Conninfo;
    use super::*;

    fn target(password: &str) -> Target {
        Conninfo::parse(&format!("postgresql://ada{password}@h/d")).unwrap().targets.remove(0)
    }

    fn plain() -> Authentication {
        Authentication::new(EndPoint::Unencrypted)
    }

    #[test]
    fn passwords_go_as_the_server_asks() {
        let with = target(":secret");
        let clear = plain().answer(&[0, 0, 0, 3], &with).unwrap().unwrap();
        assert_eq!(clear, b"p\0\0\0\x0bsecret\0");
        let hashed = plain().answer(b"\0\0\0\x05salt", &with).unwrap().unwrap();
        // echo -n secretada | md5sum, then echo -n <that>salt | md5sum
        assert_eq!(hashed, b"p\0\0\0\x28md5020da75c9b0640aabc4609320fe23b45\0");
        let mut trusted = plain();
        assert_eq!(trusted.answer(&[0; 4], &with).unwrap(), None);
        assert!(trusted.is_done());
    }

    #[test]
    fn what_is_missing_is_said() {
        let error = plain().answer(&[0, 0, 0, 3], &target("")).unwrap_err();
        assert!(error.message().contains("asks for a password"));
        let error = plain().answer(&[0, 0, 0, 7], &target(":secret")).unwrap_err();
        assert!(error.message().contains("GSSAPI") && !error.message().contains("secret"));
        let error = plain().answer(b"\0\0\0\x0aOTHER\0\0", &target(":secret")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn logins_are_bound_where_both_sides_can() {
        const BOTH: &[u8] = b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
        const ONE: &[u8] = b"\0\0\0\x0aSCRAM-SHA-256\0\0";
        let with = target(":secret");
        let first = |end_point: EndPoint, offer: &[u8]| {
            let answer = Authentication::new(end_point).answer(offer, &with).unwrap().unwrap();
            String::from_utf8_lossy(&answer[5..]).into_owned()
        };
        let known = || EndPoint::Known(vec![7; 32]);
        assert!(first(known(), BOTH).contains("PLUS\0") && first(known(), BOTH).contains("p=tls-server-end-point,,"));
        assert!(first(known(), ONE).contains("y,,n="));
        assert!(first(EndPoint::Unknown, BOTH).contains("256\0") && first(EndPoint::Unknown, BOTH).contains("n,,n="));
        assert!(plain().answer(BOTH, &with).is_err());

        let required = Target { channel_binding: Binding::Require, ..with.clone() };
        for (end_point, request) in [
            (known(), ONE),
            (EndPoint::Unknown, BOTH),
            (EndPoint::Unencrypted, ONE),
            (known(), [0; 4].as_slice()),
            (known(), &[0, 0, 0, 3]),
            (known(), b"\0\0\0\x05salt"),
        ] {
            let error = Authentication::new(end_point).answer(request, &required).unwrap_err();
            assert!(error.message().contains("channel_binding=require"), "{error}");
        }
        assert!(Authentication::new(known()).answer(BOTH, &required).is_ok());
    }

    #[test]
    fn a_server_must_prove_itself_before_it_lets_anyone_in() {
        let mut authentication = plain();
        authentication.answer(b"\0\0\0\x0aSCRAM-SHA-256\0\0", &target(":secret")).unwrap().unwrap();
        assert!(authentication.answer(&[0; 4], &target(":secret")).is_err());
        assert!(plain().answer(b"\0\0\0\x0b", &target(":secret")).is_err());
        assert!(plain().answer(b"\0\0\0\x05sal", &target(":secret")).is_err());
    }
}
