//! SCRAM-SHA-256's keys: RFC 5802 §3, RFC 7677, and PostgreSQL's form of a stored password
//! (`src/backend/libpq/auth-scram.c`, `scram_build_secret`).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

/// The mechanism's name.
pub const MECHANISM: &str = "SCRAM-SHA-256";
/// The name of the mechanism with channel binding.
pub const BOUND_MECHANISM: &str = "SCRAM-SHA-256-PLUS";
/// The type of channel binding: the hash of the certificate at the server's end of the channel, RFC 5929 §4.
pub const BINDING: &str = "tls-server-end-point";

/// PostgreSQL's default (`scram_iterations`).
pub const ITERATIONS: u32 = 4096;
/// More iterations would keep the other side busy for minutes.
pub const MAX_ITERATIONS: u32 = 10_000_000;
/// PostgreSQL's `SCRAM_DEFAULT_SALT_LEN`.
pub const SALT_BYTES: usize = 16;
/// Before base64; PostgreSQL's `SCRAM_RAW_NONCE_LEN`.
pub const NONCE_BYTES: usize = 18;

/// An output of SHA-256.
pub type Key = [u8; 32];

/// A password in the form that is hashed: SASLprep, RFC 4013. If SASLprep does not accept it, it is used unchanged, as
/// in PostgreSQL.
pub fn normalized(password: &str) -> Cow<'_, str> {
    stringprep::saslprep(password).unwrap_or(Cow::Borrowed(password))
}

/// HMAC-SHA-256, RFC 2104.
pub fn hmac(key: &[u8], message: &[u8]) -> Key {
    // HMAC accepts keys of any length, so this never fails. An empty code would fail every check.
    Hmac::<Sha256>::new_from_slice(key).map_or([0; 32], |mac| mac.chain_update(message).finalize().into_bytes().into())
}

/// PBKDF2 with one block, RFC 8018 §5.2.
pub fn salted_password(password: &[u8], salt: &[u8], iterations: u32) -> Key {
    let mut last = hmac(password, &[salt, &1u32.to_be_bytes()].concat());
    let mut sum = last;
    for _ in 1..iterations {
        last = hmac(password, &last);
        sum.iter_mut().zip(last).for_each(|(byte, other)| *byte ^= other);
    }
    sum
}

/// The key that a client proves to have.
pub fn client_key(salted_password: &Key) -> Key {
    hmac(salted_password, b"Client Key")
}

/// The key that a server proves to have.
pub fn server_key(salted_password: &Key) -> Key {
    hmac(salted_password, b"Server Key")
}

/// The hash of a client's key, which a server stores.
pub fn stored_key(client_key: &Key) -> Key {
    Sha256::digest(client_key).into()
}

/// XOR of two keys: converts a client key to its proof, and a proof back to the client key.
pub fn xor(one: &Key, other: &Key) -> Key {
    std::array::from_fn(|at| one[at] ^ other[at])
}

/// Whether two keys are equal. The time does not depend on where they differ.
pub fn same(one: &Key, other: &Key) -> bool {
    std::hint::black_box(xor(one, other).iter().fold(0, |sum, byte| sum | byte)) == 0
}

/// What a server stores for a password: enough to check a login, not enough to log in elsewhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    /// The number of iterations of the hash.
    pub iterations: u32,
    /// The salt of the hash.
    pub salt: Vec<u8>,
    /// [`stored_key`].
    pub stored_key: Key,
    /// [`server_key`].
    pub server_key: Key,
}

/// Not a verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a verifier of the form SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>")]
pub struct VerifierError;

impl Verifier {
    /// The verifier of a password.
    pub fn new(password: &str, salt: &[u8], iterations: u32) -> Self {
        let salted = salted_password(normalized(password).as_bytes(), salt, iterations);
        Self {
            iterations,
            salt: salt.to_vec(),
            stored_key: stored_key(&client_key(&salted)),
            server_key: server_key(&salted),
        }
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [salt, stored, server] = [&self.salt[..], &self.stored_key, &self.server_key].map(|key| BASE64.encode(key));
        write!(f, "{MECHANISM}${}:{salt}${stored}:{server}", self.iterations)
    }
}

/// Does not show keys.
impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("iterations", &self.iterations).finish_non_exhaustive()
    }
}

impl FromStr for Verifier {
    type Err = VerifierError;

    fn from_str(text: &str) -> Result<Self, VerifierError> {
        let read = || {
            let (hashed, keys) = text.strip_prefix(MECHANISM)?.strip_prefix('$')?.split_once('$')?;
            let ((iterations, salt), (stored, server)) = (hashed.split_once(':')?, keys.split_once(':')?);
            let key = |text: &str| BASE64.decode(text).ok()?.try_into().ok();
            let iterations = iterations.parse().ok().filter(|count| (1..=MAX_ITERATIONS).contains(count))?;
            let salt = BASE64.decode(salt).ok().filter(|salt| !salt.is_empty())?;
            Some(Self { iterations, salt, stored_key: key(stored)?, server_key: key(server)? })
        };
        read().ok_or(VerifierError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ALTER ROLE x PASSWORD 'pencil'` with this salt would store this verifier: the keys are those of RFC 7677's
    /// example.
    #[test]
    fn a_verifier_is_postgresqls() {
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let verifier = Verifier::new("pencil", &salt, 4096);
        let text = verifier.to_string();
        assert!(text.starts_with("SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"), "{text}");
        assert_eq!(text.parse(), Ok(verifier.clone()));
        assert!(!format!("{verifier:?}").contains(&BASE64.encode(verifier.server_key)));
    }

    #[test]
    fn what_is_no_verifier_is_refused() {
        let good = Verifier::new("x", &[7; SALT_BYTES], 1).to_string();
        for bad in [
            String::new(),
            "md5d41d8cd98f00b204e9800998ecf8427e".to_owned(),
            good.replace("$1:", "$0:"),
            good.replace("$1:", "$-1:"),
            good.replace("$1:", "$4000000000:"),
            good.replace("SCRAM-SHA-256", "SCRAM-SHA-1"),
            good.replacen(':', "$", 1),
            format!("{good}x"),
            good[..good.len() - 4].to_owned(),
        ] {
            assert_eq!(bad.parse::<Verifier>(), Err(VerifierError), "{bad}");
        }
    }

    #[test]
    fn equal_passwords_may_be_written_differently() {
        // RFC 4013 §3: a soft hyphen is mapped to nothing, a Roman numeral to letters.
        assert_eq!(normalized("I\u{ad}X"), "IX");
        assert_eq!(normalized("\u{2168}"), "IX");
        assert_eq!(normalized("\u{7}"), "\u{7}");
    }

    #[test]
    fn a_proof_gives_the_key_back() {
        let (key, other) = ([7; 32], hmac(b"a", b"b"));
        assert!(same(&xor(&xor(&key, &other), &other), &key));
        assert!(!same(&key, &other));
    }
}
