//! The four integer widths, as one trait for the encodings of layout `Integer`.

/// A two's complement integer of 1, 2, 4 or 8 bytes. Unsigned columns use the signed type of their width. All
/// arithmetic of the format is modulo 2^bits, so signedness affects only the choice of references.
pub(crate) trait Int: bytemuck::Pod + Ord + std::hash::Hash + Send + Sync {
    const BYTES: usize;
    const ZERO: Self;
    const MIN: Self;
    const MAX: Self;

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    /// The bits, zero-extended.
    fn to_bits(self) -> u64;
    /// The low bits of `bits`.
    fn from_bits(bits: u64) -> Self;
    /// The value in the first `BYTES` bytes.
    fn read_le(bytes: &[u8]) -> Self;
}

macro_rules! int {
    ($signed:ty, $unsigned:ty) => {
        impl Int for $signed {
            const BYTES: usize = size_of::<$signed>();
            const ZERO: Self = 0;
            const MIN: Self = <$signed>::MIN;
            const MAX: Self = <$signed>::MAX;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn to_bits(self) -> u64 {
                self as $unsigned as u64
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as $signed
            }
            #[inline(always)]
            fn read_le(bytes: &[u8]) -> Self {
                let mut value = [0; size_of::<$signed>()];
                value.copy_from_slice(&bytes[..size_of::<$signed>()]);
                <$signed>::from_le_bytes(value)
            }
        }
    };
}

int!(i8, u8);
int!(i16, u16);
int!(i32, u32);
int!(i64, u64);

/// Rows of a block. FORMAT §6.4.
pub(crate) const BLOCK: usize = 1024;

/// The number of bits that `value` needs.
#[inline]
pub(crate) fn bits_for(value: u64) -> usize {
    64 - value.leading_zeros() as usize
}

/// Bytes of a word of the lane that packs `bits`-bit offsets: the smallest of 1, 2, 4, 8 that can contain one.
#[inline]
pub(crate) fn lane_bytes(bits: usize) -> usize {
    match bits {
        0..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        _ => 8,
    }
}

/// Bytes of `count` packed offsets of `bits` bits, for a whole block and for the shorter last one.
#[inline]
pub(crate) fn packed_bytes(count: usize, bits: usize) -> usize {
    (count * bits).div_ceil(8)
}
