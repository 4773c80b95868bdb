//! The vectors of spec/vectors: every good one decodes to its logical value, every bad one is refused, and a stream
//! with a changed byte or a truncated stream is never accepted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod logical;

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use colonnade_wire::{Column, Damage, DecodeError, DecodeLimits, Decoder, HEADER_LEN, Message, Schema, message_length};
use serde::Deserialize;
use serde_json::Value;

type Stream = (Schema, Vec<(usize, Vec<Column<Bytes>>)>);

/// Decodes a whole stream as a reader of a file does.
fn decode(stream: &[u8]) -> Result<Stream, DecodeError> {
    let limits = DecodeLimits { message_bytes: 1 << 24, decoded_bytes: 1 << 26 };
    let mut decoder = Decoder::new(limits);
    let (mut schema, mut chunks) = (Schema::default(), Vec::new());
    let mut rest = stream;
    while !rest.is_empty() {
        let length = match rest.first_chunk::<HEADER_LEN>() {
            Some(header) => message_length(header, &limits)?.min(rest.len()),
            None => rest.len(),
        };
        let (message, after) = rest.split_at(length);
        rest = after;
        match decoder.message(Bytes::copy_from_slice(message))? {
            Message::Schema(read) => schema = (*read).clone(),
            Message::Chunk(chunk) => {
                let columns = (0..chunk.columns()).map(|column| {
                    let (plain, with_codes) = (chunk.column(column), chunk.column_with_codes(column));
                    // Codes need less memory than their texts.
                    let is_large = |error: &DecodeError| matches!(error.damage, Damage::OverLimit { .. });
                    assert!(plain.is_ok() == with_codes.is_ok() || plain.as_ref().is_err_and(is_large));
                    plain
                });
                chunks.push((chunk.rows(), columns.collect::<Result<_, _>>()?));
            }
            Message::End(_) => {}
        }
    }
    decoder.finish()?;
    Ok((schema, chunks))
}

fn vectors(kind: &str) -> Vec<(String, Vec<u8>, PathBuf)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors").join(kind);
    let mut vectors: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "hex"))
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let digits: String = text.lines().map(|line| line.split('#').next().unwrap()).collect();
            let digits: Vec<u8> = digits.bytes().filter(|digit| !digit.is_ascii_whitespace()).collect();
            let bytes = digits
                .chunks(2)
                .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
                .collect();
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), bytes, path)
        })
        .collect();
    vectors.sort();
    assert!(vectors.len() > 20, "too few vectors");
    vectors
}

/// Streams may be nested more deeply than serde_json accepts by default.
fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    let mut reader = serde_json::Deserializer::from_str(&text);
    reader.disable_recursion_limit();
    Value::deserialize(&mut reader).unwrap()
}

#[test]
fn good_vectors_mean_what_is_beside_them() {
    for (name, stream, path) in vectors("good") {
        let (schema, chunks) = decode(&stream).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = logical::stream(&schema, &chunks);
        let expected = read_json(&path.with_extension("json"));
        for key in ["metadata", "schema", "rows", "chunks"] {
            assert_eq!(found.get(key), expected.get(key), "{name}: {key}");
        }
        for (index, field) in schema.fields.iter().enumerate() {
            let (found, expected) = (found["columns"][index].as_array(), expected["columns"][index].as_array());
            let (found, expected) = (found.unwrap(), expected.unwrap());
            assert_eq!(found.len(), expected.len(), "{name}: rows of column {index}");
            for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
                assert!(
                    logical::same(field, found, expected),
                    "{name}: column {index}, row {row}: {found} not {expected}"
                );
            }
        }
    }
}

#[test]
fn bad_vectors_are_refused() {
    for (name, stream, _) in vectors("bad") {
        assert!(decode(&stream).is_err(), "{name} was accepted");
    }
}

#[test]
fn no_cut_passes_for_a_result() {
    for (name, stream, _) in vectors("good") {
        let step = stream.len() / 4096 + 1;
        for length in (0..stream.len()).step_by(step) {
            assert!(decode(&stream[..length]).is_err(), "{name} cut to {length} bytes was accepted");
        }
    }
}

#[test]
fn no_changed_byte_passes_for_a_result() {
    for (name, stream, _) in vectors("good") {
        let step = stream.len() / 2048 + 1;
        let mut changed = stream.clone();
        for position in (0..stream.len()).step_by(step) {
            for flip in [0x01, 0x80, 0xFF] {
                changed[position] ^= flip;
                assert!(decode(&changed).is_err(), "{name} with byte {position} changed by {flip:#x} was accepted");
                changed[position] ^= flip;
            }
        }
    }
}

/// Found by fuzzing: a list whose items multiply beyond any count, and rows that need no bytes.
#[test]
fn rows_beyond_counting_are_refused() {
    let column = |rows: u32, fields: &[&[u8]], body: &[u8]| {
        let mut schema = vec![0; 4];
        schema.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        fields.iter().for_each(|field| schema.extend_from_slice(field));
        let mut stream = message(1, 0, &schema);
        stream.extend(message(2, rows, body));
        stream
    };
    let field = |kind: u8, children: u8, parameters: &[u8]| {
        [&[0, 0, 0, 0, kind, 1, children, 0], parameters, &[0, 0, 0, 0]].concat()
    };
    // large_list<fixed_size_list(3)<utf8>>: one list of (2^64 - 1) / 3 items.
    let third = (u64::MAX / 3).to_le_bytes();
    let list = [&[8, 0, 0, 0, 0, 0, 0, 0][..], &[0; 8], &third, &[0; 40], &[0; 8], &third, &[0; 8], &[0; 8], &[0; 48]]
        .concat();
    let fields = [field(32, 1, &[]), field(33, 1, &[3, 0, 0, 0]), field(26, 0, &[])];
    let damage = decode(&column(1, &[&fields[0], &fields[1], &fields[2]], &list)).unwrap_err().damage;
    assert!(matches!(damage, Damage::OverLimit { .. }), "{damage}");
    // fixed_size_binary(0), 2^32 - 1 rows by a dictionary of one entry.
    let codes =
        [&[8, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1][..], &[0; 7], &[0; 8], &[0; 24], &[1], &[0; 15]].concat();
    let damage = decode(&column(u32::MAX, &[&field(30, 0, &[0; 4])], &codes)).unwrap_err().damage;
    assert!(matches!(damage, Damage::OverLimit { .. }), "{damage}");
}

fn message(kind: u8, rows: u32, body: &[u8]) -> Vec<u8> {
    let mut message = vec![0; HEADER_LEN];
    message[..4].copy_from_slice(b"CLN1");
    message[4] = kind;
    message[8..16].copy_from_slice(&((HEADER_LEN + body.len()) as u64).to_le_bytes());
    message[24..28].copy_from_slice(&rows.to_le_bytes());
    message[32..40].copy_from_slice(&(body.len() as u64).to_le_bytes());
    message.extend_from_slice(body);
    repair(&mut message);
    message
}

/// Tests the checks after the checksum: a changed body with a corrected checksum gives an error, or some value within
/// the limits, and never a panic.
#[test]
fn repaired_checksums_never_cause_a_panic() {
    for (_, stream, _) in vectors("good") {
        if stream.len() > 16_384 {
            continue;
        }
        let mut start = 0;
        while start < stream.len() {
            let header = stream[start..].first_chunk::<HEADER_LEN>().unwrap();
            let length = message_length(header, &DecodeLimits::default()).unwrap();
            for position in start + 24..start + length {
                for flip in [0x01, 0x10, 0x80, 0xFF] {
                    let mut changed = stream.clone();
                    changed[position] ^= flip;
                    repair(&mut changed[start..start + length]);
                    let _ = decode(&changed);
                }
            }
            start += length;
        }
    }
}

fn repair(message: &mut [u8]) {
    use twox_hash::XxHash3_64;
    let seed = XxHash3_64::oneshot(&message[..16]);
    let checksum = XxHash3_64::oneshot_with_seed(seed, &message[24..]);
    message[16..24].copy_from_slice(&checksum.to_le_bytes());
}
