//! `$1` and `$name` in a statement. What a database itself takes for a placeholder besides, such as `?`, is left to it.

use crate::{Dialect, Kind, Token, code, tokens};

/// The number of values for `$1`, `$2`, … that a text asks for: the largest of the numbers.
pub fn count(sql: &str, dialect: Dialect) -> usize {
    let number = |token: Token<'_>| (token.kind == Kind::Positional).then(|| token.text[1..].parse().ok()).flatten();
    code(sql, dialect).filter_map(number).max().unwrap_or(0)
}

/// A text with what `write` appends in the place of each placeholder; it is told the name without the `$`.
///
/// White space is put where two tokens would else become one: a number and a point, two strings, `U&` and a string. Strings on two
/// lines are one to PostgreSQL, unless a comment like this is between them: `/**/`.
///
/// # Errors
/// Those of `write`.
pub fn replace<E>(
    sql: &str,
    dialect: Dialect,
    mut write: impl FnMut(&mut String, &str) -> Result<(), E>,
) -> Result<String, E> {
    let mut out = String::with_capacity(sql.len() + sql.len() / 4);
    let may_be_string = |token: &Token<'_>| token.kind == Kind::Text || token.placeholder().is_some();
    let mut before = None::<Token<'_>>;
    for token in tokens(sql, dialect) {
        let placeholder = token.placeholder();
        if !token.is_blank() {
            let is_behind = before.is_some_and(|before| before.placeholder().is_some());
            let touches = before.is_some_and(|before| before.end() == token.start);
            let is_new = is_behind || placeholder.is_some();
            if dialect.joins_lines()
                && is_new
                && !touches
                && before.as_ref().is_some_and(may_be_string)
                && may_be_string(&token)
            {
                out.push_str("/**/");
            } else if is_behind && touches || placeholder.is_some() && may_join(&out) {
                out.push(' ');
            }
            before = Some(token);
        }
        match placeholder {
            Some(name) => write(&mut out, name)?,
            None => out.push_str(token.text),
        }
    }
    Ok(out)
}

/// Whether a string or a number behind this text could become one token with its end.
fn may_join(before: &str) -> bool {
    before.ends_with(|last: char| {
        matches!(last, '\'' | '"' | '&' | '_' | '$' | '.') || last.is_ascii_alphanumeric() || !last.is_ascii()
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn replaced(sql: &str, by: &str) -> String {
        let write = |out: &mut String, _: &str| {
            out.push_str(by);
            Ok::<_, Infallible>(())
        };
        replace(sql, Dialect::POSTGRES, write).unwrap()
    }

    #[test]
    fn values_stand_in_place_of_placeholders() {
        assert_eq!(replaced("'a'$1$1'c'", "'b'"), "'a' 'b' 'b' 'c'");
        assert_eq!(replaced("$1.5, x-$2", "1"), "1 .5, x-1");
        assert_eq!(replaced("u&$1", "'b'"), "u& 'b'");
        assert_eq!(replaced("1$1", "2"), "1 2");
        assert_eq!(replaced("'$1' -- $1", "2"), "'$1' -- $1");
        assert_eq!(replaced("'a'\n$1 --\n'c'", "'b'"), "'a'\n/**/'b' --\n/**/'c'");
    }

    #[test]
    fn the_largest_number_counts() {
        assert_eq!(count("select $2, '$9', $name -- $7", Dialect::POSTGRES), 2);
        assert_eq!(count("select 1", Dialect::Sqlite), 0);
        assert_eq!(count("$99999999999999999999999999", Dialect::DuckDb), 0);
    }

    proptest! {
        /// The tokens around a placeholder are those that were there.
        #[test]
        fn nothing_else_changes(sql in "[-a$1'\"/*;eu&.\n ]{0,30}", by in "('x'|7|\\(-1\\)|NULL)") {
            for dialect in [Dialect::DuckDb, Dialect::POSTGRES, Dialect::Sqlite, Dialect::MySql { backslashes: true }] {
                let write = |out: &mut String, _: &str| { out.push_str(&by); Ok::<_, Infallible>(()) };
                let out = replace(&sql, dialect, write).unwrap();
                let value: Vec<_> = code(&by, dialect).map(|token| token.text).collect();
                let expected: Vec<_> = code(&sql, dialect)
                    .flat_map(|token| if token.placeholder().is_some() { value.clone() } else { vec![token.text] })
                    .collect();
                prop_assert_eq!(code(&out, dialect).map(|token| token.text).collect::<Vec<_>>(), expected);
            }
        }
    }
}
