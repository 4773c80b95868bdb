//! INSERT … ON CONFLICT, and INSERT OR REPLACE.

use colonnade_sql::{Dialect, quote};

use super::clauses::{Clauses, mentions};

/// Whether a text may be one of both.
pub(super) fn may_be(text: &str) -> bool {
    mentions(text, "conflict") || mentions(text, "replace")
}

/// What happens to a row whose key is there.
pub(crate) struct Conflict {
    /// The columns of the key; empty if it is not named.
    key: Vec<String>,
    /// Whether the row that is there is changed.
    updates: bool,
    /// The first token of the clause, or the end of the statement.
    start: usize,
    /// The first token of the rows, or of what is in front of them.
    into: usize,
}

impl Conflict {
    /// The clause of a statement, if it has one.
    pub(crate) fn read(clauses: &Clauses<'_>) -> Option<Self> {
        let insert = clauses.find(0, "insert")?;
        let replaces = clauses.is_word(insert + 1, "or") && clauses.is_word(insert + 2, "replace");
        let into = clauses.find(insert, "into")? + 1;
        // A JOIN of the rows' query may have a column of this name.
        let clause = (into..clauses.len()).rfind(|at| clauses.begins(*at, "on") && clauses.is_word(at + 1, "conflict"));
        let Some(start) = clause else {
            let start = clauses.find(into, "returning").unwrap_or(clauses.len());
            return replaces.then_some(Self { key: Vec::new(), updates: true, start, into });
        };
        let (key, end) = match clauses.is_symbol(start + 2, b'(') {
            true => clauses.names(start + 2)?,
            false => (Vec::new(), start + 2),
        };
        let action = clauses.find(end, "do")?;
        Some(Self { key, updates: clauses.is_word(action + 1, "update"), start, into })
    }

    /// Whether DuckDB's error about a key that is there twice names this key: `Duplicate key "a: 1, b: 2" violates …`.
    /// At a commit it names none. Without a key in the statement, all keys are its own.
    pub(crate) fn has_key_of(&self, message: &str) -> bool {
        if message.contains("Failed to commit") || self.key.is_empty() {
            return true;
        }
        let Some((_, found)) = message.split_once("uplicate key \"") else { return false };
        let found = format!(", {}", found.to_lowercase());
        let place = |name: &String| found.find(&format!(", {}: ", name.to_lowercase()));
        self.key.iter().all(|name| place(name).is_some()) && self.key.iter().any(|name| place(name) == Some(0))
    }
}

/// Several rows of which one may change another.
pub(crate) struct Upsert<'a> {
    /// The table's name.
    pub table: &'a str,
    with: &'a str,
    /// Those that the statement names.
    columns: Option<Vec<String>>,
    key: Vec<String>,
    rows: Rows<'a>,
}

enum Rows<'a> {
    /// The expressions of each row of VALUES.
    Values(Vec<Vec<&'a str>>),
    Query {
        text: &'a str,
        /// Whether the query's names are those of the columns.
        by_name: bool,
    },
}

impl<'a> Upsert<'a> {
    pub(super) fn read(clauses: &Clauses<'a>) -> Option<Self> {
        let conflict = Conflict::read(clauses).filter(|conflict| conflict.updates)?;
        let mut at = clauses.name(conflict.into);
        let table = clauses.text(conflict.into, at);
        if clauses.is_word(at, "as") {
            at += 2;
        }
        let queries = ["select", "with", "values", "from", "table"];
        let is_query = |at: usize| queries.iter().any(|word| clauses.is_word(at, word)) || clauses.is_symbol(at, b'(');
        let mut columns = None;
        if clauses.is_symbol(at, b'(') && !is_query(at + 1) {
            let (names, end) = clauses.names(at)?;
            (columns, at) = (Some(names), end);
        }
        let by_name = clauses.is_word(at, "by") && clauses.is_word(at + 1, "name");
        if clauses.is_word(at, "by") {
            at += 2;
        }
        let end = conflict.start;
        let rows = match values(clauses, at, end) {
            // One row has no other.
            Some(rows) if rows.len() == 1 => return None,
            Some(rows) => Rows::Values(rows),
            None if is_query(at) => Rows::Query { text: clauses.text(at, end), by_name },
            None => return None,
        };
        Some(Self { table, with: clauses.with(), columns, key: conflict.key, rows })
    }

    /// A query with a row if two rows have one key. `described` are the columns that DESCRIBE gives. `None` if the key
    /// is not among the values.
    pub(super) fn query(&self, described: &[Vec<Option<String>>]) -> Option<String> {
        let field = |column: &'_ [Option<String>], at: usize| column.get(at).cloned().flatten();
        let columns: Vec<_> = described.iter().filter_map(|column| Some((field(column, 0)?, column))).collect();
        let names: Vec<_> = match &self.columns {
            Some(names) => names.clone(),
            None => columns.iter().map(|(name, _)| name.clone()).collect(),
        };
        // Without a key in the statement, DuckDB refuses a table with several ones.
        let of_constraint = || columns.iter().filter(|(_, column)| field(column, 3).is_some());
        let key = if self.key.is_empty() {
            of_constraint().map(|(name, _)| name.clone()).collect()
        } else {
            self.key.clone()
        };
        let key: Vec<(usize, String)> = key
            .iter()
            .map(|key| {
                let (_, column) = columns.iter().find(|(name, _)| name.eq_ignore_ascii_case(key))?;
                Some((names.iter().position(|name| name.eq_ignore_ascii_case(key))?, field(column, 1)?))
            })
            .collect::<Option<_>>()?;
        if key.is_empty() {
            return None;
        }
        let numbered = |place: usize| format!("c{place}");
        let from = match &self.rows {
            Rows::Values(rows) => {
                let rows: Vec<_> = rows.iter().filter_map(|row| key_of(row, &key)).collect();
                let places: Vec<_> = key.iter().map(|(place, _)| numbered(*place)).collect();
                let values = (rows.len() > 1).then(|| rows.join(", "))?;
                format!("(VALUES {values}) AS given({})", places.join(", "))
            }
            Rows::Query { text, by_name } => {
                let places = (0..names.len()).map(numbered).collect::<Vec<_>>().join(", ");
                let alias = if *by_name { String::new() } else { format!("({places})") };
                format!("({text}) AS given{alias}")
            }
        };
        let by_name = matches!(self.rows, Rows::Query { by_name: true, .. });
        let of_key = key.iter().map(|(place, type_name)| {
            let name = if by_name { quote::identifier(&names[*place], Dialect::DuckDb) } else { numbered(*place) };
            format!("CAST(given.{name} AS {type_name})")
        });
        let of_key: Vec<_> = of_key.collect();
        let known: Vec<_> = of_key.iter().map(|value| format!("{value} IS NOT NULL")).collect();
        // NULLs are different keys.
        Some(format!(
            "{}SELECT 1 FROM {from} WHERE {} GROUP BY {} HAVING system.main.count(*) > 1 LIMIT 1",
            self.with,
            known.join(" AND "),
            of_key.join(", ")
        ))
    }
}

/// The key of a row of VALUES; `None` if a default or a sequence gives a part of it.
fn key_of(row: &[&str], key: &[(usize, String)]) -> Option<String> {
    let parts = key.iter().map(|(place, type_name)| {
        let value = row.get(*place).filter(|value| !value.eq_ignore_ascii_case("default"))?;
        (!mentions(value, "nextval")).then(|| format!("CAST({value} AS {type_name})"))
    });
    Some(format!("({})", parts.collect::<Option<Vec<_>>>()?.join(", ")))
}

/// The rows of VALUES, if nothing else is in `start..end`.
fn values<'a>(clauses: &Clauses<'a>, start: usize, end: usize) -> Option<Vec<Vec<&'a str>>> {
    let mut at = clauses.is_word(start, "values").then_some(start + 1)?;
    let mut rows = Vec::new();
    loop {
        let (items, next) = clauses.is_symbol(at, b'(').then(|| clauses.items(at)).flatten()?;
        rows.push(items.into_iter().map(|(start, end)| clauses.text(start, end)).collect());
        at = next;
        if at == end {
            return Some(rows);
        }
        at = clauses.is_symbol(at, b',').then_some(at + 1)?;
    }
}
