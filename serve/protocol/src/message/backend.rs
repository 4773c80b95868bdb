//! Messages of the server. Each function appends one message to a buffer.

use std::ops::{Deref, DerefMut};

use crate::charset::{ClientEncoding, TextError};
use crate::value::oid::{ColumnOrigin, TypeInfo};

/// Messages that were written and not sent yet, and the encoding of the texts in them.
#[derive(Debug, Default)]
pub struct Messages {
    bytes: Vec<u8>,
    /// The client's encoding.
    pub encoding: ClientEncoding,
}

impl Messages {
    /// No messages, with room for some bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), encoding: ClientEncoding::default() }
    }
}

impl Deref for Messages {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Messages {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

/// The state of a transaction, in ReadyForQuery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransactionStatus {
    /// Not in a transaction.
    #[default]
    Idle,
    /// In a transaction.
    InTransaction,
    /// In a transaction that can only be rolled back.
    Failed,
}

/// The fields of ErrorResponse and NoticeResponse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report<'a> {
    /// ERROR, FATAL, WARNING, …
    pub severity: &'a str,
    /// The SQLSTATE.
    pub code: &'a str,
    /// What went wrong.
    pub message: &'a str,
    /// Details.
    pub detail: Option<&'a str>,
    /// What to do.
    pub hint: Option<&'a str>,
    /// The position in the query string, in characters from 1.
    pub position: Option<usize>,
    /// Where it happened: the calls that led there.
    pub context: Option<&'a str>,
    /// A text that the client has not sent, in which it happened.
    pub internal_query: Option<&'a str>,
    /// The position in this text, in characters from 1.
    pub internal_position: Option<usize>,
    /// The schema of the table that it is about.
    pub schema: Option<&'a str>,
    /// The table.
    pub table: Option<&'a str>,
    /// The table's column.
    pub column: Option<&'a str>,
    /// The constraint, or the unique index.
    pub constraint: Option<&'a str>,
    /// PostgreSQL's function that reports such an error, if drivers recognize the error by it.
    pub routine: Option<&'a str>,
}

/// The bytes of a message before its body: its type and its length.
pub(crate) const MESSAGE_HEADER: usize = 5;

/// Appends a message whose body is written by `body`, and fills in its length.
pub fn message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    // No message reaches 4 GiB, because the number of columns and the size of rows are limited.
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// The header of a CopyData message with a payload of `length` bytes, which the caller sends itself.
pub fn copy_data_header(length: usize) -> Option<[u8; 5]> {
    let length = i32::try_from(length.checked_add(4)?).ok()?.to_be_bytes();
    Some([b'd', length[0], length[1], length[2], length[3]])
}

/// Appends a text of this server, which is ASCII or has to arrive in any case.
fn string(out: &mut Vec<u8>, text: &str, encoding: ClientEncoding) {
    match encoding.charset() {
        // The protocol's strings end at the first NUL, so a NUL within would break the message.
        None => out.extend(text.bytes().filter(|&b| b != 0)),
        Some(charset) => text.split('\0').for_each(|part| charset.encode_lossy(part, out)),
    }
    out.push(0);
}

/// Appends a text of the database.
fn exact_string(out: &mut Vec<u8>, text: &str, encoding: ClientEncoding) -> Result<(), TextError> {
    match encoding.charset() {
        None => out.extend(text.bytes().filter(|&b| b != 0)),
        Some(charset) => text.split('\0').try_for_each(|part| charset.encode(part, out))?,
    }
    out.push(0);
    Ok(())
}

/// Appends a message whose body may fail. In this case nothing is appended.
fn fallible_message(
    out: &mut Messages,
    kind: u8,
    body: impl FnOnce(&mut Vec<u8>, ClientEncoding) -> Result<(), TextError>,
) -> Result<(), TextError> {
    let (start, encoding, mut written) = (out.len(), out.encoding, Ok(()));
    message(out, kind, |out| written = body(out, encoding));
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// AuthenticationOk: the login is complete.
pub fn authentication_ok(out: &mut Vec<u8>) {
    message(out, b'R', |out| out.extend_from_slice(&0i32.to_be_bytes()));
}

/// AuthenticationSASL: the mechanisms for the login.
pub fn authentication_sasl(out: &mut Vec<u8>, mechanisms: &[&str]) {
    message(out, b'R', |out| {
        out.extend_from_slice(&10i32.to_be_bytes());
        mechanisms.iter().for_each(|mechanism| string(out, mechanism, ClientEncoding::Utf8));
        out.push(0);
    });
}

/// AuthenticationSASLContinue: the mechanism's next message.
pub fn authentication_sasl_continue(out: &mut Vec<u8>, data: &str) {
    message(out, b'R', |out| {
        out.extend_from_slice(&11i32.to_be_bytes());
        out.extend_from_slice(data.as_bytes());
    });
}

/// AuthenticationSASLFinal: the mechanism's last message.
pub fn authentication_sasl_final(out: &mut Vec<u8>, data: &str) {
    message(out, b'R', |out| {
        out.extend_from_slice(&12i32.to_be_bytes());
        out.extend_from_slice(data.as_bytes());
    });
}

/// The supported minor version of the protocol, and the client's unknown options.
pub fn negotiate_protocol_version(out: &mut Vec<u8>, minor: u16, options: &[&str]) {
    const MAJOR: i32 = 3 << 16;
    message(out, b'v', |out| {
        out.extend_from_slice(&(MAJOR | i32::from(minor)).to_be_bytes());
        out.extend_from_slice(&(options.len() as i32).to_be_bytes());
        options.iter().for_each(|option| string(out, option, ClientEncoding::Utf8));
    });
}

/// A setting's value.
pub fn parameter_status(out: &mut Messages, name: &str, value: &str) {
    let encoding = out.encoding;
    message(out, b'S', |out| {
        string(out, name, encoding);
        string(out, value, encoding);
    });
}

/// The number and the secret for cancel requests.
pub fn backend_key_data(out: &mut Vec<u8>, process: i32, secret: &[u8]) {
    message(out, b'K', |out| {
        out.extend_from_slice(&process.to_be_bytes());
        out.extend_from_slice(secret);
    });
}

/// The server is ready for the next query.
pub fn ready_for_query(out: &mut Vec<u8>, status: TransactionStatus) {
    let status = match status {
        TransactionStatus::Idle => b'I',
        TransactionStatus::InTransaction => b'T',
        TransactionStatus::Failed => b'E',
    };
    message(out, b'Z', |out| out.push(status));
}

/// The columns of the rows that follow: name, origin, type, and whether in text (0) or binary (1).
///
/// # Errors
/// If the client's encoding does not have a character of a name.
pub fn row_description<'a>(
    out: &mut Messages,
    columns: impl ExactSizeIterator<Item = (&'a str, ColumnOrigin, TypeInfo, i16)>,
) -> Result<(), TextError> {
    fallible_message(out, b'T', |out, encoding| {
        out.extend_from_slice(&(columns.len() as i16).to_be_bytes());
        for (name, origin, info, format) in columns {
            exact_string(out, name, encoding)?;
            out.extend_from_slice(&origin.table.to_be_bytes());
            out.extend_from_slice(&origin.column.to_be_bytes());
            out.extend_from_slice(&info.oid.to_be_bytes());
            out.extend_from_slice(&info.size.to_be_bytes());
            out.extend_from_slice(&info.modifier.to_be_bytes());
            out.extend_from_slice(&format.to_be_bytes());
        }
        Ok(())
    })
}

/// A row of texts.
///
/// # Errors
/// If the client's encoding does not have a character of a text.
pub fn text_row(out: &mut Messages, values: &[String]) -> Result<(), TextError> {
    fallible_message(out, b'D', |out, encoding| {
        out.extend_from_slice(&(values.len() as i16).to_be_bytes());
        for value in values {
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            match encoding.charset() {
                None => out.extend_from_slice(value.as_bytes()),
                Some(charset) => charset.encode(value, out)?,
            }
            let length = (out.len() - start - 4) as i32;
            out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
        Ok(())
    })
}

/// A statement is done.
pub fn command_complete(out: &mut Messages, tag: &str) {
    let encoding = out.encoding;
    message(out, b'C', |out| string(out, tag, encoding));
}

/// The query string has no statement.
pub fn empty_query(out: &mut Vec<u8>) {
    message(out, b'I', |_| ());
}

/// The statement is prepared.
pub fn parse_complete(out: &mut Vec<u8>) {
    message(out, b'1', |_| ());
}

/// The portal is made.
pub fn bind_complete(out: &mut Vec<u8>) {
    message(out, b'2', |_| ());
}

/// The statement or portal is closed, if there was one.
pub fn close_complete(out: &mut Vec<u8>) {
    message(out, b'3', |_| ());
}

/// The types of a described statement's parameters.
pub fn parameter_description(out: &mut Vec<u8>, types: impl ExactSizeIterator<Item = u32>) {
    message(out, b't', |out| {
        out.extend_from_slice(&(types.len() as u16).to_be_bytes());
        types.for_each(|oid| out.extend_from_slice(&oid.to_be_bytes()));
    });
}

/// A portal has more rows than were requested.
pub fn portal_suspended(out: &mut Vec<u8>) {
    message(out, b's', |_| ());
}

/// The described statement gives no rows.
pub fn no_data(out: &mut Vec<u8>) {
    message(out, b'n', |_| ());
}

/// The columns that [`copy_out_response`] can count. Formats with rows have the limit of results as rows.
pub(crate) const MAX_COPY_COLUMNS: usize = i16::MAX as usize;

/// The server sends copy data with this number of columns.
pub fn copy_out_response(out: &mut Vec<u8>, binary: bool, columns: usize) {
    copy_response(out, b'H', binary, columns);
}

/// The server expects copy data with this number of columns.
pub fn copy_in_response(out: &mut Vec<u8>, binary: bool, columns: usize) {
    copy_response(out, b'G', binary, columns);
}

fn copy_response(out: &mut Vec<u8>, kind: u8, binary: bool, columns: usize) {
    message(out, kind, |out| {
        out.push(u8::from(binary));
        out.extend_from_slice(&(columns as i16).to_be_bytes());
        (0..columns).for_each(|_| out.extend_from_slice(&i16::from(binary).to_be_bytes()));
    });
}

/// The copy data is complete.
pub fn copy_done(out: &mut Vec<u8>) {
    message(out, b'c', |_| ());
}

/// An error.
pub fn error_response(out: &mut Messages, report: &Report<'_>) {
    let encoding = out.encoding;
    message(out, b'E', |out| fields(out, report, encoding));
}

/// A warning or a notice.
pub fn notice_response(out: &mut Messages, report: &Report<'_>) {
    let encoding = out.encoding;
    message(out, b'N', |out| fields(out, report, encoding));
}

/// A notification, and the number of the session that has sent it.
///
/// # Errors
/// If the client's encoding lacks a character.
pub fn notification_response(out: &mut Messages, process: i32, channel: &str, payload: &str) -> Result<(), TextError> {
    fallible_message(out, b'A', |out, encoding| {
        out.extend_from_slice(&process.to_be_bytes());
        exact_string(out, channel, encoding)?;
        exact_string(out, payload, encoding)
    })
}

fn fields(out: &mut Vec<u8>, report: &Report<'_>, encoding: ClientEncoding) {
    let mut field = |kind: u8, value: Option<&str>| {
        if let Some(value) = value {
            out.push(kind);
            string(out, value, encoding);
        }
    };
    field(b'S', Some(report.severity));
    field(b'V', Some(report.severity));
    field(b'C', Some(report.code));
    field(b'M', Some(report.message));
    field(b'D', report.detail);
    field(b'H', report.hint);
    field(b'P', report.position.map(|position| position.to_string()).as_deref());
    field(b'p', report.internal_position.map(|position| position.to_string()).as_deref());
    field(b'q', report.internal_query);
    field(b'W', report.context);
    field(b's', report.schema);
    field(b't', report.table);
    field(b'c', report.column);
    field(b'n', report.constraint);
    field(b'R', report.routine);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_carry_their_length() {
        let mut out = Messages::default();
        command_complete(&mut out, "SELECT 1");
        assert_eq!(out[..], *b"C\x00\x00\x00\x0dSELECT 1\0");
        out.clear();
        ready_for_query(&mut out, TransactionStatus::Failed);
        assert_eq!(out[..], *b"Z\x00\x00\x00\x05E");
    }

    #[test]
    fn a_nul_in_text_does_not_break_the_message() {
        let mut out = Messages::default();
        let report = Report { severity: "ERROR", code: "XX000", message: "a\0b", ..Report::default() };
        error_response(&mut out, &report);
        assert_eq!(&out[5..], b"SERROR\0VERROR\0CXX000\0Mab\0\0");
    }

    #[test]
    fn copy_data_is_limited_by_its_length_field() {
        assert_eq!(copy_data_header(1), Some([b'd', 0, 0, 0, 5]));
        assert_eq!(copy_data_header(i32::MAX as usize), None);
    }
}
