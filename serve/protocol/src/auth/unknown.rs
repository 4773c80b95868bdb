//! Verifiers for users that do not exist, so that a login does not tell which users exist.
//!
//! A salt is derived from a secret and the user's name, whether or not the user exists (RFC 5802 §9). So the salt does
//! not change when the user is added or removed, when the password changes, or when the server restarts.

use colonnade_login::scram::{ITERATIONS, Key, SALT_BYTES, Verifier, hmac};

use super::users::{Users, salt};

/// The parameters of SCRAM for all users that do not exist.
pub(super) struct UnknownUsers {
    secret: Key,
    iterations: u32,
    salt_bytes: usize,
}

impl UnknownUsers {
    /// The most common parameters among `users`.
    pub fn resembling(users: &Users) -> Self {
        let shape = |verifier: &Verifier| (verifier.iterations, verifier.salt.len());
        let shapes: Vec<_> = users.iter().map(|(_, user)| shape(&user.verifier)).collect();
        let count = |shape: &(u32, usize)| shapes.iter().filter(|other| *other == shape).count();
        let mut distinct = shapes.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let usual = distinct.into_iter().max_by_key(count).unwrap_or((ITERATIONS, SALT_BYTES));
        Self { secret: users.salt_secret(), iterations: usual.0, salt_bytes: usual.1 }
    }

    /// A verifier that fits no password.
    pub fn verifier(&self, name: &str) -> Verifier {
        let key = |what: &[u8]| hmac(&self.secret, &[what, name.as_bytes()].concat());
        let mut salt = salt(&self.secret, name).to_vec();
        salt.resize(self.salt_bytes, 0);
        Verifier { iterations: self.iterations, salt, stored_key: key(b"stored\0"), server_key: key(b"server\0") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Role;

    fn users() -> Users {
        let mut users = Users::default();
        users.add("alice", "secret", Role::ReadWrite, None, false).unwrap();
        users
    }

    #[test]
    fn a_salt_does_not_change_when_a_user_is_added_or_removed() {
        let mut users = users();
        let before = UnknownUsers::resembling(&users).verifier("bob");
        users.add("bob", "secret", Role::ReadOnly, None, false).unwrap();
        let with = users.find("bob").unwrap().verifier.clone();
        assert_eq!((&before.salt, before.iterations), (&with.salt, with.iterations));
        assert_ne!(before.stored_key, with.stored_key);
        users.add("bob", "another secret", Role::ReadOnly, None, false).unwrap();
        assert_eq!(users.find("bob").unwrap().verifier.salt, with.salt);
        users.remove("bob");
        assert_eq!(UnknownUsers::resembling(&users).verifier("bob"), before);
        assert_ne!(UnknownUsers::resembling(&users).verifier("carol").salt, before.salt);
    }

    #[test]
    fn unknown_users_have_the_most_common_parameters() {
        let text: String = [(4096, "one"), (15_000, "two"), (15_000, "three")]
            .map(|(iterations, name)| {
                let salt = if iterations == 4096 { &[7; 16][..] } else { &[7; 24] };
                format!("\"{name}\" read-only {}\n", Verifier::new(name, salt, iterations))
            })
            .concat();
        let unknown = UnknownUsers::resembling(&Users::parse(&text).unwrap()).verifier("four");
        assert_eq!((unknown.iterations, unknown.salt.len()), (15_000, 24));
        let unknown = UnknownUsers::resembling(&Users::default()).verifier("four");
        assert_eq!((unknown.iterations, unknown.salt.len()), (ITERATIONS, SALT_BYTES));
    }

    #[test]
    fn without_a_stored_secret_it_is_derived_from_the_verifiers() {
        let text: String = users().to_string().lines().filter(|line| !line.starts_with("salts")).collect();
        let old = Users::parse(&text).unwrap();
        let verifier = |users: &Users| UnknownUsers::resembling(users).verifier("nobody");
        assert_eq!(verifier(&old), verifier(&Users::parse(&text).unwrap()));
        assert_ne!(verifier(&old).salt, verifier(&users()).salt);
    }
}
