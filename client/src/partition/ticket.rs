//! What stands for a part of a result, as bytes that any process can read.
//!
//! A ticket has no address and no password: whoever reads the part does that over a connection of its own, with its own
//! limits. It may come from a stranger. Then it is no more than a query that somebody else wrote, and can only read.

use super::{PartSize, SharedState};
use crate::QueryOptions;

/// What a ticket begins with. A byte follows that says of which kind it is: [`SNAPSHOT`] or [`SPOOL`]. A text follows
/// its length in bytes, and a list its number of elements; both are 32 bits, little-endian.
const MAGIC: &[u8] = b"colonnade partition 2\n";
/// The texts of the run of the server, of the snapshot and of the query; the list of settings (pairs of texts); the
/// precision and scale of `numeric` (a text, which is empty without one); the list of the columns of `as_text`.
const SNAPSHOT: u8 = 0;
/// The text of the server's ticket, and the first and the last of the server's parts (32 bits each).
const SPOOL: u8 = 1;

/// A part of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartTicket {
    /// A query over a shared state of the database.
    Snapshot(SnapshotPart),
    /// Rows that a server has spooled.
    Spool(SpooledPart),
}

/// A query over a shared state of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotPart {
    /// The state. One of its settings is the user, because rights decide about rows; so another user cannot read the
    /// part.
    pub state: SharedState,
    /// The query.
    pub query: String,
    /// The option `numeric`, which decides about types.
    pub numeric: Option<(u8, u8)>,
    /// The option `as_text`, which does too.
    pub as_text: Vec<String>,
}

/// Rows that a server has spooled. PROTOCOL §11.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpooledPart {
    /// The server's ticket.
    pub ticket: String,
    /// The first of the server's parts, which it counts from 1.
    pub first: u32,
    /// The last of them.
    pub last: u32,
}

/// A part of a plan.
pub struct PlannedPart {
    /// What stands for it.
    pub ticket: PartTicket,
    /// Its size, if it is known.
    pub size: Option<PartSize>,
}

impl PartTicket {
    /// The ticket as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        match self {
            Self::Snapshot(part) => {
                bytes.push(SNAPSHOT);
                for text in [&part.state.server, &part.state.snapshot, &part.query] {
                    put_text(&mut bytes, text);
                }
                put_length(&mut bytes, part.state.settings.len());
                for (name, value) in &part.state.settings {
                    put_text(&mut bytes, name);
                    put_text(&mut bytes, value);
                }
                put_text(&mut bytes, &part.numeric.map_or_else(String::new, |(p, s)| format!("{p},{s}")));
                put_length(&mut bytes, part.as_text.len());
                part.as_text.iter().for_each(|name| put_text(&mut bytes, name));
            }
            Self::Spool(part) => {
                bytes.push(SPOOL);
                put_text(&mut bytes, &part.ticket);
                bytes.extend(part.first.to_le_bytes());
                bytes.extend(part.last.to_le_bytes());
            }
        }
        bytes
    }

    /// Whether bytes claim to be a ticket.
    pub fn is_named(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// The ticket of bytes; `None` if they are none, or damaged.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.strip_prefix(MAGIC)?.split_first()?;
        let mut reader = Reader(rest);
        let ticket = match *kind {
            SNAPSHOT => Self::Snapshot(reader.snapshot()?),
            SPOOL => Self::Spool(reader.spooled()?),
            _ => return None,
        };
        reader.0.is_empty().then_some(ticket)
    }

    /// The options with which the part is read: those that decide about types are the ticket's.
    pub fn options(&self, options: &QueryOptions) -> QueryOptions {
        match self {
            Self::Snapshot(part) => {
                QueryOptions { numeric: part.numeric, as_text: part.as_text.clone(), ..options.clone() }
            }
            // They were the options of the query that was spooled.
            Self::Spool(_) => QueryOptions { numeric: None, as_text: Vec::new(), ..options.clone() },
        }
    }
}

fn put_length(bytes: &mut Vec<u8>, length: usize) {
    // A message of PostgreSQL is shorter, and with it all that is in a ticket.
    bytes.extend((length as u32).to_le_bytes());
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_length(bytes, text.len());
    bytes.extend(text.as_bytes());
}

/// Reads a ticket. It cannot leave its bytes.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn list<T>(&mut self, element: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        // The number is not trusted: nothing is allocated for elements that do not come.
        let mut list = Vec::new();
        for _ in 0..self.number()? {
            list.push(element(self)?);
        }
        Some(list)
    }

    fn spooled(&mut self) -> Option<SpooledPart> {
        let part = SpooledPart { ticket: self.text()?, first: self.number()?, last: self.number()? };
        (part.first >= 1 && part.first <= part.last).then_some(part)
    }

    fn snapshot(&mut self) -> Option<SnapshotPart> {
        let (server, snapshot, query) = (self.text()?, self.text()?, self.text()?);
        let settings = self.list(|reader| Some((reader.text()?, reader.text()?)))?;
        let numeric = match self.text()?.as_str() {
            "" => None,
            text => {
                let (precision, scale) = text.split_once(',')?;
                let read = (precision.parse().ok()?, scale.parse().ok()?);
                // Each ticket has one form.
                (format!("{},{}", read.0, read.1) == text).then_some(())?;
                Some(read)
            }
        };
        let as_text = self.list(Self::text)?;
        Some(SnapshotPart { state: SharedState { server, snapshot, settings }, query, numeric, as_text })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn tickets() -> [PartTicket; 2] {
        let state = SharedState {
            server: "1".to_owned(),
            snapshot: "00000003-0000001B-1".to_owned(),
            settings: vec![("search_path".to_owned(), "\"a\", 'ß'".to_owned()), (String::new(), String::new())],
        };
        let as_text = vec!["a\nb".to_owned(), "c".to_owned()];
        let part = SnapshotPart { state, query: "select 1".to_owned(), numeric: Some((38, 9)), as_text };
        let spooled = SpooledPart { ticket: "0123456789abcdef".to_owned(), first: 7, last: 9 };
        [PartTicket::Snapshot(part), PartTicket::Spool(spooled)]
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for ticket in tickets() {
            assert_eq!(PartTicket::decode(&ticket.encode()), Some(ticket));
        }
        assert_eq!(PartTicket::decode(b"0123456789abcdef/0"), None);
        assert_eq!(PartTicket::decode(MAGIC), None);
        assert_eq!(PartTicket::decode(&[MAGIC, &[9]].concat()), None);
    }

    #[test]
    fn damaged_bytes_are_no_ticket() {
        for ticket in tickets() {
            let whole = ticket.encode();
            for end in 0..whole.len() {
                assert_eq!(PartTicket::decode(&whole[..end]), None, "{end}");
            }
            assert_eq!(PartTicket::decode(&[&whole[..], b"x"].concat()), None);
            // No length makes it allocate or leave its bytes.
            for place in 0..whole.len() {
                let mut damaged = whole.clone();
                damaged[place] ^= 0xff;
                if let Some(read) = PartTicket::decode(&damaged) {
                    assert_eq!(read.encode(), damaged);
                }
            }
        }
    }

    #[test]
    fn the_tickets_options_decide_about_types() {
        let given = QueryOptions { numeric: Some((1, 0)), chunk_rows: Some(7), ..QueryOptions::default() };
        let [snapshot, spool] = tickets().map(|ticket| ticket.options(&given));
        assert_eq!((snapshot.numeric, snapshot.as_text.len(), snapshot.chunk_rows), (Some((38, 9)), 2, Some(7)));
        assert_eq!((spool.numeric, spool.as_text.len(), spool.chunk_rows), (None, 0, Some(7)));
    }
}
