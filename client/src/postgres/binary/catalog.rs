//! The catalog's description of a result's types, by one question.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::Error;
use crate::postgres::extended::{ResultColumn, text_row};
use crate::postgres::message::protocol;

/// A type with its modifier, in a column, an attribute, an array or a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypeRef {
    pub(super) oid: u32,
    pub(super) typmod: i32,
    /// The name from `format_type`.
    pub(super) name: String,
}

/// The structure of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CatalogEntry {
    Domain(TypeRef),
    Array {
        item: TypeRef,
        /// What separates items in the text of an array: a semicolon for box, a colon for PostGIS's types.
        delimiter: u8,
    },
    /// Attributes, without dropped ones.
    Composite(Vec<(String, TypeRef)>),
    /// Labels in the type's order.
    Enum(Vec<String>),
}

/// The answer. A type without a [`CatalogEntry`] has no entry.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    pub(super) entries: HashMap<u32, CatalogEntry>,
    /// The types of the result's columns, in the form of `format_type`.
    pub(super) names: Vec<String>,
    /// Digits of money after the point.
    pub(super) money_scale: u8,
    /// The session's DateStyle, if it was asked for.
    pub(super) date_style: Option<String>,
    /// The session's extra_float_digits, if it was asked for. Below 1, text has rounded floats.
    pub(super) float_digits: Option<i32>,
    /// Whether the server computes times in floats, so that their binary form is another one.
    pub(super) has_float_times: bool,
}

/// Binary arrays come from this function alone. A domain over an array inherits it.
const IS_ARRAY: &str = "(t.typtype <> 'd' AND t.typoutput = 'pg_catalog.array_out'::pg_catalog.regproc)";

/// The question about the types of `columns`. Its rows have a kind, a type, a position, a name, another type with its
/// modifier, and that type's name.
pub(super) fn question(columns: &[ResultColumn]) -> String {
    let mut asked = String::new();
    for (place, column) in columns.iter().enumerate() {
        let comma = if place == 0 { "" } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(asked, "{comma}({place}, {}::pg_catalog.oid, {})", column.type_oid, column.typmod);
    }
    format!(
        "WITH RECURSIVE asked (place, type, typmod) AS (VALUES {asked}), reached (type) AS (
            SELECT type FROM asked
            UNION SELECT below.type FROM reached JOIN pg_catalog.pg_type t ON t.oid = reached.type
            CROSS JOIN LATERAL (
                SELECT t.typbasetype AS type WHERE t.typtype = 'd'
                UNION ALL SELECT t.typelem WHERE {IS_ARRAY}
                UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a
                    WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
            ) below
        ), types AS (SELECT t.* FROM pg_catalog.pg_type t JOIN reached ON reached.type = t.oid)
        SELECT 'column', 0::pg_catalog.oid, place, NULL::pg_catalog.text, type, typmod,
            pg_catalog.format_type(type, typmod) FROM asked
        UNION ALL SELECT 'domain', t.oid, 0, NULL, t.typbasetype, t.typtypmod,
            pg_catalog.format_type(t.typbasetype, t.typtypmod) FROM types t WHERE t.typtype = 'd'
        UNION ALL SELECT 'array', t.oid, 0, item.typdelim::pg_catalog.text, t.typelem, -1,
            pg_catalog.format_type(t.typelem, -1)
            FROM types t JOIN pg_catalog.pg_type item ON item.oid = t.typelem WHERE {IS_ARRAY}
        UNION ALL SELECT 'composite', t.oid, 0, NULL, 0::pg_catalog.oid, -1, NULL FROM types t WHERE t.typtype = 'c'
        UNION ALL SELECT 'attribute', t.oid, a.attnum, a.attname::pg_catalog.text, a.atttypid, a.atttypmod,
            pg_catalog.format_type(a.atttypid, a.atttypmod)
            FROM types t JOIN pg_catalog.pg_attribute a ON a.attrelid = t.typrelid
            WHERE t.typtype = 'c' AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL SELECT 'enum', t.oid, 0, NULL, 0::pg_catalog.oid, -1, NULL FROM types t WHERE t.typtype = 'e'
        UNION ALL SELECT 'label', t.oid,
            (pg_catalog.row_number() OVER (PARTITION BY t.oid ORDER BY e.enumsortorder))::int,
            e.enumlabel::pg_catalog.text, 0::pg_catalog.oid, -1, NULL
            FROM types t JOIN pg_catalog.pg_enum e ON e.enumtypid = t.oid
        UNION ALL SELECT 'money', 0::pg_catalog.oid, pg_catalog.scale(1::pg_catalog.money::pg_catalog.numeric), NULL,
            0::pg_catalog.oid, -1, NULL
        UNION ALL SELECT setting.name, 0, 0, pg_catalog.current_setting(setting.name), 0::pg_catalog.oid, -1, NULL
            FROM (VALUES ('datestyle'), ('extra_float_digits')) setting (name)
        ORDER BY 2, 3"
    )
}

impl Catalog {
    /// Reads one row of the answer.
    ///
    /// # Errors
    /// The row does not answer the question.
    pub(super) fn take(&mut self, row: &[u8]) -> Result<(), Error> {
        let odd = || protocol("an odd row of the catalog");
        let mut values = text_row(row)?.into_iter();
        let mut next = || values.next().flatten();
        let kind = next().ok_or_else(odd)?;
        let oid = next().and_then(|text| text.parse().ok()).ok_or_else(odd)?;
        let place = next();
        let name = next().unwrap_or_default();
        let other = next().and_then(|text| text.parse().ok()).ok_or_else(odd)?;
        let typmod = next().and_then(|text| text.parse().ok()).ok_or_else(odd)?;
        let other = TypeRef { oid: other, typmod, name: next().unwrap_or_default() };
        match (kind.as_str(), self.entries.get_mut(&oid)) {
            ("column", _) => self.names.push(other.name),
            ("datestyle", _) => self.date_style = Some(name),
            ("extra_float_digits", _) => self.float_digits = Some(name.parse().map_err(|_| odd())?),
            ("money", _) => self.money_scale = place.and_then(|text| text.parse().ok()).ok_or_else(odd)?,
            ("domain", None) => self.insert(oid, CatalogEntry::Domain(other)),
            ("array", None) => {
                let [delimiter] = *name.as_bytes() else { return Err(odd()) };
                self.insert(oid, CatalogEntry::Array { item: other, delimiter });
            }
            ("composite", None) => self.insert(oid, CatalogEntry::Composite(Vec::new())),
            ("enum", None) => self.insert(oid, CatalogEntry::Enum(Vec::new())),
            ("attribute", Some(CatalogEntry::Composite(attributes))) => attributes.push((name, other)),
            ("label", Some(CatalogEntry::Enum(labels))) => labels.push(name),
            _ => return Err(odd()),
        }
        Ok(())
    }

    fn insert(&mut self, oid: u32, entry: CatalogEntry) {
        self.entries.insert(oid, entry);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn row(values: [&str; 7]) -> Vec<u8> {
        let mut row = vec![0, 7];
        for value in values {
            if value == "NULL" {
                row.extend_from_slice(&(-1i32).to_be_bytes());
            } else {
                row.extend_from_slice(&(value.len() as u32).to_be_bytes());
                row.extend_from_slice(value.as_bytes());
            }
        }
        row
    }

    #[test]
    fn rows_build_types() {
        let mut catalog = Catalog::default();
        for values in [
            ["column", "0", "0", "NULL", "700", "-1", "pair"],
            ["money", "0", "2", "NULL", "0", "-1", "NULL"],
            ["datestyle", "0", "0", "ISO, MDY", "0", "-1", "NULL"],
            ["extra_float_digits", "0", "0", "-15", "0", "-1", "NULL"],
            ["composite", "700", "0", "NULL", "0", "-1", "NULL"],
            ["attribute", "700", "1", "a", "23", "-1", "integer"],
            ["array", "699", "0", ":", "700", "-1", "pair"],
            ["enum", "701", "0", "NULL", "0", "-1", "NULL"],
            ["label", "701", "1", "sad", "0", "-1", "NULL"],
        ] {
            catalog.take(&row(values)).unwrap();
        }
        let integer = TypeRef { oid: 23, typmod: -1, name: "integer".to_owned() };
        assert_eq!(catalog.entries[&700], CatalogEntry::Composite(vec![("a".to_owned(), integer)]));
        let pair = TypeRef { oid: 700, typmod: -1, name: "pair".to_owned() };
        assert_eq!(catalog.entries[&699], CatalogEntry::Array { item: pair, delimiter: b':' });
        assert_eq!(catalog.entries[&701], CatalogEntry::Enum(vec!["sad".to_owned()]));
        assert_eq!((catalog.names[0].as_str(), catalog.money_scale), ("pair", 2));
        assert_eq!((catalog.date_style.as_deref(), catalog.float_digits), (Some("ISO, MDY"), Some(-15)));
    }

    #[test]
    fn rows_that_nobody_asked_for_are_refused() {
        let mut catalog = Catalog::default();
        assert!(catalog.take(&row(["label", "701", "1", "sad", "0", "-1", "NULL"])).is_err());
        assert!(catalog.take(&row(["array", "699", "0", "NULL", "700", "-1", "pair"])).is_err());
        assert!(catalog.take(&row(["column", "x", "1", "sad", "0", "-1", "NULL"])).is_err());
        assert!(catalog.take(b"\0\x01").is_err());
    }
}
