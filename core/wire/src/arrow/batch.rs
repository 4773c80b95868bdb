//! Converts batches into columns to encode.

use arrow_array::{Array, ArrayRef, RecordBatch, cast::AsArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::plain_bytes;
use crate::{Bitmap, Column, Values};

/// The columns of `batch`. They borrow its buffers.
///
/// A type that [`schema_from_arrow`](super::schema_from_arrow) refuses becomes a column that
/// [`Encoder::chunk`](crate::Encoder::chunk) refuses.
pub fn columns_from_batch(batch: &RecordBatch) -> Vec<Column<&[u8]>> {
    batch.columns().iter().map(|array| column(array)).collect()
}

pub(super) fn column(array: &ArrayRef) -> Column<&[u8]> {
    Column { rows: array.len(), validity: array.nulls().map(validity), values: values(array) }
}

pub(super) fn validity(nulls: &NullBuffer) -> Bitmap<&[u8]> {
    Bitmap { bytes: nulls.buffer().as_slice(), offset: nulls.offset() }
}

fn values(array: &ArrayRef) -> Values<&[u8]> {
    let boxed = |child| Box::new(column(child));
    match array.data_type() {
        DataType::Boolean => {
            let bits = array.as_boolean().values();
            Values::Bits(Bitmap { bytes: bits.inner().as_slice(), offset: bits.offset() })
        }
        DataType::Utf8 => {
            let array = array.as_string::<i32>();
            Values::Bytes { offsets: array.offsets().inner().inner().as_slice(), data: array.values().as_slice() }
        }
        DataType::LargeUtf8 => {
            let array = array.as_string::<i64>();
            Values::Bytes { offsets: array.offsets().inner().inner().as_slice(), data: array.values().as_slice() }
        }
        DataType::Binary => {
            let array = array.as_binary::<i32>();
            Values::Bytes { offsets: array.offsets().inner().inner().as_slice(), data: array.values().as_slice() }
        }
        DataType::LargeBinary => {
            let array = array.as_binary::<i64>();
            Values::Bytes { offsets: array.offsets().inner().inner().as_slice(), data: array.values().as_slice() }
        }
        DataType::FixedSizeBinary(_) => Values::Fixed(array.as_fixed_size_binary().value_data()),
        DataType::List(_) => {
            let array = array.as_list::<i32>();
            Values::List { offsets: array.offsets().inner().inner().as_slice(), child: boxed(array.values()) }
        }
        DataType::LargeList(_) => {
            let array = array.as_list::<i64>();
            Values::List { offsets: array.offsets().inner().inner().as_slice(), child: boxed(array.values()) }
        }
        DataType::Map(..) => {
            let array = array.as_map();
            let entries = array.entries();
            let child = Column {
                rows: entries.len(),
                validity: entries.nulls().map(validity),
                values: Values::Struct(entries.columns().iter().map(column).collect()),
            };
            Values::List { offsets: array.offsets().inner().inner().as_slice(), child: Box::new(child) }
        }
        DataType::FixedSizeList(..) => Values::FixedList(boxed(array.as_fixed_size_list().values())),
        DataType::Struct(_) => Values::Struct(array.as_struct().columns().iter().map(column).collect()),
        DataType::Dictionary(..) => {
            let array = array.as_any_dictionary();
            match values_of_width(array.keys()) {
                Some(indices) => Values::Dictionary { indices, values: boxed(array.values()) },
                None => Values::None,
            }
        }
        _ => match primitive(array) {
            Some(values) => Values::Fixed(values),
            None => Values::None,
        },
    }
}

fn primitive(array: &ArrayRef) -> Option<&[u8]> {
    values_of_width(array.as_ref())
}

/// The value buffer of a primitive array, starting at its first row.
fn values_of_width(array: &dyn Array) -> Option<&[u8]> {
    use arrow_array::downcast_primitive_array;
    downcast_primitive_array!(
        array => Some(array.values().inner().as_slice()),
        _ => None
    )
}

/// The number of rows for each chunk of `batch`, so that a chunk has at most `max_rows` rows and about `max_bytes`
/// plain bytes, unless a single row is larger. The parts have nearly equal sizes.
pub fn rows_per_chunk(batch: &RecordBatch, max_rows: usize, max_bytes: usize) -> usize {
    rows_per_part((batch.num_rows(), plain_bytes(batch)), max_rows, max_bytes)
}

/// The same for so many rows, which have so many plain bytes together.
pub fn rows_per_part((rows, bytes): (usize, usize), max_rows: usize, max_bytes: usize) -> usize {
    let parts = rows.div_ceil(max_rows.max(1)).max(bytes.div_ceil(max_bytes.max(1))).max(1);
    rows.div_ceil(parts).max(1)
}
