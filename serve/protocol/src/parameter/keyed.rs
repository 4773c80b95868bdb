//! PostgreSQL's binary forms of the types that the engine lacks (`range_recv`, `multirange_recv`, `inet_recv`).

use super::{ParameterValue, from_binary};
use crate::value::keyed::{Element, KeyedType, flags, quoted};
use crate::value::oid;
use crate::value::types::Type;

/// The text of the value with this binary form; `None` if it is not one. The engine's cast reads the text.
pub(super) fn text(type_: KeyedType, bytes: &[u8]) -> Option<String> {
    match type_ {
        KeyedType::Range(element) => range(element, bytes),
        KeyedType::Multirange(element) => {
            let (count, mut rest) = bytes.split_first_chunk()?;
            let ranges = (0..u32::from_be_bytes(*count)).map(|_| range(element, sized(&mut rest)?));
            let ranges: Vec<_> = ranges.collect::<Option<_>>()?;
            rest.is_empty().then(|| format!("{{{}}}", ranges.join(",")))
        }
        KeyedType::Inet | KeyedType::Cidr | KeyedType::MacAddress | KeyedType::MacAddress8 => {
            type_.text_of_address(bytes)
        }
    }
}

fn range(element: Element, bytes: &[u8]) -> Option<String> {
    let (bits, mut rest) = bytes.split_first()?;
    let has = |flag: u8| bits & flag != 0;
    if has(flags::EMPTY) {
        return rest.is_empty().then(|| "empty".to_owned());
    }
    let type_ = Type::of_oid(oid_of(element))?;
    let mut bound = |is_infinite: bool| {
        if is_infinite {
            return Some(String::new());
        }
        match from_binary(&type_, sized(&mut rest)?) {
            Ok(ParameterValue::Text(text)) => Some(quoted(&text)),
            _ => None,
        }
    };
    let (lower, upper) = (bound(has(flags::LOWER_INFINITE))?, bound(has(flags::UPPER_INFINITE))?);
    let open = if has(flags::LOWER_INCLUSIVE) { '[' } else { '(' };
    let close = if has(flags::UPPER_INCLUSIVE) { ']' } else { ')' };
    rest.is_empty().then(|| format!("{open}{lower},{upper}{close}"))
}

/// The type of a range's bounds.
fn oid_of(element: Element) -> u32 {
    match element {
        Element::Int4 => oid::INT4,
        Element::Int8 => oid::INT8,
        Element::Numeric => oid::NUMERIC,
        Element::Date => oid::DATE,
        Element::Timestamp => oid::TIMESTAMP,
        Element::TimestampTz => oid::TIMESTAMPTZ,
    }
}

/// A value with its length before it.
fn sized<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk()?;
    let (value, after) = after.split_at_checked(usize::try_from(i32::from_be_bytes(*length)).ok()?)?;
    *rest = after;
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::TextStyle;

    #[test]
    fn binary_forms_give_the_same_text() {
        for (name, value) in [
            ("int4range", "[1,4)"),
            ("int8range", "(,5)"),
            ("numrange", "(-12345.678,Infinity]"),
            ("daterange", "[\"0044-03-15 BC\",infinity]"),
            ("tsrange", "[-infinity,\"2024-03-01 00:00:00.000001\"]"),
            ("tstzrange", "[\"2024-02-28 19:30:00+00\",)"),
            ("int4range", "empty"),
            ("int4multirange", "{[1,3),[5,)}"),
            ("datemultirange", "{}"),
            ("inet", "2001:db8::1/64"),
            ("cidr", "10.0.0.0/8"),
            ("macaddr8", "08:00:2b:ff:fe:01:02:03"),
        ] {
            let type_ = KeyedType::of_name(name).unwrap();
            let mut bytes = Vec::new();
            type_.write_binary(&type_.parse(value).unwrap(), &mut bytes).unwrap();
            // The engine's cast gives it the form in which it is shown.
            let key = type_.parse(&text(type_, &bytes).unwrap()).unwrap();
            let mut out = Vec::new();
            type_.write_text(&key, TextStyle::default(), &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), value);
            for length in 0..bytes.len() {
                assert_eq!(text(type_, &bytes[..length]), None, "{name} {length}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..60)) {
            for type_ in KeyedType::all() {
                let _ = text(type_, &bytes);
            }
        }
    }
}
