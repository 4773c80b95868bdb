//! Builds one column.

use std::io::Write as _;
use std::sync::Arc;

use arrow_array::{ArrayRef, NullArray, make_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field};

use super::kind::ColumnKind;
use super::misfit::{FilledColumn, Misfit};
use super::value::{Cell, RawValue, StorageClass};
use super::values::Values;
use super::{datetime, decimal};
use crate::arrays::{Strings, Validity};
use crate::arrow_stream::TYPE_KEY;

/// Doubles do not represent all integers beyond this one.
const EXACT: u64 = 1 << 53;

/// The rows of a batch that were read so far.
#[derive(Debug)]
pub(super) struct ColumnBuilder {
    pub(super) name: String,
    /// The declared type, if it is a column of a table.
    declaration: Option<String>,
    values: Values,
    validity: Validity,
    /// Whether values may still decide the type.
    open: bool,
}

impl ColumnBuilder {
    pub(super) fn new(name: String, declaration: Option<String>, kind: ColumnKind) -> Self {
        let values = match kind {
            ColumnKind::Integer => Values::Integer(Vec::new()),
            ColumnKind::Float => Values::Float(Vec::new()),
            ColumnKind::Bool => Values::Bool(Vec::new()),
            ColumnKind::Decimal { precision, scale } => Values::Decimal(Vec::new(), precision, scale),
            ColumnKind::Date => Values::Date(Vec::new()),
            ColumnKind::Time => Values::Time(Vec::new()),
            ColumnKind::Timestamp { zoned: false } => Values::Timestamp(Vec::new()),
            ColumnKind::Timestamp { zoned: true } => Values::Instant(Vec::new()),
            ColumnKind::Text => Values::Text(Strings::default()),
            ColumnKind::Binary => Values::Binary(Strings::default()),
            ColumnKind::AsText => Values::AsText(Strings::default()),
            ColumnKind::ByValues => Values::None,
        };
        let open = matches!(values, Values::None);
        Self { name, declaration, values, validity: Validity::default(), open }
    }

    /// Whether no value has decided the type yet.
    pub(super) fn is_undecided(&self) -> bool {
        self.open && matches!(self.values, Values::None)
    }

    /// Ends the decision by values, if a value has decided or if `last`.
    pub(super) fn decide(&mut self, last: bool) {
        self.open = self.open && !last && matches!(self.values, Values::None);
    }

    /// The name, the type and, for text that represents another type, that type's name.
    pub(super) fn field(&self) -> Field {
        let field = Field::new(&self.name, self.values.data_type(), true);
        match (&self.values, &self.declaration) {
            (Values::AsText(_), Some(declaration)) => field.with_metadata([(TYPE_KEY.to_owned(), declaration.clone())]),
            _ => field,
        }
    }

    /// Appends a value. Returns the bytes that it takes in addition to its fixed size.
    ///
    /// # Errors
    /// The value does not fit.
    #[inline]
    pub(super) fn push(&mut self, row: usize, value: RawValue<'_>) -> Result<usize, Misfit> {
        // The most frequent cases come first.
        match (&mut self.values, value.storage()) {
            (Values::Integer(values), StorageClass::Integer) => values.push(value.integer()),
            (Values::Float(values), StorageClass::Real) => values.push(value.real()),
            (Values::Text(strings), StorageClass::Text) if let Some(text) = value.text() => {
                strings.data.extend_from_slice(text);
                strings.end();
                return Ok(text.len());
            }
            (Values::Decimal(values, precision, scale), StorageClass::Real)
                if let Some(unscaled) = decimal::from_real(value.real(), *scale)
                    && decimal::fits(unscaled, *precision) =>
            {
                values.push(unscaled);
            }
            (Values::Date(values), StorageClass::Text) if let Some(days) = value.text().and_then(datetime::date) => {
                values.push(days);
            }
            _ => return self.push_other(row, value.cell().ok_or_else(Misfit::no_memory)?),
        }
        Ok(0)
    }

    /// The other cases in which a value fits.
    fn push_other(&mut self, row: usize, cell: Cell<'_>) -> Result<usize, Misfit> {
        match (&mut self.values, cell) {
            (_, Cell::Null) => {
                self.values.push_null();
                self.validity.null(row);
            }
            (Values::Integer(values), Cell::Integer(number)) => values.push(number),
            (Values::Float(values), Cell::Real(number)) => values.push(number),
            (Values::Float(values), Cell::Integer(number)) if number.unsigned_abs() <= EXACT => {
                values.push(number as f64);
            }
            (Values::Bool(values), Cell::Integer(number @ 0..=1)) => values.push(number == 1),
            (Values::Decimal(values, precision, scale), Cell::Real(_) | Cell::Integer(_)) => {
                let unscaled = match cell {
                    Cell::Real(number) => decimal::from_real(number, *scale),
                    Cell::Integer(number) => decimal::from_integer(number, *scale),
                    _ => None,
                };
                match unscaled.filter(|unscaled| decimal::fits(*unscaled, *precision)) {
                    Some(unscaled) => values.push(unscaled),
                    None => return Err(self.misfit(cell)),
                }
            }
            (Values::Date(_) | Values::Time(_) | Values::Timestamp(_) | Values::Instant(_), Cell::Text(text)) => {
                self.values.push_moment(text).ok_or_else(|| self.misfit(cell))?;
            }
            (Values::Text(strings), Cell::Text(bytes)) | (Values::Binary(strings), Cell::Blob(bytes)) => {
                strings.data.extend_from_slice(bytes);
                strings.end();
                return Ok(bytes.len());
            }
            (Values::AsText(strings), cell) => {
                let before = strings.data.len();
                write(&mut strings.data, cell);
                strings.end();
                return Ok(strings.data.len() - before);
            }
            _ => return if self.reconsider(row, cell) { self.push_other(row, cell) } else { Err(self.misfit(cell)) },
        }
        Ok(0)
    }

    /// Lets a value after `rows` rows of the batch decide the type, if it can.
    fn reconsider(&mut self, rows: usize, cell: Cell<'_>) -> bool {
        self.values = match (&self.values, cell) {
            _ if !self.open => return false,
            (Values::None, Cell::Integer(_)) => Values::Integer(vec![0; rows]),
            (Values::None, Cell::Real(_)) => Values::Float(vec![0.0; rows]),
            (Values::None, Cell::Text(_)) => Values::Text(Strings::empty(rows)),
            (Values::None, Cell::Blob(_)) => Values::Binary(Strings::empty(rows)),
            // Integers before, and a real now.
            (Values::Integer(values), Cell::Real(_)) if values.iter().all(|number| number.unsigned_abs() <= EXACT) => {
                Values::Float(values.iter().map(|number| *number as f64).collect())
            }
            _ => return false,
        };
        true
    }

    #[cold]
    fn misfit(&self, cell: Cell<'_>) -> Misfit {
        let declaration = self.declaration.as_deref();
        Misfit::value(cell, FilledColumn { name: &self.name, declaration, values: &self.values, open: self.open })
    }

    /// The first `rows` rows as an array. The column then restarts with memory for as many rows.
    ///
    /// # Errors
    /// Text is not UTF-8.
    pub(super) fn finish(&mut self, rows: usize) -> Result<ArrayRef, Misfit> {
        let nulls = self.validity.finish(rows);
        if let Values::None = self.values {
            return Ok(Arc::new(NullArray::new(rows)));
        }
        let data_type = self.values.data_type();
        let buffers = self.values.finish();
        if data_type == DataType::Utf8 && !is_utf8(buffers[0].typed_data(), &buffers[1]) {
            return Err(Misfit::not_utf8(buffers[0].typed_data(), &buffers[1]));
        }
        Ok(array(data_type, rows, buffers, nulls))
    }
}

/// The buffers of a column as an array.
fn array(data_type: DataType, rows: usize, buffers: Vec<Buffer>, nulls: Option<NullBuffer>) -> ArrayRef {
    let builder = ArrayData::builder(data_type).len(rows).nulls(nulls).buffers(buffers);
    // SAFETY: each buffer has a value for each row, of the type that `Values::data_type` says; offsets ascend from 0 to
    // the data's end; text was found to be UTF-8.
    make_array(unsafe { builder.build_unchecked() })
}

/// Appends a value as text: numbers in the shortest form that reads back unchanged, blobs in SQL's form.
fn write(to: &mut Vec<u8>, cell: Cell<'_>) {
    // Writing to a Vec cannot fail.
    let _ = match cell {
        Cell::Null => Ok(()),
        Cell::Integer(number) => write!(to, "{number}"),
        Cell::Real(number) => write!(to, "{number:?}"),
        Cell::Text(text) => to.write_all(text),
        Cell::Blob(bytes) => {
            to.extend_from_slice(b"X'");
            bytes.iter().for_each(|byte| {
                let _ = write!(to, "{byte:02X}");
            });
            to.write_all(b"'")
        }
    };
}

/// Whether every value is UTF-8: the whole buffer is, and no value begins within a character.
fn is_utf8(offsets: &[i32], data: &[u8]) -> bool {
    let Ok(text) = simdutf8::basic::from_utf8(data) else { return false };
    text.is_ascii() || offsets.iter().all(|offset| text.is_char_boundary(*offset as usize))
}
