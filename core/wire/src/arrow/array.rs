//! Arrays from decoded columns.

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::DataType as ArrowType;
use bytes::Bytes;

use super::schema::field_to_arrow;
use crate::{Column, DataType, Field, Values};

/// The array of a decoded column, over the same buffers.
///
/// `column` must come from [`EncodedChunk::column`](crate::EncodedChunk::column) or `column_with_codes` for a schema with
/// this `field`. What these functions have checked (lengths, offsets, UTF-8, indices) is not checked again. Codes have
/// the type `UInt32`.
pub fn array_from_column(field: &Field, column: Column<Bytes>) -> ArrayRef {
    make_array(data(field, column))
}

fn data(field: &Field, column: Column<Bytes>) -> ArrayData {
    let rows = column.rows;
    let mut data_type = field_to_arrow(field).data_type().clone();
    let nulls =
        column.validity.map(|bits| NullBuffer::new(BooleanBuffer::new(Buffer::from(bits.bytes), bits.offset, rows)));
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0 && field.data_type != DataType::Null);
    let (buffers, children): (Vec<Bytes>, Vec<ArrayData>) = match column.values {
        Values::None => (vec![], vec![]),
        Values::Bits(bits) => (vec![bits.bytes], vec![]),
        Values::Fixed(values) => (vec![values], vec![]),
        Values::Bytes { offsets, data } => (vec![offsets, data], vec![]),
        Values::List { offsets, child } => (vec![offsets], vec![self::data(&field.children[0], *child)]),
        Values::FixedList(child) => (vec![], vec![self::data(&field.children[0], *child)]),
        Values::Struct(children) => {
            let children = field.children.iter().zip(children).map(|(field, child)| data(field, child));
            (vec![], children.collect())
        }
        Values::Dictionary { indices, values } => {
            if field.children.is_empty() {
                data_type = ArrowType::Dictionary(Box::new(ArrowType::UInt32), Box::new(data_type));
            }
            (vec![indices], vec![data(field.children.first().unwrap_or(field), *values)])
        }
    };
    let builder = ArrayDataBuilder::new(data_type)
        .len(rows)
        .nulls(nulls)
        .buffers(buffers.into_iter().map(Buffer::from).collect())
        .child_data(children)
        // If the message was not received at an aligned address, its buffers are copied here.
        .align_buffers(true);
    // SAFETY: the decoder has checked the buffers for the field's type: their lengths, that offsets ascend within their
    // data, that text is UTF-8 and that indices of valid rows are in range.
    unsafe { builder.build_unchecked() }
}
