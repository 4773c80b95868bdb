//! The text of a query that only reads one table, with an additional condition. It can choose rows by their location,
//! which an outer query cannot. The text alone proves nothing; each source asks its database.

use colonnade_sql::{Dialect, Token, code};

use super::{PartitionSplit, text};
use crate::{Error, ErrorKind};

/// Clauses after WHERE, or that exclude it.
const BEHIND: [&str; 8] = ["with", "values", "group", "having", "window", "union", "intersect", "except"];
/// The reason for a query whose text has another form.
pub(crate) const MORE: &str = "it is more than SELECT … FROM … WHERE …";

/// The reason for a query that does not read from a name.
pub(crate) const SEVERAL: &str = "it does not read from the name of one table";

/// A query of the form SELECT … FROM … [WHERE …], or TABLE ….
pub(crate) struct Plain<'a> {
    /// The text up to WHERE, with WHERE if there is one.
    head: String,
    condition: Option<&'a str>,
    /// The text after FROM, if the query has one.
    from: &'a str,
}

impl<'a> Plain<'a> {
    /// `None` if it has another form.
    pub(crate) fn of(query: &'a str, dialect: Dialect) -> Option<Self> {
        let mut depth = 0usize;
        // The ends of the first word and of FROM, and the end and the start of WHERE.
        let (mut first, mut from, mut condition) = (None, None, None);
        let mut previous = "";
        for token in code(query, dialect) {
            let (word, end) = (token.bare(), token.end());
            first.get_or_insert((word, end));
            let is = |expected: &str| word.eq_ignore_ascii_case(expected);
            // A name follows these tokens.
            let named = previous == "." || previous.eq_ignore_ascii_case("as");
            match word {
                "(" | "[" => depth += 1,
                ")" | "]" => depth = depth.checked_sub(1)?,
                _ if depth > 0 || named => {}
                // Not the FROM of IS DISTINCT FROM.
                _ if is("from") && !previous.eq_ignore_ascii_case("distinct") => from = from.or(Some(end)),
                _ if is("where") => condition = condition.or(Some((token.start, end))),
                _ if BEHIND.iter().any(|clause| is(clause)) => return None,
                _ => {}
            }
            previous = word;
        }
        let (word, end) = first?;
        if word.eq_ignore_ascii_case("table") {
            let from = &query[end..];
            return Some(Self { head: format!("select * from{from}"), condition: None, from });
        }
        if !word.eq_ignore_ascii_case("select") {
            return None;
        }
        let until = condition.map_or(query.len(), |(start, _)| start);
        Some(Self {
            head: query[..condition.map_or(query.len(), |(_, end)| end)].to_owned(),
            condition: condition.map(|(_, end)| &query[end..]),
            from: from.and_then(|from| query.get(from..until)).unwrap_or_default(),
        })
    }

    /// The text between FROM and WHERE.
    pub(crate) fn from(&self) -> &'a str {
        self.from
    }

    /// Whether it reads from one name, with or without an alias: from no other query, function or join.
    pub(crate) fn reads_a_name(&self, dialect: Dialect) -> bool {
        let several = |token: Token<'_>| {
            token.is_symbol(b'(') || token.is_symbol(b',') || token.is_one_of(&["join", "straight_join"])
        };
        !self.from.is_empty() && !code(self.from, dialect).any(several)
    }

    /// The query with an additional condition. The line breaks end comments.
    pub(crate) fn with(&self, more: &str) -> String {
        match self.condition {
            Some(condition) => format!("{} ({condition}\n) and {more}", self.head),
            None => format!("{}\nwhere {more}", self.head),
        }
    }
}

/// Refuses `partition_range` without a key.
///
/// # Errors
/// `Usage`: there is one.
pub(crate) fn check_no_range(split: &PartitionSplit) -> Result<(), Error> {
    match split.range {
        Some(_) => Err(Error::new(ErrorKind::Usage, "partition_range needs partition_on")),
        None => Ok(()),
    }
}

/// The error of a query without a key.
pub(crate) fn no_plain_read(why: &str) -> Error {
    text::refused(&format!("without partition_on it must be the plain read of one table, but {why}"))
        .with_hint("name a key in partition_on")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(query: &str) -> Option<String> {
        Some(Plain::of(query, Dialect::POSTGRES)?.with("x"))
    }

    #[test]
    fn a_condition_goes_to_the_others() {
        let takes = |query: &str, expected: &str| assert_eq!(with(query).as_deref(), Some(expected), "{query}");
        takes("select a from t", "select a from t\nwhere x");
        takes("table only t -- all", "select * from only t -- all\nwhere x");
        takes("select a from t WHERE a or b -- c", "select a from t WHERE ( a or b -- c\n) and x");
        takes(
            "select (select 1 where true group by 1) as where, t.union from t",
            "select (select 1 where true group by 1) as where, t.union from t\nwhere x",
        );
    }

    #[test]
    fn other_forms_are_left_alone() {
        for query in
            ["select a from t group by a", "with c as (select 1) select * from c", "values (1)", "(select 1)", ""]
        {
            assert_eq!(with(query), None, "{query}");
        }
        assert_eq!(with("select 1 union select 2 where true"), None);
    }

    #[test]
    fn what_is_read_stands_behind_from() {
        for (query, expected) in [
            ("select a from t", " t"),
            (
                "select a is distinct from b, (select 1 from x) FROM [a where b] as y --\nwhere a",
                " [a where b] as y --\n",
            ),
            ("select 1", ""),
            ("select 1 where 2 from 3", ""),
        ] {
            assert_eq!(Plain::of(query, Dialect::Sqlite).map(|plain| plain.from()), Some(expected), "{query}");
        }
    }
}
