//! PostgreSQL's text forms of arrays and rows (manual §8.15.6, §8.16.6), and their binary forms (`array_send`,
//! `record_send`).

use std::ops::Range;

use super::column::{ColumnWriter, Values};
use super::{TextStyle, ValueError};
use crate::value::oid;

/// The maximum length of the text of a nested value. Each level doubles the escapes, so the text of a value of some
/// hundred bytes in forty levels would be larger than a machine's memory.
const MAX_TEXT_BYTES: usize = 256 << 20;

/// Appends `{a,"b c",NULL}`.
pub(super) fn write_list(
    items: &ColumnWriter<'_>,
    rows: Range<usize>,
    style: TextStyle,
    out: &mut Vec<u8>,
) -> Result<(), ValueError> {
    out.push(b'{');
    let mut text = Vec::new();
    for (at, row) in rows.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if items.is_null(row) {
            out.extend_from_slice(b"NULL");
        } else if matches!(items.values, Values::List { .. }) {
            // An array of arrays is one array with more dimensions, so its braces are not quoted.
            items.write_text(row, style, out)?;
        } else {
            text.clear();
            items.write_text(row, style, &mut text)?;
            check_length(&text, out)?;
            write_item(&text, out);
        }
    }
    out.push(b'}');
    Ok(())
}

/// Fails if `out` would be too long with `text`, of which each byte may need an escape.
fn check_length(text: &[u8], out: &[u8]) -> Result<(), ValueError> {
    let is_within = out.len() + 2 * text.len() <= MAX_TEXT_BYTES;
    if is_within { Ok(()) } else { Err(ValueError::TooLarge { format: "the text of a nested value" }) }
}

fn write_item(text: &[u8], out: &mut Vec<u8>) {
    let is_special = |b: &u8| matches!(b, b'{' | b'}' | b'"' | b'\\' | b',') || is_space(*b);
    if !text.is_empty() && !text.iter().any(is_special) && !text.eq_ignore_ascii_case(b"null") {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for &b in text {
        if matches!(b, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(b);
    }
    out.push(b'"');
}

/// Appends `(1,"b c",)`. NULL has no text.
pub(super) fn write_record(
    fields: &[ColumnWriter<'_>],
    row: usize,
    style: TextStyle,
    out: &mut Vec<u8>,
) -> Result<(), ValueError> {
    out.push(b'(');
    let mut text = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if !field.is_null(row) {
            text.clear();
            field.write_text(row, style, &mut text)?;
            check_length(&text, out)?;
            write_attribute(&text, out);
        }
    }
    out.push(b')');
    Ok(())
}

fn write_attribute(text: &[u8], out: &mut Vec<u8>) {
    let is_special = |b: &u8| matches!(b, b'(' | b')' | b'"' | b'\\' | b',') || is_space(*b);
    if !text.is_empty() && !text.iter().any(is_special) {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for &b in text {
        if matches!(b, b'"' | b'\\') {
            out.push(b);
        }
        out.push(b);
    }
    out.push(b'"');
}

/// Appends an array: its dimensions, whether it has NULLs, the type of its items, and the items.
pub(super) fn binary_array(items: &ColumnWriter<'_>, rows: Range<usize>, out: &mut Vec<u8>) -> Result<(), ValueError> {
    let mut lengths = Vec::new();
    let mut leaves = vec![rows];
    let mut column = items;
    loop {
        let length = leaves.first().map_or(0, Range::len);
        // PostgreSQL's arrays are rectangular, and an empty array has no dimensions.
        if leaves.iter().any(|leaf| leaf.len() != length) {
            return Err(ValueError::Ragged);
        }
        lengths.push(length as i32);
        let Values::List { offsets, child } = &column.values else { break };
        let lists = || leaves.iter().cloned().flatten();
        if lists().any(|row| column.is_null(row)) {
            return Err(ValueError::Ragged);
        }
        leaves = lists().map(|row| offsets.range(row)).collect();
        column = child;
    }
    if lengths.contains(&0) {
        lengths.clear();
    }
    let rows = || leaves.iter().cloned().flatten();
    out.extend_from_slice(&(lengths.len() as i32).to_be_bytes());
    out.extend_from_slice(&i32::from(rows().any(|row| column.is_null(row))).to_be_bytes());
    out.extend_from_slice(&column.binary_oid().unwrap_or(oid::TEXT).to_be_bytes());
    for length in &lengths {
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&1i32.to_be_bytes());
    }
    rows().try_for_each(|row| column.write_binary(row, out))
}

/// Appends a row: the number of fields, and the type and the value of each.
pub(super) fn binary_record(fields: &[ColumnWriter<'_>], row: usize, out: &mut Vec<u8>) -> Result<(), ValueError> {
    out.extend_from_slice(&(fields.len() as i32).to_be_bytes());
    fields.iter().try_for_each(|field| {
        out.extend_from_slice(&field.binary_oid().unwrap_or(oid::TEXT).to_be_bytes());
        field.write_binary(row, out)
    })
}

fn is_space(b: u8) -> bool {
    b.is_ascii_whitespace() || b == 0x0b
}
