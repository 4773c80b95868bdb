//! The functions and operators of ranges (PostgreSQL manual, §9.20).

use super::range::{Bound, Ends, Range};
use super::{Element, InvalidKey, KeyError, KeyedType};

/// What a function of ranges gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeTest {
    /// `isempty`
    IsEmpty,
    /// `lower_inc`
    LowerInclusive,
    /// `upper_inc`
    UpperInclusive,
    /// `lower_inf`
    LowerInfinite,
    /// `upper_inf`
    UpperInfinite,
}

/// An operator between two ranges that gives a boolean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeComparison {
    /// `@>`
    Contains,
    /// `<@`
    IsContained,
    /// `&&`
    Overlaps,
    /// `-|-`
    IsAdjacent,
    /// `<<`
    IsBefore,
    /// `>>`
    IsAfter,
}

/// An operator between two ranges that gives a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeOperation {
    /// `+`
    Union,
    /// `*`
    Intersection,
    /// `-`
    Difference,
    /// `range_merge`
    Merge,
}

/// A range that was read from its key.
pub struct KnownRange {
    element: Element,
    range: Range,
}

impl KnownRange {
    /// The range with a key.
    ///
    /// # Errors
    /// The bytes are not one.
    pub fn of_key(element: Element, key: &[u8]) -> Result<Self, KeyError> {
        let range = Range::of_key(element, key).ok_or(InvalidKey("range"))?;
        Ok(Self { element, range })
    }

    /// The range with a text.
    ///
    /// # Errors
    /// The text is not one.
    pub fn parse(element: Element, text: &str) -> Result<Self, KeyError> {
        Ok(Self { element, range: Range::parse(element, KeyedType::Range(element).name(), text)? })
    }

    /// The value of its lower or upper bound: an integer, the days or the microseconds after 1970-01-01. `None` if there
    /// is none, and for numerics.
    pub fn bound(&self, is_upper: bool) -> Option<i64> {
        let Range::Between(ends) = &self.range else { return None };
        let bound = if is_upper { &ends.upper } else { &ends.lower };
        self.element.number(bound.key.as_ref()?)
    }

    /// Whether it is so.
    pub fn test(&self, test: RangeTest) -> bool {
        let Range::Between(ends) = &self.range else { return test == RangeTest::IsEmpty };
        match test {
            RangeTest::IsEmpty => false,
            RangeTest::LowerInclusive => ends.lower.is_inclusive,
            RangeTest::UpperInclusive => ends.upper.is_inclusive,
            RangeTest::LowerInfinite => ends.lower.key.is_none(),
            RangeTest::UpperInfinite => ends.upper.key.is_none(),
        }
    }

    /// Whether it contains a value: an integer, the days or the microseconds after 1970-01-01.
    pub fn contains_value(&self, value: i64) -> bool {
        let key = self.element.key_of_number(value);
        let Range::Between(ends) = &self.range else { return false };
        let is_above = match &ends.lower.key {
            Some(low) => *low < key || *low == key && ends.lower.is_inclusive,
            None => true,
        };
        let is_below = match &ends.upper.key {
            Some(high) => key < *high || *high == key && ends.upper.is_inclusive,
            None => true,
        };
        is_above && is_below
    }

    /// Compares two ranges.
    pub fn compare(&self, comparison: RangeComparison, other: &Self) -> bool {
        let (a, b) = match (&self.range, &other.range) {
            (Range::Between(a), Range::Between(b)) => (a, b),
            // The empty range is a part of each range, and has no place.
            (_, Range::Empty) if comparison == RangeComparison::Contains => return true,
            (Range::Empty, _) if comparison == RangeComparison::IsContained => return true,
            _ => return false,
        };
        match comparison {
            RangeComparison::Contains => a.contains(b),
            RangeComparison::IsContained => b.contains(a),
            RangeComparison::Overlaps => a.overlaps(b),
            RangeComparison::IsAdjacent => a.upper.meets(&b.lower) || b.upper.meets(&a.lower),
            RangeComparison::IsBefore => a.upper.is_below(&b.lower),
            RangeComparison::IsAfter => b.upper.is_below(&a.lower),
        }
    }

    /// The key of the range that an operator gives.
    ///
    /// # Errors
    /// The result would be two ranges.
    pub fn operate(&self, operation: RangeOperation, other: &Self) -> Result<Vec<u8>, KeyError> {
        let (a, b) = match (&self.range, &other.range, operation) {
            (Range::Between(a), Range::Between(b), _) => (a, b),
            (_, _, RangeOperation::Intersection) | (Range::Empty, _, RangeOperation::Difference) => {
                return Ok(Range::Empty.key());
            }
            (range, Range::Empty, _) | (Range::Empty, range, _) => return Ok(range.key()),
        };
        let made = match operation {
            RangeOperation::Merge => a.around(b),
            RangeOperation::Union if a.overlaps(b) || a.upper.meets(&b.lower) || b.upper.meets(&a.lower) => a.around(b),
            RangeOperation::Union => return Err(KeyError::NotContiguous("union")),
            RangeOperation::Intersection if a.overlaps(b) => {
                Ends { lower: a.lower.later(&b.lower, true).clone(), upper: a.upper.earlier(&b.upper, false).clone() }
            }
            RangeOperation::Intersection => return Ok(Range::Empty.key()),
            RangeOperation::Difference if !a.overlaps(b) => a.as_ref().clone(),
            RangeOperation::Difference => {
                let begins_before = a.lower.order(true) < b.lower.order(true);
                let ends_after = b.upper.order(false) < a.upper.order(false);
                match (begins_before, ends_after) {
                    (true, true) => return Err(KeyError::NotContiguous("difference")),
                    (true, false) => Ends { lower: a.lower.clone(), upper: b.lower.opposite() },
                    (false, true) => Ends { lower: b.upper.opposite(), upper: a.upper.clone() },
                    (false, false) => return Ok(Range::Empty.key()),
                }
            }
        };
        Ok(Range::new(self.element, "range", made.lower, made.upper)?.key())
    }
}

impl Ends {
    fn contains(&self, other: &Self) -> bool {
        self.lower.order(true) <= other.lower.order(true) && other.upper.order(false) <= self.upper.order(false)
    }

    fn overlaps(&self, other: &Self) -> bool {
        !self.upper.is_below(&other.lower) && !other.upper.is_below(&self.lower)
    }

    /// The smallest range that contains both.
    fn around(&self, other: &Self) -> Self {
        Self {
            lower: self.lower.earlier(&other.lower, true).clone(),
            upper: self.upper.later(&other.upper, false).clone(),
        }
    }
}

impl Bound {
    /// What orders lower bounds, or upper bounds.
    fn order(&self, is_lower: bool) -> (bool, Option<&[u8]>, bool) {
        // An infinite lower bound is below all others, an infinite upper bound above. An inclusive lower bound is below
        // an exclusive one of the same value, and upper bounds are the other way round.
        (self.key.is_some() == is_lower, self.key.as_deref(), self.is_inclusive != is_lower)
    }

    fn earlier<'a>(&'a self, other: &'a Self, is_lower: bool) -> &'a Self {
        if other.order(is_lower) < self.order(is_lower) { other } else { self }
    }

    fn later<'a>(&'a self, other: &'a Self, is_lower: bool) -> &'a Self {
        if self.order(is_lower) < other.order(is_lower) { other } else { self }
    }

    /// Whether nothing that ends with this upper bound is also behind a lower bound.
    fn is_below(&self, lower: &Self) -> bool {
        match (&self.key, &lower.key) {
            (Some(high), Some(low)) => high < low || high == low && !(self.is_inclusive && lower.is_inclusive),
            _ => false,
        }
    }

    /// Whether a lower bound begins exactly where this upper bound ends.
    fn meets(&self, lower: &Self) -> bool {
        self.key.is_some() && self.key == lower.key && self.is_inclusive != lower.is_inclusive
    }

    /// The bound of what is on the other side.
    fn opposite(&self) -> Self {
        Self { key: self.key.clone(), is_inclusive: !self.is_inclusive }
    }
}
