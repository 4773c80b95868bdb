//! `$1` and `$name` in a statement. What a database itself takes for a placeholder besides, such as `?`, is left to it.

use crate::{Dialect, Token, TokenKind, code, tokens};

/// The number of values for `$1`, `$2`, … that a text asks for: the largest of the numbers.
pub fn count(sql: &str, dialect: Dialect) -> usize {
    let number =
        |token: Token<'_>| (token.kind == TokenKind::Positional).then(|| token.text[1..].parse().ok()).flatten();
    code(sql, dialect).filter_map(number).max().unwrap_or(0)
}

/// A text with what `write` appends in the place of each placeholder; `write` receives the name without `$`.
///
/// White space is put where two tokens could become one: a number and a point, `U&` and a string. A value next to a
/// string or to another value is put in parentheses: PostgreSQL reads two strings on two lines as one, MySQL any two.
/// So is one behind a sign: `1e-` and a number would be one number, and behind `--` white space would begin a comment
/// in MySQL.
///
/// # Errors
/// Those of `write`.
pub fn replace<E>(
    sql: &str,
    dialect: Dialect,
    mut write: impl FnMut(&mut String, &str) -> Result<(), E>,
) -> Result<String, E> {
    let mut out = String::with_capacity(sql.len() + sql.len() / 4);
    let mut rest = tokens(sql, dialect);
    let (mut is_behind, mut is_behind_string) = (false, false);
    while let Some(token) = rest.next() {
        let placeholder = token.placeholder();
        let is_behind_sign = out.ends_with(['+', '-']);
        if is_behind && !token.is_blank() || placeholder.is_some() && may_join(&out) {
            out.push(' ');
        }
        is_behind = placeholder.is_some();
        match placeholder {
            None => out.push_str(token.text),
            Some(name)
                if is_behind_sign
                    || is_behind_string
                    || rest.clone().find(|next| !next.is_blank()).is_some_and(may_be_string) =>
            {
                out.push('(');
                write(&mut out, name)?;
                out.push(')');
            }
            Some(name) => write(&mut out, name)?,
        }
        if !token.is_blank() {
            is_behind_string = may_be_string(token);
        }
    }
    Ok(out)
}

/// Whether a token is a string, or will be one.
fn may_be_string(token: Token<'_>) -> bool {
    token.kind == TokenKind::Text || token.placeholder().is_some()
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
        assert_eq!(replaced("'a'$1$1'c'", "'b'"), "'a' ('b') ('b') 'c'");
        assert_eq!(replaced("$1.5, x-$2", "1"), "1 .5, x-(1)");
        assert_eq!(replaced("u&$1", "'b'"), "u& 'b'");
        assert_eq!(replaced("1$1", "2"), "1 2");
        assert_eq!(replaced("1e-$1", "2"), "1e-(2)");
        assert_eq!(replaced("'$1' -- $1", "2"), "'$1' -- $1");
    }

    #[test]
    fn values_and_strings_stay_apart() {
        assert_eq!(replaced("$1\n'", "'x'"), "('x')\n'");
        assert_eq!(replaced("$1 -- c\n $1", "'x'"), "('x') -- c\n ('x')");
        assert_eq!(replaced("'a'\n$1", "'x'"), "'a'\n('x')");
        assert_eq!(replaced("'a', $1, 'b'", "'x'"), "'a', 'x' , 'b'");
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
                let enclosed: Vec<_> = [&["("], value.as_slice(), &[")"]].concat();
                let given: Vec<_> = code(&sql, dialect).collect();
                let is_string = |at: usize| given.get(at).is_some_and(|token| may_be_string(*token));
                let is_behind = |at: usize, token: &Token<'_>| {
                    let before = &given[at - 1];
                    may_be_string(*before) || before.end() == token.start && matches!(before.kind, TokenKind::Symbol(b'+' | b'-'))
                };
                let expected: Vec<_> = given
                    .iter()
                    .enumerate()
                    .flat_map(|(at, token)| match token.placeholder() {
                        None => vec![token.text],
                        Some(_) if is_string(at + 1) || at > 0 && is_behind(at, token) => enclosed.clone(),
                        Some(_) => value.clone(),
                    })
                    .collect();
                prop_assert_eq!(code(&out, dialect).map(|token| token.text).collect::<Vec<_>>(), expected);
            }
        }
    }
}
