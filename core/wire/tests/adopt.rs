//! Chunks of several encoders in one stream.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

use colonnade_wire::{
    Column, Config, Damage, DataType, DecodeLimits, Decoder, Encoder, Field, Message, Schema, Totals, Values,
};

fn schema() -> Schema {
    Schema { fields: vec![Field::new("n", DataType::Int32, false)], metadata: vec![] }
}

fn message(encoder: &mut Encoder, first: i32, rows: usize, config: Config) -> Vec<u8> {
    let values: Vec<u8> = (first..).take(rows).flat_map(i32::to_le_bytes).collect();
    let column = Column { rows, validity: None, values: Values::Fixed(&values[..]) };
    encoder.chunk(rows, &[column], config).unwrap().slices().concat()
}

#[test]
fn an_adopted_chunk_is_the_streams_next() {
    let (mut leader, mut worker) = (Encoder::new(schema()), Encoder::new(schema()));
    let mut stream = vec![leader.schema_message()];
    for first in [0, 5000, 10_000] {
        let from_worker = message(&mut worker, first, 5000, Config::light_zstd(1));
        let adopted = leader.adopt(&from_worker).unwrap();
        assert_eq!((adopted.rows(), adopted.len()), (5000, from_worker.len()));
        stream.push(adopted.slices().concat());
        leader.recycle(adopted);
        stream.push(message(&mut leader, first, 10, Config::PLAIN));
    }
    stream.push(leader.end_message());

    let mut decoder = Decoder::new(DecodeLimits::default());
    let mut rows = vec![];
    for message in stream {
        if let Message::Chunk(chunk) = decoder.message(message.into()).unwrap() {
            let Values::Fixed(values) = chunk.column(0).unwrap().values else { panic!("not fixed") };
            rows.extend(values.chunks(4).map(|value| i32::from_le_bytes(value.try_into().unwrap())));
        }
    }
    assert_eq!(decoder.finish().unwrap(), Totals { rows: 15_030, chunks: 6 });
    let expected: Vec<i32> = [0, 5000, 10_000].iter().flat_map(|&at| (at..at + 5000).chain(at..at + 10)).collect();
    assert_eq!(rows, expected);
}

#[test]
fn what_is_no_intact_chunk_is_refused_and_not_counted() {
    let (mut leader, mut worker) = (Encoder::new(schema()), Encoder::new(schema()));
    let mut stream = vec![leader.schema_message()];
    let mut changed = message(&mut worker, 0, 100, Config::PLAIN);
    *changed.last_mut().unwrap() ^= 1;
    let refused =
        [(worker.end_message(), Damage::OutOfPlace), (changed, Damage::Checksum), (vec![], Damage::Truncated)];
    for (message, damage) in refused {
        assert_eq!(leader.adopt(&message).err().map(|error| error.damage), Some(damage));
    }
    stream.push(leader.end_message());
    let mut decoder = Decoder::new(DecodeLimits::default());
    stream.into_iter().for_each(|message| drop(decoder.message(message.into()).unwrap()));
    assert_eq!(decoder.finish().unwrap(), Totals::default());
}
