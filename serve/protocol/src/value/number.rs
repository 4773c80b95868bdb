//! PostgreSQL's text forms of numbers.

use std::io::Write as _;

pub(super) fn integer(value: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a `float8`: the shortest digits that read back as the same number. The exponent form begins at 1e15 and
/// below 1e-4 (PostgreSQL's `d2s.c`).
pub(super) fn float64(value: f64, out: &mut Vec<u8>) {
    if !write_special(value, out) {
        write_float(&format!("{value:e}"), 15, out);
    }
}

/// Appends a `float4` in the same way. The exponent form begins at 1e6 (PostgreSQL's `f2s.c`).
pub(super) fn float32(value: f32, out: &mut Vec<u8>) {
    if !write_special(f64::from(value), out) {
        write_float(&format!("{value:e}"), 6, out);
    }
}

fn write_special(value: f64, out: &mut Vec<u8>) -> bool {
    let text: &[u8] = match value {
        _ if value.is_nan() => b"NaN",
        f64::INFINITY => b"Infinity",
        f64::NEG_INFINITY => b"-Infinity",
        _ => return false,
    };
    out.extend_from_slice(text);
    true
}

/// Converts Rust's shortest form, `-d.ddde±x`, to PostgreSQL's.
fn write_float(scientific: &str, exponent_from: i32, out: &mut Vec<u8>) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = match mantissa.strip_prefix('-') {
        Some(rest) => {
            out.push(b'-');
            rest
        }
        None => mantissa,
    };
    if !(-4..exponent_from).contains(&exponent) {
        out.extend_from_slice(digits.as_bytes());
        out.push(b'e');
        out.push(if exponent < 0 { b'-' } else { b'+' });
        // Writing to a Vec cannot fail.
        let _ = write!(out, "{:02}", exponent.unsigned_abs());
        return;
    }
    let digits: Vec<u8> = digits.bytes().filter(|&b| b != b'.').collect();
    // The digits stand for 0.ddd × 10^(exponent + 1).
    write_with_point(&digits, i64::from(exponent) + 1, out);
}

/// Appends `value` × 10^−`scale`.
#[inline]
pub(super) fn scaled(value: i128, scale: i8, out: &mut Vec<u8>) {
    // Most values fit into 64 bits, which are faster to format.
    let mut buffer = itoa::Buffer::new();
    let digits = match u64::try_from(value.unsigned_abs()) {
        Ok(value) => buffer.format(value),
        Err(_) => buffer.format(value.unsigned_abs()),
    };
    decimal(value < 0, digits, scale, out);
}

/// Appends a scaled integer with this sign and these digits.
pub(super) fn decimal(negative: bool, digits: &str, scale: i8, out: &mut Vec<u8>) {
    if negative {
        out.push(b'-');
    }
    let digits = digits.as_bytes();
    if scale <= 0 {
        out.extend_from_slice(digits);
        if digits != b"0" {
            out.resize(out.len() + usize::from(scale.unsigned_abs()), b'0');
        }
        return;
    }
    write_with_point(digits, digits.len() as i64 - i64::from(scale), out);
}

/// Appends 0.digits × 10^whole without an exponent.
fn write_with_point(digits: &[u8], whole: i64, out: &mut Vec<u8>) {
    let whole_digits = usize::try_from(whole).unwrap_or(0);
    if whole <= 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + usize::try_from(-whole).unwrap_or(0), b'0');
        out.extend_from_slice(digits);
    } else if whole_digits >= digits.len() {
        out.extend_from_slice(digits);
        out.resize(out.len() + whole_digits - digits.len(), b'0');
    } else {
        out.extend_from_slice(&digits[..whole_digits]);
        out.push(b'.');
        out.extend_from_slice(&digits[whole_digits..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_are_laid_out_as_in_postgresql() {
        // Taken from PostgreSQL 15: select x::float8.
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.3333333333333333"),
            (1e14, "100000000000000"),
            (123_456_789_012_345.6, "123456789012345.6"),
            (1e15, "1e+15"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-1.25e-7, "-1.25e-07"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(text(|out| float64(value, out)), expected);
        }
        for (value, expected) in [(100_000.0, "100000"), (1e6, "1e+06"), (0.1, "0.1"), (16_777_216.0, "1.6777216e+07")]
        {
            assert_eq!(text(|out| float32(value, out)), expected);
        }
    }

    #[test]
    fn decimals_keep_their_scale() {
        let decimal = |digits: &str, scale| text(|out| decimal(false, digits, scale, out));
        assert_eq!(decimal("0", 2), "0.00");
        assert_eq!(decimal("5", 2), "0.05");
        assert_eq!(decimal("150", 2), "1.50");
        assert_eq!(decimal("15", 0), "15");
        assert_eq!(decimal("15", -2), "1500");
        assert_eq!(decimal("0", -2), "0");
        assert_eq!(text(|out| super::decimal(true, "123456", 3, out)), "-123.456");
    }

    proptest::proptest! {
        #[test]
        fn floats_read_back_the_same(bits: u64) {
            let value = f64::from_bits(bits);
            let back: f64 = text(|out| float64(value, out)).parse().unwrap();
            proptest::prop_assert!(back == value || value.is_nan() && back.is_nan());
        }
    }
}
