//! Time zones, by the version of IANA's database at the time of the build.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Zone(TimeZone);

/// The Gregorian calendar, with its days of the week, repeats after this number of seconds: 400 years. As PostgreSQL
/// (`pg_localtime` in its `localtime.c`), years beyond the table of rules have the rules of a year in the table.
const GREGORIAN_CYCLE: i64 = 146_097 * 86_400;

impl Zone {
    pub const UTC: Self = Self(TimeZone::UTC);

    /// The zone with this name, in any letter case, or with a whole number of hours east of Greenwich, as in `SET TIME
    /// ZONE 2`. The names `Etc/GMT±n` count hours to the west.
    pub fn named(name: &str) -> Option<Self> {
        let zone = match name.parse() {
            Ok(0i8) => "UTC",
            Ok(east) => &format!("Etc/GMT{:+}", -i16::from(east)),
            Err(_) => name,
        };
        TimeZone::get(zone).ok().map(Self)
    }

    /// The zone of a SET: as for [`Zone::named`], or one of POSIX without summer time, such as `-05:30`, `12:00`, `EST5` or
    /// `<+05:30>-05:30`. As in PostgreSQL, its offset counts to the west.
    pub fn of_setting(value: &str) -> Option<Self> {
        Self::named(value).or_else(|| {
            let (abbreviation, offset) = match value.strip_prefix('<') {
                Some(quoted) => quoted.split_once('>')?,
                None => value.split_at(value.find(|c: char| !c.is_ascii_alphabetic())?),
            };
            // An offset without an abbreviation is an extension of PostgreSQL. A number alone counts to the east.
            let is_offset = abbreviation.is_empty() && offset.contains(':');
            if abbreviation.len() < 3 && !is_offset {
                return None;
            }
            let (sign, west) = match offset.strip_prefix('-') {
                Some(west) => (1, west),
                None => (-1, offset.strip_prefix('+').unwrap_or(offset)),
            };
            Self::at(sign * seconds(west)?)
        })
    }

    /// The zone of an Arrow column: a name, or an offset such as `+05:30` or `GMT+05:30`. An unknown zone is UTC.
    pub fn of_arrow(name: &str) -> Self {
        Self::named(name).or_else(|| Self::parse_offset(name)).unwrap_or(Self::UTC)
    }

    fn parse_offset(text: &str) -> Option<Self> {
        let text = text.strip_prefix("GMT").unwrap_or(text);
        let (sign, text) = match text.strip_prefix('-') {
            Some(text) => (-1, text),
            None => (1, text.strip_prefix('+')?),
        };
        Self::at(sign * seconds(text).filter(|_| text.contains(':'))?)
    }

    /// The zone that is this number of seconds ahead of UTC: one of IANA's, if the hours are whole and it has one.
    fn at(east: i32) -> Option<Self> {
        let known = if east % 3600 == 0 { Self::named(&(east / 3600).to_string()) } else { None };
        known.or_else(|| Some(Self(TimeZone::fixed(Offset::from_seconds(east).ok()?))))
    }

    /// IANA's name of the zone, or one of POSIX, `<+05:30>-05:30`.
    pub fn name(&self) -> Cow<'_, str> {
        self.name_or(|offset| {
            let (east, west) = if offset.is_negative() { ('-', '+') } else { ('+', '-') };
            let time = clock(offset);
            format!("<{east}{time}>{west}{time}")
        })
    }

    /// The engine's name of the zone: IANA's, or one of ICU, `GMT+05:30`, which counts to the east.
    pub fn engine_name(&self) -> Cow<'_, str> {
        self.name_or(|offset| format!("GMT{}{}", if offset.is_negative() { '-' } else { '+' }, clock(offset)))
    }

    fn name_or(&self, of_offset: impl FnOnce(Offset) -> String) -> Cow<'_, str> {
        match (self.0.iana_name(), self.0.to_fixed_offset()) {
            (None, Ok(offset)) if !offset.is_zero() => Cow::Owned(of_offset(offset)),
            (name, _) => Cow::Borrowed(name.unwrap_or("UTC")),
        }
    }

    /// The seconds that local time is ahead of UTC, at `second` seconds after 1970-01-01.
    pub fn offset(&self, second: i64) -> i64 {
        self.known(second).map_or(0, |known| self.0.to_offset(known).seconds().into())
    }

    /// The abbreviation of the zone, such as `CET`, at `second` seconds after 1970-01-01.
    pub fn abbreviation(&self, second: i64) -> String {
        let known = self.known(second).unwrap_or(Timestamp::UNIX_EPOCH);
        self.0.to_offset_info(known).abbreviation().to_owned()
    }

    /// A second with the same rules, for which the zone is known.
    fn known(&self, second: i64) -> Option<Timestamp> {
        let (first, last) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
        let known = match second > last {
            true => second - ((second - last - 1) / GREGORIAN_CYCLE + 1) * GREGORIAN_CYCLE,
            // Before the first rule, local mean time applies.
            false => second.max(first),
        };
        Timestamp::from_second(known).ok()
    }
}

/// The seconds of `hh`, `hh:mm` or `hh:mm:ss`, of less than a day.
fn seconds(text: &str) -> Option<i32> {
    let mut total = 0;
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() > 3 {
        return None;
    }
    for (part, (unit, limit)) in parts.into_iter().zip([(3600, 24), (60, 60), (1, 60)]) {
        let is_number = matches!(part.len(), 1 | 2) && part.bytes().all(|byte| byte.is_ascii_digit());
        total += unit * part.parse::<i32>().ok().filter(|number| is_number && *number < limit)?;
    }
    Some(total)
}

/// The time of an offset, `hh:mm` or `hh:mm:ss`.
fn clock(offset: Offset) -> String {
    let seconds = offset.seconds().abs();
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if rest == 0 { format!("{hours:02}:{minutes:02}") } else { format!("{hours:02}:{minutes:02}:{rest:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_have_their_names_and_offsets() {
        let berlin = Zone::named("europe/BERLIN").unwrap();
        assert_eq!(berlin.name(), "Europe/Berlin");
        // Winter and summer of 2024 and of 12024, and local mean time in 1800, 50,000 years before 1970, and at the
        // minimum.
        let (winter, summer) = (1_704_067_200, 1_719_792_000);
        for (second, expected) in [
            (winter, 3600),
            (summer, 7200),
            (winter + 25 * GREGORIAN_CYCLE, 3600),
            (summer + 25 * GREGORIAN_CYCLE, 7200),
            (-5_364_662_400, 3208),
            (-125 * GREGORIAN_CYCLE, 3208),
            (i64::MIN, 3208),
        ] {
            assert_eq!(berlin.offset(second), expected, "{second}");
        }
        assert!([3600, 7200].contains(&berlin.offset(i64::MAX)));
        assert_eq!(Zone::named("utc").unwrap().name(), "UTC");
        assert_eq!(Zone::named("Nowhere"), None);
    }

    #[test]
    fn whole_hours_to_the_east_are_zones() {
        let hours = |name| Zone::named(name).map(|zone| zone.offset(0) / 3600);
        for (name, expected) in [("2", Some(2)), ("+14", Some(14)), ("-12", Some(-12)), ("0", Some(0)), ("-0", Some(0))]
        {
            assert_eq!(hours(name), expected, "{name}");
        }
        for unknown in ["15", "-13", "127", "-128", "128", "5.5", "+", " 2"] {
            assert_eq!(hours(unknown), None, "{unknown}");
        }
        assert_eq!(Zone::named("-3").unwrap().name(), "Etc/GMT+3");
        let set = |value| Zone::of_setting(value).map(|zone| zone.name().into_owned());
        for (value, expected) in [
            ("+02:00", "Etc/GMT+2"),
            ("-05:00:00", "Etc/GMT-5"),
            ("+00:00", "UTC"),
            ("2", "Etc/GMT-2"),
            ("12:00", "Etc/GMT+12"),
        ] {
            assert_eq!(set(value).as_deref(), Some(expected));
        }
        for other in ["+99:00", "-:00", ":", "1:2:3:4", "x5", "Nowhere", "+05:60", "<+05:30", "é:é", "12:+5"] {
            assert_eq!(set(other), None, "{other}");
        }
    }

    #[test]
    fn offsets_with_minutes_are_zones() {
        let set = |value: &str| {
            let zone = Zone::of_setting(value).unwrap();
            // The name that is shown sets the same zone, and a column with the engine's name has it.
            assert_eq!(Zone::of_setting(&zone.name()).unwrap().offset(0), zone.offset(0), "{value}");
            assert_eq!(Zone::of_arrow(&zone.engine_name()).offset(0), zone.offset(0), "{value}");
            (zone.offset(0), zone.name().into_owned(), zone.engine_name().into_owned())
        };
        let expected = |offset: i64, name: &str, engine: &str| (offset, name.to_owned(), engine.to_owned());
        assert_eq!(set("-07:08"), expected(25_680, "<+07:08>-07:08", "GMT+07:08"));
        assert_eq!(set("abc+01:02:03"), expected(-3723, "<-01:02:03>+01:02:03", "GMT-01:02:03"));
        assert_eq!(set("+15:00"), expected(-54_000, "<-15:00>+15:00", "GMT-15:00"));
        assert_eq!(set("NOSUCH0"), expected(0, "UTC", "UTC"));
        assert_eq!(set("GMT+7"), expected(-25_200, "Etc/GMT+7", "Etc/GMT+7"));
    }

    #[test]
    fn arrows_zones_may_be_offsets() {
        let offset = |name| Zone::of_arrow(name).offset(0);
        assert_eq!((offset("+05:30"), offset("-03:00"), offset("Asia/Tokyo")), (19_800, -10_800, 32_400));
        for unknown in ["Nowhere", "+", "+x:00", "+99:00", "+999999999:99", "", "é:é"] {
            assert_eq!(offset(unknown), 0, "{unknown}");
        }
    }
}
