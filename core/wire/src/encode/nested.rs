//! Lists, structs and dictionary-typed columns, by recursion. FORMAT §6.2, §6.7.

use super::body::{Body, NodeStart};
use super::bytes_column::put_offsets;
use super::column::{Context, Memory};
use super::fixed::typed;
use super::integers;
use super::nulls::Present;
use crate::int::Int;
use crate::{Column, Encoding, Field, Layout, Values};

/// Adds the values of a nested column; `None` if its buffers do not fit.
pub(super) fn put<'a>(
    body: &mut Body<'a>,
    node: NodeStart,
    present: &Present<'a>,
    column: &Column<&'a [u8]>,
    field: &Field,
    memory: &mut Memory,
    context: &mut Context<'a>,
) -> Option<()> {
    let rows = column.rows;
    match (&column.values, field.data_type.layout()) {
        (Values::List { offsets, child }, Layout::List(4)) => {
            put_list::<i32>(body, node, rows, offsets, child, field.children.first()?, memory, context)
        }
        (Values::List { offsets, child }, Layout::List(_)) => {
            put_list::<i64>(body, node, rows, offsets, child, field.children.first()?, memory, context)
        }
        (Values::FixedList(child), Layout::FixedList(size)) if child.rows == rows.checked_mul(size)? => {
            context.child(body, child, field.children.first()?, memory.child(0))
        }
        (Values::Struct(children), Layout::Struct) if children.len() == field.children.len() => {
            for (index, (child, field)) in children.iter().zip(&field.children).enumerate() {
                if child.rows != rows {
                    return None;
                }
                context.child(body, child, field, memory.child(index))?;
                body.align(8);
            }
            Some(())
        }
        (Values::Dictionary { indices, values }, Layout::Dictionary(index)) => {
            let indices = indices.get(..rows * index.width())?;
            body.put_u64(values.rows as u64);
            match index.width() {
                1 => put_indices::<i8>(body, present, indices, context),
                2 => put_indices::<i16>(body, present, indices, context),
                4 => put_indices::<i32>(body, present, indices, context),
                _ => put_indices::<i64>(body, present, indices, context),
            }
            context.child(body, values, field.children.first()?, memory.child(0))
        }
        _ => None,
    }
}

#[allow(clippy::too_many_arguments, reason = "a list is two columns and their field")]
fn put_list<'a, O: Int>(
    body: &mut Body<'a>,
    node: NodeStart,
    rows: usize,
    offsets: &'a [u8],
    child: &Column<&'a [u8]>,
    field: &Field,
    memory: &mut Memory,
    context: &mut Context<'a>,
) -> Option<()> {
    // Arrow allows an empty array without its one offset.
    const NO_OFFSET: &[u8] = &[0; 8];
    let offsets: &'a [u8] = if rows == 0 { NO_OFFSET } else { offsets };
    let offsets = offsets.get(..(rows + 1) * O::BYTES)?;
    let at = |row: usize| O::read_le(&offsets[row * O::BYTES..]);
    let (first, last) = (usize::try_from(at(0).to_bits()).ok()?, usize::try_from(at(rows).to_bits()).ok()?);
    let items = child.slice(field, first, last.checked_sub(first)?)?;
    if context.plain() || !context.may(Encoding::Lengths) {
        body.put_u64(items.rows as u64);
        body.align(64);
        put_offsets::<O>(body, offsets);
        body.align(8);
    } else {
        let lengths: Vec<i32> = (0..rows).map(|row| at(row + 1).minus(at(row)).to_bits() as i32).collect();
        if lengths.iter().any(|&length| length < 0) {
            return None;
        }
        body.set(node, Encoding::Lengths, 0);
        body.put_u64(items.rows as u64);
        integers::put_node(body, &lengths, context);
    }
    context.child(body, &items, field, memory.child(0))
}

fn put_indices<'a, T: Int>(body: &mut Body<'a>, present: &Present<'a>, indices: &'a [u8], context: &Context<'_>) {
    let indices = typed::<T>(indices);
    integers::put_node(body, present.pick(&indices).as_deref().unwrap_or(&indices), context);
}
