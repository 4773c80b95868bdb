//! The proofs of the password that a client sends.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_authentication_methods.html>

use sha1::{Digest as _, Sha1};
use sha2::Sha256;

use super::packet::protocol;
use crate::require_auth::Requirement;
use crate::{Error, ErrorKind};

/// Bytes of the server's random scramble.
const SCRAMBLE: usize = 20;
/// The server's reply to the first answer in `caching_sha2_password`: the password is correct.
const KNOWN: u8 = 3;
/// The server needs the password in clear text.
const PASSWORD_NEEDED: u8 = 4;

/// The names of the plugins in `require_auth`.
pub(super) const METHODS: &[&str] =
    &["mysql_native_password", "caching_sha2_password", "sha256_password", "client_ed25519", "auth_socket"];

/// The security of the connection over which a password would be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Not encrypted.
    Open,
    /// Encrypted, but the server's identity is not certain.
    Encrypted,
    /// The server's identity is certain: a verified certificate, or a socket of this machine.
    Certain,
}

/// The server's plugin for logins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plugin {
    /// `mysql_native_password`: SHA-1.
    Native,
    /// `caching_sha2_password`: SHA-256, and in some cases the password in clear text.
    CachingSha2,
    /// `sha256_password`: the password in clear text.
    Sha256,
    /// `client_ed25519`: a signature.
    Ed25519,
    /// `auth_socket` or `unix_socket`: the operating system tells the server who the user is.
    Socket,
}

impl Plugin {
    /// # Errors
    /// This client does not know the plugin.
    pub(super) fn named(name: &[u8]) -> Result<Self, Error> {
        Ok(match name {
            b"mysql_native_password" | b"" => Self::Native,
            b"caching_sha2_password" => Self::CachingSha2,
            b"sha256_password" => Self::Sha256,
            b"client_ed25519" => Self::Ed25519,
            b"auth_socket" | b"unix_socket" => Self::Socket,
            name => {
                let name = String::from_utf8_lossy(name);
                let message = format!("the server requests a login by {name}, which is not supported");
                return Err(Error::new(ErrorKind::Unsupported, message).with_hint(
                    "give the user one of mysql_native_password, caching_sha2_password, sha256_password, ed25519, \
                     unix_socket",
                ));
            }
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Sha256 => "sha256_password",
            Self::Ed25519 => "client_ed25519",
            Self::Socket => "auth_socket",
        }
    }

    /// # Errors
    /// The user excludes it with `require_auth`.
    pub(super) fn permitted(self, required: &Requirement) -> Result<Self, Error> {
        let name = self.name();
        if required.allows(name) {
            return Ok(self);
        }
        let message = format!("the server requests a login by {name}, which require_auth excludes");
        Err(Error::new(ErrorKind::Connect, message)
            .with_hint(format!("give the user a plugin that require_auth allows, or allow {name} there")))
    }

    /// The first answer to the server's scramble.
    ///
    /// # Errors
    /// The scramble has a wrong length, or the connection is not safe enough for the password.
    pub(super) fn answer(
        self,
        password: &str,
        scramble: &[u8],
        way: Way,
        required: &Requirement,
    ) -> Result<Vec<u8>, Error> {
        if self == Self::Socket {
            return Ok(Vec::new());
        }
        if password.is_empty() {
            // Without a password nothing is proved; sha256_password expects a NUL.
            return Ok(if self == Self::Sha256 { vec![0] } else { Vec::new() });
        }
        Ok(match self {
            Self::Native => native(password.as_bytes(), check(scramble)?).to_vec(),
            Self::CachingSha2 => caching_sha2(password.as_bytes(), check(scramble)?).to_vec(),
            Self::Sha256 => self.in_full(password, way, required)?,
            Self::Ed25519 => super::ed25519::sign(password.as_bytes(), scramble).to_vec(),
            Self::Socket => Vec::new(),
        })
    }

    /// The answer to the server's reply to the first answer; `None` if there is nothing to send.
    ///
    /// # Errors
    /// The reply is not one of the plugin's, or the connection is not safe enough for the password.
    pub(super) fn go_on(
        self,
        said: &[u8],
        password: &str,
        way: Way,
        required: &Requirement,
    ) -> Result<Option<Vec<u8>>, Error> {
        match (self, said) {
            (Self::CachingSha2, [KNOWN]) => Ok(None),
            (Self::CachingSha2, [PASSWORD_NEEDED]) => self.in_full(password, way, required).map(Some),
            _ => Err(protocol(format!("a reply that is not part of a login by {}", self.name()))),
        }
    }

    /// The password in clear text: for a server with a certain identity, or over an encrypted connection if the user
    /// has named the plugin. The server's RSA key proves nothing over a connection that is not encrypted.
    fn in_full(self, password: &str, way: Way, required: &Requirement) -> Result<Vec<u8>, Error> {
        let name = self.name();
        let (why, hint) = match way {
            Way::Certain => {
                return Ok([password.as_bytes(), b"\0"].concat());
            }
            Way::Encrypted if required.names(name) => {
                return Ok([password.as_bytes(), b"\0"].concat());
            }
            Way::Encrypted => (
                "the server's identity is not certain",
                format!(
                    "add ssl-mode=VERIFY_IDENTITY and, for an authority of your own, ssl-ca=FILE to the URI, use the \
                     unix socket, or allow this by require_auth={name} where you trust the network"
                ),
            ),
            Way::Open => (
                "the connection is not encrypted",
                "add ssl-mode=VERIFY_IDENTITY to the URI, or use the unix socket".to_owned(),
            ),
        };
        let message = format!("the server's {name} needs the password in clear text, and {why}; it was not sent");
        Err(Error::new(ErrorKind::Connect, message).with_hint(hint))
    }
}

fn check(scramble: &[u8]) -> Result<[u8; SCRAMBLE], Error> {
    // It ends with a NUL.
    let scramble = scramble.strip_suffix(b"\0").unwrap_or(scramble);
    scramble.try_into().map_err(|_| protocol(format!("a scramble of {} bytes", scramble.len())))
}

/// SHA1(password) XOR SHA1(scramble, SHA1(SHA1(password)))
fn native(password: &[u8], scramble: [u8; SCRAMBLE]) -> [u8; 20] {
    let once = Sha1::digest(password);
    let mask = Sha1::new().chain_update(scramble).chain_update(Sha1::digest(once)).finalize();
    std::array::from_fn(|at| once[at] ^ mask[at])
}

/// SHA256(password) XOR SHA256(SHA256(SHA256(password)), scramble)
fn caching_sha2(password: &[u8], scramble: [u8; SCRAMBLE]) -> [u8; 32] {
    let once = Sha256::digest(password);
    let mask = Sha256::new().chain_update(Sha256::digest(once)).chain_update(scramble).finalize();
    std::array::from_fn(|at| once[at] ^ mask[at])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const PASSWORD: &str = "hunter2";
    const ONES: [u8; SCRAMBLE] = [1; SCRAMBLE];

    /// The server's check of the answer. The server knows only the hash of the hash.
    fn proves<D: sha1::Digest>(answer: &[u8], mask: &[u8], stored: &[u8]) -> bool {
        let once: Vec<u8> = answer.iter().zip(mask).map(|(a, m)| a ^ m).collect();
        D::digest(once)[..] == *stored
    }

    #[test]
    fn a_server_that_knows_the_double_hash_is_convinced() {
        let stored = Sha1::digest(Sha1::digest(PASSWORD));
        let mask = Sha1::new().chain_update(ONES).chain_update(stored).finalize();
        let answer = Plugin::Native.answer(PASSWORD, &ONES, Way::Open, &Requirement::Any).unwrap();
        assert!(proves::<Sha1>(&answer, &mask, &stored));

        let stored = Sha256::digest(Sha256::digest(PASSWORD));
        let mask = Sha256::new().chain_update(stored).chain_update(ONES).finalize();
        let answer = Plugin::CachingSha2.answer(PASSWORD, &ONES, Way::Open, &Requirement::Any).unwrap();
        assert!(proves::<Sha256>(&answer, &mask, &stored));
    }

    #[test]
    fn scrambles_are_those_of_other_clients() {
        // What other clients were seen to send, as Boost.MySQL's tests publish it.
        let scramble = *b"\x3e\x3b\x04\x55\x04\x70\x16\x3a\x4c\x15\x35\x03\x15\x76\x73\x22\x46\x08\x18\x01";
        let answer = b"\xa1\xc1\xe1\xe9\x1b\xb6\x54\x4b\xa7\x37\x4b\x9c\x56\x6d\x69\x3e\
                       \x06\xca\x07\x02\x98\xac\xd1\x06\x18\xc6\x90\x38\x9d\x88\xe1\x20";
        assert_eq!(Plugin::CachingSha2.answer("hola", &scramble, Way::Open, &Requirement::Any).unwrap(), answer);
        let scramble = *b"\x79\x64\x3d\x12\x1d\x71\x74\x47\x5f\x48\x3e\x3e\x0b\x62\x0a\x03\x3d\x27\x3a\x4c";
        let answer = b"\xf1\xb2\xfb\x1c\x8d\xe7\x5d\xb8\xeb\xa8\x12\x6a\xd1\x0f\xe9\xb1\x10\x50\xd4\x28";
        assert_eq!(Plugin::Native.answer("root", &scramble, Way::Open, &Requirement::Any).unwrap(), answer);
    }

    #[test]
    fn what_the_user_excludes_is_refused() {
        for name in METHODS {
            let plugin = Plugin::named(name.as_bytes()).unwrap();
            assert_eq!(plugin.name(), *name);
            let only = Requirement::parse(name, METHODS).unwrap();
            let but = Requirement::parse(&format!("!{name}"), METHODS).unwrap();
            assert!(plugin.permitted(&only).is_ok() && plugin.permitted(&Requirement::Any).is_ok());
            assert!(plugin.permitted(&but).unwrap_err().message().contains(name));
        }
    }

    #[test]
    fn an_empty_password_is_not_hashed() {
        assert!(Plugin::Native.answer("", &ONES, Way::Open, &Requirement::Any).unwrap().is_empty());
        assert!(Plugin::CachingSha2.answer("", &ONES, Way::Open, &Requirement::Any).unwrap().is_empty());
        assert!(Plugin::Native.answer(PASSWORD, &ONES[1..], Way::Open, &Requirement::Any).is_err());
    }

    #[test]
    fn the_password_itself_is_sent_to_the_right_server_only() {
        let any = Requirement::Any;
        let plugin = Plugin::named(b"caching_sha2_password").unwrap();
        assert_eq!(plugin.go_on(&[KNOWN], PASSWORD, Way::Open, &any).unwrap(), None);
        assert_eq!(plugin.go_on(&[PASSWORD_NEEDED], PASSWORD, Way::Certain, &any).unwrap().unwrap(), b"hunter2\0");
        let error = plugin.go_on(&[PASSWORD_NEEDED], PASSWORD, Way::Open, &any).unwrap_err();
        assert!(!error.message().contains(PASSWORD) && error.hint().unwrap().contains("ssl-mode"));
        let error = plugin.go_on(&[PASSWORD_NEEDED], PASSWORD, Way::Encrypted, &any).unwrap_err();
        assert!(!error.message().contains(PASSWORD) && error.hint().unwrap().contains("VERIFY_IDENTITY"));
        let named = Requirement::parse("client_ed25519,caching_sha2_password", METHODS).unwrap();
        assert!(plugin.go_on(&[PASSWORD_NEEDED], PASSWORD, Way::Encrypted, &named).is_ok());
        assert!(plugin.go_on(&[PASSWORD_NEEDED], PASSWORD, Way::Open, &named).is_err());
        assert!(Plugin::Sha256.answer(PASSWORD, &ONES, Way::Encrypted, &named).is_err());
        assert!(plugin.go_on(b"", PASSWORD, Way::Certain, &any).is_err());
        assert!(Plugin::Sha256.answer(PASSWORD, &ONES, Way::Open, &Requirement::Any).is_err());
        assert!(Plugin::named(b"dialog").unwrap_err().message().contains("dialog"));
    }
}
