//! Values of one width: bits, integers, floats, opaque, wide, parts. FORMAT §6.2 to §6.10.

use alp::ALPFloat;
use bytes::Bytes;

use super::integers::{Codes, Integers, dictionary_size};
use super::node::Node;
use super::reader::{Budget, Reader, buffer};
use crate::int::Int;
use crate::{Bitmap, Damage, Encoding, Layout, Values};

/// A column of bits.
pub(super) fn bits(node: &Node, reader: &mut Reader<'_>, budget: &mut Budget) -> Result<Values<Bytes>, Damage> {
    let bytes = node.rows.div_ceil(8);
    match node.encoding {
        Encoding::Plain => {
            node.no_parameter()?;
            let bits = reader.take_shared(bytes)?;
            if !node.rows.is_multiple_of(8) && bits.last().is_some_and(|last| last >> (node.rows % 8) != 0) {
                return Err(Damage::NotZero);
            }
            Ok(Values::Bits(Bitmap::new(bits)))
        }
        Encoding::Constant if node.rows > 0 && node.parameter <= 1 => {
            budget.take(bytes, 1)?;
            let value = if node.parameter == 1 { 0xFF } else { 0 };
            Ok(Values::Bits(Bitmap::new(Bytes::from(vec![value; bytes]))))
        }
        _ => Err(node.misplaced()),
    }
}

/// A column of layout integer, float, opaque, wide or parts: its values, for every row.
pub(super) fn decode(
    node: &Node,
    reader: &mut Reader<'_>,
    layout: Layout,
    budget: &mut Budget,
) -> Result<Bytes, Damage> {
    let width = layout.fixed_width().ok_or_else(|| node.misplaced())?;
    budget.take(node.rows, width)?;
    let present = present(node, reader, layout, width)?;
    match node.scatter() {
        None => Ok(present),
        Some(valid) => {
            // Zeroed 16-byte words, so that the result has the alignment of every Arrow value.
            let mut words = vec![0u128; (node.rows * width).div_ceil(16)];
            let rows = bytemuck::cast_slice_mut::<u128, u8>(&mut words);
            let mut from = 0;
            valid.runs(node.rows, |first, count| {
                let bytes = count * width;
                rows[first * width..][..bytes].copy_from_slice(&present[from..from + bytes]);
                from += bytes;
            });
            Ok(buffer(words).slice(..node.rows * width))
        }
    }
}

/// The values that are stored.
fn present(node: &Node, reader: &mut Reader<'_>, layout: Layout, width: usize) -> Result<Bytes, Damage> {
    let count = node.stored();
    match (layout, node.encoding) {
        (_, Encoding::Plain) => {
            node.no_parameter()?;
            reader.align(64)?;
            reader.take_shared(count.checked_mul(width).ok_or(Damage::Truncated)?)
        }
        (Layout::Integer(1), _) => integers::<i8>(node, reader),
        (Layout::Integer(2), _) => integers::<i16>(node, reader),
        (Layout::Integer(4), _) => integers::<i32>(node, reader),
        (Layout::Integer(8), _) => integers::<i64>(node, reader),
        (_, Encoding::Constant) if count > 0 => {
            node.no_parameter()?;
            Ok(repeat(reader.take(width)?, count))
        }
        (_, Encoding::Dictionary) => dictionary(node, reader, layout, width),
        (Layout::Float(4), Encoding::Alp) => floats::<f32, i32>(node, reader, 10),
        (Layout::Float(8), Encoding::Alp) => floats::<f64, i64>(node, reader, 18),
        (Layout::Wide(16), Encoding::Split) => wide::<2>(node, reader),
        (Layout::Wide(32), Encoding::Split) => wide::<4>(node, reader),
        (Layout::Parts(parts), Encoding::Split) if node.parameter as usize == parts.len() => {
            interleave(count, parts, width, reader)
        }
        _ => Err(node.misplaced()),
    }
}

fn integers<T: Int>(node: &Node, reader: &mut Reader<'_>) -> Result<Bytes, Damage> {
    Ok(buffer(Integers::<T>::read(node, reader)?.all()?))
}

/// `count` copies of `value`, with the alignment of every Arrow value.
fn repeat(value: &[u8], count: usize) -> Bytes {
    let bytes = value.len() * count;
    let mut words = vec![0u128; bytes.div_ceil(16)];
    for slot in bytemuck::cast_slice_mut::<u128, u8>(&mut words)[..bytes].chunks_exact_mut(value.len().max(1)) {
        slot.copy_from_slice(value);
    }
    buffer(words).slice(..bytes)
}

fn dictionary(node: &Node, reader: &mut Reader<'_>, layout: Layout, width: usize) -> Result<Bytes, Damage> {
    node.no_parameter()?;
    let count = node.stored();
    let entries = dictionary_size(reader, count)?;
    let values = Node::read_values(reader, entries)?;
    if values.encoding == Encoding::Dictionary {
        return Err(values.misplaced());
    }
    let table = present(&values, reader, layout, width)?;
    reader.align(8)?;
    let mut codes = Codes::read(reader, count, entries)?;
    match width {
        4 => looked_up::<i32>(&table, &mut codes, count),
        8 => looked_up::<i64>(&table, &mut codes, count),
        16 => {
            let table: Vec<u128> = bytemuck::pod_collect_to_vec(&table);
            let mut out = Vec::with_capacity(count);
            each_code(&mut codes, count, |code| out.push(table[code as usize]))?;
            Ok(buffer(out))
        }
        _ => {
            let mut out = Vec::with_capacity(count * width);
            each_code(&mut codes, count, |code| out.extend_from_slice(&table[code as usize * width..][..width]))?;
            let words: Vec<u128> = bytemuck::pod_collect_to_vec(&pad(out));
            Ok(buffer(words).slice(..count * width))
        }
    }
}

fn looked_up<T: Int>(table: &[u8], codes: &mut Codes<'_>, count: usize) -> Result<Bytes, Damage> {
    let table: Vec<T> = bytemuck::pod_collect_to_vec(table);
    let mut out = Vec::with_capacity(count);
    each_code(codes, count, |code| out.push(table[code as usize]))?;
    Ok(buffer(out))
}

fn each_code(codes: &mut Codes<'_>, count: usize, mut each: impl FnMut(u32)) -> Result<(), Damage> {
    let mut block = Vec::with_capacity(crate::int::BLOCK);
    let mut left = count;
    while left > 0 {
        block.clear();
        codes.next(&mut block)?;
        left -= block.len();
        block.iter().copied().for_each(&mut each);
    }
    Ok(())
}

fn pad(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    bytes
}

/// FORMAT §6.8.
fn floats<F, I>(node: &Node, reader: &mut Reader<'_>, largest: u8) -> Result<Bytes, Damage>
where
    F: ALPFloat<ALPInt = I> + bytemuck::Pod + Send + Sync,
    I: Int,
{
    node.no_parameter()?;
    let count = node.stored();
    let (e, f) = (reader.u8()?, reader.u8()?);
    reader.zero(2)?;
    let exceptions = reader.u32()? as usize;
    if e > largest || f > e || exceptions > count {
        return Err(Damage::Alp);
    }
    let exponents = alp::Exponents { e, f };
    let mut values = Integers::<I>::read_node(reader, count)?.all_as(|integer| F::decode_single(integer, exponents))?;
    let positions = reader.take_values(exceptions, 4)?;
    reader.align(8)?;
    let replacements = reader.take_values(exceptions, size_of::<F>())?;
    let mut next = 0;
    for (position, value) in positions.chunks_exact(4).zip(replacements.chunks_exact(size_of::<F>())) {
        let position = i32::read_le(position) as u32 as usize;
        if position < next || position >= count {
            return Err(Damage::Alp);
        }
        values[position] = bytemuck::pod_read_unaligned(value);
        next = position + 1;
    }
    Ok(buffer(values))
}

/// FORMAT §6.10 for integers of `LIMBS` × 8 bytes.
fn wide<const LIMBS: usize>(node: &Node, reader: &mut Reader<'_>) -> Result<Bytes, Damage>
where
    [u128; LIMBS]: Sized,
{
    let count = node.stored();
    let parts = node.parameter as usize;
    if parts == 0 || parts > LIMBS {
        return Err(node.misplaced());
    }
    let first = Integers::<i64>::read_part(reader, count)?;
    if LIMBS == 2 && parts == 1 {
        return Ok(buffer(first.all_as(i128::from)?));
    }
    let mut columns = vec![first.all()?];
    for _ in 1..parts {
        columns.push(Integers::<i64>::read_part(reader, count)?.all()?);
    }
    let mut words = Vec::with_capacity(count * LIMBS / 2);
    for row in 0..count {
        let sign = columns[parts - 1][row] >> 63;
        let limb = |part: usize| columns.get(part).map_or(sign, |column| column[row]) as u64;
        for pair in 0..LIMBS / 2 {
            words.push(u128::from(limb(2 * pair)) | u128::from(limb(2 * pair + 1)) << 64);
        }
    }
    Ok(buffer(words))
}

/// FORMAT §6.10 for records of small integers.
fn interleave(count: usize, parts: &[usize], width: usize, reader: &mut Reader<'_>) -> Result<Bytes, Damage> {
    let mut words = vec![0u128; (count * width).div_ceil(16)];
    let records = bytemuck::cast_slice_mut::<u128, u8>(&mut words);
    let mut at = 0;
    for &part in parts {
        let slots = records[..count * width].chunks_exact_mut(width);
        match part {
            4 => {
                let values = Integers::<i32>::read_part(reader, count)?.all()?;
                slots.zip(values).for_each(|(slot, value)| slot[at..at + 4].copy_from_slice(&value.to_le_bytes()));
            }
            _ => {
                let values = Integers::<i64>::read_part(reader, count)?.all()?;
                slots.zip(values).for_each(|(slot, value)| slot[at..at + 8].copy_from_slice(&value.to_le_bytes()));
            }
        }
        at += part;
    }
    Ok(buffer(words).slice(..count * width))
}
