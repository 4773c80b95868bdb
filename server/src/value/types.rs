//! A type: its name in the engine, and what it is to PostgreSQL's clients.

use crate::value::oid::{self, TypeInfo};

/// A type with the name that a CAST in the engine takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// Its name in the engine.
    pub name: String,
    /// What it is to PostgreSQL.
    pub kind: TypeKind,
}

/// What values of a type look like to PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// boolean
    Bool,
    /// smallint; the engine's integers of 8 bits too
    Int2,
    /// integer
    Int4,
    /// bigint
    Int8,
    /// oid
    Oid,
    /// real
    Float4,
    /// double precision
    Float8,
    /// numeric; with its modifier, or −1
    Numeric(i32),
    /// text, and types that have a text form only
    Text,
    /// bytea
    Bytes,
    /// date
    Date,
    /// time
    Time,
    /// time with time zone
    TimeTz,
    /// timestamp
    Timestamp,
    /// timestamp with time zone
    TimestampTz,
    /// interval
    Interval,
    /// uuid
    Uuid,
    /// json
    Json,
    /// bit varying
    Bits,
    /// name
    Name,
    /// int2vector or oidvector, by its number: numbers in the catalog
    Vector(u32),
    /// A row.
    Record,
    /// Rows of a key and a value.
    Map,
    /// An array.
    List(Box<Type>),
    /// A type that PostgreSQL cannot represent: a union, a variant.
    Unsupported,
    /// Not known: a parameter whose type cannot be inferred.
    Unknown,
}

impl TypeKind {
    /// Whether its values are dates, times or intervals.
    pub fn is_temporal(&self) -> bool {
        matches!(self, Self::Date | Self::Time | Self::TimeTz | Self::Timestamp | Self::TimestampTz | Self::Interval)
    }
}

impl Type {
    /// The type of this name in the engine (DuckDB manual, "Data Types"; the names are those its `typeof` gives).
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), kind: kind(name) }
    }

    /// The type with PostgreSQL's number `oid`; `None` if the engine has none like it, or the client leaves it open.
    pub fn of_oid(oid: u32) -> Option<Self> {
        let name = match oid {
            oid::BOOL => "BOOLEAN",
            oid::INT2 => "SMALLINT",
            oid::INT4 => "INTEGER",
            oid::INT8 | oid::OID => "BIGINT",
            oid::FLOAT4 => "FLOAT",
            oid::FLOAT8 => "DOUBLE",
            oid::NUMERIC => "DECIMAL",
            oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::CHAR => "VARCHAR",
            oid::BYTEA => "BLOB",
            oid::DATE => "DATE",
            oid::TIME => "TIME",
            oid::TIMETZ => "TIME WITH TIME ZONE",
            oid::TIMESTAMP => "TIMESTAMP",
            oid::TIMESTAMPTZ => "TIMESTAMP WITH TIME ZONE",
            oid::INTERVAL => "INTERVAL",
            oid::UUID => "UUID",
            oid::JSON | oid::JSONB => "JSON",
            oid::BIT | oid::VARBIT => "BIT",
            array => {
                let item = Self::of_oid(oid::item_of(array)?)?;
                return Some(Self { name: format!("{}[]", item.name), kind: TypeKind::List(Box::new(item)) });
            }
        };
        let kind = if oid == oid::OID { TypeKind::Oid } else { kind(name) };
        Some(Self { name: name.to_owned(), kind })
    }

    /// The type that a column of rows is announced as; `None` if parameters cannot have it.
    pub fn of_field(field: &arrow_schema::Field) -> Option<Self> {
        let info = oid::of(field);
        match info.oid {
            oid::NAME => return Some(Self::named("name")),
            oid::INT2VECTOR => return Some(Self::named("int2vector")),
            oid::OIDVECTOR => return Some(Self::named("oidvector")),
            _ => {}
        }
        let type_ = Self::of_oid(info.oid)?;
        Some(match type_.kind {
            TypeKind::Numeric(_) => Self { kind: TypeKind::Numeric(info.modifier), ..type_ },
            _ => type_,
        })
    }

    /// Its fields in RowDescription.
    pub fn info(&self) -> TypeInfo {
        let oid = self.oid();
        TypeInfo {
            oid,
            size: oid::size(oid),
            modifier: if let TypeKind::Numeric(modifier) = self.kind { modifier } else { -1 },
        }
    }

    fn oid(&self) -> u32 {
        match &self.kind {
            TypeKind::Bool => oid::BOOL,
            TypeKind::Int2 => oid::INT2,
            TypeKind::Int4 => oid::INT4,
            TypeKind::Int8 => oid::INT8,
            TypeKind::Oid => oid::OID,
            TypeKind::Float4 => oid::FLOAT4,
            TypeKind::Float8 => oid::FLOAT8,
            TypeKind::Numeric(_) => oid::NUMERIC,
            TypeKind::Text | TypeKind::Unsupported | TypeKind::Unknown => oid::TEXT,
            TypeKind::Bytes => oid::BYTEA,
            TypeKind::Date => oid::DATE,
            TypeKind::Time => oid::TIME,
            TypeKind::TimeTz => oid::TIMETZ,
            TypeKind::Timestamp => oid::TIMESTAMP,
            TypeKind::TimestampTz => oid::TIMESTAMPTZ,
            TypeKind::Interval => oid::INTERVAL,
            TypeKind::Uuid => oid::UUID,
            TypeKind::Json => oid::JSON,
            TypeKind::Bits => oid::VARBIT,
            TypeKind::Name => oid::NAME,
            TypeKind::Vector(oid) => *oid,
            TypeKind::Record => oid::RECORD,
            TypeKind::Map => oid::array_of(oid::RECORD).unwrap_or(oid::TEXT),
            // PostgreSQL's arrays may have any number of dimensions.
            TypeKind::List(item) if matches!(item.kind, TypeKind::List(_) | TypeKind::Map) => item.oid(),
            TypeKind::List(item) => oid::array_of(item.oid()).unwrap_or(oid::TEXT),
        }
    }

    /// The number for a parameter of this type. A type without a form that clients can send is a text.
    pub fn parameter_oid(&self) -> u32 {
        let mut item = self;
        while let TypeKind::List(inner) = &item.kind {
            item = inner;
        }
        let is_text =
            matches!(item.kind, TypeKind::Record | TypeKind::Map | TypeKind::Vector(_) | TypeKind::Unsupported);
        if is_text { oid::TEXT } else { self.oid() }
    }

    /// Whether it is a numeric, or lists of them.
    pub(crate) fn is_numeric(&self) -> bool {
        match &self.kind {
            TypeKind::List(item) => item.is_numeric(),
            kind => matches!(kind, TypeKind::Numeric(_)),
        }
    }

    /// Whether the type itself, not only the value, says how many digits a number has.
    pub fn is_decimal(&self) -> bool {
        matches!(self.kind, TypeKind::Numeric(_)) && self.name.starts_with("DECIMAL")
    }
}

fn kind(name: &str) -> TypeKind {
    if let Some((item, _)) = name.strip_suffix(']').and_then(|name| name.rsplit_once('[')) {
        return TypeKind::List(Box::new(Type::named(item)));
    }
    let (base, arguments) = match name.split_once('(') {
        Some((base, arguments)) => (base, arguments.strip_suffix(')')),
        None => (name, None),
    };
    match base {
        "BOOLEAN" => TypeKind::Bool,
        "TINYINT" | "SMALLINT" | "UTINYINT" => TypeKind::Int2,
        "INTEGER" | "USMALLINT" => TypeKind::Int4,
        "BIGINT" | "UINTEGER" => TypeKind::Int8,
        "FLOAT" => TypeKind::Float4,
        "DOUBLE" => TypeKind::Float8,
        "UBIGINT" | "HUGEINT" | "UHUGEINT" | "BIGNUM" => TypeKind::Numeric(-1),
        "DECIMAL" => {
            let pair = arguments.and_then(|arguments| arguments.split_once(','));
            let pair = pair.and_then(|(precision, scale)| Some((precision.parse().ok()?, scale.trim().parse().ok()?)));
            TypeKind::Numeric(pair.map_or(-1, |(precision, scale)| oid::numeric_modifier(precision, scale)))
        }
        "BLOB" | "GEOMETRY" => TypeKind::Bytes,
        "BIT" => TypeKind::Bits,
        "name" => TypeKind::Name,
        "int2vector" => TypeKind::Vector(oid::INT2VECTOR),
        "oidvector" => TypeKind::Vector(oid::OIDVECTOR),
        "DATE" => TypeKind::Date,
        "TIME" | "TIME_NS" => TypeKind::Time,
        "TIME WITH TIME ZONE" => TypeKind::TimeTz,
        "TIMESTAMP" | "TIMESTAMP_S" | "TIMESTAMP_MS" | "TIMESTAMP_NS" => TypeKind::Timestamp,
        "TIMESTAMP WITH TIME ZONE" | "TIMESTAMPTZ_NS" => TypeKind::TimestampTz,
        "INTERVAL" => TypeKind::Interval,
        "UUID" => TypeKind::Uuid,
        "JSON" => TypeKind::Json,
        "STRUCT" | "TUPLE" => TypeKind::Record,
        "MAP" => TypeKind::Map,
        "UNION" | "VARIANT" => TypeKind::Unsupported,
        "UNKNOWN" => TypeKind::Unknown,
        // VARCHAR, ENUM, a bare NULL, and types of the user's.
        _ => TypeKind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_understood() {
        for (name, oid, modifier) in [
            ("INTEGER", oid::INT4, -1),
            ("DECIMAL(9,2)", oid::NUMERIC, (9 << 16 | 2) + 4),
            ("HUGEINT", oid::NUMERIC, -1),
            ("DECIMAL(9,2)[]", 1231, -1),
            ("INTEGER[3][]", 1007, -1),
            ("ENUM('a[]', 'b')", oid::TEXT, -1),
            ("STRUCT(a INTEGER[], b VARCHAR)", oid::RECORD, -1),
            ("MAP(VARCHAR, INTEGER)", 2287, -1),
            ("STRUCT(a INTEGER)[]", 2287, -1),
            ("TIMESTAMP WITH TIME ZONE", oid::TIMESTAMPTZ, -1),
            ("\"NULL\"", oid::TEXT, -1),
        ] {
            let info = Type::named(name).info();
            assert_eq!((info.oid, info.modifier), (oid, modifier), "{name}");
        }
    }

    #[test]
    fn numbers_are_understood_and_unknown_ones_are_left_open() {
        for number in [oid::BOOL, oid::INT8, oid::OID, oid::NUMERIC, oid::TIMETZ, 1009, 1016, 2951] {
            let found = Type::of_oid(number).unwrap();
            assert_eq!(found.info().oid, number, "{found:?}");
        }
        assert_eq!(Type::of_oid(oid::VARCHAR).unwrap().name, "VARCHAR");
        assert_eq!(Type::of_oid(0), None);
        assert_eq!(Type::of_oid(705), None);
        assert_eq!(Type::of_oid(869), None);
    }
}
