//! Each layout reads what it writes. The paper's own example gives the bytes of its figures.

use std::sync::Arc;

use arrow_array::{
    Date32Array, Decimal128Array, Int16Array, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray,
};

use super::integers::{Integers, Packing};
use super::monetdb::MonetDb;
use super::postgresql::PostgreSql;
use super::protobuf::Protobuf;
use super::rows::Rows;
use super::strings::Strings;
use super::*;

const CODECS: [Codec; 2] = [Codec::None, Codec::Snappy];

fn table<const N: usize>(columns: [(&str, ArrayRef); N], chunk_rows: usize) -> Result<Table> {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))?;
    Table::cut("table", &[batch], chunk_rows, usize::MAX)
}

/// All types in the tables, with and without missing values.
fn mixed(rows: i32) -> Result<Table> {
    let some = |i: i32| (i % 3 != 1).then_some(i);
    let decimals = |values: Vec<Option<i128>>| Decimal128Array::from(values).with_precision_and_scale(15, 2);
    let texts: Vec<String> =
        (0..rows).map(|i| ["", "ä", "two words", "."][i as usize % 4].repeat(i as usize % 7)).collect();
    let dates: Date32Array = (0..rows).map(Some).collect();
    table(
        [
            ("number", Arc::new(Int32Array::from_iter_values(0..rows))),
            ("missing", Arc::new((0..rows).map(some).collect::<Int32Array>())),
            ("none", Arc::new(Int16Array::from(vec![None; rows as usize]))),
            ("long", Arc::new((0..rows).map(|i| some(i).map(|i| -i64::from(i))).collect::<Int64Array>())),
            ("decimal", Arc::new(decimals((0..rows).map(|i| Some(i128::from(i) * 101)).collect())?)),
            ("some_decimal", Arc::new(decimals((0..rows).map(|i| some(i).map(i128::from)).collect())?)),
            ("date", Arc::new(dates)),
            ("time", Arc::new((0..rows).map(|i| some(i).map(i64::from)).collect::<TimestampMicrosecondArray>())),
            ("text", Arc::new(StringArray::from_iter_values(&texts))),
            (
                "some_text",
                Arc::new(texts.iter().enumerate().map(|(i, t)| (i % 3 != 1).then_some(t)).collect::<StringArray>()),
            ),
        ],
        700,
    )
}

fn lineitem(rows: i32) -> Result<Table> {
    let long = |by: i64| Arc::new((0..rows).map(|i| Some(i64::from(i) * by)).collect::<Int64Array>()) as ArrayRef;
    let date = |by: i32| Arc::new((0..rows).map(|i| Some(i - by)).collect::<Date32Array>()) as ArrayRef;
    let text =
        |word: &str| Arc::new((0..rows).map(|i| Some(format!("{word}{i}"))).collect::<StringArray>()) as ArrayRef;
    let decimal = || -> Result<ArrayRef> {
        let values = Decimal128Array::from_iter_values((0..rows).map(|i| i128::from(i) % 11));
        Ok(Arc::new(values.with_precision_and_scale(15, 2)?))
    };
    table(
        [
            ("orderkey", long(1)),
            ("partkey", long(1_000_000_007)),
            ("suppkey", long(-1)),
            ("linenumber", Arc::new(Int32Array::from_iter_values(0..rows))),
            ("quantity", decimal()?),
            ("extendedprice", decimal()?),
            ("discount", decimal()?),
            ("tax", decimal()?),
            ("returnflag", text("")),
            ("linestatus", text("O")),
            ("shipdate", date(0)),
            ("commitdate", date(10_000)),
            ("receiptdate", date(-10_000)),
            ("shipinstruct", text("NONE")),
            ("shipmode", text("AIR")),
            ("comment", text("carefully ")),
        ],
        700,
    )
}

/// Encodes and decodes the table, compares, and returns the number of bytes.
fn round_trip(layout: impl Layout + 'static, codec: Codec, table: &Table) -> Result<usize> {
    Ok(Serialized::new("under test", layout, codec).pass(table, true)?.bytes)
}

/// A chunk's bytes as the paper's figures show them.
fn hexadecimal(layout: &impl Layout, table: &Table) -> Result<String> {
    let mut bytes = Vec::new();
    layout.encode(table, &table.chunks[0], &mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02X}")).collect())
}

#[test]
fn every_type_comes_back() -> Result<()> {
    let table = mixed(2_000)?;
    for codec in CODECS {
        round_trip(MonetDb, codec, &table)?;
        round_trip(PostgreSql, codec, &table)?;
        round_trip(Rows, codec, &table)?;
    }
    Ok(())
}

#[test]
fn rows_have_the_bytes_of_columns() -> Result<()> {
    let table = mixed(2_000)?;
    // Except for the lengths of the two columns of text in each of three chunks.
    assert_eq!(round_trip(Rows, Codec::None, &table)? + 3 * 2 * 4, round_trip(MonetDb, Codec::None, &table)?);
    Ok(())
}

#[test]
fn the_papers_example_has_the_papers_bytes() -> Result<()> {
    // Table 2, and its fields of figures 10 and 11.
    let numbers = Int32Array::from(vec![Some(100_000_000), None]);
    let texts = StringArray::from(vec!["OK", "DPFKG"]);
    let table = table([("int", Arc::new(numbers)), ("varchar", Arc::new(texts))], 100)?;
    let text = format!("{}{}", "4F4B00", "4450464B4700");
    assert_eq!(hexadecimal(&MonetDb, &table)?, format!("02000000{}{}{}{text}", "00E1F505", "00000080", "09000000"));
    assert_eq!(
        hexadecimal(&PostgreSql, &table)?,
        format!("02000000{}{}{}{}{text}", "05000000", "02", "00E1F505", "09000000")
    );
    assert_eq!(hexadecimal(&Rows, &table)?, "0200000000E1F5054F4B00000000804450464B4700");
    Ok(())
}

#[test]
fn integers_come_back_from_blocks() -> Result<()> {
    // Small and large values, values that only PFOR finds close together, outliers, extremes, missing values, a short
    // block.
    let columns: [Vec<Option<i32>>; 6] = [
        (0..3_000).map(|i| Some(i % 50)).collect(),
        (0..3_000).map(|i| Some(i32::MAX - i)).collect(),
        (0..3_000).map(|i| Some(if i % 100 == 7 { -i * 1_000 } else { 1_000_000 + i % 30 })).collect(),
        (0..3_000).map(|i| Some(if i % 2 == 0 { i32::MAX } else { i32::MIN + 1 })).collect(),
        (0..3_000).map(|i| (i % 5 != 0).then_some(i % 8)).collect(),
        vec![Some(0); 3_000],
    ];
    for values in columns {
        let table = table([("integers", Arc::new(Int32Array::from(values.clone())))], 2_500)?;
        for packing in [Packing::Binary, Packing::Pfor] {
            for codec in CODECS {
                round_trip(Integers(packing), codec, &table)?;
            }
        }
    }
    Ok(())
}

#[test]
fn blocks_take_the_bits_that_their_values_need() -> Result<()> {
    let integers = |values: Vec<i32>| table([("integers", Arc::new(Int32Array::from(values)))], 1_024);
    let (small, close) =
        (integers((0..1_024).map(|i| i % 16).collect())?, integers((0..1_024).map(|i| -1 - i % 16).collect())?);
    assert_eq!(round_trip(Integers(Packing::Binary), Codec::None, &small)?, 4 + 1 + 1_024 * 4 / 8);
    assert_eq!(round_trip(Integers(Packing::Binary), Codec::None, &close)?, 4 + 1 + 1_024 * 4);
    assert_eq!(round_trip(Integers(Packing::Pfor), Codec::None, &close)?, 4 + 7 + 1_024 * 4 / 8);
    // An outlier costs its position and its value, even if the sample of the block does not contain it.
    let outlier = integers((0..1_024).map(|i| if i == 77 { 1 << 30 } else { i % 16 }).collect())?;
    assert_eq!(round_trip(Integers(Packing::Pfor), Codec::None, &outlier)?, 4 + 7 + 1_024 * 4 / 8 + 6);
    Ok(())
}

#[test]
fn text_comes_back() -> Result<()> {
    let words: Vec<String> = (0..2_000).map(|i| ["", "a", "ä€", "words of text"][i % 4].repeat(i % 20)).collect();
    let longest = words.iter().map(String::len).max().unwrap_or(0);
    let table = table([("text", Arc::new(StringArray::from_iter_values(&words)))], 700)?;
    let characters: usize = words.iter().map(String::len).sum();
    for codec in CODECS {
        for form in [Strings::Terminated, Strings::Varint, Strings::Length, Strings::Offsets, Strings::Fixed(longest)] {
            let bytes = round_trip(form, codec, &table).map_err(|e| format!("{form:?}, {codec}: {e}"))?;
            let expected = match form {
                Strings::Terminated => characters + 2_000,
                Strings::Varint => characters + 2_000 + words.iter().filter(|word| word.len() > 127).count(),
                Strings::Length => characters + 4 * 2_000,
                Strings::Offsets => characters + 4 * (2_000 + 3),
                Strings::Fixed(width) => width * 2_000,
            };
            assert!(codec != Codec::None || bytes == 3 * 4 + expected, "{form:?}: {bytes} bytes, not {expected}");
        }
    }
    assert!(round_trip(Strings::Fixed(longest - 1), Codec::None, &table).is_err());
    Ok(())
}

#[test]
fn protocol_buffers_come_back() -> Result<()> {
    let table = lineitem(2_000)?;
    for codec in CODECS {
        let rows = round_trip(Protobuf::Rows, codec, &table)?;
        let columns = round_trip(Protobuf::Columns, codec, &table)?;
        assert!(columns < rows, "a field's number once a chunk takes less than once a row");
    }
    assert!(round_trip(Protobuf::Rows, Codec::None, &mixed(10)?).is_err());
    Ok(())
}
