//! Network addresses (PostgreSQL manual, §8.9): their texts, keys and binary forms.

use std::net::{Ipv4Addr, Ipv6Addr};

/// An IPv4 or IPv6 address with the length of its network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// 4 or 16 bytes.
    bytes: Vec<u8>,
    /// The bits of the network.
    bits: u8,
}

/// PostgreSQL's numbers of the families in keys and binary forms.
const IPV4: u8 = 2;
const IPV6: u8 = 3;
/// The first bits of a key are the network's, two for each, so that a shorter network is below those within it.
const SYMBOLS_PER_BYTE: usize = 4;
const END: u8 = 0b00;
const ZERO: u8 = 0b01;
const ONE: u8 = 0b10;

/// Parses inet: `192.168.0.1`, `192.168.0.1/24`, `10.1/16`, or an IPv6 address.
pub(super) fn parse(text: &str) -> Option<Address> {
    let (address, bits) = split(text)?;
    if address.contains(':') {
        return ipv6(address, bits);
    }
    let octets = octets(address)?;
    // Without a length, an address must be whole.
    let bits = bits.or((octets.len() == 4).then_some(32))?;
    ipv4(octets, bits)
}

/// Parses cidr. Its length may follow from the class of the network: `10` is `10.0.0.0/8`.
pub(super) fn parse_network(text: &str) -> Option<Address> {
    let (address, bits) = split(text)?;
    if address.contains(':') {
        return ipv6(address, bits);
    }
    let octets = octets(address)?;
    let by_class = match octets.first()? {
        240.. => 32,
        // Class D has 4 bits, which are a network of 4 only without other octets.
        224 if octets.len() == 1 => 4,
        224.. => 8,
        192.. => 24,
        128.. => 16,
        _ => 8,
    };
    let written = if by_class == 4 { 0 } else { 8 * octets.len() as u8 };
    ipv4(octets, bits.unwrap_or(by_class.max(written)))
}

fn split(text: &str) -> Option<(&str, Option<u8>)> {
    let text = text.trim();
    let Some((address, bits)) = text.split_once('/') else { return Some((text, None)) };
    let is_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
    Some((address, Some(bits.parse().ok().filter(|_| is_number)?)))
}

fn octets(address: &str) -> Option<Vec<u8>> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let octets: Option<Vec<u8>> =
        address.split('.').map(|part| part.parse().ok().filter(|_| is_number(part))).collect();
    octets.filter(|octets| octets.len() <= 4)
}

fn ipv4(mut octets: Vec<u8>, bits: u8) -> Option<Address> {
    octets.resize(4, 0);
    (bits <= 32).then_some(Address { bytes: octets, bits })
}

fn ipv6(address: &str, bits: Option<u8>) -> Option<Address> {
    let address: Ipv6Addr = address.parse().ok()?;
    let bits = bits.unwrap_or(128);
    (bits <= 128).then_some(Address { bytes: address.octets().to_vec(), bits })
}

impl Address {
    fn max_bits(&self) -> u8 {
        8 * self.bytes.len() as u8
    }

    fn bit(&self, at: u8) -> bool {
        self.bytes[usize::from(at / 8)] >> (7 - at % 8) & 1 == 1
    }

    /// Whether no bit is set behind the network's.
    pub fn is_network(&self) -> bool {
        (self.bits..self.max_bits()).all(|at| !self.bit(at))
    }

    /// The address of the network, without the bits behind it.
    pub fn network(&self) -> Self {
        let byte = |at: usize| {
            let kept = usize::from(self.bits).saturating_sub(8 * at).min(8);
            self.bytes[at] & !(0xff_u16 >> kept) as u8
        };
        Self { bytes: (0..self.bytes.len()).map(byte).collect(), bits: self.bits }
    }

    pub fn key(&self) -> Vec<u8> {
        let mut key = vec![if self.bytes.len() == 4 { IPV4 } else { IPV6 }];
        let network = (0..self.bits).map(|at| if self.bit(at) { ONE } else { ZERO });
        let symbols: Vec<u8> = network.chain([END]).collect();
        let byte =
            |symbols: &[u8]| (0..SYMBOLS_PER_BYTE).fold(0, |byte, at| byte << 2 | symbols.get(at).unwrap_or(&END));
        key.extend(symbols.chunks(SYMBOLS_PER_BYTE).map(byte));
        key.extend_from_slice(&self.bytes);
        key
    }

    /// The address with this key; `None` if it is not one.
    pub fn of_key(key: &[u8]) -> Option<Self> {
        let (family, rest) = key.split_first()?;
        let length = length(*family)?;
        let (symbols, bytes) = rest.split_at_checked(rest.len().checked_sub(length)?)?;
        let each = symbols.iter().flat_map(|byte| [6, 4, 2, 0].map(|shift| byte >> shift & 0b11));
        let bits = u8::try_from(each.take_while(|symbol| *symbol != END).count()).ok()?;
        let address = Self { bytes: bytes.to_vec(), bits };
        (bits <= address.max_bits()).then_some(address)
    }

    /// Appends the address, and the network's length unless that is whole. A cidr always has it.
    pub fn write_text(&self, has_length: bool, out: &mut Vec<u8>) {
        let text = match <[u8; 4]>::try_from(&*self.bytes) {
            Ok(bytes) => Ipv4Addr::from(bytes).to_string(),
            Err(_) => ipv6_text(&self.bytes),
        };
        out.extend_from_slice(text.as_bytes());
        if has_length || self.bits < self.max_bits() {
            out.push(b'/');
            out.extend_from_slice(self.bits.to_string().as_bytes());
        }
    }

    /// Appends the family, the network's length, whether it is a cidr, and the address with its length (`inet_send`).
    pub fn write_binary(&self, is_cidr: bool, out: &mut Vec<u8>) {
        let family = if self.bytes.len() == 4 { IPV4 } else { IPV6 };
        out.extend_from_slice(&[family, self.bits, u8::from(is_cidr), self.bytes.len() as u8]);
        out.extend_from_slice(&self.bytes);
    }

    /// The address with this binary form. Whether it says that it is a cidr does not matter, as in PostgreSQL.
    pub fn of_binary(bytes: &[u8]) -> Option<Self> {
        let ([family, bits, _, length], address) = bytes.split_first_chunk()?;
        let is_whole = address.len() == usize::from(*length) && address.len() == self::length(*family)?;
        let address = Self { bytes: address.to_vec(), bits: *bits };
        (is_whole && *bits <= address.max_bits()).then_some(address)
    }
}

/// The bytes of an address of a family.
fn length(family: u8) -> Option<usize> {
    match family {
        IPV4 => Some(4),
        IPV6 => Some(16),
        _ => None,
    }
}

fn ipv6_text(bytes: &[u8]) -> String {
    let address = <[u8; 16]>::try_from(bytes).unwrap_or_default();
    // An address with six words of zeros before others is shown as one of IPv4, unlike in the standard library.
    match address {
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d] if (a, b) != (0, 0) => {
            format!("::{}", Ipv4Addr::new(a, b, c, d))
        }
        _ => Ipv6Addr::from(address).to_string(),
    }
}

/// Parses the address of a device with this number of bytes: hexadecimal digits in groups of equal length, with `:`, `-` or
/// `.` between them. An address of 8 bytes may be written with 6, and has FF and FE in the middle then.
pub(super) fn parse_mac(text: &str, length: usize) -> Option<Vec<u8>> {
    let text = text.trim();
    let separator = text.find([':', '-', '.']).and_then(|at| text[at..].chars().next());
    let groups: Vec<&str> = separator.map_or_else(|| vec![text], |separator| text.split(separator).collect());
    let digits = groups.concat();
    let is_regular = groups.iter().all(|group| group.len() == groups[0].len() && group.len() % 2 == 0);
    if !is_regular || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let value = |pair: usize| u8::from_str_radix(digits.get(2 * pair..2 * pair + 2)?, 16).ok();
    let mut bytes = (0..digits.len() / 2).map(value).collect::<Option<Vec<u8>>>()?;
    if length == 8 && bytes.len() == 6 {
        bytes = extended(&bytes)?;
    }
    (bytes.len() == length).then_some(bytes)
}

/// The address of 8 bytes of a device with an address of 6.
pub(super) fn extended(bytes: &[u8]) -> Option<Vec<u8>> {
    let (maker, number) = bytes.split_at_checked(3)?;
    Some([maker, &EXTENSION, number].concat())
}

/// The reverse of [`extended`].
pub(super) fn shortened(bytes: &[u8]) -> Option<Vec<u8>> {
    let (maker, rest) = bytes.split_at_checked(3)?;
    Some([maker, rest.strip_prefix(&EXTENSION)?].concat())
}

/// What an address of 8 bytes has in the middle if it was made of one of 6.
const EXTENSION: [u8; 2] = [0xff, 0xfe];

/// Appends `08:00:2b:01:02:03`.
pub(super) fn write_mac(bytes: &[u8], out: &mut Vec<u8>) {
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    out.extend_from_slice(pairs.join(":").as_bytes());
}
