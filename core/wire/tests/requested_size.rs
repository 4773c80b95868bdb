//! Chunks that are larger than the reader requested.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

use colonnade_wire::{
    Column, Config, Damage, DataType, DecodeError, DecodeLimits, Decoder, Encoder, Field, HEADER_LEN, Message,
    RequestedSize, Schema, Values,
};

const REQUESTED: RequestedSize = RequestedSize { rows: 1000, bytes: 100_000 };

/// The messages of a stream with one chunk, whose rows have the same value: the schema and the chunk.
fn stream(rows: usize, length: usize, config: Config) -> [Vec<u8>; 2] {
    let mut encoder =
        Encoder::new(Schema { fields: vec![Field::new("t", DataType::LargeUtf8, false)], metadata: vec![] });
    let offsets: Vec<u8> = (0..=rows).flat_map(|row| ((row * length) as i64).to_le_bytes()).collect();
    let data = vec![b'x'; rows * length];
    let column = Column { rows, validity: None, values: Values::Bytes { offsets: &offsets[..], data: &data[..] } };
    [encoder.schema_message(), encoder.chunk(rows, &[column], config).unwrap().slices().concat()]
}

fn read([schema, chunk]: [Vec<u8>; 2], requested: RequestedSize) -> Result<usize, DecodeError> {
    let mut decoder = Decoder::new(DecodeLimits::default()).requested(requested);
    decoder.message(schema.into())?;
    let Message::Chunk(chunk) = decoder.message(chunk.into())? else { panic!("no chunk") };
    chunk.column(0).map(|column| column.rows)
}

const CONFIGS: [Config; 3] = [Config::PLAIN, Config::LIGHT, Config::light_zstd(1)];

#[test]
fn what_was_asked_for_is_read() {
    for config in CONFIGS {
        assert_eq!(read(stream(1000, 90, config), REQUESTED), Ok(1000));
        // Senders may include the offsets or not.
        assert_eq!(read(stream(1000, 100, config), REQUESTED), Ok(1000));
        // A row cannot be divided.
        assert_eq!(read(stream(1, 50_000_000, config), REQUESTED), Ok(1));
    }
}

#[test]
fn more_is_refused() {
    let refused = |rows, length, config| match read(stream(rows, length, config), REQUESTED).unwrap_err().damage {
        Damage::Unasked { unit, .. } => unit,
        damage => panic!("{damage}"),
    };
    for config in CONFIGS {
        assert_eq!(refused(1001, 1, config), "rows");
        assert_eq!(refused(1000, 500, config), "bytes");
        assert_eq!(refused(2, 5_000_000, config), "bytes");
    }
}

#[test]
fn rows_without_buffers_take_nothing() {
    let field = Field::new("s", DataType::Struct, false).with_children(vec![Field::new("n", DataType::Null, true)]);
    let mut encoder = Encoder::new(Schema { fields: vec![field; 200], metadata: vec![] });
    let child = || Column { rows: 1000, validity: None, values: Values::None };
    let column = || Column { rows: 1000, validity: None, values: Values::Struct(vec![child()]) };
    let columns: Vec<Column<&[u8]>> = (0..200).map(|_| column()).collect();
    let schema = encoder.schema_message();
    let chunk = encoder.chunk(1000, &columns, Config::PLAIN).unwrap().slices().concat();
    let mut decoder = Decoder::new(DecodeLimits::default()).requested(REQUESTED);
    decoder.message(schema.into()).unwrap();
    let Message::Chunk(chunk) = decoder.message(chunk.into()).unwrap() else { panic!("no chunk") };
    for column in 0..200 {
        assert_eq!(chunk.column(column).unwrap().rows, 1000);
    }
}

#[test]
fn a_long_message_is_known_by_its_header() {
    let [schema, chunk] = stream(2, 10, Config::PLAIN);
    let header = |message: &[u8]| *message.first_chunk::<HEADER_LEN>().unwrap();
    let one = stream(1, 10, Config::PLAIN)[1].clone();
    for (message, allowed) in [(&schema, false), (&chunk, false), (&one, true)] {
        assert_eq!(REQUESTED.allows(&header(message), 1 << 30), allowed);
        assert!(REQUESTED.allows(&header(message), 100_000));
    }
}
