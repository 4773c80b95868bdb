//! Lists, structs and maps.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, ListArray, MapArray, StructArray, make_array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields};

use super::{ConversionError, TypeNames, all_or_first, convert as convert_any};
use crate::write::misfit::ValueMisfit;
use crate::{Error, ErrorKind};

/// The items of a list's type.
pub(super) fn item(data_type: &DataType) -> Option<&FieldRef> {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => Some(item),
        _ => None,
    }
}

/// The field of a dictionary's values, if these are nested. A cast makes single values plain.
pub(super) fn dictionary_values(field: &Field) -> Option<Field> {
    match field.data_type() {
        DataType::Dictionary(_, values) if values.is_nested() => {
            Some(field.clone().with_data_type(values.as_ref().clone()))
        }
        _ => None,
    }
}

/// The name of the items' type in `INTEGER[]` or `INTEGER[3]`.
pub(super) fn item_type(type_name: &str) -> &str {
    match type_name.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        Some((item, _)) => item,
        None => "",
    }
}

pub(super) fn convert(
    array: &ArrayRef,
    field: &Field,
    target: &DataType,
    names: TypeNames<'_>,
) -> Result<ArrayRef, ConversionError> {
    match (target, field.data_type()) {
        (DataType::List(wanted), _) => list(array, field, wanted, names),
        (DataType::FixedSizeList(wanted, size), _) => fixed_size_list(array, field, wanted, *size, names),
        (DataType::Struct(wanted), DataType::Struct(fields)) => {
            let parent = array.as_struct();
            let columns = fields.iter().zip(wanted).zip(parent.columns());
            let columns = columns.map(|((field, wanted), column)| {
                convert_any(&masked(column, parent.nulls()), field, wanted, names.of_part())
            });
            let columns = all_or_first(columns).map_err(|(_, error)| error)?;
            let fields: Fields = wanted.iter().zip(&columns).map(|(wanted, column)| field_of(wanted, column)).collect();
            made(field, StructArray::try_new_with_length(fields, columns, parent.nulls().cloned(), array.len()))
        }
        (DataType::Map(wanted, sorted), DataType::Map(entries, _)) => {
            map(array, field, entries, wanted, *sorted, names)
        }
        _ => Err(wrong(field, target)),
    }
}

fn list(array: &ArrayRef, field: &Field, wanted: &FieldRef, names: TypeNames<'_>) -> Result<ArrayRef, ConversionError> {
    let Some(item) = item(field.data_type()) else { return Err(wrong(field, wanted.data_type())) };
    let lists = cast(array, &DataType::List(item.clone()), field)?;
    let lists = lists.as_list::<i32>();
    let (items, offsets) = own_items(lists.values(), lists.offsets(), lists.nulls(), field)?;
    let items = convert_any(&items, item, wanted, names.of_items());
    let items = items.map_err(|error| error.in_row(|at| row_of(&offsets, at)))?;
    made(field, ListArray::try_new(field_of(wanted, &items), offsets, items, lists.nulls().cloned()))
}

fn fixed_size_list(
    array: &ArrayRef,
    field: &Field,
    wanted: &FieldRef,
    size: i32,
    names: TypeNames<'_>,
) -> Result<ArrayRef, ConversionError> {
    let Some(item) = item(field.data_type()) else { return Err(wrong(field, wanted.data_type())) };
    let lists = match field.data_type() {
        DataType::FixedSizeList(_, given) if *given == size => array.clone(),
        _ => {
            let lists = cast(array, &DataType::LargeList(item.clone()), field)?;
            let lists = lists.as_list::<i64>();
            let is_wrong = |row: &usize| lists.is_valid(*row) && lists.value_length(*row) != i64::from(size);
            if let Some(row) = (0..lists.len()).find(is_wrong) {
                let what = format!("a list of {} items", lists.value_length(row));
                return Err(ConversionError::Value(row, ValueMisfit::number(what, names.column)));
            }
            cast(array, &DataType::FixedSizeList(item.clone(), size), field)?
        }
    };
    let (lists, length) = (lists.as_fixed_size_list(), size.max(1) as usize);
    let nulls = lists.nulls().map(|nulls| nulls.expand(length));
    let items = masked(lists.values(), nulls.as_ref());
    let items = convert_any(&items, item, wanted, names.of_items());
    let items = items.map_err(|error| error.in_row(|at| at / length))?;
    made(field, FixedSizeListArray::try_new(field_of(wanted, &items), size, items, lists.nulls().cloned()))
}

fn map(
    array: &ArrayRef,
    field: &Field,
    entries: &Field,
    wanted: &Field,
    sorted: bool,
    names: TypeNames<'_>,
) -> Result<ArrayRef, ConversionError> {
    let (DataType::Struct(given), DataType::Struct(wanted_fields)) = (entries.data_type(), wanted.data_type()) else {
        return Err(wrong(field, wanted.data_type()));
    };
    let map = array.as_map();
    let all: ArrayRef = Arc::new(map.entries().clone());
    let (own, offsets) = own_items(&all, map.offsets(), map.nulls(), field)?;
    let columns = given.iter().zip(wanted_fields).zip(own.as_struct().columns());
    let columns = columns.map(|((given, wanted), column)| convert_any(column, given, wanted, names.of_part()));
    let columns = all_or_first(columns).map_err(|(_, error)| error.in_row(|at| row_of(&offsets, at)))?;
    // Keys stay without NULL.
    let fields = wanted_fields
        .iter()
        .zip(&columns)
        .map(|(wanted, column)| Field::clone(wanted).with_data_type(column.data_type().clone()));
    let fields: Fields = fields.collect();
    let made_map = StructArray::try_new(fields, columns, None).and_then(|entries| {
        let field = Arc::new(wanted.clone().with_data_type(entries.data_type().clone()));
        MapArray::try_new(field, offsets, entries, map.nulls().cloned(), sorted)
    });
    made(field, made_map)
}

impl ConversionError {
    /// The error of an item as that of its row.
    fn in_row(self, row_of: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Value(at, misfit) => Self::Value(row_of(at), misfit),
            other @ Self::Types(_) => other,
        }
    }
}

/// The row of a list's item: the last one that begins before it or with it.
fn row_of(offsets: &OffsetBuffer<i32>, item: usize) -> usize {
    offsets.partition_point(|&offset| offset as usize <= item).saturating_sub(1)
}

/// The field with the type that its column has.
fn field_of(wanted: &Field, column: &ArrayRef) -> FieldRef {
    Arc::new(wanted.clone().with_data_type(column.data_type().clone()).with_nullable(true))
}

/// The column with NULL where its parent is NULL: its values there mean nothing and may be invalid.
fn masked(column: &ArrayRef, parent: Option<&NullBuffer>) -> ArrayRef {
    let Some(parent) = parent.filter(|parent| parent.null_count() > 0) else { return column.clone() };
    if *column.data_type() == DataType::Null {
        return column.clone();
    }
    let nulls = NullBuffer::union(column.nulls(), Some(parent));
    let data = column.to_data().into_builder().nulls(nulls).build();
    // The lengths are equal, so the buffer fits.
    data.map_or_else(|_| column.clone(), make_array)
}

/// The items of those rows that are not NULL, and their offsets: other items mean nothing and may be invalid.
fn own_items(
    items: &ArrayRef,
    offsets: &OffsetBuffer<i32>,
    parent: Option<&NullBuffer>,
    field: &Field,
) -> Result<(ArrayRef, OffsetBuffer<i32>), ConversionError> {
    // Arrow's offsets are never empty.
    let (first, end) = (offsets[0], offsets[offsets.len() - 1]);
    let is_null = |row: usize| parent.is_some_and(|parent| parent.is_null(row));
    let lengths = || offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize).enumerate();
    if parent.is_none_or(|parent| parent.null_count() == 0)
        || lengths().all(|(row, length)| length == 0 || !is_null(row))
    {
        let own = items.slice(first as usize, (end - first) as usize);
        let offsets: Vec<_> = offsets.iter().map(|offset| offset - first).collect();
        return Ok((own, OffsetBuffer::new(offsets.into())));
    }
    let data = items.to_data();
    let mut own =
        MutableArrayData::try_new(vec![&data], false, (end - first) as usize).map_err(|cause| broken(field, &cause))?;
    for (start, end) in parent.into_iter().flat_map(NullBuffer::valid_slices) {
        let (start, end) = (offsets[start] as usize, offsets[end] as usize);
        own.try_extend(0, start, end).map_err(|cause| broken(field, &cause))?;
    }
    let lengths = lengths().map(|(row, length)| if is_null(row) { 0 } else { length });
    Ok((make_array(own.freeze()), OffsetBuffer::from_lengths(lengths)))
}

pub(super) fn cast(array: &ArrayRef, wanted: &DataType, field: &Field) -> Result<ArrayRef, ConversionError> {
    if array.data_type() == wanted {
        return Ok(array.clone());
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, wanted, &options).map_err(|cause| broken(field, &cause))
}

fn made<T: Array + 'static>(field: &Field, made: Result<T, ArrowError>) -> Result<ArrayRef, ConversionError> {
    made.map(|made| Arc::new(made) as ArrayRef).map_err(|cause| broken(field, &cause))
}

fn wrong(field: &Field, target: &DataType) -> ConversionError {
    let message = format!("column {:?}: {} cannot be written as {target}", field.name(), field.data_type());
    ConversionError::Types(Error::new(ErrorKind::Unsupported, message).with_sqlstate("0A000"))
}

pub(super) fn broken(field: &Field, cause: &ArrowError) -> ConversionError {
    let message = format!("column {:?} cannot be converted: {cause}", field.name());
    ConversionError::Types(Error::new(ErrorKind::Unsupported, message).with_sqlstate("0A000"))
}
