//! Times with units, as PostgreSQL reads and shows them (guc.c: `parse_int`, `convert_to_base_unit` and
//! `convert_int_from_base_unit`, for settings in milliseconds).

/// The units with their milliseconds, the largest first.
const UNITS: [(&str, f64); 6] =
    [("d", 86_400_000.0), ("h", 3_600_000.0), ("min", 60_000.0), ("s", 1000.0), ("ms", 1.0), ("us", 0.001)];

/// The milliseconds of a time: a number, which may have a fraction, and a unit. Without a unit it is in milliseconds.
///
/// `None` for another text, and for a time that is negative or longer than 2^31 - 1 ms.
pub fn parse(text: &str) -> Option<u32> {
    let (number, rest) = number(text)?;
    let time = match rest.trim_matches(is_space) {
        "" => number,
        unit => {
            let at = UNITS.iter().position(|(name, _)| *name == unit)?;
            let time = number * UNITS[at].1;
            // A fraction is rounded to the next smaller unit.
            UNITS.get(at + 1).map_or(time, |(_, smaller)| (time / smaller).round_ties_even() * smaller)
        }
    };
    let time = time.round_ties_even();
    (0.0..=f64::from(i32::MAX)).contains(&time).then_some(time as u32)
}

/// The text of a time in the largest unit in which it is a whole number, as SHOW gives it.
pub fn shown(milliseconds: u32) -> String {
    if milliseconds == 0 {
        return "0".to_owned();
    }
    let whole = |(_, unit): &&(&str, f64)| *unit >= 1.0 && f64::from(milliseconds) % unit == 0.0;
    let (name, unit) = UNITS.iter().find(whole).unwrap_or(&("ms", 1.0));
    format!("{}{name}", f64::from(milliseconds) / unit)
}

/// The number at the beginning of a text, and the rest. A whole number is read like C's `strtol` with base 0, so it may
/// be hexadecimal or octal. Other numbers are decimal. They begin with a digit, or with a point that is the text's
/// first character, where `strtol` stops.
fn number(text: &str) -> Option<(f64, &str)> {
    let trimmed = text.trim_start_matches(is_space);
    let unsigned = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    let (radix, digits) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', next, ..] if next.is_ascii_hexdigit() => (16, &unsigned[2..]),
        [b'0', ..] => (8, unsigned),
        _ => (10, unsigned),
    };
    let (whole, rest) = digits.split_at(digits.bytes().take_while(|byte| char::from(*byte).is_digit(radix)).count());
    let is_decimal =
        radix < 16 && rest.starts_with(['.', 'e', 'E']) && (!whole.is_empty() || unsigned.len() == text.len());
    let (number, rest) = if is_decimal {
        let (decimal, rest) = unsigned.split_at(decimal_length(unsigned));
        (decimal.parse().ok().filter(|number: &f64| number.is_finite())?, rest)
    } else {
        (i64::from_str_radix(whole, radix).ok()? as f64, rest)
    };
    Some((if trimmed.starts_with('-') { -number } else { number }, rest))
}

/// The number of bytes of a decimal number with an optional fraction and an optional exponent.
fn decimal_length(text: &str) -> usize {
    let digits = |at: usize| at + text[at..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    if text[end..].starts_with('.') {
        end = digits(end + 1);
    }
    if let Some(exponent) = text[end..].strip_prefix(['e', 'E']) {
        let first = text.len() - exponent.strip_prefix(['+', '-']).unwrap_or(exponent).len();
        let last = digits(first);
        if last > first {
            end = last;
        }
    }
    end
}

/// C's `isspace`.
fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t'..='\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PostgreSQL's answers: `tests/serve/test_setting_times.py` compares these texts and others with a server.
    #[test]
    fn times_are_read_as_in_postgresql() {
        for (text, milliseconds) in [
            ("250", 250),
            (" 5s ", 5000),
            ("2 min", 120_000),
            ("1h", 3_600_000),
            ("0", 0),
            ("0s", 0),
            ("150.0", 150),
            (" 150\t", 150),
            ("1.5s", 1500),
            ("1e3", 1000),
            ("1e3us", 1),
            ("2.5", 2),
            ("3.5", 4),
            (".5 min", 30_000),
            ("1.", 1),
            ("+7", 7),
            ("-0", 0),
            ("-0.4", 0),
            ("0x1F", 31),
            ("010", 8),
            ("010.5s", 10_500),
            ("24d", 2_073_600_000),
            ("2147483647", i32::MAX as u32),
            ("2147483647.4", i32::MAX as u32),
        ] {
            assert_eq!(parse(text), Some(milliseconds), "{text:?}");
        }
        let refused = [
            "",
            " ",
            " .5",
            "-.5",
            "-1",
            "x",
            "5 S",
            "5 s x",
            "1e",
            "08",
            "1e400",
            "inf",
            "nan",
            "2147483648",
            "25d",
            ".",
        ];
        for text in refused.into_iter().chain(["99999999999999999999", "-1us s", "1 000", "1_0", "0x", "1,5s", "é"]) {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn times_are_shown_as_in_postgresql() {
        for (milliseconds, text) in
            [(0, "0"), (1, "1ms"), (1500, "1500ms"), (2000, "2s"), (120_000, "2min"), (86_400_000, "1d")]
        {
            assert_eq!(shown(milliseconds), text);
            assert_eq!(parse(text), Some(milliseconds));
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_shown_is_read_as_the_same_time(milliseconds in 0..=i32::MAX as u32) {
            assert_eq!(parse(&shown(milliseconds)), Some(milliseconds));
        }

        #[test]
        fn arbitrary_texts_never_panic(text in "[-+0-9.eExa-f smin\u{e9}]{0,12}") {
            let _ = parse(&text);
        }
    }
}
