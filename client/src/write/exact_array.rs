//! Arrays in the Arrow type that a table's column is received in. Each value is exact, or an error.

mod nested;
mod scalar;
mod value;

use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::{DataType, Field};

use super::kind::ColumnMeaning;
use super::misfit::ValueMisfit;
use super::unsupported_column;
use crate::Error;

/// A column of a table that rows are written into.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ArrayTarget {
    /// The type in which its values are sent.
    pub(crate) data_type: DataType,
    /// The database's name of its type.
    pub(crate) type_name: String,
}

/// Why a batch's column cannot be converted.
#[derive(Debug)]
pub(crate) enum ConversionError {
    /// The value of a row, counted from 0 within the batch.
    Value(usize, ValueMisfit),
    /// The types; `accepts` refuses them before.
    Types(Error),
}

impl ArrayTarget {
    /// Whether values can be written exactly, or are refused one by one.
    ///
    /// # Errors
    /// They cannot.
    pub(crate) fn check(&self, field: &Field) -> Result<(), Error> {
        if self.accepts(field, &self.data_type, &self.type_name) {
            return Ok(());
        }
        let what = format!("the table's column of type {} cannot hold these values exactly", self.type_name);
        let hint = "convert the data: dtype={…: …}; spec/TYPES.md lists what a column accepts";
        Err(unsupported_column(field.name(), &what, hint))
    }

    fn accepts(&self, field: &Field, target: &DataType, type_name: &str) -> bool {
        if *field.data_type() == DataType::Null || is_same_type(field.data_type(), target) {
            return true;
        }
        match (nested::item(field.data_type()), target) {
            (Some(item), DataType::List(wanted) | DataType::FixedSizeList(wanted, _)) => {
                return self.accepts(item, wanted.data_type(), nested::item_type(type_name));
            }
            (None, _) => {}
            _ => return false,
        }
        match (field.data_type(), target) {
            (DataType::Struct(fields), DataType::Struct(wanted)) => {
                fields.len() == wanted.len()
                    && fields.iter().zip(wanted).all(|(field, wanted)| {
                        field.name() == wanted.name() && self.accepts(field, wanted.data_type(), "")
                    })
            }
            (DataType::Map(entries, _), DataType::Map(wanted, _)) => match (entries.data_type(), wanted.data_type()) {
                (DataType::Struct(fields), DataType::Struct(wanted)) => {
                    let pairs = fields.iter().zip(wanted);
                    pairs.into_iter().all(|(field, wanted)| self.accepts(field, wanted.data_type(), ""))
                }
                _ => false,
            },
            _ => ColumnMeaning::of(field).is_ok_and(|meaning| scalar::accepts(&meaning, target, type_name)),
        }
    }

    /// The values as an array of the column's type. `field` is the batch's column.
    ///
    /// # Errors
    /// A value has no exact form.
    pub(crate) fn convert(&self, array: &ArrayRef, field: &Field) -> Result<ArrayRef, ConversionError> {
        convert(array, field, &self.data_type, &self.type_name)
    }
}

fn convert(array: &ArrayRef, field: &Field, target: &DataType, type_name: &str) -> Result<ArrayRef, ConversionError> {
    if *field.data_type() == DataType::Null {
        return Ok(new_null_array(target, array.len()));
    }
    // A text for a UUID has several forms.
    if is_same_type(field.data_type(), target) && type_name != scalar::UUID {
        return Ok(array.clone());
    }
    match target {
        DataType::List(_) | DataType::FixedSizeList(..) | DataType::Struct(_) | DataType::Map(..) => {
            nested::convert(array, field, target, type_name)
        }
        _ => scalar::convert(array, field, target, type_name),
    }
}

/// Whether the values of both types mean the same. A time zone is only a way to show values; names matter only within a
/// struct.
fn is_same_type(given: &DataType, target: &DataType) -> bool {
    let is_same = |given: &Field, target: &Field| {
        // An extension type may have another meaning.
        ColumnMeaning::extension(given).is_none() && is_same_type(given.data_type(), target.data_type())
    };
    match (given, target) {
        (DataType::Timestamp(unit, zone), DataType::Timestamp(wanted, wanted_zone)) => {
            unit == wanted && zone.is_some() == wanted_zone.is_some()
        }
        (DataType::List(item), DataType::List(wanted)) => is_same(item, wanted),
        (DataType::FixedSizeList(item, size), DataType::FixedSizeList(wanted, wanted_size)) => {
            size == wanted_size && is_same(item, wanted)
        }
        (DataType::Struct(fields), DataType::Struct(wanted)) => {
            fields.len() == wanted.len()
                && fields
                    .iter()
                    .zip(wanted)
                    .all(|(given, wanted)| given.name() == wanted.name() && is_same(given, wanted))
        }
        (DataType::Map(entries, _), DataType::Map(wanted, _)) => match (entries.data_type(), wanted.data_type()) {
            (DataType::Struct(fields), DataType::Struct(wanted)) => {
                fields.len() == wanted.len() && fields.iter().zip(wanted).all(|(given, wanted)| is_same(given, wanted))
            }
            _ => false,
        },
        // The labels of an enum arrive as a new dictionary for each chunk.
        (DataType::Dictionary(..), _) => false,
        _ => given == target,
    }
}

#[cfg(test)]
mod tests;
