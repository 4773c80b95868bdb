//! Rewrites the series of an array's subscripts, `generate_series(array_lower(a, 1), array_upper(a, 1))`. In PostgreSQL
//! it gives rows. In DuckDB it is a list among a query's columns. In FROM it accepts no subqueries, and no other
//! function can be next to it. So does `generate_subscripts(a, 1)` in FROM.

use colonnade_sql::edit::Edits;
use colonnade_sql::{Token, TokenKind, closing};

use super::names::CATALOG;

/// PostgreSQL's function for the same. Among a query's columns it is a macro of the catalog.
pub(super) const SUBSCRIPTS: &str = "generate_subscripts";

/// Adds the changes of a call that begins at `at`, if there is one, and of the functions beside it in FROM.
pub(super) fn subscripts(tokens: &[Token<'_>], at: usize, edits: &mut Edits) {
    let Some(call) = Call::at(tokens, at) else { return };
    let is_item = at > 0 && tokens[at - 1].is_word("from");
    let item = alias(tokens, call.next).filter(|_| is_item);
    if item.is_none() && !is_series(&tokens[at]) {
        return;
    }
    edits.replace(tokens[at].start..call.array.0, format!("{CATALOG}{SUBSCRIPTS}("));
    let Some((alias, mut next)) = item else {
        edits.replace(call.array.1..call.end, ", 1)");
        return;
    };
    edits.insert(tokens[at].start, "(SELECT ");
    edits.replace(call.array.1..call.end, format!(", 1) AS {alias})"));
    // , function(…) AS name
    while let Some([comma, function, open]) = tokens.get(next..next + 3)
        && comma.is_symbol(b',')
        && function.kind == TokenKind::Word
        && open.is_symbol(b'(')
        && let Some(close) = closing(tokens, next + 2)
        && let Some((alias, after)) = self::alias(tokens, close + 1)
    {
        edits.insert(function.start, "(SELECT ");
        edits.insert(tokens[close].end(), format!(" AS {alias})"));
        next = after;
    }
}

/// Whether such a series begins at `at`.
pub(super) fn is_call(tokens: &[Token<'_>], at: usize) -> bool {
    tokens.get(at).is_some_and(is_series) && Call::at(tokens, at).is_some()
}

fn is_series(function: &Token<'_>) -> bool {
    function.is_word("generate_series")
}

struct Call {
    /// The first byte of the array, and the byte after it.
    array: (usize, usize),
    end: usize,
    /// The token after the call.
    next: usize,
}

impl Call {
    fn at(tokens: &[Token<'_>], at: usize) -> Option<Self> {
        let begins = |at: usize, name: &str| {
            tokens.get(at).is_some_and(|token| token.is_word(name))
                && tokens.get(at + 1).is_some_and(|open| open.is_symbol(b'('))
        };
        if begins(at, SUBSCRIPTS) && at > 0 && tokens[at - 1].is_word("from") {
            let close = closing(tokens, at + 1)?;
            let array = array_argument(&tokens[at + 2..close])?;
            let place = (array.first()?.start, array.last()?.end());
            return Some(Self { array: place, end: tokens[close].end(), next: close + 1 });
        }
        if !begins(at, "generate_series") || !begins(at + 2, "array_lower") {
            return None;
        }
        let lower = closing(tokens, at + 3)?;
        if !tokens.get(lower + 1)?.is_symbol(b',') || !begins(lower + 2, "array_upper") {
            return None;
        }
        let upper = closing(tokens, lower + 3)?;
        let end = tokens.get(upper + 1).filter(|token| token.is_symbol(b')'))?;
        let (array, other) = (array_argument(&tokens[at + 4..lower])?, array_argument(&tokens[lower + 4..upper])?);
        let is_same = array.iter().map(|token| token.text).eq(other.iter().map(|token| token.text));
        let place = (array.first()?.start, array.last()?.end());
        is_same.then_some(Self { array: place, end: end.end(), next: upper + 2 })
    }
}

/// The argument before `, 1`.
fn array_argument<'t, 'a>(arguments: &'t [Token<'a>]) -> Option<&'t [Token<'a>]> {
    let (array, [comma, dimension]) = arguments.split_at_checked(arguments.len().checked_sub(2)?)? else { return None };
    (comma.is_symbol(b',') && dimension.text == "1").then_some(array)
}

/// The alias at `at`, with or without `AS`, and the token after it. After an alias comes another item, the end of the
/// list, or a condition.
fn alias<'a>(tokens: &[Token<'a>], at: usize) -> Option<(&'a str, usize)> {
    let at = at + usize::from(tokens.get(at)?.is_word("as"));
    let name = tokens.get(at).filter(|token| token.is_identifier())?;
    let is_end = tokens.get(at + 1).is_none_or(|next| {
        next.is_symbol(b',')
            || next.is_symbol(b')')
            || next.is_symbol(b';')
            || next.is_one_of(&["where", "group", "order", "limit"])
    });
    is_end.then_some((name.text, at + 1))
}

#[cfg(test)]
mod tests {
    use super::super::tests::rewritten;

    #[test]
    fn series_of_subscripts_are_rewritten() {
        for (given, expected) in [
            (
                "select generate_series(array_lower(k, 1), array_upper(k, 1)) as i, n",
                "select colonnade_catalog.pg.generate_subscripts(k, 1) as i, n",
            ),
            (
                "select generate_series(array_lower(c.k,1),array_upper(c.k,1))",
                "select colonnade_catalog.pg.generate_subscripts(c.k, 1)",
            ),
            (
                "select s[i] from generate_series(array_lower(f('a,'), 1), array_upper(f('a,'), 1)) as i, f('a,') s where x",
                "select s[i] from (SELECT colonnade_catalog.pg.generate_subscripts(f('a,'), 1) AS i) as i, (SELECT f('a,') AS s) s where x",
            ),
            (
                "select generate_series(array_lower(k, 1), array_upper(l, 1))",
                "select generate_series(array_lower(k, 1), array_upper(l, 1))",
            ),
            (
                "select pg_catalog.generate_series(array_lower(k, 1), array_upper(k, 1))",
                "select colonnade_catalog.pg.generate_subscripts(k, 1)",
            ),
            (
                "array(select f(k) from generate_subscripts(d.k, 1) AS k order by k)",
                "array(select f(k) from (SELECT colonnade_catalog.pg.generate_subscripts(d.k, 1) AS k) AS k order by k)",
            ),
            ("select generate_subscripts(k, 1) as i", "select generate_subscripts(k, 1) as i"),
            (
                "select pg_catalog.generate_subscripts(k, 1) as i",
                "select colonnade_catalog.pg.generate_subscripts(k, 1) as i",
            ),
            ("select generate_series(array_lower(k, 1), 5)", "select generate_series(array_lower(k, 1), 5)"),
            (
                "select generate_series(array_lower(k, 1), array_upper(k, 1)",
                "select generate_series(array_lower(k, 1), array_upper(k, 1)",
            ),
        ] {
            assert_eq!(rewritten(given), expected, "{given}");
        }
    }
}
