//! Reads a whole stream as a reader of a file does.

use arrow_array::Array;
use bytes::Bytes;
use colonnade_wire::arrow::array_from_column;
use colonnade_wire::{
    Column, DataType, DecodeError, DecodeLimits, Decoder, Field, HEADER_LEN, Message, Schema, Values, message_length,
};

/// Small limits, so that a run needs only a small part of the fuzzer's memory.
pub const LIMITS: DecodeLimits = DecodeLimits { message_bytes: 1 << 20, decoded_bytes: 1 << 22 };

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
                    check_codes(field, &chunk.column_with_codes(index)?);
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

/// Asserts that each code of a column of texts or bytes is the number of an entry, if it has codes.
fn check_codes(field: &Field, column: &Column<Bytes>) {
    if let (true, Values::Dictionary { indices, values }) = (field.children.is_empty(), &column.values) {
        let codes = indices.chunks_exact(4).map(|code| u32::from_le_bytes(code.try_into().unwrap_or_default()));
        assert_eq!(codes.len(), column.rows);
        assert!(codes.into_iter().all(|code| (code as usize) < values.rows));
    }
}

/// A stream's messages, divided by their length fields. The last one is the rest.
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

/// Checks the decoder's guarantees for a column by Arrow's own complete validation: lengths, offsets, UTF-8, indices,
/// nesting.
///
/// # Panics
/// If the column violates a guarantee.
pub fn check(field: &Field, column: &Column<Bytes>) {
    let field = nullable(field, false);
    let array = array_from_column(&field, column.clone());
    assert_eq!(array.len(), column.rows);
    if let Err(error) = array.to_data().validate_full() {
        panic!("{error}: {field:?}");
    }
}

/// The same field with nullable children: FORMAT §6.1 forbids NULLs in top-level fields that are not nullable, but not
/// in their children. Arrow does not allow a map's entries and keys to be nullable.
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
