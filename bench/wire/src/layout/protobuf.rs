//! lineitem in Protocol Buffers, by prost (Table 7): one message for each row, as in the paper, or one message for each
//! chunk, whose numbers are packed.
//!
//! The messages are declared as `protoc` would declare them from a schema of this table, and used as its users do:
//! filled, encoded, decoded, read. Integers and scaled decimals are varints, dates are days.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use prost::Message;

use super::{Layout, SHORT_DECIMAL_DIGITS};
use crate::Result;
use crate::table::Table;

/// The kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protobuf {
    /// One for each row, each after its length.
    Rows,
    /// One for each chunk.
    Columns,
}

/// A row of lineitem.
#[derive(Clone, PartialEq, Message)]
struct Row {
    #[prost(int64, tag = "1")]
    orderkey: i64,
    #[prost(int64, tag = "2")]
    partkey: i64,
    #[prost(int64, tag = "3")]
    suppkey: i64,
    #[prost(int32, tag = "4")]
    linenumber: i32,
    #[prost(int64, tag = "5")]
    quantity: i64,
    #[prost(int64, tag = "6")]
    extendedprice: i64,
    #[prost(int64, tag = "7")]
    discount: i64,
    #[prost(int64, tag = "8")]
    tax: i64,
    #[prost(string, tag = "9")]
    returnflag: String,
    #[prost(string, tag = "10")]
    linestatus: String,
    #[prost(int32, tag = "11")]
    shipdate: i32,
    #[prost(int32, tag = "12")]
    commitdate: i32,
    #[prost(int32, tag = "13")]
    receiptdate: i32,
    #[prost(string, tag = "14")]
    shipinstruct: String,
    #[prost(string, tag = "15")]
    shipmode: String,
    #[prost(string, tag = "16")]
    comment: String,
}

/// The rows of a chunk, with one field for each column.
#[derive(Clone, PartialEq, Message)]
struct Columns {
    #[prost(int64, repeated, tag = "1")]
    orderkey: Vec<i64>,
    #[prost(int64, repeated, tag = "2")]
    partkey: Vec<i64>,
    #[prost(int64, repeated, tag = "3")]
    suppkey: Vec<i64>,
    #[prost(int32, repeated, tag = "4")]
    linenumber: Vec<i32>,
    #[prost(int64, repeated, tag = "5")]
    quantity: Vec<i64>,
    #[prost(int64, repeated, tag = "6")]
    extendedprice: Vec<i64>,
    #[prost(int64, repeated, tag = "7")]
    discount: Vec<i64>,
    #[prost(int64, repeated, tag = "8")]
    tax: Vec<i64>,
    #[prost(string, repeated, tag = "9")]
    returnflag: Vec<String>,
    #[prost(string, repeated, tag = "10")]
    linestatus: Vec<String>,
    #[prost(int32, repeated, tag = "11")]
    shipdate: Vec<i32>,
    #[prost(int32, repeated, tag = "12")]
    commitdate: Vec<i32>,
    #[prost(int32, repeated, tag = "13")]
    receiptdate: Vec<i32>,
    #[prost(string, repeated, tag = "14")]
    shipinstruct: Vec<String>,
    #[prost(string, repeated, tag = "15")]
    shipmode: Vec<String>,
    #[prost(string, repeated, tag = "16")]
    comment: Vec<String>,
}

impl Layout for Protobuf {
    fn encode(&self, _: &Table, chunk: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let lineitem = Lineitem::of(chunk)?;
        match self {
            Self::Rows => (0..chunk.num_rows()).try_for_each(|i| lineitem.row(i).encode_length_delimited(out))?,
            Self::Columns => lineitem.columns().encode(out)?,
        }
        Ok(())
    }

    fn decode(&self, table: &Table, mut input: &[u8]) -> Result<Vec<ArrayRef>> {
        let columns = match self {
            Self::Columns => Columns::decode(input)?,
            Self::Rows => {
                let mut columns = Columns::default();
                while !input.is_empty() {
                    columns.push(Row::decode_length_delimited(&mut input)?);
                }
                columns
            }
        };
        Ok(columns.into_arrays(table))
    }
}

/// The columns of a chunk, grouped by type: the keys, the line's number, the decimals, the flags, the dates, the texts.
struct Lineitem<'a> {
    keys: [&'a [i64]; 3],
    linenumber: &'a [i32],
    decimals: [&'a [i128]; 4],
    flags: [&'a StringArray; 2],
    dates: [&'a [i32]; 3],
    texts: [&'a StringArray; 3],
}

impl<'a> Lineitem<'a> {
    fn of(chunk: &'a RecordBatch) -> Result<Self> {
        let long = |i: usize| chunk.column(i).as_primitive::<Int64Type>().values().as_ref();
        let decimal = |i: usize| chunk.column(i).as_primitive::<Decimal128Type>().values().as_ref();
        let date = |i: usize| chunk.column(i).as_primitive::<Date32Type>().values().as_ref();
        let string = |i: usize| chunk.column(i).as_string::<i32>();
        let types: Vec<&DataType> = chunk.columns().iter().map(|column| column.data_type()).collect();
        #[rustfmt::skip]
        let is_lineitem = matches!(types[..], [
            DataType::Int64, DataType::Int64, DataType::Int64, DataType::Int32,
            DataType::Decimal128(q, _), DataType::Decimal128(e, _), DataType::Decimal128(d, _), DataType::Decimal128(t, _),
            DataType::Utf8, DataType::Utf8, DataType::Date32, DataType::Date32, DataType::Date32,
            DataType::Utf8, DataType::Utf8, DataType::Utf8,
        ] if *q.max(e).max(d).max(t) <= SHORT_DECIMAL_DIGITS);
        if !is_lineitem || chunk.columns().iter().any(|column| column.null_count() > 0) {
            return Err("these messages support only the table lineitem".into());
        }
        Ok(Self {
            keys: [long(0), long(1), long(2)],
            linenumber: chunk.column(3).as_primitive::<Int32Type>().values(),
            decimals: [decimal(4), decimal(5), decimal(6), decimal(7)],
            flags: [string(8), string(9)],
            dates: [date(10), date(11), date(12)],
            texts: [string(13), string(14), string(15)],
        })
    }

    #[expect(clippy::cast_possible_truncation, reason = "the precision ensures that the low 8 bytes contain the value")]
    fn row(&self, i: usize) -> Row {
        Row {
            orderkey: self.keys[0][i],
            partkey: self.keys[1][i],
            suppkey: self.keys[2][i],
            linenumber: self.linenumber[i],
            quantity: self.decimals[0][i] as i64,
            extendedprice: self.decimals[1][i] as i64,
            discount: self.decimals[2][i] as i64,
            tax: self.decimals[3][i] as i64,
            returnflag: self.flags[0].value(i).to_owned(),
            linestatus: self.flags[1].value(i).to_owned(),
            shipdate: self.dates[0][i],
            commitdate: self.dates[1][i],
            receiptdate: self.dates[2][i],
            shipinstruct: self.texts[0].value(i).to_owned(),
            shipmode: self.texts[1].value(i).to_owned(),
            comment: self.texts[2].value(i).to_owned(),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the precision ensures that the low 8 bytes contain the value")]
    fn columns(&self) -> Columns {
        let short = |values: &[i128]| values.iter().map(|&value| value as i64).collect();
        let strings = |values: &StringArray| values.iter().map(|value| value.unwrap_or_default().to_owned()).collect();
        Columns {
            orderkey: self.keys[0].to_vec(),
            partkey: self.keys[1].to_vec(),
            suppkey: self.keys[2].to_vec(),
            linenumber: self.linenumber.to_vec(),
            quantity: short(self.decimals[0]),
            extendedprice: short(self.decimals[1]),
            discount: short(self.decimals[2]),
            tax: short(self.decimals[3]),
            returnflag: strings(self.flags[0]),
            linestatus: strings(self.flags[1]),
            shipdate: self.dates[0].to_vec(),
            commitdate: self.dates[1].to_vec(),
            receiptdate: self.dates[2].to_vec(),
            shipinstruct: strings(self.texts[0]),
            shipmode: strings(self.texts[1]),
            comment: strings(self.texts[2]),
        }
    }
}

impl Columns {
    fn push(&mut self, row: Row) {
        self.orderkey.push(row.orderkey);
        self.partkey.push(row.partkey);
        self.suppkey.push(row.suppkey);
        self.linenumber.push(row.linenumber);
        self.quantity.push(row.quantity);
        self.extendedprice.push(row.extendedprice);
        self.discount.push(row.discount);
        self.tax.push(row.tax);
        self.returnflag.push(row.returnflag);
        self.linestatus.push(row.linestatus);
        self.shipdate.push(row.shipdate);
        self.commitdate.push(row.commitdate);
        self.receiptdate.push(row.receiptdate);
        self.shipinstruct.push(row.shipinstruct);
        self.shipmode.push(row.shipmode);
        self.comment.push(row.comment);
    }

    fn into_arrays(self, table: &Table) -> Vec<ArrayRef> {
        let long = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
        let date = |values: Vec<i32>| Arc::new(Date32Array::from(values)) as ArrayRef;
        let string = |values: Vec<String>| Arc::new(StringArray::from_iter_values(values)) as ArrayRef;
        let decimal = |values: Vec<i64>, column: usize| {
            let wide = Decimal128Array::from_iter_values(values.into_iter().map(i128::from));
            Arc::new(wide.with_data_type(table.schema.field(column).data_type().clone())) as ArrayRef
        };
        vec![
            long(self.orderkey),
            long(self.partkey),
            long(self.suppkey),
            Arc::new(Int32Array::from(self.linenumber)),
            decimal(self.quantity, 4),
            decimal(self.extendedprice, 5),
            decimal(self.discount, 6),
            decimal(self.tax, 7),
            string(self.returnflag),
            string(self.linestatus),
            date(self.shipdate),
            date(self.commitdate),
            date(self.receiptdate),
            string(self.shipinstruct),
            string(self.shipmode),
            string(self.comment),
        ]
    }
}
