#![allow(clippy::unwrap_used, clippy::panic)]

use arrow_buffer::i256;
use proptest::prelude::*;

use super::*;

/// Captured from PostgreSQL 15: `select (…)::numeric` in binary, and its text.
const CAPTURED: [(&str, &str); 20] = [
    ("0", "0000000000000000"),
    ("1", "00010000000000000001"),
    ("-1", "00010000400000000001"),
    ("10000", "00010001000000000001"),
    ("0.5", "0001ffff000000011388"),
    ("123456.78", "0003000100000002000c0d801e78"),
    ("-999999999.999", "00040002400000030009270f270f2706"),
    ("0.001", "0001ffff00000003000a"),
    ("99999999999999999999999999999999999999", "000a0009000000000063270f270f270f270f270f270f270f270f270f"),
    ("-0.99999999999999999999999999999999999999", "000affff40000026270f270f270f270f270f270f270f270f270f26ac"),
    ("100000000000000000000", "00010005000000000001"),
    ("1.10", "0002000000000002000103e8"),
    ("0.0000000001", "0001fffd0000000a0064"),
    ("1234567890123.45", "0005000300000002000109291a85007b1194"),
    ("NaN", "00000000c0000000"),
    ("Infinity", "00000000d0000020"),
    ("-Infinity", "00000000f0000020"),
    ("100000000", "00010002000000000001"),
    ("0.00", "0000000000000002"),
    ("12000000000000000000000000000000", "000100070000000004b0"),
];

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn text(value: &[u8]) -> Option<String> {
    let mut text = Vec::new();
    write_text(value, &mut text).ok()?;
    Some(String::from_utf8(text).unwrap())
}

/// A finite number's digits with `scale` of them behind the point, as an integer; `None` if there are more.
fn scaled(text: &str, scale: usize) -> Option<i256> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > scale {
        return None;
    }
    i256::from_string(&format!("{whole}{fraction:0<scale$}"))
}

/// The value as a column of these digits holds it, by the short way if there is one.
fn decimal(value: &[u8], precision: u8, scale: u8) -> Result<i256, ValueFault> {
    let decimal = Decimal::new(precision, scale);
    let wide = decimal.wide(value).map(i256::from_le_bytes);
    if let Some(short) = decimal.short(value) {
        assert_eq!(i256::from_i128(short), *wide.as_ref().unwrap());
    }
    wide
}

#[test]
fn text_is_the_servers() {
    for (expected, hex) in CAPTURED {
        assert_eq!(text(&bytes(hex)).unwrap(), expected);
    }
}

#[test]
fn decimals_are_the_servers() {
    for (expected, hex) in CAPTURED {
        for (precision, scale) in [(76, 38), (50, 10), (38, 0), (15, 2), (4, 4)] {
            let found = decimal(&bytes(hex), precision, scale);
            let limit = i256::from_i128(10).wrapping_pow(precision.into());
            let fits = scaled(expected, scale.into()).filter(|value| value.wrapping_abs() < limit);
            match (found, fits) {
                (Ok(found), Some(value)) => assert_eq!(found, value, "{expected} as ({precision},{scale})"),
                (Err(ValueFault::Refused("22003", _)), None) => {}
                (found, _) => panic!("{expected} as ({precision},{scale}): {found:?}"),
            }
        }
    }
}

#[test]
fn a_refusal_says_what_does_not_fit() {
    let why = |hex: &str, precision, scale| match decimal(&bytes(hex), precision, scale) {
        Err(ValueFault::Refused(_, why)) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(why("00010001000000000001", 5, 2), "a value has more than 3 digits before the decimal point");
    assert_eq!(why("0001ffff00000003000a", 5, 2), "a value has more than 2 digits after the decimal point");
    assert_eq!(why("00000000c0000000", 5, 2), "a decimal column cannot represent NaN and infinity");
}

#[test]
fn bytes_that_are_no_numeric_are_refused() {
    for hex in ["", "00", "0001000000000000", "000100000000000027", "00010000000000002710", "00000000100000000001"] {
        assert!(matches!(decimal(&bytes(hex), 15, 2), Err(ValueFault::Damaged)), "{hex}");
        assert_eq!(text(&bytes(hex)), None);
    }
}

/// As the server would send it.
fn sent(units: i128, scale: u32) -> Vec<u8> {
    let excess = (4 - scale % 4) % 4;
    let mut rest = units.unsigned_abs() * 10u128.pow(excess);
    let mut digits = Vec::new();
    while rest > 0 {
        digits.insert(0, (rest % 10000) as u16);
        rest /= 10000;
    }
    let weight = digits.len() as i16 - 1 - scale.div_ceil(4) as i16;
    while digits.last() == Some(&0) {
        digits.pop();
    }
    let weight = if digits.is_empty() { 0 } else { weight };
    let sign = if units < 0 { NEGATIVE } else { POSITIVE };
    let numbers = [digits.len() as u16, weight as u16, sign, scale as u16];
    numbers.iter().chain(&digits).flat_map(|number| number.to_be_bytes()).collect()
}

proptest! {
    #[test]
    fn decimals_come_back(units in -(10i128.pow(30))..10i128.pow(30), scale in 0u32..20) {
        let value = sent(units, scale);
        prop_assert_eq!(decimal(&value, 38, scale as u8).unwrap(), i256::from_i128(units));
        prop_assert_eq!(scaled(&text(&value).unwrap(), scale as usize), Some(i256::from_i128(units)));
    }

    #[test]
    fn no_bytes_panic(value in prop::collection::vec(any::<u8>(), 0..40), precision in 1u8..=76, scale in 0u8..=76) {
        let _ = text(&value);
        let decimal = Decimal::new(precision, scale.min(precision));
        let wide = decimal.wide(&value);
        if let Some(short) = decimal.short(&value) {
            prop_assert_eq!(i256::from_i128(short), i256::from_le_bytes(wide.unwrap()));
        }
    }
}
