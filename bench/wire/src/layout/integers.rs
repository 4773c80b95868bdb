//! Columns of integers of 4 bytes, packed: the paper's comparison of integer compression (Table 6).
//!
//! As in the paper, which used Lemire's library, each block of a column is packed separately. *Binary packing* uses the
//! number of bits that the block's largest value needs (a negative value needs all 32). *PFOR* (Zukowski et al., ICDE
//! 2006) first subtracts a base, and stores values that then do not fit as exceptions. Missing values are the smallest
//! integer, as in MonetDB. The inner loops are those of the FastLanes library, whose blocks have 1024 values; the last
//! block of a column is padded.
//!
//! A block is its number of bits (1 byte), for PFOR its base (4 bytes) and its number of exceptions (2 bytes), then the
//! packed values, then for each exception its position (2 bytes) and its value (4 bytes).

use std::array;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;
use fastlanes::BitPacking;

use super::cells::{self, Cells};
use super::{Layout, ended, take, take_u32};
use crate::Result;
use crate::table::Table;

/// Values of a block.
const BLOCK: usize = 1024;
/// Values of a block that PFOR samples to choose its base and bits.
const SAMPLE: usize = 64;
/// Bits of an exception, including its position.
const EXCEPTION_BITS: usize = 48;

/// How blocks are packed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    Binary,
    Pfor,
}

/// Packed columns, one after the other.
pub struct Integers(pub Packing);

impl Layout for Integers {
    fn encode(&self, _: &Table, chunk: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&u32::try_from(chunk.num_rows())?.to_le_bytes());
        for column in chunk.columns() {
            let Cells::Fixed { bytes, .. } = Cells::of(column)? else { return Err("text is no integer".into()) };
            let values = bytes.typed_data::<i32>();
            for block in values.chunks(BLOCK) {
                let mut filled = [block[block.len() - 1]; BLOCK];
                filled[..block.len()].copy_from_slice(block);
                self.0.append(&filled, out);
            }
        }
        Ok(())
    }

    fn decode(&self, table: &Table, mut input: &[u8]) -> Result<Vec<ArrayRef>> {
        let rows = take_u32(&mut input)?;
        let mut columns = Vec::with_capacity(table.complete.len());
        let mut values: Vec<i32> = Vec::new();
        for &complete in &table.complete {
            values.clear();
            for _ in 0..rows.div_ceil(BLOCK) {
                values.extend_from_slice(&self.0.take(&mut input)?);
            }
            values.truncate(rows);
            let bytes = arrow_buffer::Buffer::from_slice_ref(&values);
            columns.push(cells::array(&DataType::Int32, &bytes, rows, complete)?);
        }
        ended(input)?;
        Ok(columns)
    }
}

impl Packing {
    fn append(self, block: &[i32; BLOCK], out: &mut Vec<u8>) {
        let (base, bits) = match self {
            Self::Binary => (0, 32 - block.iter().fold(0, |all, value| all | value).leading_zeros() as usize),
            Self::Pfor => frame(block),
        };
        let mut offsets = block.map(|value| value.wrapping_sub(base).cast_unsigned());
        out.push(bits as u8);
        let mut exceptions: Vec<u8> = Vec::new();
        if self == Self::Pfor {
            if bits < 32 {
                for (place, offset) in offsets.iter_mut().enumerate().filter(|(_, offset)| **offset >> bits != 0) {
                    exceptions.extend_from_slice(&(place as u16).to_le_bytes());
                    exceptions.extend_from_slice(&block[place].to_le_bytes());
                    *offset = 0;
                }
            }
            out.extend_from_slice(&base.to_le_bytes());
            out.extend_from_slice(&((exceptions.len() * 8 / EXCEPTION_BITS) as u16).to_le_bytes());
        }
        let mut packed = [0; BLOCK];
        let packed = &mut packed[..BLOCK / 32 * bits];
        // SAFETY: 1024 values of 32 bits are packed into the number of words that `bits` bits of each value need.
        unsafe { u32::unchecked_pack(bits, &offsets, packed) };
        let start = out.len();
        out.resize(start + packed.len() * 4, 0);
        let (words, _) = out[start..].as_chunks_mut::<4>();
        words.iter_mut().zip(&*packed).for_each(|(to, word)| *to = word.to_le_bytes());
        out.extend_from_slice(&exceptions);
    }

    fn take(self, input: &mut &[u8]) -> Result<[i32; BLOCK]> {
        let bits = usize::from(take(input, 1)?[0]);
        if bits > 32 {
            return Err("a block has more bits than an integer".into());
        }
        let (mut base, mut exceptions) = (0, 0);
        if self == Self::Pfor {
            base = i32::from_le_bytes(take(input, 4)?.try_into()?);
            exceptions = usize::from(u16::from_le_bytes(take(input, 2)?.try_into()?));
        }
        let (words, _) = take(input, BLOCK / 8 * bits)?.as_chunks::<4>();
        // Into memory with the alignment that the library needs.
        let mut packed = [0; BLOCK];
        packed.iter_mut().zip(words).for_each(|(to, word)| *to = u32::from_le_bytes(*word));
        let mut offsets = [0; BLOCK];
        // SAFETY: the input has the number of words of 1024 values of `bits` bits, the output has room for 1024 values.
        unsafe { u32::unchecked_unpack(bits, &packed[..BLOCK / 32 * bits], &mut offsets) };
        let mut block = offsets.map(|offset| base.wrapping_add(offset.cast_signed()));
        for exception in take(input, exceptions * EXCEPTION_BITS / 8)?.as_chunks::<6>().0 {
            let [p0, p1, value @ ..] = *exception;
            let place = usize::from(u16::from_le_bytes([p0, p1]));
            *block.get_mut(place).ok_or("an exception lies outside its block")? = i32::from_le_bytes(value);
        }
        Ok(block)
    }
}

/// The base and the bits with which a sample of the block has the smallest size: for each number of bits, the base with
/// which most values fit.
fn frame(block: &[i32; BLOCK]) -> (i32, usize) {
    let mut sample: [i32; SAMPLE] = array::from_fn(|i| block[i * (BLOCK / SAMPLE) + i % (BLOCK / SAMPLE)]);
    sample.sort_unstable();
    let mut best = (sample[0], 32, SAMPLE * 32);
    for bits in 0..32 {
        // A window over the sorted values: those from `first` to `last` differ by less than 2^bits.
        let (mut first, mut most, mut base) = (0, 0, sample[0]);
        for last in 0..SAMPLE {
            while i64::from(sample[last]) - i64::from(sample[first]) >= 1 << bits {
                first += 1;
            }
            if last + 1 - first > most {
                (most, base) = (last + 1 - first, sample[first]);
            }
        }
        let cost = SAMPLE * bits + (SAMPLE - most) * EXCEPTION_BITS;
        if cost < best.2 {
            best = (base, bits, cost);
        }
        if most == SAMPLE {
            break;
        }
    }
    (best.0, best.1)
}
