//! The fields of a certificate that are read in addition to its chain: RFC 5280 §4.1, in DER (ITU-T X.690).

use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512};

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

/// 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 4, 3];
/// 2.5.29.17
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 17];
/// 1.2.840.113549.1.1: PKCS #1's algorithms
const PKCS1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
/// 1.2.840.10045.4: ECDSA's
const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4];
/// 2.16.840.1.101.3.4.2: NIST's hash functions
const HASHES: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2];

/// Fields of a certificate, of any version of X.509.
#[derive(Debug)]
pub struct Certificate<'a> {
    der: &'a [u8],
    /// The first and the last second of its validity, since 1970.
    pub validity: (u64, u64),
    /// The last common name of its subject, in its original bytes.
    pub common_name: Option<&'a [u8]>,
    /// Whether an extension contains alternative names, which replace the common name.
    pub has_alternative_names: bool,
    /// The key's algorithm (the content of an AlgorithmIdentifier), and the key.
    pub key: (&'a [u8], &'a [u8]),
    /// The signature's algorithm (the content of an AlgorithmIdentifier).
    signed: &'a [u8],
}

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hash {
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

impl<'a> Certificate<'a> {
    /// Parses a certificate. `None` if it is malformed.
    pub fn parse(der: &'a [u8]) -> Option<Self> {
        let mut certificate = Reader(Reader(der).take(SEQUENCE)?);
        let mut fields = Reader(certificate.take(SEQUENCE)?);
        let signed = certificate.take(SEQUENCE)?;
        fields.take(VERSION);
        fields.take(INTEGER)?;
        fields.take(SEQUENCE)?;
        let _issuer = fields.take(SEQUENCE)?;
        let mut validity = Reader(fields.take(SEQUENCE)?);
        let validity = (validity.time()?, validity.time()?);
        let common_name = common_name(fields.take(SEQUENCE)?)?;
        let mut key = Reader(fields.take(SEQUENCE)?);
        let algorithm = key.take(SEQUENCE)?;
        // A bit string begins with the number of unused bits of its last byte.
        let (0, key) = key.take(BIT_STRING)?.split_first().map(|(unused, bits)| (*unused, bits))? else { return None };
        let mut has_alternative_names = false;
        while let Some((tag, content)) = fields.next() {
            if tag == EXTENSIONS {
                let mut extensions = Reader(Reader(content).take(SEQUENCE)?);
                while let Some(extension) = extensions.take(SEQUENCE) {
                    has_alternative_names |= Reader(extension).take(OID)? == ALTERNATIVE_NAMES;
                }
            }
        }
        Some(Self { der, validity, common_name, has_alternative_names, key: (algorithm, key), signed })
    }

    /// The value that binds a login to this certificate: `tls-server-end-point`, RFC 5929 §4.1. It is the certificate's
    /// hash by the function of its signature, or by SHA-256 if that function is MD5 or SHA-1. `None` if the signature
    /// uses no hash function.
    pub fn end_point(&self) -> Option<Vec<u8>> {
        Some(match self.hash()? {
            Hash::Sha224 => Sha224::digest(self.der).to_vec(),
            Hash::Sha256 => Sha256::digest(self.der).to_vec(),
            Hash::Sha384 => Sha384::digest(self.der).to_vec(),
            Hash::Sha512 => Sha512::digest(self.der).to_vec(),
        })
    }

    fn hash(&self) -> Option<Hash> {
        let mut algorithm = Reader(self.signed);
        let name = algorithm.take(OID)?;
        if let Some(last) = name.strip_prefix(PKCS1) {
            return match last {
                // MD5 and SHA-1.
                [4 | 5] | [11] => Some(Hash::Sha256),
                [12] => Some(Hash::Sha384),
                [13] => Some(Hash::Sha512),
                [14] => Some(Hash::Sha224),
                // RSASSA-PSS names its hash in its parameters, RFC 4055 §3.1. The default is SHA-1.
                [10] => {
                    let mut parameters = Reader(algorithm.take(SEQUENCE)?);
                    let Some(hash) = parameters.take(0xa0) else { return Some(Hash::Sha256) };
                    match Reader(Reader(hash).take(SEQUENCE)?).take(OID)?.strip_prefix(HASHES) {
                        Some([2]) => Some(Hash::Sha384),
                        Some([3]) => Some(Hash::Sha512),
                        Some([4]) => Some(Hash::Sha224),
                        _ => Some(Hash::Sha256),
                    }
                }
                _ => None,
            };
        }
        match name.strip_prefix(ECDSA)? {
            [1] | [3, 2] => Some(Hash::Sha256),
            [3, 1] => Some(Hash::Sha224),
            [3, 3] => Some(Hash::Sha384),
            [3, 4] => Some(Hash::Sha512),
            _ => None,
        }
    }
}

/// The last common name in a name.
fn common_name(name: &[u8]) -> Option<Option<&[u8]>> {
    let (mut sets, mut last) = (Reader(name), None);
    while let Some(set) = sets.take(SET) {
        let mut attributes = Reader(set);
        while let Some(attribute) = attributes.take(SEQUENCE) {
            let mut attribute = Reader(attribute);
            if attribute.take(OID)? == COMMON_NAME {
                last = Some(attribute.next()?.1);
            }
        }
    }
    Some(last)
}

/// Reads elements one after the other. It never reads beyond its bytes.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The next element's tag and content.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (tag, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (len, rest) = match first {
            0..=0x7f => (usize::from(*first), rest),
            // Lengths of one to four bytes; an indefinite one (0x80) is not DER.
            0x81..=0x84 => {
                let (len, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (len.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some((*tag, content))
    }

    /// The next element's content, if it has this tag. Otherwise nothing is consumed.
    fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        let before = self.0;
        match self.next() {
            Some((found, content)) if found == tag => Some(content),
            _ => {
                self.0 = before;
                None
            }
        }
    }

    /// A time in a certificate's form, `YYMMDDhhmmssZ` for the years from 1950 on or `YYYYMMDDhhmmssZ`, in seconds
    /// since 1970. A time before 1970 becomes 1970.
    fn time(&mut self) -> Option<u64> {
        let (tag, text) = self.next()?;
        let digits = text.strip_suffix(b"Z")?;
        let mut pairs = digits.chunks(2).map(|pair| match pair {
            [a @ b'0'..=b'9', b @ b'0'..=b'9'] => Some(u64::from(a - b'0') * 10 + u64::from(b - b'0')),
            _ => None,
        });
        let mut pair = || pairs.next().flatten();
        let year = match (tag, digits.len()) {
            (UTC_TIME, 12) => pair().map(|year| if year < 50 { 2000 + year } else { 1900 + year })?,
            (GENERALIZED_TIME, 14) => pair()? * 100 + pair()?,
            _ => return None,
        };
        let (month, day, hour, minute, second) = (pair()?, pair()?, pair()?, pair()?, pair()?);
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        // The years here begin in March, so that a leap day is a year's last day. Days are counted from 1 March of the
        // year 0.
        let (year, month) = if month < 3 { (year.checked_sub(1)?, month + 9) } else { (year, month - 3) };
        let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
        Some((days * 86400 + hour * 3600 + minute * 60 + second).saturating_sub(719_468 * 86400))
    }
}

#[cfg(test)]
#[path = "certificate_tests.rs"]
mod tests;
