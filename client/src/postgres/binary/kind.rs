//! Maps PostgreSQL's types to columns: TYPES.md, the rows of PostgreSQL.

use std::sync::Arc;

use colonnade_wire::{DataType, Field, IndexType, Unit};

use super::catalog::{Catalog, CatalogEntry, TypeRef};
use crate::postgres::extended::{ResultColumn, ValueFormat};
use crate::postgres::type_names;
use crate::{Error, ErrorKind, QueryOptions};

/// The key in a field's metadata that names a type which Arrow lacks. TYPES.md.
const TYPE_KEY: &str = "colonnade.type";
/// FORMAT §4.
const MAX_DEPTH: usize = 64;
const MAX_DECIMAL128: u8 = 38;
const MAX_DECIMAL256: u8 = 76;
/// money has 64 bits.
const MONEY_DIGITS: u8 = 19;

/// The numbers of types, which are the same in all versions: `pg_type.dat`.
mod oid {
    pub(super) const BOOL: u32 = 16;
    pub(super) const BYTEA: u32 = 17;
    pub(super) const CHAR: u32 = 18;
    /// point, lseg, path, box, polygon, line and circle.
    pub(super) const GEOMETRIC: [u32; 7] = [600, 601, 602, 603, 604, 628, 718];
    pub(super) const NAME: u32 = 19;
    pub(super) const INT8: u32 = 20;
    pub(super) const INT2: u32 = 21;
    pub(super) const INT2_VECTOR: u32 = 22;
    pub(super) const INT4: u32 = 23;
    pub(super) const TEXT: u32 = 25;
    pub(super) const OID: u32 = 26;
    pub(super) const OID_VECTOR: u32 = 30;
    pub(super) const JSON: u32 = 114;
    pub(super) const FLOAT4: u32 = 700;
    pub(super) const FLOAT8: u32 = 701;
    pub(super) const MONEY: u32 = 790;
    pub(super) const BPCHAR: u32 = 1042;
    pub(super) const VARCHAR: u32 = 1043;
    pub(super) const DATE: u32 = 1082;
    pub(super) const TIME: u32 = 1083;
    pub(super) const TIMESTAMP: u32 = 1114;
    pub(super) const TIMESTAMPTZ: u32 = 1184;
    pub(super) const INTERVAL: u32 = 1186;
    pub(super) const NUMERIC: u32 = 1700;
    pub(super) const UUID: u32 = 2950;
    pub(super) const JSONB: u32 = 3802;
}

/// How the bytes of a value are decoded.
#[derive(Clone, Debug)]
pub(super) enum ColumnKind {
    Bool,
    Int16,
    Int32,
    Int64,
    UInt32,
    Float32,
    Float64,
    Date,
    Time,
    Timestamp,
    Interval,
    Uuid,
    Money,
    Decimal {
        precision: u8,
        scale: u8,
    },
    /// The digits of a numeric as text.
    NumericText,
    Text,
    /// A version before the text.
    Jsonb,
    /// A byte that is a character.
    Char,
    Bytes,
    Enum(Arc<[String]>),
    /// The items, and what separates them in text.
    List(Box<Node>, u8),
    Struct(Vec<Node>),
    /// The node in text. Nested types without another form are text in it.
    Literal(Box<Node>),
}

impl ColumnKind {
    /// Whether the client reads the text of values. That of money depends on a locale, which the client does not know.
    fn has_readable_text(&self) -> bool {
        !matches!(self, Self::Money)
    }

    /// Whether decimals of this precision take 128 bits.
    pub(super) fn is_narrow(precision: u8) -> bool {
        precision <= MAX_DECIMAL128
    }
}

/// A column, or a node within one.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: ColumnKind,
    /// The name for messages.
    pub(super) path: String,
    pub(super) type_name: String,
    pub(super) field: Field,
}

/// A column of the result, and the form in which it is requested.
#[derive(Clone, Debug)]
pub(in crate::postgres) struct ColumnDescription {
    pub(super) node: Node,
    pub(super) format: ValueFormat,
}

/// Whether the catalog must be asked about some column's type.
pub(super) fn needs_catalog(columns: &[ResultColumn], options: &QueryOptions) -> bool {
    columns.iter().any(|column| {
        let plain =
            scalar(column.type_oid, column.typmod, options).is_some_and(|kind| !matches!(kind, ColumnKind::Money));
        !(plain || column.type_oid == oid::NUMERIC && column.typmod < 0) || options.as_text.contains(&column.name)
    })
}

/// Whether the text and the binary form of a type are the same bytes.
pub(super) fn has_one_form(type_oid: u32) -> bool {
    matches!(type_oid, oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::JSON)
}

/// The columns of a result.
///
/// # Errors
/// An option names a column that the result does not have, or a type is not supported.
pub(super) fn columns(
    described: &[ResultColumn],
    catalog: &Catalog,
    options: &QueryOptions,
) -> Result<Vec<ColumnDescription>, Error> {
    if let Some(name) = options.as_text.iter().find(|name| described.iter().all(|column| column.name != **name)) {
        let message = format!("option \"as_text\" names \"{name}\", which is not a column of the result");
        return Err(Error::new(ErrorKind::Database, message).with_sqlstate("42703"));
    }
    let build = Build { catalog, options, literal: false };
    let built = described.iter().enumerate().map(|(place, column)| {
        let mut built = build.column(column, catalog.names.get(place))?;
        if options.type_names {
            type_names::note(&mut built.node.field, column.type_oid);
        }
        Ok(built)
    });
    built.collect()
}

struct Build<'a> {
    catalog: &'a Catalog,
    options: &'a QueryOptions,
    /// Whether values arrive in text, so that every type has a form.
    literal: bool,
}

impl Build<'_> {
    fn column(&self, column: &ResultColumn, name: Option<&String>) -> Result<ColumnDescription, Error> {
        // A numeric without a modifier needs no name from the catalog.
        let name = name.map_or("numeric", String::as_str);
        let source = TypeRef { oid: column.type_oid, typmod: column.typmod, name: name.to_owned() };
        let as_text = self.options.as_text.contains(&column.name);
        let has_floats = oid::GEOMETRIC.contains(&source.oid) || as_text && is_float(source.oid);
        if has_floats && self.rounds_floats() {
            return Err(rounded(&source, &column.name));
        }
        if !as_text && column.type_oid == oid::CHAR {
            // Beyond ASCII, only the output function knows the text.
            let node = leaf(ColumnKind::Text, &source, &column.name, &column.name, DataType::Utf8);
            return Ok(ColumnDescription { node, format: ValueFormat::Text });
        }
        if !as_text && !self.is_foreign(&source) {
            if let Ok(node) = self.node(&source, &column.name, &column.name, 1) {
                return Ok(ColumnDescription { node, format: ValueFormat::Binary });
            }
            let node = Build { literal: true, ..*self }.node(&source, &column.name, &column.name, 1)?;
            let (path, type_name, field) = (node.path.clone(), node.type_name.clone(), node.field.clone());
            let node = Node { kind: ColumnKind::Literal(Box::new(node)), path, type_name, field };
            return Ok(ColumnDescription { node, format: ValueFormat::Text });
        }
        let node = foreign(ColumnKind::Text, &source, &column.name, &column.name);
        Ok(ColumnDescription { node, format: ValueFormat::Text })
    }

    /// Whether the text of floats is not exact in this session.
    fn rounds_floats(&self) -> bool {
        self.catalog.float_digits.is_some_and(|digits| digits < 1)
    }

    /// Checks that the text of a type is exact in this session, and in a form that the client reads.
    fn check_style(&self, kind: &ColumnKind, source: &TypeRef, path: &str) -> Result<(), Error> {
        match (kind, &self.catalog.date_style) {
            (ColumnKind::Float32 | ColumnKind::Float64, _) if self.rounds_floats() => Err(rounded(source, path)),
            (ColumnKind::Date | ColumnKind::Timestamp, Some(style)) if !style.starts_with("ISO") => {
                let what = format!("arrives as text in DateStyle \"{style}\", which is not read");
                Err(styled(source, path, &what, "DateStyle to ISO"))
            }
            _ => Ok(()),
        }
    }

    /// Whether Arrow lacks the type itself, regardless of nested types.
    fn is_foreign(&self, source: &TypeRef) -> bool {
        let nested =
            matches!(source.oid, oid::INT2_VECTOR | oid::OID_VECTOR) || !self.catalog.entries.contains_key(&source.oid);
        scalar(source.oid, source.typmod, self.options).is_none() && nested
    }

    fn node(&self, source: &TypeRef, name: &str, path: &str, depth: usize) -> Result<Node, Error> {
        let money = self.catalog.money_scale;
        if let Some(kind) = scalar(source.oid, source.typmod, self.options) {
            let data_type = data_type(&kind, source.oid, money);
            if self.literal {
                self.check_style(&kind, source, path)?;
            }
            return match kind {
                ColumnKind::Time | ColumnKind::Timestamp | ColumnKind::Interval
                    if !self.literal && self.catalog.has_float_times =>
                {
                    Err(without_form(source, path))
                }
                kind if !self.literal => Ok(leaf(kind, source, name, path, data_type)),
                ColumnKind::Uuid | ColumnKind::Jsonb => Ok(leaf(ColumnKind::Text, source, name, path, data_type)),
                kind if kind.has_readable_text() => Ok(leaf(kind, source, name, path, data_type)),
                _ => Err(without_form(source, path)),
            };
        }
        let text = |kind| if self.literal { ColumnKind::Text } else { kind };
        match self.catalog.entries.get(&source.oid) {
            _ if source.oid == oid::CHAR => Ok(leaf(text(ColumnKind::Char), source, name, path, DataType::Utf8)),
            _ if source.oid == oid::NUMERIC && source.typmod < 0 => {
                Ok(foreign(text(ColumnKind::NumericText), source, name, path))
            }
            _ if self.literal && (self.is_foreign(source) || depth >= MAX_DEPTH) => {
                Ok(foreign(ColumnKind::Text, source, name, path))
            }
            _ if self.is_foreign(source) || depth >= MAX_DEPTH => Err(without_form(source, path)),
            None => Err(without_form(source, path)),
            Some(CatalogEntry::Domain(base)) => self.node(base, name, path, depth),
            Some(CatalogEntry::Array { item, delimiter }) => {
                let item = item_of(source, item);
                let child = self.node(&item, "item", path, depth + 1)?;
                let field = child.field.clone();
                let mut node = leaf(ColumnKind::List(Box::new(child), *delimiter), source, name, path, DataType::List);
                node.field.children.push(field);
                Ok(node)
            }
            Some(CatalogEntry::Composite(attributes)) => {
                let children = attributes
                    .iter()
                    .map(|(name, source)| self.node(source, name, &format!("{path}.{name}"), depth + 1))
                    .collect::<Result<Vec<_>, _>>()?;
                let fields = children.iter().map(|child| child.field.clone()).collect();
                let mut node = leaf(ColumnKind::Struct(children), source, name, path, DataType::Struct);
                node.field.children = fields;
                Ok(node)
            }
            Some(CatalogEntry::Enum(labels)) => {
                let index = match labels.len() {
                    ..=0x100 => IndexType::UInt8,
                    0x101..=0x1_0000 => IndexType::UInt16,
                    _ => IndexType::UInt32,
                };
                let kind = ColumnKind::Enum(labels.clone().into());
                let mut node = leaf(kind, source, name, path, DataType::Dictionary { index, ordered: true });
                node.field.children.push(Field::new("values", DataType::Utf8, true));
                Ok(node)
            }
        }
    }
}

/// The modifier of an array is that of its items.
fn item_of(array: &TypeRef, item: &TypeRef) -> TypeRef {
    let name = if array.typmod < 0 { Some(item.name.as_str()) } else { array.name.strip_suffix("[]") };
    TypeRef { oid: item.oid, typmod: array.typmod, name: name.unwrap_or(&item.name).to_owned() }
}

fn leaf(kind: ColumnKind, source: &TypeRef, name: &str, path: &str, data_type: DataType) -> Node {
    let field = Field::new(name, data_type, true);
    Node { kind, path: path.to_owned(), type_name: source.name.clone(), field }
}

/// Text instead of a type that Arrow lacks.
fn foreign(kind: ColumnKind, source: &TypeRef, name: &str, path: &str) -> Node {
    let mut node = leaf(kind, source, name, path, DataType::Utf8);
    node.field.metadata.push((TYPE_KEY.to_owned(), source.name.clone()));
    node
}

/// A type that needs no catalog and whose binary form is exact.
fn scalar(type_oid: u32, typmod: i32, options: &QueryOptions) -> Option<ColumnKind> {
    Some(match type_oid {
        oid::BOOL => ColumnKind::Bool,
        oid::INT2 => ColumnKind::Int16,
        oid::INT4 => ColumnKind::Int32,
        oid::INT8 => ColumnKind::Int64,
        oid::OID => ColumnKind::UInt32,
        oid::FLOAT4 => ColumnKind::Float32,
        oid::FLOAT8 => ColumnKind::Float64,
        oid::DATE => ColumnKind::Date,
        oid::TIME => ColumnKind::Time,
        oid::TIMESTAMP | oid::TIMESTAMPTZ => ColumnKind::Timestamp,
        oid::INTERVAL => ColumnKind::Interval,
        oid::UUID => ColumnKind::Uuid,
        oid::MONEY => ColumnKind::Money,
        oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::JSON | oid::NAME => ColumnKind::Text,
        oid::JSONB => ColumnKind::Jsonb,
        oid::BYTEA => ColumnKind::Bytes,
        oid::NUMERIC => decimal(typmod, options.numeric)?,
        _ => return None,
    })
}

fn decimal(typmod: i32, chosen: Option<(u8, u8)>) -> Option<ColumnKind> {
    /// The size of varlena's header, which a typmod includes.
    const HEADER: i32 = 4;
    let (precision, scale) = if typmod >= HEADER {
        // As in numeric.c. Version 15 added scales below 0 and above the precision.
        let packed = typmod - HEADER;
        (packed >> 16 & 0xffff, ((packed & 0x7ff) ^ 1024) - 1024)
    } else {
        chosen.map(|(precision, scale)| (i32::from(precision), i32::from(scale)))?
    };
    let precision = u8::try_from(precision).ok().filter(|precision| (1..=MAX_DECIMAL256).contains(precision))?;
    let scale = u8::try_from(scale).ok().filter(|scale| *scale <= precision)?;
    Some(ColumnKind::Decimal { precision, scale })
}

fn data_type(kind: &ColumnKind, type_oid: u32, money_scale: u8) -> DataType {
    match *kind {
        ColumnKind::Bool => DataType::Bool,
        ColumnKind::Int16 => DataType::Int16,
        ColumnKind::Int32 => DataType::Int32,
        ColumnKind::Int64 => DataType::Int64,
        ColumnKind::UInt32 => DataType::UInt32,
        ColumnKind::Float32 => DataType::Float32,
        ColumnKind::Float64 => DataType::Float64,
        ColumnKind::Date => DataType::Date32,
        ColumnKind::Time => DataType::Time64(Unit::Microsecond),
        ColumnKind::Timestamp => {
            let zone = (type_oid == oid::TIMESTAMPTZ).then(|| "UTC".to_owned());
            DataType::Timestamp { unit: Unit::Microsecond, zone }
        }
        ColumnKind::Interval => DataType::IntervalMonthDayNano,
        ColumnKind::Money => DataType::Decimal128 { precision: MONEY_DIGITS, scale: money_scale as i8 },
        ColumnKind::Decimal { precision, scale } if ColumnKind::is_narrow(precision) => {
            DataType::Decimal128 { precision, scale: scale as i8 }
        }
        ColumnKind::Decimal { precision, scale } => DataType::Decimal256 { precision, scale: scale as i8 },
        ColumnKind::Bytes => DataType::Binary,
        _ => DataType::Utf8,
    }
}

fn without_form(source: &TypeRef, path: &str) -> Error {
    let message = format!("column \"{path}\": type {} within a type that comes as text has no form", source.name);
    Error::new(ErrorKind::Database, message)
        .with_sqlstate("0A000")
        .with_hint("cast the column to text, name it in the option as_text, or install the extension colonnade")
}

fn is_float(type_oid: u32) -> bool {
    matches!(type_oid, oid::FLOAT4 | oid::FLOAT8)
}

fn rounded(source: &TypeRef, path: &str) -> Error {
    styled(source, path, "arrives as text with floats that extra_float_digits rounds", "extra_float_digits to 3")
}

/// The error of a type whose text depends on a setting of the session.
fn styled(source: &TypeRef, path: &str, what: &str, setting: &str) -> Error {
    Error::new(ErrorKind::Database, format!("column \"{path}\": type {} {what}", source.name))
        .with_sqlstate("0A000")
        .with_hint(format!(
            "set {setting} in this session, cast the column to text, or install the extension colonnade"
        ))
}
