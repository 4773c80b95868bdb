//! Reads the intervals of ISO 8601, which the engine does not read.

/// The units of an interval: their letters, whether they are behind T, and the engine's words.
const UNITS: [(char, bool, &str); 7] = [
    ('Y', false, "years"),
    ('M', false, "months"),
    ('W', false, "weeks"),
    ('D', false, "days"),
    ('H', true, "hours"),
    ('M', true, "minutes"),
    ('S', true, "seconds"),
];

/// The engine's text of an interval such as `P1Y2M-3DT4H5M6.7S`; `None` for any other text.
pub fn from_iso_8601(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix('P')?;
    let (mut parts, mut is_time) = (Vec::new(), false);
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix('T').filter(|time| !is_time && !time.is_empty()) {
            (rest, is_time) = (time, true);
        }
        let (number, behind) = rest.split_at(rest.find(|c: char| c.is_ascii_alphabetic())?);
        let letter = behind.chars().next()?;
        let (_, _, word) = UNITS.iter().find(|unit| (unit.0, unit.1) == (letter, is_time))?;
        let digits = number.strip_prefix(['-', '+']).unwrap_or(number);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        // The engine's months and years of a fraction are not PostgreSQL's.
        let is_allowed = fraction.is_empty() || !matches!(*word, "years" | "months");
        let is_number = !whole.is_empty() && (whole.bytes().chain(fraction.bytes())).all(|b| b.is_ascii_digit());
        if !is_number || !is_allowed {
            return None;
        }
        parts.push(format!("{number} {word}"));
        rest = &behind[1..];
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_iso_8601() {
        for (given, expected) in [
            ("P1Y2M3DT4H5M6.7S", Some("1 years 2 months 3 days 4 hours 5 minutes 6.7 seconds")),
            ("P-1Y-2MT-0.000001S", Some("-1 years -2 months -0.000001 seconds")),
            ("P2W", Some("2 weeks")),
            ("P1.5D", Some("1.5 days")),
            ("PT0S", Some("0 seconds")),
            ("P", None),
            ("PT", None),
            ("P1DT", None),
            ("P1", None),
            ("PY", None),
            ("P1.5Y", None),
            ("P1H", None),
            ("PT1TS", None),
            ("P1-2", None),
            ("P--1D", None),
            ("p1d", None),
            ("1 day", None),
            ("P1é", None),
        ] {
            assert_eq!(from_iso_8601(given).as_deref(), expected, "{given}");
        }
    }
}
