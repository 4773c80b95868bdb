//! Rewrites UNNEST of several arrays, which PostgreSQL has in FROM (and in USING of DELETE and MERGE): a column for
//! each array, and NULL where an array is shorter. DuckDB's has one argument. Its `list_zip` makes one list of several,
//! in the same way.

use colonnade_sql::edit::Edits;
use colonnade_sql::{Token, TokenKind, closing};

/// Adds the changes of such a call that begins at `at`, if there is one.
pub(super) fn of_several(tokens: &[Token<'_>], at: usize, items: &[bool], edits: &mut Edits) {
    let Some([name, open]) = tokens.get(at..at + 2) else { return };
    if !name.is_word("unnest") || !open.is_symbol(b'(') || !is_in_from(tokens, at, items) {
        return;
    }
    let Some(close) = closing(tokens, at + 1) else { return };
    let Some(arguments) = count(&tokens[at + 2..close]).filter(|count| *count > 1) else { return };
    let is_numbered = tokens.get(close + 1).is_some_and(|with| with.is_word("with"))
        && tokens.get(close + 2).is_some_and(|ordinality| ordinality.is_word("ordinality"));
    let columns: Vec<_> =
        (1..=arguments).map(|at| format!("system.main.struct_extract(zipped.item, {at}) AS unnest")).collect();
    let columns = columns.join(", ");
    let (number, alias, end) = match is_numbered {
        true => (", zipped.number AS ordinality", " WITH ORDINALITY AS zipped(item, number)", close + 2),
        false => ("", " AS zipped(item)", close),
    };
    let start = format!("(SELECT {columns}{number} FROM unnest(system.main.list_zip(");
    edits.replace(name.start..open.end(), start);
    // The last argument is DuckDB's own: not to cut the longer lists. A flag of the client's in its place would be
    // taken for it.
    edits.replace(tokens[close].start..tokens[end].end(), format!(", false)){alias})"));
}

/// The number of arguments; `None` if one has a name, which is DuckDB's.
fn count(arguments: &[Token<'_>]) -> Option<usize> {
    let (mut depth, mut count) = (0_usize, 1);
    for (at, token) in arguments.iter().enumerate() {
        let is_next = |symbol: u8| arguments.get(at + 1).is_some_and(|next| next.is_symbol(symbol));
        match () {
            () if is_one_of(token, b"([{") => depth += 1,
            () if is_one_of(token, b")]}") => depth = depth.checked_sub(1)?,
            () if depth == 0 && token.is_symbol(b',') => count += 1,
            () if depth == 0 && (token.is_symbol(b':') && is_next(b'=') || token.is_symbol(b'=') && is_next(b'>')) => {
                return None;
            }
            () => {}
        }
    }
    Some(count)
}

fn is_one_of(token: &Token<'_>, symbols: &[u8]) -> bool {
    symbols.iter().any(|symbol| token.is_symbol(*symbol))
}

/// Words after which a comma separates no items of FROM.
const OTHERS: [&str; 11] =
    ["select", "where", "group", "having", "window", "qualify", "order", "limit", "set", "values", "returning"];

/// Whether an item of FROM begins at `at`.
fn is_in_from(tokens: &[Token<'_>], at: usize, items: &[bool]) -> bool {
    let Some(before) = at.checked_sub(1) else { return false };
    items[before] || tokens[before].is_one_of(&["from", "join", "lateral", "using"])
}

/// For each token, whether it is a comma behind which an item of FROM comes.
pub(super) fn commas_of_from(tokens: &[Token<'_>]) -> Vec<bool> {
    // For each open parenthesis, and for what is outside of them, whether the last clause is FROM.
    let (mut around, mut is_from) = (Vec::new(), false);
    let is_comma = tokens.iter().map(|token| {
        match token.kind {
            TokenKind::Symbol(b'(') => around.push(std::mem::take(&mut is_from)),
            TokenKind::Symbol(b')') => is_from = around.pop().unwrap_or(is_from),
            TokenKind::Word if token.is_one_of(&["from", "join", "using"]) => is_from = true,
            TokenKind::Word if token.is_one_of(&OTHERS) => is_from = false,
            _ => {}
        }
        is_from && token.is_symbol(b',')
    });
    is_comma.collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::rewritten;

    #[test]
    fn several_arrays_are_one_list() {
        const TWO: &str = "system.main.struct_extract(zipped.item, 1) AS unnest, system.main.struct_extract(zipped.item, 2) AS unnest";
        for (given, expected) in [
            (
                "select * from unnest($1::int[], array[f(a, b), c]) as u(x, y)",
                format!(
                    "select * from (SELECT {TWO} FROM unnest(system.main.list_zip($1::int[], array[f(a, b), c], false)) AS zipped(item)) as u(x, y)"
                ),
            ),
            (
                "select * from t join v using (i), lateral unnest(a, b) WITH ORDINALITY k(x, y, n)",
                format!(
                    "select * from t join v using (i), lateral (SELECT {TWO}, zipped.number AS ordinality \
                     FROM unnest(system.main.list_zip(a, b, false)) WITH ORDINALITY AS zipped(item, number)) k(x, y, n)"
                ),
            ),
            (
                "select (select 1 from t where a), x from t on (a = b), unnest(a, b)",
                format!(
                    "select (select 1 from t where a), x from t on (a = b), \
                     (SELECT {TWO} FROM unnest(system.main.list_zip(a, b, false)) AS zipped(item))"
                ),
            ),
        ] {
            assert_eq!(rewritten(given), expected, "{given}");
            assert_eq!(rewritten(&expected), expected);
        }
    }

    #[test]
    fn other_calls_stay() {
        for given in [
            "select * from unnest(array[1, 2], recursive := true)",
            "select * from unnest(array[1, 2]) as u(x)",
            "select x, unnest(a, b) from t",
            "select f(x, unnest(a, b)) from t",
            "select x from t order by x, unnest(a, b)",
            "select x from unnest(a, b",
            "select x from t.unnest(a, b)",
        ] {
            assert_eq!(rewritten(given), given);
        }
    }
}
