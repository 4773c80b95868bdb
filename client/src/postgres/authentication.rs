//! Proving who the user is, by whatever method the server asks for.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP>

use md5::{Digest as _, Md5};

use super::message::{Body, framed, protocol};
use super::scram::{MECHANISM, Proven, Scram};
use crate::{Error, ErrorKind, Target};

/// How far the conversation has come.
#[derive(Default)]
pub(crate) enum Authentication {
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
    pub(crate) fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    /// Takes an authentication request. Gives the message to answer with, if there is one.
    ///
    /// # Errors
    /// A method that this client cannot give, a password that it does not have, or a server that does not keep to a
    /// method's rules.
    pub(crate) fn answer(&mut self, request: &[u8], target: &Target) -> Result<Option<Vec<u8>>, Error> {
        let mut body = Body(request);
        let (next, answer) = match (body.u32()?, std::mem::take(self)) {
            (0, Self::Begun | Self::Answered) => (Self::Done, None),
            (3, Self::Begun) => (Self::Answered, Some(secret(password(target)?.as_bytes()))),
            (5, Self::Begun) => {
                let hashed = md5_of(&target.user, password(target)?, body.bytes(4)?);
                (Self::Answered, Some(secret(hashed.as_bytes())))
            }
            (10, Self::Begun) => {
                let offered = body.bytes(request.len() - 4)?;
                if !offered.split(|byte| *byte == 0).any(|name| name == MECHANISM.as_bytes()) {
                    return Err(unsupported("a SASL mechanism that is unknown here", target));
                }
                let scram = Scram::begin(password(target)?)?;
                let first = scram.first();
                let len = (first.len() as u32).to_be_bytes();
                let answer = [MECHANISM.as_bytes(), b"\0", &len, first.as_bytes()].concat();
                (Self::Challenged(scram), Some(framed(Some(b'p'), &answer)))
            }
            (11, Self::Challenged(scram)) => {
                let (answer, proven) = scram.answer(text(body.0)?)?;
                (Self::Proven(proven), Some(framed(Some(b'p'), answer.as_bytes())))
            }
            (12, Self::Proven(proven)) => {
                proven.check(text(body.0)?)?;
                (Self::Answered, None)
            }
            (7 | 8, Self::Begun) => return Err(unsupported("GSSAPI", target)),
            (9, Self::Begun) => return Err(unsupported("SSPI", target)),
            (0 | 3 | 5 | 10..=12, _) => return Err(protocol("an authentication request out of its order")),
            _ => return Err(unsupported("a method of authentication that is unknown here", target)),
        };
        *self = next;
        Ok(answer)
    }
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

    use super::*;

    fn target(password: &str) -> Target {
        Target::parse(&format!("postgresql://ada{password}@h/d")).unwrap()
    }

    #[test]
    fn passwords_go_as_the_server_asks() {
        let with = target(":secret");
        let clear = Authentication::default().answer(&[0, 0, 0, 3], &with).unwrap().unwrap();
        assert_eq!(clear, b"p\0\0\0\x0bsecret\0");
        let hashed = Authentication::default().answer(b"\0\0\0\x05salt", &with).unwrap().unwrap();
        // echo -n secretada | md5sum, then echo -n <that>salt | md5sum
        assert_eq!(hashed, b"p\0\0\0\x28md5020da75c9b0640aabc4609320fe23b45\0");
        let mut trusted = Authentication::default();
        assert_eq!(trusted.answer(&[0; 4], &with).unwrap(), None);
        assert!(trusted.is_done());
    }

    #[test]
    fn what_is_missing_is_said() {
        let error = Authentication::default().answer(&[0, 0, 0, 3], &target("")).unwrap_err();
        assert!(error.message().contains("asks for a password"));
        let error = Authentication::default().answer(&[0, 0, 0, 7], &target(":secret")).unwrap_err();
        assert!(error.message().contains("GSSAPI") && !error.message().contains("secret"));
        let error = Authentication::default().answer(b"\0\0\0\x0aOTHER\0\0", &target(":secret")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn a_server_must_prove_itself_before_it_lets_anyone_in() {
        let mut authentication = Authentication::default();
        authentication.answer(b"\0\0\0\x0aSCRAM-SHA-256\0\0", &target(":secret")).unwrap().unwrap();
        assert!(authentication.answer(&[0; 4], &target(":secret")).is_err());
        assert!(Authentication::default().answer(b"\0\0\0\x0b", &target(":secret")).is_err());
        assert!(Authentication::default().answer(b"\0\0\0\x05sal", &target(":secret")).is_err());
    }
}
