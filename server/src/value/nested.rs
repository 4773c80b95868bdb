//! Arrays and rows as PostgreSQL prints them (manual §8.15.6, §8.16.6).

use std::ops::Range;

use super::column::{Column, Values};

/// Appends `{a,"b c",NULL}`.
pub(super) fn list(items: &Column<'_>, rows: Range<usize>, out: &mut Vec<u8>) {
    out.push(b'{');
    let mut text = Vec::new();
    for (at, row) in rows.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if items.is_null(row) {
            out.extend_from_slice(b"NULL");
        } else if matches!(items.values, Values::List { .. }) {
            // An array of arrays is one array of more dimensions: its braces are not quoted.
            items.write_text(row, out);
        } else {
            text.clear();
            items.write_text(row, &mut text);
            item(&text, out);
        }
    }
    out.push(b'}');
}

fn item(text: &[u8], out: &mut Vec<u8>) {
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

/// Appends `(1,"b c",)`; NULL is nothing.
pub(super) fn record(fields: &[Column<'_>], row: usize, out: &mut Vec<u8>) {
    out.push(b'(');
    let mut text = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if !field.is_null(row) {
            text.clear();
            field.write_text(row, &mut text);
            attribute(&text, out);
        }
    }
    out.push(b')');
}

fn attribute(text: &[u8], out: &mut Vec<u8>) {
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

fn is_space(b: u8) -> bool {
    b.is_ascii_whitespace() || b == 0x0b
}
