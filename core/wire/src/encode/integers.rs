//! Integers of 1, 2, 4 or 8 bytes: choosing and writing the encoding. FORMAT §6.2 to §6.6.

use fastlanes::BitPacking;

use super::body::{Body, NodeStart};
use super::column::{Context, Memory};
use super::dictionary::{Dictionary, put_codes};
use super::sample;
use crate::Encoding;
use crate::int::{BLOCK, Int, bits_for, lane_bytes, packed_bytes};
use crate::simd::vectorized;

/// A more complex encoding is used only if its size is below this ratio of the simpler one's.
const MAX_SIZE_RATIO: f64 = 0.9;

/// Adds integers as a separate node, without NULLs.
pub(super) fn put_node<T: Int>(body: &mut Body<'_>, values: &[T], context: &Context<'_>) {
    let node = body.start(0, 0);
    put(body, node, values, None, context, None);
    body.align(8);
}

/// Adds the values of a node that was started. `lasting` are the same values in a buffer that may be borrowed. With a
/// `memory`, encodings that are expensive to find are tried, too.
pub(super) fn put<'a, T: Int>(
    body: &mut Body<'a>,
    node: NodeStart,
    values: &[T],
    lasting: Option<&'a [T]>,
    context: &Context<'_>,
    memory: Option<&mut Memory>,
) {
    if context.plain() || values.is_empty() {
        return put_plain(body, values, lasting);
    }
    let frames = Frames::of(values);
    if let Some(value) = frames.constant().filter(|_| context.may(Encoding::Constant)) {
        body.set(node, Encoding::Constant, 0);
        let bytes = body.tail();
        return bytes.extend_from_slice(bytemuck::bytes_of(&value));
    }
    let plain = size_of_val(values);
    let packed = if context.may(Encoding::Packed) { frames.packed_bytes() } else { plain };
    if let Some(memory) = memory {
        if packed >= values.len()
            && context.may(Encoding::Dictionary)
            && let Some(dictionary) = dictionary(values, (packed as f64 * MAX_SIZE_RATIO) as usize, memory)
        {
            body.set(node, Encoding::Dictionary, 0);
            let count = dictionary.entries.len();
            body.put_u32(count as u32);
            body.put_u32(0);
            put_node(body, &dictionary.entries, context);
            return put_codes(body, &dictionary.codes, count, context);
        }
        if values.len() > 2 && context.may(Encoding::Delta) && memory.delta.is_due(values.len()) {
            let limit = (packed.min(plain) as f64 * MAX_SIZE_RATIO) as usize;
            if let Some((base, differences)) = differences(values, limit) {
                let delta = Frames::of(&differences);
                if delta.packed_bytes() + T::BYTES < limit {
                    body.set(node, Encoding::Delta, 0);
                    body.put(bytemuck::bytes_of(&base));
                    body.align(8);
                    return delta.put(body, &differences);
                }
                memory.delta.failed(values.len());
            }
        }
    }
    if packed as f64 > plain as f64 * MAX_SIZE_RATIO || !context.may(Encoding::Packed) {
        return put_plain(body, values, lasting);
    }
    body.set(node, Encoding::Packed, 0);
    frames.put(body, values);
}

fn put_plain<'a, T: Int>(body: &mut Body<'a>, values: &[T], lasting: Option<&'a [T]>) {
    body.align(64);
    match lasting {
        Some(lasting) => body.put_borrowed(bytemuck::cast_slice(lasting)),
        None => body.put(bytemuck::cast_slice(values)),
    }
}

/// The smallest and the largest value of each block.
struct Frames<T> {
    bounds: Vec<(T, T)>,
    last_block: usize,
}

impl<T: Int> Frames<T> {
    fn of(values: &[T]) -> Self {
        let bounds = values.chunks(BLOCK).map(bounds).collect();
        let last_block = if values.is_empty() { 0 } else { (values.len() - 1) % BLOCK + 1 };
        Self { bounds, last_block }
    }

    /// The value, if all values are equal.
    fn constant(&self) -> Option<T> {
        let first = self.bounds.first()?.0;
        self.bounds.iter().all(|&bounds| bounds == (first, first)).then_some(first)
    }

    fn width((least, most): (T, T)) -> usize {
        bits_for(most.minus(least).to_bits())
    }

    /// Bytes of the packed form.
    fn packed_bytes(&self) -> usize {
        let blocks = self.bounds.len();
        let mut bytes = blocks * (T::BYTES + 1);
        for (block, &bounds) in self.bounds.iter().enumerate() {
            let count = if block + 1 == blocks { self.last_block } else { BLOCK };
            bytes += packed_bytes(count, Self::width(bounds));
        }
        bytes
    }

    /// Adds the packed form: FORMAT §6.4.
    fn put(&self, body: &mut Body<'_>, values: &[T]) {
        let out = body.tail();
        self.bounds.iter().for_each(|(least, _)| out.extend_from_slice(bytemuck::bytes_of(least)));
        self.bounds.iter().for_each(|&bounds| out.push(Self::width(bounds) as u8));
        body.align(8);
        let out = body.tail();
        // Zeroed only once, because zeroing costs as much as packing.
        let mut packed = [0; BLOCK];
        for (block, &bounds) in values.chunks(BLOCK).zip(&self.bounds) {
            let (reference, width) = (bounds.0, Self::width(bounds));
            if let Ok(block) = <&[T; BLOCK]>::try_from(block) {
                let packed = &mut packed;
                match lane_bytes(width) {
                    _ if width == 0 => {}
                    1 => pack::<T, u8>(block, reference, width, packed, out, |offset| offset as u8),
                    2 => pack::<T, u16>(block, reference, width, packed, out, |offset| offset as u16),
                    4 => pack::<T, u32>(block, reference, width, packed, out, |offset| offset as u32),
                    _ => pack::<T, u64>(block, reference, width, packed, out, |offset| offset),
                }
            } else {
                pack_short(block, reference, width, out);
            }
        }
    }
}

vectorized! {
    /// The smallest and the largest value.
    fn bounds<T: Int>(block: &[T]) -> (T, T) {
        let mut bounds = (T::MAX, T::MIN);
        for &value in block {
            bounds = (bounds.0.min(value), bounds.1.max(value));
        }
        bounds
    }
}

/// Appends a whole block in FastLanes order. `packed` is scratch space.
#[inline]
fn pack<T: Int, L: BitPacking + bytemuck::Pod>(
    block: &[T; BLOCK],
    reference: T,
    width: usize,
    packed: &mut [u64; BLOCK],
    out: &mut Vec<u8>,
    narrow: impl Fn(u64) -> L,
) {
    let offsets = block.map(|value| narrow(value.minus(reference).to_bits()));
    let packed = &mut bytemuck::cast_slice_mut::<u64, L>(packed)[..packed_bytes(BLOCK, width) / size_of::<L>()];
    // SAFETY: the input has 1024 values, the output has room for 1024 × width bits, and width is no larger than the
    // lane.
    unsafe { L::unchecked_pack(width, &offsets, packed) };
    out.extend_from_slice(bytemuck::cast_slice(packed));
}

/// Appends the offsets of a block shorter than 1024.
fn pack_short<T: Int>(block: &[T], reference: T, width: usize, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let end = out.len() + packed_bytes(block.len(), width);
    let (mut window, mut filled) = (0u128, 0);
    for &value in block {
        window |= u128::from(value.minus(reference).to_bits()) << filled;
        filled += width;
        if filled >= 64 {
            out.extend_from_slice(&(window as u64).to_le_bytes());
            window >>= 64;
            filled -= 64;
        }
    }
    out.extend_from_slice(&(window as u64).to_le_bytes());
    out.truncate(end);
}

/// The base and all differences. The base is the first value minus the first difference. `None` if a sample shows that
/// the differences do not pack into `limit` bytes.
fn differences<T: Int>(values: &[T], limit: usize) -> Option<(T, Vec<T>)> {
    const RUN: usize = 16;
    let (mut least, mut most) = (T::MAX, T::MIN);
    for start in sample::positions(values.len(), sample::SAMPLE / RUN) {
        let run = &values[start..values.len().min(start + RUN)];
        for pair in run.windows(2) {
            let difference = pair[1].minus(pair[0]);
            (least, most) = (least.min(difference), most.max(difference));
        }
    }
    if least > most || bits_for(most.minus(least).to_bits()) * values.len() / 8 >= limit {
        return None;
    }
    let second = values[1].minus(values[0]);
    let mut differences = Vec::with_capacity(values.len());
    // The first difference is arbitrary. A copy of the second one does not widen the first block.
    differences.push(second);
    differences.extend(values.windows(2).map(|pair| pair[1].minus(pair[0])));
    Some((values[0].minus(second), differences))
}

/// The dictionary of `values`, if it takes less than `limit` bytes.
fn dictionary<T: Int>(values: &[T], limit: usize, memory: &mut Memory) -> Option<Dictionary<T>> {
    if !memory.dictionary.is_due(values.len()) {
        return None;
    }
    let size = |entries: usize| entries * T::BYTES + values.len() * bits_for(entries as u64 - 1) / 8 + 32;
    let estimate = || {
        let sampled = sample::positions(values.len(), sample::SAMPLE);
        sample::distinct(sampled.map(|at| sample::hash(values[at].to_bits())))
    };
    // The previous chunk's number is as good an estimate, and costs nothing.
    let known = memory.distinct.take().filter(|&distinct| size(distinct) < limit);
    let distinct = known.or_else(estimate).filter(|&distinct| size(distinct) < limit)?;
    // The estimate may be too low. With more than twice as many entries the scan stops.
    let dictionary = Dictionary::of(values, distinct * 2).filter(|found| size(found.entries.len()) < limit);
    match &dictionary {
        Some(found) => memory.distinct = Some(found.entries.len()),
        None => memory.dictionary.failed(values.len()),
    }
    dictionary
}
