//! From Arrow's arrays to a function process's ring: the rows of a query.

mod layout;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{ArrowDictionaryKeyType, IntervalMonthDayNanoType, UInt8Type, UInt16Type, UInt32Type};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use colonnade_udf::{CallError, CallInputs, ColumnType, LoopbackReply, NodeBuffers, NodeSize, ReplyError};

pub(crate) use layout::column;

/// Where nodes are written: the arguments of a call, or the rows of a function's query.
pub(crate) trait Nodes {
    /// Why a node cannot be written.
    type Error: From<ConversionError>;

    /// The memory of the next node.
    fn node(&mut self, size: NodeSize) -> Result<NodeBuffers<'_>, Self::Error>;
}

/// A value that the type does not have, or an array that is not as its type says.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ConversionError(String);

impl From<ArrowError> for ConversionError {
    fn from(error: ArrowError) -> Self {
        Self(error.to_string())
    }
}

impl Nodes for LoopbackReply<'_> {
    type Error = WriteError<ReplyError>;

    fn node(&mut self, size: NodeSize) -> Result<NodeBuffers<'_>, Self::Error> {
        LoopbackReply::node(self, size).map_err(WriteError::Ring)
    }
}

impl Nodes for CallInputs<'_> {
    type Error = WriteError<CallError>;

    fn node(&mut self, size: NodeSize) -> Result<NodeBuffers<'_>, Self::Error> {
        CallInputs::node(self, size).map_err(WriteError::Ring)
    }
}

/// Why a column cannot be written.
#[derive(Debug)]
pub(crate) enum WriteError<E> {
    /// The ring has no room.
    Ring(E),
    /// A value cannot be converted.
    Value(ConversionError),
}

impl<E> From<ConversionError> for WriteError<E> {
    fn from(error: ConversionError) -> Self {
        Self::Value(error)
    }
}

/// Writes the nodes of a column, whose layout [`column`] has decided for its type.
pub(crate) fn write<N: Nodes>(nodes: &mut N, layout: &ColumnType, array: &ArrayRef) -> Result<(), N::Error> {
    match (layout, array.data_type()) {
        (_, DataType::Null) => {
            let width = layout.width().unwrap_or(0);
            fixed(nodes, &vec![0; array.len() * width], &vec![false; array.len()])
        }
        (_, DataType::Dictionary(key, _)) => match **key {
            DataType::UInt8 => dictionary::<UInt8Type, N>(nodes, array),
            DataType::UInt16 => dictionary::<UInt16Type, N>(nodes, array),
            DataType::UInt32 => dictionary::<UInt32Type, N>(nodes, array),
            _ => Err(unexpected(array)),
        },
        (ColumnType::Boolean, DataType::Boolean) => {
            let values = array.as_boolean();
            let bytes: Vec<u8> =
                (0..values.len()).map(|row| u8::from(values.is_valid(row) && values.value(row))).collect();
            fixed(nodes, &bytes, &valid(array))
        }
        (
            ColumnType::Uuid | ColumnType::Int128 | ColumnType::UInt128,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View,
        ) => {
            let mut bytes = Vec::with_capacity(array.len() * 16);
            let texts = texts(array)?;
            for text in texts {
                let value = text.map_or(Ok([0; 16]), |text| layout::parse(layout, text))?;
                bytes.extend_from_slice(&value);
            }
            fixed(nodes, &bytes, &valid(array))
        }
        (ColumnType::Text | ColumnType::Json, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
            drop(texts(array)?);
            byte_rows(nodes, || texts(array).into_iter().flatten().map(|text| text.map(str::as_bytes)))
        }
        (ColumnType::Blob, DataType::Binary) => byte_rows(nodes, || array.as_binary::<i32>().iter()),
        (ColumnType::Blob, DataType::LargeBinary) => byte_rows(nodes, || array.as_binary::<i64>().iter()),
        (ColumnType::Blob, DataType::BinaryView) => byte_rows(nodes, || array.as_binary_view().iter()),
        (ColumnType::Blob, DataType::FixedSizeBinary(_)) => byte_rows(nodes, || array.as_fixed_size_binary().iter()),
        (ColumnType::Interval, DataType::Interval(_)) => {
            let values = array.as_primitive_opt::<IntervalMonthDayNanoType>().ok_or_else(|| unexpected(array))?;
            let mut bytes = Vec::with_capacity(values.len() * 16);
            for value in values {
                let value = value.unwrap_or_default();
                bytes.extend(value.months.to_le_bytes());
                bytes.extend(value.days.to_le_bytes());
                // DuckDB's intervals have microseconds.
                bytes.extend((value.nanoseconds / 1000).to_le_bytes());
            }
            fixed(nodes, &bytes, &valid(array))
        }
        (ColumnType::List(item), DataType::List(_)) => {
            let lists = array.as_list::<i32>();
            list(nodes, lists.value_offsets(), &valid(array), |nodes, start, length| {
                write(nodes, item, &lists.values().slice(start, length))
            })
        }
        (ColumnType::List(item), DataType::LargeList(_)) => {
            let lists = array.as_list::<i64>();
            list(nodes, lists.value_offsets(), &valid(array), |nodes, start, length| {
                write(nodes, item, &lists.values().slice(start, length))
            })
        }
        (ColumnType::Map(key, value), DataType::Map(..)) => {
            let maps = array.as_map();
            list(nodes, maps.value_offsets(), &valid(array), |nodes, start, length| {
                fixed(nodes, &[], &vec![true; length])?;
                write(nodes, key, &maps.keys().slice(start, length))?;
                write(nodes, value, &maps.values().slice(start, length))
            })
        }
        (ColumnType::Array { item, size }, DataType::FixedSizeList(..)) => {
            let lists = array.as_fixed_size_list();
            fixed(nodes, &[], &valid(array))?;
            write(nodes, item, &lists.values().slice(0, lists.len() * size))
        }
        (ColumnType::Struct(fields), DataType::Struct(_)) => {
            fixed(nodes, &[], &valid(array))?;
            let columns = array.as_struct().columns();
            fields.iter().zip(columns).try_for_each(|((_, field), column)| write(nodes, field, column))
        }
        (ColumnType::Decimal { .. }, DataType::Decimal32(..)) => decimals(nodes, array, 4),
        (ColumnType::Decimal { .. }, DataType::Decimal64(..)) => decimals(nodes, array, 8),
        _ => {
            let width = layout.width().ok_or_else(|| unexpected(array))?;
            let data = array.to_data();
            let bytes = values(&data, width).ok_or_else(|| unexpected(array))?;
            if array.null_count() == 0 {
                let size = NodeSize { length: array.len(), values: bytes.len(), ..NodeSize::default() };
                nodes.node(size)?.values.write(0, bytes);
                return Ok(());
            }
            let mut bytes = bytes.to_vec();
            clear_nulls(&mut bytes, array, width);
            fixed(nodes, &bytes, &valid(array))
        }
    }
}

fn unexpected<E: From<ConversionError>>(array: &ArrayRef) -> E {
    ConversionError(format!("DuckDB gives a column of type {} in another form", array.data_type())).into()
}

fn valid(array: &ArrayRef) -> Vec<bool> {
    match array.nulls() {
        None => vec![true; array.len()],
        Some(nulls) => nulls.iter().collect(),
    }
}

/// Texts in any of Arrow's forms.
fn texts(array: &ArrayRef) -> Result<Box<dyn Iterator<Item = Option<&str>> + '_>, ConversionError> {
    Ok(match array.data_type() {
        DataType::Utf8 => Box::new(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => Box::new(array.as_string::<i64>().iter()),
        DataType::Utf8View => Box::new(array.as_string_view().iter()),
        _ => return Err(unexpected(array)),
    })
}

fn dictionary<K: ArrowDictionaryKeyType, N: Nodes>(nodes: &mut N, array: &ArrayRef) -> Result<(), N::Error> {
    let dictionary = array.as_dictionary_opt::<K>().ok_or_else(|| unexpected::<N::Error>(array))?;
    let labels: Vec<_> = texts(dictionary.values())?.collect();
    let label = |row: usize| dictionary.key(row).and_then(|key| labels.get(key).copied().flatten());
    byte_rows(nodes, || (0..dictionary.len()).map(|row| label(row).map(str::as_bytes)))
}

/// The values of an array of numbers.
fn values(data: &ArrayData, width: usize) -> Option<&[u8]> {
    let [buffer] = data.buffers() else { return None };
    let start = data.offset().checked_mul(width)?;
    buffer.as_slice().get(start..start.checked_add(data.len().checked_mul(width)?)?)
}

/// Makes the values of NULL zero: the memory behind a NULL may have values of others.
fn clear_nulls(bytes: &mut [u8], array: &ArrayRef, width: usize) {
    for (row, value) in bytes.chunks_exact_mut(width).enumerate() {
        if array.is_null(row) {
            value.fill(0);
        }
    }
}

/// Decimals of this width, as those of 16 bytes that function processes read.
fn decimals<N: Nodes>(nodes: &mut N, array: &ArrayRef, width: usize) -> Result<(), N::Error> {
    let data = array.to_data();
    let narrow = values(&data, width).ok_or_else(|| unexpected(array))?;
    let mut bytes = Vec::with_capacity(array.len() * 16);
    for value in narrow.chunks_exact(width) {
        let sign = if value.last().is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
        bytes.extend_from_slice(value);
        bytes.resize(bytes.len() + 16 - width, sign);
    }
    clear_nulls(&mut bytes, array, 16);
    fixed(nodes, &bytes, &valid(array))
}

/// Writes values of a fixed width; without bytes, only which rows have values.
fn fixed<N: Nodes>(nodes: &mut N, bytes: &[u8], valid: &[bool]) -> Result<(), N::Error> {
    let bits = super::arguments::bitmap(valid);
    let size = NodeSize { length: valid.len(), has_validity: bits.is_some(), values: bytes.len(), heap: 0 };
    let node = nodes.node(size)?;
    node.values.write(0, bytes);
    bits.inspect(|bits| node.validity.write_words(bits));
    Ok(())
}

/// Writes texts or blobs, which `rows` gives. Their bytes are copied once: a column may be larger than the ring.
fn byte_rows<'a, N: Nodes, I>(nodes: &mut N, rows: impl Fn() -> I) -> Result<(), N::Error>
where
    I: Iterator<Item = Option<&'a [u8]>>,
{
    let (mut offsets, mut valid) = (vec![0_u64], Vec::new());
    let mut end = 0;
    for row in rows() {
        end += row.map_or(0, <[u8]>::len);
        offsets.push(end as u64);
        valid.push(row.is_some());
    }
    let bits = super::arguments::bitmap(&valid);
    let (length, values) = (valid.len(), offsets.len() * 8);
    let node = nodes.node(NodeSize { length, has_validity: bits.is_some(), values, heap: end })?;
    node.values.write_words(&offsets);
    for (row, at) in rows().zip(offsets) {
        node.heap.write(at as usize, row.unwrap_or_default());
    }
    bits.inspect(|bits| node.validity.write_words(bits));
    Ok(())
}

/// Writes lists, then their items by `items`, which gets the first one and their number.
fn list<O: OffsetSizeTrait, N: Nodes>(
    nodes: &mut N,
    offsets: &[O],
    valid: &[bool],
    items: impl FnOnce(&mut N, usize, usize) -> Result<(), N::Error>,
) -> Result<(), N::Error> {
    let first = offsets.first().map_or(0, |first| first.as_usize());
    let counted: Vec<u64> = offsets.iter().map(|offset| (offset.as_usize() - first) as u64).collect();
    let bits = super::arguments::bitmap(valid);
    let size = NodeSize { length: valid.len(), has_validity: bits.is_some(), values: counted.len() * 8, heap: 0 };
    let node = nodes.node(size)?;
    node.values.write_words(&counted);
    bits.inspect(|bits| node.validity.write_words(bits));
    items(nodes, first, counted.last().map_or(0, |last| *last as usize))
}
