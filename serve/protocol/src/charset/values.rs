//! The texts within values and rows. PostgreSQL's binary forms say themselves where texts are: an array has the type of
//! its items, a row that of each field.

use super::{Charset, TextError};
use crate::message::backend::MESSAGE_HEADER;
use crate::value::oid;

/// Appends a text to the bytes in the other encoding.
type Convert<'a> = dyn Fn(&[u8], &mut Vec<u8>) -> Result<(), TextError> + 'a;

/// Rows within rows and arrays. The types of results are nested less deeply.
const MAX_DEPTH: usize = 64;

impl Charset {
    /// A client's value in UTF-8. `type_oid` is the number of its type if the value is in binary form; otherwise it is
    /// a text.
    ///
    /// # Errors
    /// If a text in it cannot be converted.
    pub fn decode_value(self, type_oid: Option<u32>, bytes: &[u8]) -> Result<Vec<u8>, TextError> {
        let decode = |bytes: &[u8], out: &mut Vec<u8>| {
            let mut text = String::with_capacity(bytes.len());
            self.decode_all(bytes, &mut text)?;
            out.append(&mut text.into_bytes());
            Ok(())
        };
        let mut out = Vec::with_capacity(bytes.len());
        match type_oid {
            Some(type_oid) => convert(type_oid, bytes, 0, &mut out, &decode)?,
            None => text(bytes, &mut out, &decode)?,
        }
        Ok(out)
    }

    /// Appends the bytes of a text that is in UTF-8.
    fn encode_bytes(self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), TextError> {
        // The server writes texts in UTF-8 only, so nothing is replaced here.
        self.encode(&String::from_utf8_lossy(bytes), out)
    }

    /// Converts the texts of the message that begins at `start` in `out`, whose body is text.
    ///
    /// # Errors
    /// If the character set does not have a character.
    pub fn encode_message(self, out: &mut Vec<u8>, start: usize) -> Result<(), TextError> {
        let body = out.split_off(start + MESSAGE_HEADER);
        text(&body, out, &|bytes: &[u8], out: &mut Vec<u8>| self.encode_bytes(bytes, out))?;
        set_length(out, start);
        Ok(())
    }
}

fn set_length(out: &mut [u8], start: usize) {
    let length = (out.len() - start - 1) as u32;
    if let Some(place) = out.get_mut(start + 1..start + MESSAGE_HEADER) {
        place.copy_from_slice(&length.to_be_bytes());
    }
}

/// Converts the texts of rows that are written in UTF-8.
pub struct RowEncoder {
    charset: Charset,
    /// For each column, the number of its type if it is sent in binary form.
    columns: Vec<Option<u32>>,
    row: Vec<u8>,
}

impl RowEncoder {
    /// `columns` has the number of a column's type if the column is sent in binary form.
    pub fn new(charset: Charset, columns: impl Iterator<Item = Option<u32>>) -> Self {
        Self { charset, columns: columns.collect(), row: Vec::new() }
    }

    /// Converts the row of the message that begins at `start` in `out`. The row begins at `row`, with the number of its
    /// fields.
    ///
    /// # Errors
    /// If the character set does not have a character.
    pub fn encode(&mut self, out: &mut Vec<u8>, start: usize, row: usize) -> Result<(), TextError> {
        let charset = self.charset;
        let encode = |bytes: &[u8], out: &mut Vec<u8>| charset.encode_bytes(bytes, out);
        self.row.clear();
        self.row.extend(out.drain(row..));
        let mut rest = Rest(&self.row);
        out.extend_from_slice(rest.take(2).unwrap_or_default());
        for type_oid in &self.columns {
            field(&mut rest, out, |bytes, out| match type_oid {
                Some(type_oid) => convert(*type_oid, bytes, 0, out, &encode),
                None => text(bytes, out, &encode),
            })?;
        }
        set_length(out, start);
        Ok(())
    }
}

/// Unread bytes.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*bytes))
    }
}

fn text(bytes: &[u8], out: &mut Vec<u8>, each: &Convert<'_>) -> Result<(), TextError> {
    if bytes.is_ascii() {
        out.extend_from_slice(bytes);
        return Ok(());
    }
    each(bytes, out)
}

/// Appends the binary form of a value with its texts converted. Bytes that are no value of the type are appended as they
/// are: who reads them reports that.
fn convert(type_oid: u32, bytes: &[u8], depth: usize, out: &mut Vec<u8>, each: &Convert<'_>) -> Result<(), TextError> {
    let mut rest = Rest(bytes);
    match type_oid {
        // The first byte of jsonb is ASCII too.
        oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::CHAR | oid::JSON | oid::JSONB => {
            return text(bytes, out, each);
        }
        _ if depth > MAX_DEPTH => {}
        _ if type_oid == oid::RECORD || oid::is_composite(type_oid) => {
            out.extend_from_slice(rest.take(4).unwrap_or_default());
            while let Some(type_oid) = rest.u32() {
                out.extend_from_slice(&type_oid.to_be_bytes());
                field(&mut rest, out, |bytes, out| convert(type_oid, bytes, depth + 1, out, each))?;
            }
        }
        _ if oid::item_of(type_oid).is_some() => {
            // The number of dimensions, whether there are NULLs, the type of the items, and two numbers a dimension.
            let dimensions = Rest(bytes).u32().unwrap_or_default() as usize;
            let item = bytes.get(8..12).and_then(|bytes| Rest(bytes).u32());
            let head = dimensions.checked_mul(8).and_then(|length| length.checked_add(12));
            if let Some((head, item)) = head.and_then(|head| rest.take(head)).zip(item) {
                out.extend_from_slice(head);
                while !rest.0.is_empty() {
                    field(&mut rest, out, |bytes, out| convert(item, bytes, depth + 1, out, each))?;
                }
            }
        }
        // The values of enumerations are texts.
        _ if oid::is_users(type_oid) => return text(bytes, out, each),
        _ => {}
    }
    out.extend_from_slice(rest.0);
    Ok(())
}

/// Appends the next field, which has its length before it; −1 is NULL.
fn field(
    rest: &mut Rest<'_>,
    out: &mut Vec<u8>,
    convert: impl FnOnce(&[u8], &mut Vec<u8>) -> Result<(), TextError>,
) -> Result<(), TextError> {
    let mut after = Rest(rest.0);
    let length = after.u32();
    let is_null = length == Some(u32::MAX);
    let Some(bytes) = length.filter(|_| !is_null).and_then(|length| after.take(length as usize)) else {
        // NULL, or no field at all.
        let taken = if is_null { 4 } else { rest.0.len() };
        out.extend_from_slice(rest.take(taken).unwrap_or_default());
        return Ok(());
    };
    rest.0 = after.0;
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    convert(bytes, out)?;
    let length = (out.len() - start - 4) as u32;
    if let Some(place) = out.get_mut(start..start + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}
