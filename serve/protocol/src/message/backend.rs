//! Messages of the server. Each function appends one message to a buffer.

use crate::value::oid::TypeInfo;

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
    /// PostgreSQL's function that reports such an error, if drivers recognize the error by it.
    pub routine: Option<&'a str>,
}

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

fn string(out: &mut Vec<u8>, text: &str) {
    // The protocol's strings end at the first NUL, so a NUL within would break the message.
    out.extend(text.bytes().filter(|&b| b != 0));
    out.push(0);
}

/// AuthenticationOk: the login is complete.
pub fn authentication_ok(out: &mut Vec<u8>) {
    message(out, b'R', |out| out.extend_from_slice(&0i32.to_be_bytes()));
}

/// AuthenticationSASL: the mechanisms for the login.
pub fn authentication_sasl(out: &mut Vec<u8>, mechanisms: &[&str]) {
    message(out, b'R', |out| {
        out.extend_from_slice(&10i32.to_be_bytes());
        mechanisms.iter().for_each(|mechanism| string(out, mechanism));
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
        options.iter().for_each(|option| string(out, option));
    });
}

/// A setting's value.
pub fn parameter_status(out: &mut Vec<u8>, name: &str, value: &str) {
    message(out, b'S', |out| {
        string(out, name);
        string(out, value);
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

/// The columns of the rows that follow: name, type, and whether in text (0) or binary (1).
pub fn row_description<'a>(out: &mut Vec<u8>, columns: impl ExactSizeIterator<Item = (&'a str, TypeInfo, i16)>) {
    message(out, b'T', |out| {
        out.extend_from_slice(&(columns.len() as i16).to_be_bytes());
        for (name, info, format) in columns {
            string(out, name);
            out.extend_from_slice(&[0; 6]); // no table, no column number
            out.extend_from_slice(&info.oid.to_be_bytes());
            out.extend_from_slice(&info.size.to_be_bytes());
            out.extend_from_slice(&info.modifier.to_be_bytes());
            out.extend_from_slice(&format.to_be_bytes());
        }
    });
}

/// A row of texts.
pub fn text_row(out: &mut Vec<u8>, values: &[String]) {
    message(out, b'D', |out| {
        out.extend_from_slice(&(values.len() as i16).to_be_bytes());
        for value in values {
            out.extend_from_slice(&(value.len() as i32).to_be_bytes());
            out.extend_from_slice(value.as_bytes());
        }
    });
}

/// A statement is done.
pub fn command_complete(out: &mut Vec<u8>, tag: &str) {
    message(out, b'C', |out| string(out, tag));
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
pub fn error_response(out: &mut Vec<u8>, report: &Report<'_>) {
    message(out, b'E', |out| fields(out, report));
}

/// A warning or a notice.
pub fn notice_response(out: &mut Vec<u8>, report: &Report<'_>) {
    message(out, b'N', |out| fields(out, report));
}

fn fields(out: &mut Vec<u8>, report: &Report<'_>) {
    let mut field = |kind: u8, value: Option<&str>| {
        if let Some(value) = value {
            out.push(kind);
            string(out, value);
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
    field(b'R', report.routine);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_carry_their_length() {
        let mut out = Vec::new();
        command_complete(&mut out, "SELECT 1");
        assert_eq!(out, b"C\x00\x00\x00\x0dSELECT 1\0");
        out.clear();
        ready_for_query(&mut out, TransactionStatus::Failed);
        assert_eq!(out, b"Z\x00\x00\x00\x05E");
    }

    #[test]
    fn a_nul_in_text_does_not_break_the_message() {
        let mut out = Vec::new();
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
