//! Time zones, by the version of IANA's database at the time of the build.

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

    /// The zone of a SET: as for [`Zone::named`], or an offset of whole hours such as `+02:00`. As in PostgreSQL, and POSIX,
    /// such an offset counts to the west.
    pub fn of_setting(value: &str) -> Option<Self> {
        Self::named(value).or_else(|| {
            let (hours, rest) = value.split_once(':')?;
            let is_offset = hours.starts_with(['+', '-']) && matches!(rest, "00" | "00:00");
            let west: i8 = hours.parse().ok().filter(|_| is_offset)?;
            Self::named(&west.checked_neg()?.to_string())
        })
    }

    /// The zone of an Arrow column: a name, or an offset such as `+05:30`. An unknown zone is UTC.
    pub fn of_arrow(name: &str) -> Self {
        Self::named(name).or_else(|| Self::parse_offset(name)).unwrap_or(Self::UTC)
    }

    fn parse_offset(text: &str) -> Option<Self> {
        let (sign, text) = match text.strip_prefix('-') {
            Some(text) => (-1, text),
            None => (1, text.strip_prefix('+')?),
        };
        let (hours, minutes) = text.split_once(':')?;
        let seconds = hours.parse::<i32>().ok()?.checked_mul(3600)?.checked_add(minutes.parse::<i32>().ok()? * 60)?;
        Some(Self(TimeZone::fixed(Offset::from_seconds(sign * seconds).ok()?)))
    }

    /// IANA's name of the zone.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
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
        let set = |value| Zone::of_setting(value).map(|zone| zone.name().to_owned());
        for (value, expected) in
            [("+02:00", "Etc/GMT+2"), ("-05:00:00", "Etc/GMT-5"), ("+00:00", "UTC"), ("2", "Etc/GMT-2")]
        {
            assert_eq!(set(value).as_deref(), Some(expected));
        }
        for other in ["02:00", "+05:30", "+02:00:01", "+99:00", "-:00", ":"] {
            assert_eq!(set(other), None);
        }
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
