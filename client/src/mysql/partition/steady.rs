//! Whether several connections with the same snapshot see the same rows. They may not for tables without transactions
//! and for functions that are not deterministic.

use std::collections::HashSet;

use colonnade_sql::{Dialect, Token, TokenKind, quote, tokens};

use super::names::{Name, has_user_variables, names};
use super::{CONSISTENT, MysqlConnection};
use crate::partition::text;
use crate::{Connection, ContinueCheck, Error, ErrorKind};

/// Engines whose tables are read from the snapshot. A sequence is constant.
const ENGINES: [&str; 2] = ["InnoDB", "SEQUENCE"];
/// Functions with another value for each call or connection.
const UNSTEADY: [&str; 12] = [
    "rand",
    "uuid",
    "uuid_short",
    "uuid_v4",
    "uuid_v7",
    "sys_guid",
    "random_bytes",
    "sysdate",
    "connection_id",
    "nextval",
    "get_lock",
    "release_lock",
];
/// Functions that depend on earlier statements of the connection.
const REMEMBERING: [&str; 4] = ["last_insert_id", "found_rows", "row_count", "lastval"];

/// A table or a view.
struct Table {
    database: String,
    name: String,
    /// `None` for a view.
    engine: Option<String>,
    is_view: bool,
}

/// Refuses a query that has another meaning on another connection, or that contains code in a comment, which only the
/// server reads.
pub(super) fn check_alone(query: &str, dialect: Dialect) -> Result<(), Error> {
    let hidden = |token: Token<'_>| {
        token.kind == TokenKind::Comment && ["/*!", "/*M!"].iter().any(|start| token.text.starts_with(start))
    };
    if tokens(query, dialect).any(hidden) {
        return Err(text::refused("it has code in a comment, /*! … */"));
    }
    if has_user_variables(query, dialect) {
        return Err(text::refused("variables such as @x are each connection's own"));
    }
    match called(&names(query, dialect), &REMEMBERING) {
        Some(name) => Err(text::refused(&format!("{name} depends on earlier statements of one connection"))),
        None => Ok(()),
    }
}

/// The first of these functions that is called.
fn called<'a>(names: &'a [Name], functions: &[&str]) -> Option<&'a str> {
    let is = |name: &&Name| name.called && functions.iter().any(|function| name.name.eq_ignore_ascii_case(function));
    names.iter().find(is).map(|name| name.name.as_str())
}

fn once(what: &str) -> Error {
    text::refused(&format!("{what}, so that a row could be in two parts or in none"))
        .with_hint("pass consistent=False if that does not matter, or read without partition_num")
}

impl MysqlConnection {
    /// Refuses a query of which parts may see different rows although all have the same snapshot.
    pub(super) fn check_repeatable(&self, query: &str, keep: ContinueCheck<'_>) -> Result<(), Error> {
        self.check_texts(query, true, keep)
    }

    /// Refuses a query that reads data outside of the snapshot, or data of one connection.
    pub(super) fn check_covered(&self, query: &str, keep: ContinueCheck<'_>) -> Result<(), Error> {
        self.check_texts(query, false, keep)
    }

    /// Checks a query and the views in it.
    fn check_texts(&self, query: &str, steady: bool, keep: ContinueCheck<'_>) -> Result<(), Error> {
        check_alone(query, self.dialect())?;
        let mut texts = vec![query.to_owned()];
        let mut seen = HashSet::new();
        while let Some(text) = texts.pop() {
            let names = names(&text, self.dialect());
            if steady {
                if let Some(name) = called(&names, &UNSTEADY) {
                    return Err(once(&format!("{name} gives another value in each part")));
                }
                self.check_functions(&names, keep)?;
            }
            for table in self.tables(&names, keep)? {
                let full = format!("{}.{}", table.database, table.name);
                if !seen.insert(full.clone()) {
                    continue;
                }
                if table.is_view {
                    // If the user may not see the tables of a view, the plan is hidden too.
                    self.ask(&format!("EXPLAIN {query}"), keep).map_err(|error| match error.kind() {
                        ErrorKind::Database => hidden(&full).with_cause(error),
                        _ => error,
                    })?;
                    texts.push(self.definition(&table, &full, keep)?);
                } else if !table.engine.as_deref().is_some_and(|engine| ENGINES.contains(&engine)) {
                    let engine = table.engine.as_deref().unwrap_or("none");
                    let why = format!("table {full} has no snapshots (its engine is {engine}), but only InnoDB's have");
                    return Err(text::refused(&why).with_hint(CONSISTENT));
                }
            }
        }
        Ok(())
    }

    /// The tables and views that the names may mean.
    fn tables(&self, names: &[Name], keep: ContinueCheck<'_>) -> Result<Vec<Table>, Error> {
        // For each single name the server uses a lookup. For a list of names it would search the whole database.
        let mut lookups = Vec::new();
        for name in names.iter().filter(|name| name.read && !name.called) {
            let own = system_view(name);
            lookups.extend(places(std::iter::once(name), "table").into_iter().chain(own).map(|place| {
                format!(
                    "SELECT table_schema, table_name, table_type, engine FROM information_schema.tables WHERE {place}"
                )
            }));
        }
        if lookups.is_empty() {
            return Ok(Vec::new());
        }
        let answer = self.ask(&lookups.join(" UNION ALL "), keep)?;
        let text = |row, column| answer.text(row, column).map(str::to_owned);
        let table = |row| Table {
            database: text(row, 0).unwrap_or_default(),
            name: text(row, 1).unwrap_or_default(),
            engine: text(row, 3),
            is_view: answer.text(row, 2) == Some("VIEW"),
        };
        Ok((0..answer.rows.len()).map(table).collect())
    }

    fn definition(&self, view: &Table, full: &str, keep: ContinueCheck<'_>) -> Result<String, Error> {
        let (database, name) = (string(&view.database), string(&view.name));
        let answer = self.ask(
            &format!(
                "SELECT view_definition FROM information_schema.views \
                 WHERE table_schema = {database} AND table_name = {name}"
            ),
            keep,
        )?;
        match answer.text(0, 0) {
            Some(definition) if !definition.is_empty() => Ok(definition.to_owned()),
            _ => Err(hidden(full)),
        }
    }

    /// Refuses stored functions that are not declared DETERMINISTIC.
    fn check_functions(&self, names: &[Name], keep: ContinueCheck<'_>) -> Result<(), Error> {
        let places = places(names.iter().filter(|name| name.called), "routine");
        if places.is_empty() {
            return Ok(());
        }
        let answer = self.ask(
            &format!(
                "SELECT routine_name FROM information_schema.routines WHERE is_deterministic = 'NO' AND ({})",
                places.join(" OR ")
            ),
            keep,
        )?;
        match answer.text(0, 0) {
            Some(name) => Err(once(&format!("the function {name} is not declared DETERMINISTIC"))),
            None => Ok(()),
        }
    }
}

fn hidden(view: &str) -> Error {
    text::refused(&format!("the user may not see what the view {view} reads"))
        .with_hint(format!("grant SHOW VIEW and SELECT on what it reads to the user, or {CONSISTENT}"))
}

fn string(text: &str) -> String {
    quote::string(text, Dialect::MYSQL)
}

/// The condition that finds a view of MySQL's own: it takes their names in any case, and lists them in capitals.
fn system_view(name: &Name) -> Option<String> {
    let is_current = match name.database.as_deref() {
        None => " AND DATABASE() = 'information_schema'",
        Some(database) if database.eq_ignore_ascii_case("information_schema") => "",
        Some(_) => return None,
    };
    Some(format!("table_schema = 'information_schema' AND table_name = UPPER({}){is_current}", string(&name.name)))
}

/// Conditions that find the named objects, each in its own database or in the current one.
fn places<'a>(names: impl Iterator<Item = &'a Name>, kind: &str) -> Vec<String> {
    names
        .map(|name| {
            let database = name.database.as_deref().map_or_else(|| "DATABASE()".to_owned(), string);
            format!("{kind}_schema = {database} AND {kind}_name = {}", string(&name.name))
        })
        .collect()
}
