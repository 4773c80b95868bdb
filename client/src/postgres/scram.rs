//! The client's part of SCRAM-SHA-256: RFC 5802 and 7677, as PostgreSQL uses them.
//! <https://www.postgresql.org/docs/current/sasl-authentication.html>

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
pub(crate) use colonnade_login::scram::{BOUND_MECHANISM, MECHANISM};
use colonnade_login::scram::{
    Key, NONCE_BYTES, client_key, hmac, normalized, salted_password, server_key, stored_key, xor,
};

use super::message::protocol;
use crate::{Error, ErrorKind};

/// The fewest rounds of the hash, RFC 7677 §4. With fewer, a false server could try many passwords offline.
const MIN_ITERATIONS: u32 = 4096;
/// The most rounds, which take about half a second of one core.
const MAX_ITERATIONS: u32 = 1_000_000;

/// The user's name is in the start-up message; the name here is ignored.
const USER: &str = "n=";

/// The binding of the conversation, RFC 5802 §6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChannelBinding {
    /// Nothing.
    No,
    /// Nothing, because the server does not offer it. The server detects if an attacker has removed its offer.
    NotOffered,
    /// The hash of the certificate at the server's end of the channel: RFC 5929 §4.
    To(Vec<u8>),
}

impl ChannelBinding {
    fn header(&self) -> &'static str {
        match self {
            Self::No => "n,,",
            Self::NotOffered => "y,,",
            Self::To(_) => "p=tls-server-end-point,,",
        }
    }

    /// The part of the binding that the proof covers.
    fn input(&self) -> Vec<u8> {
        let end_point = if let Self::To(hash) = self { hash.as_slice() } else { &[] };
        [self.header().as_bytes(), end_point].concat()
    }
}

/// A conversation after its first message.
pub(crate) struct Scram {
    password: Vec<u8>,
    nonce: String,
    first_bare: String,
    bound: ChannelBinding,
}

/// A conversation in which the server must still prove that it knows the password.
pub(crate) struct Proven {
    server_signature: Key,
    bound: bool,
}

impl Scram {
    /// Begins a conversation with a new nonce.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn begin(password: &str, bound: ChannelBinding) -> Result<Self, Error> {
        let mut random = [0; NONCE_BYTES];
        getrandom::fill(&mut random)
            .map_err(|cause| Error::new(ErrorKind::Connect, "the system has no random numbers").with_cause(cause))?;
        Ok(Self::with(password, USER, BASE64.encode(random), bound))
    }

    fn with(password: &str, user: &str, nonce: String, bound: ChannelBinding) -> Self {
        let password = normalized(password);
        let first_bare = format!("{user},r={nonce}");
        Self { password: password.as_bytes().to_vec(), nonce, first_bare, bound }
    }

    /// The first message.
    pub(crate) fn first(&self) -> String {
        format!("{}{}", self.bound.header(), self.first_bare)
    }

    /// The answer to the server's first message. It proves that the client knows the password.
    ///
    /// # Errors
    /// The server's message is not valid.
    pub(crate) fn answer(self, server_first: &str) -> Result<(String, Proven), Error> {
        let odd = || protocol("a SCRAM message that is not one");
        let mut parts = server_first.split(',');
        let mut part = |key: &str| parts.next().and_then(|part| part.strip_prefix(key)).ok_or_else(odd);
        let (nonce, salt, iterations) = (part("r=")?, part("s=")?, part("i=")?);
        let salt = BASE64.decode(salt).map_err(|_| odd())?;
        let iterations: u32 = iterations.parse().map_err(|_| odd())?;
        // Without the client's nonce, the server could replay another server's messages.
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(odd());
        }
        if !(MIN_ITERATIONS..=MAX_ITERATIONS).contains(&iterations) {
            let message = format!(
                "the server asks for {iterations} iterations of SCRAM, and {MIN_ITERATIONS} to {MAX_ITERATIONS} are \
                 accepted; nothing was sent that depends on the password"
            );
            return Err(Error::new(ErrorKind::Connect, message).with_hint(format!(
                "on the server, SET scram_iterations = {MIN_ITERATIONS} and set the user's password again"
            )));
        }
        let salted = salted_password(&self.password, &salt, iterations);
        let client_key = client_key(&salted);
        let without_proof = format!("c={},r={nonce}", BASE64.encode(self.bound.input()));
        let message = format!("{},{server_first},{without_proof}", self.first_bare);
        let proof = xor(&hmac(&stored_key(&client_key), message.as_bytes()), &client_key);
        let server_signature = hmac(&server_key(&salted), message.as_bytes());
        Ok((
            format!("{without_proof},p={}", BASE64.encode(proof)),
            Proven { server_signature, bound: matches!(self.bound, ChannelBinding::To(_)) },
        ))
    }
}

impl Proven {
    /// Checks the server's last message. Returns whether the login is bound to the channel.
    ///
    /// # Errors
    /// The server does not know the password.
    pub(crate) fn check(&self, server_final: &str) -> Result<bool, Error> {
        let signature = server_final.split(',').next().and_then(|part| part.strip_prefix("v="));
        match signature.and_then(|signature| BASE64.decode(signature).ok()) {
            Some(signature) if signature == self.server_signature => Ok(self.bound),
            _ => Err(Error::new(ErrorKind::Connect, "the server could not prove that it knows the password")
                .with_hint("the server may not be the one that you mean")),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
    const SERVER_FIRST: &str = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
    const SERVER_FINAL: &str = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

    fn scram() -> Scram {
        Scram::with("pencil", "n=user", NONCE.to_owned(), ChannelBinding::No)
    }

    #[test]
    fn the_example_of_rfc_7677() {
        assert_eq!(scram().first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let (answer, proven) = scram().answer(SERVER_FIRST).unwrap();
        assert_eq!(
            answer,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert!(proven.check(SERVER_FINAL).is_ok());
        assert!(proven.check("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5=").is_err());
        assert!(proven.check("e=other-error").is_err());
    }

    #[test]
    fn the_proof_covers_what_it_is_bound_to() {
        let answer = |bound| Scram::with("pencil", "n=user", NONCE.to_owned(), bound).answer(SERVER_FIRST).unwrap().0;
        let (one, other) = (answer(ChannelBinding::To(b"one".to_vec())), answer(ChannelBinding::To(b"two".to_vec())));
        // "p=tls-server-end-point,,one" and "y,,"
        assert!(one.starts_with("c=cD10bHMtc2VydmVyLWVuZC1wb2ludCwsb25l,"), "{one}");
        assert!(answer(ChannelBinding::NotOffered).starts_with("c=eSws,"));
        assert_ne!(one.split(",p=").nth(1), other.split(",p=").nth(1));
    }

    #[test]
    fn a_server_that_does_not_play_along_is_refused() {
        for first in [
            "",
            "r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
            "r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
            "r=rOprNGfwEbeRWgbNEkqO1,s=?,i=4096",
            "r=rOprNGfwEbeRWgbNEkqO1,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=0",
            "r=rOprNGfwEbeRWgbNEkqO1,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=1",
            "r=rOprNGfwEbeRWgbNEkqO1,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4095",
            "r=rOprNGfwEbeRWgbNEkqO1,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=1000001",
            "r=rOprNGfwEbeRWgbNEkqO1,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4000000000",
        ] {
            assert!(scram().answer(first).is_err(), "{first}");
        }
    }

    #[test]
    fn no_two_conversations_are_the_same() {
        assert_ne!(
            Scram::begin("x", ChannelBinding::No).unwrap().first(),
            Scram::begin("x", ChannelBinding::No).unwrap().first()
        );
    }

    proptest! {
        #[test]
        fn no_message_panics(text in ".{0,60}", password in ".{0,20}") {
            let _ = Scram::with(&password, USER, NONCE.to_owned(), ChannelBinding::NotOffered).answer(&text);
            let _ = Proven { server_signature: [0; 32], bound: false }.check(&text);
        }
    }
}
