//! Builds one column: it decodes the values of many rows, each from its row's cursor.

use std::collections::HashMap;
use std::mem::take;

use arrow_array::{Array, ArrayRef, StringArray, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, IntervalMonthDayNano, NullBuffer, i256};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::kind::{ColumnKind, Node};
use super::literal::Literal;
use super::nested::{List, Struct};
use super::numeric::{self, Decimal};
use super::value::{Fixed, ValueFault, fixed, value};
use super::{datetime, text};
use crate::arrays::{Strings, Validity, buffer, renewed};
use crate::postgres::message::protocol;
use crate::{Error, ErrorKind};

const WAY_OUT: &str = "cast the column to text, or name it in the option as_text";
const AGAIN: &str = "run the query again";
/// How to read a text of a database in SQL_ASCII, which need not be UTF-8.
pub(crate) const BYTES: &str =
    "read its bytes: convert_to(COLUMN, 'SQL_ASCII'); spec/TYPES.md shows how to convert them";

/// The rows of a batch that were decoded so far.
#[derive(Debug)]
pub(super) struct ColumnBuilder {
    values: Values,
    validity: Validity,
    rows: usize,
    path: String,
    type_name: String,
}

#[derive(Debug)]
enum Values {
    Bool(Vec<u8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    UInt32(Vec<u32>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Date(Vec<i32>),
    Time(Vec<i64>),
    Timestamp(Vec<i64>),
    Interval(Vec<IntervalMonthDayNano>),
    Money(Vec<i128>),
    Decimal128(Vec<i128>, Decimal),
    Decimal256(Vec<i256>, Decimal),
    Bytes(Strings, Writing),
    Enum(Vec<u32>, Labels),
    List(List),
    Struct(Struct),
    /// Arrives as text; the column decodes it in binary.
    Literal(Literal, Box<ColumnBuilder>),
}

/// How a value's bytes become a string.
#[derive(Clone, Copy, Debug)]
enum Writing {
    Same,
    Jsonb,
    Char,
    Uuid,
    Numeric,
}

/// An enum's labels.
#[derive(Debug)]
struct Labels {
    numbers: HashMap<Box<[u8]>, u32>,
    values: ArrayData,
}

impl ColumnBuilder {
    pub(super) fn new(node: &Node) -> Self {
        let strings = |writing| Values::Bytes(Strings::default(), writing);
        let values = match &node.kind {
            ColumnKind::Bool => Values::Bool(Vec::new()),
            ColumnKind::Int16 => Values::Int16(Vec::new()),
            ColumnKind::Int32 => Values::Int32(Vec::new()),
            ColumnKind::Int64 => Values::Int64(Vec::new()),
            ColumnKind::Time => Values::Time(Vec::new()),
            ColumnKind::UInt32 => Values::UInt32(Vec::new()),
            ColumnKind::Float32 => Values::Float32(Vec::new()),
            ColumnKind::Float64 => Values::Float64(Vec::new()),
            ColumnKind::Date => Values::Date(Vec::new()),
            ColumnKind::Timestamp => Values::Timestamp(Vec::new()),
            ColumnKind::Interval => Values::Interval(Vec::new()),
            ColumnKind::Money => Values::Money(Vec::new()),
            &ColumnKind::Decimal { precision, scale } => {
                let decimal = Decimal::new(precision, scale);
                if ColumnKind::is_narrow(precision) {
                    Values::Decimal128(Vec::new(), decimal)
                } else {
                    Values::Decimal256(Vec::new(), decimal)
                }
            }
            ColumnKind::NumericText => strings(Writing::Numeric),
            ColumnKind::Uuid => strings(Writing::Uuid),
            ColumnKind::Text | ColumnKind::Bytes => strings(Writing::Same),
            ColumnKind::Jsonb => strings(Writing::Jsonb),
            ColumnKind::Char => strings(Writing::Char),
            ColumnKind::Enum(labels) => Values::Enum(Vec::new(), Labels::new(labels)),
            ColumnKind::List(item, _) => Values::List(List::new(ColumnBuilder::new(item))),
            ColumnKind::Literal(node) => Values::Literal(Literal::new(node), Box::new(ColumnBuilder::new(node))),
            ColumnKind::Struct(nodes) => Values::Struct(Struct::new(nodes.iter().map(ColumnBuilder::new).collect())),
        };
        let (path, type_name) = (node.path.clone(), node.type_name.clone());
        Self { values, validity: Validity::default(), rows: 0, path, type_name }
    }

    /// Decodes one value of each row at its cursor, and moves the cursors.
    ///
    /// # Errors
    /// The bytes are not a value of the type, or the column cannot represent it.
    pub(super) fn decode(&mut self, block: &[u8], cursors: &mut [usize]) -> Result<(), Error> {
        let Self { values, validity, rows, .. } = self;
        let read = match values {
            Values::Bool(to) => numbers(block, cursors, to, validity, |[byte]| Ok(byte)),
            Values::Int16(to) => numbers(block, cursors, to, validity, |bytes| Ok(i16::from_be_bytes(bytes))),
            Values::Int32(to) => numbers(block, cursors, to, validity, |bytes| Ok(i32::from_be_bytes(bytes))),
            Values::Int64(to) => numbers(block, cursors, to, validity, |bytes| Ok(i64::from_be_bytes(bytes))),
            Values::UInt32(to) => numbers(block, cursors, to, validity, |bytes| Ok(u32::from_be_bytes(bytes))),
            Values::Float32(to) => numbers(block, cursors, to, validity, |bytes| Ok(f32::from_be_bytes(bytes))),
            Values::Float64(to) => numbers(block, cursors, to, validity, |bytes| Ok(f64::from_be_bytes(bytes))),
            Values::Date(to) => numbers(block, cursors, to, validity, datetime::date),
            Values::Time(to) => numbers(block, cursors, to, validity, datetime::time),
            Values::Timestamp(to) => numbers(block, cursors, to, validity, datetime::timestamp),
            Values::Interval(to) => numbers(block, cursors, to, validity, datetime::interval),
            Values::Money(to) => numbers(block, cursors, to, validity, |bytes| Ok(i64::from_be_bytes(bytes).into())),
            Values::Decimal128(to, decimal) => each(block, cursors, to, validity, |value| {
                decimal
                    .short(value)
                    .map_or_else(|| decimal.wide(value).map(|wide| i256::from_le_bytes(wide).as_i128()), Ok)
            }),
            Values::Decimal256(to, decimal) => {
                each(block, cursors, to, validity, |value| decimal.wide(value).map(i256::from_le_bytes))
            }
            Values::Enum(to, labels) => each(block, cursors, to, validity, |label| {
                labels.numbers.get(label).copied().ok_or_else(|| {
                    let why = format!("a label was added to type {} while the query ran", self.type_name);
                    ValueFault::Refused("55000", why)
                })
            }),
            Values::Bytes(to, Writing::Same) => append(to, block, cursors, validity, |value, data| {
                data.extend_from_slice(value);
                Ok(())
            }),
            Values::Bytes(to, Writing::Jsonb) => append(to, block, cursors, validity, text::write_jsonb),
            Values::Bytes(to, Writing::Char) => append(to, block, cursors, validity, text::write_char),
            Values::Bytes(to, Writing::Uuid) => append(to, block, cursors, validity, text::write_uuid),
            Values::Bytes(to, Writing::Numeric) => append(to, block, cursors, validity, numeric::write_text),
            Values::List(list) => list.decode(block, cursors, validity),
            Values::Literal(literal, column) => literal
                .in_binary(block, cursors)
                .and_then(|(block, cursors)| column.decode(block, cursors).map_err(ValueFault::from)),
            Values::Struct(row) => row.decode(block, cursors, *rows, validity),
        };
        *rows += cursors.len();
        read.map_err(|fault| self.error(fault))
    }

    /// The array of the rows so far. The column is then empty and reserves memory for as many rows.
    ///
    /// # Errors
    /// Text that is not UTF-8.
    pub(super) fn finish(&mut self, data_type: &DataType) -> Result<ArrayRef, Error> {
        self.data(data_type).map(make_array)
    }

    pub(super) fn data(&mut self, data_type: &DataType) -> Result<ArrayData, Error> {
        let rows = take(&mut self.rows);
        if let Values::Literal(_, column) = &mut self.values {
            return column.data(data_type);
        }
        let nulls = self.validity.finish(rows);
        let (buffers, children) = match (&mut self.values, data_type) {
            (Values::Bool(values), _) => {
                let values = renewed(values);
                let bits = BooleanBuffer::collect_bool(rows, |row| values[row] != 0);
                (vec![bits.into_inner()], vec![])
            }
            (Values::Int16(values), _) => (vec![buffer(values)], vec![]),
            (Values::Int32(values) | Values::Date(values), _) => (vec![buffer(values)], vec![]),
            (Values::Int64(values) | Values::Time(values) | Values::Timestamp(values), _) => {
                (vec![buffer(values)], vec![])
            }
            (Values::UInt32(values), _) => (vec![buffer(values)], vec![]),
            (Values::Float32(values), _) => (vec![buffer(values)], vec![]),
            (Values::Float64(values), _) => (vec![buffer(values)], vec![]),
            (Values::Interval(values), _) => (vec![buffer(values)], vec![]),
            (Values::Money(values) | Values::Decimal128(values, _), _) => (vec![buffer(values)], vec![]),
            (Values::Decimal256(values, _), _) => (vec![buffer(values)], vec![]),
            (Values::Bytes(strings, _), _) => (strings.finish(), vec![]),
            (Values::Enum(numbers, labels), DataType::Dictionary(index, _)) => {
                (vec![narrowed(renewed(numbers), index)], vec![labels.values.clone()])
            }
            (Values::List(list), DataType::List(item)) => list.finish(item.data_type())?,
            (Values::Struct(row), DataType::Struct(fields)) => (vec![], row.finish(fields)?),
            _ => return Err(protocol(format!("column \"{}\" with a type that it does not have", self.path))),
        };
        let nulls = nulls.map(NullBuffer::into_inner).map(BooleanBuffer::into_inner);
        ArrayData::try_new(data_type.clone(), rows, nulls, 0, buffers, children).map_err(|cause| {
            // All other buffers were built here, so they are valid.
            let fault = if *data_type == DataType::Utf8 {
                ValueFault::Refused("22021", "it has text that is not UTF-8".to_owned())
            } else {
                ValueFault::Damaged
            };
            self.error(fault).with_cause(cause)
        })
    }

    fn error(&self, fault: ValueFault) -> Error {
        let Self { path, type_name, .. } = self;
        let (sqlstate, message) = match fault {
            ValueFault::Within(error) => return error,
            ValueFault::Damaged => {
                return protocol(format!("in column \"{path}\" bytes that are not a value of type {type_name}"));
            }
            ValueFault::Refused(sqlstate @ "0A000", why) => {
                (sqlstate, format!("column \"{path}\" of type {type_name}: {why}"))
            }
            ValueFault::Refused(sqlstate, why) => (sqlstate, format!("column \"{path}\": {why}")),
        };
        let hint = match sqlstate {
            "55000" => AGAIN,
            "22021" => BYTES,
            _ => WAY_OUT,
        };
        Error::new(ErrorKind::Database, message).with_sqlstate(sqlstate).with_hint(hint)
    }
}

/// Appends one value per row, of a type whose values have `N` bytes; `convert` decodes them.
///
/// With many NULLs, branches are unpredictable. So NULL affects no branch, only what is kept. Each loop is a separate
/// function, so that it has all registers.
#[inline(never)]
fn numbers<const N: usize, T: Copy + Default>(
    block: &[u8],
    cursors: &mut [usize],
    to: &mut Vec<T>,
    validity: &mut Validity,
    convert: impl Fn([u8; N]) -> Result<T, ValueFault>,
) -> Result<(), ValueFault> {
    let mut row = to.len();
    to.resize(row + cursors.len(), T::default());
    let mut damaged = false;
    for cursors in cursors.chunks_mut(u64::BITS as usize) {
        let mut nulls = 0;
        for (bit, (at, slot)) in cursors.iter_mut().zip(&mut to[row..]).enumerate() {
            let Fixed { bytes, is_null, is_damaged } = fixed(block, at);
            damaged |= is_damaged;
            nulls |= u64::from(is_null) << bit;
            let value = match convert(bytes) {
                Ok(value) => value,
                // After a NULL, these are the bytes of another value.
                Err(_) if is_null => T::default(),
                Err(fault) => return Err(fault),
            };
            *slot = if is_null { T::default() } else { value };
        }
        validity.nulls(row, nulls);
        row += cursors.len();
    }
    if damaged { Err(ValueFault::Damaged) } else { Ok(()) }
}

/// Appends one value per row; `convert` decodes its bytes.
#[inline(never)]
fn each<T: Copy + Default>(
    block: &[u8],
    cursors: &mut [usize],
    to: &mut Vec<T>,
    validity: &mut Validity,
    convert: impl Fn(&[u8]) -> Result<T, ValueFault>,
) -> Result<(), ValueFault> {
    let base = to.len();
    to.reserve(cursors.len());
    for (row, at) in cursors.iter_mut().enumerate() {
        to.push(match value(block, at)? {
            Some(bytes) => convert(bytes)?,
            None => {
                validity.null(base + row);
                T::default()
            }
        });
    }
    Ok(())
}

/// Appends one string per row; `write` converts the value's bytes to text.
#[inline(never)]
fn append(
    to: &mut Strings,
    block: &[u8],
    cursors: &mut [usize],
    validity: &mut Validity,
    write: impl Fn(&[u8], &mut Vec<u8>) -> Result<(), ValueFault>,
) -> Result<(), ValueFault> {
    let base = to.len();
    to.reserve(cursors.len());
    for (row, at) in cursors.iter_mut().enumerate() {
        match value(block, at)? {
            Some(bytes) => write(bytes, &mut to.data)?,
            None => validity.null(base + row),
        }
        to.end();
    }
    if to.fit() {
        return Ok(());
    }
    Err(ValueFault::Refused(
        "54000",
        "one batch has more than 2 GiB of its text: lower chunk_rows or chunk_bytes".to_owned(),
    ))
}

impl Labels {
    fn new(labels: &[String]) -> Self {
        let numbers = (0..).zip(labels).map(|(number, label)| (label.as_bytes().into(), number)).collect();
        Self { numbers, values: StringArray::from_iter_values(labels).into_data() }
    }
}

fn narrowed(numbers: Vec<u32>, index: &DataType) -> Buffer {
    match index {
        DataType::UInt8 => Buffer::from_vec(numbers.iter().map(|number| *number as u8).collect::<Vec<_>>()),
        DataType::UInt16 => Buffer::from_vec(numbers.iter().map(|number| *number as u16).collect::<Vec<_>>()),
        _ => Buffer::from_vec(numbers),
    }
}
