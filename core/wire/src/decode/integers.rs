//! Integers of 1, 2, 4 or 8 bytes, decoded block by block. FORMAT §6.2 to §6.6.

use fastlanes::BitPacking;

use super::node::Node;
use super::reader::Reader;
use crate::int::{BLOCK, Int, lane_bytes, packed_bytes};
use crate::{Damage, Encoding};

/// The integers of one node, in order, in blocks of 1024 (the last may be shorter).
pub(super) struct Integers<'a, T> {
    left: usize,
    source: Source<'a, T>,
}

enum Source<'a, T> {
    Plain(&'a [u8]),
    Constant(T),
    Packed(Packed<'a, T>),
    Delta { differences: Packed<'a, T>, last: T, block: Vec<T> },
    Dictionary { entries: Vec<T>, codes: Box<Codes<'a>>, block: Vec<u32> },
}

impl<'a, T: Int> Integers<'a, T> {
    /// The `count` integers of the separate node that follows. That node is not a dictionary, so that codes cannot
    /// nest.
    pub(super) fn read_node(reader: &mut Reader<'a>, count: usize) -> Result<Self, Damage> {
        let node = Node::read_values(reader, count)?;
        if node.encoding == Encoding::Dictionary { Err(node.misplaced()) } else { Self::rest_of_node(&node, reader) }
    }

    /// The same for a node that may be a dictionary.
    pub(super) fn read_part(reader: &mut Reader<'a>, count: usize) -> Result<Self, Damage> {
        Self::rest_of_node(&Node::read_values(reader, count)?, reader)
    }

    fn rest_of_node(node: &Node, reader: &mut Reader<'a>) -> Result<Self, Damage> {
        let integers = Self::read(node, reader)?;
        reader.align(8)?;
        Ok(integers)
    }

    /// The integers of `node`, whose header was read.
    pub(super) fn read(node: &Node, reader: &mut Reader<'a>) -> Result<Self, Damage> {
        node.no_parameter()?;
        let left = node.stored();
        let source = match node.encoding {
            Encoding::Plain => {
                reader.align(64)?;
                Source::Plain(reader.take_values(left, T::BYTES)?)
            }
            Encoding::Constant if left > 0 => Source::Constant(T::read_le(reader.take(T::BYTES)?)),
            Encoding::Packed => Source::Packed(Packed::read(reader, left)?),
            Encoding::Delta => {
                let last = T::read_le(reader.take(T::BYTES)?);
                reader.align(8)?;
                let differences = Packed::read(reader, left)?;
                Source::Delta { differences, last, block: Vec::with_capacity(BLOCK) }
            }
            Encoding::Dictionary => {
                let count = dictionary_size(reader, left)?;
                let values = Node::read_values(reader, count)?;
                if values.encoding == Encoding::Dictionary {
                    return Err(values.misplaced());
                }
                let entries = Self::read(&values, reader)?.all()?;
                reader.align(8)?;
                let codes = Box::new(Codes::read(reader, left, count)?);
                Source::Dictionary { entries, codes, block: Vec::with_capacity(BLOCK) }
            }
            _ => return Err(node.misplaced()),
        };
        Ok(Self { left, source })
    }

    /// All integers. The caller has charged the memory to the budget.
    pub(super) fn all(self) -> Result<Vec<T>, Damage> {
        self.all_as(|value| value)
    }

    /// All integers, each through `map`.
    pub(super) fn all_as<U>(mut self, mut map: impl FnMut(T) -> U) -> Result<Vec<U>, Damage> {
        let mut out = Vec::with_capacity(self.left);
        while self.left > 0 {
            self.next_as(&mut out, &mut map)?;
        }
        Ok(out)
    }

    /// Appends the next block to `out`, each value through `map`.
    #[inline]
    pub(super) fn next_as<U>(&mut self, out: &mut Vec<U>, mut map: impl FnMut(T) -> U) -> Result<(), Damage> {
        let count = self.left.min(BLOCK);
        self.left -= count;
        match &mut self.source {
            Source::Plain(bytes) => {
                let (block, rest) = bytes.split_at(count * T::BYTES);
                *bytes = rest;
                out.extend(block.chunks_exact(T::BYTES).map(|value| map(T::read_le(value))));
            }
            Source::Constant(value) => out.extend((0..count).map(|_| map(*value))),
            Source::Packed(packed) => packed.next_as(count, out, map)?,
            Source::Delta { differences, last, block } => {
                block.clear();
                differences.next_as(count, block, |difference| difference)?;
                let mut value = *last;
                out.extend(block.iter().map(|&difference| {
                    value = value.plus(difference);
                    map(value)
                }));
                *last = value;
            }
            Source::Dictionary { entries, codes, block } => {
                block.clear();
                codes.next(block)?;
                out.extend(block.iter().map(|&code| {
                    // SAFETY: Codes::next has checked each code against the number of entries.
                    map(unsafe { *entries.get_unchecked(code as usize) })
                }));
            }
        }
        Ok(())
    }
}

/// The number of a dictionary's entries, FORMAT §6.6. It is at most the number of values.
pub(super) fn dictionary_size(reader: &mut Reader<'_>, values: usize) -> Result<usize, Damage> {
    let count = reader.u32()? as usize;
    reader.zero(4)?;
    if count == 0 || count > values { Err(Damage::Code) } else { Ok(count) }
}

/// The codes of a dictionary, each checked to be less than its number of entries.
pub(super) struct Codes<'a> {
    entries: usize,
    codes: AnyWidth<'a>,
}

enum AnyWidth<'a> {
    One(Integers<'a, i8>),
    Two(Integers<'a, i16>),
    Four(Integers<'a, i32>),
}

impl<'a> Codes<'a> {
    pub(super) fn read(reader: &mut Reader<'a>, count: usize, entries: usize) -> Result<Self, Damage> {
        let codes = match entries {
            0..=0x100 => AnyWidth::One(Integers::read_node(reader, count)?),
            0x101..=0x1_0000 => AnyWidth::Two(Integers::read_node(reader, count)?),
            _ => AnyWidth::Four(Integers::read_node(reader, count)?),
        };
        Ok(Self { entries, codes })
    }

    /// Appends the next block of codes to `out`.
    pub(super) fn next(&mut self, out: &mut Vec<u32>) -> Result<(), Damage> {
        let start = out.len();
        match &mut self.codes {
            AnyWidth::One(codes) => codes.next_as(out, |code| u32::from(code as u8))?,
            AnyWidth::Two(codes) => codes.next_as(out, |code| u32::from(code as u16))?,
            AnyWidth::Four(codes) => codes.next_as(out, |code| code as u32)?,
        }
        let largest = out[start..].iter().fold(0, |largest, &code| largest.max(code));
        if (largest as usize) < self.entries { Ok(()) } else { Err(Damage::Code) }
    }
}

/// Frame of reference with bit-packing, FORMAT §6.4.
struct Packed<'a, T> {
    references: &'a [u8],
    widths: &'a [u8],
    blocks: &'a [u8],
    _type: std::marker::PhantomData<T>,
}

impl<'a, T: Int> Packed<'a, T> {
    fn read(reader: &mut Reader<'a>, count: usize) -> Result<Self, Damage> {
        let blocks = count.div_ceil(BLOCK);
        let references = reader.take_values(blocks, T::BYTES)?;
        let widths = reader.take(blocks)?;
        reader.align(8)?;
        let mut bytes = 0;
        for (block, &width) in widths.iter().enumerate() {
            if width as usize > T::BYTES * 8 {
                return Err(Damage::Width(width));
            }
            bytes += packed_bytes((count - block * BLOCK).min(BLOCK), width as usize);
        }
        Ok(Self { references, widths, blocks: reader.take(bytes)?, _type: std::marker::PhantomData })
    }

    #[inline]
    fn next_as<U>(&mut self, count: usize, out: &mut Vec<U>, mut map: impl FnMut(T) -> U) -> Result<(), Damage> {
        let Some((&width, widths)) = self.widths.split_first() else { return Ok(()) };
        let (reference, references) = self.references.split_at(T::BYTES);
        let reference = T::read_le(reference);
        let width = width as usize;
        let (block, blocks) = self.blocks.split_at(packed_bytes(count, width));
        (self.widths, self.references, self.blocks) = (widths, references, blocks);
        let mut map = |bits: u64| map(reference.plus(T::from_bits(bits)));
        if width == 0 {
            out.extend((0..count).map(|_| map(0)));
        } else if count < BLOCK {
            unpack_short(block, count, width, out, map)?;
        } else {
            match lane_bytes(width) {
                1 => unpack::<u8, U>(block, width, out, |offset| map(u64::from(offset))),
                2 => unpack::<u16, U>(block, width, out, |offset| map(u64::from(offset))),
                4 => unpack::<u32, U>(block, width, out, |offset| map(u64::from(offset))),
                _ => unpack::<u64, U>(block, width, out, map),
            }
        }
        Ok(())
    }
}

/// Appends a whole block in FastLanes order.
#[inline]
fn unpack<L, U>(block: &[u8], width: usize, out: &mut Vec<U>, mut map: impl FnMut(L) -> U)
where
    L: BitPacking + bytemuck::Pod,
{
    let mut offsets = [L::zeroed(); BLOCK];
    let copy;
    let lanes: &[L] = match bytemuck::try_cast_slice(block) {
        Ok(lanes) => lanes,
        Err(_) => {
            // The message was not received at an aligned address.
            copy = bytemuck::pod_collect_to_vec::<u8, L>(block);
            &copy
        }
    };
    assert_eq!(size_of_val(lanes), packed_bytes(BLOCK, width));
    // SAFETY: the input has exactly 1024 × width bits, just asserted, and the output 1024 values.
    unsafe { L::unchecked_unpack(width, lanes, &mut offsets) };
    out.extend(offsets.iter().map(|&offset| map(offset)));
}

/// Appends the offsets of a block shorter than 1024.
fn unpack_short<U>(
    block: &[u8],
    count: usize,
    width: usize,
    out: &mut Vec<U>,
    mut map: impl FnMut(u64) -> U,
) -> Result<(), Damage> {
    let unused = block.len() * 8 - count * width;
    if unused > 0 && block[block.len() - 1] >> (8 - unused) != 0 {
        return Err(Damage::NotZero);
    }
    // Padding, so that sixteen bytes can be read from the start of every offset.
    let mut padded = [0u8; BLOCK * 8 + 16];
    padded[..block.len()].copy_from_slice(block);
    let mask = u64::MAX >> (64 - width);
    if width <= 56 {
        out.extend((0..count).map(|index| {
            let bit = index * width;
            map((i64::read_le(&padded[bit / 8..]) as u64) >> (bit % 8) & mask)
        }));
    } else {
        out.extend((0..count).map(|index| {
            let bit = index * width;
            let mut window = [0; 16];
            window.copy_from_slice(&padded[bit / 8..bit / 8 + 16]);
            map((u128::from_le_bytes(window) >> (bit % 8)) as u64 & mask)
        }));
    }
    Ok(())
}
