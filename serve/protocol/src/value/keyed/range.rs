//! Ranges and multiranges: their texts (PostgreSQL manual, §8.17), keys and binary forms (`range_send`).

use super::{Element, KeyError, TextStyle};

/// A bound of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    /// The key of its value; `None` if the range has no end here.
    pub key: Option<Vec<u8>>,
    pub is_inclusive: bool,
}

/// A range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Range {
    Empty,
    Between(Box<Ends>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub lower: Bound,
    pub upper: Bound,
}

/// The first byte of a key: an empty range is below all others.
const EMPTY: u8 = 0;
const FILLED: u8 = 1;
/// The bits of the first byte of the binary form.
pub(crate) mod flags {
    pub const EMPTY: u8 = 0x01;
    pub const LOWER_INCLUSIVE: u8 = 0x02;
    pub const UPPER_INCLUSIVE: u8 = 0x04;
    pub const LOWER_INFINITE: u8 = 0x08;
    pub const UPPER_INFINITE: u8 = 0x10;
}

impl Range {
    /// The range with these bounds, in the one form that equal ranges have.
    pub fn new(element: Element, name: &'static str, mut lower: Bound, mut upper: Bound) -> Result<Self, KeyError> {
        lower.is_inclusive &= lower.key.is_some();
        upper.is_inclusive &= upper.key.is_some();
        match (&lower.key, &upper.key) {
            (Some(low), Some(high)) if low > high => return Err(KeyError::Order),
            (Some(low), Some(high)) if low == high && !(lower.is_inclusive && upper.is_inclusive) => {
                return Ok(Self::Empty);
            }
            _ => {}
        }
        if element.is_discrete() {
            // `[1,4)` has this form. An infinite date has no next one and stays as it is.
            let next = |key: &[u8]| element.next(key).ok_or(KeyError::OutOfRange(name));
            if let Some(key) = lower.key.as_mut().filter(|_| !lower.is_inclusive) {
                let next = next(key)?;
                lower.is_inclusive = next != *key;
                *key = next;
            }
            if let Some(key) = upper.key.as_mut().filter(|_| upper.is_inclusive) {
                let next = next(key)?;
                upper.is_inclusive = next == *key;
                *key = next;
            }
            if lower.key.is_some() && lower.key == upper.key && !(lower.is_inclusive && upper.is_inclusive) {
                return Ok(Self::Empty);
            }
        }
        Ok(Self::Between(Box::new(Ends { lower, upper })))
    }

    /// The range with this text.
    pub fn parse(element: Element, name: &'static str, text: &str) -> Result<Self, KeyError> {
        let mut reader = Reader { rest: text, element, name };
        let found = reader.range()?;
        if reader.rest.trim().is_empty() { Ok(found) } else { Err(reader.syntax(text)) }
    }

    pub fn key(&self) -> Vec<u8> {
        let Self::Between(ends) = self else { return vec![EMPTY] };
        let mut key = vec![FILLED];
        // A range without a lower end begins before all others. An inclusive bound begins before an exclusive one.
        match &ends.lower.key {
            None => key.push(0),
            Some(value) => {
                key.push(1);
                key.extend_from_slice(value);
                key.push(u8::from(!ends.lower.is_inclusive));
            }
        }
        match &ends.upper.key {
            None => key.push(1),
            Some(value) => {
                key.push(0);
                key.extend_from_slice(value);
                key.push(u8::from(ends.upper.is_inclusive));
            }
        }
        key
    }

    /// The range with this key; `None` if it is not one.
    pub fn of_key(element: Element, key: &[u8]) -> Option<Self> {
        let mut rest = key;
        let range = Self::take(element, &mut rest)?;
        rest.is_empty().then_some(range)
    }

    /// The ranges of a multirange's key.
    pub fn all_of_key(element: Element, mut key: &[u8]) -> Option<Vec<Self>> {
        let mut ranges = Vec::new();
        while !key.is_empty() {
            ranges.push(Self::take(element, &mut key)?);
        }
        Some(ranges)
    }

    fn take(element: Element, rest: &mut &[u8]) -> Option<Self> {
        match byte(rest)? {
            EMPTY => return Some(Self::Empty),
            FILLED => {}
            _ => return None,
        }
        let lower = match byte(rest)? {
            0 => Bound { key: None, is_inclusive: false },
            _ => Bound { key: Some(value(element, rest)?), is_inclusive: byte(rest)? == 0 },
        };
        let upper = match byte(rest)? {
            0 => Bound { key: Some(value(element, rest)?), is_inclusive: byte(rest)? == 1 },
            _ => Bound { key: None, is_inclusive: false },
        };
        Some(Self::Between(Box::new(Ends { lower, upper })))
    }

    /// Appends `[1,4)`.
    pub fn write_text(&self, element: Element, style: TextStyle, out: &mut Vec<u8>) {
        let Self::Between(ends) = self else {
            out.extend_from_slice(b"empty");
            return;
        };
        let bound = |bound: &Bound, out: &mut Vec<u8>| {
            let Some(key) = &bound.key else { return };
            out.extend_from_slice(quoted(&element.text(key, style)).as_bytes());
        };
        out.push(if ends.lower.is_inclusive { b'[' } else { b'(' });
        bound(&ends.lower, out);
        out.push(b',');
        bound(&ends.upper, out);
        out.push(if ends.upper.is_inclusive { b']' } else { b')' });
    }

    /// Appends the bits and the bounds.
    pub fn write_binary(&self, element: Element, out: &mut Vec<u8>) {
        let Self::Between(ends) = self else {
            out.push(flags::EMPTY);
            return;
        };
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        out.push(
            flag(ends.lower.is_inclusive, flags::LOWER_INCLUSIVE)
                | flag(ends.upper.is_inclusive, flags::UPPER_INCLUSIVE)
                | flag(ends.lower.key.is_none(), flags::LOWER_INFINITE)
                | flag(ends.upper.key.is_none(), flags::UPPER_INFINITE),
        );
        for key in [&ends.lower.key, &ends.upper.key].into_iter().flatten() {
            element.write_binary(key, out);
        }
    }
}

/// The key of the multirange with this text.
pub(super) fn multirange_of(element: Element, name: &'static str, text: &str) -> Result<Vec<u8>, KeyError> {
    let mut reader = Reader { rest: text.trim(), element, name };
    let syntax = || KeyError::syntax(name, text);
    let mut ranges = Vec::new();
    if !reader.take('{') {
        return Err(syntax());
    }
    if !reader.take('}') {
        loop {
            ranges.push(reader.range()?);
            match reader.next_mark() {
                Some(',') => {}
                Some('}') => break,
                _ => return Err(syntax()),
            }
        }
    }
    if reader.rest.is_empty() { Ok(multirange_key(ranges)) } else { Err(syntax()) }
}

/// The key of the multirange of these ranges: in order, and those that touch as one.
fn multirange_key(ranges: Vec<Range>) -> Vec<u8> {
    let mut filled: Vec<_> = ranges.into_iter().filter(|range| *range != Range::Empty).collect();
    filled.sort_by_key(Range::key);
    let mut merged: Vec<Ends> = Vec::new();
    for range in filled {
        let Range::Between(ends) = range else { continue };
        match merged.last_mut().filter(|last| last.touches(&ends)) {
            Some(last) if last.upper_order() < ends.upper_order() => last.upper = ends.upper,
            Some(_) => {}
            None => merged.push(*ends),
        }
    }
    merged.into_iter().flat_map(|ends| Range::Between(Box::new(ends)).key()).collect()
}

impl Ends {
    /// Whether a range that does not begin before this one overlaps it, or begins where it ends.
    fn touches(&self, later: &Self) -> bool {
        match (&self.upper.key, &later.lower.key) {
            (Some(upper), Some(lower)) => {
                lower < upper || lower == upper && (self.upper.is_inclusive || later.lower.is_inclusive)
            }
            _ => true,
        }
    }

    /// What orders upper bounds.
    fn upper_order(&self) -> (bool, Option<&[u8]>, bool) {
        (self.upper.key.is_none(), self.upper.key.as_deref(), self.upper.is_inclusive)
    }
}

/// Reads the texts of ranges.
struct Reader<'a> {
    rest: &'a str,
    element: Element,
    name: &'static str,
}

impl Reader<'_> {
    fn syntax(&self, text: &str) -> KeyError {
        KeyError::syntax(self.name, text)
    }

    fn next_mark(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        let mark = self.rest.chars().next()?;
        self.rest = &self.rest[mark.len_utf8()..];
        Some(mark)
    }

    fn take(&mut self, mark: char) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn range(&mut self) -> Result<Range, KeyError> {
        const EMPTY_WORD: &str = "empty";
        let text = self.rest;
        self.rest = text.trim_start();
        if let Some(word) = self.rest.get(..EMPTY_WORD.len()).filter(|word| word.eq_ignore_ascii_case(EMPTY_WORD)) {
            self.rest = &self.rest[word.len()..];
            return Ok(Range::Empty);
        }
        let syntax = |reader: &Self| reader.syntax(text);
        let is_lower_inclusive = match self.next_mark() {
            Some('[') => true,
            Some('(') => false,
            _ => return Err(syntax(self)),
        };
        let lower = self.bound(text)?;
        if !self.take(',') {
            return Err(syntax(self));
        }
        let upper = self.bound(text)?;
        let is_upper_inclusive = match self.next_mark() {
            Some(']') => true,
            Some(')') => false,
            _ => return Err(syntax(self)),
        };
        let lower = Bound { key: lower, is_inclusive: is_lower_inclusive };
        let upper = Bound { key: upper, is_inclusive: is_upper_inclusive };
        Range::new(self.element, self.name, lower, upper)
    }

    /// Reads a bound up to the next mark, which may be in quotes. `None` if there is nothing.
    fn bound(&mut self, range: &str) -> Result<Option<Vec<u8>>, KeyError> {
        let (mut text, mut is_quoted, mut has_quotes) = (String::new(), false, false);
        let mut chars = self.rest.char_indices().peekable();
        let end = loop {
            let Some((at, c)) = chars.next() else { return Err(self.syntax(range)) };
            match c {
                '\\' => text.push(chars.next().ok_or_else(|| self.syntax(range))?.1),
                '"' if is_quoted && chars.peek().is_some_and(|(_, next)| *next == '"') => {
                    chars.next();
                    text.push('"');
                }
                '"' => (is_quoted, has_quotes) = (!is_quoted, true),
                ',' | ']' | ')' | '[' | '(' if !is_quoted => break at,
                c => text.push(c),
            }
        };
        self.rest = &self.rest[end..];
        if text.is_empty() && !has_quotes {
            return Ok(None);
        }
        self.element.parse(self.name, &text).map(Some)
    }
}

/// A bound's text, in quotes if it has characters of a range's own.
pub(crate) fn quoted(text: &str) -> String {
    let is_special = |c: char| "\"\\()[],".contains(c) || c.is_ascii_whitespace();
    if !text.is_empty() && !text.contains(is_special) {
        return text.to_owned();
    }
    let doubled = text.chars().flat_map(|c| std::iter::repeat_n(c, if matches!(c, '"' | '\\') { 2 } else { 1 }));
    format!("\"{}\"", doubled.collect::<String>())
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    Some(*first)
}

fn value(element: Element, rest: &mut &[u8]) -> Option<Vec<u8>> {
    let (value, after) = rest.split_at_checked(element.length(rest)?)?;
    *rest = after;
    Some(value.to_vec())
}
