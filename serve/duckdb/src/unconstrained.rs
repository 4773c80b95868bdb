//! `numeric` without digits. DuckDB would keep three digits behind the point. A column gets a decimal that refuses what it
//! would have to round (`colonnade_server::value::unconstrained`), and a cast one that rounds, because most casts to
//! `numeric` are of doubles.

use colonnade_server::value::unconstrained::NAME;
use colonnade_sql::edit::Edits;
use colonnade_sql::{Reading, Token, TokenKind, closing};

use crate::created_list::CreatedList;

/// The type of a cast.
const CAST: &str = "DECIMAL(38,10)";

/// The changes of a statement. Literals with such a cast have their own digits already (`literal`).
pub(crate) fn edits(statement: &Reading<'_>) -> Edits {
    let (mut edits, tokens) = (Edits::default(), statement.tokens());
    let columns = Columns::of(tokens);
    for (at, token) in tokens.iter().enumerate() {
        let is_open = ["numeric", "decimal", "dec"].iter().any(|name| token.is_name_in_any_case(name))
            && !tokens.get(at + 1).is_some_and(|next| next.is_symbol(b'(') || next.is_symbol(b'.'));
        if !is_open {
            continue;
        }
        if columns.has_type(tokens, at) {
            edits.replace(token.range(), NAME);
        } else if is_cast(tokens, at) {
            edits.replace(token.range(), CAST);
        }
    }
    edits
}

/// Whether the type at `at` is that of a cast: after `::`, or in `CAST(… AS`.
fn is_cast(tokens: &[Token<'_>], at: usize) -> bool {
    match tokens.get(..at) {
        Some([.., first, second]) if first.is_symbol(b':') && second.is_symbol(b':') => true,
        Some([before @ .., as_]) if as_.is_word("as") => opened(before)
            .is_some_and(|open| open.checked_sub(1).is_some_and(|name| tokens[name].is_one_of(&["cast", "try_cast"]))),
        _ => false,
    }
}

/// The innermost parenthesis that is open behind these tokens.
fn opened(tokens: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0usize;
    tokens.iter().rposition(|token| match token.kind {
        TokenKind::Symbol(b')') => {
            depth += 1;
            false
        }
        TokenKind::Symbol(b'(') if depth == 0 => true,
        TokenKind::Symbol(b'(') => {
            depth -= 1;
            false
        }
        _ => false,
    })
}

/// What a statement says of columns.
enum Columns {
    /// The tokens of a list of columns or fields.
    List(std::ops::Range<usize>),
    /// ALTER TABLE.
    Altered,
    None,
}

impl Columns {
    fn of(tokens: &[Token<'_>]) -> Self {
        if let [first, second, ..] = tokens
            && first.is_word("alter")
            && second.is_word("table")
        {
            return Self::Altered;
        }
        CreatedList::find(tokens)
            .map_or(Self::None, |list| Self::List(list.open..closing(tokens, list.open).unwrap_or(tokens.len())))
    }

    /// Whether the token at `at` is the type of a column or of a field: the second one of what stands between commas.
    fn has_type(&self, tokens: &[Token<'_>], at: usize) -> bool {
        let Some([.., first, name]) = tokens.get(..at) else { return false };
        let is_name = |token: &Token<'_>| matches!(token.kind, TokenKind::Word | TokenKind::Name);
        match self {
            Self::List(list) if list.contains(&at) => {
                let is_first = first.is_symbol(b'(') || first.is_symbol(b',');
                is_first && is_name(name) || is_of_map(tokens, at)
            }
            Self::Altered => {
                name.is_word("type")
                    || is_name(name)
                        && first.is_one_of(&["add", "column", "exists"])
                        && !name.is_one_of(&["column", "constraint", "if"])
                    || (first.is_symbol(b'(') || first.is_symbol(b',')) && is_name(name) && !name.is_word("add")
            }
            _ => false,
        }
    }
}

/// Whether the type at `at` is that of a map's keys or values.
fn is_of_map(tokens: &[Token<'_>], at: usize) -> bool {
    let name = opened(&tokens[..at]).and_then(|open| open.checked_sub(1));
    name.is_some_and(|name| tokens[name].is_word("map"))
}

#[cfg(test)]
mod tests {
    use colonnade_sql::Dialect;

    use super::*;

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
