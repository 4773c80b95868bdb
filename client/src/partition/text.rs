//! The text of a part's query, and which queries can be cut.

use colonnade_sql::Token;

use crate::{Error, ErrorKind};

/// The alias of the inner query.
pub(crate) const ALIAS: &str = "colonnade";

/// Clauses at the top of a statement that would have another meaning in parts.
const CLAUSES: [(&str, &str); 7] = [
    ("order", "its ORDER BY would be lost, because the parts arrive at the same time: sort afterwards"),
    ("limit", "each part would apply the LIMIT to its own rows"),
    ("offset", "each part would apply the OFFSET to its own rows"),
    ("fetch", "each part would apply the FETCH to its own rows"),
    ("for", "parts only read, so they cannot lock rows with FOR"),
    ("lock", "parts only read, so they cannot lock rows"),
    ("into", "parts only read, so they cannot write with INTO"),
];
/// The first words of queries.
const QUERIES: [&str; 4] = ["select", "with", "values", "table"];

/// Words of statements that do not only read.
const WRITES: [&str; 6] = ["insert", "update", "delete", "merge", "into", "share"];

/// Checks that a statement can be cut, as far as its text shows; `tokens` are all of its tokens.
///
/// # Errors
/// It is not a query, or its rows depend on being read as a whole; the message says why.
pub(crate) fn check<'a>(tokens: impl Iterator<Item = Token<'a>>) -> Result<(), Error> {
    let tokens: Vec<_> = tokens.filter(|token| !token.is_blank()).collect();
    let depths = depths(&tokens).ok_or_else(|| refused("its parentheses do not match"))?;
    if tokens.iter().any(|token| is(token, ";")) {
        return Err(refused("there are several statements: give one, or a list of queries"));
    }
    // The number of parentheses around the whole statement.
    let around = (0..).find(|depth| !is_around(&tokens, &depths, *depth)).unwrap_or_default();
    let end = tokens.len() - around;
    let first = tokens.iter().find(|token| !is(token, "("));
    if !first.is_some_and(|first| QUERIES.iter().any(|query| is(first, query))) {
        return Err(refused("only SELECT, WITH, VALUES and TABLE can be read in parts"));
    }
    for index in around..end {
        // A keyword may be the name of a column.
        let names = index > around && (is(&tokens[index - 1], "as") || is(&tokens[index - 1], "."));
        let mut clause = CLAUSES.iter().find(|(clause, _)| is(&tokens[index], clause));
        // LOCK is not a reserved word, unlike the others: it counts only in MySQL's LOCK IN SHARE MODE.
        clause =
            clause.filter(|(clause, _)| *clause != "lock" || tokens.get(index + 1).is_some_and(|next| is(next, "in")));
        if let Some((_, why)) = clause.filter(|_| depths[index] == around && !names) {
            return Err(refused(why));
        }
    }
    Ok(())
}

/// Whether a statement only reads, as far as its text shows.
pub(crate) fn reads<'a>(tokens: impl Iterator<Item = Token<'a>>) -> bool {
    let tokens: Vec<_> = tokens.filter(|token| !token.is_blank()).collect();
    let first = tokens.iter().find(|token| !is(token, "("));
    first.is_some_and(|first| QUERIES.iter().any(|query| is(first, query)))
        && !tokens.iter().any(|token| WRITES.iter().any(|write| is(token, write)))
}

/// For each token, the number of open brackets before it; `None` if they do not match.
fn depths(tokens: &[Token<'_>]) -> Option<Vec<usize>> {
    let mut open: Vec<&str> = Vec::new();
    let mut depths = Vec::with_capacity(tokens.len());
    for token in tokens {
        let close = [("(", ")"), ("[", "]")].iter().find(|(_, close)| is(token, close));
        if let Some((opening, _)) = close {
            (open.pop()? == *opening).then_some(())?;
        }
        depths.push(open.len());
        open.extend(["(", "["].into_iter().find(|opening| is(token, opening)));
    }
    open.is_empty().then_some(depths)
}

/// Whether the token at `depth` opens the parenthesis that the corresponding last token closes.
fn is_around(tokens: &[Token<'_>], depths: &[usize], depth: usize) -> bool {
    let Some(end) = tokens.len().checked_sub(1 + depth).filter(|end| *end > depth) else { return false };
    is(&tokens[depth], "(") && is(&tokens[end], ")") && depths[depth + 1..end].iter().all(|inner| *inner > depth)
}

fn is(token: &Token<'_>, expected: &str) -> bool {
    token.bare().eq_ignore_ascii_case(expected)
}

/// The error of a query that cannot be read in parts.
pub(crate) fn refused(why: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("the query cannot be read in parts: {why}"))
        .with_hint("or read it without partition_on and partition_num")
}

/// The queries of the parts. `key` is an expression over the columns of [`ALIAS`]. `cuts` are expressions without
/// columns, in strictly ascending order by the database's own comparison with `key`. So each row meets exactly one
/// condition, whatever its key is.
pub(crate) fn parts(query: &str, key: &str, cuts: &[String]) -> Vec<String> {
    let conditions = ranges(key, cuts);
    // The line break ends a comment in the query's last line.
    conditions.iter().map(|condition| format!("select * from (\n{query}\n) as {ALIAS} where {condition}")).collect()
}

/// The conditions of all parts. The first includes NULLs, the last all keys above the cuts, including NaN.
pub(crate) fn ranges(key: &str, cuts: &[String]) -> Vec<String> {
    let mut conditions = ranges_without_null(key, cuts);
    if let Some(first) = cuts.first() {
        conditions[0] = format!("({key} < {first} or {key} is null)");
    }
    conditions
}

/// The same for a key that is never NULL.
pub(crate) fn ranges_without_null(key: &str, cuts: &[String]) -> Vec<String> {
    let (Some(first), Some(last)) = (cuts.first(), cuts.last()) else { return vec!["true".to_owned()] };
    let mut conditions = vec![format!("{key} < {first}")];
    conditions.extend(cuts.windows(2).map(|pair| format!("{key} >= {} and {key} < {}", pair[0], pair[1])));
    conditions.push(format!("{key} >= {last}"));
    conditions
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
