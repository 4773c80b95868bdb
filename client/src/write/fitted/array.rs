//! One array in another type. Nested arrays are taken apart; `leaf` has the values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, ListArray, MapArray, StructArray, new_null_array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer, OffsetBuffer};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, FieldRef};

use super::leaf;
use crate::write::misfit::ValueMisfit;

/// Why an array cannot have the type.
#[derive(Debug)]
pub(super) enum Unfit {
    /// The value in a row, counted from 0.
    Value(usize, ValueMisfit),
    /// All of it.
    Failed(String),
}

impl From<ArrowError> for Unfit {
    fn from(cause: ArrowError) -> Self {
        Self::Failed(cause.to_string())
    }
}

/// Whether some values of the first type can be values of the second.
pub(super) fn can_fit(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Null, _) => true,
        (DataType::Dictionary(_, values), _) => can_fit(values, to),
        (DataType::FixedSizeList(item, length), DataType::FixedSizeList(target, wanted)) => {
            length == wanted && can_fit(item.data_type(), target.data_type())
        }
        (_, DataType::List(target)) => item_of(from).is_some_and(|item| can_fit(item.data_type(), target.data_type())),
        (DataType::Struct(fields), DataType::Struct(targets)) => {
            let fit = |(own, target): (&FieldRef, &FieldRef)| {
                own.name() == target.name() && can_fit(own.data_type(), target.data_type())
            };
            fields.len() == targets.len() && fields.iter().zip(targets).all(fit)
        }
        (DataType::Map(entries, _), DataType::Map(targets, _)) => {
            let (DataType::Struct(own), DataType::Struct(targets)) = (entries.data_type(), targets.data_type()) else {
                return false;
            };
            let fit = |(own, target): (&FieldRef, &FieldRef)| can_fit(own.data_type(), target.data_type());
            own.len() == targets.len() && own.iter().zip(targets).all(fit)
        }
        _ => leaf::can_fit(from, to),
    }
}

fn item_of(data_type: &DataType) -> Option<&FieldRef> {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => Some(item),
        _ => None,
    }
}

/// The array in the type. `live` says which rows have a meaning; all have without it. What is below a NULL has none.
pub(super) fn fit(
    array: &ArrayRef,
    to: &DataType,
    live: Option<&BooleanBuffer>,
    shown: &str,
) -> Result<ArrayRef, Unfit> {
    match (array.data_type(), to) {
        (DataType::Null, _) => Ok(new_null_array(to, array.len())),
        (DataType::Dictionary(_, values), _) => fit(&cast(array, values)?, to, live, shown),
        (DataType::FixedSizeList(..), DataType::FixedSizeList(target, length)) => {
            fixed_lists(array, target, *length, live, shown)
        }
        (from, DataType::List(target)) if item_of(from).is_some() => lists(array, target, live, shown),
        (DataType::Struct(_), DataType::Struct(_)) => {
            structs(array.as_struct(), to, live, shown).map(|made| Arc::new(made) as _)
        }
        (DataType::Map(..), DataType::Map(target, sorted)) => maps(array.as_map(), target, *sorted, live, shown),
        _ => leaf::fit(array, to, live, shown),
    }
}

/// The array in a type of the same values.
fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, Unfit> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(array, to, &options)?)
}

/// The rows that are neither NULL nor below a NULL.
pub(super) fn meant(nulls: Option<&NullBuffer>, live: Option<&BooleanBuffer>) -> Option<BooleanBuffer> {
    match (nulls, live) {
        (Some(nulls), Some(live)) => Some(nulls.inner() & live),
        (Some(nulls), None) => Some(nulls.inner().clone()),
        (None, live) => live.cloned(),
    }
}

fn lists(array: &ArrayRef, target: &FieldRef, live: Option<&BooleanBuffer>, shown: &str) -> Result<ArrayRef, Unfit> {
    let Some(item) = item_of(array.data_type()) else { return Err(Unfit::Failed("it has no lists".to_owned())) };
    let plain = cast(array, &DataType::List(item.clone()))?;
    let list = plain.as_list::<i32>();
    let (offsets, nulls) = (list.offsets(), list.nulls());
    let rows = meant(nulls, live);
    let items = ranges(offsets, rows.as_ref(), list.values().len());
    let values =
        fit(list.values(), target.data_type(), Some(&items), shown).map_err(|unfit| of_parent(unfit, offsets))?;
    Ok(Arc::new(ListArray::try_new(nullable(target), offsets.clone(), values, nulls.cloned())?))
}

fn maps(
    map: &MapArray,
    target: &FieldRef,
    sorted: bool,
    live: Option<&BooleanBuffer>,
    shown: &str,
) -> Result<ArrayRef, Unfit> {
    let offsets = map.offsets();
    let rows = meant(map.nulls(), live);
    let items = ranges(offsets, rows.as_ref(), map.entries().len());
    let entries =
        structs(map.entries(), target.data_type(), Some(&items), shown).map_err(|unfit| of_parent(unfit, offsets))?;
    Ok(Arc::new(MapArray::try_new(target.clone(), offsets.clone(), entries, map.nulls().cloned(), sorted)?))
}

fn fixed_lists(
    array: &ArrayRef,
    target: &FieldRef,
    length: i32,
    live: Option<&BooleanBuffer>,
    shown: &str,
) -> Result<ArrayRef, Unfit> {
    let list = array.as_fixed_size_list();
    let per = usize::try_from(length).unwrap_or_default();
    let rows = meant(list.nulls(), live);
    let items = rows.map(|rows| BooleanBuffer::collect_bool(list.len() * per, |item| rows.value(item / per)));
    let values = list.values().slice(0, list.len() * per);
    let values = fit(&values, target.data_type(), items.as_ref(), shown).map_err(|unfit| match unfit {
        Unfit::Value(item, misfit) => Unfit::Value(item / per, misfit),
        failed @ Unfit::Failed(_) => failed,
    })?;
    Ok(Arc::new(FixedSizeListArray::try_new(nullable(target), length, values, list.nulls().cloned())?))
}

fn structs(
    array: &StructArray,
    to: &DataType,
    live: Option<&BooleanBuffer>,
    shown: &str,
) -> Result<StructArray, Unfit> {
    let DataType::Struct(targets) = to else { return Err(Unfit::Failed("it is no struct".to_owned())) };
    let rows = meant(array.nulls(), live);
    let columns = array.columns().iter().zip(targets);
    let columns = columns.map(|(column, target)| fit(column, target.data_type(), rows.as_ref(), shown));
    let columns = columns.collect::<Result<Vec<_>, Unfit>>()?;
    Ok(StructArray::try_new_with_length(targets.clone(), columns, array.nulls().cloned(), array.len())?)
}

/// Which items belong to rows that are meant.
fn ranges(offsets: &OffsetBuffer<i32>, rows: Option<&BooleanBuffer>, length: usize) -> BooleanBuffer {
    let mut items = BooleanBufferBuilder::new(length);
    items.resize(length);
    for (row, ends) in offsets.windows(2).enumerate() {
        if rows.is_none_or(|rows| rows.value(row)) {
            for item in ends[0] as usize..ends[1] as usize {
                items.set_bit(item, true);
            }
        }
    }
    items.finish()
}

/// The misfit of an item, as one of the row that it belongs to.
fn of_parent(unfit: Unfit, offsets: &OffsetBuffer<i32>) -> Unfit {
    match unfit {
        Unfit::Value(item, misfit) => {
            let after = offsets.partition_point(|offset| *offset as usize <= item);
            Unfit::Value(after.saturating_sub(1), misfit)
        }
        failed @ Unfit::Failed(_) => failed,
    }
}

fn nullable(field: &FieldRef) -> FieldRef {
    if field.is_nullable() { field.clone() } else { Arc::new(field.as_ref().clone().with_nullable(true)) }
}
