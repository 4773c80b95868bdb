//! Parts that other processes can read too.
//!
//! A descriptor has the query of a part, the name of the state of the database, the settings under which the query means the same, and the
//! options that decide about types. It has no address and no password: whoever reads it does that over a connection like its own, with its
//! own limits. One of the settings is the user, because rights decide about rows; so another user cannot read the part. A descriptor may come
//! from a stranger, so it is no more than a query that somebody else wrote, and can only read.

use adbc_core::error::Result;
use colonnade_client::ResultStream;
use colonnade_client::partition::{Partitioning, SharedState};

use super::{PartStream, no_such_partition};
use crate::error::converted;
use crate::options::{ReadOptions, TYPE_OPTIONS};
use crate::types;

/// What a descriptor begins with. A text follows its length in bytes, and pairs of texts their number; both are 32 bits, little-endian.
const MAGIC: &[u8] = b"colonnade partition 1\n";

/// A part of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SharedPart {
    pub(super) state: SharedState,
    pub(super) query: String,
    /// The options that decide about types, by name.
    pub(super) options: Vec<(String, String)>,
}

impl SharedPart {
    pub(super) fn new(state: SharedState, query: String, options: &ReadOptions) -> Result<Self> {
        let options = TYPE_OPTIONS.iter().map(|name| Ok(((*name).to_owned(), options.get(name)?)));
        Ok(Self { state, query, options: options.collect::<Result<_>>()? })
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for text in [&self.state.server, &self.state.snapshot, &self.query] {
            put_text(&mut bytes, text);
        }
        for pairs in [&self.state.settings, &self.options] {
            put_length(&mut bytes, pairs.len());
            for (name, value) in pairs {
                put_text(&mut bytes, name);
                put_text(&mut bytes, value);
            }
        }
        bytes
    }

    /// The part of a descriptor; `None` if the descriptor is of another kind.
    ///
    /// # Errors
    /// It is damaged.
    pub(super) fn decode(descriptor: &[u8]) -> Result<Option<Self>> {
        let Some(rest) = descriptor.strip_prefix(MAGIC) else { return Ok(None) };
        Reader(rest).part().map(Some).ok_or_else(no_such_partition)
    }

    /// Begins to read it over a connection like `source`, with these options.
    ///
    /// # Errors
    /// Its state is gone; otherwise those of the source.
    pub(super) fn open(&self, source: &dyn Partitioning, options: &ReadOptions) -> Result<Box<dyn ResultStream>> {
        let mut options = options.clone();
        for (name, value) in &self.options {
            if !TYPE_OPTIONS.contains(&name.as_str()) {
                return Err(no_such_partition());
            }
            options.set(name, &value.as_str().into())?;
        }
        let options = &options.query;
        let begin = || {
            let connection = source.join(&self.state, &self.query, options, &mut || true)?;
            let stream = connection.query(self.query.as_str().into(), options, &mut || true)?;
            Ok((types::stream(stream, &*connection, options), connection))
        };
        let (stream, _kept) = begin().map_err(|error| converted(&error))?;
        Ok(Box::new(PartStream { stream, _kept }))
    }
}

fn put_length(bytes: &mut Vec<u8>, length: usize) {
    // A message of PostgreSQL is shorter, and with it all that is in a descriptor.
    bytes.extend((length as u32).to_le_bytes());
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_length(bytes, text.len());
    bytes.extend(text.as_bytes());
}

/// Reads a descriptor. It cannot leave its bytes.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn length(&mut self) -> Option<usize> {
        let (length, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        usize::try_from(u32::from_le_bytes(*length)).ok()
    }

    fn text(&mut self) -> Option<String> {
        let length = self.length()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn pairs(&mut self) -> Option<Vec<(String, String)>> {
        let mut pairs = Vec::new();
        for _ in 0..self.length()? {
            pairs.push((self.text()?, self.text()?));
        }
        Some(pairs)
    }

    fn part(mut self) -> Option<SharedPart> {
        let (server, snapshot, query) = (self.text()?, self.text()?, self.text()?);
        let (settings, options) = (self.pairs()?, self.pairs()?);
        let state = SharedState { server, snapshot, settings };
        self.0.is_empty().then_some(SharedPart { state, query, options })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn part() -> SharedPart {
        let state = SharedState {
            server: "1".to_owned(),
            snapshot: "00000003-0000001B-1".to_owned(),
            settings: vec![("search_path".to_owned(), "\"a\", 'ß'".to_owned()), (String::new(), String::new())],
        };
        let mut options = ReadOptions::default();
        options.set("adbc.colonnade.as_text", &"a\nb".into()).unwrap();
        SharedPart::new(state, "select 1".to_owned(), &options).unwrap()
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        assert_eq!(SharedPart::decode(&part().encode()).unwrap(), Some(part()));
        assert_eq!(part().options[1], ("adbc.colonnade.as_text".to_owned(), "a\nb".to_owned()));
        assert_eq!(SharedPart::decode(b"0123456789abcdef/0").unwrap(), None);
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        let whole = part().encode();
        for end in MAGIC.len()..whole.len() {
            assert!(SharedPart::decode(&whole[..end]).is_err(), "{end}");
        }
        assert!(SharedPart::decode(&[&whole[..], b"x"].concat()).is_err());
        // No length makes it allocate or leave its bytes.
        for place in MAGIC.len()..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 0xff;
            if let Ok(Some(read)) = SharedPart::decode(&damaged) {
                assert_eq!(read.encode(), damaged);
            }
        }
    }
}
