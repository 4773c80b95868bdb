//! Arrays in the Arrow type that a table's column is received in. Each value is exact, or an error.

mod nested;
mod range;
mod scalar;
mod value;

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType, Field, FieldRef};

use super::kind::ColumnMeaning;
use super::misfit::ValueMisfit;
use super::unsupported_column;
use crate::Error;

/// A column of a table that rows are written into.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ArrayTarget {
    /// The type in which its values are sent, with Arrow's extension types.
    pub(crate) field: FieldRef,
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

/// The database's names of a type.
#[derive(Clone, Copy)]
struct TypeNames<'a> {
    /// Empty for a part of a struct or a map, because names within their text are not looked for.
    own: &'a str,
    /// The name of the type of the whole column, for errors.
    column: &'a str,
}

impl<'a> TypeNames<'a> {
    /// Those of the items of a list.
    fn of_items(self) -> Self {
        Self { own: nested::item_type(self.own), ..self }
    }

    /// Those of a part of a struct or a map.
    fn of_part(self) -> Self {
        Self { own: "", ..self }
    }
}

impl ArrayTarget {
    /// Whether values can be written exactly, or are refused one by one.
    ///
    /// # Errors
    /// They cannot.
    pub(crate) fn check(&self, field: &Field) -> Result<(), Error> {
        if accepts(field, &self.field, &self.type_name) {
            return Ok(());
        }
        let what = format!("the table's column of type {} cannot hold these values exactly", self.type_name);
        let hint = "convert the data: dtype={…: …}; spec/TYPES.md lists what a column accepts";
        Err(unsupported_column(field.name(), &what, hint))
    }

    /// The values as an array of the column's type. `field` is the batch's column.
    ///
    /// # Errors
    /// A value has no exact form.
    pub(crate) fn convert(&self, array: &ArrayRef, field: &Field) -> Result<ArrayRef, ConversionError> {
        convert(array, field, &self.field, TypeNames { own: &self.type_name, column: &self.type_name })
    }
}

/// The columns of a batch in the types of a table's columns: what `convert` makes of each, which gets its place.
/// `before` rows came before this batch.
///
/// # Errors
/// A value has no exact form. The error is that of the first such row, whichever column it is in.
pub(crate) fn convert_columns(
    batch: &RecordBatch,
    before: u64,
    convert: impl Fn(usize, &ArrayRef, &Field) -> Result<ArrayRef, ConversionError>,
) -> Result<Vec<ArrayRef>, Error> {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns()).enumerate();
    let columns = columns.map(|(place, (field, array))| convert(place, array, field));
    all_or_first(columns).map_err(|(place, error)| match error {
        ConversionError::Value(row, misfit) => misfit.at(schema.field(place).name(), before + row as u64 + 1),
        ConversionError::Types(error) => error,
    })
}

/// All arrays, or the error of the first row that has one, with the place of its array.
fn all_or_first(
    made: impl Iterator<Item = Result<ArrayRef, ConversionError>>,
) -> Result<Vec<ArrayRef>, (usize, ConversionError)> {
    let mut arrays = Vec::new();
    let mut first: Option<(usize, usize, ValueMisfit)> = None;
    for (place, made) in made.enumerate() {
        match made {
            Ok(array) => arrays.push(array),
            Err(ConversionError::Value(row, misfit)) => {
                if first.as_ref().is_none_or(|(_, before, _)| row < *before) {
                    first = Some((place, row, misfit));
                }
            }
            Err(error) => return Err((place, error)),
        }
    }
    match first {
        Some((place, row, misfit)) => Err((place, ConversionError::Value(row, misfit))),
        None => Ok(arrays),
    }
}

fn accepts(field: &Field, target: &Field, type_name: &str) -> bool {
    if *field.data_type() == DataType::Null {
        return true;
    }
    if let Some(values) = nested::dictionary_values(field) {
        return accepts(&values, target, type_name);
    }
    match (field.data_type(), target.data_type()) {
        (given, DataType::List(wanted) | DataType::FixedSizeList(wanted, _)) => {
            nested::item(given).is_some_and(|item| accepts(item, wanted, nested::item_type(type_name)))
        }
        (DataType::Struct(fields), DataType::Struct(wanted)) => {
            fields.len() == wanted.len()
                && fields
                    .iter()
                    .zip(wanted)
                    .all(|(field, wanted)| field.name() == wanted.name() && accepts(field, wanted, ""))
        }
        (DataType::Map(entries, _), DataType::Map(wanted, _)) => match (entries.data_type(), wanted.data_type()) {
            (DataType::Struct(fields), DataType::Struct(wanted)) => {
                fields.len() == wanted.len()
                    && fields.iter().zip(wanted).all(|(field, wanted)| accepts(field, wanted, ""))
            }
            _ => false,
        },
        // Types without a meaning here, such as unions, go as they are.
        (given, wanted) => {
            let is_same = given == wanted && ColumnMeaning::extension(field) == ColumnMeaning::extension(target);
            is_same || ColumnMeaning::of(field).is_ok_and(|meaning| scalar::accepts(&meaning, target, type_name))
        }
    }
}

/// The array, whose type is that of `field`, in the type of `target`.
fn convert(array: &ArrayRef, field: &Field, target: &Field, names: TypeNames<'_>) -> Result<ArrayRef, ConversionError> {
    if *field.data_type() == DataType::Null {
        return Ok(new_null_array(target.data_type(), array.len()));
    }
    if let Some(values) = nested::dictionary_values(field) {
        return convert(&nested::cast(array, values.data_type(), field)?, &values, target, names);
    }
    match target.data_type() {
        DataType::List(_) | DataType::FixedSizeList(..) | DataType::Struct(_) | DataType::Map(..) => {
            nested::convert(array, field, target.data_type(), names)
        }
        _ => scalar::convert(array, field, target.data_type(), names),
    }
}

#[cfg(test)]
mod tests;
