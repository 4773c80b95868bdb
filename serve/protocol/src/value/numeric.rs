//! PostgreSQL's binary form of NUMERIC (`numeric_send`).

use super::ValueError;

const FORMAT: &str = "FORMAT binary";

/// The sign of a negative NUMERIC.
const NEGATIVE: u16 = 0x4000;
/// The base of a NUMERIC's digits. Each has four decimal digits.
const BASE: u64 = 10_000;
const BASE_DIGITS: usize = 4;

/// The number of zeros that align the decimal point with a border of base-10000 digits, and the number of these digits
/// after the point.
fn alignment(scale: i8) -> (usize, usize) {
    let shown = usize::from(u8::try_from(scale).unwrap_or(0));
    let padding = (BASE_DIGITS - shown % BASE_DIGITS) % BASE_DIGITS;
    (padding + usize::from((-i16::from(scale)).max(0).unsigned_abs()), shown.div_ceil(BASE_DIGITS))
}

/// Appends an integer × 10^−scale as a NUMERIC.
pub(super) fn numeric(value: i128, scale: i8, out: &mut Vec<u8>) -> Result<(), ValueError> {
    /// The maximum number of base-10000 digits of 64 bits.
    const MAX_GROUPS: usize = 5;
    let (padding, fraction_groups) = alignment(scale);
    let factor = 10u64.checked_pow(padding as u32);
    let aligned = u64::try_from(value.unsigned_abs()).ok().zip(factor).and_then(|(value, by)| value.checked_mul(by));
    let Some(mut rest) = aligned else {
        return numeric_from_digits(value.to_string().as_bytes(), scale, out);
    };
    let mut groups = [0; MAX_GROUPS];
    let mut first = MAX_GROUPS;
    while rest > 0 {
        first -= 1;
        (groups[first], rest) = ((rest % BASE) as u16, rest / BASE);
    }
    send_numeric(&groups[first..], fraction_groups, if value < 0 { NEGATIVE } else { 0 }, scale.into(), out)
}

/// Appends decimal digits × 10^−scale, with an optional minus before the digits, as a NUMERIC.
pub(super) fn numeric_from_digits(text: &[u8], scale: i8, out: &mut Vec<u8>) -> Result<(), ValueError> {
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (NEGATIVE, digits),
        digits => (0, digits),
    };
    let (padding, fraction_groups) = alignment(scale);
    let mut digits = digits.to_vec();
    digits.resize(digits.len() + padding, b'0');
    let group = |group: &[u8]| group.iter().fold(0, |value, digit| value * 10 + u16::from(digit - b'0'));
    let groups: Vec<u16> = digits.rchunks(BASE_DIGITS).rev().map(group).collect();
    send_numeric(&groups, fraction_groups, sign, scale.into(), out)
}

/// What PostgreSQL sends as the scale of an infinite number.
const INFINITY_SCALE: u16 = 32;

/// Appends the NUMERIC with this text form.
pub(super) fn numeric_from_text(text: &str, out: &mut Vec<u8>) -> Result<(), ValueError> {
    let (sign, digits) = text.strip_prefix('-').map_or((0, text), |digits| (NEGATIVE, digits));
    let special = match (digits, sign) {
        ("NaN", _) => Some([0xc000, 0]),
        ("Infinity", 0) => Some([0xd000, INFINITY_SCALE]),
        ("Infinity", _) => Some([0xf000, INFINITY_SCALE]),
        _ => None,
    };
    if let Some([sign, scale]) = special {
        out.extend([0u16, 0, sign, scale].iter().flat_map(|part| part.to_be_bytes()));
        return Ok(());
    }
    let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
    let too_large = ValueError::TooLarge { format: FORMAT };
    let digits = [before.as_bytes(), after.as_bytes()].concat();
    let (Ok(scale), true) = (i16::try_from(after.len()), digits.iter().all(u8::is_ascii_digit)) else {
        return Err(too_large);
    };
    let padding = (BASE_DIGITS - after.len() % BASE_DIGITS) % BASE_DIGITS;
    let digits = [digits, vec![b'0'; padding]].concat();
    let group = |group: &[u8]| group.iter().fold(0, |value, digit| value * 10 + u16::from(digit - b'0'));
    let groups: Vec<u16> = digits.rchunks(BASE_DIGITS).rev().map(group).collect();
    send_numeric(&groups, after.len().div_ceil(BASE_DIGITS), sign, scale, out)
}

/// Appends base-10000 digits without zeros around them, the weight of the first one, a sign, and the number of decimal
/// digits to show (PostgreSQL's `numeric_send`). `fraction_groups` is the number of `groups` after the point.
fn send_numeric(
    groups: &[u16],
    fraction_groups: usize,
    sign: u16,
    scale: i16,
    out: &mut Vec<u8>,
) -> Result<(), ValueError> {
    let leading = groups.iter().take_while(|&&group| group == 0).count();
    let weight = groups.len() as i64 - fraction_groups as i64 - 1 - leading as i64;
    let groups = &groups[leading..];
    let trailing = groups.iter().rev().take_while(|&&group| group == 0).count();
    let kept = &groups[..groups.len() - trailing];
    let (weight, sign) = if kept.is_empty() { (0, 0) } else { (weight, sign) };
    let too_large = |_| ValueError::TooLarge { format: FORMAT };
    out.extend_from_slice(&i16::try_from(kept.len()).map_err(too_large)?.to_be_bytes());
    out.extend_from_slice(&i16::try_from(weight).map_err(too_large)?.to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&scale.max(0).to_be_bytes());
    kept.iter().for_each(|group| out.extend_from_slice(&group.to_be_bytes()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_from_text_and_from_integers_are_equal() {
        let of = |text: &str| {
            let mut out = Vec::new();
            numeric_from_text(text, &mut out).map(|()| out)
        };
        for (text, value, scale) in
            [("-12345.678", -12_345_678, 3), ("0.00", 0, 2), ("10000", 10_000, 0), ("7.0000", 70_000, 4)]
        {
            let mut out = Vec::new();
            numeric(value, scale, &mut out).unwrap();
            assert_eq!(of(text).unwrap(), out, "{text}");
        }
        assert_eq!(of("NaN").unwrap(), [0, 0, 0, 0, 0xc0, 0, 0, 0]);
        assert_eq!(of("-Infinity").unwrap(), [0, 0, 0, 0, 0xf0, 0, 0, 32]);
        assert!(of("1e5").is_err() && of(&format!("0.{}", "1".repeat(40_000))).is_err());
    }

    fn numeric_of(value: i128, scale: i8) -> Vec<i16> {
        let mut out = Vec::new();
        numeric(value, scale, &mut out).unwrap();
        let mut from_digits = Vec::new();
        numeric_from_digits(value.to_string().as_bytes(), scale, &mut from_digits).unwrap();
        assert_eq!(out, from_digits);
        out.chunks(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]])).collect()
    }

    #[test]
    fn numerics_as_postgresql_sends_them() {
        // ndigits, weight, sign, dscale, digits; taken from PostgreSQL 15: select numeric_send(x).
        assert_eq!(numeric_of(0, 2), [0, 0, 0, 2]);
        assert_eq!(numeric_of(150, 2), [2, 0, 0, 2, 1, 5000]);
        assert_eq!(numeric_of(-12_345_678, 3), [3, 1, 0x4000, 3, 1, 2345, 6780]);
        assert_eq!(numeric_of(10_000, 0), [1, 1, 0, 0, 1]);
        assert_eq!(numeric_of(5, 9), [1, -3, 0, 9, 5000 / 100 * 100]);
        assert_eq!(numeric_of(15, -3), [2, 1, 0, 0, 1, 5000]);
        assert_eq!(numeric_of(i128::MAX, 0)[..4], [10, 9, 0, 0]);
    }
}
