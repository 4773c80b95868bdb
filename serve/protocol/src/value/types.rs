//! A type: the engine's name, and the type for PostgreSQL's clients.

use std::borrow::Cow;

use crate::value::keyed::KeyedType;
use crate::value::oid::{self, TypeInfo};

/// A type of a parameter or a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The engine's name, which a CAST accepts. PostgreSQL's name if the engine has not described the type.
    pub name: String,
    /// PostgreSQL's type.
    pub kind: TypeKind,
}

/// PostgreSQL's types.
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
    /// numeric, with its modifier, or −1
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
    /// int2vector or oidvector, by the type's number. They occur in the catalog.
    Vector(u32),
    /// A type that the engine lacks, and has keys for.
    Keyed(KeyedType),
    /// A user's enumeration, with its number.
    Enum(u32),
    /// A user's composite type.
    Composite {
        /// Its number.
        number: u32,
        /// The types of its attributes.
        fields: Vec<Type>,
    },
    /// A row.
    Record,
    /// An array of rows with a key and a value.
    Map,
    /// An array.
    List(Box<Type>),
    /// A type that PostgreSQL cannot represent, such as a union or a variant.
    Unsupported,
    /// The type of a parameter that cannot be inferred.
    Unknown,
}

/// A name of a type, and the number that stands after it if the type is a user's: `ENUM('a', 'b') #20745`.
pub fn numbered(name: &str) -> (&str, Option<u32>) {
    let parts = name.rsplit_once(NUMBER).filter(|(type_, _)| type_.ends_with(')'));
    let parts = parts.and_then(|(type_, number)| Some((type_, Some(number.parse().ok()?))));
    parts.unwrap_or((name, None))
}

/// What is between the name and the number.
const NUMBER: &str = " #";

/// The name of a type without the numbers of the types within it.
pub fn without_numbers(name: &str) -> Cow<'_, str> {
    if !name.contains(NUMBER) {
        return Cow::Borrowed(name);
    }
    let (mut bare, mut quote, mut rest) = (String::with_capacity(name.len()), None, name);
    while let Some(c) = rest.chars().next() {
        if quote.is_none() && rest.starts_with(NUMBER) {
            rest = rest[NUMBER.len()..].trim_start_matches(|c: char| c.is_ascii_digit());
            continue;
        }
        // A doubled quote ends a text and begins another one.
        quote = match quote {
            Some(open) => Some(open).filter(|open| *open != c),
            None => Some(c).filter(|c| matches!(c, '"' | '\'')),
        };
        bare.push(c);
        rest = &rest[c.len_utf8()..];
    }
    Cow::Owned(bare)
}

/// A field of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowField<'a> {
    /// Its name; empty if it has none.
    pub name: Cow<'a, str>,
    /// The engine's name of its type.
    pub type_name: &'a str,
}

/// The fields of a row in the engine's name of its type: `STRUCT("a" INTEGER, b VARCHAR[])`, or with the types alone
/// for a row whose fields have no names, and for a map's key and value.
pub fn fields(name: &str) -> Option<Vec<RowField<'_>>> {
    let (is_named, inner) = match name.strip_suffix(')')?.split_once('(')? {
        ("STRUCT", inner) => (true, inner),
        ("TUPLE" | "MAP", inner) => (false, inner),
        _ => return None,
    };
    let (mut depth, mut quote, mut start, mut fields) = (0, None, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            (None, ',') if depth == 0 => {
                fields.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    fields.push(&inner[start..]);
    fields.into_iter().map(|field| if is_named { named_field(field) } else { Some(unnamed_field(field)) }).collect()
}

fn unnamed_field(field: &str) -> RowField<'_> {
    RowField { name: Cow::Borrowed(""), type_name: field.trim() }
}

/// A field with its name, which may be in quotes. A quote within a name is doubled.
fn named_field(field: &str) -> Option<RowField<'_>> {
    let field = field.trim_start();
    let Some(quoted) = field.strip_prefix('"') else {
        let (name, type_name) = field.split_once(' ')?;
        return Some(RowField { name: Cow::Borrowed(name), type_name: type_name.trim() });
    };
    let mut end = 0;
    loop {
        end += quoted[end..].find('"')?;
        match quoted[end + 1..].strip_prefix('"') {
            Some(_) => end += 2,
            None => {
                let name = Cow::Owned(quoted[..end].replace("\"\"", "\""));
                return Some(RowField { name, type_name: quoted[end + 1..].trim() });
            }
        }
    }
}

impl TypeKind {
    /// Whether its values are dates, times or intervals.
    pub fn is_temporal(&self) -> bool {
        matches!(self, Self::Date | Self::Time | Self::TimeTz | Self::Timestamp | Self::TimestampTz | Self::Interval)
    }
}

impl Type {
    /// The type with PostgreSQL's number `oid`, with PostgreSQL's name. `None` if the server does not accept values of
    /// the type, or the client leaves it open.
    pub fn of_oid(oid: u32) -> Option<Self> {
        let (name, kind) = match oid {
            oid::BOOL => ("boolean", TypeKind::Bool),
            oid::INT2 => ("smallint", TypeKind::Int2),
            oid::INT4 => ("integer", TypeKind::Int4),
            oid::INT8 => ("bigint", TypeKind::Int8),
            oid::OID => ("oid", TypeKind::Oid),
            oid::FLOAT4 => ("real", TypeKind::Float4),
            oid::FLOAT8 => ("double precision", TypeKind::Float8),
            oid::NUMERIC => ("numeric", TypeKind::Numeric(-1)),
            oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::CHAR => return Some(Self::text()),
            oid::BYTEA => ("bytea", TypeKind::Bytes),
            oid::DATE => ("date", TypeKind::Date),
            oid::TIME => ("time", TypeKind::Time),
            oid::TIMETZ => ("time with time zone", TypeKind::TimeTz),
            oid::TIMESTAMP => ("timestamp", TypeKind::Timestamp),
            oid::TIMESTAMPTZ => ("timestamp with time zone", TypeKind::TimestampTz),
            oid::INTERVAL => ("interval", TypeKind::Interval),
            oid::UUID => ("uuid", TypeKind::Uuid),
            oid::JSON | oid::JSONB => ("json", TypeKind::Json),
            oid::BIT | oid::VARBIT => ("bit varying", TypeKind::Bits),
            other => {
                return match KeyedType::of_oid(other) {
                    Some(type_) => Some(Self::new(type_.name(), TypeKind::Keyed(type_))),
                    None => Some(Self::list_of(Self::of_oid(oid::item_of(other)?)?)),
                };
            }
        };
        Some(Self::new(name, kind))
    }

    /// The type of this name and kind.
    pub fn new(name: impl Into<String>, kind: TypeKind) -> Self {
        Self { name: name.into(), kind }
    }

    /// PostgreSQL's text.
    pub fn text() -> Self {
        Self::new("text", TypeKind::Text)
    }

    /// The unknown type.
    pub fn unknown() -> Self {
        Self::new("unknown", TypeKind::Unknown)
    }

    /// The type of arrays of a type.
    pub fn list_of(item: Self) -> Self {
        Self::new(format!("{}[]", item.name), TypeKind::List(Box::new(item)))
    }

    /// The type of a column in RowDescription; `None` if parameters cannot have this type.
    pub fn of_field(field: &arrow_schema::Field) -> Option<Self> {
        let info = oid::of(field);
        match info.oid {
            oid::NAME => return Some(Self::new("name", TypeKind::Name)),
            oid::INT2VECTOR => return Some(Self::new("int2vector", TypeKind::Vector(info.oid))),
            oid::OIDVECTOR => return Some(Self::new("oidvector", TypeKind::Vector(info.oid))),
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

    /// PostgreSQL's number.
    pub(crate) fn oid(&self) -> u32 {
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
            TypeKind::Vector(oid) | TypeKind::Enum(oid) | TypeKind::Composite { number: oid, .. } => *oid,
            TypeKind::Keyed(type_) => type_.oid(),
            TypeKind::Record => oid::RECORD,
            TypeKind::Map => oid::array_of(oid::RECORD).unwrap_or(oid::TEXT),
            // PostgreSQL's arrays can have several dimensions.
            TypeKind::List(item) if matches!(item.kind, TypeKind::List(_) | TypeKind::Map) => item.oid(),
            TypeKind::List(item) => oid::array_of(item.oid()).unwrap_or(oid::TEXT),
        }
    }

    /// The number for a parameter of this type. A type that clients cannot send is announced as text.
    pub fn parameter_oid(&self) -> u32 {
        let mut item = self;
        while let TypeKind::List(inner) = &item.kind {
            item = inner;
        }
        let is_text =
            matches!(item.kind, TypeKind::Record | TypeKind::Map | TypeKind::Vector(_) | TypeKind::Unsupported);
        if is_text { oid::TEXT } else { self.oid() }
    }

    /// Whether it is a user's composite type, or a list of such values.
    pub fn has_rows(&self) -> bool {
        match &self.kind {
            TypeKind::List(item) => item.has_rows(),
            kind => matches!(kind, TypeKind::Composite { .. }),
        }
    }

    /// Whether it is a numeric, or a list of numerics.
    pub(crate) fn is_numeric(&self) -> bool {
        match &self.kind {
            TypeKind::List(item) => item.is_numeric(),
            kind => matches!(kind, TypeKind::Numeric(_)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_types_of_their_fields() {
        let name = "STRUCT(\"a\"\", b\" INTEGER, \"c\"\"d\" STRUCT(x VARCHAR[], y ENUM('(', ')')), ok DECIMAL(9,2))";
        let read = |name| {
            let fields = fields(name)?.into_iter().map(|field| (field.name.into_owned(), field.type_name));
            Some(fields.collect::<Vec<_>>())
        };
        let named = [("a\", b", "INTEGER"), ("c\"d", "STRUCT(x VARCHAR[], y ENUM('(', ')'))"), ("ok", "DECIMAL(9,2)")];
        assert_eq!(read(name), Some(named.map(|(name, type_)| (name.to_owned(), type_)).to_vec()));
        let unnamed = |types: [&'static str; 2]| Some(types.map(|type_| (String::new(), type_)).to_vec());
        assert_eq!(read("TUPLE(INTEGER, inet[])"), unnamed(["INTEGER", "inet[]"]));
        assert_eq!(read("MAP(INTEGER, inet)"), unnamed(["INTEGER", "inet"]));
        assert_eq!((read("INTEGER"), read("DECIMAL(9,2)")), (None, None));
    }

    #[test]
    fn numbers_stand_behind_types_and_not_within_texts() {
        let name = "STRUCT(\"a #1\" STRUCT(x ENUM('it''s #2', '\"')) #3, b ENUM(' #4') #55[]) #6[]";
        let bare = "STRUCT(\"a #1\" STRUCT(x ENUM('it''s #2', '\"')), b ENUM(' #4')[])[]";
        assert_eq!((without_numbers(name), without_numbers(bare)), (bare.into(), bare.into()));
    }

    #[test]
    fn known_numbers_have_types_and_others_have_none() {
        for number in [oid::BOOL, oid::INT8, oid::OID, oid::NUMERIC, oid::TIMETZ, 1009, 1016, 2951, 3904, 1041] {
            let found = Type::of_oid(number).unwrap();
            assert_eq!(found.info().oid, number, "{found:?}");
        }
        assert_eq!(Type::of_oid(1015).unwrap().name, "text[]");
        assert_eq!(Type::of_oid(0), None);
        assert_eq!(Type::of_oid(705), None);
        assert_eq!(Type::of_oid(600), None);
    }
}
