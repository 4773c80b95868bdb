//! Whether several runs of a query over one state see the same rows.

use crate::partition::text;
use crate::postgres::connection::PostgresConnection;
use crate::postgres::request::string;
use crate::scan::{Token, tokens};
use crate::{Dialect, Error, Keep};

/// Functions and words that give the time at which a transaction or statement began.
const CLOCKS: [&str; 9] = [
    "now",
    "transaction_timestamp",
    "statement_timestamp",
    "age",
    "current_timestamp",
    "current_date",
    "current_time",
    "localtimestamp",
    "localtime",
];

impl PostgresConnection {
    /// Refuses a query that names a function which gives another value each time, such as random(): a row could move from part to
    /// part, and be read twice or never. So could one whose key is computed from the time.
    pub(super) fn check_repeatable(&self, query: &str, computed: bool, keep: Keep<'_>) -> Result<(), Error> {
        let words = words(query);
        let has = |expected: &str| words.iter().any(|(word, _)| word == expected);
        let once = |what: &str| {
            Err(text::refused(&format!("{what}, so that a row could be in two parts or in none"))
                .with_hint("pass consistent=False if that does not matter, or read without partition_num"))
        };
        if has("tablesample") && !has("repeatable") {
            return once("TABLESAMPLE takes other rows each time");
        }
        if let Some(clock) = CLOCKS.iter().find(|clock| computed && has(clock)) {
            return once(&format!("its key is computed and {clock} gives another time in each part"));
        }
        let list = |called: bool| {
            let names = words.iter().filter(|(_, call)| *call == called).map(|(word, _)| string(word));
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

/// The names in a query as the database knows them, and whether each is called as a function.
fn words(query: &str) -> Vec<(String, bool)> {
    let mut tokens = tokens(query, Dialect::Postgres).filter(|token| !matches!(token, Token::Blank(_))).peekable();
    let mut words = Vec::new();
    while let Some(token) = tokens.next() {
        let word = match token {
            Token::Code(text) => text.to_lowercase(),
            Token::Quoted(text) => match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
                Some(name) => name.replace("\"\"", "\""),
                None => continue,
            },
            _ => continue,
        };
        words.push((word, tokens.peek() == Some(&Token::Code("("))));
    }
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_from_columns() {
        let words = words("select Random /* x */ (), random, s.\"Odd \"\"f\"(1), 'g()' from t");
        let called: Vec<_> = words.iter().filter(|(_, called)| *called).map(|(word, _)| word.as_str()).collect();
        assert_eq!(called, ["Odd \"f", "random"]);
        assert!(words.contains(&("random".to_owned(), false)) && words.contains(&("s".to_owned(), false)));
        assert!(!words.iter().any(|(word, _)| word.contains('g')));
    }
}
