#![allow(clippy::unwrap_used)]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use proptest::prelude::*;

use super::*;

/// `openssl req -new -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 7300 -subj /O=x/CN=db.example
/// -sha384`
const SELF_SIGNED: &str = "\
    MIIBlzCCAT2gAwIBAgIUEbslg6UsWcT5tseoiH9GTgiRkTUwCgYIKoZIzj0EAwMwITEKMAgGA1UECgwBeDETMBEGA1UEAwwKZGIu \
    ZXhhbXBsZTAeFw0yNjExMjIwMzQ5NDRaFw00NjExMTcwMzQ5NDRaMCExCjAIBgNVBAoMAXgxEzARBgNVBAMMCmRiLmV4YW1wbGUw \
    WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATGnzM7OWeNv5WFmT3NIMzg4vrRwChxPKvqUm0AkgxPyCbl3MZOV5vq/awg29CavJXW \
    pcxc2uUAPWe0mvFYCnHTo1MwUTAdBgNVHQ4EFgQU27ES5eaA7xa99KR6p6sAGgG41w8wHwYDVR0jBBgwFoAU27ES5eaA7xa99KR6 \
    p6sAGgG41w8wDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAwNIADBFAiEA4a5xLrLvg/qcNHS2rCFqEgUX4Nz/3wiNwdmO6PnB \
    XF0CIGVkj+VEyqmskZe9ptCgh/h4YzU19G0/xNELM0scbcDy";
/// `sha384sum` of it.
const ITS_HASH: &str =
    "4387c0abf9524d94dff21fbf1291a1f1979422222ab5a834117c70e469403c78b67eff557be22d4afdaf20c7bb7abfd7";

fn self_signed() -> Vec<u8> {
    BASE64.decode(SELF_SIGNED.replace(char::is_whitespace, "")).unwrap()
}

#[test]
fn a_certificate_is_read() {
    let der = self_signed();
    let certificate = Certificate::parse(&der).unwrap();
    assert_eq!(certificate.common_name, Some(b"db.example".as_slice()));
    assert!(!certificate.has_alternative_names);
    // date -u -d '2026-11-22 03:49:44' +%s, and of 2046-11-17
    assert_eq!(certificate.validity, (1_795_319_384, 2_426_039_384));
    // An uncompressed point of an elliptic curve: its form, and two coordinates.
    assert_eq!((certificate.key.1.len(), certificate.key.1[0]), (65, 4));
    let hash: String = certificate.end_point().unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hash, ITS_HASH);
}

#[test]
fn a_login_is_bound_by_the_signatures_hash_or_a_better_one() {
    let hash = |name: &[u8], parameters: &[u8]| {
        let signed = [&[OID, name.len() as u8], name, parameters].concat();
        let certificate = Certificate {
            der: &[],
            validity: (0, 0),
            common_name: None,
            has_alternative_names: false,
            key: (&[], &[]),
            signed: &signed,
        };
        certificate.hash()
    };
    let pkcs1 = |last: u8, parameters: &[u8]| hash(&[PKCS1, &[last]].concat(), parameters);
    assert_eq!(pkcs1(4, &[]), Some(Hash::Sha256));
    assert_eq!(pkcs1(5, &[5, 0]), Some(Hash::Sha256));
    assert_eq!(pkcs1(13, &[5, 0]), Some(Hash::Sha512));
    assert_eq!(pkcs1(10, &[SEQUENCE, 0]), Some(Hash::Sha256));
    let hashed = [&[SEQUENCE, 15, 0xa0, 13, SEQUENCE, 11, OID, 9][..], HASHES, &[3]].concat();
    assert_eq!(pkcs1(10, &hashed), Some(Hash::Sha512));
    assert_eq!(hash(&[ECDSA, &[3, 3]].concat(), &[]), Some(Hash::Sha384));
    // Ed25519
    assert_eq!(hash(&[0x2b, 0x65, 0x70], &[]), None);
}

#[test]
fn times_are_those_of_the_calendar() {
    let time = |tag: u8, text: &str| Reader(&[&[tag, text.len() as u8], text.as_bytes()].concat()).time();
    assert_eq!(time(UTC_TIME, "700101000000Z"), Some(0));
    assert_eq!(time(UTC_TIME, "491231235959Z"), Some(2_524_607_999));
    assert_eq!(time(UTC_TIME, "500101000000Z"), Some(0));
    assert_eq!(time(GENERALIZED_TIME, "20000229120000Z"), Some(951_825_600));
    assert_eq!(time(GENERALIZED_TIME, "20240301000000Z"), Some(1_709_251_200));
    assert_eq!(time(GENERALIZED_TIME, "99991231235959Z"), Some(253_402_300_799));
    for (tag, text) in [
        (UTC_TIME, "700101000000"),
        (UTC_TIME, "701301000000Z"),
        (UTC_TIME, "70x101000000Z"),
        (GENERALIZED_TIME, "700101000000Z"),
        (UTC_TIME, "Z"),
    ] {
        assert_eq!(time(tag, text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..80), at in 0..400usize, cut in 0..400usize, byte: u8) {
        let _ = Certificate::parse(&bytes);
        let mut der = self_signed();
        der[at] = byte;
        if let Some(certificate) = Certificate::parse(&der) {
            let _ = certificate.end_point();
        }
        prop_assert!(Certificate::parse(&der[..cut]).is_none());
    }
}
