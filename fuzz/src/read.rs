//! A whole stream, read the way a reader of a file does it.

use arrow_array::Array;
use bytes::Bytes;
use colonnade_wire::arrow::array_from_column;
use colonnade_wire::{
    Column, DataType, DecodeError, Decoder, Field, HEADER_LEN, Limits, Message, Schema, message_length,
};

/// Small enough that a run that keeps to them fits into the fuzzer's memory many times over.
pub const LIMITS: Limits = Limits { message_bytes: 1 << 20, decoded_bytes: 1 << 22 };

/// The schema and the chunks of a stream, every column decoded and checked.
///
/// # Errors
/// The stream is damaged.
pub fn read(stream: &[u8]) -> Result<(Schema, Vec<Vec<Column<Bytes>>>), DecodeError> {
    let mut decoder = Decoder::new(LIMITS);
    let (mut schema, mut chunks) = (Schema::default(), Vec::new());
    let mut rest = stream;
    while !rest.is_empty() {
        let length = match rest.first_chunk::<HEADER_LEN>() {
            Some(header) => message_length(header, &LIMITS)?.min(rest.len()),
            None => rest.len(),
        };
        let (message, after) = rest.split_at(length);
        rest = after;
        match decoder.message(Bytes::copy_from_slice(message))? {
            Message::Schema(found) => schema = (*found).clone(),
            Message::Chunk(chunk) => {
                let mut columns = Vec::new();
                for (index, field) in schema.fields.iter().enumerate() {
                    let column = chunk.column(index)?;
                    assert_eq!(column.rows, chunk.rows());
                    check(field, &column);
                    columns.push(column);
                }
                chunks.push(columns);
            }
            Message::End(_) => {}
        }
    }
    decoder.finish()?;
    Ok((schema, chunks))
}

/// A stream's messages, as far as their length fields tell; the last one is what is left.
pub fn messages(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = stream;
    std::iter::from_fn(move || {
        let header = rest.first_chunk::<HEADER_LEN>();
        let length = header.and_then(|header| message_length(header, &LIMITS).ok());
        let (message, after) = rest.split_at(length.unwrap_or(rest.len()).min(rest.len()));
        rest = after;
        (!message.is_empty()).then_some(message)
    })
}

/// What the decoder promises of a column, by Arrow's own complete validation: lengths, offsets, UTF-8, indices, nesting.
///
/// # Panics
/// If the column breaks a promise.
pub fn check(field: &Field, column: &Column<Bytes>) {
    let field = nullable(field, false);
    let array = array_from_column(&field, column.clone());
    assert_eq!(array.len(), column.rows);
    if let Err(error) = array.to_data().validate_full() {
        panic!("{error}: {field:?}");
    }
}

/// The same field with nullable children: FORMAT §6.1 forbids NULLs in top-level fields that are not nullable, but not
/// below. Arrow would not have a map's entries and keys nullable.
fn nullable(field: &Field, keep: bool) -> Field {
    let entries = matches!(field.data_type, DataType::Map { .. });
    let mut field = field.clone();
    for (index, child) in field.children.iter_mut().enumerate() {
        let required = entries || keep && index == 0;
        *child = nullable(child, entries);
        child.nullable = !required;
    }
    field
}
