//! Changes of a text, and where a position of the new text was in the old one.
//!
//! A statement that is rewritten before a database reads it comes back with positions of errors that count in the rewritten text.
//! [`PositionMap`] leads them back to what the client wrote.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

/// Pieces of a text, in bytes, and what takes their places. Of two pieces that overlap, the first in the text counts.
#[derive(Clone, Debug, Default)]
pub struct Edits(Vec<(Range<usize>, String)>);

/// A text after its changes.
#[derive(Clone, Debug)]
pub struct Edited<'a> {
    /// The new text; the old one if nothing changed.
    pub text: Cow<'a, str>,
    /// The way between both.
    pub map: PositionMap,
}

/// Positions of an old text and of the new one, from 0, in bytes or characters.
///
/// A position in a piece that was not changed leads to the same place in the other text; a position within a changed piece
/// leads to where that piece begins, and one behind the end to the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PositionMap {
    /// The pieces that changed, in order.
    changes: Vec<Change>,
}

/// A piece that changed: where it starts and ends in each text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    old: Piece,
    new: Piece,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    bytes: (usize, usize),
    characters: (usize, usize),
}

impl Edits {
    /// Puts `text` in the place of a piece.
    pub fn replace(&mut self, place: Range<usize>, text: impl Into<String>) {
        self.0.push((place, text.into()));
    }

    /// Removes a piece.
    pub fn remove(&mut self, place: Range<usize>) {
        self.replace(place, String::new());
    }

    /// Inserts `text` before a byte. What is inserted later at the same place comes first: it goes around the other.
    pub fn insert(&mut self, place: usize, text: impl Into<String>) {
        self.replace(place..place, text);
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text after these changes, which all are at borders of its characters.
    pub fn apply(self, old: &str) -> Edited<'_> {
        if self.0.is_empty() {
            return Edited { text: Cow::Borrowed(old), map: PositionMap::default() };
        }
        let mut edits: Vec<_> = self.0.into_iter().enumerate().collect();
        edits.sort_by_key(|(number, (place, _))| (place.start, !place.is_empty(), Reverse(*number)));
        let (mut text, mut changes) = (String::with_capacity(old.len() + 64), Vec::with_capacity(edits.len()));
        // What is done of either text, in bytes and characters.
        let (mut done, mut old_characters, mut new_characters) = (0, 0, 0);
        for (_, (place, new)) in edits {
            let (Some(kept), Some(gone)) = (old.get(done..place.start), old.get(place.clone())) else { continue };
            text.push_str(kept);
            let kept = kept.chars().count();
            let starts = (old_characters + kept, new_characters + kept);
            (old_characters, new_characters) = (starts.0 + gone.chars().count(), starts.1 + new.chars().count());
            changes.push(Change {
                old: Piece { bytes: (place.start, place.end), characters: (starts.0, old_characters) },
                new: Piece { bytes: (text.len(), text.len() + new.len()), characters: (starts.1, new_characters) },
            });
            text.push_str(&new);
            done = place.end;
        }
        text.push_str(&old[done..]);
        Edited { text: Cow::Owned(text), map: PositionMap { changes } }
    }
}

impl PositionMap {
    /// The byte of the old text for a byte of the new one.
    pub fn old_byte(&self, new: usize) -> usize {
        self.lead(new, |change| (change.new.bytes, change.old.bytes))
    }

    /// The byte of the new text for a byte of the old one.
    pub fn new_byte(&self, old: usize) -> usize {
        self.lead(old, |change| (change.old.bytes, change.new.bytes))
    }

    /// The character of the old text for a character of the new one.
    pub fn old_character(&self, new: usize) -> usize {
        self.lead(new, |change| (change.new.characters, change.old.characters))
    }

    /// The character of the new text for a character of the old one.
    pub fn new_character(&self, old: usize) -> usize {
        self.lead(old, |change| (change.old.characters, change.new.characters))
    }

    fn lead(&self, position: usize, sides: impl Fn(&Change) -> ((usize, usize), (usize, usize))) -> usize {
        let behind = self.changes.partition_point(|change| sides(change).0.0 <= position);
        // Of several pieces at one place, the one that has characters there, or the last.
        let Some((from, to)) = behind.checked_sub(1).map(|at| sides(&self.changes[at])) else { return position };
        if position < from.1 { to.0 } else { to.1 + (position - from.1) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pieces_are_replaced_in_order() {
        let mut edits = Edits::default();
        edits.replace(4..5, "XYZ");
        edits.insert(0, "inner ");
        edits.insert(0, "outer ");
        edits.remove(1..2);
        let edited = edits.apply("abcdefg");
        assert_eq!(edited.text, "outer inner acdXYZfg");
    }

    #[test]
    fn the_first_of_two_pieces_that_overlap_counts() {
        let mut edits = Edits::default();
        edits.replace(2..5, "X");
        edits.replace(1..3, "Y");
        assert_eq!(edits.apply("abcdefg").text, "aYdefg");
        let mut beyond = Edits::default();
        beyond.replace(5..9, "X");
        assert_eq!(beyond.apply("abc").text, "abc");
    }

    #[test]
    fn positions_lead_back() {
        let old = "select é, public.t from x";
        let mut edits = Edits::default();
        let schema = old.find("public").unwrap();
        edits.replace(schema..schema + 6, "main");
        edits.insert(old.len(), " limit 1");
        let Edited { text, map } = edits.apply(old);
        assert_eq!(text, "select é, main.t from x limit 1");
        for word in ["select", "é", ".t", "from", "x"] {
            let (before, after) = (old.find(word).unwrap(), text.find(word).unwrap());
            assert_eq!((map.old_byte(after), map.new_byte(before)), (before, after), "{word}");
            let characters = (old[..before].chars().count(), text[..after].chars().count());
            assert_eq!((map.old_character(characters.1), map.new_character(characters.0)), characters, "{word}");
        }
        // Within a changed piece, its beginning.
        assert_eq!(map.old_byte(text.find("in.t").unwrap()), schema);
        assert_eq!(map.new_byte(schema + 3), text.find("main").unwrap());
        assert_eq!(map.old_byte(text.find("limit").unwrap()), old.len());
        assert_eq!(PositionMap::default().old_character(7), 7);
    }

    proptest! {
        #[test]
        fn what_did_not_change_leads_back_to_itself(
            old in "[a-cé€]{0,20}",
            edits in prop::collection::vec((0usize..20, 0usize..5, "[x-zß]{0,4}"), 0..5),
        ) {
            let characters: Vec<_> = old.chars().collect();
            let border = |at: usize| characters[..at.min(characters.len())].iter().map(|c| c.len_utf8()).sum::<usize>();
            let mut all = Edits::default();
            for (start, length, text) in edits {
                all.replace(border(start)..border(start + length), text);
            }
            let Edited { text, map } = all.apply(&old);
            for (at, (byte, character)) in text.char_indices().enumerate() {
                // Only what is kept has these letters.
                if "abcé€".contains(character) {
                    prop_assert_eq!(old[map.old_byte(byte)..].chars().next(), Some(character));
                    prop_assert_eq!(characters.get(map.old_character(at)), Some(&character));
                    prop_assert_eq!(map.new_byte(map.old_byte(byte)), byte);
                    prop_assert_eq!(map.new_character(map.old_character(at)), at);
                }
                prop_assert!(map.old_byte(byte) <= old.len());
            }
            prop_assert_eq!(map.old_byte(text.len()), old.len());
        }
    }
}
