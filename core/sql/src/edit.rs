//! Changes of a text, and where a position of the new text was in the old one.
//!
//! A statement that is rewritten before a database reads it comes back with positions of errors that count in the
//! rewritten text. [`PositionMap`] leads them back to what the client wrote.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

/// Pieces of a text, in bytes, and what takes their places. Of two pieces that overlap, the first in the text counts.
#[derive(Clone, Debug, Default)]
pub struct Edits(Vec<(Range<usize>, String)>);

/// A text after its changes.
#[derive(Clone, Debug, Default)]
pub struct Edited<'a> {
    /// The new text; the old one if nothing changed.
    pub text: Cow<'a, str>,
    /// The way back.
    pub map: PositionMap,
}

/// Leads from positions of a new text to those of the old one, in characters from 0.
///
/// A position in a piece that was not changed leads to the same place in the old text; a position within a changed
/// piece leads to where that piece began, and one behind the end to the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PositionMap {
    /// For each time that the text changed, the pieces that did, in order.
    steps: Vec<Vec<Change>>,
}

/// A piece that changed: where it starts and ends in each text, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    old: (usize, usize),
    new: (usize, usize),
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
            return Edited::of(old);
        }
        let mut edits: Vec<_> = self.0.into_iter().enumerate().collect();
        edits.sort_by_key(|(number, (place, _))| (place.start, !place.is_empty(), Reverse(*number)));
        let (mut text, mut changes) = (String::with_capacity(old.len() + 64), Vec::with_capacity(edits.len()));
        // The bytes of the old text that are done, and the characters of both.
        let (mut done, mut old_end, mut new_end) = (0, 0, 0);
        for (_, (place, new)) in edits {
            let (Some(kept), Some(gone)) = (old.get(done..place.start), old.get(place.clone())) else { continue };
            let length = kept.chars().count();
            let (old_start, new_start) = (old_end + length, new_end + length);
            (old_end, new_end) = (old_start + gone.chars().count(), new_start + new.chars().count());
            changes.push(Change { old: (old_start, old_end), new: (new_start, new_end) });
            text.push_str(kept);
            text.push_str(&new);
            done = place.end;
        }
        text.push_str(&old[done..]);
        Edited { text: Cow::Owned(text), map: PositionMap { steps: vec![changes] } }
    }
}

impl<'a> Edited<'a> {
    /// A text that did not change yet.
    pub fn of(text: &'a str) -> Self {
        Self { text: Cow::Borrowed(text), map: PositionMap::default() }
    }
}

impl PositionMap {
    /// The map of these changes and of those that came after them.
    pub fn then(mut self, next: Self) -> Self {
        self.steps.extend(next.steps);
        self
    }

    /// The position in the old text.
    pub fn old_character(&self, new: usize) -> usize {
        self.steps.iter().rev().fold(new, |position, changes| {
            let behind = changes.partition_point(|change| change.new.0 <= position);
            // Of several pieces at one place, the one that has characters there, or the last.
            match behind.checked_sub(1).and_then(|at| changes.get(at)) {
                Some(change) if position < change.new.1 => change.old.0,
                Some(change) => change.old.1 + (position - change.new.1),
                None => position,
            }
        })
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
        let characters = |text: &str, byte: usize| text[..byte].chars().count();
        for word in ["select", "é", ".t", "from", "x"] {
            let (before, after) = (old.find(word).unwrap(), text.find(word).unwrap());
            assert_eq!(map.old_character(characters(&text, after)), characters(old, before), "{word}");
        }
        // Within a changed piece, its beginning.
        assert_eq!(map.old_character(characters(&text, text.find("in.t").unwrap())), characters(old, schema));
        assert_eq!(map.old_character(characters(&text, text.find("limit").unwrap())), old.chars().count());
        assert_eq!(PositionMap::default().old_character(7), 7);
    }

    #[test]
    fn changes_follow_each_other() {
        let replaced = |text: &str, sought: &str, by: &str| {
            let mut edits = Edits::default();
            text.match_indices(sought).for_each(|(at, found)| edits.replace(at..at + found.len(), by));
            let Edited { text, map } = edits.apply(text);
            (text.into_owned(), map)
        };
        let (text, first) = replaced("select é, public.a, public.b", "public.", "");
        let (text, second) = replaced(&text, "a", "f(a)");
        assert_eq!(text, "select é, f(a), b");
        let map = first.then(second);
        assert_eq!((map.old_character(14), map.old_character(16)), (18, 27));
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
            for (at, character) in text.chars().enumerate() {
                // Only what is kept has these letters.
                if "abcé€".contains(character) {
                    prop_assert_eq!(characters.get(map.old_character(at)), Some(&character));
                }
                prop_assert!(map.old_character(at) <= characters.len());
            }
            prop_assert_eq!(map.old_character(text.chars().count()), characters.len());
        }
    }
}
