//! The messages of the extended query protocol.
//! <https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY>

use super::message::{self, MessageReader, framed, protocol};
use crate::{Error, Sent};

/// The form of a column's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ValueFormat {
    /// By the type's output function.
    Text,
    /// By the type's send function.
    #[default]
    Binary,
}

impl ValueFormat {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Binary => "binary",
        }
    }
}

/// A column of a result, as RowDescription has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResultColumn {
    pub(crate) name: String,
    /// The type, which is never a domain.
    pub(crate) type_oid: u32,
    /// The type modifier, encoded by the type; −1 for none.
    pub(crate) typmod: i32,
    /// The table and the column's number in it, also through subqueries; zeros if the column is computed.
    pub(crate) origin: (u32, u16),
}

/// Messages that are sent together.
#[derive(Debug, Default)]
pub(crate) struct MessageBatch(Vec<u8>);

impl MessageBatch {
    /// Parse: creates a prepared statement, whose parameters have these types; 0 leaves a type open. The next Parse
    /// replaces a statement with an empty name.
    ///
    /// # Errors
    /// The text holds a NUL or is too long for a message.
    pub(crate) fn parse(mut self, name: &str, sql: &str, types: &[u32]) -> Result<Self, Error> {
        message::check_text(sql)?;
        let count = (types.len() as u16).to_be_bytes();
        let types: Vec<u8> = types.iter().flat_map(|type_oid| type_oid.to_be_bytes()).collect();
        self.push(b'P', &[name.as_bytes(), b"\0", sql.as_bytes(), b"\0", &count, &types]);
        Ok(self)
    }

    /// Describe: requests the columns of a statement.
    pub(crate) fn describe(mut self, name: &str) -> Self {
        self.push(b'D', &[b"S", name.as_bytes(), b"\0"]);
        self
    }

    /// Bind: binds a statement to these values, at most 65535. `formats` are requested for its columns; none means
    /// text.
    pub(crate) fn bind(mut self, name: &str, values: &[Sent], formats: &[ValueFormat]) -> Self {
        let count = (values.len() as u16).to_be_bytes();
        let (mut value_codes, mut bytes) = (Vec::with_capacity(2 * values.len()), Vec::new());
        for value in values {
            value_codes.extend_from_slice(&u16::from(value.is_binary).to_be_bytes());
            match &value.bytes {
                // −1 is NULL.
                None => bytes.extend_from_slice(&(-1i32).to_be_bytes()),
                Some(value) => {
                    bytes.extend_from_slice(&(value.len() as u32).to_be_bytes());
                    bytes.extend_from_slice(value);
                }
            }
        }
        let values = [&count[..], &value_codes, &count, &bytes].concat();
        let mut codes = Vec::with_capacity(2 * formats.len());
        for format in formats {
            codes.extend_from_slice(&(*format as u16).to_be_bytes());
        }
        // A result has at most 1664 columns.
        let count = (formats.len() as u16).to_be_bytes();
        self.push(b'B', &[b"\0", name.as_bytes(), b"\0", &values, &count, &codes]);
        self
    }

    /// Describe: requests the columns of the bound statement, with the formats in which the server sends them.
    pub(crate) fn describe_bound(mut self) -> Self {
        self.push(b'D', &[b"P\0"]);
        self
    }

    /// Execute: runs the bound statement to its end.
    pub(crate) fn execute(mut self) -> Self {
        self.push(b'E', &[b"\0", &0u32.to_be_bytes()]);
        self
    }

    /// Close: removes a statement, if there is one with this name.
    pub(crate) fn close(mut self, name: &str) -> Self {
        self.push(b'C', &[b"S", name.as_bytes(), b"\0"]);
        self
    }

    /// Flush: requests the answers so far, without ending the transaction.
    pub(crate) fn flush(self) -> Vec<u8> {
        self.and_flush().0
    }

    /// Flush, with further messages behind it.
    pub(crate) fn and_flush(mut self) -> Self {
        self.push(b'H', &[]);
        self
    }

    /// Sync: ends the transaction, unless the user has begun it, and requests ReadyForQuery.
    pub(crate) fn sync(mut self) -> Vec<u8> {
        self.push(b'S', &[]);
        self.0
    }

    fn push(&mut self, kind: u8, parts: &[&[u8]]) {
        self.0.extend_from_slice(&framed(Some(kind), &parts.concat()));
    }
}

/// RowDescription of a statement, whose formats mean nothing.
///
/// # Errors
/// The message ends too early.
pub(crate) fn row_description(body: &[u8]) -> Result<Vec<ResultColumn>, Error> {
    Ok(bound_description(body)?.0)
}

/// RowDescription of a bound statement, with the formats of its columns.
///
/// # Errors
/// The message ends too early, or has a format that is neither text nor binary.
pub(crate) fn bound_description(body: &[u8]) -> Result<(Vec<ResultColumn>, Vec<ValueFormat>), Error> {
    let mut body = MessageReader(body);
    let count = body.u16()?;
    let (mut columns, mut formats) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let name = body.text()?.into_owned();
        let origin = (body.u32()?, body.u16()?);
        let (type_oid, _length) = (body.u32()?, body.u16()?);
        let typmod = body.u32()? as i32;
        columns.push(ResultColumn { name, type_oid, typmod, origin });
        formats.push(match body.u16()? {
            0 => ValueFormat::Text,
            1 => ValueFormat::Binary,
            other => return Err(protocol(format!("a column of format {other}"))),
        });
    }
    Ok((columns, formats))
}

/// The values of a DataRow in text; `None` is NULL.
///
/// # Errors
/// The message ends too early.
pub(crate) fn text_row(row: &[u8]) -> Result<Vec<Option<String>>, Error> {
    let mut row = MessageReader(row);
    let count = row.u16()?;
    let mut values = Vec::new();
    for _ in 0..count {
        // −1 is NULL.
        values.push(match usize::try_from(row.u32()? as i32) {
            Ok(len) => Some(String::from_utf8_lossy(row.bytes(len)?).into_owned()),
            Err(_) => None,
        });
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn messages_have_the_bytes_of_the_documentation() {
        let parsed = MessageBatch::default().parse("s", "x", &[]).unwrap().flush();
        assert_eq!(parsed, b"P\0\0\0\x0as\0x\0\0\0H\0\0\0\x04");
        assert_eq!(MessageBatch::default().describe("").close("s").sync(), b"D\0\0\0\x06S\0C\0\0\0\x07Ss\0S\0\0\0\x04");
        let run = MessageBatch::default().bind("s", &[], &[ValueFormat::Binary, ValueFormat::Text]).execute().0;
        assert_eq!(run, b"B\0\0\0\x11\0s\0\0\0\0\0\0\x02\0\x01\0\0E\0\0\0\x09\0\0\0\0\0");
        let null = Sent { type_oid: 0, is_binary: false, bytes: None };
        let seven = Sent { is_binary: true, bytes: Some(vec![7]), ..null.clone() };
        let bound = MessageBatch::default().bind("", &[seven, null], &[]).describe_bound().0;
        let values = b"B\0\0\0\x19\0\0\0\x02\0\x01\0\0\0\x02\0\0\0\x01\x07\xff\xff\xff\xff\0\0";
        assert_eq!(bound, [&values[..], b"D\0\0\0\x06P\0"].concat());
        assert_eq!(MessageBatch::default().parse("", "x", &[23]).unwrap().0, b"P\0\0\0\x0d\0x\0\0\x01\0\0\0\x17");
        assert!(MessageBatch::default().parse("", "a\0b", &[]).is_err());
    }

    #[test]
    fn a_description_gives_names_and_types() {
        // select 1::numeric(12,3) as "a b"
        let body = b"\0\x01a b\0\0\0\0\0\0\0\0\0\x06\xa4\xff\xff\0\x0c\0\x07\0\0";
        let typmod = (12 << 16 | 3) + 4;
        let column = ResultColumn { name: "a b".to_owned(), type_oid: 1700, typmod, origin: (0, 0) };
        assert_eq!(row_description(body).unwrap(), vec![column.clone()]);
        assert_eq!(bound_description(body).unwrap(), (vec![column], vec![ValueFormat::Text]));
        let binary = [&body[..body.len() - 1], b"\x01"].concat();
        assert_eq!(bound_description(&binary).unwrap().1, [ValueFormat::Binary]);
        assert!(bound_description(&[&body[..body.len() - 1], b"\x02"].concat()).is_err());
        for end in 0..body.len() {
            assert!(row_description(&body[..end]).is_err());
        }
        assert_eq!(row_description(b"\0\0").unwrap(), []);
    }

    #[test]
    fn a_row_gives_its_values() {
        assert_eq!(text_row(b"\0\x02\0\0\0\x01a\xff\xff\xff\xff").unwrap(), [Some("a".to_owned()), None]);
        assert!(text_row(b"\0\x01\0\0\0\x05a").is_err());
    }
}
