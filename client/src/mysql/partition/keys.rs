//! Cuts between the values of a column, which only the database compares.

use colonnade_sql::{Dialect, quote};

use super::{MysqlConnection, unsupported};
use crate::mysql::kind::{self, ColumnKind};
use crate::mysql::packet::Definition;
use crate::mysql::zone;
use crate::partition::{balance, key, text};
use crate::{ContinueCheck, Error, ErrorKind};

/// The keys in a sample, if the index gives no estimates.
const SAMPLE: usize = 1000;
/// The ranges of an index for which the server estimates rows.
const RANGES: usize = 64;
/// If the estimate of a part exceeds its share by this factor, the keys are too skewed for equal ranges.
const SKEWED: f64 = 1.5;
/// The most characters of a text that becomes a cut.
const MAX_TEXT: usize = 200;

/// The column by which a result is cut.
pub(super) struct PartitionKey {
    /// The expression that is compared, over the columns of [`text::ALIAS`].
    pub(super) expression: String,
    type_name: String,
    family: Family,
    /// The table and the column, if an index may contain the keys.
    indexed: Option<(String, String)>,
}

/// The families of keys. Each has a total order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Integer,
    /// As their number.
    Bits,
    Decimal,
    Double,
    Date,
    DateTime,
    /// Compared in the column's collation, in which some texts are equal. Equal keys are in one part.
    Text,
    /// Types with an order but no distance, with the type's name in a cast.
    Ordered(&'static str),
}

impl Family {
    fn of(kind: ColumnKind, type_name: &str) -> Option<Self> {
        Some(match kind {
            ColumnKind::Int8 | ColumnKind::Int16 | ColumnKind::Int32 | ColumnKind::Int64 => Self::Integer,
            ColumnKind::UInt8 | ColumnKind::UInt16 | ColumnKind::UInt32 | ColumnKind::UInt64 | ColumnKind::Null => {
                Self::Integer
            }
            ColumnKind::Bool | ColumnKind::Bits => Self::Bits,
            ColumnKind::Float32 | ColumnKind::Float64 => Self::Double,
            ColumnKind::Decimal { .. } => Self::Decimal,
            ColumnKind::Date => Self::Date,
            ColumnKind::DateTime(_) => Self::DateTime,
            ColumnKind::Time(_) => Self::Ordered("TIME(6)"),
            ColumnKind::Text => match type_name {
                "uuid" => Self::Ordered("UUID"),
                "inet4" => Self::Ordered("INET4"),
                "inet6" => Self::Ordered("INET6"),
                // Its order is not the order of its text.
                "json" => return None,
                _ => Self::Text,
            },
            ColumnKind::Bytes if matches!(type_name, "geometry" | "vector") => return None,
            ColumnKind::Bytes => Self::Text,
        })
    }

    /// A key as text, from which [`literal`](Self::literal) makes a cut.
    fn shown(self, key: &str) -> String {
        match self {
            Self::Bits => format!("CAST({key} + 0 AS CHAR)"),
            Self::Text => format!("CONCAT(CHARSET({key}), ' ', COLLATION({key}), ' ', HEX({key}))"),
            _ => format!("CAST({key} AS CHAR)"),
        }
    }

    /// The expression of a key that the database returned or the user gave; `None` if there is none.
    fn literal(self, shown: &str) -> Option<String> {
        let is_number = |allowed: &[u8]| {
            !shown.is_empty() && shown.bytes().all(|byte| byte.is_ascii_digit() || allowed.contains(&byte))
        };
        match self {
            Self::Integer | Self::Bits => is_number(b"-").then(|| format!("({shown})")),
            Self::Decimal => is_number(b"-.").then(|| format!("({shown})")),
            // A number with an exponent is a double.
            Self::Double if !is_number(b"-+.eE") => None,
            Self::Double if shown.contains(['e', 'E']) => Some(format!("({shown})")),
            Self::Double => Some(format!("({shown}e0)")),
            Self::Text => {
                let mut words = shown.split(' ');
                let (charset, collation, digits) = (words.next()?, words.next()?, words.next()?);
                // Bytes have only one order.
                let collate = if charset == "binary" { String::new() } else { format!(" COLLATE {collation}") };
                Some(format!("(_{charset} X'{digits}'{collate})"))
            }
            Self::Date => Some(cast(shown, "DATE")),
            Self::DateTime => Some(cast(shown, "DATETIME(6)")),
            Self::Ordered(type_name) => Some(cast(shown, type_name)),
        }
    }
}

fn cast(shown: &str, type_name: &str) -> String {
    format!("CAST({} AS {type_name})", quote::string(shown, Dialect::MYSQL))
}

impl PartitionKey {
    /// The column of a result with this name. Letter case does not matter.
    ///
    /// # Errors
    /// There is none, or its type has no order.
    pub(super) fn find(columns: &[Definition], name: &str) -> Result<Self, Error> {
        let column = key::find(columns, name, |column| &column.name, |a, b| a.to_lowercase() == b.to_lowercase())?;
        let (kind, type_name) = kind::kind(column)?;
        let family = Family::of(kind, &type_name).ok_or_else(|| key::without_order(&column.name, &type_name))?;
        let name = |name: &str| quote::identifier(name, Dialect::MYSQL);
        let expression = compared(&format!("{}.{}", text::ALIAS, name(&column.name)), &type_name);
        let [database, table, of] = &column.origin;
        let known = kind::is_indexed(column) && [database, table, of].iter().all(|part| !part.is_empty());
        let indexed = known.then(|| (format!("{}.{}", name(database), name(table)), name(of)));
        Ok(Self { expression, type_name, family, indexed })
    }

    /// The expression that is compared, where `name` is the column.
    pub(super) fn compared(&self, name: &str) -> String {
        compared(name, &self.type_name)
    }
}

/// Enums and sets are sorted by number, but compared as text.
fn compared(name: &str, type_name: &str) -> String {
    if matches!(type_name, "enum" | "set") { format!("CONCAT({name})") } else { name.to_owned() }
}

impl MysqlConnection {
    /// Cuts for parts of about equal size: by an index of the table, otherwise by a sample of the query's keys.
    pub(super) fn balanced_cuts(
        &self,
        query: &str,
        key: &PartitionKey,
        count: usize,
        keep: ContinueCheck<'_>,
    ) -> Result<Vec<String>, Error> {
        if let Some(cuts) = self.estimated_cuts(key, count, keep)? {
            return Ok(cuts);
        }
        let (alias, shown) = (text::ALIAS, key.family.shown("k"));
        let short = match key.family {
            Family::Text => format!("WHERE CHAR_LENGTH({0}) <= {MAX_TEXT} OR {0} IS NULL", key.expression),
            _ => String::new(),
        };
        let sample = format!(
            "SELECT COUNT(*), {shown} FROM (SELECT {} AS k FROM (\n{query}\n) AS {alias} {short} \
             ORDER BY RAND() LIMIT {SAMPLE}) AS sample GROUP BY k ORDER BY k",
            key.expression
        );
        let answer = self.ask(&sample, keep)?;
        let (mut nulls, mut keys) = (0.0, Vec::new());
        for row in 0..answer.rows.len() {
            let weight = answer.text(row, 0).and_then(|count| count.parse().ok()).unwrap_or(0.0);
            match answer.text(row, 1) {
                None => nulls += weight,
                Some(shown) => keys.extend(key.family.literal(shown).map(|literal| (literal, weight))),
            }
        }
        self.rising(key, balance::cuts(keys, nulls, count), keep)
    }

    /// Cuts by the server's estimates for equal ranges of the column's index. `None` if there are no estimates, or if
    /// one range has too many keys. The estimates include rows that the query filters out.
    fn estimated_cuts(
        &self,
        key: &PartitionKey,
        count: usize,
        keep: ContinueCheck<'_>,
    ) -> Result<Option<Vec<String>>, Error> {
        let Some((table, column)) = &key.indexed else { return Ok(None) };
        let shown = |bound: &str| key.family.shown(&format!("{bound}({column})"));
        let bounds = format!("SELECT {}, {} FROM {table}", shown("MIN"), shown("MAX"));
        let plan = self.ask(&format!("EXPLAIN FORMAT=TRADITIONAL {bounds}"), keep);
        // The user may have no access to the table of a view.
        let Some(plan) = denied(plan)? else { return Ok(None) };
        let place = |name: &str| plan.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        let (Some(kind), Some(rows)) = (place("type"), place("rows")) else { return Ok(None) };
        // The ends of an index are read without a scan only for its first column. Then the plan reads nothing.
        if plan.text(0, kind).is_some() {
            return Ok(None);
        }
        let bounds = self.ask(&bounds, keep)?;
        let (Some(low), Some(high)) = (bounds.text(0, 0), bounds.text(0, 1)) else { return Ok(None) };
        let edges = match self.even_cuts(key, &(low.to_owned(), high.to_owned()), RANGES, keep) {
            Ok(edges) => edges,
            // Texts have no distance.
            Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Usage) => return Ok(None),
            Err(error) => return Err(error),
        };
        if edges.len() < count {
            return Ok(None);
        }
        let estimates = text::ranges(column, &edges)
            .iter()
            .map(|range| format!("SELECT {column} FROM {table} WHERE {range}"))
            .collect::<Vec<_>>();
        let plan = self.ask(&format!("EXPLAIN FORMAT=TRADITIONAL {}", estimates.join(" UNION ALL ")), keep)?;
        // One line for each range, in their order.
        let weight = |line: usize| plan.text(line, rows).and_then(|count| count.parse::<f64>().ok()).unwrap_or(0.0);
        let mut weights: Vec<_> = (0..estimates.len()).map(weight).collect();
        let first = weights.remove(0);
        let total = first + weights.iter().sum::<f64>();
        let largest = weights.iter().copied().fold(first, f64::max);
        if largest > SKEWED * total / count as f64 {
            return Ok(None);
        }
        // Rows below the first edge belong to the first part, like rows without a key.
        Ok(Some(balance::cuts(edges.into_iter().zip(weights).collect(), first, count)))
    }

    /// Cuts at equal distances.
    pub(super) fn even_cuts(
        &self,
        key: &PartitionKey,
        (low, high): &(String, String),
        count: usize,
        keep: ContinueCheck<'_>,
    ) -> Result<Vec<String>, Error> {
        let no_value = || Error::new(ErrorKind::Usage, "partition_range has a bound that is no value of the key");
        let steps = 1..count;
        let shown: Vec<String> = match key.family {
            Family::Integer | Family::Bits | Family::Decimal | Family::Double => {
                if let (Ok(low), Ok(high)) = (low.parse::<i64>(), high.parse::<i64>()) {
                    let (low, high) = (i128::from(low), i128::from(high));
                    steps.map(|step| (low + (high - low) * step as i128 / count as i128).to_string()).collect()
                } else {
                    let (Ok(low), Ok(high)) = (low.parse::<f64>(), high.parse::<f64>()) else { return Err(no_value()) };
                    let at = |step: usize| low + (high - low) * (step as f64 / count as f64);
                    // As digits, because a decimal must not be compared as a double.
                    match key.family {
                        Family::Double => steps.map(|step| format!("{:e}", at(step))).collect(),
                        Family::Decimal => steps.map(|step| format!("{:.10}", at(step))).collect(),
                        _ => steps.map(|step| format!("{:.0}", at(step))).collect(),
                    }
                }
            }
            Family::Date | Family::DateTime => {
                let (Some(low), Some(high)) = (Family::DateTime.literal(low), Family::DateTime.literal(high)) else {
                    return Err(no_value());
                };
                let columns: Vec<_> = steps
                    .map(|step| {
                        let distance = format!("TIMESTAMPDIFF(MICROSECOND, {low}, {high}) DIV {count} * {step}");
                        format!("CAST(TIMESTAMPADD(MICROSECOND, {distance}, {low}) AS CHAR)")
                    })
                    .collect();
                if columns.is_empty() {
                    return Ok(Vec::new());
                }
                let answer = self.ask(&format!("SELECT {}", columns.join(", ")), keep)?;
                let cuts: Option<Vec<_>> = answer.rows.into_iter().flatten().collect();
                let cuts = cuts.ok_or_else(no_value)?;
                if key.family == Family::Date {
                    cuts.iter().map(|cut| cut.chars().take(10).collect()).collect()
                } else {
                    cuts
                }
            }
            Family::Text | Family::Ordered(_) => {
                return Err(unsupported(&format!(
                    "partition_range needs a key of numbers, dates or timestamps, not of {}",
                    key.type_name
                ))
                .with_hint("leave partition_range out"));
            }
        };
        let literals: Option<Vec<_>> = shown.iter().map(|shown| key.family.literal(shown)).collect();
        self.rising(key, literals.ok_or_else(no_value)?, keep)
    }

    /// The cuts of which each is above the one before, as the database compares them. It may sort texts by their
    /// beginnings only, and different doubles may have the same text. A timestamp with the local time of another one is
    /// no cut: an index compares points in time, and a scan local times.
    fn rising(&self, key: &PartitionKey, mut cuts: Vec<String>, keep: ContinueCheck<'_>) -> Result<Vec<String>, Error> {
        let is_instant = key.type_name.starts_with("timestamp");
        while !cuts.is_empty() {
            let first = format!("{} IS NOT NULL", cuts[0]);
            let pairs = cuts.windows(2).map(|pair| format!("{} < {}", pair[0], pair[1]));
            let mut checks: Vec<_> = [first].into_iter().chain(pairs).collect();
            if is_instant {
                checks
                    .iter_mut()
                    .zip(&cuts)
                    .for_each(|(check, cut)| *check = format!("{check} AND {}", zone::is_certain(cut)));
            }
            let answer = self.ask(&format!("SELECT {}", checks.join(", ")), keep)?;
            let Some(wrong) = (0..cuts.len()).find(|column| answer.text(0, *column) != Some("1")) else { break };
            cuts.remove(wrong);
        }
        Ok(cuts)
    }
}

/// An answer; `None` if the server refuses it to this user.
fn denied<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.kind() == ErrorKind::Database => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn cuts_are_literals_of_the_keys_type() {
        for (family, shown, expected) in [
            (Family::Integer, "-5", Some("(-5)")),
            (Family::Integer, "1; drop", None),
            (Family::Decimal, "-1.50", Some("(-1.50)")),
            (Family::Double, "0.1", Some("(0.1e0)")),
            (Family::Double, "1e20", Some("(1e20)")),
            (Family::Double, "NaN", None),
            (Family::Text, "latin1 latin1_swedish_ci E4", Some("(_latin1 X'E4' COLLATE latin1_swedish_ci)")),
            (Family::Text, "binary binary ", Some("(_binary X'')")),
            (Family::Date, "it's", Some("CAST(_utf8mb4 X'69742773' AS DATE)")),
            (Family::Ordered("UUID"), "a", Some("CAST('a' AS UUID)")),
        ] {
            assert_eq!(family.literal(shown).as_deref(), expected, "{shown}");
        }
    }

    #[test]
    fn a_key_is_found_by_its_name() {
        let column = |name: &str, type_code: u8| Definition {
            name: name.to_owned(),
            origin: ["shop", "t", "a`b"].map(str::to_owned),
            type_code,
            flags: 2,
            collation: 45,
            length: 11,
            decimals: 0,
            extended: None,
        };
        let columns = [column("Id", 3), column("x", 255)];
        let key = PartitionKey::find(&columns, "iD").unwrap();
        assert_eq!(key.expression, "colonnade.`Id`");
        assert_eq!(key.indexed, Some(("`shop`.`t`".to_owned(), "`a``b`".to_owned())));
        assert!(PartitionKey::find(&columns, "nope").err().unwrap().message().contains("\"Id\""));
        assert!(PartitionKey::find(&columns, "x").err().unwrap().message().contains("geometry"));
    }
}
