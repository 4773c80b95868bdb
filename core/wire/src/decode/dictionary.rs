//! Text and binary columns that are dictionaries. FORMAT §6.7.

use bytes::Bytes;

use super::bytes_column::{Offset, data_length, present};
use super::integers::{Codes, dictionary_size};
use super::node::Node;
use super::reader::{Budget, Reader, buffer};
use crate::int::BLOCK;
use crate::{Column, Damage, Encoding, Values};

/// A dictionary whose entries are read.
struct Dictionary<'a> {
    codes: Codes<'a>,
    entries: usize,
    offsets: Bytes,
    data: Bytes,
    /// Bytes of all strings.
    total: usize,
}

impl<'a> Dictionary<'a> {
    fn read<O: Offset>(reader: &mut Reader<'a>, count: usize, utf8: bool, budget: &mut Budget) -> Result<Self, Damage> {
        let entries = dictionary_size(reader, count)?;
        let total = data_length::<O>(reader)?;
        let values = Node::read_values(reader, entries)?;
        if values.encoding == Encoding::Dictionary {
            return Err(values.misplaced());
        }
        let (offsets, data) = present::<O>(&values, reader, utf8, budget)?;
        reader.align(8)?;
        Ok(Self { codes: Codes::read(reader, count, entries)?, entries, offsets, data, total })
    }

    fn offsets<O: Offset>(&self) -> Vec<usize> {
        self.offsets.chunks_exact(O::BYTES).map(|at| O::read_le(at).to_bits() as usize).collect()
    }
}

/// Offsets and data of `count` strings.
pub(super) fn decode<O: Offset>(
    reader: &mut Reader<'_>,
    count: usize,
    utf8: bool,
    budget: &mut Budget,
) -> Result<(Bytes, Bytes), Damage> {
    let dictionary = Dictionary::read::<O>(reader, count, utf8, budget)?;
    budget.take(dictionary.total, 1)?;
    let offsets = dictionary.offsets::<O>();
    let longest = offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let look_up = if longest <= SHORT { look_up_short::<O> } else { look_up::<O> };
    look_up(dictionary.codes, count, dictionary.total, &offsets, &dictionary.data)
}

/// The entries of a column that is a dictionary, and their numbers, of 32 bits, for every row.
pub(super) fn codes(
    node: &Node,
    reader: &mut Reader<'_>,
    offset: usize,
    utf8: bool,
    budget: &mut Budget,
) -> Result<Values<Bytes>, Damage> {
    if offset == 4 { codes_of::<i32>(node, reader, utf8, budget) } else { codes_of::<i64>(node, reader, utf8, budget) }
}

fn codes_of<O: Offset>(
    node: &Node,
    reader: &mut Reader<'_>,
    utf8: bool,
    budget: &mut Budget,
) -> Result<Values<Bytes>, Damage> {
    node.no_parameter()?;
    budget.take(node.rows, size_of::<u32>())?;
    let count = node.stored();
    let mut dictionary = Dictionary::read::<O>(reader, count, utf8, budget)?;
    let offsets = dictionary.offsets::<O>();
    let mut codes = Vec::with_capacity(count.next_multiple_of(BLOCK));
    while codes.len() < count {
        dictionary.codes.next(&mut codes)?;
    }
    let length = |&code: &u32| offsets[code as usize + 1] - offsets[code as usize];
    if codes.iter().map(length).sum::<usize>() != dictionary.total {
        return Err(Damage::Offsets);
    }
    if let Some(valid) = node.scatter() {
        let mut present = codes.into_iter();
        let mut spread = vec![0; node.rows];
        valid.runs(node.rows, |first, count| {
            spread[first..first + count].iter_mut().zip(&mut present).for_each(|(row, code)| *row = code);
        });
        codes = spread;
    }
    let values = Values::Bytes { offsets: dictionary.offsets, data: dictionary.data };
    let values = Box::new(Column { rows: dictionary.entries, validity: None, values });
    Ok(Values::Dictionary { indices: buffer(codes), values })
}

fn look_up<O: Offset>(
    mut codes: Codes<'_>,
    count: usize,
    total: usize,
    entries: &[usize],
    data: &[u8],
) -> Result<(Bytes, Bytes), Damage> {
    let mut out = Vec::with_capacity(total);
    let mut offsets = Vec::with_capacity(count + 1);
    offsets.push(O::ZERO);
    let mut block = Vec::with_capacity(BLOCK);
    while offsets.len() <= count {
        block.clear();
        codes.next(&mut block)?;
        for &code in &block {
            let value = &data[entries[code as usize]..entries[code as usize + 1]];
            if value.len() > total - out.len() {
                return Err(Damage::Offsets);
            }
            out.extend_from_slice(value);
            offsets.push(O::from_usize(out.len()));
        }
    }
    if out.len() == total { Ok((buffer(offsets), Bytes::from(out))) } else { Err(Damage::Offsets) }
}

/// Strings up to this length are copied with a fixed size of this many bytes.
const SHORT: usize = 32;

/// The same for short entries: each copy is the same two loads and stores, and may overlap the next one.
fn look_up_short<O: Offset>(
    mut codes: Codes<'_>,
    count: usize,
    total: usize,
    entries: &[usize],
    data: &[u8],
) -> Result<(Bytes, Bytes), Damage> {
    let table: Vec<([u8; SHORT], usize)> = entries
        .windows(2)
        .map(|pair| {
            let value = &data[pair[0]..pair[1]];
            let mut padded = [0; SHORT];
            padded[..value.len()].copy_from_slice(value);
            (padded, value.len())
        })
        .collect();
    let mut out: Vec<u8> = Vec::with_capacity(total + BLOCK * SHORT);
    let mut offsets = Vec::with_capacity(count + 1);
    offsets.push(O::ZERO);
    let mut block = Vec::with_capacity(BLOCK);
    let mut end = 0;
    while offsets.len() <= count {
        block.clear();
        codes.next(&mut block)?;
        if end > total {
            return Err(Damage::Offsets);
        }
        let start = out.as_mut_ptr();
        offsets.extend(block.iter().map(|&code| {
            // SAFETY: Codes::next has checked the code. A block has at most 1024 codes and `end` was at most `total`
            // when it began, so each store is within the capacity.
            unsafe {
                let (value, length) = table.get_unchecked(code as usize);
                start.add(end).cast::<[u8; SHORT]>().write_unaligned(*value);
                end += length;
            }
            O::from_usize(end)
        }));
    }
    if end != total {
        return Err(Damage::Offsets);
    }
    // SAFETY: the first `end` bytes were written, and `end` = `total` is within the capacity.
    unsafe { out.set_len(end) };
    Ok((buffer(offsets), Bytes::from(out)))
}
