//! A column of texts that is gathered: as numbers of entries while few of them are distinct, otherwise as texts.

use std::collections::{HashMap, TryReserveError};
use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, BinaryArray, DictionaryArray, PrimitiveArray, StringArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::ArrowError;
use colonnade_duckdb_api::vectors::{UUID_ORDER, VectorValues};

use crate::validity::Validity;

/// Batches after which a column that had too many entries is tried again.
const RETRY: u32 = 16;
/// A vector has so many entries more at most, and a batch so many for each row.
const FEW_ENTRIES: usize = 64;
const ROWS_OF_ENTRY: usize = 8;
/// The most bytes for which a batch has room at its begin.
const MOST_ROOM: usize = 16 << 20;
/// No entry.
const NONE: u32 = u32::MAX;

pub(crate) fn too_long() -> ArrowError {
    no_memory("the texts of 2048 rows have more than 2 GiB")
}

/// An error as DuckDB's stream has it.
pub(crate) fn no_memory(why: &str) -> ArrowError {
    ArrowError::CDataInterface(format!("Out of Memory Error: {why}"))
}

pub(crate) fn not_reserved(_: TryReserveError) -> ArrowError {
    no_memory("there is no memory for the texts of 2048 rows")
}

/// The texts of a column, until they are a batch's.
#[derive(Default)]
pub(crate) struct Texts {
    keeps_codes: bool,
    /// The rows' entries, while the rows are numbers of entries.
    codes: Vec<u32>,
    is_plain: bool,
    /// The entries, or all texts.
    texts: Pieces,
    known: Known,
    /// The entry of NULLs.
    empty: Option<u32>,
    /// Batches that begin with plain texts.
    wait: u32,
}

/// Texts end to end.
struct Pieces {
    offsets: Vec<i32>,
    data: Vec<u8>,
}

/// What the entries of the last dictionary vectors are here.
#[derive(Default)]
struct Known {
    /// For each entry of a vector: the vector for which that was compared last, and the number here.
    entries: Vec<(u32, u32)>,
    vector: u32,
}

/// The text of a UUID, as DuckDB stores it.
pub(crate) fn uuid_text(value: u128) -> [u8; 36] {
    let mut text = [b'-'; 36];
    let mut digits = (0..32).rev().map(|digit| (value ^ UUID_ORDER) >> (4 * digit) & 0xf);
    for place in (0..36).filter(|place| ![8, 13, 18, 23].contains(place)) {
        if let Some(digit) = digits.next() {
            text[place] = b"0123456789abcdef"[digit as usize];
        }
    }
    text
}

/// Copies a text, and returns the place behind it. Most are short: copies of known lengths take less than a call.
///
/// # Safety
/// There is room for the text.
#[inline(always)]
unsafe fn copy_text(text: &[u8], place: *mut u8) -> *mut u8 {
    let (from, length) = (text.as_ptr(), text.len());
    // SAFETY: the caller promises the room; both parts are within the text.
    unsafe {
        match length {
            0..4 => text.iter().enumerate().for_each(|(at, &byte)| place.add(at).write(byte)),
            4..8 => copy_ends::<u32>(from, place, length),
            8..16 => copy_ends::<u64>(from, place, length),
            16..32 => copy_ends::<u128>(from, place, length),
            32..=64 => copy_ends::<[u128; 2]>(from, place, length),
            _ => std::ptr::copy_nonoverlapping(from, place, length),
        }
        place.add(length)
    }
}

/// Copies the first and the last bytes, which overlap or meet.
///
/// # Safety
/// Both places have so many bytes, which are at least those of a T, and at most twice as many.
#[inline(always)]
unsafe fn copy_ends<T: Copy>(from: *const u8, place: *mut u8, length: usize) {
    let last = length - size_of::<T>();
    // SAFETY: the caller promises it.
    unsafe {
        let ends = (from.cast::<T>().read_unaligned(), from.add(last).cast::<T>().read_unaligned());
        place.cast::<T>().write_unaligned(ends.0);
        place.add(last).cast::<T>().write_unaligned(ends.1);
    }
}

impl Default for Pieces {
    fn default() -> Self {
        Self::with_room(1, 0)
    }
}

impl Pieces {
    /// No texts, with room for so many offsets and bytes.
    fn with_room(offsets: usize, bytes: usize) -> Self {
        let mut pieces = Self { offsets: Vec::with_capacity(offsets), data: Vec::with_capacity(bytes) };
        pieces.offsets.push(0);
        pieces
    }

    fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    fn push(&mut self, text: &[u8]) -> Result<(), ArrowError> {
        self.data.try_reserve(text.len()).map_err(not_reserved)?;
        self.data.extend_from_slice(text);
        self.offsets.push(i32::try_from(self.data.len()).map_err(|_| too_long())?);
        Ok(())
    }

    /// Appends so many texts.
    fn extend<'a>(&mut self, count: usize, text: impl Fn(usize) -> &'a [u8]) -> Result<(), ArrowError> {
        let mut end = self.data.len();
        self.offsets.reserve(count);
        for number in 0..count {
            end += text(number).len();
            self.offsets.push(i32::try_from(end).map_err(|_| too_long())?);
        }
        let start = self.data.len();
        self.data.try_reserve(end - start).map_err(not_reserved)?;
        // SAFETY: there is room for all texts.
        unsafe {
            let mut place = self.data.as_mut_ptr().add(start);
            for number in 0..count {
                place = copy_text(text(number), place);
            }
            self.data.set_len(end);
        }
        Ok(())
    }

    fn get(&self, number: u32) -> &[u8] {
        let at = number as usize;
        &self.data[self.offsets[at] as usize..self.offsets[at + 1] as usize]
    }

    /// An array of them, of texts or of bytes.
    fn take(&mut self, nulls: Option<NullBuffer>, is_text: bool) -> ArrayRef {
        // The next batch has about as many bytes. What a larger one needs, it asks for text by text, which may fail.
        let room = (self.offsets.len(), self.data.len().min(MOST_ROOM));
        let next = Self::with_room(room.0, room.1);
        let Self { offsets, data } = std::mem::replace(self, next);
        // SAFETY: offsets begin with 0, and each is the length of the data at its time.
        let offsets = unsafe { OffsetBuffer::new_unchecked(ScalarBuffer::from(offsets)) };
        // SAFETY: the offsets are those of the data, and there are as many bits as rows. DuckDB's texts are UTF-8.
        unsafe {
            if is_text {
                Arc::new(StringArray::new_unchecked(offsets, data.into(), nulls))
            } else {
                Arc::new(BinaryArray::new_unchecked(offsets, data.into(), nulls))
            }
        }
    }
}

impl Texts {
    /// No texts. With `keeps_codes`, a batch may be a dictionary.
    pub fn new(keeps_codes: bool) -> Self {
        Self { keeps_codes, ..Self::default() }
    }

    pub fn bytes(&self) -> usize {
        self.texts.data.len() + (self.texts.offsets.len() + self.codes.len()) * 4
    }

    /// Appends the rows of a vector.
    ///
    /// # Safety
    /// The vector's type is stored as VARCHAR is, and it has so many rows.
    pub unsafe fn append(
        &mut self,
        values: &VectorValues,
        rows: usize,
        validity: &mut Validity,
    ) -> Result<(), ArrowError> {
        // SAFETY: the caller promises the vector.
        unsafe {
            if self.is_plain || !self.keeps_codes || self.begins_plain(values) {
                self.is_plain = true;
                let has_null = validity.append(values, rows);
                return self.append_plain(values, rows, has_null);
            }
            match values.selection(rows) {
                Some(entries) if !self.append_entries(values, entries)? => validity.append_valid(rows),
                Some(_) => {
                    validity.append(values, rows);
                }
                None => {
                    validity.append(values, rows);
                    self.append_flat(values, rows)?;
                }
            }
        }
        if self.texts.count() > FEW_ENTRIES + self.codes.len() / ROWS_OF_ENTRY {
            self.make_plain()?;
        }
        Ok(())
    }

    /// Whether a batch that begins with this vector has plain texts.
    fn begins_plain(&self, values: &VectorValues) -> bool {
        self.codes.is_empty() && (self.wait > 0 || values.is_flat())
    }

    /// Appends rows of a dictionary. DuckDB does not tell one dictionary from another, and an address may have another
    /// one in the next vector. So each entry that a vector uses is compared with what it was before. Returns whether a
    /// row is NULL.
    unsafe fn append_entries(&mut self, values: &VectorValues, entries: &[u32]) -> Result<bool, ArrowError> {
        self.known.vector += 1;
        let vector = self.known.vector;
        let largest = entries.iter().fold(0, |largest, &entry| largest.max(entry)) as usize;
        if self.known.entries.len() <= largest {
            self.known.entries.resize((largest + 1).next_power_of_two(), (0, NONE));
        }
        let mut has_null = false;
        self.codes.reserve(entries.len());
        for &entry in entries {
            let (compared, mut code) = self.known.entries[entry as usize];
            if compared != vector {
                if values.is_valid(entry as usize) {
                    // SAFETY: the caller promises the type, and the entry is not NULL.
                    let text = unsafe { values.text(entry as usize) };
                    if code == NONE || self.texts.get(code) != text {
                        code = self.texts.count() as u32;
                        self.texts.push(text)?;
                    }
                } else {
                    has_null = true;
                    code = self.empty()?;
                }
                self.known.entries[entry as usize] = (vector, code);
            }
            self.codes.push(code);
        }
        Ok(has_null)
    }

    /// Appends a flat vector among dictionaries, as the last one of a row group is.
    unsafe fn append_flat(&mut self, values: &VectorValues, rows: usize) -> Result<(), ArrowError> {
        let count = self.texts.count() as u32;
        let mut numbers: HashMap<Vec<u8>, u32> =
            (0..count).map(|number| (self.texts.get(number).to_vec(), number)).collect();
        for row in 0..rows {
            let code = if !values.is_valid(row) {
                self.empty()?
            } else {
                // SAFETY: the caller promises the type, and the row is not NULL.
                let text = unsafe { values.text(row) };
                match numbers.get(text) {
                    Some(&code) => code,
                    None => {
                        let code = self.texts.count() as u32;
                        self.texts.push(text)?;
                        numbers.insert(text.to_vec(), code);
                        code
                    }
                }
            };
            self.codes.push(code);
        }
        Ok(())
    }

    /// The entry of NULLs.
    fn empty(&mut self) -> Result<u32, ArrowError> {
        if let Some(code) = self.empty {
            return Ok(code);
        }
        let code = self.texts.count() as u32;
        self.texts.push(&[])?;
        self.empty = Some(code);
        Ok(code)
    }

    unsafe fn append_plain(&mut self, values: &VectorValues, rows: usize, has_null: bool) -> Result<(), ArrowError> {
        let text = |row: usize| {
            let entry = values.entry(row);
            // SAFETY: the caller promises the type, and the entry is not NULL.
            if has_null && !values.is_valid(entry) { &[][..] } else { unsafe { values.text(entry) } }
        };
        self.texts.extend(rows, text)
    }

    /// Appends the rows of a vector of UUIDs as texts.
    ///
    /// # Safety
    /// The vector has UUIDs, and so many rows.
    pub unsafe fn append_uuids(&mut self, values: &VectorValues, rows: usize) -> Result<(), ArrowError> {
        self.is_plain = true;
        for row in 0..rows {
            let entry = values.entry(row);
            if values.is_valid(entry) {
                // SAFETY: the caller promises the type.
                self.texts.push(&uuid_text(unsafe { values.value(entry) }))?;
            } else {
                self.texts.push(&[])?;
            }
        }
        Ok(())
    }

    /// Writes the rows out as texts.
    fn make_plain(&mut self) -> Result<(), ArrowError> {
        let entries = std::mem::take(&mut self.texts);
        self.texts.offsets.reserve(self.codes.len());
        for code in std::mem::take(&mut self.codes) {
            self.texts.push(entries.get(code))?;
        }
        (self.is_plain, self.wait) = (true, RETRY);
        Ok(())
    }

    /// The array of the rows, of which none is left: of texts, or of bytes.
    pub fn take(&mut self, nulls: Option<NullBuffer>, is_text: bool) -> ArrayRef {
        let is_text = is_text && !self.keeps_codes;
        let codes = std::mem::take(&mut self.codes);
        let is_plain = std::mem::take(&mut self.is_plain);
        self.wait = self.wait.saturating_sub(1);
        self.known.entries.clear();
        (self.known.vector, self.empty) = (0, None);
        if is_plain {
            return self.texts.take(nulls, is_text);
        }
        let keys = PrimitiveArray::<UInt32Type>::new(codes.into(), nulls);
        // SAFETY: each code is the number of an entry.
        Arc::new(unsafe { DictionaryArray::new_unchecked(keys, self.texts.take(None, is_text)) })
    }
}
