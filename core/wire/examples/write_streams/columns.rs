//! Columns with patterns. They are the same in every run.

use bytes::Bytes;
use colonnade_wire::{Bitmap, Column, DataType, Field, Layout, Values};

/// The kind of values, which decides the encodings that suit them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One value: constant.
    Constant,
    /// A small range, floats with two decimals, strings of letters: packed, ALP, lengths.
    Small,
    /// Small ascending steps: delta.
    Steps,
    /// A few unrelated values: dictionary.
    Few,
    /// A few hundred unrelated values: dictionary with codes of two bytes.
    Hundreds,
    /// Words of a small vocabulary: FSST. Numbers are small, with a few exceptions.
    Text,
    /// Random values: plain.
    Any,
}

impl Pattern {
    /// Patterns that are visible in short columns.
    pub const SHORT: [Self; 6] = [Self::Constant, Self::Small, Self::Steps, Self::Few, Self::Text, Self::Any];
}

/// Which rows are NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    None,
    All,
    First,
    Last,
    Few,
    Half,
    Most,
    /// Runs of NULLs, and a bitmap that starts within a byte.
    Runs,
}

impl Nulls {
    pub const ALL: [Self; 8] =
        [Self::None, Self::All, Self::First, Self::Last, Self::Few, Self::Half, Self::Most, Self::Runs];

    /// The same bitmap for the same arguments.
    fn bitmap(self, rows: usize, seed: u64) -> Option<Bitmap<Bytes>> {
        let mut random = Random(seed ^ self as u64);
        let offset = if self == Self::Runs { 3 } else { 0 };
        let mut bytes = vec![0u8; (offset + rows).div_ceil(8)];
        for row in 0..rows {
            let valid = match self {
                Self::None => return None,
                Self::All => false,
                Self::First => row > 0,
                Self::Last => row + 1 < rows,
                Self::Few => random.below(20) > 0,
                Self::Half => random.below(2) > 0,
                Self::Most => random.below(20) == 0,
                Self::Runs => row / 37 % 2 == 0,
            };
            bytes[(offset + row) / 8] |= u8::from(valid) << ((offset + row) % 8);
        }
        Some(Bitmap { bytes: bytes.into(), offset })
    }
}

/// Pseudorandom numbers (Steele, Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// A column of `rows` rows. A different seed gives different values of the same kind.
pub fn column(field: &Field, rows: usize, pattern: Pattern, nulls: Nulls, seed: u64) -> Column<Bytes> {
    let mut random = Random(seed << 8 | pattern as u64);
    let child = |rows, nulls| Box::new(column(&field.children[0], rows, pattern, nulls, seed + 100));
    let values = match field.data_type.layout() {
        Layout::None => Values::None,
        Layout::Bits => {
            let bits = (0..rows.div_ceil(8) + 1)
                .map(|_| if pattern == Pattern::Constant { 0xFF } else { random.next() as u8 });
            Values::Bits(Bitmap { bytes: bits.collect(), offset: 5 })
        }
        Layout::Float(width) => {
            let values = floats(rows, pattern, &mut random).into_iter();
            Values::Fixed(match width {
                4 => values.flat_map(|value| (value as f32).to_le_bytes()).collect(),
                _ => values.flat_map(f64::to_le_bytes).collect(),
            })
        }
        Layout::Bytes { offset, utf8 } => {
            let mut data = Vec::new();
            let lengths = (0..rows).map(|row| {
                let start = data.len();
                put_string(&mut data, row, pattern, utf8, &mut random);
                data.len() - start
            });
            Values::Bytes { offsets: offsets(lengths, offset), data: data.into() }
        }
        Layout::List(offset) => {
            let lengths: Vec<usize> = (0..rows).map(|_| random.below(3)).collect();
            let nulls = if is_map(field) { Nulls::None } else { Nulls::Few };
            let child = child(lengths.iter().sum(), nulls);
            Values::List { offsets: offsets(lengths.into_iter(), offset), child }
        }
        Layout::FixedList(size) => Values::FixedList(child(rows * size, Nulls::Half)),
        Layout::Struct => {
            let children = field.children.iter().enumerate().map(|(number, child)| {
                let nulls =
                    if child.nullable { [Nulls::Few, Nulls::Half, Nulls::None][number % 3] } else { Nulls::None };
                column(child, rows, pattern, nulls, seed + 1)
            });
            Values::Struct(children.collect())
        }
        Layout::Dictionary(index) => {
            let indices = (0..rows).flat_map(|_| random.below(11).to_le_bytes().into_iter().take(index.width()));
            Values::Dictionary { indices: indices.collect(), values: child(11, Nulls::Last) }
        }
        layout => {
            let width = layout.fixed_width().expect("the layouts without one are above");
            Values::Fixed(fixed(&field.data_type, rows, width, pattern, &mut random))
        }
    };
    let validity = if field.data_type == DataType::Null { None } else { nulls.bitmap(rows, seed) };
    Column { rows, validity, values }
}

fn is_map(field: &Field) -> bool {
    matches!(field.data_type, DataType::Map { .. })
}

const HUNDREDS: usize = 600;
const FEW: [i64; 5] = [0, i64::MAX / 3, -7_000_000_000_000, 123_456_789, -1];

fn integers(rows: usize, pattern: Pattern, random: &mut Random) -> Vec<i64> {
    let mut sum = 1_700_000_000_000;
    let mut next = || match pattern {
        Pattern::Constant => -42,
        Pattern::Small => random.below(1000) as i64 - 500,
        Pattern::Steps => {
            sum += random.below(7) as i64;
            sum
        }
        Pattern::Few => FEW[random.below(FEW.len())],
        Pattern::Hundreds => (random.below(HUNDREDS) as i64).wrapping_mul(0x0123_4567_89AB_CDEF),
        Pattern::Text if random.below(50) == 0 => random.next() as i64,
        Pattern::Text => random.below(100) as i64,
        Pattern::Any => random.next() as i64,
    };
    (0..rows).map(|_| next()).collect()
}

/// Values of layout integer, opaque, wide or parts. Decimals stay within their precision.
fn fixed(data_type: &DataType, rows: usize, width: usize, pattern: Pattern, random: &mut Random) -> Bytes {
    let mut bytes = Vec::with_capacity(rows * width);
    for value in integers(rows, pattern, random) {
        let value = match data_type {
            DataType::Decimal32 { precision, .. } | DataType::Decimal64 { precision, .. } => {
                value % 10i64.pow(u32::from(*precision))
            }
            _ => value,
        };
        let mut record = vec![if value < 0 { 0xFF } else { 0 }; width.max(16)];
        record[..8].copy_from_slice(&value.to_le_bytes());
        if pattern == Pattern::Any && width > 8 {
            // All bytes except the highest, which is the sign.
            record[8..width - 1].iter_mut().for_each(|byte| *byte = random.next() as u8);
        }
        if let DataType::IntervalMonthDayNano = data_type {
            // Separate values for months and days.
            record.rotate_right(8);
            record[..8].fill(0);
            record[0] = value as u8 % 12;
            record[4] = value as u8 % 31;
        }
        bytes.extend_from_slice(&record[..width]);
    }
    bytes.into()
}

fn floats(rows: usize, pattern: Pattern, random: &mut Random) -> Vec<f64> {
    const FEW: [f64; 6] = [f64::NAN, -0.0, f64::INFINITY, std::f64::consts::PI, 5e-324, 1e300];
    let mut sum = 0;
    let mut next = || match pattern {
        Pattern::Constant => 0.1,
        Pattern::Small => (random.below(100_000) as f64 - 500.0) / 100.0,
        Pattern::Steps => {
            sum += random.below(9);
            sum as f64 / 8.0
        }
        Pattern::Few => FEW[random.below(FEW.len())],
        Pattern::Hundreds => (random.below(HUNDREDS) as f64).sqrt(),
        Pattern::Text if random.below(40) == 0 => FEW[random.below(FEW.len())],
        Pattern::Text => random.below(1000) as f64 / 10.0,
        Pattern::Any => f64::from_bits(random.next()),
    };
    (0..rows).map(|_| next()).collect()
}

const WORDS: [&str; 12] = [
    "carefully",
    "final",
    "deposits",
    "detect",
    "slyly",
    "again",
    "blithely",
    "regular",
    "ideas",
    "cajole",
    "furiously",
    "überall",
];

const NAMES: [&str; 5] = ["AIR", "TRUCK", "", "REG AIR", "a name that is longer than thirty-two bytes, 漢字 and all"];

fn put_string(data: &mut Vec<u8>, row: usize, pattern: Pattern, utf8: bool, random: &mut Random) {
    match pattern {
        Pattern::Constant => data.extend_from_slice("the same é".as_bytes()),
        Pattern::Small => (0..random.below(12)).for_each(|_| data.push(b'a' + random.below(26) as u8)),
        Pattern::Steps => data.extend_from_slice(format!("Customer#{row:09}").as_bytes()),
        Pattern::Few => data.extend_from_slice(NAMES[random.below(NAMES.len())].as_bytes()),
        Pattern::Hundreds => data.extend_from_slice(format!("Supplier#{:09}", random.below(HUNDREDS)).as_bytes()),
        Pattern::Text => (0..random.below(5)).for_each(|_| {
            data.extend_from_slice(WORDS[random.below(WORDS.len())].as_bytes());
            data.push(b' ');
        }),
        Pattern::Any if utf8 => (0..random.below(9)).for_each(|_| {
            let character = char::from_u32(random.below(0x11_0000) as u32).unwrap_or('\u{FFFD}');
            data.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }),
        Pattern::Any => (0..random.below(40)).for_each(|_| data.push(random.next() as u8)),
    }
}

fn offsets(lengths: impl Iterator<Item = usize>, width: usize) -> Bytes {
    let mut end = 0usize;
    let mut bytes = vec![0; width];
    for length in lengths {
        end += length;
        bytes.extend_from_slice(&end.to_le_bytes()[..width]);
    }
    bytes.into()
}
