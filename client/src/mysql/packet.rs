//! Encodes and decodes packets, without a socket.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_packets.html>,
//! <https://mariadb.com/kb/en/clientserver-protocol/>

use crate::{Error, ErrorKind};

/// Bytes of a packet's length and its number.
pub(super) const HEADER: usize = 4;
/// A packet of this length continues in the next one.
pub(super) const MAX_PACKET: usize = 0xff_ffff;

/// The capabilities of client and server.
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/group__group__cs__capabilities__flags.html>; the upper half is
/// MariaDB's.
pub(super) mod capability {
    /// MySQL's. A MariaDB with its own capabilities does not set it.
    pub(crate) const LONG_PASSWORD: u64 = 1;
    pub(crate) const LONG_FLAG: u64 = 1 << 2;
    pub(crate) const CONNECT_WITH_DB: u64 = 1 << 3;
    /// LOAD DATA LOCAL: the server may ask for a file, and the client decides what it answers.
    pub(crate) const LOCAL_FILES: u64 = 1 << 7;
    pub(crate) const PROTOCOL_41: u64 = 1 << 9;
    pub(crate) const SSL: u64 = 1 << 11;
    pub(crate) const TRANSACTIONS: u64 = 1 << 13;
    pub(crate) const SECURE_CONNECTION: u64 = 1 << 15;
    pub(crate) const MULTI_RESULTS: u64 = 1 << 17;
    pub(crate) const PS_MULTI_RESULTS: u64 = 1 << 18;
    pub(crate) const PLUGIN_AUTH: u64 = 1 << 19;
    pub(crate) const CONNECT_ATTRS: u64 = 1 << 20;
    pub(crate) const LENENC_AUTH: u64 = 1 << 21;
    pub(crate) const DEPRECATE_EOF: u64 = 1 << 24;
    /// The descriptions of columns name the exact types of strings.
    pub(crate) const EXTENDED_TYPES: u64 = 1 << 35;
}

/// The server's status flags.
pub(super) mod status {
    pub(crate) const IN_TRANSACTION: u16 = 1;
    pub(crate) const AUTOCOMMIT: u16 = 2;
    pub(crate) const MORE_RESULTS: u16 = 8;
    /// The rows are kept for [`Command::Fetch`](super::Command::Fetch).
    pub(crate) const CURSOR_EXISTS: u16 = 0x40;
    pub(crate) const LAST_ROW_SENT: u16 = 0x80;
    pub(crate) const NO_BACKSLASH_ESCAPES: u16 = 0x200;
}

/// A command's first byte.
#[derive(Clone, Copy, Debug)]
pub(super) enum Command {
    Quit = 0x01,
    Query = 0x03,
    Prepare = 0x16,
    Execute = 0x17,
    CloseStatement = 0x19,
    Fetch = 0x1c,
}

/// Reads a packet from front to back, never beyond its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketReader<'a>(pub(super) &'a [u8]);

impl<'a> PacketReader<'a> {
    pub(super) fn bytes(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let Some((bytes, rest)) = self.0.split_at_checked(len) else {
            return Err(protocol("a packet that ends too early"));
        };
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Error> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    /// An integer with a variable number of bytes, given by its first byte.
    pub(super) fn length(&mut self) -> Result<u64, Error> {
        Ok(match self.u8()? {
            first @ ..=0xfa => first.into(),
            0xfc => self.u16()?.into(),
            0xfd => {
                let [a, b, c] = self.array()?;
                u32::from_le_bytes([a, b, c, 0]).into()
            }
            0xfe => u64::from_le_bytes(self.array()?),
            _ => return Err(protocol("a length that is none")),
        })
    }

    /// Bytes after their length.
    pub(super) fn counted(&mut self) -> Result<&'a [u8], Error> {
        let len = usize::try_from(self.length()?).unwrap_or(usize::MAX);
        self.bytes(len)
    }

    /// A value of a row in text; `None` is NULL.
    pub(super) fn text_value(&mut self) -> Result<Option<&'a [u8]>, Error> {
        if self.0.first() == Some(&0xfb) {
            return self.u8().map(|_| None);
        }
        self.counted().map(Some)
    }

    /// Up to a NUL, or to the end if there is none.
    pub(super) fn until_nul(&mut self) -> &'a [u8] {
        let mut parts = self.0.splitn(2, |byte| *byte == 0);
        let text = parts.next().unwrap_or_default();
        self.0 = parts.next().unwrap_or_default();
        text
    }
}

/// A column as the server describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Definition {
    pub(super) name: String,
    /// The database, the table and the column that it comes from; empty if it is computed.
    pub(super) origin: [String; 3],
    /// `MYSQL_TYPE_…`.
    pub(super) type_code: u8,
    pub(super) flags: u16,
    /// The number of a collation; 63 is that of bytes.
    pub(super) collation: u16,
    /// The most characters of a value as text, or the most bytes of a string.
    pub(super) length: u32,
    pub(super) decimals: u8,
    /// MariaDB's name of a type that is sent as a string.
    pub(super) extended: Option<String>,
}

impl Definition {
    /// Protocol::ColumnDefinition41.
    ///
    /// # Errors
    /// The packet ends too early, or the name is not UTF-8.
    pub(super) fn read(packet: &[u8], capabilities: u64) -> Result<Self, Error> {
        let mut body = PacketReader(packet);
        let (_catalog, schema, _alias, table) = (body.counted()?, body.counted()?, body.counted()?, body.counted()?);
        let (name, column) = (body.counted()?, body.counted()?);
        let origin = [schema, table, column].map(|part| String::from_utf8_lossy(part).into_owned());
        let name = String::from_utf8(name.to_vec()).map_err(|_| protocol("a column's name that is not UTF-8"))?;
        let mut extended = None;
        if capabilities & capability::EXTENDED_TYPES != 0 {
            let mut parts = PacketReader(body.counted()?);
            while !parts.0.is_empty() {
                let (_kind, value) = (parts.u8()?, parts.counted()?);
                extended = Some(String::from_utf8_lossy(value).into_owned());
            }
        }
        let _fixed = body.length()?;
        let (collation, length) = (body.u16()?, body.u32()?);
        let (type_code, flags, decimals) = (body.u8()?, body.u16()?, body.u8()?);
        Ok(Self { name, origin, type_code, flags, collation, length, decimals, extended })
    }
}

/// What ends an answer: an OK packet, or the EOF packet of older servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// Rows that were changed.
    pub(super) rows: u64,
    pub(super) status: u16,
    /// The number of warnings of this statement. `@@warning_count` may count those of an earlier one.
    pub(super) warnings: u16,
}

impl Done {
    /// An OK packet, which begins with 0x00 or 0xfe.
    pub(super) fn ok(packet: &[u8]) -> Result<Self, Error> {
        let mut body = PacketReader(packet);
        let (_header, rows, _last_id) = (body.u8()?, body.length()?, body.length()?);
        Ok(Self { rows, status: body.u16()?, warnings: body.u16()? })
    }

    /// What ends rows.
    pub(super) fn end(packet: &[u8], capabilities: u64) -> Result<Self, Error> {
        if capabilities & capability::DEPRECATE_EOF != 0 {
            return Self::ok(packet);
        }
        let mut body = PacketReader(packet);
        let (_header, warnings) = (body.u8()?, body.u16()?);
        Ok(Self { rows: 0, status: body.u16()?, warnings })
    }

    pub(super) fn more_results(self) -> bool {
        self.status & status::MORE_RESULTS != 0
    }
}

/// The server's errors before it closes the connection, in addition to SQLSTATE class 08: it was killed, or was idle
/// for too long.
const LAST_WORDS: [u16; 3] = [1927, 3169, 4031];
/// The error for a packet that is larger than the server's max_allowed_packet.
const TOO_LARGE: u16 = 1153;

/// An ERR packet, and whether it ends the connection.
///
/// # Errors
/// The packet ends too early.
pub(super) fn err(packet: &[u8]) -> Result<(Error, bool), Error> {
    let mut body = PacketReader(packet);
    let (_header, code) = (body.u8()?, body.u16()?);
    let sqlstate = match body.0.strip_prefix(b"#") {
        Some(rest) => {
            body.0 = rest;
            Some(String::from_utf8_lossy(body.bytes(5)?).into_owned())
        }
        // An error before the end of the login has no SQLSTATE.
        None => None,
    };
    let mut error = Error::new(ErrorKind::Database, String::from_utf8_lossy(body.0))
        .with_detail(Some(format!("error number {code}")))
        .with_code(code.into());
    let last = LAST_WORDS.contains(&code) || sqlstate.as_ref().is_some_and(|sqlstate| sqlstate.starts_with("08"));
    if let Some(sqlstate) = sqlstate {
        error = error.with_sqlstate(sqlstate);
    }
    if code == TOO_LARGE {
        error = error.with_hint("raise the server's max_allowed_packet, or send less");
    }
    Ok((error, last))
}

/// Appends an integer with a variable number of bytes.
pub(super) fn put_length(to: &mut Vec<u8>, length: usize) {
    match length {
        ..=0xfa => to.push(length as u8),
        0xfb..=0xffff => {
            to.push(0xfc);
            to.extend_from_slice(&(length as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            to.push(0xfd);
            to.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        }
        _ => {
            to.push(0xfe);
            to.extend_from_slice(&(length as u64).to_le_bytes());
        }
    }
}

/// Appends bytes after their length.
pub(super) fn put_counted(to: &mut Vec<u8>, bytes: &[u8]) {
    put_length(to, bytes.len());
    to.extend_from_slice(bytes);
}

/// Splits a payload into packets, numbered from `number` on. Returns the number after the last.
pub(super) fn framed(payload: &[u8], mut number: u8) -> (Vec<u8>, u8) {
    let mut packets = Vec::with_capacity(payload.len() + HEADER * (payload.len() / MAX_PACKET + 1));
    let mut rest = payload;
    loop {
        let (part, others) = rest.split_at(rest.len().min(MAX_PACKET));
        packets.extend_from_slice(&(part.len() as u32).to_le_bytes()[..3]);
        packets.push(number);
        packets.extend_from_slice(part);
        number = number.wrapping_add(1);
        rest = others;
        if part.len() < MAX_PACKET {
            return (packets, number);
        }
    }
}

/// The length of a packet's payload and its number.
#[inline]
pub(super) fn header([a, b, c, number]: [u8; HEADER]) -> (usize, u8) {
    (u32::from_le_bytes([a, b, c, 0]) as usize, number)
}

pub(super) fn protocol(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Protocol, format!("the server sent {what}"))
        .with_hint("run the query again; if it happens again, report it with the version of the server")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_payload_becomes_several_packets() {
        assert_eq!(framed(b"\x03x", 0), (b"\x02\0\0\0\x03x".to_vec(), 1));
        let (packets, next) = framed(&vec![7; MAX_PACKET], 255);
        assert_eq!((packets.len(), next), (MAX_PACKET + 2 * HEADER, 1));
        assert_eq!(packets[..HEADER], [0xff, 0xff, 0xff, 255]);
        assert_eq!(packets[HEADER + MAX_PACKET..], [0, 0, 0, 0]);
    }

    #[test]
    fn errors_say_whether_they_are_the_last_words() {
        let (error, last) = err(b"\xff\x15\x04#28000Access denied").unwrap();
        assert_eq!((error.message(), error.sqlstate(), last), ("Access denied", Some("28000"), false));
        assert!(err(b"\xff\x1d\x04#08S01Server shutdown in progress").unwrap().1);
        assert!(err(b"\xff\x87\x07#70100Connection was killed").unwrap().1);
        assert!(err(b"\xff\x10\x04Too many connections").unwrap().0.sqlstate().is_none());
        assert!(err(b"\xff\x10").is_err());
    }

    #[test]
    fn a_definition_is_as_the_documentation_shows() {
        // select 'foobar' as col1
        let packet = b"\x03def\0\0\0\x04col1\0\x0c\x08\0\x06\0\0\0\xfd\0\0\x1f\0\0";
        let definition = Definition::read(packet, 0).unwrap();
        assert_eq!((definition.name.as_str(), definition.type_code), ("col1", 0xfd));
        assert_eq!((definition.collation, definition.length, definition.decimals), (8, 6, 31));
        for end in 0..packet.len() - 2 {
            assert!(Definition::read(&packet[..end], 0).is_err());
        }
    }

    proptest! {
        #[test]
        fn lengths_come_back(length in prop_oneof![0usize..300, 65_000usize..66_000, any::<usize>()]) {
            let mut bytes = Vec::new();
            put_length(&mut bytes, length);
            let mut body = PacketReader(&bytes);
            prop_assert_eq!(body.length().unwrap(), length as u64);
            prop_assert!(body.0.is_empty());
        }

        #[test]
        fn arbitrary_packets_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Definition::read(&bytes, 0);
            let _ = Definition::read(&bytes, capability::EXTENDED_TYPES);
            let _ = (err(&bytes), Done::end(&bytes, 0), Done::ok(&bytes));
            let _ = PacketReader(&bytes).text_value();
        }
    }
}
