//! Arrays and composites: `array_send` and `record_send`.

use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Fields};

use super::column::ColumnBuilder;
use super::value::{LENGTH, ValueFault, array, value};
use crate::Error;
use crate::arrays::{Validity, buffer};

/// Bytes of a number.
const NUMBER: usize = 4;

/// Lists of items.
#[derive(Debug)]
pub(super) struct List {
    offsets: Vec<i32>,
    item: Box<ColumnBuilder>,
    /// The start of each item of a group of rows.
    cursors: Vec<usize>,
}

impl List {
    pub(super) fn new(item: ColumnBuilder) -> Self {
        Self { offsets: vec![0], item: Box::new(item), cursors: Vec::new() }
    }

    /// An array consists of its number of dimensions, a flag, the type of the items, the length and start of each
    /// dimension, and the items.
    pub(super) fn decode(
        &mut self,
        block: &[u8],
        cursors: &mut [usize],
        validity: &mut Validity,
    ) -> Result<(), ValueFault> {
        let base = self.offsets.len() - 1;
        let before = self.offsets.last().map_or(0, |last| *last as usize);
        self.cursors.clear();
        for (row, at) in cursors.iter_mut().enumerate() {
            let start = *at + LENGTH;
            match value(block, at)? {
                None => validity.null(base + row),
                Some(array) => self.items(&block[..*at], start, array.len())?,
            }
            let items = before + self.cursors.len();
            self.offsets.push(i32::try_from(items).map_err(|_| {
                ValueFault::Refused(
                    "54000",
                    "a batch has more than 2^31 - 1 items of it: ask for smaller ones".to_owned(),
                )
            })?);
        }
        // The length of each item was checked, so none is read beyond its array.
        Ok(self.item.decode(block, &mut self.cursors)?)
    }

    /// Finds the items of one array, which ends at the end of `block`.
    fn items(&mut self, block: &[u8], start: usize, len: usize) -> Result<(), ValueFault> {
        let number = |place: usize| array(block, start + place * NUMBER).map(i32::from_be_bytes);
        let refused = |what: String| Err(ValueFault::Refused("0A000", format!("{what} has no form as a list")));
        if len < 3 * NUMBER {
            return Err(ValueFault::Damaged);
        }
        let (count, mut at) = match number(0)? {
            0 => (0, start + 3 * NUMBER),
            1 if len < 5 * NUMBER => return Err(ValueFault::Damaged),
            1 => {
                let (count, first) = (number(3)?, number(4)?);
                if first != 1 {
                    return refused(format!("an array that starts at {first}"));
                }
                (count, start + 5 * NUMBER)
            }
            dimensions @ 2.. => return refused(format!("an array of {dimensions} dimensions")),
            ..0 => return Err(ValueFault::Damaged),
        };
        for _ in 0..count {
            self.cursors.push(at);
            value(block, &mut at)?;
        }
        if at == block.len() { Ok(()) } else { Err(ValueFault::Damaged) }
    }

    pub(super) fn finish(&mut self, item: &DataType) -> Result<(Vec<Buffer>, Vec<ArrayData>), Error> {
        let offsets = buffer(&mut self.offsets);
        self.offsets.push(0);
        Ok((vec![offsets], vec![self.item.data(item)?]))
    }
}

/// Rows of attributes.
#[derive(Debug)]
pub(super) struct Struct {
    attributes: Vec<ColumnBuilder>,
}

impl Struct {
    pub(super) fn new(attributes: Vec<ColumnBuilder>) -> Self {
        Self { attributes }
    }

    /// A row consists of the number of attributes, and the type and value of each.
    pub(super) fn decode(
        &mut self,
        block: &[u8],
        cursors: &mut [usize],
        base: usize,
        validity: &mut Validity,
    ) -> Result<(), ValueFault> {
        let starts = cursors.to_vec();
        // For a NULL row, each attribute is read from the row's own length, which is that of a NULL.
        let mut null = vec![false; starts.len()];
        let mut inner = starts.clone();
        for (row, at) in cursors.iter_mut().enumerate() {
            match value(block, at)? {
                None => {
                    validity.null(base + row);
                    null[row] = true;
                }
                Some(attributes) => {
                    let count: [u8; NUMBER] = array(attributes, 0)?;
                    if u32::from_be_bytes(count) as usize != self.attributes.len() {
                        return Err(ValueFault::Damaged);
                    }
                    inner[row] = starts[row] + LENGTH + NUMBER;
                }
            }
        }
        for attribute in &mut self.attributes {
            for (row, at) in inner.iter_mut().enumerate() {
                if null[row] {
                    *at = starts[row];
                } else if cursors[row] - *at < NUMBER {
                    return Err(ValueFault::Damaged);
                } else {
                    *at += NUMBER;
                }
            }
            attribute.decode(block, &mut inner)?;
            // A value must end within its row, because the next attribute begins there.
            if inner.iter().zip(&*cursors).any(|(at, end)| at > end) {
                return Err(ValueFault::Damaged);
            }
        }
        let whole = inner.iter().zip(&*cursors).zip(&null).all(|((at, end), null)| *null || at == end);
        if whole { Ok(()) } else { Err(ValueFault::Damaged) }
    }

    pub(super) fn finish(&mut self, fields: &Fields) -> Result<Vec<ArrayData>, Error> {
        self.attributes.iter_mut().zip(fields).map(|(attribute, field)| attribute.data(field.data_type())).collect()
    }
}
