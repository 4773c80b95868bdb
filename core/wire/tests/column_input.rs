//! Columns in forms that are closer to a database's memory mean what the same columns in Arrow's layout mean.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod logical;

use bytes::Bytes;
use colonnade_wire::{
    Bitmap, CodecSet, Codes, Column, ColumnInput, Config, DataType, DecodeLimits, Decoder, EncodeError, Encoder,
    Encoding, EncodingSet, Field, Message, Narrow, Schema, Values,
};
use proptest::prelude::*;

const CONFIGS: [&str; 5] = ["plain", "light", "light+fsst", "light+lz4", "plain+zstd-3"];
const ENCODINGS: [&str; 5] =
    ["constant,packed,delta,dictionary,lengths,split,alp,fsst", "lengths", "dictionary,lengths", "split", ""];

fn schema(data_type: DataType) -> Schema {
    Schema { fields: vec![Field::new("x", data_type, true)], metadata: Vec::new() }
}

fn bitmap(valid: &[bool]) -> Vec<u8> {
    let mut bytes = vec![0; valid.len().div_ceil(8)];
    valid.iter().enumerate().filter(|(_, valid)| **valid).for_each(|(row, _)| bytes[row / 8] |= 1 << (row % 8));
    bytes
}

/// A column that is sent twice, because the encoder uses results of the first chunk for the second.
fn decoded(
    data_type: &DataType,
    how: (usize, usize),
    input: ColumnInput<'_, '_>,
    rows: usize,
) -> [(Column<Bytes>, Encoding); 2] {
    let schema = schema(data_type.clone());
    let encodings: EncodingSet = ENCODINGS[how.0].parse().unwrap();
    let config: Config = CONFIGS[how.1].parse().unwrap();
    let mut encoder = Encoder::new(schema).allow(encodings, CodecSet::ALL);
    let mut decoder = Decoder::new(DecodeLimits::default());
    decoder.message(encoder.schema_message().into()).unwrap();
    [(); 2].map(|()| {
        let chunk = encoder.chunk_of(rows, &[input], config).unwrap();
        let message = chunk.slices().concat();
        encoder.recycle(chunk);
        let Message::Chunk(chunk) = decoder.message(message.into()).unwrap() else { panic!("no chunk") };
        (chunk.column(0).unwrap(), chunk.encoding(0))
    })
}

/// Whether the column has these values; `None` is NULL.
fn check(data_type: &DataType, found: &Column<Bytes>, expected: &Column<Bytes>) {
    let field = Field::new("x", data_type.clone(), true);
    for row in 0..expected.rows {
        let (found, expected) = (logical::value(&field, found, row), logical::value(&field, expected, row));
        assert!(logical::same(&field, &expected, &found), "row {row}: {found} not {expected}");
    }
}

fn shared(rows: usize, valid: &Option<Vec<bool>>, values: Values<Bytes>) -> Column<Bytes> {
    let validity = valid.as_ref().map(|valid| Bitmap::new(Bytes::from(bitmap(valid))));
    Column { rows, validity, values }
}

fn validity(rows: usize) -> impl Strategy<Value = Option<Vec<bool>>> {
    prop_oneof![
        Just(None),
        (0.0..=1.0).prop_flat_map(move |p| prop::collection::vec(prop::bool::weighted(p), rows)).prop_map(Some)
    ]
}

/// Where each entry begins, and where the last one ends.
fn offsets(entries: &[String]) -> Vec<i32> {
    let ends = entries.iter().scan(0, |end, entry| {
        *end += entry.len() as i32;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

/// Entries, and rows of them.
fn texts() -> impl Strategy<Value = (Vec<String>, Vec<u32>, Option<Vec<bool>>)> {
    (prop::collection::vec("[a-zé]{0,20}", 1..300), 0_usize..700).prop_flat_map(|(entries, rows)| {
        let code = 0..u32::try_from(entries.len()).unwrap();
        (Just(entries), prop::collection::vec(code, rows), validity(rows))
    })
}

proptest! {
    #[test]
    fn codes_mean_their_entries(
        (entries, codes, valid) in texts(),
        how in (0..ENCODINGS.len(), 0..CONFIGS.len()),
        data_type in prop::sample::select(vec![DataType::Utf8, DataType::LargeBinary]),
    ) {
        let (ends, data) = (offsets(&entries), entries.concat());
        let bits = valid.as_deref().map(bitmap);
        let mut sent = codes.clone();
        // Under a NULL, a code has no meaning.
        valid.iter().flatten().zip(&mut sent).filter(|(valid, _)| !**valid).for_each(|(_, code)| *code = u32::MAX);
        let input = Codes { validity: bits.as_deref().map(Bitmap::new), codes: &sent, offsets: &ends, data: data.as_bytes() };
        let (mut offsets, mut bytes) = (vec![0_i64], Vec::new());
        for &code in &codes {
            bytes.extend_from_slice(entries[code as usize].as_bytes());
            offsets.push(bytes.len() as i64);
        }
        let offsets: Vec<u8> = match data_type {
            DataType::Utf8 => offsets.iter().flat_map(|&offset| (offset as i32).to_le_bytes()).collect(),
            _ => offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect(),
        };
        let expected = shared(codes.len(), &valid, Values::Bytes { offsets: offsets.into(), data: bytes.into() });
        for (found, _) in decoded(&data_type, how, ColumnInput::Codes(input), codes.len()) {
            check(&data_type, &found, &expected);
        }
    }

    #[test]
    fn narrow_integers_mean_wide_ones(
        (values, valid) in (0_usize..400).prop_flat_map(|rows| (prop::collection::vec(prop_oneof![any::<i64>(), -9_i64..9], rows), validity(rows))),
        how in (0..ENCODINGS.len(), 0..CONFIGS.len()),
    ) {
        let data_type = DataType::Decimal128 { precision: 38, scale: 2 };
        let bits = valid.as_deref().map(bitmap);
        let input = Narrow { validity: bits.as_deref().map(Bitmap::new), values: &values };
        let wide: Vec<u8> = values.iter().flat_map(|&value| i128::from(value).to_le_bytes()).collect();
        let expected = shared(values.len(), &valid, Values::Fixed(wide.into()));
        for (found, _) in decoded(&data_type, how, ColumnInput::Narrow(input), values.len()) {
            check(&data_type, &found, &expected);
        }
    }
}

/// Few entries are sent once, and the codes; many are sent as the texts that they are.
#[test]
fn entries_that_repeat_are_a_dictionary() {
    let encoding = |entries: usize, rows: u32| {
        let texts: Vec<_> = (0..entries).map(|entry| format!("the text {entry}")).collect();
        let (offsets, data) = (offsets(&texts), texts.concat());
        let codes: Vec<_> = (0..rows).map(|row| row % entries as u32).collect();
        let input = Codes { validity: None, codes: &codes, offsets: &offsets, data: data.as_bytes() };
        decoded(&DataType::Utf8, (0, 1), ColumnInput::Codes(input), rows as usize).map(|(_, encoding)| encoding)
    };
    assert_eq!(encoding(1, 100), [Encoding::Constant; 2]);
    assert_eq!(encoding(4, 2048), [Encoding::Dictionary; 2]);
    assert_eq!(encoding(2000, 2048), [Encoding::Lengths; 2]);
    let none = Codes { validity: None, codes: &[], offsets: &[], data: &[] };
    assert!(decoded(&DataType::Utf8, (0, 1), ColumnInput::Codes(none), 0).iter().all(|(column, _)| column.rows == 0));
}

/// What does not fit is refused, and nothing is added to the stream.
#[test]
fn codes_without_entries_are_refused() {
    let mut encoder = Encoder::new(schema(DataType::Utf8));
    let mut refused = |codes: &[u32], offsets: &[i32], data: &[u8]| {
        let input = ColumnInput::Codes(Codes { validity: None, codes, offsets, data });
        matches!(encoder.chunk_of(codes.len(), &[input], Config::LIGHT), Err(EncodeError::Buffers(0)))
    };
    assert!(refused(&[0, 2], &[0, 1, 2], b"ab"));
    assert!(refused(&[0], &[0, 3], b"ab"));
    assert!(refused(&[0], &[-1, 2], b"ab"));
    assert!(refused(&[0], &[0, 2, 1], b"ab"));
    assert!(!refused(&[0, 1], &[0, 1, 2], b"ab"));
    assert!(!refused(&[0, 0], &[1, 2], b"ab"));
    let narrow = ColumnInput::Narrow(Narrow { validity: None, values: &[1] });
    assert!(matches!(encoder.chunk_of(1, &[narrow], Config::LIGHT), Err(EncodeError::Buffers(0))));
}
