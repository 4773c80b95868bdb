//! The schema message's body. FORMAT §4.

use super::reader::Reader;
use crate::schema::MAX_DEPTH;
use crate::{Damage, DataType, Field, IndexType, Schema, Unit};

/// Reads a schema.
pub(super) fn decode(body: &[u8]) -> Result<Schema, Damage> {
    let mut reader = Reader::new(body);
    reader.zero(4)?;
    let count = reader.u32()?;
    let metadata = metadata(&mut reader)?;
    let mut fields = Vec::new();
    for _ in 0..count {
        fields.push(field(&mut reader, 1)?);
    }
    reader.finish()?;
    Ok(Schema { fields, metadata })
}

fn field(reader: &mut Reader<'_>, depth: usize) -> Result<Field, Damage> {
    if depth > MAX_DEPTH {
        return Err(Damage::Depth);
    }
    let name = string(reader)?;
    let number = reader.u8()?;
    let flags = reader.u8()?;
    let children = reader.u16()?;
    let data_type = data_type(number, flags, reader)?;
    let metadata = metadata(reader)?;
    let mut field = Field { name, data_type, nullable: flags & 1 != 0, children: Vec::new(), metadata };
    for _ in 0..children {
        field.children.push(self::field(reader, depth + 1)?);
    }
    check_children(&field)?;
    Ok(field)
}

fn check_children(field: &Field) -> Result<(), Damage> {
    let children = &field.children;
    let allowed = match field.data_type {
        DataType::List | DataType::LargeList | DataType::FixedSizeList(_) => children.len() == 1,
        DataType::Dictionary { .. } => children.len() == 1,
        DataType::Map { .. } => matches!(&children[..], [entries]
            if entries.data_type == DataType::Struct && entries.children.len() == 2),
        DataType::Struct => true,
        _ => children.is_empty(),
    };
    if allowed { Ok(()) } else { Err(Damage::TypeParameter) }
}

fn data_type(number: u8, flags: u8, reader: &mut Reader<'_>) -> Result<DataType, Damage> {
    let known = match number {
        36 => 0b011,
        35 => 0b101,
        _ => 0b001,
    };
    if flags & !known != 0 {
        return Err(Damage::NotZero);
    }
    let mut decimal = |largest: u8| -> Result<(u8, i8), Damage> {
        let (precision, scale) = (reader.u8()?, reader.u8()? as i8);
        let allowed = (1..=largest).contains(&precision) && scale <= precision as i8;
        if allowed { Ok((precision, scale)) } else { Err(Damage::TypeParameter) }
    };
    Ok(match number {
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
        13 => decimal(9).map(|(precision, scale)| DataType::Decimal32 { precision, scale })?,
        14 => decimal(18).map(|(precision, scale)| DataType::Decimal64 { precision, scale })?,
        15 => decimal(38).map(|(precision, scale)| DataType::Decimal128 { precision, scale })?,
        16 => decimal(76).map(|(precision, scale)| DataType::Decimal256 { precision, scale })?,
        17 => DataType::Date32,
        18 => DataType::Date64,
        19 => match unit(reader)? {
            unit @ (Unit::Second | Unit::Millisecond) => DataType::Time32(unit),
            _ => return Err(Damage::TypeParameter),
        },
        20 => match unit(reader)? {
            unit @ (Unit::Microsecond | Unit::Nanosecond) => DataType::Time64(unit),
            _ => return Err(Damage::TypeParameter),
        },
        21 => {
            let unit = unit(reader)?;
            let zone = match reader.u8()? {
                0 => None,
                1 => Some(string(reader)?),
                _ => return Err(Damage::TypeParameter),
            };
            DataType::Timestamp { unit, zone }
        }
        22 => DataType::Duration(unit(reader)?),
        23 => DataType::IntervalYearMonth,
        24 => DataType::IntervalDayTime,
        25 => DataType::IntervalMonthDayNano,
        26 => DataType::Utf8,
        27 => DataType::LargeUtf8,
        28 => DataType::Binary,
        29 => DataType::LargeBinary,
        30 => DataType::FixedSizeBinary(size(reader)?),
        31 => DataType::List,
        32 => DataType::LargeList,
        33 => DataType::FixedSizeList(size(reader)?),
        34 => DataType::Struct,
        35 => DataType::Map { sorted: flags & 4 != 0 },
        36 => DataType::Dictionary { index: index_type(reader.u8()?)?, ordered: flags & 2 != 0 },
        other => return Err(Damage::Type(other)),
    })
}

/// A width or size. Arrow represents it as `i32`.
fn size(reader: &mut Reader<'_>) -> Result<u32, Damage> {
    let size = reader.u32()?;
    if size > i32::MAX as u32 { Err(Damage::TypeParameter) } else { Ok(size) }
}

fn unit(reader: &mut Reader<'_>) -> Result<Unit, Damage> {
    Ok(match reader.u8()? {
        0 => Unit::Second,
        1 => Unit::Millisecond,
        2 => Unit::Microsecond,
        3 => Unit::Nanosecond,
        _ => return Err(Damage::TypeParameter),
    })
}

fn index_type(number: u8) -> Result<IndexType, Damage> {
    Ok(match number {
        2 => IndexType::Int8,
        3 => IndexType::Int16,
        4 => IndexType::Int32,
        5 => IndexType::Int64,
        6 => IndexType::UInt8,
        7 => IndexType::UInt16,
        8 => IndexType::UInt32,
        9 => IndexType::UInt64,
        _ => return Err(Damage::TypeParameter),
    })
}

fn metadata(reader: &mut Reader<'_>) -> Result<Vec<(String, String)>, Damage> {
    let count = reader.u32()?;
    let mut pairs = Vec::new();
    for _ in 0..count {
        pairs.push((string(reader)?, string(reader)?));
    }
    Ok(pairs)
}

fn string(reader: &mut Reader<'_>) -> Result<String, Damage> {
    let length = reader.u32()? as usize;
    let bytes = reader.take(length)?;
    String::from_utf8(bytes.to_vec()).map_err(|_| Damage::Utf8)
}
