//! Makes columns from arbitrary bytes. A few bytes select a pattern, and a generator fills the rows, so that short
//! inputs give long columns with all properties that affect the encoder.

use arbitrary::{Result, Unstructured};
use bytes::Bytes;
use colonnade_wire::{Bitmap, Column, Field, Layout, Values};

/// The maximum number of rows of nested columns.
const MOST_ITEMS: usize = 5000;

/// A column of `field` with `rows` rows.
pub fn column(input: &mut Unstructured<'_>, field: &Field, rows: usize) -> Result<Column<Bytes>> {
    let values = match field.data_type.layout() {
        Layout::None => Values::None,
        Layout::Bits => Values::Bits(bits(input, rows)?),
        Layout::Float(width) => Values::Fixed(floats(input, rows, width)?.into()),
        Layout::Bytes { offset, utf8 } => strings(input, rows, offset, utf8)?,
        Layout::List(offset) => {
            let most = MOST_ITEMS / (rows + 1);
            let lengths = lengths(input, rows, most.min(9))?;
            let first = input.int_in_range(0..=2)?;
            let items = first + lengths.iter().sum::<usize>() + input.int_in_range(0..=2)?;
            let child = Box::new(column(input, &field.children[0], items)?);
            Values::List { offsets: offsets(&lengths, offset, first), child }
        }
        Layout::FixedList(size) => Values::FixedList(Box::new(column(input, &field.children[0], rows * size)?)),
        Layout::Struct => {
            let children = field.children.iter().map(|field| column(input, field, rows));
            Values::Struct(children.collect::<Result<_>>()?)
        }
        Layout::Dictionary(index) => {
            let count = input.int_in_range(usize::from(rows > 0)..=100)?;
            let values = Box::new(column(input, &field.children[0], count)?);
            let picks = integers(input, rows)?;
            let indices = picks.iter().flat_map(|&pick| {
                let at = (pick as u64).checked_rem(count as u64).unwrap_or(0);
                at.to_le_bytes().into_iter().take(index.width())
            });
            Values::Dictionary { indices: indices.collect(), values }
        }
        layout => Values::Fixed(fixed(input, rows, layout.fixed_width().unwrap_or(0))?.into()),
    };
    let validity = if field.nullable && !matches!(values, Values::None) { validity(input, rows)? } else { None };
    Ok(Column { rows, validity, values })
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
        (self.next() % limit.max(1) as u64) as usize
    }
}

fn random(input: &mut Unstructured<'_>) -> Result<Random> {
    Ok(Random(input.arbitrary::<u16>()?.into()))
}

fn integers(input: &mut Unstructured<'_>, rows: usize) -> Result<Vec<i64>> {
    let mut random = random(input)?;
    let base: i64 = input.arbitrary()?;
    let bits: u32 = input.int_in_range(0..=64)?;
    let mut small = move || if bits == 0 { 0 } else { (random.next() >> (64 - bits)) as i64 };
    Ok(match input.int_in_range(0..=6)? {
        0 => vec![base; rows],
        1 => (0..rows).map(|_| base.wrapping_add(small())).collect(),
        2 => {
            let mut sum = base;
            let mut step = || {
                sum = sum.wrapping_add(small());
                sum
            };
            (0..rows).map(|_| step()).collect()
        }
        3 => {
            let palette: [i64; 5] = input.arbitrary()?;
            (0..rows).map(|_| palette[small() as u64 as usize % palette.len()]).collect()
        }
        4 => {
            let rare: i64 = input.arbitrary()?;
            let often: u8 = input.arbitrary()?;
            (0..rows)
                .map(|row| if row % (often as usize + 1) == 0 { rare } else { base.wrapping_add(small()) })
                .collect()
        }
        5 => {
            let step: i32 = input.arbitrary()?;
            (0..rows as i64).map(|row| base.wrapping_add(row.wrapping_mul(step.into()))).collect()
        }
        _ => (0..rows).map(|_| input.arbitrary()).collect::<Result<_>>()?,
    })
}

/// Integers, sign-extended, or followed by others if the values are wider.
fn fixed(input: &mut Unstructured<'_>, rows: usize, width: usize) -> Result<Vec<u8>> {
    let low = integers(input, rows)?;
    let high = if width > 8 && input.arbitrary()? { integers(input, rows)? } else { Vec::new() };
    let mut bytes = Vec::with_capacity(rows * width);
    for (row, value) in low.iter().enumerate() {
        let mut record = vec![if *value < 0 { 0xFF } else { 0 }; width.max(16)];
        record[..8].copy_from_slice(&value.to_le_bytes());
        if let Some(value) = high.get(row) {
            record[8..16].copy_from_slice(&value.to_le_bytes());
        }
        bytes.extend_from_slice(&record[..width]);
    }
    Ok(bytes)
}

fn floats(input: &mut Unstructured<'_>, rows: usize, width: usize) -> Result<Vec<u8>> {
    let scale = 10f64.powi(input.int_in_range(-3..=18)?);
    let exact: bool = input.arbitrary()?;
    let mut bytes = Vec::with_capacity(rows * width);
    let exceptions = [f64::NAN, -0.0, f64::INFINITY, 5e-324, f64::MAX, 0.1f64.sqrt(), -f64::NAN, 1e300];
    let every = input.int_in_range(1..=255usize)?;
    for (row, value) in integers(input, rows)?.into_iter().enumerate() {
        match (width, exact) {
            (4, true) => bytes.extend_from_slice(&(value as u32).to_le_bytes()),
            (_, true) => bytes.extend_from_slice(&value.to_le_bytes()),
            (_, false) => {
                let value = if row % every == 0 { exceptions[value as u64 as usize % 8] } else { value as f64 / scale };
                match width {
                    4 => bytes.extend_from_slice(&(value as f32).to_le_bytes()),
                    _ => bytes.extend_from_slice(&value.to_le_bytes()),
                }
            }
        }
    }
    Ok(bytes)
}

fn strings(input: &mut Unstructured<'_>, rows: usize, offset: usize, utf8: bool) -> Result<Values<Bytes>> {
    let mut words = Vec::new();
    for _ in 0..input.int_in_range(1..=6)? {
        let length = input.int_in_range(0..=40)?.min(input.len());
        let word = input.bytes(length)?;
        words.push(if utf8 { String::from_utf8_lossy(word).into_owned().into_bytes() } else { word.to_vec() });
    }
    let most = input.int_in_range(0..=4)?;
    let numbered = input.ratio(1, 4)?;
    let mut random = random(input)?;
    let first = input.int_in_range(0..=8)?;
    let (mut data, mut lengths) = (vec![b'#'; first], Vec::with_capacity(rows));
    for row in 0..rows {
        let start = data.len();
        for _ in 0..random.below(most + 1) + usize::from(most == 0) {
            data.extend_from_slice(&words[random.below(words.len())]);
        }
        if numbered {
            data.extend_from_slice(row.to_string().as_bytes());
        }
        lengths.push(data.len() - start);
    }
    data.extend_from_slice(b"rest");
    Ok(Values::Bytes { offsets: offsets(&lengths, offset, first), data: data.into() })
}

fn lengths(input: &mut Unstructured<'_>, rows: usize, most: usize) -> Result<Vec<usize>> {
    Ok(integers(input, rows)?.into_iter().map(|length| (length as u64 % (most as u64 + 1)) as usize).collect())
}

fn offsets(lengths: &[usize], width: usize, first: usize) -> Bytes {
    let mut at = first;
    let mut bytes = at.to_le_bytes()[..width].to_vec();
    for length in lengths {
        at += length;
        bytes.extend_from_slice(&at.to_le_bytes()[..width]);
    }
    bytes.into()
}

fn bits(input: &mut Unstructured<'_>, rows: usize) -> Result<Bitmap<Bytes>> {
    let offset = input.int_in_range(0..=17)?;
    let count = (offset + rows).div_ceil(8) + input.int_in_range(0..=1)?;
    let mut random = random(input)?;
    let bytes: Vec<u8> = match input.int_in_range(0..=4)? {
        0 => vec![0; count],
        1 => vec![0xFF; count],
        2 => (0..count).map(|_| random.next() as u8).collect(),
        // Bits are rarely 0 here, and rarely 1 in the next case.
        3 => (0..count).map(|_| (random.next() | random.next() | random.next()) as u8).collect(),
        _ => (0..count).map(|_| (random.next() & random.next() & random.next()) as u8).collect(),
    };
    Ok(Bitmap { bytes: bytes.into(), offset })
}

fn validity(input: &mut Unstructured<'_>, rows: usize) -> Result<Option<Bitmap<Bytes>>> {
    if input.arbitrary()? { bits(input, rows).map(Some) } else { Ok(None) }
}
