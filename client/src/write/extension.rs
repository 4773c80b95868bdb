//! Arrow's extension types: which of them a table can have. Any other one would be written as the numbers or texts that
//! stand for its values, such as 600 for the month 2020-01.

use arrow_schema::{DataType, Field, FieldRef};

use super::unsupported_column;
use crate::Error;
use crate::arrow_form::{extension, is_known_extension};
use crate::dtype::{self, Dtype};

/// # Errors
/// The column, or a part of it, has an extension type that is not known, or not with such values.
pub(super) fn check(column: &Field) -> Result<(), Error> {
    let Some(unknown) = first_unknown(column) else { return Ok(()) };
    let name = extension(unknown).unwrap_or_default();
    let place = if std::ptr::eq(unknown, column) { "" } else { " within it" };
    let what = format!("the extension type {name:?}{place} has no form in a table");
    let mut ways = Vec::new();
    if name.starts_with("pandas.") {
        ways.push("astype(\"str\") of pandas makes it text".to_owned());
    }
    if name == "arrow.opaque" {
        ways.push("let the query cast it".to_owned());
    }
    if place.is_empty() && !column.data_type().is_nested() {
        let storage = match column.data_type() {
            DataType::FixedSizeBinary(_) => "binary".to_owned(),
            other => dtype::name_of(other),
        };
        if storage.parse::<Dtype>().is_ok() {
            ways.push(format!("dtype={{{:?}: {storage:?}}} writes what Arrow stores for it", column.name()));
        }
    }
    if ways.is_empty() {
        ways.push("convert the column before, or leave it out".to_owned());
    }
    Err(unsupported_column(column.name(), &what, &ways.join("; ")))
}

fn first_unknown(field: &Field) -> Option<&Field> {
    if !is_known_extension(field) {
        return Some(field);
    }
    let child = |field| first_unknown(FieldRef::as_ref(field));
    match field.data_type() {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _)
        | DataType::RunEndEncoded(_, item) => child(item),
        DataType::Struct(fields) => fields.iter().find_map(child),
        DataType::Union(fields, _) => fields.iter().find_map(|(_, field)| child(field)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use super::*;

    fn named(name: &str, data_type: DataType) -> Field {
        let key = arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
        Field::new("a", data_type, true).with_metadata([(key.to_owned(), name.to_owned())])
    }

    #[test]
    fn known_types_need_their_storage() {
        assert!(check(&named("arrow.uuid", DataType::FixedSizeBinary(16))).is_ok());
        assert!(check(&named("arrow.json", DataType::LargeUtf8)).is_ok());
        assert!(check(&named("geoarrow.wkb", DataType::Binary)).is_ok());
        for odd in [named("arrow.uuid", DataType::Int64), named("arrow.json", DataType::Binary)] {
            assert!(check(&odd).is_err());
        }
    }

    #[test]
    fn a_part_is_found_at_every_depth() {
        let period = Arc::new(named("pandas.period", DataType::Int64));
        let list = Arc::new(Field::new("item", DataType::List(period.clone()), true));
        let structure = Field::new("s", DataType::Struct([list].into_iter().collect()), true);
        let error = check(&structure).unwrap_err().to_string();
        assert!(error.contains("\"pandas.period\" within it"), "{error}");
    }
}
