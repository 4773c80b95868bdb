//! One column in the making.

use std::io::Write as _;
use std::sync::Arc;

use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, NullArray, PrimitiveArray, StringArray};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, TimeUnit};

use super::kind::Kind;
use super::library::Cell;
use super::{datetime, decimal};
use crate::arrow_stream::TYPE_KEY;

/// Beyond it, doubles leave integers out.
const EXACT: u64 = 1 << 53;

/// Why a value has no place in its column.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) sqlstate: &'static str,
    /// Fits behind "row 7: ".
    pub(super) what: String,
    pub(super) hint: String,
    /// Rows of the batch before it, if it is not the last one.
    pub(super) row: Option<usize>,
}

/// The rows of a batch that have come so far.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    /// As it was declared, if it is a column of a table.
    declaration: Option<String>,
    values: Values,
    validity: NullBufferBuilder,
    /// The values may still decide what it is.
    open: bool,
}

#[derive(Debug)]
enum Values {
    /// Only NULLs so far.
    None,
    Integer(Vec<i64>),
    Float(Vec<f64>),
    Bool(BooleanBufferBuilder),
    Decimal(Vec<i128>, u8, u8),
    Date(Vec<i32>),
    Time(Vec<i64>),
    Timestamp(Vec<i64>),
    Instant(Vec<i64>),
    Text(Strings),
    Binary(Strings),
    AsText(Strings),
}

/// Strings end to end.
#[derive(Debug)]
struct Strings {
    offsets: Vec<i32>,
    data: Vec<u8>,
}

impl Column {
    pub(super) fn new(name: String, declaration: Option<String>, as_text: bool) -> Self {
        let kind = if as_text { Kind::AsText } else { Kind::declared(declaration.as_deref()) };
        let values = match kind {
            Kind::Integer => Values::Integer(Vec::new()),
            Kind::Float => Values::Float(Vec::new()),
            Kind::Bool => Values::Bool(BooleanBufferBuilder::new(0)),
            Kind::Decimal { precision, scale } => Values::Decimal(Vec::new(), precision, scale),
            Kind::Date => Values::Date(Vec::new()),
            Kind::Time => Values::Time(Vec::new()),
            Kind::Timestamp { zoned: false } => Values::Timestamp(Vec::new()),
            Kind::Timestamp { zoned: true } => Values::Instant(Vec::new()),
            Kind::Text => Values::Text(Strings::default()),
            Kind::Binary => Values::Binary(Strings::default()),
            Kind::AsText => Values::AsText(Strings::default()),
            Kind::ByValues => Values::None,
        };
        let open = matches!(values, Values::None);
        Self { name, declaration, values, validity: NullBufferBuilder::new(0), open }
    }

    /// Whether no value has said yet what it is.
    pub(super) fn is_undecided(&self) -> bool {
        self.open && matches!(self.values, Values::None)
    }

    /// No value decides any more, if there was one or if `last`.
    pub(super) fn decide(&mut self, last: bool) {
        self.open = self.open && !last && matches!(self.values, Values::None);
    }

    /// Name, type and, if the text stands for another type, its name.
    pub(super) fn field(&self) -> Field {
        let field = Field::new(&self.name, self.values.data_type(), true);
        match (&self.values, &self.declaration) {
            (Values::AsText(_), Some(declaration)) => field.with_metadata([(TYPE_KEY.to_owned(), declaration.clone())]),
            _ => field,
        }
    }

    /// Takes a value, and gives the number of bytes that it has beyond its place in the column.
    ///
    /// # Errors
    /// It does not fit.
    #[inline]
    pub(super) fn push(&mut self, cell: Cell<'_>) -> Result<usize, Fault> {
        let mut bytes = 0;
        match (&mut self.values, cell) {
            (_, Cell::Null) => {
                self.values.push_null();
                self.validity.append_null();
                return Ok(0);
            }
            (Values::Integer(values), Cell::Integer(number)) => values.push(number),
            (Values::Float(values), Cell::Real(number)) => values.push(number),
            (Values::Text(strings), Cell::Text(text)) | (Values::Binary(strings), Cell::Blob(text)) => {
                bytes = text.len();
                strings.push(text);
            }
            (Values::Decimal(values, precision, scale), Cell::Real(number)) => {
                match decimal::from_real(number, *scale).filter(|unscaled| decimal::fits(*unscaled, *precision)) {
                    Some(unscaled) => values.push(unscaled),
                    None => return Err(self.misfit(cell)),
                }
            }
            (Values::Date(values), Cell::Text(text)) => match datetime::date(text) {
                Some(days) => values.push(days),
                None => return Err(self.misfit(cell)),
            },
            _ => return self.push_other(cell),
        }
        self.validity.append_non_null();
        Ok(bytes)
    }

    /// The less usual ways to fit.
    fn push_other(&mut self, cell: Cell<'_>) -> Result<usize, Fault> {
        match (&mut self.values, cell) {
            (Values::Float(values), Cell::Integer(number)) if number.unsigned_abs() <= EXACT => {
                values.push(number as f64)
            }
            (Values::Bool(values), Cell::Integer(number @ 0..=1)) => values.append(number == 1),
            (Values::Decimal(values, precision, scale), Cell::Integer(number)) => {
                match decimal::from_integer(number, *scale).filter(|unscaled| decimal::fits(*unscaled, *precision)) {
                    Some(unscaled) => values.push(unscaled),
                    None => return Err(self.misfit(cell)),
                }
            }
            (Values::Time(values), Cell::Text(text)) => match datetime::time(text) {
                Some(microseconds) => values.push(microseconds),
                None => return Err(self.misfit(cell)),
            },
            (Values::Timestamp(values), Cell::Text(text)) => match datetime::timestamp(text) {
                Some(microseconds) => values.push(microseconds),
                None => return Err(self.misfit(cell)),
            },
            (Values::Instant(values), Cell::Text(text)) => match datetime::instant(text) {
                Some(microseconds) => values.push(microseconds),
                None => return Err(self.misfit(cell)),
            },
            (Values::AsText(strings), cell) => {
                let before = strings.data.len();
                strings.push_written(cell);
                self.validity.append_non_null();
                return Ok(strings.data.len() - before);
            }
            _ => return if self.open && self.reconsider(cell) { self.push(cell) } else { Err(self.misfit(cell)) },
        }
        self.validity.append_non_null();
        Ok(0)
    }

    /// Lets a value decide what the column is, if it can.
    fn reconsider(&mut self, cell: Cell<'_>) -> bool {
        let rows = self.validity.len();
        self.values = match (&self.values, cell) {
            (Values::None, Cell::Integer(_)) => Values::Integer(vec![0; rows]),
            (Values::None, Cell::Real(_)) => Values::Float(vec![0.0; rows]),
            (Values::None, Cell::Text(_)) => Values::Text(Strings::of_nulls(rows)),
            (Values::None, Cell::Blob(_)) => Values::Binary(Strings::of_nulls(rows)),
            // Integers before and reals now.
            (Values::Integer(values), Cell::Real(_)) if values.iter().all(|number| number.unsigned_abs() <= EXACT) => {
                Values::Float(values.iter().map(|number| *number as f64).collect())
            }
            _ => return false,
        };
        true
    }

    /// The rows so far as an array; begins anew with room for as many.
    ///
    /// # Errors
    /// A text is not UTF-8.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, Fault> {
        let rows = self.validity.len();
        let nulls = self.validity.finish();
        Ok(match &mut self.values {
            Values::None => Arc::new(NullArray::new(rows)),
            Values::Integer(values) => primitive::<Int64Type>(values, nulls),
            Values::Float(values) => primitive::<Float64Type>(values, nulls),
            Values::Bool(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Values::Decimal(values, precision, scale) => {
                let data_type = DataType::Decimal128(*precision, *scale as i8);
                let array = PrimitiveArray::<Decimal128Type>::new(renewed(values), nulls);
                Arc::new(array.with_data_type(data_type))
            }
            Values::Date(values) => primitive::<Date32Type>(values, nulls),
            Values::Time(values) => primitive::<Time64MicrosecondType>(values, nulls),
            Values::Timestamp(values) => primitive::<TimestampMicrosecondType>(values, nulls),
            Values::Instant(values) => {
                Arc::new(PrimitiveArray::<TimestampMicrosecondType>::new(renewed(values), nulls).with_timezone("UTC"))
            }
            Values::Binary(strings) => {
                let (offsets, data) = strings.finish();
                Arc::new(BinaryArray::new(offsets, data, nulls))
            }
            Values::Text(strings) | Values::AsText(strings) => {
                let (offsets, data) = strings.finish();
                if !is_utf8(&offsets, &data) {
                    return Err(self.not_utf8(&offsets, &data));
                }
                // SAFETY: each value was found to be UTF-8.
                Arc::new(unsafe { StringArray::new_unchecked(offsets, data, nulls) })
            }
        })
    }

    /// What to say of a value that does not fit.
    #[cold]
    fn misfit(&self, cell: Cell<'_>) -> Fault {
        let value = match cell {
            Cell::Null => "NULL",
            Cell::Integer(_) => "an INTEGER",
            Cell::Real(_) => "a REAL",
            Cell::Text(_) => "a TEXT",
            Cell::Blob(_) => "a BLOB",
        };
        let column = match &self.declaration {
            Some(declaration) if !declaration.is_empty() && Kind::declared(Some(declaration)) != Kind::ByValues => {
                format!("a column declared {declaration}")
            }
            _ => format!("a column whose first values made it {}", self.values.kind_name()),
        };
        let (sqlstate, what) = match (&self.values, cell) {
            (Values::Float(_), Cell::Integer(_)) => {
                ("22003", "an INTEGER beyond 2^53 which a double may not hold".to_owned())
            }
            (Values::Integer(_), Cell::Real(_)) if self.open => {
                ("22003", "a REAL after an INTEGER beyond 2^53, which a double may not hold,".to_owned())
            }
            (Values::Bool(_), Cell::Integer(_)) => ("22003", "an INTEGER other than 0 and 1".to_owned()),
            (Values::Decimal(_, precision, scale), Cell::Integer(_) | Cell::Real(_)) => (
                "22003",
                format!(
                    "{value} that is no decimal of {precision} digits, {scale} of them behind the point, and at most 15 if it is REAL,"
                ),
            ),
            (Values::Date(_), Cell::Text(_)) => ("22008", "a TEXT that is no date (YYYY-MM-DD)".to_owned()),
            (Values::Time(_), Cell::Text(_)) => ("22008", "a TEXT that is no time (HH:MM:SS.ffffff)".to_owned()),
            (Values::Timestamp(_), Cell::Text(_)) => {
                ("22008", "a TEXT that is no timestamp (YYYY-MM-DD HH:MM:SS.ffffff, without a zone)".to_owned())
            }
            (Values::Instant(_), Cell::Text(_)) => {
                ("22008", "a TEXT that is no timestamp with a zone (YYYY-MM-DD HH:MM:SS.ffffff+HH:MM)".to_owned())
            }
            _ => ("22005", format!("{value} value")),
        };
        let to = match cell {
            Cell::Integer(_) => "INTEGER",
            Cell::Real(_) => "REAL",
            Cell::Blob(_) => "BLOB",
            Cell::Text(_) | Cell::Null => "TEXT",
        };
        Fault {
            sqlstate,
            what: format!("{what} in {column}"),
            hint: format!("cast it in the query, CAST(… AS {to}), or read it as text: as_text=[{:?}]", self.name),
            row: None,
        }
    }

    #[cold]
    fn not_utf8(&self, offsets: &OffsetBuffer<i32>, data: &[u8]) -> Fault {
        let bad = |pair: &[i32]| std::str::from_utf8(&data[pair[0] as usize..pair[1] as usize]).is_err();
        Fault {
            sqlstate: "22021",
            what: "a TEXT value that is not UTF-8".to_owned(),
            hint: "cast it in the query, CAST(… AS BLOB)".to_owned(),
            row: offsets.windows(2).position(bad),
        }
    }
}

impl Values {
    fn data_type(&self) -> DataType {
        match self {
            Self::None => DataType::Null,
            Self::Integer(_) => DataType::Int64,
            Self::Float(_) => DataType::Float64,
            Self::Bool(_) => DataType::Boolean,
            Self::Decimal(_, precision, scale) => DataType::Decimal128(*precision, *scale as i8),
            Self::Date(_) => DataType::Date32,
            Self::Time(_) => DataType::Time64(TimeUnit::Microsecond),
            Self::Timestamp(_) => DataType::Timestamp(TimeUnit::Microsecond, None),
            Self::Instant(_) => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Text(_) | Self::AsText(_) => DataType::Utf8,
            Self::Binary(_) => DataType::Binary,
        }
    }

    /// What the values decided; only these kinds can be.
    fn kind_name(&self) -> &'static str {
        match self {
            Self::Integer(_) => "INTEGER",
            Self::Float(_) => "REAL",
            Self::Binary(_) => "BLOB",
            Self::None => "NULL",
            _ => "TEXT",
        }
    }

    fn push_null(&mut self) {
        match self {
            Self::None => {}
            Self::Integer(values) | Self::Time(values) | Self::Timestamp(values) | Self::Instant(values) => {
                values.push(0)
            }
            Self::Float(values) => values.push(0.0),
            Self::Bool(values) => values.append(false),
            Self::Decimal(values, ..) => values.push(0),
            Self::Date(values) => values.push(0),
            Self::Text(strings) | Self::Binary(strings) | Self::AsText(strings) => strings.push(&[]),
        }
    }
}

impl Default for Strings {
    fn default() -> Self {
        Self::of_nulls(0)
    }
}

impl Strings {
    fn of_nulls(rows: usize) -> Self {
        Self { offsets: vec![0; rows + 1], data: Vec::new() }
    }

    /// The data of a batch stays below 2^31: a batch ends after the value that fills it, and SQLite's values have at most 2^31 − 1
    /// bytes (SQLITE_MAX_LENGTH, by default 10^9).
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        self.data.extend_from_slice(bytes);
        self.offsets.push(self.data.len() as i32);
    }

    /// Any value: numbers in the shortest form that reads back as the same, blobs as SQL writes them.
    fn push_written(&mut self, cell: Cell<'_>) {
        // Writing to a Vec cannot fail.
        let _ = match cell {
            Cell::Null => Ok(()),
            Cell::Integer(number) => write!(self.data, "{number}"),
            Cell::Real(number) => write!(self.data, "{number:?}"),
            Cell::Text(text) => self.data.write_all(text),
            Cell::Blob(bytes) => {
                self.data.extend_from_slice(b"X'");
                bytes.iter().for_each(|byte| {
                    let _ = write!(self.data, "{byte:02X}");
                });
                self.data.write_all(b"'")
            }
        };
        self.offsets.push(self.data.len() as i32);
    }

    fn finish(&mut self) -> (OffsetBuffer<i32>, Buffer) {
        let room = Self { offsets: Vec::with_capacity(self.offsets.len()), data: Vec::with_capacity(self.data.len()) };
        let full = std::mem::replace(self, room);
        self.offsets.push(0);
        (OffsetBuffer::new(full.offsets.into()), full.data.into())
    }
}

/// Whether every value is UTF-8: the whole is, and no value begins within a character.
fn is_utf8(offsets: &OffsetBuffer<i32>, data: &[u8]) -> bool {
    let Ok(text) = simdutf8::basic::from_utf8(data) else { return false };
    text.is_ascii() || offsets.iter().all(|offset| text.is_char_boundary(*offset as usize))
}

fn primitive<T: ArrowPrimitiveType>(values: &mut Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(renewed(values), nulls))
}

/// The values, and a new vector with room for as many.
fn renewed<T: arrow_buffer::ArrowNativeType>(values: &mut Vec<T>) -> ScalarBuffer<T> {
    let room = Vec::with_capacity(values.len());
    std::mem::replace(values, room).into()
}
