//! Proves the user's identity by the method that the server requests.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP>

use md5::{Digest as _, Md5};

use super::message::{MessageReader, framed, protocol};
use super::scram::{BOUND_MECHANISM, ChannelBinding, MECHANISM, Proven, Scram};
use super::target::{Binding, Target};
use crate::system::Files;
use crate::{Error, ErrorKind};

/// The binding of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EndPoint {
    Unencrypted,
    /// TLS, but without a binding: the certificate has no hash that both sides know, or the binding is not wanted.
    Unknown,
    /// TLS with a server that has this certificate.
    Known(Vec<u8>),
}

/// A login, from the server's first request to its last.
pub(crate) struct Authentication {
    state: State,
    end_point: EndPoint,
    /// Whether the server's identity is certain.
    certain: bool,
    /// Whether the server has proved that it is the end of the channel.
    bound: bool,
}

/// The state of the conversation.
#[derive(Default)]
enum State {
    #[default]
    Started,
    /// A password or its proof was sent.
    Answered,
    Challenged(Scram),
    /// The server must prove its identity before the login is complete.
    Proven(Proven),
    Done,
}

impl Authentication {
    /// `certain` is whether the server's identity is certain.
    pub(crate) fn new(end_point: EndPoint, certain: bool) -> Self {
        Self { state: State::Started, end_point, certain, bound: false }
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Processes an authentication request. Returns the answer, if there is one.
    ///
    /// # Errors
    /// The client does not support the method or has no password, or the server violates the method's rules.
    pub(crate) fn answer(&mut self, request: &[u8], target: &Target) -> Result<Option<Vec<u8>>, Error> {
        let mut body = MessageReader(request);
        let method = body.u32()?;
        // This is checked before any part of a password is sent.
        if target.channel_binding == Binding::Require && !self.bound && !matches!(method, 10..=12) {
            return Err(unbound("the server lets the user in without it"));
        }
        self.permit(method, target)?;
        let (next, answer) = match (method, std::mem::take(&mut self.state)) {
            (0, State::Started | State::Answered) => (State::Done, None),
            (3, State::Started) => (State::Answered, Some(secret(password(target)?.as_bytes()))),
            (5, State::Started) => {
                let hashed = md5_of(&target.user, password(target)?, body.bytes(4)?);
                (State::Answered, Some(secret(hashed.as_bytes())))
            }
            (10, State::Started) => {
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
            (7 | 8, State::Started) => return Err(unsupported("GSSAPI", target)),
            (9, State::Started) => return Err(unsupported("SSPI", target)),
            (0 | 3 | 5 | 10..=12, _) => return Err(protocol("an authentication request out of its order")),
            _ => return Err(unsupported("a method of authentication that is unknown here", target)),
        };
        self.state = next;
        Ok(answer)
    }

    /// Checks a request against the methods that the user allows. A method that reveals the password, or nearly does,
    /// needs a server with a certain identity, unless the user has named the method.
    fn permit(&self, method: u32, target: &Target) -> Result<(), Error> {
        let (name, asks) = match (method, &self.state) {
            (0, State::Started) => ("none", "lets the user in without any authentication"),
            (3, _) => ("password", "asks for the password in clear text"),
            (5, _) => ("md5", "asks for an MD5 hash of the password"),
            (7 | 8, _) => ("gss", "asks for GSSAPI"),
            (9, _) => ("sspi", "asks for SSPI"),
            (10..=12, _) => ("scram-sha-256", "asks for a SASL login"),
            _ => return Ok(()),
        };
        if !target.require_auth.allows(name) {
            let message = format!("the server {asks}, which require_auth excludes");
            return Err(Error::new(ErrorKind::Connect, message).with_hint(format!(
                "let user {:?} in by a method that require_auth allows, or allow {name} there",
                target.user
            )));
        }
        if matches!(name, "password" | "md5")
            && target.password.is_some()
            && !self.certain
            && !target.require_auth.names(name)
        {
            let message =
                format!("the server {asks}, and the server's identity is not certain; the password was not sent");
            return Err(Error::new(ErrorKind::Connect, message).with_hint(format!(
                "let user {:?} in by scram-sha-256, verify the server by sslmode=verify-full, or allow this by \
                 require_auth={name} where you trust the network",
                target.user
            )));
        }
        Ok(())
    }

    /// The best of the offered mechanisms, and the binding of the login.
    fn mechanism(&self, offered: &[u8], target: &Target) -> Result<(&'static str, ChannelBinding), Error> {
        let offers = |mechanism: &str| offered.split(|byte| *byte == 0).any(|name| name == mechanism.as_bytes());
        match (&self.end_point, offers(BOUND_MECHANISM)) {
            (EndPoint::Unencrypted, true) => {
                return Err(protocol("an offer to bind the login to TLS, without any"));
            }
            (EndPoint::Known(hash), true) => return Ok((BOUND_MECHANISM, ChannelBinding::To(hash.clone()))),
            (EndPoint::Unencrypted, false) if target.channel_binding == Binding::Require => {
                return Err(unbound("the connection is not encrypted"));
            }
            _ if target.channel_binding == Binding::Require => return Err(unbound("the server does not offer it")),
            _ => {}
        }
        if !offers(MECHANISM) {
            return Err(unsupported("a SASL mechanism that is unknown here", target));
        }
        let bound =
            if let EndPoint::Known(_) = self.end_point { ChannelBinding::NotOffered } else { ChannelBinding::No };
        Ok((MECHANISM, bound))
    }
}

fn unbound(why: &str) -> Error {
    Error::new(ErrorKind::Connect, format!("channel_binding=require, but {why}"))
        .with_hint("let the server use TLS, and scram-sha-256 for this user, or leave channel_binding out")
}

/// PasswordMessage.
fn secret(password: &[u8]) -> Vec<u8> {
    framed(Some(b'p'), &[password, b"\0"].concat())
}

fn password(target: &Target) -> Result<&str, Error> {
    target.password.as_deref().ok_or_else(|| {
        let hint = format!(
            "write it into the URI, as postgresql://user:password@host/, into PGPASSWORD, or into {}, which only its owner may \
             read",
            Files::passwords_place()
        );
        Error::new(ErrorKind::Connect, "the server asks for a password, and none was given").with_hint(hint)
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
    Error::new(
        ErrorKind::Unsupported,
        format!("the server asks for {method}, which this version does not support{given}"),
    )
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
        Authentication::new(EndPoint::Unencrypted, true)
    }

    #[test]
    fn passwords_go_as_the_server_asks() {
        let with = target(":secret");
        let clear = plain().answer(&[0, 0, 0, 3], &with).unwrap().unwrap();
        assert_eq!(clear, b"p\0\0\0\x0bsecret\0");
        let hashed = plain().answer(b"\0\0\0\x05salt", &with).unwrap().unwrap();
        // echo -n secretada
        // md5sum, then echo -n <that>salt
        // md5sum
        assert_eq!(hashed, b"p\0\0\0\x28md5020da75c9b0640aabc4609320fe23b45\0");
        let mut trusted = plain();
        assert_eq!(trusted.answer(&[0; 4], &with).unwrap(), None);
        assert!(trusted.is_done());
    }

    #[test]
    fn a_server_that_may_be_another_gets_no_password() {
        let doubtful = || Authentication::new(EndPoint::Unencrypted, false);
        let (clear, md5) = (&[0, 0, 0, 3], b"\0\0\0\x05salt");
        for request in [&clear[..], &md5[..]] {
            let error = doubtful().answer(request, &target(":secret")).unwrap_err();
            assert!(error.message().contains("was not sent") && error.hint().unwrap().contains("require_auth="));
            assert!(!error.message().contains("secret"));
        }
        assert!(doubtful().answer(b"\0\0\0\x0aSCRAM-SHA-256\0\0", &target(":secret")).is_ok());
        let allowing = |methods: &str| {
            Conninfo::parse(&format!("postgresql://ada:secret@h/d?require_auth={methods}")).unwrap().targets.remove(0)
        };
        assert!(doubtful().answer(clear, &allowing("password")).is_ok());
        assert!(doubtful().answer(md5, &allowing("scram-sha-256,md5")).is_ok());
        // A method that is not excluded is not thereby named.
        for (request, methods) in [(&clear[..], "md5"), (&md5[..], "password"), (&clear[..], "!md5")] {
            assert!(doubtful().answer(request, &allowing(methods)).is_err(), "{methods}");
        }
    }

    #[test]
    fn a_method_that_is_excluded_is_refused_wherever_it_comes() {
        let requests: [(&str, &[u8]); 6] = [
            ("none", &[0; 4]),
            ("password", &[0, 0, 0, 3]),
            ("md5", b"\0\0\0\x05salt"),
            ("gss", &[0, 0, 0, 7]),
            ("sspi", &[0, 0, 0, 9]),
            ("scram-sha-256", b"\0\0\0\x0aSCRAM-SHA-256\0\0"),
        ];
        for (name, request) in requests {
            let refused = |methods: &str| {
                let uri = format!("postgresql://ada:secret@h/d?require_auth={methods}");
                let target = Conninfo::parse(&uri).unwrap().targets.remove(0);
                let answer = plain().answer(request, &target);
                answer.is_err_and(|error| error.message().contains("require_auth"))
            };
            let others: Vec<_> = requests.iter().map(|(name, _)| *name).filter(|other| *other != name).collect();
            assert!(refused(&format!("!{name}")) && refused(&others.join(",")), "{name}");
            assert!(!refused(name) && !refused(&format!("!{}", others.join(",!"))), "{name}");
        }
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
            let answer = Authentication::new(end_point, true).answer(offer, &with).unwrap().unwrap();
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
            let error = Authentication::new(end_point, true).answer(request, &required).unwrap_err();
            assert!(error.message().contains("channel_binding=require"), "{error}");
        }
        assert!(Authentication::new(known(), true).answer(BOTH, &required).is_ok());
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
