//! Text and binary columns. FORMAT §6.2, §6.3, §6.6, §6.7, §6.9.

use bytes::Bytes;

use super::dictionary;
use super::integers::Integers;
use super::node::Node;
use super::reader::{Budget, Reader, buffer};
use crate::int::Int;
use crate::{Bitmap, Damage, Encoding, Values};

/// Offsets of 4 or 8 bytes, as the signed integers that Arrow has.
pub(super) trait Offset: Int {
    /// `offset`, which was checked to be at most [`Offset::LARGEST`].
    fn from_usize(offset: usize) -> Self;
    const LARGEST: usize;
}

impl Offset for i32 {
    const LARGEST: usize = i32::MAX as usize;
    #[inline(always)]
    fn from_usize(offset: usize) -> Self {
        offset as i32
    }
}

impl Offset for i64 {
    const LARGEST: usize = i64::MAX as usize;
    #[inline(always)]
    fn from_usize(offset: usize) -> Self {
        offset as i64
    }
}

/// Offsets and data of a column, with one string for every row.
pub(super) fn decode(
    node: &Node,
    reader: &mut Reader<'_>,
    offset: usize,
    utf8: bool,
    budget: &mut Budget,
) -> Result<Values<Bytes>, Damage> {
    let (offsets, data) =
        if offset == 4 { rows::<i32>(node, reader, utf8, budget)? } else { rows::<i64>(node, reader, utf8, budget)? };
    Ok(Values::Bytes { offsets, data })
}

fn rows<O: Offset>(
    node: &Node,
    reader: &mut Reader<'_>,
    utf8: bool,
    budget: &mut Budget,
) -> Result<(Bytes, Bytes), Damage> {
    budget.take(node.rows + 1, O::BYTES)?;
    let (offsets, data) = present::<O>(node, reader, utf8, budget)?;
    let Some(valid) = node.scatter() else { return Ok((offsets, data)) };
    Ok((spread::<O>(&offsets, valid, node.rows), data))
}

/// Offsets for all rows, from those of the valid ones.
fn spread<O: Offset>(offsets: &[u8], valid: Bitmap<&[u8]>, rows: usize) -> Bytes {
    let mut ends = offsets.chunks_exact(O::BYTES).map(O::read_le);
    let mut last = ends.next().unwrap_or(O::ZERO);
    let mut spread = Vec::with_capacity(rows + 1);
    spread.push(last);
    valid.runs(rows, |first, count| {
        spread.resize(first + 1, last);
        spread.extend(ends.by_ref().take(count));
        last = spread.last().copied().unwrap_or(last);
    });
    spread.resize(rows + 1, last);
    buffer(spread)
}

pub(super) fn present<O: Offset>(
    node: &Node,
    reader: &mut Reader<'_>,
    utf8: bool,
    budget: &mut Budget,
) -> Result<(Bytes, Bytes), Damage> {
    let count = node.stored();
    if node.encoding != Encoding::Fsst {
        node.no_parameter()?;
    }
    match node.encoding {
        Encoding::Plain => {
            let length = reader.count()?;
            reader.align(64)?;
            let offsets = reader.take_shared((count + 1).checked_mul(O::BYTES).ok_or(Damage::Truncated)?)?;
            check_offsets::<O>(&offsets, length)?;
            reader.align(64)?;
            let data = reader.take_shared(length)?;
            check_text::<O>(&offsets, &data, utf8)?;
            Ok((offsets, data))
        }
        Encoding::Constant if count > 0 => constant::<O>(reader, count, utf8, budget),
        Encoding::Dictionary => dictionary::decode::<O>(reader, count, utf8, budget),
        Encoding::Lengths => {
            let length = data_length::<O>(reader)?;
            let offsets = offsets_from_lengths::<O>(reader, count, length)?;
            let data = reader.take_shared(length)?;
            check_text::<O>(&offsets, &data, utf8)?;
            Ok((offsets, data))
        }
        Encoding::Fsst => {
            let length = data_length::<O>(reader)?;
            let compressed = reader.count()?;
            let offsets = offsets_from_lengths::<O>(reader, count, length)?;
            let symbols = Symbols::read(reader, node.parameter as usize)?;
            let compressed = reader.take(compressed)?;
            budget.take(length, 1)?;
            let data = Bytes::from(symbols.decompress(compressed, length)?);
            check_text::<O>(&offsets, &data, utf8)?;
            Ok((offsets, data))
        }
        _ => Err(node.misplaced()),
    }
}

pub(super) fn data_length<O: Offset>(reader: &mut Reader<'_>) -> Result<usize, Damage> {
    let length = reader.count()?;
    if length > O::LARGEST { Err(Damage::Offsets) } else { Ok(length) }
}

/// Reads lengths and converts them to offsets. Their sum must be `total`.
pub(super) fn offsets_from_lengths_of(
    offset: usize,
    reader: &mut Reader<'_>,
    count: usize,
    total: usize,
) -> Result<Bytes, Damage> {
    if offset == 4 {
        offsets_from_lengths::<i32>(reader, count, total)
    } else {
        offsets_from_lengths::<i64>(reader, count, total)
    }
}

fn offsets_from_lengths<O: Offset>(reader: &mut Reader<'_>, count: usize, total: usize) -> Result<Bytes, Damage> {
    let mut lengths = Integers::<i32>::read_node(reader, count)?;
    let mut offsets = Vec::with_capacity(count + 1);
    offsets.push(O::ZERO);
    let mut end = 0u64;
    while offsets.len() <= count {
        // There are at most 2^32 lengths of 2^32 each, so the sum cannot wrap. If the sum is `total` at the end, no
        // earlier offset has wrapped either.
        lengths.next_as(&mut offsets, |length| {
            end += u64::from(length as u32);
            O::from_bits(end)
        })?;
    }
    if end != total as u64 || total > O::LARGEST { Err(Damage::Offsets) } else { Ok(buffer(offsets)) }
}

/// Checks that offsets ascend from 0 to `length`.
pub(super) fn check_offsets_of(offset: usize, offsets: &[u8], length: usize) -> Result<(), Damage> {
    if offset == 4 { check_offsets::<i32>(offsets, length) } else { check_offsets::<i64>(offsets, length) }
}

fn check_offsets<O: Offset>(offsets: &[u8], length: usize) -> Result<(), Damage> {
    let mut descends = false;
    let mut last = O::ZERO;
    for offset in offsets.chunks_exact(O::BYTES).map(O::read_le) {
        descends |= offset < last;
        last = offset;
    }
    let first = offsets.get(..O::BYTES).map_or(O::ZERO, O::read_le);
    if descends || first != O::ZERO || last.to_bits() != length as u64 { Err(Damage::Offsets) } else { Ok(()) }
}

/// Checks that every string is valid UTF-8. `offsets` must be checked already.
fn check_text<O: Offset>(offsets: &[u8], data: &[u8], utf8: bool) -> Result<(), Damage> {
    if !utf8 || data.is_ascii() {
        return Ok(());
    }
    let text = simdutf8::basic::from_utf8(data).map_err(|_| Damage::Utf8)?;
    let offsets = offsets.chunks_exact(O::BYTES).map(|offset| O::read_le(offset).to_bits() as usize);
    let mut whole = true;
    offsets.for_each(|offset| whole &= text.is_char_boundary(offset));
    if whole { Ok(()) } else { Err(Damage::Utf8) }
}

fn constant<O: Offset>(
    reader: &mut Reader<'_>,
    count: usize,
    utf8: bool,
    budget: &mut Budget,
) -> Result<(Bytes, Bytes), Damage> {
    let length = reader.count()?;
    let value = reader.take(length)?;
    if utf8 && simdutf8::basic::from_utf8(value).is_err() {
        return Err(Damage::Utf8);
    }
    let total = length.checked_mul(count).filter(|&total| total <= O::LARGEST).ok_or(Damage::Offsets)?;
    budget.take(total, 1)?;
    let offsets: Vec<O> = (0..=count).map(|row| O::from_usize(row * length)).collect();
    Ok((buffer(offsets), Bytes::from(value.repeat(count))))
}

/// An FSST symbol table. FORMAT §6.9.
struct Symbols {
    symbols: [u64; 256],
    /// Lengths; [`Symbols::NONE`] for codes without a symbol.
    lengths: [u16; 256],
}

impl Symbols {
    const ESCAPE: u8 = 255;
    const NONE: u16 = 0x100;

    fn read(reader: &mut Reader<'_>, count: usize) -> Result<Self, Damage> {
        let mut table = Self { symbols: [0; 256], lengths: [Self::NONE; 256] };
        for (slot, &length) in table.lengths.iter_mut().zip(reader.take(count)?) {
            if !(1..=8).contains(&length) {
                return Err(Damage::Symbols);
            }
            *slot = u16::from(length);
        }
        for code in 0..count {
            let bytes = reader.take(table.lengths[code] as usize)?;
            let mut symbol = [0; 8];
            symbol[..bytes.len()].copy_from_slice(bytes);
            table.symbols[code] = u64::from_le_bytes(symbol);
        }
        reader.align(8)?;
        Ok(table)
    }

    /// Decompresses to exactly `length` bytes.
    ///
    /// This does not use the fsst crate's decompressor, which panics if the bytes need more room than they declare.
    fn decompress(&self, compressed: &[u8], length: usize) -> Result<Vec<u8>, Damage> {
        const CODES: usize = 8;
        let mut out: Vec<u8> = Vec::with_capacity(length + 8 * CODES);
        let start = out.as_mut_ptr();
        let (mut at, mut end, mut seen) = (0, 0, 0u16);
        while at < compressed.len() {
            if end > length {
                return Err(Damage::Symbols);
            }
            if let Some(codes) = compressed[at..].first_chunk::<CODES>() {
                let escapes = !u64::from_le_bytes(*codes);
                // A zero byte in `escapes` is an escape code.
                if escapes.wrapping_sub(0x0101_0101_0101_0101) & !escapes & 0x8080_8080_8080_8080 == 0 {
                    for &code in codes {
                        let size = self.lengths[code as usize];
                        seen |= size;
                        // SAFETY: `end` was at most `length` before these 8 codes, each adds at most 8 (0x100 & 0xF
                        // is 0), and 64 bytes beyond `length` are reserved.
                        unsafe {
                            let symbol = self.symbols[code as usize].to_le();
                            start.add(end).cast::<u64>().write_unaligned(symbol);
                        }
                        end += (size & 0xF) as usize;
                    }
                    at += CODES;
                    continue;
                }
            }
            let code = compressed[at];
            let (symbol, size) = if code == Self::ESCAPE {
                at += 1;
                (u64::from(*compressed.get(at).ok_or(Damage::Symbols)?), 1)
            } else {
                seen |= self.lengths[code as usize];
                (self.symbols[code as usize], (self.lengths[code as usize] & 0xF) as usize)
            };
            at += 1;
            // SAFETY: `end` is at most `length`, and 64 bytes beyond are reserved.
            unsafe { start.add(end).cast::<u64>().write_unaligned(symbol.to_le()) };
            end += size;
        }
        if end != length || seen & Self::NONE != 0 {
            return Err(Damage::Symbols);
        }
        // SAFETY: the first `length` bytes were written one after the other.
        unsafe { out.set_len(length) };
        Ok(out)
    }
}
