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

/// The maximum number of entries. A larger table does not fit into the caches, and its codes are long.
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

/// A string's place in its column.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) start: usize,
    pub(super) length: usize,
}

/// A key that distinguishes most strings quickly. For strings of up to 16 bytes, it is the whole string.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Key {
    /// The first 8 bytes, padded with zeros.
    first: u64,
    /// The last 8 bytes. For a string shorter than 8 bytes, the same as `first`.
    last: u64,
    length: u32,
}

impl Key {
    /// The key of the string at `start`.
    #[inline(always)]
    fn of(data: &[u8], start: usize, length: usize) -> Self {
        // No branch on the length: in text it is unpredictable.
        let tail = start + length.max(8) - 8;
        let (Some(first), Some(last)) = (data[start..].first_chunk(), data[tail..].first_chunk()) else {
            let mut bytes = [0; 8];
            bytes[..length].copy_from_slice(&data[start..start + length]);
            let word = u64::from_le_bytes(bytes);
            return Self { first: word, last: word, length: length as u32 };
        };
        let mask = MASKS[length.min(8)];
        Self { first: u64::from_le_bytes(*first) & mask, last: u64::from_le_bytes(*last) & mask, length: length as u32 }
    }

    #[inline(always)]
    fn hash(self) -> u64 {
        hash(self.first ^ self.last.rotate_left(29) ^ u64::from(self.length) << 56)
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

/// A hash of the string at `start`, to estimate the number of distinct strings.
pub(super) fn hash_of(data: &[u8], start: usize, length: usize) -> u64 {
    let middle = data[start + (length.max(8) - 8) / 2..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    Key::of(data, start, length).hash() ^ if length > 16 { hash(middle) } else { 0 }
}

impl Dictionary<Entry> {
    /// The dictionary of the strings that lie end to end in `data`. `None` if there are more than `limit` entries, if
    /// the entries have more than `limit_bytes` bytes, or if too many strings have the same key.
    pub(super) fn of_strings(data: &[u8], lengths: &[i32], limit: usize, limit_bytes: usize) -> Option<Self> {
        let limit = limit.min(MAX_ENTRIES).min(lengths.len());
        if lengths.iter().all(|&length| length == 1) {
            return Self::of_bytes(data.get(..lengths.len())?, limit);
        }
        let shape = Table::new(limit);
        let mut slots = vec![(Key::default(), FREE); shape.slots.len()];
        let mut entries: Vec<Entry> = Vec::new();
        let mut codes = vec![0; lengths.len()];
        let (mut start, mut bytes) = (0, 0);
        for (&length, code_of) in lengths.iter().zip(&mut codes) {
            let length = length as u32 as usize;
            let key = Key::of(data, start, length);
            let first = shape.first(key.hash());
            let mut slot = first;
            *code_of = loop {
                let (known, code) = slots[slot];
                if code == FREE {
                    bytes += length;
                    if entries.len() == limit || bytes > limit_bytes {
                        return None;
                    }
                    slots[slot] = (key, entries.len() as u32);
                    entries.push(Entry { start, length });
                    break slots[slot].1;
                }
                if known == key && (length <= 16 || same(data, entries[code as usize].start, start, length)) {
                    break code;
                }
                slot = shape.next(slot);
                if slot == (first + MAX_PROBES) & (shape.slots.len() - 1) {
                    return None;
                }
            };
            start += length;
        }
        Some(Self { entries, codes })
    }

    /// The same if each string is one byte.
    fn of_bytes(data: &[u8], limit: usize) -> Option<Self> {
        let mut table = [FREE; 256];
        let mut entries = Vec::new();
        let mut codes = Vec::with_capacity(data.len());
        for (start, &byte) in data.iter().enumerate() {
            let slot = &mut table[usize::from(byte)];
            if *slot == FREE {
                if entries.len() == limit {
                    return None;
                }
                *slot = entries.len() as u32;
                entries.push(Entry { start, length: 1 });
            }
            codes.push(*slot);
        }
        Some(Self { entries, codes })
    }
}

/// Whether the strings of more than 16 bytes at `one` and at `other` are equal.
#[inline(always)]
fn same(data: &[u8], one: usize, other: usize, length: usize) -> bool {
    let (one, other) = (&data[one..one + length], &data[other..other + length]);
    if length > 32 {
        return one == other;
    }
    // Up to 32 bytes, two windows of 16 bytes cover the string, without a function call.
    one.first_chunk::<16>() == other.first_chunk() && one.last_chunk::<16>() == other.last_chunk()
}

/// Strings with the same key occupy consecutive slots. If a search is longer than this, the keys distinguish too
/// little.
const MAX_PROBES: usize = 64;

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

/// Adds the codes, in the width that the number of entries needs.
pub(super) fn put_codes(body: &mut Body<'_>, codes: &[u32], entries: usize, context: &Context<'_>) {
    match entries {
        0..=0x100 => integers::put_node(body, &narrow(codes, |code| code as i8), context),
        0x101..=0x1_0000 => integers::put_node(body, &narrow(codes, |code| code as i16), context),
        _ => integers::put_node(body, &narrow(codes, |code| code as i32), context),
    }
}

fn narrow<T>(codes: &[u32], to: impl Fn(u32) -> T) -> Vec<T> {
    codes.iter().map(|&code| to(code)).collect()
}
