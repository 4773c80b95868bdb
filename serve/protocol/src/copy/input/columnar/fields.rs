//! Which of the stream's fields goes into which column. PROTOCOL §10.

use arrow_schema::{DataType, Field, Schema};

use crate::copy::input::{CopyDataError, malformed};
use crate::engine::TargetColumn;
use crate::error::Failure;

/// The metadata key of Arrow's extension types.
const EXTENSION: &str = "ARROW:extension:name";
/// A type whose stored form is a struct of bytes. The engine would take the struct for the value.
const VARIANT: &str = "arrow.parquet.variant";

/// For each of the stream's fields, the position of its column among the targets. `exported` has the targets as COPY …
/// TO sends them.
///
/// # Errors
/// A field names no target, or one that another field names; a listed column has no field; or a field has another type
/// than its column is sent in.
pub(super) fn matched(
    stream: &Schema,
    targets: &[TargetColumn],
    exported: &Schema,
    is_listed: bool,
) -> Result<Vec<usize>, Failure> {
    let mut is_given = vec![false; targets.len()];
    let mut columns = Vec::with_capacity(stream.fields().len());
    for field in stream.fields() {
        let found = targets.iter().position(|target| target.name == *field.name());
        let Some(target) = found else { return Err(CopyDataError::UnknownField(field.name().clone()).into()) };
        if std::mem::replace(&mut is_given[target], true) {
            return Err(CopyDataError::RepeatedField(field.name().clone()).into());
        }
        check_type(field, &targets[target], exported.field(target))?;
        check_texts(field, "colonnade")?;
        columns.push(target);
    }
    if is_listed && let Some(missing) = is_given.iter().position(|is_given| !is_given) {
        return Err(CopyDataError::MissingField(targets[missing].name.clone()).into());
    }
    Ok(columns)
}

/// # Errors
/// The column does not accept the field's type.
fn check_type(field: &Field, target: &TargetColumn, exported: &Field) -> Result<(), Failure> {
    if *field.data_type() == DataType::Null {
        return Ok(());
    }
    if any_field(exported, &|field| extension(field) == Some(VARIANT)) {
        let (column, type_name) = (target.name.clone(), target.type_.name.clone());
        return Err(CopyDataError::NotReceived { column, type_name }.into());
    }
    if is_same_type(field.data_type(), exported.data_type()) {
        return Ok(());
    }
    Err(CopyDataError::Type {
        column: target.name.clone(),
        type_name: target.type_.name.clone(),
        wanted: exported.data_type().to_string(),
        given: field.data_type().to_string(),
    }
    .into())
}

/// The engine takes rows over Arrow's C interface, where a NUL ends a text.
///
/// # Errors
/// The name of a nested field or a time zone has a NUL.
pub(super) fn check_texts(column: &Field, format: &'static str) -> Result<(), Failure> {
    let has_nul = |field: &Field| {
        let zone = matches!(field.data_type(), DataType::Timestamp(_, Some(zone)) if zone.contains('\0'));
        zone || field.name().contains('\0')
    };
    // The column itself gets a name by its position.
    if !any_field(&column.clone().with_name(""), &has_nul) {
        return Ok(());
    }
    Err(malformed(format, "the name of a nested field, or a time zone, has a NUL character"))
}

/// Whether the values of both types mean the same. A time zone is only a way to show values; names matter only within a
/// struct.
fn is_same_type(given: &DataType, wanted: &DataType) -> bool {
    match (given, wanted) {
        (DataType::Timestamp(unit, zone), DataType::Timestamp(wanted_unit, wanted_zone)) => {
            unit == wanted_unit && zone.is_some() == wanted_zone.is_some()
        }
        (DataType::List(item), DataType::List(wanted)) => is_same_field(item, wanted),
        (DataType::FixedSizeList(item, size), DataType::FixedSizeList(wanted, wanted_size)) => {
            size == wanted_size && is_same_field(item, wanted)
        }
        (DataType::Struct(fields), DataType::Struct(wanted)) => {
            fields.len() == wanted.len()
                && fields
                    .iter()
                    .zip(wanted)
                    .all(|(field, wanted)| field.name() == wanted.name() && is_same_field(field, wanted))
        }
        (DataType::Map(entries, _), DataType::Map(wanted, _)) => match (entries.data_type(), wanted.data_type()) {
            (DataType::Struct(fields), DataType::Struct(wanted)) => {
                fields.len() == wanted.len()
                    && fields.iter().zip(wanted).all(|(field, wanted)| is_same_field(field, wanted))
            }
            _ => false,
        },
        _ => given == wanted,
    }
}

/// A nested field keeps its metadata, so it must not name an extension type that its column does not have.
fn is_same_field(given: &Field, wanted: &Field) -> bool {
    is_same_type(given.data_type(), wanted.data_type())
        && extension(given).is_none_or(|name| extension(wanted) == Some(name))
}

fn extension(field: &Field) -> Option<&str> {
    field.metadata().get(EXTENSION).map(String::as_str)
}

fn any_field(field: &Field, is: &dyn Fn(&Field) -> bool) -> bool {
    let within = |field: &Field| any_field(field, is);
    is(field)
        || match field.data_type() {
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::ListView(item)
            | DataType::LargeListView(item)
            | DataType::FixedSizeList(item, _)
            | DataType::Map(item, _) => within(item),
            DataType::Struct(fields) => fields.iter().any(|field| within(field)),
            DataType::Union(fields, _) => fields.iter().any(|(_, field)| within(field)),
            DataType::RunEndEncoded(_, values) => within(values),
            DataType::Dictionary(_, values) => within(&Field::new("", values.as_ref().clone(), true)),
            _ => false,
        }
}
