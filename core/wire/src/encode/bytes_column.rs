//! Text and binary columns: choosing and writing the encoding. FORMAT §6.2, §6.3, §6.6, §6.7, §6.9.

use std::borrow::Cow;

use super::body::{Body, NodeStart};
use super::column::{Context, Memory};
use super::column_input::Codes;
use super::dictionary::{self, Dictionary, Entry};
use super::fsst::{self, Trained};
use super::nulls::Present;
use super::{integers, sample};
use crate::clock::Moment;
use crate::int::{Int, bits_for};
use crate::simd::vectorized;
use crate::{Encoding, Layout};

/// An encoding is used only if its size is below this ratio of the size without it.
const MAX_SIZE_RATIO: f64 = 0.85;
/// Entries that are given are a dictionary if each occurs so often on average. A tighter rule than for those that are
/// searched for: their codes cost more to decode than the strings alone.
const MIN_REPEATS: usize = 2;

/// Adds the strings of a node that was started. `None` if the offsets are invalid.
pub(super) fn put<'a, O: Int>(
    body: &mut Body<'a>,
    node: NodeStart,
    present: &Present<'a>,
    (offsets, data): (&'a [u8], &'a [u8]),
    memory: &mut Memory,
    context: &Context<'_>,
) -> Option<()> {
    if context.plain() || !context.may(Encoding::Lengths) {
        return match present.sparse() {
            None => put_plain::<O>(body, present.rows, offsets, data),
            Some(_) => {
                let strings = Strings::pick::<O>(present, offsets, data)?;
                strings.put_plain::<O>(body);
                Some(())
            }
        };
    }
    let strings = Strings::pick::<O>(present, offsets, data)?;
    strings.put(body, node, memory, context);
    Some(())
}

/// Adds strings that are given as numbers of entries. `None` if they are of another layout.
pub(super) fn put_codes<'a>(
    body: &mut Body<'a>,
    node: NodeStart,
    present: &Present<'a>,
    texts: &Codes<'a>,
    layout: Layout,
    memory: &mut Memory,
    context: &Context<'_>,
) -> Option<()> {
    let Layout::Bytes { offset, .. } = layout else { return None };
    let may_share = !context.plain() && [Encoding::Lengths, Encoding::Dictionary].iter().all(|&one| context.may(one));
    let (entries, stored) = (texts.lengths().len(), present.stored());
    // A dictionary has at most as many entries as there are values.
    if may_share && (1..=stored / MIN_REPEATS).contains(&entries) {
        let codes: &[i32] = bytemuck::cast_slice(texts.codes);
        let picked = present.pick(codes);
        let codes = bytemuck::cast_slice(picked.as_deref().unwrap_or(codes));
        put_shared(body, node, texts, codes, memory, context);
        return Some(());
    }
    let strings = Strings::of_codes(present, texts);
    match offset {
        _ if !context.plain() && context.may(Encoding::Lengths) => strings.put(body, node, memory, context),
        4 => strings.put_plain::<i32>(body),
        _ => strings.put_plain::<i64>(body),
    }
    Some(())
}

/// Adds a dictionary of the entries, and the codes. Each code has an entry.
fn put_shared<'a>(
    body: &mut Body<'a>,
    node: NodeStart,
    texts: &Codes<'a>,
    codes: &[u32],
    memory: &mut Memory,
    context: &Context<'_>,
) {
    let lengths: Vec<i32> = texts.lengths().collect();
    if lengths.len() == 1 && context.may(Encoding::Constant) {
        body.set(node, Encoding::Constant, 0);
        body.put_u64(texts.entries().len() as u64);
        return body.put(texts.entries());
    }
    let total = codes.iter().map(|&code| lengths[code as usize] as u32 as usize).sum();
    let entries = Strings { lengths, data: Cow::Borrowed(texts.entries()) };
    entries.put_entries(body, node, codes, total, memory, context);
}

/// Adds the offsets, shifted so that they start at 0, and the data between the first and the last. Offsets that start
/// at 0 are not copied.
fn put_plain<'a, O: Int>(body: &mut Body<'a>, rows: usize, offsets: &'a [u8], data: &'a [u8]) -> Option<()> {
    if rows == 0 {
        body.put_u64(0);
        body.align(64);
        body.put(bytemuck::bytes_of(&O::ZERO));
        body.align(64);
        return Some(());
    }
    let offsets = offsets.get(..(rows + 1) * O::BYTES)?;
    let (first, last) = (O::read_le(offsets), O::read_le(&offsets[rows * O::BYTES..]));
    let data = data.get(usize::try_from(first.to_bits()).ok()?..usize::try_from(last.to_bits()).ok()?)?;
    body.put_u64(data.len() as u64);
    body.align(64);
    put_offsets::<O>(body, offsets);
    body.align(64);
    body.put_borrowed(data);
    Some(())
}

/// Adds offsets, shifted so that the first one is 0.
pub(super) fn put_offsets<'a, O: Int>(body: &mut Body<'a>, offsets: &'a [u8]) {
    let first = offsets.get(..O::BYTES).map_or(O::ZERO, O::read_le);
    if first == O::ZERO {
        return body.put_borrowed(offsets);
    }
    let moved: Vec<O> = offsets.chunks_exact(O::BYTES).map(|offset| O::read_le(offset).minus(first)).collect();
    body.put(bytemuck::cast_slice(&moved));
}

/// The strings of a node. Strings under a NULL are omitted or empty.
struct Strings<'a> {
    lengths: Vec<i32>,
    data: Cow<'a, [u8]>,
}

impl<'a> Strings<'a> {
    fn pick<O: Int>(present: &Present<'a>, offsets: &'a [u8], data: &'a [u8]) -> Option<Self> {
        if present.rows == 0 {
            return Some(Self { lengths: Vec::new(), data: Cow::Borrowed(&[]) });
        }
        let offsets = offsets.get(..(present.rows + 1) * O::BYTES)?;
        let offset = |row: usize| O::read_le(&offsets[row * O::BYTES..]);
        let (lengths, backwards) = lengths::<O>(offsets);
        let (first, last) = (offset(0).to_bits(), offset(present.rows).to_bits());
        if backwards < O::ZERO || O::from_bits(first) < O::ZERO || last - first > u64::from(u32::MAX) {
            return None;
        }
        let all = data.get(first as usize..last as usize)?;
        let Some(valid) = present.sparse() else { return Some(Self { lengths, data: Cow::Borrowed(all) }) };
        let mut picked = Vec::with_capacity(present.stored());
        let mut total = 0;
        valid.runs(present.rows, |row, count| {
            picked.extend_from_slice(&lengths[row..row + count]);
            total += (offset(row + count).to_bits() - offset(row).to_bits()) as usize;
        });
        let data = if total == all.len() {
            Cow::Borrowed(all)
        } else {
            let mut bytes = Vec::with_capacity(total);
            valid.runs(present.rows, |row, count| {
                bytes.extend_from_slice(&data[offset(row).to_bits() as usize..offset(row + count).to_bits() as usize]);
            });
            Cow::Owned(bytes)
        };
        Some(Self { lengths: picked, data })
    }

    /// The strings of codes. Those under a NULL are omitted or empty.
    fn of_codes(present: &Present<'_>, texts: &Codes<'_>) -> Self {
        let is_sparse = present.sparse().is_some();
        let (mut lengths, mut data) = (Vec::with_capacity(present.stored()), Vec::new());
        for (row, &code) in texts.codes.iter().enumerate() {
            if present.is_valid(row) {
                let (start, end) = (texts.offsets[code as usize], texts.offsets[code as usize + 1]);
                lengths.push(end - start);
                data.extend_from_slice(&texts.data[start as usize..end as usize]);
            } else if !is_sparse {
                lengths.push(0);
            }
        }
        Self { lengths, data: Cow::Owned(data) }
    }

    fn put_plain<O: Int>(self, body: &mut Body<'a>) {
        body.put_u64(self.data.len() as u64);
        body.align(64);
        let mut end = 0;
        body.put(bytemuck::bytes_of(&O::ZERO));
        for length in &self.lengths {
            end += u64::from(*length as u32);
            body.put(bytemuck::bytes_of(&O::from_bits(end)));
        }
        body.align(64);
        self.put_data(body);
    }

    fn put_data(self, body: &mut Body<'a>) {
        match self.data {
            Cow::Borrowed(data) => body.put_borrowed(data),
            Cow::Owned(data) => body.put(&data),
        }
    }

    fn put(self, body: &mut Body<'a>, node: NodeStart, memory: &mut Memory, context: &Context<'_>) {
        if self.is_constant() && context.may(Encoding::Constant) {
            body.set(node, Encoding::Constant, 0);
            let value = &self.data[..self.lengths[0] as u32 as usize];
            body.put_u64(value.len() as u64);
            return body.put(value);
        }
        let count = self.lengths.len();
        if context.may(Encoding::Dictionary) && memory.dictionary.is_due(count) {
            // The previous chunk's number is as good an estimate, and costs nothing.
            let known = memory.distinct.take().and_then(|distinct| self.dictionary(distinct));
            match known.or_else(|| self.dictionary(self.estimate_distinct()?)) {
                Some(dictionary) => {
                    memory.distinct = Some(dictionary.entries.len());
                    return self.put_dictionary(dictionary, body, node, memory, context);
                }
                None => memory.dictionary.failed(count),
            }
        }
        self.put_lengths(body, node, memory, context);
    }

    /// FORMAT §6.9 if it saves enough, otherwise §6.7.
    fn put_lengths(self, body: &mut Body<'a>, node: NodeStart, memory: &mut Memory, context: &Context<'_>) {
        let start = body.mark();
        if context.fsst() && self.data.len() >= fsst::MIN_BYTES && memory.fsst.is_due(self.lengths.len()) {
            let started = Moment::now();
            let saved = self.put_fsst(body, node, &mut memory.symbols, context);
            body.compressed(saved.unwrap_or(0), started);
            if saved.is_some() {
                return;
            }
            body.rewind(start);
            memory.fsst.failed(self.lengths.len());
        }
        body.set(node, Encoding::Lengths, 0);
        body.put_u64(self.data.len() as u64);
        integers::put_node(body, &self.lengths, context);
        self.put_data(body);
    }

    /// Returns how many bytes it saved, if that is enough.
    fn put_fsst(
        &self,
        body: &mut Body<'a>,
        node: NodeStart,
        symbols: &mut Option<Trained>,
        context: &Context<'_>,
    ) -> Option<usize> {
        let length = self.data.len();
        let trained = symbols.get_or_insert_with(|| Trained::on(&self.data));
        body.set(node, Encoding::Fsst, trained.symbols());
        body.put_u64(length as u64);
        let compressed = body.mark();
        body.put_u64(0);
        integers::put_node(body, &self.lengths, context);
        let before = body.mark();
        let written = trained.put(body, &self.data);
        body.set_u64(compressed, written as u64);
        if trained.is_stale(written, length) {
            *symbols = None;
        }
        let length_now = body.since(before);
        ((length_now as f64) < length as f64 * MAX_SIZE_RATIO).then(|| length - length_now)
    }

    fn is_constant(&self) -> bool {
        let Some((&first, rest)) = self.lengths.split_first() else { return false };
        let width = first as u32 as usize;
        rest.iter().all(|&length| length == first) && self.data[width..] == self.data[..self.data.len() - width]
    }

    /// The estimated number of distinct strings, from a sample. `None` if no string repeats in the sample.
    fn estimate_distinct(&self) -> Option<usize> {
        let (mut start, mut row) = (0, 0);
        let mut sampled = Vec::with_capacity(sample::SAMPLE);
        for position in sample::positions(self.lengths.len(), sample::SAMPLE) {
            start += total(&self.lengths[row..position]);
            row = position;
            sampled.push(dictionary::hash_of(&self.data, start, self.lengths[row] as u32 as usize));
        }
        sample::distinct(sampled.into_iter())
    }

    /// The strings' dictionary, if it saves enough, first by the estimate of `distinct` strings, then by the whole
    /// column.
    fn dictionary(&self, distinct: usize) -> Option<Dictionary<Entry>> {
        let count = self.lengths.len();
        let mean = self.data.len() / count.max(1) + 1;
        let limit = (self.data.len() as f64 * MAX_SIZE_RATIO) as usize;
        let size = |entries: usize, bytes: usize| bytes + entries + count * bits_for(entries as u64 - 1) / 8;
        if size(distinct, distinct * mean) >= limit {
            return None;
        }
        let dictionary = Dictionary::of_strings(&self.data, &self.lengths, distinct.saturating_mul(4), limit)?;
        let bytes = dictionary.entries.iter().map(|entry| entry.length).sum();
        (size(dictionary.entries.len(), bytes) < limit).then_some(dictionary)
    }

    fn put_dictionary(
        self,
        dictionary: Dictionary<Entry>,
        body: &mut Body<'a>,
        node: NodeStart,
        memory: &mut Memory,
        context: &Context<'_>,
    ) {
        let mut bytes = Vec::new();
        for entry in &dictionary.entries {
            bytes.extend_from_slice(&self.data[entry.start..entry.start + entry.length]);
        }
        let lengths: Vec<i32> = dictionary.entries.iter().map(|entry| entry.length as u32 as i32).collect();
        let entries = Strings { lengths, data: Cow::Owned(bytes) };
        entries.put_entries(body, node, &dictionary.codes, self.data.len(), memory, context);
    }

    /// Adds these strings as the entries of a dictionary, and the codes. `total` is the length of the codes' strings.
    fn put_entries(
        self,
        body: &mut Body<'a>,
        node: NodeStart,
        codes: &[u32],
        total: usize,
        memory: &mut Memory,
        context: &Context<'_>,
    ) {
        let count = self.lengths.len();
        body.set(node, Encoding::Dictionary, 0);
        body.put_u32(count as u32);
        body.put_u32(0);
        body.put_u64(total as u64);
        let values = body.start(0, 0);
        self.put_lengths(body, values, memory.child(0), context);
        body.align(8);
        dictionary::put_codes(body, codes, count, context);
    }
}

vectorized! {
    /// The lengths between offsets, and the minimum of 0, all lengths and all offsets. The minimum is negative if the
    /// offsets do not ascend. If offsets wrap, one of them is negative, because no non-negative difference spans half
    /// of the number range.
    fn lengths<O: Int>(offsets: &[u8]) -> (Vec<i32>, O) {
        let starts = offsets.chunks_exact(O::BYTES).map(O::read_le);
        let ends = offsets[O::BYTES..].chunks_exact(O::BYTES).map(O::read_le);
        let mut least = O::ZERO;
        let mut lengths = vec![0; offsets.len() / O::BYTES - 1];
        // A plain loop, because the compiler does not vectorize `collect`.
        for ((length, start), end) in lengths.iter_mut().zip(starts).zip(ends) {
            let difference = end.minus(start);
            least = least.min(difference).min(end);
            *length = difference.to_bits() as i32;
        }
        (lengths, least)
    }
}

vectorized! {
    /// The sum of the lengths.
    fn total<T: Int>(lengths: &[T]) -> usize {
        lengths.iter().map(|length| length.to_bits()).sum::<u64>() as usize
    }
}
