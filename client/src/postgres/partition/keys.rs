//! Cuts between the values of a column, which only the database compares.

use colonnade_sql::{Dialect, quote};

use super::unsupported;
use crate::partition::{balance, key, text};
use crate::postgres::extended::ResultColumn;
use crate::postgres::session::PostgresConnection;
use crate::{ContinueCheck, Error};

/// The keys in a sample, if there are no statistics.
const SAMPLE: usize = 1000;

/// The column by which a result is cut.
pub(super) struct PartitionKey {
    /// The expression that is compared, over the columns of [`text::ALIAS`].
    pub(super) expression: String,
    /// The type's name in a cast.
    type_name: String,
    family: Family,
    origin: (u32, u16),
}

/// The families of keys. Each has a total order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Integer,
    /// Numbers with fractions; NaN is above all others.
    Number,
    Time,
    /// Compared as text, byte by byte, because a collation may treat different texts as equal, or change with its
    /// version.
    Text,
    /// Types with an order but no distance.
    Ordered,
}

impl Family {
    /// By a type's number and category in pg_type.
    fn of(oid: u32, category: &str) -> Option<Self> {
        Some(match oid {
            20 | 21 | 23 | 26 => Self::Integer,
            700 | 701 | 1700 => Self::Number,
            1082 | 1114 | 1184 => Self::Time,
            // bool, time, interval, uuid.
            16 | 1083 | 1186 | 2950 => Self::Ordered,
            _ if matches!(category, "S" | "E") => Self::Text,
            _ => return None,
        })
    }
}

/// The column of a result with this name.
///
/// # Errors
/// There is none, or more than one.
pub(super) fn find<'a>(columns: &'a [ResultColumn], name: &str) -> Result<&'a ResultColumn, Error> {
    // Names with different letter case are different columns. A name that occurs twice is ambiguous.
    let exact = columns.iter().any(|column| column.name == name);
    let same = |a: &str, b: &str| if exact { a == b } else { a.eq_ignore_ascii_case(b) };
    key::find(columns, name, |column| &column.name, same)
}

impl PostgresConnection {
    pub(super) fn key(&self, column: &ResultColumn, keep: ContinueCheck<'_>) -> Result<PartitionKey, Error> {
        let oid = column.type_oid;
        let question =
            format!("SELECT pg_catalog.format_type(oid, NULL), typcategory FROM pg_catalog.pg_type WHERE oid = {oid}");
        let answer = self.ask(&question, keep)?;
        let type_name = answer.text(0, 0).unwrap_or("unknown").to_owned();
        let family = Family::of(oid, answer.text(0, 1).unwrap_or_default())
            .ok_or_else(|| key::without_order(&column.name, &type_name))?;
        let name = format!("{}.{}", text::ALIAS, quote::identifier(&column.name, Dialect::POSTGRES));
        let mut key = PartitionKey { expression: String::new(), type_name, family, origin: column.origin };
        key.expression = key.comparable(&name);
        Ok(key)
    }

    /// Cuts for parts of about equal size: by the table's statistics if the key is a table's column, otherwise by a
    /// sample of the query's keys.
    pub(super) fn balanced_cuts(
        &self,
        query: &str,
        key: &PartitionKey,
        count: usize,
        keep: ContinueCheck<'_>,
    ) -> Result<Vec<String>, Error> {
        let mut sample = match key.origin {
            (0, _) | (_, 0) => Vec::new(),
            (table, attribute) => self.sorted(key, &statistics(table, attribute), keep)?,
        };
        if sample.is_empty() {
            let keys = format!(
                "SELECT {}::pg_catalog.text, 1::pg_catalog.float8 FROM (\n{query}\n) AS {} \
                 ORDER BY pg_catalog.random() LIMIT {SAMPLE}",
                key.expression,
                text::ALIAS,
            );
            sample = self.sorted(key, &keys, keep)?;
        }
        let nulls = sample.iter().filter(|(cut, _)| cut.is_none()).map(|(_, weight)| weight).sum();
        let keys = sample.into_iter().filter_map(|(cut, weight)| Some((cut?, weight))).collect();
        Ok(balance::cuts(keys, nulls, count))
    }

    /// Cuts at equal distances.
    pub(super) fn even_cuts(
        &self,
        key: &PartitionKey,
        (low, high): &(String, String),
        count: usize,
        keep: ContinueCheck<'_>,
    ) -> Result<Vec<String>, Error> {
        let of = match key.family {
            Family::Integer | Family::Number => "pg_catalog.numeric",
            // Dates are computed as timestamps, because the steps need fractions.
            Family::Time if key.type_name == "date" => "timestamp",
            Family::Time => &key.type_name,
            Family::Text | Family::Ordered => {
                return Err(unsupported(&format!(
                    "partition_range needs a key of numbers or times, not of {}",
                    key.type_name
                ))
                .with_hint("leave partition_range out"));
            }
        };
        let bound = |text| format!("{}::{of}", quote::string(text, Dialect::POSTGRES));
        let (low, high) = (bound(low), bound(high));
        let at = match key.family {
            Family::Integer => format!("pg_catalog.floor({low} + ({high} - {low}) * i / {count})"),
            Family::Number => format!("({low} + ({high} - {low}) * i / {count})"),
            _ => format!("({low} + ({high} - {low}) * (i::pg_catalog.float8 / {count}))::{}", key.type_name),
        };
        let last = count.saturating_sub(1);
        let places = format!(
            "SELECT {at}::pg_catalog.text, 1::pg_catalog.float8 FROM pg_catalog.generate_series(1, {last}) AS s (i)"
        );
        let cuts = self.sorted(key, &places, keep)?;
        Ok(cuts.into_iter().filter_map(|(cut, _)| cut).collect())
    }

    /// The keys that `sample` returns as text with weights: each once, in the order in which the database compares
    /// them with the column, as expressions that the database has read in this form. NULL may be among them.
    fn sorted(
        &self,
        key: &PartitionKey,
        sample: &str,
        keep: ContinueCheck<'_>,
    ) -> Result<Vec<(Option<String>, f64)>, Error> {
        let order = key.read("v");
        let question = format!(
            "SELECT pg_catalog.min(v), pg_catalog.sum(w) FROM (\n{sample}\n) AS sample (v, w) GROUP BY {order} ORDER BY {order}"
        );
        let answer = self.ask(&question, keep)?;
        let weight = |row: usize| answer.text(row, 1).and_then(|text| text.parse().ok()).unwrap_or(0.0);
        Ok((0..answer.rows.len())
            .map(|row| (answer.text(row, 0).map(|text| key.read(&quote::string(text, Dialect::POSTGRES))), weight(row)))
            .collect())
    }
}

impl PartitionKey {
    /// The expression of a key, or of the column, in comparisons.
    fn comparable(&self, expression: &str) -> String {
        match self.family {
            Family::Text => format!("({expression}::pg_catalog.text COLLATE pg_catalog.\"C\")"),
            _ => expression.to_owned(),
        }
    }

    /// The expression of a key that `text`, an expression, gives as text.
    fn read(&self, text: &str) -> String {
        match self.family {
            // Text needs no cast, and a cast to its type could shorten it: `character` has a length of 1.
            Family::Text => self.comparable(text),
            _ => format!("{text}::{}", self.type_name),
        }
    }
}

/// The most common keys of a table's column and the bounds of its histogram, each with its share of the rows. For a
/// table with descendants, they include the descendants. <https://www.postgresql.org/docs/current/view-pg-stats.html>
fn statistics(table: u32, attribute: u16) -> String {
    format!(
        "WITH stats AS (SELECT s.* FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
           JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid \
           JOIN pg_catalog.pg_stats s ON (s.schemaname, s.tablename, s.attname) = (n.nspname, c.relname, a.attname) \
           WHERE c.oid = {table} AND a.attnum = {attribute} ORDER BY s.inherited DESC LIMIT 1) \
         SELECT NULL::pg_catalog.text, null_frac::pg_catalog.float8 FROM stats \
         UNION ALL SELECT v, w FROM stats, \
           LATERAL ROWS FROM (pg_catalog.unnest(most_common_vals::pg_catalog.text::pg_catalog.text[]), \
                              pg_catalog.unnest(most_common_freqs)) AS common (v, w) \
         UNION ALL SELECT v, (1 - null_frac - coalesce((SELECT pg_catalog.sum(f) FROM pg_catalog.unnest(most_common_freqs) AS f), 0)) \
                             / pg_catalog.array_length(histogram_bounds::pg_catalog.text::pg_catalog.text[], 1) \
           FROM stats, LATERAL pg_catalog.unnest(histogram_bounds::pg_catalog.text::pg_catalog.text[]) AS bounds (v)"
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_key_is_found_by_its_name() {
        let column = |name: &str| ResultColumn { name: name.to_owned(), type_oid: 23, typmod: -1, origin: (0, 0) };
        let columns = ["id", "Id", "ID", "Name", "twice", "twice"].map(column);
        assert_eq!(find(&columns, "Id").unwrap().name, "Id");
        assert_eq!(find(&columns, "name").unwrap().name, "Name");
        assert!(find(&columns, "iD").is_err());
        assert!(find(&columns, "twice").unwrap_err().message().contains("2 columns"));
        assert!(find(&columns, "nam").unwrap_err().message().contains("\"Name\""));
    }
}
