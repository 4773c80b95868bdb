//! Fields of every type.

use colonnade_wire::DataType::{self, *};
use colonnade_wire::{Field, IndexType, Unit};

fn field(data_type: DataType) -> Field {
    Field::new("", data_type, false)
}

fn item(data_type: DataType) -> Field {
    Field::new("item", data_type, true)
}

/// A nullable list of integers.
pub fn list() -> Field {
    field(List).with_children(vec![item(Int32)])
}

fn map(sorted: bool) -> Field {
    let entries = vec![Field::new("key", Utf8, false), item(Float64)];
    field(Map { sorted }).with_children(vec![Field::new("entries", Struct, false).with_children(entries)])
}

fn dictionary(index: IndexType) -> Field {
    let ordered = matches!(index, IndexType::UInt8);
    field(Dictionary { index, ordered }).with_children(vec![item(Utf8)])
}

/// Every type of the format, with every unit, index type and width of a decimal.
pub fn all() -> Vec<Field> {
    let mut all: Vec<Field> = [
        Bool,
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float16,
        Float32,
        Float64,
        Date32,
        Date64,
        IntervalYearMonth,
        IntervalDayTime,
        IntervalMonthDayNano,
        Utf8,
        LargeUtf8,
        Binary,
        LargeBinary,
    ]
    .map(field)
    .into();
    all.push(Field::new("", Null, true));
    all.extend([
        field(Decimal32 { precision: 9, scale: 2 }),
        field(Decimal64 { precision: 18, scale: -3 }),
        field(Decimal128 { precision: 38, scale: 38 }),
        field(Decimal256 { precision: 76, scale: 0 }),
        field(FixedSizeBinary(5)),
        field(FixedSizeBinary(16)),
        field(FixedSizeBinary(0)),
        field(Time32(Unit::Second)),
        field(Time32(Unit::Millisecond)),
        field(Time64(Unit::Microsecond)),
        field(Time64(Unit::Nanosecond)),
        list(),
        field(LargeList).with_children(vec![item(Utf8)]),
        field(FixedSizeList(3)).with_children(vec![item(Int16)]),
        field(FixedSizeList(0)).with_children(vec![item(Int16)]),
        field(Struct).with_children(vec![item(Int64), item(Utf8), list(), item(Bool)]),
        field(Struct),
        map(false),
        map(true),
    ]);
    for unit in [Unit::Second, Unit::Millisecond, Unit::Microsecond, Unit::Nanosecond] {
        all.extend([
            field(Timestamp { unit, zone: None }),
            field(Timestamp { unit, zone: Some("Europe/Amsterdam".to_owned()) }),
            field(Duration(unit)),
        ]);
    }
    let signed = [IndexType::Int8, IndexType::Int16, IndexType::Int32, IndexType::Int64];
    let unsigned = [IndexType::UInt8, IndexType::UInt16, IndexType::UInt32, IndexType::UInt64];
    all.extend(signed.into_iter().chain(unsigned).map(dictionary));
    all
}

/// A field for every layout and width.
pub fn one_a_layout() -> Vec<Field> {
    let mut fields: Vec<Field> =
        [Bool, Int8, UInt16, Int32, Int64, Float16, Float32, Float64, Utf8, LargeBinary].map(field).into();
    fields.extend([
        field(Decimal128 { precision: 38, scale: 2 }),
        field(Decimal256 { precision: 76, scale: 10 }),
        field(IntervalMonthDayNano),
        field(FixedSizeBinary(16)),
        list(),
        field(FixedSizeList(2)).with_children(vec![item(Int16)]),
        field(Struct).with_children(vec![item(Int64), item(Utf8)]),
        map(false),
        dictionary(IndexType::Int16),
    ]);
    fields
}
