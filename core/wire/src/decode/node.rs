//! The header of a node and its NULLs; selects the decoder. FORMAT §6.1.

use bytes::Bytes;

use super::reader::{Budget, Reader};
use super::{bytes_column, dictionary, fixed, nested};
use crate::{Bitmap, Column, Damage, DataType, Encoding, Field, Layout, Values};

/// A node's header, read and checked.
pub(super) struct Node {
    pub(super) encoding: Encoding,
    pub(super) parameter: u8,
    pub(super) rows: usize,
    /// One bit for each row, if some rows are NULL and some are not.
    pub(super) validity: Option<Bytes>,
    pub(super) all_null: bool,
    pub(super) sparse: bool,
    /// Rows that are not NULL.
    pub(super) present_rows: usize,
}

impl Node {
    /// Reads the header and the bitmap. `same` finds the bitmap of an earlier column and its number of valid rows.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        rows: usize,
        same: impl FnOnce(usize) -> Result<(Bytes, usize), Damage>,
    ) -> Result<Self, Damage> {
        reader.align(8)?;
        let number = reader.u8()?;
        let encoding = Encoding::from_u8(number).ok_or(Damage::Encoding(number))?;
        let (nulls, parameter) = (reader.u8()?, reader.u8()?);
        reader.zero(1)?;
        let aux = reader.u32()?;
        let mut node =
            Self { encoding, parameter, rows, validity: None, all_null: false, sparse: false, present_rows: rows };
        match nulls {
            0 | 1 if aux != 0 => return Err(Damage::NotZero),
            0 => {}
            1 if number != 0 || parameter != 0 => return Err(Damage::NotZero),
            1 => (node.all_null, node.present_rows) = (true, 0),
            2 | 3 => {
                let bitmap = Bitmap::new(reader.take_shared(rows.div_ceil(8))?);
                reader.align(8)?;
                if !rows.is_multiple_of(8) && bitmap.bytes.last().is_some_and(|last| last >> (rows % 8) != 0) {
                    return Err(Damage::NotZero);
                }
                node.present_rows = bitmap.count_ones(rows);
                if aux as usize != rows - node.present_rows {
                    return Err(Damage::NullCount);
                }
                (node.validity, node.sparse) = (Some(bitmap.bytes), nulls == 3);
            }
            4 | 5 => {
                let (bitmap, present) = same(aux as usize)?;
                (node.validity, node.present_rows, node.sparse) = (Some(bitmap), present, nulls == 5);
            }
            other => return Err(Damage::Nulls(other)),
        }
        Ok(node)
    }

    /// Reads the header of a node inside of another, which cannot refer to other columns.
    pub(super) fn read_child(reader: &mut Reader<'_>, rows: usize) -> Result<Self, Damage> {
        Self::read(reader, rows, |_| Err(Damage::Nulls(4)))
    }

    /// Reads the header of a node of values without NULLs, such as codes or lengths.
    pub(super) fn read_values(reader: &mut Reader<'_>, rows: usize) -> Result<Self, Damage> {
        let node = Self::read_child(reader, rows)?;
        if node.all_null || node.validity.is_some() { Err(Damage::Nulls(2)) } else { Ok(node) }
    }

    /// Number of values that are stored.
    pub(super) fn stored(&self) -> usize {
        if self.all_null {
            0
        } else if self.sparse {
            self.present_rows
        } else {
            self.rows
        }
    }

    /// The bitmap, if only the valid values are stored and must be moved to their rows.
    pub(super) fn scatter(&self) -> Option<Bitmap<&[u8]>> {
        self.validity.as_deref().filter(|_| self.sparse).map(Bitmap::new)
    }

    pub(super) fn no_parameter(&self) -> Result<(), Damage> {
        if self.parameter == 0 { Ok(()) } else { Err(Damage::NotZero) }
    }

    /// The error for an encoding that the layout does not allow.
    pub(super) fn misplaced(&self) -> Damage {
        Damage::Encoding(self.encoding as u8)
    }
}

/// Decodes the rest of a node into its column. With `keep_codes`, strings that are a dictionary stay one.
pub(super) fn decode(
    node: Node,
    reader: &mut Reader<'_>,
    field: &Field,
    keep_codes: bool,
    budget: &mut Budget,
) -> Result<Column<Bytes>, Damage> {
    let layout = field.data_type.layout();
    if node.sparse && !matches!(layout, Layout::Bytes { .. }) && layout.fixed_width().is_none() {
        return Err(Damage::Nulls(3));
    }
    budget.check(node.rows)?;
    if matches!(layout, Layout::None | Layout::Struct | Layout::FixedList(_)) || layout.fixed_width() == Some(0) {
        budget.charge_rows(node.rows)?;
    }
    let values = if node.all_null {
        all_null_values(field, node.rows, budget)?
    } else {
        match layout {
            Layout::None => return Err(Damage::Nulls(0)),
            Layout::Bits => fixed::bits(&node, reader, budget)?,
            Layout::Integer(_) | Layout::Float(_) | Layout::Opaque(_) | Layout::Wide(_) | Layout::Parts(_) => {
                Values::Fixed(fixed::decode(&node, reader, layout, budget)?)
            }
            Layout::Bytes { offset, utf8 }
                if keep_codes && node.encoding == Encoding::Dictionary && node.stored() > 0 =>
            {
                dictionary::codes(&node, reader, offset, utf8, budget)?
            }
            Layout::Bytes { offset, utf8 } => bytes_column::decode(&node, reader, offset, utf8, budget)?,
            _ => nested::decode(&node, reader, field, budget)?,
        }
    };
    reader.align(8)?;
    let validity = if node.all_null && field.data_type != DataType::Null {
        let bytes = node.rows.div_ceil(8);
        budget.take(bytes, 1)?;
        Some(Bitmap::new(Bytes::from(vec![0; bytes])))
    } else {
        node.validity.map(Bitmap::new)
    };
    Ok(Column { rows: node.rows, validity, values })
}

/// Buffers for a column whose rows are all NULL.
fn all_null_values(field: &Field, rows: usize, budget: &mut Budget) -> Result<Values<Bytes>, Damage> {
    let mut zeros = |count: usize, width: usize| -> Result<Bytes, Damage> {
        budget.take(count, width)?;
        // u128 words, for the largest alignment of an Arrow value.
        let bytes = count.checked_mul(width).ok_or(Damage::Offsets)?;
        Ok(super::reader::buffer(vec![0u128; bytes.div_ceil(16)]).slice(..bytes))
    };
    let child = |rows: usize, budget: &mut Budget| -> Result<Box<Column<Bytes>>, Damage> {
        let field = field.children.first().ok_or(Damage::TypeParameter)?;
        all_null_column(field, rows, budget).map(Box::new)
    };
    let layout = field.data_type.layout();
    Ok(match layout {
        Layout::None => Values::None,
        Layout::Bits => Values::Bits(Bitmap::new(zeros(rows.div_ceil(8), 1)?)),
        Layout::Integer(width) | Layout::Float(width) | Layout::Opaque(width) | Layout::Wide(width) => {
            Values::Fixed(zeros(rows, width)?)
        }
        Layout::Parts(parts) => Values::Fixed(zeros(rows, parts.iter().sum())?),
        Layout::Bytes { offset, .. } => Values::Bytes { offsets: zeros(rows + 1, offset)?, data: Bytes::new() },
        Layout::List(offset) => Values::List { offsets: zeros(rows + 1, offset)?, child: child(0, budget)? },
        Layout::FixedList(size) => Values::FixedList(child(rows.checked_mul(size).ok_or(Damage::Offsets)?, budget)?),
        Layout::Struct => {
            let children = field.children.iter().map(|field| all_null_column(field, rows, budget));
            Values::Struct(children.collect::<Result<_, _>>()?)
        }
        Layout::Dictionary(index) => {
            // One value, so that the indices refer to a value even for code that ignores the parent's NULLs.
            Values::Dictionary { indices: zeros(rows, index.width())?, values: child(usize::from(rows > 0), budget)? }
        }
    })
}

fn all_null_column(field: &Field, rows: usize, budget: &mut Budget) -> Result<Column<Bytes>, Damage> {
    let values = all_null_values(field, rows, budget)?;
    // Under a NULL parent a child's own rows have no meaning, so they need no bitmap. A field that is not nullable must
    // not have one.
    Ok(Column { rows, validity: None, values })
}
