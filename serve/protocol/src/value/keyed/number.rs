//! Keys of numerics: the sign, the place of the first digit, the digits. Zeros around the digits are not a part, because
//! they do not change the number.

use std::ops::Range;

/// The first byte of a key.
const NEGATIVE_INFINITY: u8 = 0x10;
const NEGATIVE: u8 = 0x20;
const ZERO: u8 = 0x30;
const POSITIVE: u8 = 0x40;
const INFINITY: u8 = 0x50;
/// PostgreSQL's NaN is above all numbers.
const NAN: u8 = 0x60;

/// Behind the digits, of which `d` is stored as `d + 1`.
const END: u8 = 0;
/// The digits of PostgreSQL's numerics: before the point, and behind it (manual, §8.1.2).
const WHOLE_DIGITS: i64 = 131_072;
const FRACTION_DIGITS: i64 = 16_383;

/// The key of a number; `None` if the text is not one, or has too many digits.
pub(in crate::value) fn parse(text: &str) -> Option<Vec<u8>> {
    let (is_negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.eq_ignore_ascii_case("nan") {
        return Some(vec![NAN]);
    }
    if digits.eq_ignore_ascii_case("infinity") || digits.eq_ignore_ascii_case("inf") {
        return Some(vec![if is_negative { NEGATIVE_INFINITY } else { INFINITY }]);
    }
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?.into()),
        None => (digits, 0i64),
    };
    let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [before, behind].concat();
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let leading = all.bytes().take_while(|byte| *byte == b'0').count();
    let kept = all[leading..].trim_end_matches('0');
    if kept.is_empty() {
        return Some(vec![ZERO]);
    }
    // The power of ten of which the number is a fraction below 1.
    let point = before.len() as i64 + exponent - leading as i64;
    if point > WHOLE_DIGITS || kept.len() as i64 - point > FRACTION_DIGITS {
        return None;
    }
    let mut key = vec![POSITIVE];
    key.extend_from_slice(&((point as i32) ^ i32::MIN).to_be_bytes());
    key.extend(kept.bytes().map(|digit| digit - b'0' + 1));
    key.push(END);
    if is_negative {
        key[0] = NEGATIVE;
        key[1..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Some(key)
}

/// Where the key at the beginning of these bytes ends.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    let end = match *bytes.first()? {
        POSITIVE => END,
        NEGATIVE => !END,
        NEGATIVE_INFINITY | ZERO | INFINITY | NAN => return Some(1),
        _ => return None,
    };
    const DIGITS: usize = 5;
    let digits = bytes.get(DIGITS..)?;
    Some(DIGITS + digits.iter().position(|byte| *byte == end)? + 1)
}

/// The text of the number with this key.
pub(super) fn text(key: &[u8]) -> Option<String> {
    let sign = match *key.first()? {
        NEGATIVE_INFINITY => return Some("-Infinity".to_owned()),
        ZERO => return Some("0".to_owned()),
        INFINITY => return Some("Infinity".to_owned()),
        NAN => return Some("NaN".to_owned()),
        NEGATIVE => "-",
        _ => "",
    };
    let plain = |range: Range<usize>| {
        let bytes = key.get(range)?.iter();
        Some(bytes.map(|byte| if sign.is_empty() { *byte } else { !*byte }).collect::<Vec<_>>())
    };
    let point = i32::from_be_bytes(plain(1..5)?.try_into().ok()?) ^ i32::MIN;
    let digits = plain(5..key.len().checked_sub(1)?)?;
    let digits: Option<String> =
        digits.iter().map(|digit| Some(char::from(b'0' + digit.checked_sub(1).filter(|digit| *digit < 10)?))).collect();
    let digits = digits?;
    if !(-FRACTION_DIGITS..=WHOLE_DIGITS).contains(&point.into()) {
        return None;
    }
    let zeros = "0".repeat(point.unsigned_abs() as usize);
    Some(match usize::try_from(point) {
        Err(_) => format!("{sign}0.{zeros}{digits}"),
        Ok(0) => format!("{sign}0.{digits}"),
        Ok(point) if point >= digits.len() => format!("{sign}{digits}{}", "0".repeat(point - digits.len())),
        Ok(point) => format!("{sign}{}.{}", &digits[..point], &digits[point..]),
    })
}
