//! DuckDB's names of types, and the types of PostgreSQL for them. The server has only PostgreSQL's names; a type that
//! the engine has described keeps the engine's name for casts.

use colonnade_server::value::keyed::KeyedType;
use colonnade_server::value::oid;
use colonnade_server::value::types::{self, Type, TypeKind};
use colonnade_server::value::unconstrained;

/// The nesting of composite types up to which their values are read. Deeper ones have DuckDB's text form.
const MAX_DEPTH: usize = 16;

/// The type with this name. The names are those of DuckDB's `typeof` (DuckDB manual, "Data Types"), in which the types
/// of users have their numbers.
pub fn named(name: &str) -> Type {
    nested(name, 0)
}

fn nested(name: &str, depth: usize) -> Type {
    match types::numbered(name) {
        (row, Some(number)) if oid::is_composite(number) => {
            let fields = types::fields(row).filter(|_| depth < MAX_DEPTH);
            let fields = fields.map(|found| found.iter().map(|field| nested(field.type_name, depth + 1)).collect());
            let kind = fields.map_or(TypeKind::Record, |fields| TypeKind::Composite { number, fields });
            Type::new(types::without_numbers(row), kind)
        }
        (name, Some(number)) => Type::new(name, TypeKind::Enum(number)),
        _ => match items(name) {
            // The item's name may have a number.
            Some((item, size)) => {
                let item = nested(item, depth);
                Type::new(format!("{}{size}", item.name), TypeKind::List(Box::new(item)))
            }
            None => Type::new(types::without_numbers(name), kind(name)),
        },
    }
}

/// The name of a list's items, and what stands after it.
fn items(name: &str) -> Option<(&str, &str)> {
    name.ends_with(']').then(|| name.rfind('[')).flatten().map(|start| name.split_at(start))
}

/// DuckDB's type for PostgreSQL's number `oid`; `None` if DuckDB has no such type, or the client leaves it open.
pub(crate) fn of_oid(oid: u32) -> Option<Type> {
    Type::of_oid(oid).map(|type_| of_postgres(&type_))
}

fn of_postgres(type_: &Type) -> Type {
    let name = match &type_.kind {
        TypeKind::List(item) => return Type::list_of(of_postgres(item)),
        TypeKind::Bool => "BOOLEAN",
        TypeKind::Int2 => "SMALLINT",
        TypeKind::Int4 => "INTEGER",
        TypeKind::Int8 | TypeKind::Oid => "BIGINT",
        TypeKind::Float4 => "FLOAT",
        TypeKind::Float8 => "DOUBLE",
        TypeKind::Numeric(_) => DECIMAL,
        TypeKind::Bytes => "BLOB",
        TypeKind::Date => "DATE",
        TypeKind::Time => "TIME",
        TypeKind::TimeTz => "TIME WITH TIME ZONE",
        TypeKind::Timestamp => "TIMESTAMP",
        TypeKind::TimestampTz => "TIMESTAMP WITH TIME ZONE",
        TypeKind::Interval => "INTERVAL",
        TypeKind::Uuid => "UUID",
        TypeKind::Json => "JSON",
        TypeKind::Bits => "BIT",
        TypeKind::Keyed(type_) => type_.name(),
        TypeKind::Text
        | TypeKind::Name
        | TypeKind::Enum(_)
        | TypeKind::Composite { .. }
        | TypeKind::Vector(_)
        | TypeKind::Record
        | TypeKind::Map => "VARCHAR",
        TypeKind::Unsupported | TypeKind::Unknown => "VARCHAR",
    };
    Type::new(name, type_.kind.clone())
}

/// A DECIMAL whose precision and scale are not known.
pub(crate) const DECIMAL: &str = "DECIMAL";

/// Whether the type is a DECIMAL, so that a CAST needs the number of digits.
pub(crate) fn is_decimal(type_: &Type) -> bool {
    matches!(type_.kind, TypeKind::Numeric(_)) && type_.name.starts_with(DECIMAL)
}

fn kind(name: &str) -> TypeKind {
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
        DECIMAL if name == unconstrained::NAME => TypeKind::Numeric(-1),
        DECIMAL => {
            let pair = arguments.and_then(|arguments| arguments.split_once(','));
            let pair = pair.and_then(|(precision, scale)| Some((precision.parse().ok()?, scale.trim().parse().ok()?)));
            TypeKind::Numeric(pair.map_or(-1, |(precision, scale)| oid::numeric_modifier(precision, scale)))
        }
        "BLOB" | "GEOMETRY" => TypeKind::Bytes,
        "BIT" => TypeKind::Bits,
        "name" => TypeKind::Name,
        "oid" => TypeKind::Oid,
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
        // VARCHAR, ENUM, NULL without a type, and the user's types.
        _ => KeyedType::of_name(name).map_or(TypeKind::Text, TypeKind::Keyed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_postgresqls_types() {
        for (name, oid, modifier) in [
            ("INTEGER", oid::INT4, -1),
            ("DECIMAL(9,2)", oid::NUMERIC, (9 << 16 | 2) + 4),
            ("HUGEINT", oid::NUMERIC, -1),
            ("DECIMAL(9,2)[]", 1231, -1),
            ("INTEGER[3][]", 1007, -1),
            ("ENUM('a[]', 'b')", oid::TEXT, -1),
            ("ENUM('a[]', 'b #1') #20745", 20745, -1),
            ("ENUM('a', 'b') #20745[]", 20745 + (1 << 30), -1),
            ("ENUM('a', 'b') #20745[3][]", 20745 + (1 << 30), -1),
            ("STRUCT(a INTEGER[], b VARCHAR)", oid::RECORD, -1),
            ("STRUCT(a INTEGER[], b VARCHAR) #536891658", 536_891_658, -1),
            ("STRUCT(a ENUM('a') #20745) #536891658[]", 536_891_658 + (1 << 30), -1),
            ("MAP(VARCHAR, INTEGER)", 2287, -1),
            ("STRUCT(a INTEGER)[]", 2287, -1),
            ("TIMESTAMP WITH TIME ZONE", oid::TIMESTAMPTZ, -1),
            ("DECIMAL(37,10)", oid::NUMERIC, -1),
            ("int4range", 3904, -1),
            ("inet[]", 1041, -1),
            ("\"NULL\"", oid::TEXT, -1),
        ] {
            let info = named(name).info();
            assert_eq!((info.oid, info.modifier), (oid, modifier), "{name}");
        }
    }

    #[test]
    fn attributes_of_composite_types_have_types() {
        let found = named("STRUCT(a INTEGER, b STRUCT(x ENUM('a') #20745) #536891658[]) #536891659");
        assert_eq!(found.name, "STRUCT(a INTEGER, b STRUCT(x ENUM('a'))[])");
        let TypeKind::Composite { number, fields } = found.kind else { panic!("{found:?}") };
        assert_eq!(number, 536_891_659);
        assert_eq!(fields[1].name, "STRUCT(x ENUM('a'))[]");
        let oids: Vec<_> = fields.iter().map(|field| field.info().oid).collect();
        assert_eq!(oids, [oid::INT4, 536_891_658 + (1 << 30)]);
        let deep = "STRUCT(a ".repeat(9_999) + "INTEGER" + &") #536891658".repeat(9_999);
        assert!(matches!(named(&deep).kind, TypeKind::Composite { .. }));
    }

    #[test]
    fn types_by_number_and_by_name_are_equal() {
        for number in
            [16, 17, 20, 21, 23, 25, 114, 700, 701, 1082, 1083, 1114, 1184, 1186, 1266, 1562, 1700, 2950, 1015, 1231]
        {
            let found = of_oid(number).unwrap();
            assert_eq!(named(&found.name), found);
        }
        assert_eq!(of_oid(oid::OID).unwrap(), Type::new("BIGINT", TypeKind::Oid));
        assert_eq!(of_oid(0), None);
    }
}
