//! Checks of what a function process has written. The process may be hostile: everything is copied out of the ring
//! first and then checked, except for numbers, of which any bytes are a value.

use std::ops::RangeInclusive;

use crate::error::FunctionError;
use crate::function::{ColumnType, FunctionColumn, TimestampUnit};
use crate::layout::{ANSWER_WORDS, AnswerHead, MAX_ANSWER_WORDS, MAX_NOTICES, MAX_RECORD, NODE_WORDS, NOTICES, RECORD};
use crate::memory::{MemoryCharge, MemoryExceeded};
use crate::output::{ColumnSource, FixedSource, FixedValues, OutputColumn, OutputData};
use crate::ring::{Ring, RingSlice};

#[doc(hidden)]
pub mod hostile;
pub mod json;

/// What is wrong with an answer.
pub(crate) type Fault = &'static str;

/// Why the columns of an answer are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Fault(Fault),
    Memory(MemoryExceeded),
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// An answer of up to this size is charged as one of this size, so that calls of vectors change no counter.
const SMALL_ANSWER: usize = 64 << 10;

/// The largest time of a day in microseconds: 24:00:00.
const DAY: i64 = 86_400_000_000;

/// Reads the columns of a result, which are as many bytes as `charge` has afterwards at most. `rows` is their number if
/// the call decides it.
pub(crate) fn columns<'r>(
    ring: &'r Ring,
    head: &AnswerHead,
    types: &[&ColumnType],
    rows: Option<usize>,
    charge: &mut MemoryCharge,
) -> Result<(usize, Vec<OutputColumn<'r>>), Refused> {
    let found = usize::try_from(head.rows).map_err(|_| "the number of rows is too large")?;
    if rows.is_some_and(|rows| rows != found) || found > ring.size() {
        return Err("the number of rows is wrong".into());
    }
    let nodes: usize = types.iter().map(|column_type| column_type.nodes()).sum();
    if nodes * NODE_WORDS > MAX_ANSWER_WORDS || head.words != (nodes * NODE_WORDS) as u64 {
        return Err("the number of columns is wrong".into());
    }
    let mut words = vec![0; nodes * NODE_WORDS];
    ring.slice(ANSWER_WORDS, words.len() * 8).ok_or("the ring is too small")?.read_words(&mut words);
    let bytes = answer_bytes(ring, &words)?;
    if bytes > charge.bytes() || charge.bytes() > SMALL_ANSWER {
        charge.set(bytes.max(SMALL_ANSWER)).or_else(|_| charge.set(bytes)).map_err(Refused::Memory)?;
    }
    let mut reader = Reader { ring, words: words.into_iter(), empty_rows: 0 };
    let columns = types.iter().map(|column_type| reader.column(column_type, found)).collect::<Result<_, _>>()?;
    Ok((found, columns))
}

/// The bytes of all buffers of an answer. Each has a place of its own, so that copies of all are not larger than the
/// ring.
fn answer_bytes(ring: &Ring, words: &[u64]) -> Result<usize, Fault> {
    let of_node = |[length, validity, _, values, _, heap]: &[u64; NODE_WORDS]| {
        let validity = if *validity == 0 { 0 } else { length.div_ceil(8) };
        validity.checked_add(*values)?.checked_add(*heap)
    };
    let nodes = words.as_chunks().0;
    let bytes = nodes.iter().try_fold(0_u64, |sum, node| sum.checked_add(of_node(node)?));
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).filter(|bytes| *bytes <= ring.size());
    bytes.ok_or("the buffers are larger than the ring, or not separate")
}

struct Reader<'r> {
    ring: &'r Ring,
    words: std::vec::IntoIter<u64>,
    /// Rows of structs without fields, which take no memory, but a reader's time.
    empty_rows: usize,
}

impl<'r> Reader<'r> {
    fn word(&mut self) -> Result<usize, Fault> {
        let word = self.words.next().ok_or("a node is missing")?;
        usize::try_from(word).map_err(|_| "a place is too large")
    }

    fn slice(&self, at: usize, bytes: usize) -> Result<RingSlice<'r>, Fault> {
        self.ring.slice(at, bytes).ok_or("a buffer is not within the ring")
    }

    fn column(&mut self, column_type: &ColumnType, rows: usize) -> Result<OutputColumn<'r>, Fault> {
        let (length, validity_at) = (self.word()?, self.word()?);
        let (values_at, values_bytes) = (self.word()?, self.word()?);
        let (heap_at, heap_bytes) = (self.word()?, self.word()?);
        if length != rows {
            return Err("the length of a column is wrong");
        }
        let validity = match validity_at {
            0 => None,
            at => Some(self.slice(at, rows.div_ceil(8))?.to_vec()),
        };
        let values = self.slice(values_at, values_bytes)?;
        let data = match column_type {
            ColumnType::Text | ColumnType::Json | ColumnType::Blob => {
                let offsets = offsets(&values, rows)?;
                if offsets.last() != Some(&(heap_bytes as u64)) {
                    return Err("the offsets of texts do not end where their bytes do");
                }
                let bytes = self.slice(heap_at, heap_bytes)?.to_vec();
                if *column_type != ColumnType::Blob {
                    check_text(&bytes, &offsets)?;
                }
                OutputData::Bytes { offsets, bytes }
            }
            ColumnType::List(_) | ColumnType::Map(..) => {
                let offsets = offsets(&values, rows)?;
                let count = offsets.last().and_then(|count| usize::try_from(*count).ok()).unwrap_or(usize::MAX);
                // Items may take no memory, but a reader's time.
                if count > self.ring.size() {
                    return Err("the number of a list's items is wrong");
                }
                let mut items = self.children(column_type, count)?;
                let items = Box::new(items.pop().ok_or("the items are missing")?);
                OutputData::List { offsets, items }
            }
            ColumnType::Array { size, .. } => {
                let count = rows.checked_mul(*size).ok_or("the number of an array's items is wrong")?;
                let mut items = self.children(column_type, count)?;
                OutputData::Array(Box::new(items.pop().ok_or("the items are missing")?))
            }
            ColumnType::Struct(fields) => {
                self.empty_rows = self.empty_rows.saturating_add(if fields.is_empty() { rows } else { 0 });
                if self.empty_rows > self.ring.size() {
                    return Err("the number of rows is wrong");
                }
                OutputData::Struct(self.children(column_type, rows)?)
            }
            ColumnType::Union(fields) => {
                let tags = exactly(&values, rows)?.to_vec();
                if tags.iter().any(|tag| usize::from(*tag) >= fields.len()) {
                    return Err("the number of a union's member is wrong");
                }
                OutputData::Union { tags, members: self.children(column_type, rows)? }
            }
            _ => {
                let width = column_type.width().ok_or("a type has no layout")?;
                let bytes = rows.checked_mul(width).ok_or("the length of a column is wrong")?;
                OutputData::Fixed(fixed(column_type, width, exactly(&values, bytes)?, validity.as_deref())?)
            }
        };
        Ok(OutputColumn { validity, data })
    }

    fn children(&mut self, column_type: &ColumnType, rows: usize) -> Result<Vec<OutputColumn<'r>>, Fault> {
        column_type.children().iter().map(|child| self.column(child, rows)).collect()
    }
}

fn exactly<'r, 's>(slice: &'s RingSlice<'r>, bytes: usize) -> Result<&'s RingSlice<'r>, Fault> {
    if slice.len() == bytes { Ok(slice) } else { Err("a buffer has a wrong size") }
}

/// The offsets of `rows` rows: they begin with 0 and do not fall.
fn offsets(values: &RingSlice<'_>, rows: usize) -> Result<Vec<u64>, Fault> {
    let count = rows.checked_add(1).ok_or("the length of a column is wrong")?;
    exactly(values, count.checked_mul(8).ok_or("the length of a column is wrong")?)?;
    let mut offsets = vec![0; count];
    values.read_words(&mut offsets);
    if offsets[0] != 0 || offsets.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err("the offsets of a column are wrong");
    }
    Ok(offsets)
}

fn check_text(bytes: &[u8], offsets: &[u64]) -> Result<(), Fault> {
    let text = std::str::from_utf8(bytes).map_err(|_| "a text is not UTF-8")?;
    // The last offset is the length, so all are within the text.
    if offsets.iter().any(|offset| !text.is_char_boundary(*offset as usize)) {
        return Err("a text is not UTF-8");
    }
    if bytes.contains(&0) { Err("a text has a NUL") } else { Ok(()) }
}

/// Values of a fixed width. If not all bytes are values of the type, they are copied and checked.
fn fixed<'r>(
    column_type: &ColumnType,
    width: usize,
    values: &RingSlice<'r>,
    validity: Option<&[u8]>,
) -> Result<FixedValues<'r>, Fault> {
    let is_null = |row: usize| validity.is_some_and(|validity| validity[row / 8] >> (row % 8) & 1 == 0);
    let checked = |is_value: &dyn Fn(&[u8]) -> bool, fault: Fault| {
        let bytes = values.to_vec();
        let mut rows = bytes.chunks_exact(width).enumerate();
        if rows.any(|(row, value)| !is_value(value) && !is_null(row)) {
            return Err(fault);
        }
        Ok(FixedSource::Checked(bytes))
    };
    let source = match column_type {
        ColumnType::Boolean => {
            let mut bytes = values.to_vec();
            // Also the values of NULL rows: DuckDB takes the byte as it is.
            if validity.is_some() {
                (0..bytes.len()).filter(|row| is_null(*row)).for_each(|row| bytes[row] = 0);
            }
            if bytes.iter().any(|byte| *byte > 1) {
                return Err("a boolean is neither 0 nor 1");
            }
            FixedSource::Checked(bytes)
        }
        ColumnType::Decimal { width: digits, .. } => {
            let bound = 10_u128.checked_pow(u32::from(*digits)).unwrap_or(u128::MAX);
            checked(&|value| i128_of(value).unsigned_abs() < bound, "a decimal has too many digits")?
        }
        ColumnType::Date => {
            let is_finite = |value: &[u8]| i32_of(value).unsigned_abs() < i32::MAX.unsigned_abs();
            checked(&is_finite, "a date is out of range")?
        }
        ColumnType::Time => checked(&|value| (0..=DAY).contains(&i64_of(value)), "a time of day is out of range")?,
        ColumnType::Timestamp(_) | ColumnType::TimestampTz => {
            let range = timestamps(column_type);
            checked(&|value| range.contains(&i64_of(value)), "a timestamp is out of range")?
        }
        _ => FixedSource::Ring(*values),
    };
    Ok(FixedValues { source, width })
}

/// The timestamps of a type: those of DuckDB's years 290309 BC to 294247. Beyond them, DuckDB cannot convert timestamps
/// in seconds and milliseconds, and fails. Nanoseconds are all numbers but the marks of infinity.
fn timestamps(column_type: &ColumnType) -> RangeInclusive<i64> {
    match column_type {
        ColumnType::Timestamp(TimestampUnit::Second) => -9_223_372_022_400..=9_223_372_036_854,
        ColumnType::Timestamp(TimestampUnit::Millisecond) => -9_223_372_022_400_000..=9_223_372_036_854_775,
        ColumnType::Timestamp(TimestampUnit::Nanosecond) => -i64::MAX + 1..=i64::MAX - 1,
        _ => -9_223_372_022_400_000_000..=i64::MAX - 1,
    }
}

fn i32_of(value: &[u8]) -> i32 {
    value.try_into().map_or(0, i32::from_le_bytes)
}

fn i64_of(value: &[u8]) -> i64 {
    value.try_into().map_or(0, i64::from_le_bytes)
}

fn i128_of(value: &[u8]) -> i128 {
    value.try_into().map_or(0, i128::from_le_bytes)
}

/// The record of an error: four texts after their lengths of 4 bytes (code, message, detail, context), then line and
/// position.
pub(crate) fn record(ring: &Ring, head: &AnswerHead) -> Result<(String, FunctionError), Fault> {
    let bytes = area(ring, RECORD, head.record_bytes, MAX_RECORD)?;
    let mut rest = bytes.as_slice();
    let [code, message, detail, context] = [(); 4].map(|()| {
        let length = number(&mut rest).and_then(|length| usize::try_from(length).ok())?;
        let (text, after) = rest.split_at_checked(length)?;
        rest = after;
        Some(printable(text))
    });
    let (line, position) = (number(&mut rest), number(&mut rest));
    let fault = "the record of an error is cut";
    let record = FunctionError {
        message: message.ok_or(fault)?,
        detail: detail.ok_or(fault)?,
        context: context.ok_or(fault)?,
        line: line.ok_or(fault)?,
        position: position.ok_or(fault)?,
    };
    Ok((code.ok_or(fault)?, record))
}

/// The names and sources of columns, and the layouts of those that are in the ring.
type AnyColumns = (Vec<(String, ColumnSource)>, Vec<ColumnType>);

/// The columns of a result that the function decides: their number, then for each its name and its type after their
/// lengths. In place of a type there may be the number of the parameter whose argument the column is. `parameters` are
/// all of them.
pub(crate) fn any_columns(ring: &Ring, head: &AnswerHead, parameters: &[FunctionColumn]) -> Result<AnyColumns, Fault> {
    let bytes = area(ring, RECORD, head.record_bytes, MAX_RECORD)?;
    let mut rest = bytes.as_slice();
    let fault = "the description of a table is cut";
    let count = number(&mut rest).ok_or(fault)? as usize;
    if count == 0 || count > MAX_ANSWER_WORDS / NODE_WORDS {
        return Err("the number of columns is wrong");
    }
    let mut names = Vec::new();
    let mut types = Vec::new();
    for _ in 0..count {
        let [name, type_] = [(); 2].map(|()| {
            let length = number(&mut rest).and_then(|length| usize::try_from(length).ok())?;
            let (text, after) = rest.split_at_checked(length)?;
            rest = after;
            String::from_utf8(text.to_vec()).ok()
        });
        let (name, type_) = (name.ok_or(fault)?, type_.ok_or(fault)?);
        if name.is_empty() || name.contains('\0') {
            return Err("the name of a column is empty or has a NUL");
        }
        let source = if type_.starts_with(|letter: char| letter.is_ascii_digit()) {
            let number = type_.parse::<usize>().ok();
            let number = number.filter(|number| parameters.get(*number).is_some_and(|of| !of.is_scalar));
            ColumnSource::Argument(number.ok_or("a column is an argument that there is not")?)
        } else {
            types.push(ColumnType::named(&type_).ok_or("the type of a column is unknown")?);
            ColumnSource::Values(type_)
        };
        names.push((name, source));
    }
    if rest.is_empty() { Ok((names, types)) } else { Err(fault) }
}

/// What the functions have printed.
pub(crate) fn notices(ring: &Ring, head: &AnswerHead) -> Result<String, Fault> {
    Ok(printable(&area(ring, NOTICES, head.notice_bytes, MAX_NOTICES)?))
}

fn area(ring: &Ring, at: usize, bytes: u64, most: usize) -> Result<Vec<u8>, Fault> {
    let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes <= most).ok_or("a text is too long")?;
    ring.slice(at, bytes).map(|slice| slice.to_vec()).ok_or("the ring is too small")
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u32::from_le_bytes(*number))
}

/// A text for a client: PostgreSQL's protocol ends texts with NUL.
fn printable(text: &[u8]) -> String {
    String::from_utf8_lossy(text).replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests;
