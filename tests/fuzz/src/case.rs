//! Makes chunks from arbitrary bytes.

use arbitrary::{Result, Unstructured};
use bytes::Bytes;
use colonnade_wire::{CodecSet, Column, DataType, EncodingSet, Field, IndexType, Schema, Unit, Values};

use crate::values;

/// A stream to encode, with its configuration.
pub struct Case {
    /// The columns' types.
    pub schema: Schema,
    /// The columns of each chunk, at least one.
    pub chunks: Vec<Vec<Column<Bytes>>>,
    /// Which of [`CONFIGS`](crate::CONFIGS).
    pub config: u8,
    /// The encodings that the reader supports.
    pub encodings: EncodingSet,
    /// The same for codecs.
    pub codecs: CodecSet,
}

const ENCODINGS: [&str; 6] = [
    "plain",
    "plain,packed",
    "plain,dictionary,split",
    "plain,constant,packed,delta,dictionary,lengths,alp,fsst",
    "plain,lengths,fsst,alp",
    "plain,constant,delta,lengths",
];

impl Case {
    /// A valid case: the columns fit the schema.
    ///
    /// # Errors
    /// There are not enough bytes.
    pub fn from_bytes(input: &mut Unstructured<'_>) -> Result<Self> {
        let config = input.arbitrary()?;
        // In most cases all encodings.
        let allowed: u8 = input.arbitrary()?;
        let encodings = ENCODINGS.get(allowed as usize).map_or(EncodingSet::ALL, |set| set.parse().unwrap_or_default());
        let codecs = if allowed % 16 == 7 { "none".parse().unwrap_or_default() } else { CodecSet::ALL };
        let fields: Vec<Field> = (0..input.int_in_range(1..=3)?).map(|_| field(input, 0)).collect::<Result<_>>()?;
        let mut chunks = Vec::new();
        for _ in 0..input.int_in_range(1..=2)? {
            let rows = rows(input)?;
            chunks.push(fields.iter().map(|field| values::column(input, field, rows)).collect::<Result<_>>()?);
        }
        Ok(Self { schema: Schema { fields, metadata: Vec::new() }, chunks, config, encodings, codecs })
    }

    /// Changes some properties of the buffers that must be correct.
    ///
    /// # Errors
    /// There are not enough bytes.
    pub fn damage(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        for _ in 0..input.int_in_range(1..=4)? {
            let chunk = input.choose_index(self.chunks.len())?;
            let column = input.choose_index(self.chunks[chunk].len())?;
            damage(&mut self.chunks[chunk][column], input)?;
        }
        Ok(())
    }
}

fn damage(column: &mut Column<Bytes>, input: &mut Unstructured<'_>) -> Result<()> {
    let what = input.int_in_range(0..=9)?;
    match (what, &mut column.values, &mut column.validity) {
        (0, _, _) => column.rows = input.int_in_range(0..=column.rows + 9)?,
        (1, _, Some(valid)) => valid.offset = input.arbitrary::<u16>()?.into(),
        (2, _, Some(valid)) => return buffer(&mut valid.bytes, input),
        (_, Values::None, _) => column.values = Values::Fixed(Bytes::from_static(&[0; 16])),
        (3, Values::Bits(bits), _) => bits.offset = input.arbitrary::<u16>()?.into(),
        (_, Values::Bits(bits), _) => return buffer(&mut bits.bytes, input),
        (_, Values::Fixed(bytes), _) => return buffer(bytes, input),
        (3..=6, Values::Bytes { offsets, .. } | Values::List { offsets, .. }, _) => return buffer(offsets, input),
        (_, Values::Bytes { data, .. }, _) => return buffer(data, input),
        (3..=5, Values::Dictionary { indices, .. }, _) => return buffer(indices, input),
        (_, Values::List { child, .. } | Values::FixedList(child) | Values::Dictionary { values: child, .. }, _) => {
            return damage(child, input);
        }
        (3, Values::Struct(children), _) => drop(children.pop()),
        (_, Values::Struct(children), _) => {
            if !children.is_empty() {
                let child = input.choose_index(children.len())?;
                return damage(&mut children[child], input);
            }
        }
    }
    Ok(())
}

/// Truncates or overwrites a buffer.
fn buffer(bytes: &mut Bytes, input: &mut Unstructured<'_>) -> Result<()> {
    if bytes.is_empty() || input.ratio(1, 4)? {
        bytes.truncate(input.int_in_range(0..=bytes.len())?);
        return Ok(());
    }
    let mut changed = bytes.to_vec();
    let at = input.choose_index(changed.len())?;
    let patch = input.arbitrary::<u64>()?.to_le_bytes();
    let width = input.int_in_range(1..=8)?.min(changed.len() - at);
    changed[at..at + width].copy_from_slice(&patch[..width]);
    *bytes = changed.into();
    Ok(())
}

fn rows(input: &mut Unstructured<'_>) -> Result<usize> {
    const BLOCKS: [usize; 8] = [1, 8, 64, 1023, 1024, 1025, 2048, 2500];
    match input.arbitrary::<u8>()? {
        choice @ 0..=127 => Ok(usize::from(choice) / 2),
        choice => Ok(BLOCKS[choice as usize % BLOCKS.len()]),
    }
}

fn field(input: &mut Unstructured<'_>, depth: usize) -> Result<Field> {
    let data_type = data_type(input, depth)?;
    let count = match data_type {
        DataType::List | DataType::LargeList | DataType::FixedSizeList(_) | DataType::Dictionary { .. } => 1,
        DataType::Struct => input.int_in_range(0..=3)?,
        _ => 0,
    };
    let children = if let DataType::Map { .. } = data_type {
        let mut key = field(input, depth + 2)?;
        key.nullable = false;
        // A key of type null would be NULL.
        if key.data_type == DataType::Null {
            key.data_type = DataType::Int16;
        }
        let entries = Field::new("entries", DataType::Struct, false);
        vec![entries.with_children(vec![key, field(input, depth + 2)?])]
    } else {
        (0..count).map(|_| field(input, depth + 1)).collect::<Result<_>>()?
    };
    let nullable = data_type == DataType::Null || input.arbitrary()?;
    Ok(Field::new("c", data_type, nullable).with_children(children))
}

/// A type. Nested types occur only near the top.
fn data_type(input: &mut Unstructured<'_>, depth: usize) -> Result<DataType> {
    const FLAT: u8 = 30;
    let precision = |input: &mut Unstructured<'_>, largest: u8| input.int_in_range(1..=largest);
    Ok(match input.int_in_range(0..=if depth < 3 { FLAT + 6 } else { FLAT })? {
        0 => DataType::Null,
        1 => DataType::Bool,
        2 => DataType::Int8,
        3 => DataType::Int16,
        4 => DataType::Int32,
        5 => DataType::Int64,
        6 => DataType::UInt8,
        7 => DataType::UInt16,
        8 => DataType::UInt32,
        9 => DataType::UInt64,
        10 => DataType::Float16,
        11 => DataType::Float32,
        12 => DataType::Float64,
        13 => DataType::Decimal32 { precision: precision(input, 9)?, scale: 0 },
        14 => DataType::Decimal64 { precision: precision(input, 18)?, scale: -2 },
        15 => DataType::Decimal128 { precision: precision(input, 38)?, scale: 1 },
        16 => DataType::Decimal256 { precision: precision(input, 76)?, scale: 1 },
        17 => DataType::Date32,
        18 => DataType::Date64,
        19 => DataType::Time32(Unit::Second),
        20 => DataType::Time64(Unit::Microsecond),
        21 => DataType::Timestamp { unit: Unit::Nanosecond, zone: Some("UTC".to_owned()) },
        22 => DataType::Duration(Unit::Millisecond),
        23 => DataType::IntervalYearMonth,
        24 => DataType::IntervalDayTime,
        25 => DataType::IntervalMonthDayNano,
        26 => DataType::Utf8,
        27 => DataType::LargeUtf8,
        28 => DataType::Binary,
        29 => DataType::LargeBinary,
        FLAT => DataType::FixedSizeBinary(input.int_in_range(0..=40)?),
        31 => DataType::List,
        32 => DataType::LargeList,
        33 => DataType::FixedSizeList(input.int_in_range(0..=4)?),
        34 => DataType::Struct,
        35 => DataType::Map { sorted: false },
        _ => DataType::Dictionary { index: index(input)?, ordered: false },
    })
}

fn index(input: &mut Unstructured<'_>) -> Result<IndexType> {
    input
        .choose(&[
            IndexType::Int8,
            IndexType::Int16,
            IndexType::Int32,
            IndexType::Int64,
            IndexType::UInt8,
            IndexType::UInt16,
            IndexType::UInt32,
            IndexType::UInt64,
        ])
        .copied()
}
