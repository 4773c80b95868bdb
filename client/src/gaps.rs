//! Values of Arrow that a destination cannot represent and would change silently.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, TimeUnit};

const DAY_SECONDS: i64 = 86_400;
/// Days from 0000-03-01 to 1970-01-01, and days of 400 years.
const EPOCH_DAYS: i128 = 719_468;
const ERA_DAYS: i128 = 146_097;

/// The values that a destination cannot represent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gaps {
    /// The time 24:00:00.
    pub midnight: bool,
    /// Dates and timestamps outside the years from the first to the second, including infinite ones; year 0 is 1 BC.
    pub years: Option<(i32, i32)>,
    /// Timestamps in seconds whose milliseconds exceed 64 bits.
    pub seconds: bool,
    /// Whether only values within lists, structs and maps are meant.
    pub only_nested: bool,
}

impl Gaps {
    /// Whether a column of this type may have such values.
    pub fn concern(&self, kind: &DataType) -> bool {
        match kind {
            DataType::List(child) | DataType::FixedSizeList(child, _) | DataType::Map(child, _) => {
                self.anywhere().concern(child.data_type())
            }
            DataType::Struct(children) => children.iter().any(|child| self.anywhere().concern(child.data_type())),
            _ if self.only_nested => false,
            DataType::Time32(_) | DataType::Time64(_) => self.midnight,
            DataType::Date32 | DataType::Date64 => self.years.is_some(),
            DataType::Timestamp(unit, _) => self.years.is_some() || self.seconds && *unit == TimeUnit::Second,
            _ => false,
        }
    }

    /// A description of the first such value of an array, such as `the time 24:00:00`.
    pub fn find(&self, array: &dyn Array) -> Option<String> {
        self.find_among(array, array.logical_nulls())
    }

    fn anywhere(self) -> Self {
        Self { only_nested: false, ..self }
    }

    /// `nulls` are the array's own NULLs and those of the arrays that contain it.
    fn find_among(&self, array: &dyn Array, nulls: Option<NullBuffer>) -> Option<String> {
        if !self.concern(array.data_type()) {
            return None;
        }
        let child = |child: &dyn Array, nulls| self.anywhere().find_among(child, nulls);
        match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                child(list.values(), within(list.offsets(), list.values().as_ref(), nulls.as_ref()))
            }
            DataType::Map(..) => {
                let map = array.as_map();
                child(map.entries(), within(map.offsets(), map.entries(), nulls.as_ref()))
            }
            DataType::FixedSizeList(_, size) => {
                let values = array.as_fixed_size_list().values();
                let nulls = nulls.map(|nulls| nulls.expand(usize::try_from(*size).unwrap_or_default()));
                child(values, NullBuffer::union(nulls.as_ref(), values.logical_nulls().as_ref()))
            }
            DataType::Struct(_) => {
                array.as_struct().columns().iter().find_map(|column| {
                    child(column, NullBuffer::union(nulls.as_ref(), column.logical_nulls().as_ref()))
                })
            }
            DataType::Time32(TimeUnit::Second) => self.time::<Time32SecondType>(array, nulls, 1),
            DataType::Time32(_) => self.time::<Time32MillisecondType>(array, nulls, 1_000),
            DataType::Time64(TimeUnit::Microsecond) => self.time::<Time64MicrosecondType>(array, nulls, 1_000_000),
            DataType::Time64(_) => self.time::<Time64NanosecondType>(array, nulls, 1_000_000_000),
            DataType::Date32 => self.moment::<Date32Type>(array, nulls, 1, (i32::MAX.into(), 1), "date"),
            DataType::Date64 => self.moment::<Date64Type>(array, nulls, 86_400_000, (i64::MAX, 1), "date"),
            DataType::Timestamp(unit, _) => {
                const WHAT: &str = "timestamp";
                let (day, last) = (DAY_SECONDS, i64::MAX);
                match unit {
                    TimeUnit::Second => self.moment::<TimestampSecondType>(array, nulls, day, (last, 1_000), WHAT),
                    TimeUnit::Millisecond => {
                        self.moment::<TimestampMillisecondType>(array, nulls, day * 1_000, (last, 1), WHAT)
                    }
                    TimeUnit::Microsecond => {
                        self.moment::<TimestampMicrosecondType>(array, nulls, day * 1_000_000, (last, 1), WHAT)
                    }
                    TimeUnit::Nanosecond => {
                        self.moment::<TimestampNanosecondType>(array, nulls, day * 1_000_000_000, (last, 1), WHAT)
                    }
                }
            }
            _ => None,
        }
    }

    fn time<T>(&self, array: &dyn Array, nulls: Option<NullBuffer>, second: i64) -> Option<String>
    where
        T: ArrowPrimitiveType<Native: Into<i64>>,
    {
        let day = DAY_SECONDS * second;
        values::<T>(array, nulls).any(|value| value >= day).then(|| "the time 24:00:00".to_owned())
    }

    /// `day` is the number of units in a day. `factor` is the factor by which a destination without this unit
    /// multiplies a value.
    fn moment<T>(
        &self,
        array: &dyn Array,
        nulls: Option<NullBuffer>,
        day: i64,
        (infinity, factor): (i64, i64),
        what: &str,
    ) -> Option<String>
    where
        T: ArrowPrimitiveType<Native: Into<i64>>,
    {
        let is_infinite = |value: i64| value == infinity || value == -infinity;
        let has_no_room = |value: i64| self.seconds && value.checked_mul(factor).is_none();
        // The first day of the first year, and the day behind the last one.
        let days = self.years.map(|(first, last)| (first_day(first.into()), first_day(i64::from(last) + 1)));
        let is_outside = |value: i64| {
            let at = i128::from(value.div_euclid(day));
            days.is_some_and(|(first, end)| at < first || at >= end || is_infinite(value))
        };
        let value = values::<T>(array, nulls).find(|value| has_no_room(*value) || is_outside(*value))?;
        Some(match is_infinite(value) {
            true => format!("an infinite {what}"),
            false => format!("a {what} of the year {}", year(value.div_euclid(day).into())),
        })
    }
}

/// The NULLs of a list's values: their own, and the values that are in no list or in a NULL list.
fn within(offsets: &OffsetBuffer<i32>, values: &dyn Array, nulls: Option<&NullBuffer>) -> Option<NullBuffer> {
    let mut is_in = vec![false; values.len()];
    for (row, bounds) in offsets.windows(2).enumerate() {
        if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
            is_in[bounds[0] as usize..bounds[1] as usize].fill(true);
        }
    }
    let outside = NullBuffer::new(BooleanBuffer::from(is_in));
    NullBuffer::union(Some(&outside), values.logical_nulls().as_ref())
}

/// The values that are not NULL.
fn values<T>(array: &dyn Array, nulls: Option<NullBuffer>) -> impl Iterator<Item = i64>
where
    T: ArrowPrimitiveType<Native: Into<i64>>,
{
    let values = array.as_primitive::<T>().values();
    let is_valid = move |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    values.iter().enumerate().filter(move |(row, _)| is_valid(*row)).map(|(_, value)| (*value).into())
}

/// Days from 1970-01-01 to the first day of a year.
/// <https://howardhinnant.github.io/date_algorithms.html>, `days_from_civil` for January 1.
fn first_day(year: i64) -> i128 {
    let before = i128::from(year) - 1;
    let (era, of_era) = (before.div_euclid(400), before.rem_euclid(400));
    // From March 1 of the year before, there are 306 days to January 1.
    era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + 306 - EPOCH_DAYS
}

/// The year of a day.
fn year(day: i128) -> i64 {
    // The estimate is at most one year off.
    let mut year = (day * 400).div_euclid(ERA_DAYS) as i64 + 1970;
    while first_day(year) > day {
        year -= 1;
    }
    while first_day(year + 1) <= day {
        year += 1;
    }
    year
}

#[cfg(test)]
#[path = "gaps_tests.rs"]
mod tests;
