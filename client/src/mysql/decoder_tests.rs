#![allow(clippy::unwrap_used)]

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Decimal128Type, Int32Type, UInt64Type};
use arrow_array::{Array as _, RecordBatch};
use proptest::prelude::*;

use super::super::kind::{Instants, SessionContext};
use super::super::packet::{Definition, framed};
use super::*;
use crate::QueryOptions;
use crate::rows::Batches;

const UTF8: u16 = 45;
const PLACE: SessionContext =
    SessionContext { collation: UTF8, instants: Instants::Offset(0), has_exact_expressions: true };

fn definition(type_code: u8, flags: u16, length: u32, decimals: u8) -> Definition {
    let name = format!("c{type_code}");
    Definition { name, origin: Default::default(), type_code, flags, collation: UTF8, length, decimals, extended: None }
}

fn decoder(definitions: &[Definition], options: &QueryOptions) -> Batches<Decoder> {
    Batches::new(&kind::columns(definitions, &PLACE, options).unwrap(), options)
}

fn packets(rows: &[&[u8]]) -> Block {
    Block::Packets(rows.iter().flat_map(|row| framed(row, 0).0).collect::<Vec<_>>().into())
}

fn all(definitions: &[Definition], block: &Block) -> Result<RecordBatch, Error> {
    let mut decoder = decoder(definitions, &QueryOptions::default());
    assert!(decoder.take(block, &mut 0)?.is_none());
    Ok(decoder.batch()?.unwrap())
}

/// int, decimal(5,2), varchar
fn three() -> [Definition; 3] {
    [definition(3, 0, 11, 0), definition(246, 0, 7, 2), definition(253, 0, 40, 0)]
}

#[test]
fn rows_become_columns() {
    let block = packets(&[b"\0\0\x07\0\0\0\x041.25\x02ab", b"\0\x14\x05-3.50", b"\0\x0c\x01x"]);
    let batch = all(&three(), &block).unwrap();
    let ints = batch.column(0).as_primitive::<Int32Type>();
    let decimals = batch.column(1).as_primitive::<Decimal128Type>();
    let texts = batch.column(2).as_string::<i32>();
    assert_eq!((ints.value(0), ints.is_null(1), ints.is_null(2)), (7, true, true));
    assert_eq!((decimals.value(0), decimals.value(1), decimals.is_null(2)), (125, -350, true));
    assert_eq!((texts.value(0), texts.is_null(1), texts.value(2)), ("ab", true, "x"));
}

#[test]
fn a_row_that_is_longer_than_a_packet_is_one_row() {
    let mut row = b"\0\x0c\xfd\x00\x00\x01".to_vec();
    row.resize(row.len() + 0x1_0000, b'z');
    let batch = all(&three(), &Block::Row(row.into())).unwrap();
    assert_eq!(batch.column(2).as_string::<i32>().value(0).len(), 0x1_0000);
}

#[test]
fn more_columns_than_a_bitmap_byte_has_bits() {
    let definitions: Vec<_> = (0..20).map(|_| definition(8, 32, 20, 0)).collect();
    let mut row = vec![0, 0, 0, 0b1000];
    for number in (0..20u64).filter(|number| *number != 17) {
        row.extend_from_slice(&number.to_le_bytes());
    }
    row[3] = 1 << (17 + 2 - 16);
    let batch = all(&definitions, &packets(&[&row])).unwrap();
    for number in 0..20 {
        let column = batch.column(number).as_primitive::<UInt64Type>();
        assert_eq!(column.is_null(0), number == 17);
        assert_eq!(column.value(0), if number == 17 { 0 } else { number as u64 });
    }
}

#[test]
fn batches_end_where_they_are_told_to() {
    let row: &[u8] = b"\0\0\x07\0\0\0\x041.25\x02ab";
    let block = packets(&[row; 10]);
    let mut decoder = decoder(&three(), &QueryOptions { chunk_rows: Some(4), ..QueryOptions::default() });
    let mut at = 0;
    let mut rows = Vec::new();
    while let Some(batch) = decoder.take(&block, &mut at).unwrap() {
        rows.push(batch.num_rows());
    }
    rows.push(decoder.batch().unwrap().unwrap().num_rows());
    assert_eq!(rows, [4, 4, 2]);
}

#[test]
fn rows_that_lie_are_refused() {
    for row in [
        &b"\0"[..],
        b"\0\0\x07\0",
        b"\0\0\x07\0\0\0\x041.25\x03ab",
        b"\0\0\x07\0\0\0\x041.25\x02abc",
        b"\0\0\x07\0\0\0\x04abcd\x02ab",
    ] {
        assert!(all(&three(), &packets(&[row, row])).is_err(), "{row:?}");
    }
}

#[test]
fn text_that_is_not_utf8_names_its_column() {
    let error = all(&three(), &packets(&[b"\0\x0c\x02a\xff"])).unwrap_err();
    assert_eq!(error.sqlstate(), Some("22021"));
    assert!(error.message().contains("\"c253\""));
}

/// One of each type, and all of them once more as text where that goes.
fn many() -> impl Strategy<Value = (Vec<Definition>, QueryOptions)> {
    let types = prop_oneof![0u8..=16, 242u8..=255].prop_filter("known", |code| ![14, 243, 244].contains(code));
    let one = (types, prop_oneof![Just(0u16), Just(32), Just(64), Just(256)], 0u32..70, 0u8..7);
    (prop::collection::vec(one, 1..12), any::<bool>()).prop_map(|(columns, shown)| {
        let definitions: Vec<_> =
            columns.into_iter().map(|(code, flags, length, d)| definition(code, flags, length, d)).collect();
        let as_text = definitions.iter().filter(|_| shown).map(|definition| definition.name.clone()).collect();
        (definitions, QueryOptions { as_text, ..QueryOptions::default() })
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_rows_or_refused(
        (definitions, options) in many(),
        rows in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..6),
        cut in 0usize..20,
    ) {
        let Ok(columns) = kind::columns(&definitions, &PLACE, &options) else { return Ok(()) };
        let mut decoder = Batches::<Decoder>::new(&columns, &options);
        let mut bytes: Vec<u8> = rows.iter().flat_map(|row| framed(row, 0).0).collect();
        bytes.truncate(bytes.len().saturating_sub(cut));
        let block = Block::Packets(bytes.into());
        let mut at = 0;
        while let Ok(Some(batch)) = decoder.take(&block, &mut at) {
            prop_assert!(batch.num_rows() > 0);
        }
        let _ = decoder.batch();
    }
}
