//! Texts of dates and times in the engine's form.

use std::borrow::Cow;

use super::SPACE;

/// The date in a text that may also have a time or a zone, which PostgreSQL's `date_in` ignores.
pub(super) fn without_time(text: &str) -> Cow<'_, str> {
    let Some((date, rest)) = text.split_once([' ', 'T']) else { return Cow::from(text) };
    let is_time = rest.starts_with(|c: char| c.is_ascii_digit() || c == '+' || c == '-');
    match (is_time, rest.ends_with(" BC")) {
        (true, true) => Cow::from(format!("{date} BC")),
        (true, false) => Cow::from(date),
        (false, _) => Cow::from(text),
    }
}

/// Changes `0044-03-15 BC` to the engine's form, `0044-03-15 (BC)`.
pub(super) fn with_engine_era(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.strip_suffix(" BC") {
        Some(date) => Cow::from(format!("{date} (BC)")),
        None => text,
    }
}

/// A timestamp in the engine's form, with or without its zone. The era is after the date.
pub(super) fn timestamp(text: &str, zoned: bool) -> Cow<'_, str> {
    let (body, is_bc) = text.strip_suffix(" BC").map_or((text, false), |body| (body, true));
    let body = if zoned { body } else { without_zone(body) };
    let body = if zoned { with_engine_offset(body) } else { Cow::from(body) };
    match body.split_once([' ', 'T']).filter(|_| is_bc) {
        Some((date, time)) => Cow::from(format!("{date} (BC) {time}")),
        None if is_bc => Cow::from(format!("{body} (BC)")),
        None => body,
    }
}

/// A time with its offset in the engine's form: directly after the time, because after a space the engine expects the name
/// of a zone, and with two digits of hours.
fn with_engine_offset(text: &str) -> Cow<'_, str> {
    let Some((time, offset)) = split_offset(text) else { return Cow::from(text) };
    let (sign, digits) = offset.split_at(1);
    let hours = digits.split(':').next().unwrap_or(digits);
    if hours.len() == 1 {
        return Cow::from(format!("{time}{sign}0{digits}"));
    }
    if time.len() + offset.len() == text.len() { Cow::from(text) } else { Cow::from(format!("{time}{offset}")) }
}

/// A time, without the spaces at its end, and its offset with the sign.
fn split_offset(text: &str) -> Option<(&str, &str)> {
    let colon = text.find(':')?;
    let (time, offset) = text.split_at(colon + text[colon..].find(['+', '-'])?);
    Some((time.trim_end_matches(SPACE), offset))
}

/// A time with a zone in the engine's form, which has seconds.
pub(super) fn time_with_zone(text: &str) -> Cow<'_, str> {
    match split_offset(text) {
        Some((time, offset)) if time.matches(':').count() == 1 => {
            Cow::from(with_engine_offset(&format!("{time}:00{offset}")).into_owned())
        }
        _ => with_engine_offset(text),
    }
}

/// The time without an offset or Z at its end.
pub(super) fn without_zone(text: &str) -> &str {
    let Some(colon) = text.find(':') else { return text };
    match text[colon..].find(['+', '-', 'Z', 'z']) {
        Some(at) => text[..colon + at].trim_end_matches(SPACE),
        None => text,
    }
}
