//! From the checked results of a worker to an array of Arrow.

use std::sync::Arc;

use arrow_array::builder::{BooleanBufferBuilder, LargeStringBuilder, StringBuilder, StringViewBuilder};
use arrow_array::{ArrayRef, BooleanArray, make_array};
use arrow_data::ArrayDataBuilder;
use arrow_schema::DataType;
use colonnade_udf::{OutputColumn, OutputData};

use super::arguments::Chosen;

/// The largest size of the texts of one array with offsets of 4 bytes.
const LARGEST_TEXTS: usize = i32::MAX as usize;

/// The results of several calls in one array.
pub(super) struct Results {
    type_: DataType,
    values: ResultValues,
    /// A bit for each row; `None` while no row is NULL.
    validity: Option<BooleanBufferBuilder>,
    rows: usize,
}

enum ResultValues {
    Booleans(BooleanBufferBuilder),
    /// Values of this width.
    Fixed(Vec<u8>, usize),
    /// Decimals of this width, which workers give in 16 bytes. They have at most as many digits as their type.
    Decimals(Vec<u8>, usize),
    Texts(StringBuilder),
    LargeTexts(LargeStringBuilder),
    TextViews(StringViewBuilder),
}

impl Results {
    /// An array of this type without rows.
    ///
    /// # Errors
    /// If no function can give the type.
    pub fn new(type_: &DataType, rows: usize) -> Result<Self, String> {
        let values = match type_ {
            DataType::Boolean => ResultValues::Booleans(BooleanBufferBuilder::new(rows)),
            DataType::Utf8 => ResultValues::Texts(StringBuilder::new()),
            DataType::LargeUtf8 => ResultValues::LargeTexts(LargeStringBuilder::new()),
            DataType::Utf8View => ResultValues::TextViews(StringViewBuilder::new()),
            DataType::Decimal32(..) => ResultValues::Decimals(Vec::with_capacity(rows * 4), 4),
            DataType::Decimal64(..) => ResultValues::Decimals(Vec::with_capacity(rows * 8), 8),
            other => {
                let width = other.primitive_width().ok_or_else(|| format!("no function gives {other}"))?;
                ResultValues::Fixed(Vec::with_capacity(rows * width), width)
            }
        };
        Ok(Self { type_: type_.clone(), values, validity: None, rows: 0 })
    }

    /// Adds rows that are NULL.
    pub fn add_nulls(&mut self, rows: usize) {
        self.mark(rows, |_| false);
        for _ in 0..rows {
            self.values.add_null();
        }
    }

    /// Adds the result of a call for the chosen ones of these rows. The others are NULL.
    ///
    /// # Errors
    /// If it has another layout than the type, or is too large for it.
    pub fn add(&mut self, column: &OutputColumn<'_>, chosen: &Chosen, rows: usize) -> Result<(), String> {
        let Chosen::Rows(called) = chosen else {
            if column.validity.is_some() || self.validity.is_some() {
                self.mark(rows, |row| column.is_valid(row));
            }
            self.rows += if self.validity.is_some() { 0 } else { rows };
            return self.values.extend(column, rows);
        };
        let mut sources = vec![None; rows];
        called.iter().enumerate().for_each(|(source, row)| sources[*row as usize] = Some(source));
        self.mark(rows, |row| sources[row].is_some_and(|source| column.is_valid(source)));
        for source in sources {
            match source {
                Some(source) => self.values.add_one(column, source)?,
                None => self.values.add_null(),
            }
        }
        Ok(())
    }

    /// Adds to the bitmap, which begins now if there was none.
    fn mark(&mut self, rows: usize, is_valid: impl Fn(usize) -> bool) {
        let before = self.rows;
        let validity = self.validity.get_or_insert_with(|| {
            let mut bits = BooleanBufferBuilder::new(before + rows);
            bits.append_n(before, true);
            bits
        });
        (0..rows).for_each(|row| validity.append(is_valid(row)));
        self.rows += rows;
    }

    /// The array.
    ///
    /// # Errors
    /// If it is not valid, which is a defect.
    pub fn finish(self) -> Result<ArrayRef, String> {
        let nulls = self.validity.map(|mut bits| bits.finish());
        let (values, width) = match self.values {
            ResultValues::Booleans(mut bits) => {
                return Ok(Arc::new(BooleanArray::new(bits.finish(), nulls.map(Into::into))));
            }
            ResultValues::Texts(mut texts) => return Ok(Arc::new(texts.finish())),
            ResultValues::LargeTexts(mut texts) => return Ok(Arc::new(texts.finish())),
            ResultValues::TextViews(mut texts) => return Ok(Arc::new(texts.finish())),
            ResultValues::Fixed(values, width) | ResultValues::Decimals(values, width) => (values, width),
        };
        let data = ArrayDataBuilder::new(self.type_)
            .len(values.len() / width)
            .nulls(nulls.map(Into::into))
            .add_buffer(values.into())
            .align_buffers(true);
        data.build().map(make_array).map_err(|error| error.to_string())
    }
}

impl ResultValues {
    fn add_null(&mut self) {
        match self {
            Self::Booleans(bits) => bits.append(false),
            Self::Fixed(values, width) | Self::Decimals(values, width) => values.resize(values.len() + *width, 0),
            Self::Texts(texts) => texts.append_null(),
            Self::LargeTexts(texts) => texts.append_null(),
            Self::TextViews(texts) => texts.append_null(),
        }
    }

    /// Adds all rows of a result.
    fn extend(&mut self, column: &OutputColumn<'_>, rows: usize) -> Result<(), String> {
        match (&mut *self, &column.data) {
            (Self::Fixed(values, width), OutputData::Fixed(found))
                if found.width() == *width && found.len() == rows =>
            {
                let before = values.len();
                values.resize(before + rows * *width, 0);
                found.copy_to(0, &mut values[before..]);
                Ok(())
            }
            _ => (0..rows).try_for_each(|row| self.add_one(column, row)),
        }
    }

    fn add_one(&mut self, column: &OutputColumn<'_>, row: usize) -> Result<(), String> {
        if !column.is_valid(row) {
            self.add_null();
            return Ok(());
        }
        match (&mut *self, &column.data) {
            (Self::Booleans(bits), OutputData::Fixed(found)) => {
                let mut byte = [0];
                found.copy_to(row, &mut byte);
                bits.append(byte == [1]);
            }
            (Self::Fixed(values, width), OutputData::Fixed(found)) if found.width() == *width => {
                let before = values.len();
                values.resize(before + *width, 0);
                found.copy_to(row, &mut values[before..]);
            }
            (Self::Decimals(values, width), OutputData::Fixed(found)) if found.width() == 16 => {
                let mut wide = [0; 16];
                found.copy_to(row, &mut wide);
                values.extend_from_slice(&wide[..*width]);
            }
            (values, OutputData::Bytes { offsets, bytes }) => {
                let text = &bytes[offsets[row] as usize..offsets[row + 1] as usize];
                let text = std::str::from_utf8(text).map_err(|_| "a text is not UTF-8")?;
                values.add_text(text)?;
            }
            _ => return Err("the result has another layout than its type".to_owned()),
        }
        Ok(())
    }

    fn add_text(&mut self, text: &str) -> Result<(), String> {
        match self {
            Self::Texts(texts) if texts.values_slice().len() + text.len() > LARGEST_TEXTS => {
                return Err(format!("the texts of one column of a batch are more than {LARGEST_TEXTS} bytes"));
            }
            Self::Texts(texts) => texts.append_value(text),
            Self::LargeTexts(texts) => texts.append_value(text),
            Self::TextViews(texts) => texts.try_append_value(text).map_err(|error| error.to_string())?,
            Self::Booleans(_) | Self::Fixed(..) | Self::Decimals(..) => {
                return Err("the result has another layout than its type".to_owned());
            }
        }
        Ok(())
    }
}
