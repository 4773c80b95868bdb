#![allow(clippy::unwrap_used)]

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch, StructArray};
use proptest::prelude::*;

use super::*;
use crate::QueryOptions;
use crate::postgres::binary::catalog::{Catalog, CatalogEntry, TypeRef};
use crate::postgres::extended::ResultColumn;
use crate::rows::Batches;

const INT4: u32 = 23;
const INT8: u32 = 20;
const TEXT: u32 = 25;
const NUMERIC: u32 = 1700;
const INT4_ARRAY: u32 = 1007;
const PAIR: u32 = 16393;
const PAIRS: u32 = 16392;

/// Types as the catalog describes them: `create type pair as (a int, b text)`.
fn catalog() -> Catalog {
    let named = |oid, name: &str| TypeRef { oid, typmod: -1, name: name.to_owned() };
    let array = |item| CatalogEntry::Array { item, delimiter: b',' };
    let mut catalog = Catalog::default();
    let attributes = vec![("a".to_owned(), named(INT4, "integer")), ("b".to_owned(), named(TEXT, "text"))];
    catalog.entries.insert(INT4_ARRAY, array(named(INT4, "integer")));
    catalog.entries.insert(PAIRS, array(named(PAIR, "pair")));
    catalog.entries.insert(PAIR, CatalogEntry::Composite(attributes));
    catalog
}

fn decoder(types: &[u32], options: &QueryOptions) -> Batches<Decoder> {
    let described: Vec<_> = types
        .iter()
        .map(|oid| ResultColumn { name: "c".to_owned(), type_oid: *oid, typmod: -1, origin: (0, 0) })
        .collect();
    Batches::new(&kind::columns(&described, &catalog(), options).unwrap(), options)
}

fn row(values: &[Option<&[u8]>]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        body.extend_from_slice(&value.map_or(-1, |value| value.len() as i32).to_be_bytes());
        body.extend_from_slice(value.unwrap_or_default());
    }
    crate::postgres::message::framed(Some(b'D'), &body)
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// One column of one type from one block.
fn column(type_oid: u32, values: &[Option<&[u8]>]) -> Result<arrow_array::ArrayRef, Error> {
    let mut decoder = decoder(&[type_oid], &QueryOptions::default());
    let block = values.iter().flat_map(|value| row(&[*value])).collect::<Vec<_>>().into();
    assert!(decoder.take(&block, &mut 0)?.is_none());
    Ok(decoder.batch()?.unwrap().column(0).clone())
}

#[test]
fn rows_become_columns() {
    let mut decoder = decoder(&[INT4, TEXT], &QueryOptions { chunk_rows: Some(300), ..QueryOptions::default() });
    let (mut block, mut batches) = (Vec::new(), Vec::new());
    for number in 0..1000i32 {
        let text = number.to_string();
        let some = (number % 7 != 0).then_some(text.as_bytes());
        block.extend_from_slice(&row(&[Some(&number.to_be_bytes()), some]));
    }
    let block = block.into();
    let mut at = 0;
    while let Some(batch) = decoder.take(&block, &mut at).unwrap() {
        batches.push(batch);
    }
    batches.extend(decoder.batch().unwrap());
    assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [300, 300, 300, 100]);
    let numbers = batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().values().to_vec());
    assert_eq!(numbers.collect::<Vec<_>>(), (0..1000).collect::<Vec<_>>());
    let texts = batches.iter().flat_map(|batch| batch.column(1).as_string::<i32>());
    for (number, text) in texts.enumerate() {
        assert_eq!(text, (number % 7 != 0).then(|| number.to_string()).as_deref());
    }
}

/// Captured from PostgreSQL 15.
#[test]
fn arrays_become_lists() {
    // '{1,NULL,3}'::int[], '{}'::int[]
    let three = bytes("00000001000000010000001700000003000000010000000400000001ffffffff0000000400000003");
    let none = bytes("000000000000000000000017");
    let found = column(INT4_ARRAY, &[Some(&three), None, Some(&none)]).unwrap();
    let lists = found.as_list::<i32>();
    let first = lists.value(0);
    assert_eq!(first.as_primitive::<Int32Type>().iter().collect::<Vec<_>>(), [Some(1), None, Some(3)]);
    assert!(lists.is_null(1) && lists.value(1).is_empty());
    assert!(lists.is_valid(2) && lists.value(2).is_empty());

    // '{{1,2},{3,4}}'::int[], '[2:3]={1,2}'::int[]
    let square = bytes(
        "00000002000000000000001700000002000000010000000200000001000000040000000100000004000000020000000400000003\
         0000000400000004",
    );
    let later = bytes("000000010000000000000017000000020000000200000004000000010000000400000002");
    for (value, what) in [(square, "an array of 2 dimensions"), (later, "an array that starts at 2")] {
        let error = column(INT4_ARRAY, &[Some(&value)]).unwrap_err();
        assert_eq!(error.sqlstate(), Some("0A000"));
        assert!(error.message().contains(what) && error.message().contains("column \"c\""), "{error}");
    }
}

#[test]
fn composites_become_structs() {
    // row(1,'x')::pair, row(null,null)::pair
    let one = bytes("00000002000000170000000400000001000000190000000178");
    let nulls = bytes("0000000200000017ffffffff00000019ffffffff");
    let check = |rows: &StructArray| {
        let a = rows.column(0).as_primitive::<Int32Type>();
        let b = rows.column(1).as_string::<i32>();
        assert_eq!((a.value(0), b.value(0)), (1, "x"));
        assert!(rows.is_null(1) && a.is_null(1) && b.is_null(1));
    };
    let found = column(PAIR, &[Some(&one), None, Some(&nulls)]).unwrap();
    check(found.as_struct());
    assert!(found.is_valid(2) && found.as_struct().column(0).is_null(2));

    // array[row(1,'x'),null]::pair[]
    let array = bytes(
        "00000001000000010000400900000002000000010000001900000002000000170000000400000001000000190000000178ffffffff",
    );
    let found = column(PAIRS, &[Some(&array)]).unwrap();
    check(found.as_list::<i32>().value(0).as_struct());
}

#[test]
fn text_that_is_not_utf8_is_refused_by_name() {
    let error = column(TEXT, &[Some(b"k\xe4se")]).unwrap_err();
    assert_eq!(error.sqlstate(), Some("22021"));
    assert!(error.message().contains("column \"c\""));
    // Half a character each.
    assert!(column(TEXT, &[Some(b"\xc3"), Some(b"\xa4")]).is_err());
}

#[test]
fn rows_that_lie_are_refused() {
    let good = row(&[Some(&1i32.to_be_bytes()), Some(&2i64.to_be_bytes())]);
    let take =
        |block: &[u8]| decoder(&[INT4, INT8], &QueryOptions::default()).take(&Bytes::copy_from_slice(block), &mut 0);
    assert!(take(&good).is_ok());
    for end in 1..good.len() {
        assert!(take(&good[..end]).is_err(), "{end} bytes");
    }
    // Another type's message, another number of values, values of other lengths, values beyond the row's end.
    let mut other = good.clone();
    other[0] = b'd';
    let fewer = row(&[Some(&1i32.to_be_bytes())]);
    let swapped = row(&[Some(&2i64.to_be_bytes()), Some(&1i32.to_be_bytes())]);
    let mut longer = [good.clone(), good.clone()].concat();
    longer[4] += 8;
    let mut negative = good.clone();
    negative[7] = 0x80;
    for block in [other, fewer, swapped, longer, negative] {
        assert!(take(&block).is_err());
    }
    // A row that is shorter than its values say, with another behind it that would have the bytes.
    let mut text = [row(&[Some(b"ab")]), row(&[Some(b"cd")])].concat();
    text[10] += 1;
    assert!(decoder(&[TEXT], &QueryOptions::default()).take(&text.into(), &mut 0).is_err());
}

#[test]
fn a_batch_ends_at_its_bytes() {
    let mut decoder = decoder(&[INT8], &QueryOptions { chunk_bytes: Some(1), ..QueryOptions::default() });
    let block = row(&[Some(&7i64.to_be_bytes())]).repeat(600).into();
    let mut at = 0;
    let batch = decoder.take(&block, &mut at).unwrap().unwrap();
    assert_eq!(batch.num_rows(), ROWS_PER_GROUP);
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().value(0), 7);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..120), place in 0usize..200, byte in any::<u8>()) {
        let types = [INT4, TEXT, NUMERIC, INT4_ARRAY, PAIR, PAIRS];
        let options = QueryOptions { numeric: Some((38, 5)), ..QueryOptions::default() };
        let _ = decoder(&types, &options).take(&bytes.clone().into(), &mut 0);
        // A value of each type that is garbage, in a row that is well formed.
        for oid in types {
            let _ = decoder(&[oid], &options).take(&row(&[Some(&bytes)]).into(), &mut 0);
        }
        // Good rows with one byte changed.
        let three = self::bytes("00000001000000010000001700000003000000010000000400000001ffffffff0000000400000003");
        let array = self::bytes(
            "00000001000000010000400900000002000000010000001900000002000000170000000400000001000000190000000178ffffffff",
        );
        let mut block = row(&[Some(&three), Some(&array)]).repeat(2);
        let place = place % block.len();
        block[place] = byte;
        let mut decoder = decoder(&[INT4_ARRAY, PAIRS], &options);
        if decoder.take(&block.into(), &mut 0).is_ok() {
            let _ = decoder.batch();
        }
    }
}
