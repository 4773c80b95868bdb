//! Compares the meaning of two columns. Values under a NULL have no meaning.

use std::ops::Range;

use bytes::Bytes;
use colonnade_wire::{Column, Field, Layout, Values};

/// Whether all rows are equal, floats bit for bit.
pub fn same(field: &Field, left: &Column<Bytes>, right: &Column<Bytes>) -> bool {
    left.rows == right.rows && (0..left.rows).all(|row| same_row(field, (left, row), (right, row)))
}

/// Rows of the column and of all nested columns.
pub fn rows_in_all(column: &Column<Bytes>) -> usize {
    let children = match &column.values {
        Values::List { child, .. } | Values::FixedList(child) | Values::Dictionary { values: child, .. } => {
            rows_in_all(child)
        }
        Values::Struct(children) => children.iter().map(rows_in_all).fold(0, usize::saturating_add),
        _ => 0,
    };
    column.rows.saturating_add(children)
}

type Place<'a> = (&'a Column<Bytes>, usize);

fn same_row(field: &Field, left: Place<'_>, right: Place<'_>) -> bool {
    let valid = |(column, row): Place<'_>| column.validity.as_ref().is_none_or(|bits| bits.bit(row));
    if !valid(left) || !valid(right) {
        return valid(left) == valid(right);
    }
    let layout = field.data_type.layout();
    let items = |left: (&Column<Bytes>, Range<usize>), right: (&Column<Bytes>, Range<usize>)| {
        left.1.len() == right.1.len()
            && left.1.zip(right.1).all(|(a, b)| same_row(&field.children[0], (left.0, a), (right.0, b)))
    };
    match (&left.0.values, &right.0.values) {
        (Values::None, Values::None) => true,
        (Values::Bits(a), Values::Bits(b)) => a.bit(left.1) == b.bit(right.1),
        (Values::Fixed(a), Values::Fixed(b)) => {
            let width = layout.fixed_width().expect("a layout of one width");
            a[left.1 * width..][..width] == b[right.1 * width..][..width]
        }
        (Values::Bytes { offsets: a, data: left_data }, Values::Bytes { offsets: b, data: right_data }) => {
            left_data[range(layout, a, left.1)] == right_data[range(layout, b, right.1)]
        }
        (Values::List { offsets: a, child: left_child }, Values::List { offsets: b, child: right_child }) => {
            items((left_child, range(layout, a, left.1)), (right_child, range(layout, b, right.1)))
        }
        (Values::FixedList(a), Values::FixedList(b)) => {
            let Layout::FixedList(size) = layout else { return false };
            items((a, left.1 * size..(left.1 + 1) * size), (b, right.1 * size..(right.1 + 1) * size))
        }
        (Values::Struct(a), Values::Struct(b)) => {
            a.len() == b.len()
                && field
                    .children
                    .iter()
                    .zip(a.iter().zip(b))
                    .all(|(field, (a, b))| same_row(field, (a, left.1), (b, right.1)))
        }
        (
            Values::Dictionary { indices: a, values: left_values },
            Values::Dictionary { indices: b, values: right_values },
        ) => {
            let Layout::Dictionary(index) = layout else { return false };
            let (a, b) = (number(a, index.width(), left.1), number(b, index.width(), right.1));
            same_row(&field.children[0], (left_values, a), (right_values, b))
        }
        _ => false,
    }
}

fn range(layout: Layout, offsets: &[u8], row: usize) -> Range<usize> {
    let (Layout::Bytes { offset: width, .. } | Layout::List(width)) = layout else { panic!("offsets without a list") };
    number(offsets, width, row)..number(offsets, width, row + 1)
}

fn number(bytes: &[u8], width: usize, at: usize) -> usize {
    let mut number = [0; 8];
    number[..width].copy_from_slice(&bytes[at * width..(at + 1) * width]);
    usize::from_le_bytes(number)
}
