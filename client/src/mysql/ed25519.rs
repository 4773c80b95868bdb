//! MariaDB's ed25519: the password, of any length, is the seed.
//! <https://mariadb.com/kb/en/authentication-plugin-ed25519/>, RFC 8032 §5.1.6

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use sha2::{Digest as _, Sha512};

/// The signature of `scramble`.
pub(super) fn sign(password: &[u8], scramble: &[u8]) -> [u8; 64] {
    let key = ExpandedSecretKey::from_bytes(&Sha512::digest(password).into());
    raw_sign::<Sha512>(&key, scramble, &VerifyingKey::from(&key)).to_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_of_32_bytes_is_an_ordinary_seed() {
        // RFC 8032 §7.1, test 2
        let seed = *b"\x4c\xcd\x08\x9b\x28\xff\x96\xda\x9d\xb6\xc3\x46\xec\x11\x4e\x0f\
                      \x5b\x8a\x31\x9f\x35\xab\xa6\x24\xda\x8c\xf6\xed\x4f\xb8\xa6\xfb";
        let signature = sign(&seed, b"\x72");
        assert_eq!(signature[..8], *b"\x92\xa0\x09\xa9\xf0\xd4\xca\xb8");
        assert_eq!(signature[56..], *b"\xb0\x0d\x29\x16\x12\xbb\x0c\x00");
    }
}
