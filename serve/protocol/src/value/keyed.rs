//! PostgreSQL's types that the engine lacks: ranges, multiranges and network addresses.
//!
//! The engine stores each value as its key: bytes that compare as PostgreSQL compares the values. So `=`, `<`, ORDER BY,
//! GROUP BY, joins, `min` and `max` are right without the engine's knowledge of the type. The engine knows each type by
//! PostgreSQL's name, as BLOB under another name, and casts it from and to text by [`KeyedType::parse`] and
//! [`KeyedType::write_text`].

mod element;
mod network;
mod number;
mod operations;
mod range;

use super::TextStyle;
pub use element::Element;
pub(super) use number::parse as number_key;
pub use operations::{KnownRange, RangeComparison, RangeOperation, RangeTest};
use range::{Range, multirange_of};
pub(crate) use range::{flags, quoted};

/// A type of which the engine stores keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyedType {
    /// A range.
    Range(Element),
    /// A multirange.
    Multirange(Element),
    /// inet
    Inet,
    /// cidr
    Cidr,
    /// macaddr
    MacAddress,
    /// macaddr8
    MacAddress8,
}

/// A text or bytes that are not a value of a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text is not a value.
    #[error("invalid input syntax for type {type_name}: \"{text}\"")]
    Syntax {
        /// PostgreSQL's name of the type.
        type_name: &'static str,
        /// The text, or its beginning.
        text: String,
    },
    /// A timestamp with time zone that depends on a session's time zone.
    #[error("a bound of a {0} needs its offset from UTC, as in 2024-01-31 10:00+01")]
    NoOffset(&'static str),
    /// A bound that its type does not have.
    #[error("a bound of a {0} is out of range")]
    OutOfRange(&'static str),
    /// The lower bound is above the upper one.
    #[error("range lower bound must be less than or equal to range upper bound")]
    Order,
    /// The result of an operator would be two ranges.
    #[error("result of range {0} would not be contiguous")]
    NotContiguous(&'static str),
    /// An address with bits to the right of its mask.
    #[error("invalid cidr value: \"{0}\" has bits set to the right of its mask")]
    HostBits(String),
    /// Bytes that are not a key, or not the binary form.
    #[error(transparent)]
    Bytes(#[from] InvalidKey),
}

/// Bytes that are not a key of the type with this name. It is small, because each value that is written may give one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("incorrect binary data format of a value of type {0}")]
pub struct InvalidKey(pub(crate) &'static str);

impl KeyError {
    /// The error for a text that is not a value, with its beginning.
    fn syntax(type_name: &'static str, text: &str) -> Self {
        /// The number of characters of the text that are shown.
        const SHOWN: usize = 80;
        Self::Syntax { type_name, text: text.chars().take(SHOWN).collect() }
    }
}

/// All types.
const ALL: [KeyedType; 16] = [
    KeyedType::Range(Element::Int4),
    KeyedType::Range(Element::Int8),
    KeyedType::Range(Element::Numeric),
    KeyedType::Range(Element::Date),
    KeyedType::Range(Element::Timestamp),
    KeyedType::Range(Element::TimestampTz),
    KeyedType::Multirange(Element::Int4),
    KeyedType::Multirange(Element::Int8),
    KeyedType::Multirange(Element::Numeric),
    KeyedType::Multirange(Element::Date),
    KeyedType::Multirange(Element::Timestamp),
    KeyedType::Multirange(Element::TimestampTz),
    KeyedType::Inet,
    KeyedType::Cidr,
    KeyedType::MacAddress,
    KeyedType::MacAddress8,
];

impl KeyedType {
    /// All types.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.into_iter()
    }

    /// PostgreSQL's name, its number, and that of its arrays (`pg_type.dat`).
    fn names(self) -> (&'static str, u32, u32) {
        match self {
            Self::Range(Element::Int4) => ("int4range", 3904, 3905),
            Self::Range(Element::Int8) => ("int8range", 3926, 3927),
            Self::Range(Element::Numeric) => ("numrange", 3906, 3907),
            Self::Range(Element::Date) => ("daterange", 3912, 3913),
            Self::Range(Element::Timestamp) => ("tsrange", 3908, 3909),
            Self::Range(Element::TimestampTz) => ("tstzrange", 3910, 3911),
            Self::Multirange(Element::Int4) => ("int4multirange", 4451, 6150),
            Self::Multirange(Element::Int8) => ("int8multirange", 4536, 6157),
            Self::Multirange(Element::Numeric) => ("nummultirange", 4532, 6151),
            Self::Multirange(Element::Date) => ("datemultirange", 4535, 6155),
            Self::Multirange(Element::Timestamp) => ("tsmultirange", 4533, 6152),
            Self::Multirange(Element::TimestampTz) => ("tstzmultirange", 4534, 6153),
            Self::Inet => ("inet", 869, 1041),
            Self::Cidr => ("cidr", 650, 651),
            Self::MacAddress => ("macaddr", 829, 1040),
            Self::MacAddress8 => ("macaddr8", 774, 775),
        }
    }

    /// PostgreSQL's name, which is the engine's too.
    pub fn name(self) -> &'static str {
        self.names().0
    }

    /// The type with a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::all().find(|type_| type_.name() == name)
    }

    /// PostgreSQL's number.
    pub fn oid(self) -> u32 {
        self.names().1
    }

    /// The type with a number.
    pub fn of_oid(oid: u32) -> Option<Self> {
        Self::all().find(|type_| type_.oid() == oid)
    }

    /// The number of the arrays of the type with a number.
    pub(crate) fn array_of(oid: u32) -> Option<u32> {
        Self::of_oid(oid).map(|type_| type_.names().2)
    }

    /// The number of the type whose arrays have a number.
    pub(crate) fn item_of(array: u32) -> Option<u32> {
        Self::all().find(|type_| type_.names().2 == array).map(Self::oid)
    }

    /// Bytes of a value as PostgreSQL stores it, or −1.
    pub(crate) fn size(self) -> i16 {
        match self {
            Self::MacAddress => 6,
            Self::MacAddress8 => 8,
            _ => -1,
        }
    }

    /// The key of the value with this text.
    ///
    /// # Errors
    /// If it is not a text of this type.
    pub fn parse(self, text: &str) -> Result<Vec<u8>, KeyError> {
        let syntax = || KeyError::syntax(self.name(), text);
        match self {
            Self::Range(element) => Ok(Range::parse(element, self.name(), text)?.key()),
            Self::Multirange(element) => multirange_of(element, self.name(), text),
            Self::Inet => network::parse(text).map(|address| address.key()).ok_or_else(syntax),
            Self::Cidr => {
                let address = network::parse_network(text).ok_or_else(syntax)?;
                if address.is_network() { Ok(address.key()) } else { Err(KeyError::HostBits(text.to_owned())) }
            }
            Self::MacAddress => network::parse_mac(text, 6).ok_or_else(syntax),
            Self::MacAddress8 => network::parse_mac(text, 8).ok_or_else(syntax),
        }
    }

    /// The bytes of a device's address.
    fn device(self, key: &[u8]) -> Result<&[u8], InvalidKey> {
        if key.len() == self.size() as usize { Ok(key) } else { Err(InvalidKey(self.name())) }
    }

    /// Appends the text of the value with this key.
    ///
    /// # Errors
    /// If the bytes are not a key.
    pub fn write_text(self, key: &[u8], style: TextStyle, out: &mut Vec<u8>) -> Result<(), InvalidKey> {
        let invalid = || InvalidKey(self.name());
        match self {
            Self::Range(element) => Range::of_key(element, key).ok_or_else(invalid)?.write_text(element, style, out),
            Self::Multirange(element) => {
                out.push(b'{');
                for (at, range) in Range::all_of_key(element, key).ok_or_else(invalid)?.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    range.write_text(element, style, out);
                }
                out.push(b'}');
            }
            Self::Inet => network::Address::of_key(key).ok_or_else(invalid)?.write_text(false, out),
            Self::Cidr => network::Address::of_key(key).ok_or_else(invalid)?.write_text(true, out),
            Self::MacAddress | Self::MacAddress8 => network::write_mac(self.device(key)?, out),
        }
        Ok(())
    }

    /// Whether values of this type can be cast to another one of these types.
    pub fn casts_to(self, target: Self) -> bool {
        match (self, target) {
            (Self::Range(element), Self::Multirange(other)) => element == other,
            (Self::Inet, Self::Cidr)
            | (Self::Cidr, Self::Inet)
            | (Self::MacAddress, Self::MacAddress8)
            | (Self::MacAddress8, Self::MacAddress) => true,
            _ => false,
        }
    }

    /// The key of a value in another type, to which [`casts_to`](Self::casts_to) casts it.
    ///
    /// # Errors
    /// If the other type does not have the value.
    pub fn cast(self, key: &[u8], target: Self) -> Result<Vec<u8>, KeyError> {
        let invalid = || InvalidKey(self.name());
        match (self, target) {
            (Self::Range(element), Self::Multirange(_)) => {
                let range = Range::of_key(element, key).ok_or_else(invalid)?;
                Ok(if range == Range::Empty { Vec::new() } else { key.to_vec() })
            }
            (Self::Inet, Self::Cidr) => Ok(network::Address::of_key(key).ok_or_else(invalid)?.network().key()),
            (Self::MacAddress, Self::MacAddress8) => Ok(network::extended(key).ok_or_else(invalid)?),
            (Self::MacAddress8, Self::MacAddress) => network::shortened(key).ok_or(KeyError::OutOfRange("macaddr8")),
            _ => Ok(key.to_vec()),
        }
    }

    /// The text of the address with this binary form; `None` if the bytes are not one, or this is a type of ranges.
    pub(crate) fn text_of_address(self, bytes: &[u8]) -> Option<String> {
        let key = match self {
            Self::Inet => network::Address::of_binary(bytes)?.key(),
            Self::Cidr => network::Address::of_binary(bytes).filter(network::Address::is_network)?.key(),
            Self::MacAddress | Self::MacAddress8 => {
                Some(bytes.to_vec()).filter(|_| bytes.len() == self.size() as usize)?
            }
            Self::Range(_) | Self::Multirange(_) => return None,
        };
        let mut out = Vec::new();
        self.write_text(&key, TextStyle::default(), &mut out).ok()?;
        String::from_utf8(out).ok()
    }

    /// Appends the binary form of the value with this key (PostgreSQL's `…_send`).
    ///
    /// # Errors
    /// If the bytes are not a key.
    pub(crate) fn write_binary(self, key: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidKey> {
        let invalid = || InvalidKey(self.name());
        match self {
            Self::Range(element) => Range::of_key(element, key).ok_or_else(invalid)?.write_binary(element, out),
            Self::Multirange(element) => {
                let ranges = Range::all_of_key(element, key).ok_or_else(invalid)?;
                out.extend_from_slice(&(ranges.len() as u32).to_be_bytes());
                for range in ranges {
                    let start = out.len();
                    out.extend_from_slice(&[0; 4]);
                    range.write_binary(element, out);
                    let length = (out.len() - start - 4) as u32;
                    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
                }
            }
            Self::Inet => network::Address::of_key(key).ok_or_else(invalid)?.write_binary(false, out),
            Self::Cidr => network::Address::of_key(key).ok_or_else(invalid)?.write_binary(true, out),
            Self::MacAddress | Self::MacAddress8 => out.extend_from_slice(self.device(key)?),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
