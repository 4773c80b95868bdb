//! The bounds of ranges: their keys, texts and binary forms.

use arrow_schema::TimeUnit;

use super::{KeyError, number};
use crate::value::{POSTGRES_EPOCH_DAYS, POSTGRES_EPOCH_MICROS, TextStyle, Zone, datetime, numeric, written_time};

/// The type of a range's bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PostgreSQL's")]
pub enum Element {
    Int4,
    Int8,
    Numeric,
    Date,
    Timestamp,
    TimestampTz,
}

const MICROS_PER_DAY: i64 = 86_400_000_000;

impl Element {
    /// The key of a bound's text. `range` is the name of the range's type.
    pub(super) fn parse(self, range: &'static str, text: &str) -> Result<Vec<u8>, KeyError> {
        let text = text.trim();
        let syntax = || KeyError::syntax(range, text);
        let out_of_range = || KeyError::OutOfRange(range);
        match self {
            Self::Int4 | Self::Int8 => {
                let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
                if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(syntax());
                }
                let value: i64 = text.parse().map_err(|_| out_of_range())?;
                self.key(value).ok_or_else(out_of_range)
            }
            Self::Numeric => number::parse(text).ok_or_else(syntax),
            Self::Date | Self::Timestamp | Self::TimestampTz => {
                if let Some(is_positive) = infinity(text) {
                    return Ok(self.infinite(is_positive));
                }
                let found = written_time::parse(text).ok_or_else(syntax)?;
                let micros = match (self, found.seconds_east) {
                    (Self::Date, _) => return self.key(found.days).ok_or_else(out_of_range),
                    (Self::TimestampTz, None) => return Err(KeyError::NoOffset(range)),
                    (Self::TimestampTz, Some(east)) => found.micros - east * 1_000_000,
                    _ => found.micros,
                };
                let whole = found.days.checked_mul(MICROS_PER_DAY).and_then(|days| days.checked_add(micros));
                whole.and_then(|micros| self.key(micros)).ok_or_else(out_of_range)
            }
        }
    }

    /// The key of a number: an integer, days or microseconds since 1970. `None` if the type does not have it.
    fn key(self, value: i64) -> Option<Vec<u8>> {
        let is_finite = |most: i64| value.unsigned_abs() < most.unsigned_abs();
        match self {
            Self::Int4 => Some(((i32::try_from(value).ok()?) ^ i32::MIN).to_be_bytes().to_vec()),
            // The largest numbers are infinite.
            Self::Date if !is_finite(i32::MAX.into()) => None,
            Self::Date => Some(((value as i32) ^ i32::MIN).to_be_bytes().to_vec()),
            Self::Timestamp | Self::TimestampTz if !is_finite(i64::MAX) => None,
            _ => Some((value ^ i64::MIN).to_be_bytes().to_vec()),
        }
    }

    /// The number of a key, as DuckDB and Arrow have it: their infinite dates and times are ±MAX. `None` for numerics.
    pub(super) fn number(self, key: &[u8]) -> Option<i64> {
        let value = self.value(key).filter(|_| self != Self::Numeric)?;
        Some(match self {
            Self::Date => value.max(-i64::from(i32::MAX)),
            Self::Timestamp | Self::TimestampTz => value.max(-i64::MAX),
            _ => value,
        })
    }

    /// The reverse of [`number`](Self::number).
    pub(super) fn key_of_number(self, value: i64) -> Vec<u8> {
        self.key(value).unwrap_or_else(|| self.infinite(value > 0))
    }

    fn infinite(self, is_positive: bool) -> Vec<u8> {
        let length = if self == Self::Date { 4 } else { 8 };
        vec![if is_positive { 0xff } else { 0 }; length]
    }

    fn value(self, key: &[u8]) -> Option<i64> {
        match self {
            Self::Int4 | Self::Date => Some((i32::from_be_bytes(key.try_into().ok()?) ^ i32::MIN).into()),
            _ => Some(i64::from_be_bytes(key.try_into().ok()?) ^ i64::MIN),
        }
    }

    /// Where the key at the beginning of these bytes ends.
    pub(super) fn length(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Int4 | Self::Date => Some(4),
            Self::Numeric => number::length(bytes),
            _ => Some(8),
        }
    }

    /// Whether each value but the largest has a next one, so that ranges have one form: `[1,3]` is `[1,4)`.
    pub(super) fn is_discrete(self) -> bool {
        matches!(self, Self::Int4 | Self::Int8 | Self::Date)
    }

    /// The key of the next value. An infinite one is its own. `None` behind the largest value.
    pub(super) fn next(self, key: &[u8]) -> Option<Vec<u8>> {
        if self == Self::Date && (key == self.infinite(true) || key == self.infinite(false)) {
            return Some(key.to_vec());
        }
        self.key(self.value(key)?.checked_add(1)?)
    }

    /// The text of a bound.
    pub(super) fn text(self, key: &[u8], style: TextStyle) -> String {
        // `Range::of_key` has checked the key.
        let value = self.value(key).unwrap_or_default();
        let mut out = Vec::new();
        match self {
            Self::Int4 | Self::Int8 => return value.to_string(),
            Self::Numeric => return number::text(key).unwrap_or_default(),
            Self::Date => datetime::date(value as i32, style.date, &mut out),
            Self::Timestamp => datetime::timestamp(value, TimeUnit::Microsecond, None, style.date, &mut out),
            Self::TimestampTz => {
                datetime::timestamp(value, TimeUnit::Microsecond, Some(&Zone::UTC), style.date, &mut out);
            }
        }
        String::from_utf8(out).unwrap_or_default()
    }

    /// Appends the length and the binary form of a bound.
    pub(super) fn write_binary(self, key: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        let value = self.value(key).unwrap_or_default();
        match self {
            Self::Int4 => out.extend_from_slice(&(value as i32).to_be_bytes()),
            Self::Int8 => out.extend_from_slice(&value.to_be_bytes()),
            // Its digits fit, because they came from a numeric of PostgreSQL's.
            Self::Numeric => drop(numeric::numeric_from_text(&number::text(key).unwrap_or_default(), out)),
            Self::Date => {
                let days = value as i32;
                let days = if datetime::is_infinite_date(days) { days } else { days - POSTGRES_EPOCH_DAYS };
                out.extend_from_slice(&days.to_be_bytes());
            }
            Self::Timestamp | Self::TimestampTz => {
                let is_infinite = datetime::is_infinite_timestamp(value);
                let micros = if is_infinite { value } else { value.saturating_sub(POSTGRES_EPOCH_MICROS) };
                out.extend_from_slice(&micros.to_be_bytes());
            }
        }
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
}

fn infinity(text: &str) -> Option<bool> {
    let (is_positive, word) = match text.strip_prefix('-') {
        Some(word) => (false, word),
        None => (true, text.strip_prefix('+').unwrap_or(text)),
    };
    word.eq_ignore_ascii_case("infinity").then_some(is_positive)
}
