//! PostgreSQL's type numbers (`pg_type.dat`), and the number of a column's type.

use arrow_schema::{DataType, Field};

use crate::value::keyed::KeyedType;
use crate::value::{DATABASE_TYPE, LogicalType, logical_type, unconstrained, user_type};

/// The column of a table or a view from which a column of a result comes unchanged, for RowDescription. Both numbers are
/// zero if there is none, or if it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnOrigin {
    /// The number of the table in `pg_class`.
    pub table: u32,
    /// The number of the column in `pg_attribute`.
    pub column: i16,
}

/// A column's type in RowDescription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeInfo {
    /// The type's number.
    pub oid: u32,
    /// Bytes of a value, or −1.
    pub size: i16,
    /// Precision and scale of a NUMERIC; −1 otherwise.
    pub modifier: i32,
}

#[allow(missing_docs, reason = "the names are PostgreSQL's")]
mod numbers {
    pub const BOOL: u32 = 16;
    pub const BYTEA: u32 = 17;
    pub const CHAR: u32 = 18;
    pub const NAME: u32 = 19;
    pub const INT8: u32 = 20;
    pub const INT2: u32 = 21;
    pub const INT2VECTOR: u32 = 22;
    pub const INT4: u32 = 23;
    pub const TEXT: u32 = 25;
    pub const OID: u32 = 26;
    pub const OIDVECTOR: u32 = 30;
    pub const JSON: u32 = 114;
    pub const FLOAT4: u32 = 700;
    pub const FLOAT8: u32 = 701;
    pub const BPCHAR: u32 = 1042;
    pub const VARCHAR: u32 = 1043;
    pub const DATE: u32 = 1082;
    pub const TIME: u32 = 1083;
    pub const TIMESTAMP: u32 = 1114;
    pub const TIMESTAMPTZ: u32 = 1184;
    pub const INTERVAL: u32 = 1186;
    pub const TIMETZ: u32 = 1266;
    pub const BIT: u32 = 1560;
    pub const VARBIT: u32 = 1562;
    pub const NUMERIC: u32 = 1700;
    pub const RECORD: u32 = 2249;
    pub const UUID: u32 = 2950;
    pub const JSONB: u32 = 3802;
}
pub use numbers::*;

/// Each type, its size, and its array type.
const TYPES: [(u32, i16, u32); 28] = [
    (BOOL, 1, 1000),
    (BYTEA, -1, 1001),
    (INT8, 8, 1016),
    (INT2, 2, 1005),
    (INT4, 4, 1007),
    (TEXT, -1, 1009),
    (JSON, -1, 199),
    (FLOAT4, 4, 1021),
    (FLOAT8, 8, 1022),
    (DATE, 4, 1182),
    (TIME, 8, 1183),
    (TIMESTAMP, 8, 1115),
    (TIMESTAMPTZ, 8, 1185),
    (INTERVAL, 16, 1187),
    (TIMETZ, 12, 1270),
    (VARBIT, -1, 1563),
    (NUMERIC, -1, 1231),
    (RECORD, -1, 2287),
    (UUID, 16, 2951),
    (CHAR, 1, 1002),
    (NAME, 64, 1003),
    (OID, 4, 1028),
    (BPCHAR, -1, 1014),
    (VARCHAR, -1, 1015),
    (BIT, -1, 1561),
    (JSONB, -1, 3807),
    (INT2VECTOR, -1, 1006),
    (OIDVECTOR, -1, 1013),
];

/// Whether a type is a user's, or an array of such values. PostgreSQL's own types have lower numbers
/// (`FirstNormalObjectId`).
pub fn is_users(oid: u32) -> bool {
    oid >= 16384
}

/// What the number of a user's type and that of its arrays differ by. The catalog has both (`user_types.sql`). DuckDB counts
/// the objects of a database, and does not come so far.
const USER_ARRAYS: u32 = 1 << 30;

/// What the number of a composite type and DuckDB's number of it differ by. So a number alone tells what a binary value
/// is. The type's relation has DuckDB's number (`composite_types.sql`).
const COMPOSITES: u32 = 1 << 29;

/// Whether a type is a user's composite type.
pub fn is_composite(oid: u32) -> bool {
    (COMPOSITES..USER_ARRAYS).contains(&oid)
}

/// The type of arrays of a type.
pub fn array_of(oid: u32) -> Option<u32> {
    if is_users(oid) {
        return (oid < USER_ARRAYS).then_some(oid + USER_ARRAYS);
    }
    TYPES.iter().find(|(item, _, _)| *item == oid).map(|(_, _, array)| *array).or_else(|| KeyedType::array_of(oid))
}

/// The type of an array's items.
pub fn item_of(oid: u32) -> Option<u32> {
    if is_users(oid) {
        return oid.checked_sub(USER_ARRAYS).filter(|item| is_users(*item));
    }
    TYPES.iter().find(|(_, _, array)| *array == oid).map(|(item, _, _)| *item).or_else(|| KeyedType::item_of(oid))
}

/// Bytes of a value of a type, or −1.
pub fn size(oid: u32) -> i16 {
    if is_users(oid) && oid < COMPOSITES {
        return ENUM_SIZE;
    }
    let known = TYPES.iter().find(|(item, _, _)| *item == oid).map(|(_, size, _)| *size);
    known.or_else(|| KeyedType::of_oid(oid).map(KeyedType::size)).unwrap_or(-1)
}

/// Bytes of a value of an enumeration, as PostgreSQL stores it.
const ENUM_SIZE: i16 = 4;

/// The type modifier of a NUMERIC with this precision and scale.
pub fn numeric_modifier(precision: i32, scale: i32) -> i32 {
    /// PostgreSQL's VARHDRSZ. It is added so that a modifier of 0 differs from no modifier.
    const HEADER: i32 = 4;
    (precision << 16 | scale) + HEADER
}

/// The type of a column of rows, for RowDescription.
pub fn of(field: &Field) -> TypeInfo {
    let oid = oid(field);
    // A 128-bit integer (DuckDB's HUGEINT) has up to 39 digits, more than the precision of decimal128.
    let has_no_digits =
        field.metadata().get(DATABASE_TYPE).is_some_and(|name| name == "HUGEINT" || name == unconstrained::NAME);
    let modifier = match field.data_type() {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale)
            if *scale >= 0 && !has_no_digits =>
        {
            numeric_modifier(i32::from(*precision), i32::from(*scale))
        }
        _ => -1,
    };
    TypeInfo { oid, size: size(oid), modifier }
}

fn oid(field: &Field) -> u32 {
    if let Some(number) = user_type(field) {
        return number;
    }
    match logical_type(field) {
        LogicalType::Bool8 => return BOOL,
        LogicalType::Uuid => return UUID,
        LogicalType::Json => return JSON,
        LogicalType::Integer | LogicalType::Numeric | LogicalType::Unconstrained => return NUMERIC,
        LogicalType::TimeTz => return TIMETZ,
        LogicalType::Bits => return VARBIT,
        LogicalType::Name => return NAME,
        LogicalType::Oid => return OID,
        LogicalType::Vector(vector) => return vector,
        LogicalType::Keyed(type_) => return type_.oid(),
        LogicalType::Storage | LogicalType::Opaque => {}
    }
    match field.data_type() {
        DataType::Boolean => BOOL,
        DataType::Int8 | DataType::Int16 | DataType::UInt8 => INT2,
        DataType::Int32 | DataType::UInt16 => INT4,
        DataType::Int64 | DataType::UInt32 => INT8,
        DataType::UInt64
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => NUMERIC,
        DataType::Float16 | DataType::Float32 => FLOAT4,
        DataType::Float64 => FLOAT8,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => BYTEA,
        DataType::Date32 | DataType::Date64 => DATE,
        DataType::Time32(_) | DataType::Time64(_) => TIME,
        DataType::Timestamp(_, None) => TIMESTAMP,
        DataType::Timestamp(_, Some(_)) => TIMESTAMPTZ,
        DataType::Interval(_) | DataType::Duration(_) => INTERVAL,
        DataType::Struct(_) => RECORD,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => list_oid(item),
        DataType::Map(entries, _) => array_of(oid(entries)).unwrap_or(TEXT),
        DataType::Dictionary(_, values) => oid(&Field::new(field.name(), values.as_ref().clone(), true)),
        _ => TEXT,
    }
}

/// The type of a list. A list of lists has the type of an array, because PostgreSQL's arrays can have several
/// dimensions.
fn list_oid(item: &Field) -> u32 {
    let item = oid(item);
    if item_of(item).is_some() { item } else { array_of(item).unwrap_or(TEXT) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn columns_are_announced_as_postgresqls_types() {
        let info = |data_type| of(&Field::new("c", data_type, true));
        assert_eq!(info(DataType::Int32), TypeInfo { oid: INT4, size: 4, modifier: -1 });
        assert_eq!(info(DataType::Decimal128(15, 2)).modifier, (15 << 16 | 2) + 4);
        let list = |item| DataType::List(Arc::new(Field::new("item", item, true)));
        assert_eq!(info(list(DataType::Int32)).oid, 1007);
        assert_eq!(info(list(list(DataType::Int32))).oid, 1007);
        assert_eq!(info(DataType::Null).oid, TEXT);
    }
}
