//! SCRAM-SHA-256, the server's side: RFC 5802 §5 and 7677, as PostgreSQL uses them.
//! <https://www.postgresql.org/docs/current/sasl-authentication.html>

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use colonnade_login::scram::{BINDING, BOUND_MECHANISM, MECHANISM, Verifier, hmac, same, stored_key, xor};

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ScramError {
    /// The client does not follow SCRAM.
    #[error("malformed SCRAM message: {0}")]
    Malformed(&'static str),
    /// Channel binding fails: an attacker in the network has removed an offered mechanism, or relays the connection.
    #[error("the login is not bound to this connection's certificate; an attacker may relay the connection")]
    Binding,
    #[error("wrong password")]
    Wrong,
}

/// An exchange after the server's first message.
#[derive(Debug)]
pub(crate) struct ScramExchange {
    verifier: Verifier,
    /// The channel-binding data that the client's last message must contain.
    binding: Vec<u8>,
    nonce: String,
    client_first_bare: String,
    server_first: String,
}

/// The mechanisms to offer for this end point of the channel.
pub(crate) fn mechanisms(end_point: Option<&[u8]>) -> &'static [&'static str] {
    if end_point.is_some() { &[BOUND_MECHANISM, MECHANISM] } else { &[MECHANISM] }
}

impl ScramExchange {
    /// Reads the client's first message, for a user with this verifier. `nonce` is the server's part of the nonce,
    /// `end_point` the data for channel binding.
    pub fn begin(
        mechanism: &str,
        message: &[u8],
        end_point: Option<&[u8]>,
        verifier: Verifier,
        nonce: &str,
    ) -> Result<Self, ScramError> {
        let malformed = ScramError::Malformed;
        let message = std::str::from_utf8(message).map_err(|_| malformed("not UTF-8"))?;
        let (flag, rest) = message.split_once(',').ok_or(malformed("no channel binding flag"))?;
        let (authorization, bare) = rest.split_once(',').ok_or(malformed("no authorization identity"))?;
        let is_bound = match (flag.strip_prefix("p="), mechanism) {
            (Some(BINDING), BOUND_MECHANISM) => true,
            (Some(_), BOUND_MECHANISM) => return Err(malformed("the channel binding is not tls-server-end-point")),
            (None, BOUND_MECHANISM) => return Err(malformed("the mechanism needs a channel binding")),
            (Some(_), MECHANISM) => return Err(malformed("the mechanism has no channel binding")),
            // The client supports channel binding and believes that the server does not: a downgrade.
            (None, MECHANISM) if flag == "y" && end_point.is_some() => return Err(ScramError::Binding),
            (None, MECHANISM) if matches!(flag, "n" | "y") => false,
            (None, MECHANISM) => return Err(malformed("the channel binding flag must be n, y or p")),
            _ => return Err(malformed("the mechanism was not offered")),
        };
        let end_point = match (is_bound, end_point) {
            (true, None) => return Err(malformed("the mechanism was not offered")),
            (true, Some(end_point)) => end_point,
            (false, _) => &[],
        };
        if !authorization.is_empty() {
            return Err(malformed("an authorization identity is not supported"));
        }
        // As in PostgreSQL, the user of the start-up message counts, and the one here is ignored.
        let mut fields = bare.split(',');
        let is_user = fields.next().is_some_and(|field| field.starts_with("n="));
        let client_nonce = fields.next().and_then(|field| field.strip_prefix("r="));
        let client_nonce =
            client_nonce.filter(|_| is_user).ok_or(malformed("the first message has no user or no nonce"))?;
        if client_nonce.is_empty() || !client_nonce.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(malformed("the nonce is not printable"));
        }
        let nonce = format!("{client_nonce}{nonce}");
        let server_first = format!("r={nonce},s={},i={}", BASE64.encode(&verifier.salt), verifier.iterations);
        Ok(Self {
            verifier,
            binding: [flag.as_bytes(), b",,", end_point].concat(),
            nonce,
            client_first_bare: bare.to_owned(),
            server_first,
        })
    }

    pub fn server_first(&self) -> &str {
        &self.server_first
    }

    /// Checks the client's last message; gives the server's last one, which proves that it has the verifier.
    pub fn check(&self, message: &[u8]) -> Result<String, ScramError> {
        let malformed = ScramError::Malformed;
        let message = std::str::from_utf8(message).map_err(|_| malformed("not UTF-8"))?;
        let (without_proof, proof) = message.rsplit_once(",p=").ok_or(malformed("no proof"))?;
        let proof = BASE64.decode(proof).ok().and_then(|proof| proof.try_into().ok());
        let proof = proof.ok_or(malformed("the proof is not valid"))?;
        let mut fields = without_proof.split(',');
        let binding =
            fields.next().and_then(|field| field.strip_prefix("c=")).ok_or(malformed("no channel binding"))?;
        let nonce = fields.next().and_then(|field| field.strip_prefix("r=")).ok_or(malformed("no nonce"))?;
        if BASE64.decode(binding).map_err(|_| malformed("the channel binding is not base64"))? != self.binding {
            return Err(ScramError::Binding);
        }
        if nonce != self.nonce {
            return Err(malformed("the nonce is not the one of this login"));
        }
        let covered = format!("{},{},{without_proof}", self.client_first_bare, self.server_first);
        let signature = hmac(&self.verifier.stored_key, covered.as_bytes());
        if !same(&stored_key(&xor(&proof, &signature)), &self.verifier.stored_key) {
            return Err(ScramError::Wrong);
        }
        Ok(format!("v={}", BASE64.encode(hmac(&self.verifier.server_key, covered.as_bytes()))))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FIRST: &[u8] = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
    const LAST: &[u8] =
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

    fn asked(mechanism: &str, first: &[u8], end_point: Option<&[u8]>) -> Result<ScramExchange, ScramError> {
        let verifier = Verifier::new("pencil", &BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap(), 4096);
        ScramExchange::begin(mechanism, first, end_point, verifier, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    }

    #[test]
    fn the_example_of_rfc_7677() {
        let asked = asked(MECHANISM, FIRST, None).unwrap();
        assert_eq!(
            asked.server_first(),
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        );
        assert_eq!(asked.check(LAST).unwrap(), "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn a_wrong_proof_nonce_or_channel_is_refused() {
        let asked = asked(MECHANISM, FIRST, None).unwrap();
        let last = std::str::from_utf8(LAST).unwrap();
        let check = |from: &str, to: &str| asked.check(last.replace(from, to).as_bytes()).unwrap_err();
        assert_eq!(check("p=dH", "p=dh"), ScramError::Wrong);
        assert_eq!(check("c=biws", "c=eSws"), ScramError::Binding);
        assert_eq!(check("F$k0", "F$k1"), ScramError::Malformed("the nonce is not the one of this login"));
        assert_eq!(check("p=dHz", "p="), ScramError::Malformed("the proof is not valid"));
        assert_eq!(check(",p=", ",x="), ScramError::Malformed("no proof"));
    }

    #[test]
    fn the_channel_binding_matches_the_mechanism() {
        let end_point: Option<&[u8]> = Some(b"hash");
        let first = |flag: &str| format!("{flag},,n=,r=abc").into_bytes();
        assert!(asked(MECHANISM, &first("n"), end_point).is_ok());
        assert!(asked(MECHANISM, &first("y"), None).is_ok());
        assert_eq!(asked(MECHANISM, &first("y"), end_point).unwrap_err(), ScramError::Binding);
        let bound = asked(BOUND_MECHANISM, &first("p=tls-server-end-point"), end_point).unwrap();
        assert_eq!(bound.binding, b"p=tls-server-end-point,,hash");
        for (mechanism, flag, end_point) in [
            (BOUND_MECHANISM, "p=tls-server-end-point", None),
            (BOUND_MECHANISM, "p=tls-unique", end_point),
            (BOUND_MECHANISM, "n", end_point),
            (MECHANISM, "p=tls-server-end-point", end_point),
            (MECHANISM, "x", end_point),
            ("PLAIN", "n", end_point),
        ] {
            let refused = asked(mechanism, &first(flag), end_point);
            assert!(matches!(refused, Err(ScramError::Malformed(_))), "{mechanism} {flag}");
        }
        assert_eq!(mechanisms(None), ["SCRAM-SHA-256"]);
        assert_eq!(mechanisms(end_point), ["SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"]);
    }

    #[test]
    fn malformed_first_messages_are_refused() {
        for first in [
            &b""[..],
            b"n",
            b"n,",
            b"n,,",
            b"n,a=other,n=,r=x",
            b"n,,r=x",
            b"n,,n=",
            b"n,,n=,r=",
            b"n,,m=x,n=,r=x",
            b"\xff",
        ] {
            assert!(matches!(asked(MECHANISM, first, None), Err(ScramError::Malformed(_))), "{first:?}");
        }
        assert!(matches!(asked(MECHANISM, "n,,n=,r=ä".as_bytes(), None), Err(ScramError::Malformed(_))));
    }

    proptest! {
        #[test]
        fn no_message_panics(first in ".{0,60}", last in ".{0,60}") {
            let begin = |first| ScramExchange::begin(MECHANISM, first, None, Verifier::new("x", b"salt", 1), "nonce");
            let _ = begin(first.as_bytes());
            let _ = begin(FIRST).unwrap().check(last.as_bytes());
        }
    }
}
