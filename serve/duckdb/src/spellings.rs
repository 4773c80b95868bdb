//! What PostgreSQL's clients write and DuckDB has in another way:
//!
//! - digits of seconds, `timestamp(6) with time zone`, `current_timestamp(0)`. DuckDB's times have six digits. In a cast,
//!   fewer stay, and are an error, because the value would keep the digits that they leave out. A column keeps what is
//!   written into it, as DuckDB's columns of texts do whatever their lengths;
//! - functions with any number of arguments, which a macro cannot have;
//! - `json_agg` with an order or a filter (`json_aggregates`);
//! - `CREATE TYPE … AS (…)`, DuckDB's type of rows with names;
//! - `CREATE UNLOGGED TABLE`: DuckDB writes every table to its log, which is more than is asked for;
//! - literals of bytes in functions of bytes, which are macros, so that DuckDB does not know what they take;
//! - functions that give rows among the columns of a SELECT (`select_items`), and subqueries that select nothing.

use colonnade_sql::edit::Edits;
use colonnade_sql::{Reading, Token, TokenKind};

use crate::{json_aggregates, select_items};

/// The digits of all times.
const ALL: &str = "6";
/// Functions with any number of arguments, and DuckDB's.
const FUNCTIONS: [(&str, &str); 2] =
    [("json_build_array", "system.main.json_array"), ("jsonb_build_array", "system.main.json_array")];

/// Functions whose first argument is bytes (`postgres_functions.sql`).
const BYTE_FUNCTIONS: [&str; 2] = ["get_byte", "set_byte"];

/// The changes of a statement.
pub(crate) fn edits(statement: &Reading<'_>) -> Edits {
    let (mut edits, tokens) = (Edits::default(), statement.tokens());
    let are_columns = tokens.first().is_some_and(|first| first.is_one_of(&["create", "alter"]));
    if let [create, unlogged, table, ..] = tokens
        && create.is_word("create")
        && unlogged.is_word("unlogged")
        && table.is_word("table")
    {
        edits.remove(unlogged.range());
    }
    if let [create, type_, rest @ ..] = tokens
        && create.is_word("create")
        && type_.is_word("type")
        && let Some(as_) = rest.iter().position(|token| token.is_word("as"))
        && rest[..as_].iter().all(|token| token.is_symbol(b'.') || token.name().is_some())
        && let Some(open) = rest.get(as_ + 1).filter(|open| open.is_symbol(b'('))
    {
        edits.insert(open.start, "STRUCT");
    }
    for (at, group) in tokens.windows(3).enumerate() {
        let [word, open, digits] = group else { continue };
        if !open.is_symbol(b'(') || !word.is_identifier() {
            continue;
        }
        let is_qualified = at > 0 && tokens[at - 1].is_symbol(b'.');
        if !is_qualified {
            json_aggregates::call(tokens, at, &mut edits);
        }
        if let Some((_, own)) = FUNCTIONS.iter().find(|(name, _)| !is_qualified && word.is_one_of_names(&[name])) {
            edits.replace(word.range(), *own);
        }
        let is_argument = || tokens.get(at + 3).is_some_and(|next| next.is_symbol(b','));
        if word.is_one_of_names(&BYTE_FUNCTIONS) && digits.kind == TokenKind::Text && is_argument() {
            edits.insert(digits.end(), "::bytea");
        }
        let Some(close) = tokens.get(at + 3).filter(|close| close.is_symbol(b')')) else { continue };
        if digits.kind != TokenKind::Number {
            continue;
        }
        let place = open.start..close.end();
        let has_zone = || tokens.get(at + 4).is_some_and(|next| next.is_word("with"));
        if digits.text == ALL || are_columns && digits.text.len() == 1 && !is_now(word) {
            let is_type = word.is_one_of(&["timestamptz", "time", "timetz", "interval"])
                || word.is_word("timestamp") && has_zone();
            if is_type || is_now(word) {
                edits.remove(place);
            }
        } else if word.is_word("current_timestamp") && digits.text.len() == 1 {
            let seconds = format!("system.main.epoch(current_timestamp), {}", digits.text);
            edits.replace(word.start..place.end, format!("system.main.to_timestamp(system.main.round({seconds}))"));
        }
    }
    select_items::rows(tokens, &mut edits);
    select_items::nothing(tokens, &mut edits);
    edits
}

fn is_now(word: &Token<'_>) -> bool {
    word.is_one_of(&["current_timestamp", "localtimestamp", "current_time", "localtime"])
}

#[cfg(test)]
mod tests {
    use colonnade_sql::Dialect;

    use super::*;

    fn rewritten(statement: &str) -> String {
        edits(&Reading::new(statement, Dialect::DuckDb)).apply(statement).text.into_owned()
    }

    #[test]
    fn six_digits_are_those_of_all_times() {
        for (given, expected) in [
            (
                "create table t (a timestamp(6) with time zone, b TimestampTZ (6), c time(6), d time(6) with time zone)",
                "create table t (a timestamp with time zone, b TimestampTZ , c time, d time with time zone)",
            ),
            (
                "create table t (a timestamp(3) with time zone, b timestamptz(0), c time (3), d interval(2))",
                "create table t (a timestamp with time zone, b timestamptz, c time , d interval)",
            ),
            ("select localtimestamp(6), current_time(6)", "select localtimestamp, current_time"),
            ("select x::timetz(6)", "select x::timetz"),
            (
                "select current_timestamp(0)",
                "select system.main.to_timestamp(system.main.round(system.main.epoch(current_timestamp), 0))",
            ),
        ] {
            assert_eq!(rewritten(given), expected);
        }
    }

    #[test]
    fn functions_with_any_number_of_arguments_have_the_engines_names() {
        assert_eq!(
            rewritten("select json_build_array(a, b), Jsonb_Build_Array(), \"json_build_array\"(1) from t"),
            "select system.main.json_array(a, b), system.main.json_array(), system.main.json_array(1) from t"
        );
        let other = "select s.json_build_array(1), json_build_array from \"json_build_array\"";
        assert_eq!(rewritten(other), other);
    }

    #[test]
    fn an_unlogged_table_is_a_table() {
        assert_eq!(rewritten("create unlogged table t (i int)"), "create  table t (i int)");
        let other = "create table unlogged (i int)";
        assert_eq!(rewritten(other), other);
    }

    #[test]
    fn a_composite_type_is_a_type_of_rows() {
        assert_eq!(rewritten("create type s.\"T\" as (a int, b text)"), "create type s.\"T\" as STRUCT(a int, b text)");
        for other in ["create type t as enum ('a')", "create type t as struct(a int)", "create type as t (a)"] {
            assert_eq!(rewritten(other), other);
        }
    }

    #[test]
    fn literals_of_bytes_are_bytes() {
        let given = "select set_byte('x', 0, 1), pg_catalog.get_byte('\\x41', 0), get_byte(a, 0), get_bit('x', 0)";
        let expected = "select set_byte('x'::bytea, 0, 1), pg_catalog.get_byte('\\x41'::bytea, 0), get_byte(a, 0), get_bit('x', 0)";
        assert_eq!(rewritten(given), expected);
    }

    #[test]
    fn other_digits_and_names_stay() {
        for statement in [
            "select a::timestamp(3) with time zone, b::timestamp(6), c::time(3), d::timestamp(6) without time zone",
            "create table t (b timestamp(3) default f(3))",
            "select f(6), \"time\"(6), 'time(6)', time(6 + 0), current_timestamp(10)",
            "select timestamp (6",
        ] {
            assert_eq!(rewritten(statement), statement);
        }
    }
}
