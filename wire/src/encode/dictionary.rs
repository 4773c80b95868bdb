//! Distinct values and codes. FORMAT §6.6.

use super::body::Body;
use super::column::Context;
use super::integers;
use super::sample::hash;
use crate::int::{Int, bits_for};

/// Distinct values in order of appearance, and for each value the number of its entry.
pub(super) struct Dictionary<T> {
    pub(super) entries: Vec<T>,
    pub(super) codes: Vec<u32>,
}

/// A dictionary has at most this many entries: beyond, its table leaves the caches and codes get long.
const MAX_ENTRIES: usize = 1 << 16;

const FREE: u32 = u32::MAX;

impl<T: Int> Dictionary<T> {
    /// The dictionary of `values`; `None` past `limit` entries.
    pub(super) fn of(values: &[T], limit: usize) -> Option<Self> {
        let limit = limit.min(MAX_ENTRIES).min(values.len());
        let mut table = Table::new(limit);
        let mut entries = Vec::new();
        let mut codes = Vec::with_capacity(values.len());
        for &value in values {
            let mut slot = table.first(hash(value.to_bits()));
            let code = loop {
                match table.slots[slot] {
                    FREE => {
                        if entries.len() == limit {
                            return None;
                        }
                        table.slots[slot] = entries.len() as u32;
                        entries.push(value);
                        break table.slots[slot];
                    }
                    code if entries[code as usize] == value => break code,
                    _ => slot = table.next(slot),
                }
            };
            codes.push(code);
        }
        Some(Self { entries, codes })
    }
}

/// A string's place in its column and what tells it from others quickly.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) start: usize,
    pub(super) length: usize,
    /// The first 16 bytes, zeros where there are fewer.
    first: [u64; 2],
    /// The last 16 bytes of a string longer than that.
    last: [u64; 2],
}

impl Entry {
    /// The string at `start`. Its first and last 16 bytes are read, which up to 32 bytes is all of it.
    #[inline(always)]
    pub(super) fn of(data: &[u8], start: usize, length: usize) -> Self {
        let words = |bytes: &[u8; 16]| {
            let value = u128::from_le_bytes(*bytes);
            [value as u64, (value >> 64) as u64]
        };
        let Some(window) = data[start..].first_chunk() else {
            let mut bytes = [0; 16];
            bytes[..length].copy_from_slice(&data[start..start + length]);
            return Self { start, length, first: words(&bytes), last: [0; 2] };
        };
        // Without a branch on the length, which in text is as good as random.
        let [low, high] = words(window);
        let first = [low & MASKS[length.min(8)], high & MASKS[length.saturating_sub(8).min(8)]];
        let long = if length > 16 { u64::MAX } else { 0 };
        let [low, high] = data[start + length.max(16) - 16..].first_chunk().map_or([0; 2], words);
        Self { start, length, first, last: [low & long, high & long] }
    }

    #[inline(always)]
    pub(super) fn hash(&self) -> u64 {
        let [low, high] = self.first;
        hash(low ^ high.rotate_left(29) ^ self.last[1].rotate_left(47) ^ (self.length as u64) << 56)
    }

    #[inline(always)]
    fn is(&self, other: &Self, data: &[u8]) -> bool {
        (self.first, self.last, self.length) == (other.first, other.last, other.length)
            && (self.length <= 32
                || data[self.start..self.start + self.length] == data[other.start..other.start + other.length])
    }
}

/// The low bytes of a word: as many as the index says.
const MASKS: [u64; 9] = {
    let mut masks = [u64::MAX; 9];
    let mut bytes = 0;
    while bytes < 8 {
        masks[bytes] = (1 << (8 * bytes)) - 1;
        bytes += 1;
    }
    masks
};

impl Dictionary<Entry> {
    /// The dictionary of the strings that lie end to end in `data`; `None` past `limit` entries or once the entries have more than
    /// `limit_bytes` bytes.
    pub(super) fn of_strings(data: &[u8], lengths: &[i32], limit: usize, limit_bytes: usize) -> Option<Self> {
        let limit = limit.min(MAX_ENTRIES).min(lengths.len());
        let longest = lengths.iter().fold(0, |longest, &length| longest.max(length as u32));
        if longest <= 8 && limit_bytes >= limit * 8 {
            return Self::of_words(data, lengths, limit);
        }
        let mut table = Table::new(limit);
        let mut entries: Vec<Entry> = Vec::new();
        let mut codes = Vec::with_capacity(lengths.len());
        let (mut start, mut bytes) = (0, 0);
        for &length in lengths {
            let entry = Entry::of(data, start, length as u32 as usize);
            start += entry.length;
            let mut slot = table.first(entry.hash());
            let code = loop {
                match table.slots[slot] {
                    FREE => {
                        bytes += entry.length;
                        if entries.len() == limit || bytes > limit_bytes {
                            return None;
                        }
                        table.slots[slot] = entries.len() as u32;
                        entries.push(entry);
                        break table.slots[slot];
                    }
                    code if entries[code as usize].is(&entry, data) => break code,
                    _ => slot = table.next(slot),
                }
            };
            codes.push(code);
        }
        Some(Self { entries, codes })
    }
}

impl Dictionary<Entry> {
    /// The same for strings of at most 8 bytes: a string is one word, and the table holds it itself.
    fn of_words(data: &[u8], lengths: &[i32], limit: usize) -> Option<Self> {
        /// `tag` is the length plus one; zero marks a free slot.
        #[derive(Clone, Copy, Default)]
        struct Slot {
            word: u64,
            tag: u32,
            code: u32,
        }
        let shape = Table::new(limit);
        let mut slots = vec![Slot::default(); shape.slots.len()];
        let mut entries: Vec<Entry> = Vec::new();
        let mut codes = vec![0; lengths.len()];
        let mut start = 0;
        for (&length, code) in lengths.iter().zip(&mut codes) {
            let length = length as u32 as usize;
            let word = match data[start..].first_chunk() {
                Some(window) => u64::from_le_bytes(*window) & MASKS[length],
                None => Entry::of(data, start, length).first[0],
            };
            let tag = length as u32 + 1;
            let mut at = shape.first((word ^ u64::from(tag) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            loop {
                let slot = &mut slots[at];
                if slot.word == word && slot.tag == tag {
                    *code = slot.code;
                    break;
                }
                if slot.tag == 0 {
                    if entries.len() == limit {
                        return None;
                    }
                    *code = entries.len() as u32;
                    *slot = Slot { word, tag, code: *code };
                    entries.push(Entry::of(data, start, length));
                    break;
                }
                at = shape.next(at);
            }
            start += length;
        }
        Some(Self { entries, codes })
    }
}

/// Open addressing with linear probing, at most half full.
struct Table {
    slots: Vec<u32>,
    shift: u32,
}

impl Table {
    fn new(entries: usize) -> Self {
        let bits = bits_for(entries as u64).max(7) + 1;
        Self { slots: vec![FREE; 1 << bits], shift: 64 - bits as u32 }
    }

    #[inline(always)]
    fn first(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }

    #[inline(always)]
    fn next(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }
}

/// Adds the codes, in the width that the number of entries gives them.
pub(super) fn put_codes(body: &mut Body<'_>, codes: Vec<u32>, entries: usize, context: &Context<'_>) {
    match entries {
        0..=0x100 => integers::put_node(body, &narrow(&codes, |code| code as i8), context),
        0x101..=0x1_0000 => integers::put_node(body, &narrow(&codes, |code| code as i16), context),
        _ => integers::put_node(body, &narrow(&codes, |code| code as i32), context),
    }
}

fn narrow<T>(codes: &[u32], to: impl Fn(u32) -> T) -> Vec<T> {
    codes.iter().map(|&code| to(code)).collect()
}
