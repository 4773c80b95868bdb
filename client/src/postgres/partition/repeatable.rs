//! Whether several runs of a query over one state see the same rows.

use colonnade_sql::{Dialect, TokenKind, code, quote};

use crate::partition::key::unsupported;
use crate::partition::text;
use crate::postgres::session::PostgresConnection;
use crate::{ContinueCheck, Error};

/// The foreign tables that this transaction has locked, also those behind views and in partitioned tables. Other
/// servers and files do not take part in a snapshot.
const FOREIGN: &str = "\
    SELECT pg_catalog.string_agg(DISTINCT c.oid::pg_catalog.regclass::pg_catalog.text, ', ') \
    FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_class c ON c.oid = l.relation \
    WHERE l.pid = pg_catalog.pg_backend_pid() AND c.relkind = 'f'";

/// Functions and words that return the start time of a transaction or statement, and whether they are called as
/// functions.
const CLOCKS: [(&str, bool); 9] = [
    ("now", true),
    ("transaction_timestamp", true),
    ("statement_timestamp", true),
    ("age", true),
    ("current_timestamp", false),
    ("current_date", false),
    ("current_time", false),
    ("localtimestamp", false),
    ("localtime", false),
];

impl PostgresConnection {
    /// Refuses foreign tables, after the query has been described: each part would read them at a time of its own.
    pub(super) fn check_local(&self, repeatable: bool, keep: ContinueCheck<'_>) -> Result<(), Error> {
        let found = self.ask(FOREIGN, keep)?;
        let Some(tables) = found.text(0, 0) else { return Ok(()) };
        let hint = if repeatable {
            "copy them into a table of this database"
        } else {
            "pass consistent=False if their rows do not change meanwhile, or read without partition_num"
        };
        let message =
            format!("no snapshot covers foreign tables, so that a row could be in two parts or in none: {tables}");
        Err(unsupported(&message).with_hint(hint))
    }

    /// Refuses a query with a function that is not deterministic, such as random(): a row could be in two parts or in
    /// none. The same applies to a key that is computed from the time.
    pub(super) fn check_repeatable(&self, query: &str, computed: bool, keep: ContinueCheck<'_>) -> Result<(), Error> {
        let (effect, hint) = (
            "so that a row could be in two parts or in none",
            "pass consistent=False if that does not matter, or read without partition_num",
        );
        self.check_functions(query, computed.then_some("its key is computed and "), effect, hint, keep)
    }

    /// Refuses the same functions and the time, because each reader would get another value. The plan has what views
    /// and functions in SQL hide from the text.
    pub(super) fn check_again(&self, query: &str, keep: ContinueCheck<'_>) -> Result<(), Error> {
        let plan = self.ask(&format!("EXPLAIN (VERBOSE, COSTS OFF) {query}"), keep)?;
        let plan: Vec<_> = (0..plan.rows.len()).filter_map(|row| plan.text(row, 0)).collect();
        let hint = "pass such a value as a parameter, or write it into a table";
        let effect = "so that each reader would get another one";
        self.check_functions(&format!("{query}\n{}", plan.join("\n")), Some(""), effect, hint, keep)
    }

    /// Refuses functions that are not deterministic, and the time if there is a reason.
    fn check_functions(
        &self,
        query: &str,
        timed: Option<&str>,
        effect: &str,
        hint: &str,
        keep: ContinueCheck<'_>,
    ) -> Result<(), Error> {
        let Some(words) = words(query) else {
            return Err(text::refused("it has a name in the form U&\"…\", which is not read here")
                .with_hint("write the name in plain double quotes"));
        };
        let has = |expected: &str| words.iter().any(|(word, _)| word == expected);
        let tells = |clock: &(&str, bool)| words.iter().any(|(word, called)| word == clock.0 && (*called || !clock.1));
        let once = |what: &str| Err(text::refused(&format!("{what}, {effect}")).with_hint(hint));
        if has("tablesample") && !has("repeatable") {
            return once("TABLESAMPLE takes other rows each time");
        }
        if let (Some(why), Some(clock)) = (timed, CLOCKS.iter().find(|clock| tells(clock))) {
            return once(&format!("{why}{} gives another time in each part", clock.0));
        }
        let list = |called: bool| {
            let names = words
                .iter()
                .filter(|(_, call)| *call == called)
                .map(|(word, _)| quote::string(word, Dialect::POSTGRES));
            format!("ARRAY[{}]::pg_catalog.text[]", names.collect::<Vec<_>>().join(", "))
        };
        let volatile = self.ask(
            &format!(
                "SELECT pg_catalog.string_agg(DISTINCT p.proname, ', ') FROM pg_catalog.pg_proc p \
                 JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
                 WHERE p.provolatile = 'v' AND p.proname = ANY ({}) \
                 AND (pg_catalog.pg_function_is_visible(p.oid) OR n.nspname = ANY ({}))",
                list(true),
                list(false),
            ),
            keep,
        )?;
        match volatile.text(0, 0) {
            Some(functions) => once(&format!("it uses what may give another value each time: {functions}")),
            None => Ok(()),
        }
    }
}

/// The names in a query as the database reads them, and whether each is called as a function; `None` if a name cannot
/// be read here.
fn words(query: &str) -> Option<Vec<(String, bool)>> {
    let mut tokens = code(query, Dialect::POSTGRES).peekable();
    let mut words = Vec::new();
    while let Some(token) = tokens.next() {
        let word = match token.kind {
            TokenKind::Word => token.text.to_lowercase(),
            TokenKind::Name => token.name()?.into_owned(),
            _ => continue,
        };
        words.push((word, tokens.peek().is_some_and(|next| next.is_symbol(b'('))));
    }
    words.sort_unstable();
    words.dedup();
    Some(words)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn calls_are_told_from_columns() {
        let words = words("select Random /* x */ (), random, s.\"Odd \"\"f\"(1), 'g()' from t").unwrap();
        let called: Vec<_> = words.iter().filter(|(_, called)| *called).map(|(word, _)| word.as_str()).collect();
        assert_eq!(called, ["Odd \"f", "random"]);
        assert!(words.contains(&("random".to_owned(), false)) && words.contains(&("s".to_owned(), false)));
        assert!(!words.iter().any(|(word, _)| word.contains('g')));
        assert_eq!(super::words("select U&\"r\\0061ndom\"()"), None);
    }
}
