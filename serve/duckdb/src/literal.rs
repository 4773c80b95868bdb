//! Rewrites literals in PostgreSQL's text form, such as `'\x00ff'::bytea` and `'{1,NULL}'::int4[]`. Clients that write
//! values into the statement send them (psycopg 2, psycopg's `ClientCursor`, pgx's simple protocol).
//!
//! DuckDB reads the first as another value and refuses the second, so both are rewritten in DuckDB's form. A literal
//! that PostgreSQL would refuse is not changed.

mod open;

use std::ops::Range;

use colonnade_server::parameter::{ParameterValue, from_text};
use colonnade_server::value::keyed::KeyedType;
use colonnade_server::value::types::{Type, TypeKind};
use colonnade_sql::edit::Edits;
use colonnade_sql::{Dialect, Reading, Token, TokenKind, quote};

pub use self::open::{is_open, may_be_open, row_casts, typed};

use self::open::is_row;
use crate::cast::cast as cast_name;
use crate::types;

/// The changes that put such literals into DuckDB's form.
pub fn edits(reading: &Reading<'_>) -> Edits {
    let (mut edits, statement) = (Edits::default(), reading.text());
    if !statement.contains('\'') {
        return edits;
    }
    let tokens = reading.tokens();
    for (at, literal) in tokens.iter().enumerate().filter(|(at, _)| may_have_type(tokens, *at)) {
        let Some(value) = literal.string(Dialect::DuckDb) else { continue };
        if let Some((place, bytes)) = bytes_with_type_before(tokens, at, &value) {
            edits.replace(place, bytes);
        } else if let Some((place, exact)) = with_type_before(statement, tokens, at, &value) {
            edits.replace(place, exact);
        } else if let Some(list) = default_list(tokens, at, &value) {
            edits.replace(literal.range(), list);
        } else if let Some((place, list)) = quantified_list(tokens, at, &value) {
            edits.replace(place, list);
        } else if let Some((translated, end)) = cast(statement, &value, &tokens[at + 1..]) {
            edits.replace(literal.start..end, translated);
        }
    }
    edits
}

/// Whether a type or a quantifier stands beside a token, by its neighbours alone.
fn may_have_type(tokens: &[Token<'_>], at: usize) -> bool {
    let (before, after) =
        (at.checked_sub(1).map(|before| tokens[before].kind), tokens.get(at + 1).map(|next| next.kind));
    matches!(before, Some(TokenKind::Word | TokenKind::Name | TokenKind::Symbol(b'(')))
        || after == Some(TokenKind::Symbol(b':'))
}

/// A literal with its cast in DuckDB's SQL, and the byte after the cast. `rest` are the tokens after the literal.
fn cast(statement: &str, value: &str, rest: &[Token<'_>]) -> Option<(String, usize)> {
    let [colon, second, type_ @ ..] = rest else { return None };
    let is_cast = [colon, second].iter().all(|token| token.kind == TokenKind::Symbol(b':'));
    is_cast.then(|| of_type(statement, value, type_)).flatten()
}

/// A literal of a type in DuckDB's SQL, and the byte after the type. `type_` begins with the type.
fn of_type(statement: &str, value: &str, type_: &[Token<'_>]) -> Option<(String, usize)> {
    let name = type_.first().filter(|name| name.is_identifier())?;
    let item = type_name_length(type_);
    let (dimensions, end) = brackets(&type_[item..]);
    // `bytea` is PostgreSQL's name. A literal that is cast to DuckDB's name, BLOB, is in DuckDB's text form already.
    let is_bytes = name.is_one_of_names(&["bytea"]);
    if dimensions == 0 && !is_bytes {
        return exact_cast(value, &type_[..item]).map(|cast| (cast, type_[item - 1].end()));
    }
    if dimensions == 0 {
        let is_hexadecimal = is_bytes && value.starts_with("\\x");
        let value = is_hexadecimal.then(|| from_text(&types::named("BLOB"), value).ok())??;
        return Some((expression(&value), name.end()));
    }
    let item_type = types::named(if is_bytes { "BLOB" } else { "VARCHAR" });
    let list = Type::list_of(item_type);
    let value = value.trim_ascii_start().starts_with('{').then(|| from_text(&list, value).ok())??;
    // The form of rows depends on the attributes of their type (`typed`).
    if has_rows(&value) && !name.is_one_of_names(&TEXTS) && KeyedType::of_name(&name.folded()).is_none() {
        return None;
    }
    let item_name = &statement[name.start..type_[item - 1].end()];
    // PostgreSQL's type of an array does not have the number of dimensions.
    let suffix = "[]".repeat(dimensions.max(value.dimensions()));
    Some((format!("CAST({} AS {item_name}{suffix})", expression(&value)), end))
}

/// Types whose values are texts in any form.
const TEXTS: [&str; 7] = ["text", "varchar", "character", "char", "bpchar", "name", "string"];

fn has_rows(value: &ParameterValue) -> bool {
    match value {
        ParameterValue::List(items) => items.iter().any(has_rows),
        ParameterValue::Text(text) => is_row(text),
        _ => false,
    }
}

/// A literal in `CAST('{1}' AS int[])` or `numeric '1.2345'`: the replaced bytes and the new text.
fn with_type_before(statement: &str, tokens: &[Token<'_>], at: usize, value: &str) -> Option<(Range<usize>, String)> {
    let before = at.checked_sub(1)?;
    if tokens[before].is_identifier() {
        return Some((tokens[before].start..tokens[at].end(), exact_cast(value, &tokens[before..at])?));
    }
    let cast = before.checked_sub(1).filter(|cast| tokens[before].is_symbol(b'(') && tokens[*cast].is_word("cast"))?;
    let type_ = tokens.get(at + 2..).filter(|_| tokens[at + 1].is_word("as"))?;
    let (translated, end) = of_type(statement, value, type_)?;
    let close = type_.iter().find(|token| token.start >= end).filter(|close| close.is_symbol(b')'))?;
    Some((tokens[cast].start..close.end(), translated))
}

/// The list of the default of a column of arrays, such as `tags text[] NOT NULL DEFAULT '{}'`. DuckDB casts it to the
/// column's type when it inserts a row.
fn default_list(tokens: &[Token<'_>], at: usize, value: &str) -> Option<String> {
    let (default, before) = tokens.get(..at)?.split_last()?;
    let is_after_type =
        before.iter().rev().find(|token| !token.is_one_of(&["not", "null"])).is_some_and(|last| last.is_symbol(b']'));
    if !default.is_word("default") || !is_after_type || !value.trim_ascii_start().starts_with('{') {
        return None;
    }
    from_text(&Type::list_of(types::named("VARCHAR")), value).ok().map(|list| expression(&list))
}

/// The cast of a literal that DuckDB would refuse or round: of a date, a time or an interval in PostgreSQL's form, or to
/// `numeric` without digits, of which DuckDB would keep three.
fn exact_cast(value: &str, type_: &[Token<'_>]) -> Option<String> {
    let type_ = postgres_type(type_)?;
    let read = from_text(&type_, value).ok()?;
    let name = cast_name(&type_, &read).ok()?;
    let is_number = matches!(type_.kind, TypeKind::Numeric(_));
    // Without digits there is neither a number that is not finite nor one that is too long.
    let is_changed = if is_number { name != "DOUBLE" } else { read != ParameterValue::Text(value.to_owned()) };
    is_changed.then(|| format!("CAST({} AS {name})", expression(&read)))
}

/// The type of these words, if it is one of those.
fn postgres_type(words: &[Token<'_>]) -> Option<Type> {
    let [name, more @ ..] = words else { return None };
    let is_zoned = match more {
        [] => false,
        [with, time, zone] if time.is_word("time") && zone.is_word("zone") => with.is_word("with"),
        _ => return None,
    };
    let name = match &*name.folded().to_ascii_lowercase() {
        "timestamp" if is_zoned => "TIMESTAMP WITH TIME ZONE",
        "time" if is_zoned => "TIME WITH TIME ZONE",
        "timestamp" => "TIMESTAMP",
        "time" => "TIME",
        _ if !more.is_empty() => return None,
        "timestamptz" => "TIMESTAMP WITH TIME ZONE",
        "timetz" => "TIME WITH TIME ZONE",
        "date" => "DATE",
        "interval" => "INTERVAL",
        "numeric" | "decimal" | "dec" => types::DECIMAL,
        _ => return None,
    };
    Some(types::named(name))
}

/// A literal in `CAST('\x00' AS bytea)` or `bytea '\x00'`: the replaced bytes and the new text.
fn bytes_with_type_before(tokens: &[Token<'_>], at: usize, value: &str) -> Option<(Range<usize>, String)> {
    let token = |at: Option<usize>| at.and_then(|at| tokens.get(at));
    let is = |at, word| token(at).is_some_and(|token| token.is_word(word));
    let is_bytea = |at| token(at).is_some_and(|token| token.is_one_of_names(&["bytea"]));
    let opens = at.checked_sub(1).is_some_and(|before| tokens[before].is_symbol(b'('));
    let is_cast = opens && is(at.checked_sub(2), "cast") && is(Some(at + 1), "as") && is_bytea(Some(at + 2));
    let is_named = is_bytea(at.checked_sub(1));
    let value =
        (value.starts_with("\\x") && (is_cast || is_named)).then(|| from_text(&types::named("BLOB"), value).ok())??;
    let start = if is_named { tokens[at - 1].start } else { tokens[at].start };
    Some((start..tokens[at].end(), expression(&value)))
}

/// Rewrites `= ANY ('{…}')` and `<> ALL ('{…}')` with the array at `at` as IN and NOT IN. There DuckDB gives the items
/// the type of the value to which they are compared. Gives the replaced bytes and the new text.
fn quantified_list(tokens: &[Token<'_>], at: usize, value: &str) -> Option<(Range<usize>, String)> {
    let close = tokens.get(at + 1).filter(|token| token.is_symbol(b')'))?;
    let [.., before, sign, quantifier, open] = tokens.get(..at)? else { return None };
    if open.kind != TokenKind::Symbol(b'(') {
        return None;
    }
    let is_any = quantifier.is_word("any") || quantifier.is_word("some");
    let is = |token: &Token<'_>, symbol| token.is_symbol(symbol);
    let (word, start) = match (is(before, b'<') || is(before, b'!'), is_any, quantifier.is_word("all")) {
        (true, false, true) if is(sign, b'=') && is(before, b'!') => ("NOT IN", before.start),
        (true, false, true) if is(sign, b'>') && is(before, b'<') => ("NOT IN", before.start),
        (false, true, false) if is(sign, b'=') && !is(before, b'>') => ("IN", sign.start),
        _ => return None,
    };
    let list = Type::list_of(types::named("VARCHAR"));
    let ParameterValue::List(items) =
        value.trim_ascii_start().starts_with('{').then(|| from_text(&list, value).ok())??
    else {
        return None;
    };
    let items: Vec<_> = items.iter().map(expression).collect();
    let items = if items.is_empty() { "SELECT NULL WHERE false".to_owned() } else { items.join(", ") };
    Some((start..close.end(), format!("{word} ({items})")))
}

/// The number of tokens of a type's name, such as `double precision` and `numeric(9, 2)`, without brackets.
fn type_name_length(tokens: &[Token<'_>]) -> usize {
    const MORE: [&str; 6] = ["precision", "varying", "with", "without", "time", "zone"];
    let words = |at: usize| tokens[at..].iter().take_while(|token| MORE.iter().any(|word| token.is_word(word))).count();
    let mut length = 1 + words(1);
    if tokens.get(length).is_some_and(|token| token.is_symbol(b'(')) {
        // Only numbers and commas are scanned. Otherwise each unclosed parenthesis would be searched up to the end of
        // the statement.
        let is_modifier = |token: &&Token<'_>| matches!(token.kind, TokenKind::Number | TokenKind::Symbol(b',' | b'-'));
        let close = length + 1 + tokens[length + 1..].iter().take_while(is_modifier).count();
        if tokens.get(close).is_some_and(|token| token.is_symbol(b')')) {
            length = close + 1;
            length += words(length);
        }
    }
    length
}

/// The number of pairs of brackets at the beginning, and the byte after the last pair.
fn brackets(tokens: &[Token<'_>]) -> (usize, usize) {
    let is = |at: usize, symbol: u8| tokens.get(at).is_some_and(|token| token.is_symbol(symbol));
    let (mut count, mut at, mut end) = (0, 0, 0);
    while is(at, b'[') {
        at += 1 + usize::from(tokens.get(at + 1).is_some_and(|token| token.kind == TokenKind::Number));
        if !is(at, b']') {
            break;
        }
        end = tokens[at].end();
        (count, at) = (count + 1, at + 1);
    }
    (count, end)
}

fn expression(value: &ParameterValue) -> String {
    match value {
        // `from_text` never gives `Sent`.
        ParameterValue::Null | ParameterValue::Sent { .. } => "NULL".to_owned(),
        ParameterValue::Text(text) => quote::string(text, Dialect::DuckDb),
        ParameterValue::Bytes(bytes) => {
            let mut digits = String::with_capacity(2 * bytes.len());
            quote::push_hexadecimal(&mut digits, bytes);
            format!("system.main.unhex('{digits}')")
        }
        ParameterValue::List(items) => {
            let items: Vec<_> = items.iter().map(expression).collect();
            // `[…]` would call the function that the caller's search path finds.
            format!("system.main.list_value({})", items.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translate(statement: &str) -> String {
        edits(&Reading::new(statement, Dialect::DuckDb)).apply(statement).text.into_owned()
    }

    #[test]
    fn postgresqls_literals_become_the_engines() {
        for (given, expected) in [
            (r"select '\x00fF'::bytea, 1", "select system.main.unhex('00FF'), 1"),
            (r"select '\x'::bytea", "select system.main.unhex('')"),
            (r"select CAST('\x00ff' AS bytea)", "select CAST(system.main.unhex('00FF') AS bytea)"),
            (r#"select CAST('\x00ff' AS "bytea")"#, r#"select CAST(system.main.unhex('00FF') AS "bytea")"#),
            (
                r#"select '\x00ff'::"bytea", "bytea" '\x00'"#,
                "select system.main.unhex('00FF'), system.main.unhex('00')",
            ),
            (r#"select '{1}'::"int4"[]"#, r#"select CAST(system.main.list_value('1') AS "int4"[])"#),
            (r"select bytea '\x00ff', 1", "select system.main.unhex('00FF'), 1"),
            (r"select E'\\x00ff' :: bytea", "select system.main.unhex('00FF')"),
            (
                r"select '{(1)}'::text[], '{(1)}'::c[]",
                "select CAST(system.main.list_value('(1)') AS text[]), '{(1)}'::c[]",
            ),
            ("values ('{1,NULL}'::int4[])", "values (CAST(system.main.list_value('1', NULL) AS int4[]))"),
            ("select i = ANY ('{1,NULL}') from t", "select i IN ('1', NULL) from t"),
            ("select i <> all('{a}'), j != ALL('{}')", "select i NOT IN ('a'), j NOT IN (SELECT NULL WHERE false)"),
            ("select i < any('{1}'), i >= any('{1}')", "select i < any('{1}'), i >= any('{1}')"),
            ("select '-1 mon +2 days'::interval", "select CAST('-1 mon 2 days' AS INTERVAL)"),
            (
                "select '2000-01-01 00:00 +2'::timestamp with time zone, '2000-01-01'::date",
                "select CAST('2000-01-01 00:00+02' AS TIMESTAMP WITH TIME ZONE), '2000-01-01'::date",
            ),
            ("select '1:00-7:30' :: timetz", "select CAST('1:00:00-07:30' AS TIME WITH TIME ZONE)"),
            ("select CAST('1.2345' AS numeric)", "select CAST('1.2345' AS DECIMAL(5,4))"),
            ("select cast('{a}' as varchar[])", "select CAST(system.main.list_value('a') AS varchar[])"),
            ("select numeric '1.2345', a 'b'", "select CAST('1.2345' AS DECIMAL(5,4)), a 'b'"),
            ("select \"numeric\" '1.2345', \"a\" 'b'", "select CAST('1.2345' AS DECIMAL(5,4)), \"a\" 'b'"),
            ("select '1.2345'::\"Numeric\"", "select CAST('1.2345' AS DECIMAL(5,4))"),
            ("select '1000000000.12345'::numeric", "select CAST('1000000000.12345' AS DECIMAL(15,5))"),
            ("select '0'::decimal, '1.25'::numeric(4, 1)", "select CAST('0' AS DECIMAL(1,0)), '1.25'::numeric(4, 1)"),
            (
                "create table t (a text[] default '{}', b int[] not null default '{1,2}', c text default '{}')",
                "create table t (a text[] default system.main.list_value(), \
                 b int[] not null default system.main.list_value('1', '2'), c text default '{}')",
            ),
            ("select '{}'::text[]", "select CAST(system.main.list_value() AS text[])"),
            (
                "select '{{a,\"b c\"},{\"it''s\",\"\"}}'::text[] as t",
                "select CAST(system.main.list_value(system.main.list_value('a', 'b c'), system.main.list_value('it''s', '')) AS text[][]) as t",
            ),
            ("select '{1.5}'::numeric(9, 2)[]", "select CAST(system.main.list_value('1.5') AS numeric(9, 2)[])"),
            (
                "select '{1}'::double precision[] from t",
                "select CAST(system.main.list_value('1') AS double precision[]) from t",
            ),
            (
                r#"select '{"\\x0001"}'::bytea[]"#,
                "select CAST(system.main.list_value(system.main.unhex('0001')) AS bytea[])",
            ),
        ] {
            assert_eq!(translate(given), expected, "{given}");
            assert_eq!(translate(expected), expected, "{given}");
        }
    }

    #[test]
    fn other_literals_are_not_changed() {
        for statement in [
            "select 1",
            r"select '\x00ff'",
            r"select '\x00ff'::blob",
            r"select '\xAA\xBB'::bytea, '\xABC'::bytea",
            "select '{1,2'::int4[]",
            "select '{\"a\": 1}'::json",
            "select '[1]'::int4[], '{'::int4[",
            "select '{}'::int4[",
            r"'\x'::",
        ] {
            assert_eq!(translate(statement), statement);
        }
    }

    #[test]
    fn literals_get_the_form_of_their_types() {
        let statement = r"insert into t values ('\x00ff', '{a,{b}', '{a,b}', 'é', '(1,)')";
        assert!(may_be_open(statement));
        let open = |text: &str, type_name: &str| (statement.find(text).unwrap(), types::named(type_name));
        let row = "STRUCT(a INTEGER, b VARCHAR) #536891658";
        let found = [open(r"'\x00ff'", "BLOB"), open("'{a,b}'", "VARCHAR[]"), open("'(1,)'", row)];
        let edits = typed(statement, &found).unwrap();
        assert_eq!(
            edits.apply(statement).text,
            "insert into t values (system.main.unhex('00FF'), '{a,{b}', CAST((system.main.list_value('a', 'b')) AS VARCHAR[]), 'é', \
             CAST(('(\"1\", NULL)') AS STRUCT(a INTEGER, b VARCHAR)))"
        );
        assert!(typed(statement, &[open("'{a,{b}'", "VARCHAR[]")]).is_err());
        assert!(may_be_open("select $$ (1,)$$") && may_be_open("select '(1)'"));
        for statement in ["select 1", "select f('a')", r"a like b escape '\'", "values ('{\"a\": 1}', '[1]')", "'\\x"] {
            assert!(!may_be_open(statement), "{statement}");
        }
    }

    #[test]
    fn casts_of_rows_have_names_of_types() {
        let statement =
            "select '(1)'::s.\"T\"[], cast('{(1)}' as item), $$(1)$$ :: c, 'x'::c, item '(1)', f('(1)' as c)";
        let found: Vec<_> = row_casts(statement).into_iter().map(|(_, name)| name).collect();
        assert_eq!(found, ["s.\"T\"[]", "item", "c"]);
    }

    #[test]
    fn time_grows_linearly_with_the_length() {
        let statement = "'{1}'::numeric(1, ".repeat(100_000);
        assert_eq!(translate(&statement), statement);
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_statements_never_panic(given in r#"('|\\x|\{|\}|::|bytea|int4|\[|\]|\(|\)|precision|[a1," é]){0,16}"#) {
            let _ = translate(&translate(&given));
        }
    }
}
