//! `numeric` without digits. DuckDB would keep three digits behind the point. A column gets a decimal that refuses what it
//! would have to round (`colonnade_server::value::unconstrained`), and a cast one that rounds, because most casts to
//! `numeric` are of doubles.

use colonnade_server::value::unconstrained::NAME;
use colonnade_sql::edit::Edits;
use colonnade_sql::{Dialect, Reading, Token, TokenKind};

use crate::created_list::{CreatedList, created};

/// The type of a cast.
const CAST: &str = "DECIMAL(38,10)";

const NAMES: [&str; 3] = ["numeric", "decimal", "dec"];

/// The changes of a statement. Literals with such a cast have their own digits already (`literal`).
pub(crate) fn edits(statement: &Reading<'_>) -> Edits {
    let (mut edits, tokens) = (Edits::default(), statement.tokens());
    let is_numeric = |token: &Token<'_>| token.is_one_of_names(&NAMES);
    if !tokens.iter().any(is_numeric) {
        return edits;
    }
    let mut places = Places::of(tokens);
    for (at, token) in tokens.iter().enumerate() {
        let type_ = places.next(at);
        let is_open = !tokens.get(at + 1).is_some_and(|next| next.is_symbol(b'(') || next.is_symbol(b'.'));
        if let Some(own) = type_
            && is_open
            && is_numeric(token)
        {
            edits.replace(token.range(), own);
        }
    }
    edits
}

/// A type as a definition has it, in which `numeric` without digits is that of a column.
pub fn with_digits(type_: &str) -> String {
    const BEFORE: &str = "CREATE TYPE t AS ";
    let statement = format!("{BEFORE}{type_}");
    let edited = edits(&Reading::new(&statement, Dialect::DuckDb)).apply(&statement).text;
    edited.strip_prefix(BEFORE).unwrap_or(type_).to_owned()
}

/// What is in a pair of parentheses, and what takes the place of `numeric` there.
#[derive(Clone, Copy)]
enum Inside {
    /// Columns of a table, or fields of a row or a union: a name, a type, and more.
    Columns(&'static str),
    /// The types of a map's keys and values.
    Map(&'static str),
    /// CAST.
    Cast,
    Other,
}

/// Finds the types of a statement, token by token.
struct Places<'s, 't> {
    tokens: &'t [Token<'s>],
    /// The parentheses that are open.
    open: Vec<Inside>,
    /// The list of CREATE.
    list: Option<usize>,
    is_altered: bool,
    is_type: bool,
    /// What takes the place of a type at the token before.
    before: Option<&'static str>,
}

impl<'s, 't> Places<'s, 't> {
    fn of(tokens: &'t [Token<'s>]) -> Self {
        let list = CreatedList::find(tokens).map(|list| list.open);
        let is_type = created(tokens).is_some_and(|kind| kind.is_word("type"));
        let is_altered = matches!(tokens, [one, two, ..] if one.is_word("alter") && two.is_word("table"));
        Self { tokens, open: Vec::new(), list, is_altered, is_type, before: None }
    }

    /// What takes the place of `numeric` at `at`, if a type is there.
    fn next(&mut self, at: usize) -> Option<&'static str> {
        let of_token_before = self.before;
        self.before = self.type_at(at);
        match self.tokens[at].kind {
            TokenKind::Symbol(b'(') => {
                let name = at.checked_sub(1).map(|before| &self.tokens[before]);
                let is = |names: &[&str]| name.is_some_and(|name| name.is_one_of(names));
                self.open.push(match of_token_before {
                    _ if self.list == Some(at) => Inside::Columns(NAME),
                    Some(own) if is(&["struct", "row", "union"]) => Inside::Columns(own),
                    Some(own) if is(&["map"]) => Inside::Map(own),
                    _ if is(&["cast", "try_cast"]) => Inside::Cast,
                    _ => Inside::Other,
                });
            }
            TokenKind::Symbol(b')') => drop(self.open.pop()),
            _ => {}
        }
        self.before
    }

    /// [`Places::next`], by what stands before.
    fn type_at(&self, at: usize) -> Option<&'static str> {
        let begins = |token: &Token<'_>| token.is_symbol(b'(') || token.is_symbol(b',');
        let [.., before, last] = self.tokens.get(..at)? else { return None };
        if before.is_symbol(b':') && last.is_symbol(b':') {
            return Some(CAST);
        }
        match self.open.last() {
            Some(Inside::Columns(own)) => (begins(before) && last.is_identifier()).then_some(*own),
            Some(Inside::Map(own)) => begins(last).then_some(*own),
            Some(Inside::Cast) => last.is_word("as").then_some(CAST),
            Some(Inside::Other) => None,
            None if self.is_type => last.is_word("as").then_some(NAME),
            None if self.is_altered => {
                let is_added = last.is_identifier()
                    && before.is_one_of(&["add", "column", "exists"])
                    && !last.is_one_of(&["column", "constraint", "if"]);
                (last.is_word("type") || is_added).then_some(NAME)
            }
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_digits_of_columns() {
        for (given, expected) in [
            ("numeric", "@"),
            ("\"numeric\"[]", "@[]"),
            ("struct(a dec, b map(text, decimal(9, 2)))", "struct(a @, b map(text, decimal(9, 2)))"),
            ("bigint", "bigint"),
            ("price numeric", "price numeric"),
        ] {
            assert_eq!(with_digits(given), expected.replace('@', NAME));
        }
    }

    fn edited(statement: &str) -> String {
        edits(&Reading::new(statement, Dialect::DuckDb)).apply(statement).text.into_owned()
    }

    #[test]
    fn columns_have_the_servers_type_and_casts_duckdbs() {
        for (statement, expected) in [
            ("create table t (a numeric)", "create table t (a @)"),
            (
                "CREATE TEMP TABLE IF NOT EXISTS s.t (\"a\" DECIMAL NOT NULL, b dec[] DEFAULT '{}', c numeric(9, 2))",
                "CREATE TEMP TABLE IF NOT EXISTS s.t (\"a\" @ NOT NULL, b @[] DEFAULT '{}', c numeric(9, 2))",
            ),
            (
                "create table t (numeric int, decimal numeric, check (decimal > numeric and f(1, dec)))",
                "create table t (numeric int, decimal @, check (decimal > numeric and f(1, dec)))",
            ),
            (
                "create table t (\"numeric\" int, b \"numeric\"[], c \"NUMERIC\" default 1::\"numeric\")",
                "create table t (\"numeric\" int, b @[], c @ default 1::%)",
            ),
            ("alter table t alter \"numeric\" type \"numeric\"", "alter table t alter \"numeric\" type @"),
            ("create table t (a struct(x numeric, y int))", "create table t (a struct(x @, y int))"),
            ("create table t (a map(text, numeric))", "create table t (a map(text, @))"),
            (
                "create table t (a struct(x int, y map(text, union(i numeric[], j row(k decimal))))[], b numeric)",
                "create table t (a struct(x int, y map(text, union(i @[], j row(k @))))[], b @)",
            ),
            (
                "select a::struct(b numeric, c map(text, dec))[], cast(f(x, numeric) as struct(d numeric)), g(y, numeric)",
                "select a::struct(b %, c map(text, %))[], cast(f(x, numeric) as struct(d %)), g(y, numeric)",
            ),
            ("create type money_of_shop as numeric", "create type money_of_shop as @"),
            ("create type s.rows_of_shop as struct(a numeric)[]", "create type s.rows_of_shop as struct(a @)[]"),
            ("alter table t add column a struct(b numeric)[]", "alter table t add column a struct(b @)[]"),
            ("create table t (a int default (x::numeric))", "create table t (a int default (x::%))"),
            (
                "create table t as select a numeric, (b, dec) from u",
                "create table t as select a numeric, (b, dec) from u",
            ),
            ("create type c as (a numeric, b text)", "create type c as (a @, b text)"),
            ("alter table t add a numeric", "alter table t add a @"),
            (
                "alter table t add column if not exists a numeric default 1",
                "alter table t add column if not exists a @ default 1",
            ),
            ("alter table t alter a type numeric using a::numeric", "alter table t alter a type @ using a::%"),
            (
                "alter table t alter column numeric set data type numeric",
                "alter table t alter column numeric set data type @",
            ),
            ("alter table t add column numeric int", "alter table t add column numeric int"),
            ("alter table t rename numeric to decimal", "alter table t rename numeric to decimal"),
            (
                "create view v as select a::numeric, cast(b as decimal), c as dec",
                "create view v as select a::%, cast(b as %), c as dec",
            ),
            (
                "select numeric, t.numeric, (select max(a) as numeric)",
                "select numeric, t.numeric, (select max(a) as numeric)",
            ),
            (
                "select try_cast((a) as numeric[]), a::numeric(3), \"numeric\"",
                "select try_cast((a) as %[]), a::numeric(3), \"numeric\"",
            ),
        ] {
            assert_eq!(edited(statement), expected.replace('@', NAME).replace('%', CAST));
        }
    }
}
