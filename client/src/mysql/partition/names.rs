//! The names in a query, as far as its text tells.

use crate::Dialect;
use crate::scan::{Token, tokens};

/// A name that may be a table's, a view's or a function's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name {
    /// The name before it, if a point joins them.
    pub(super) database: Option<String>,
    pub(super) name: String,
    /// Whether it is called as a function.
    pub(super) called: bool,
}

/// All names in a query, each once. Double quotes may stand around names as well, if sql_mode says so.
pub(super) fn names(sql: &str, dialect: Dialect) -> Vec<Name> {
    let tokens: Vec<_> = tokens(sql, dialect).filter(|token| !matches!(token, Token::Blank(_))).collect();
    let is = |index: Option<usize>, code: &str| index.and_then(|at| tokens.get(at)) == Some(&Token::Code(code));
    let mut names = Vec::new();
    for index in 0..tokens.len() {
        let Some(name) = name(&tokens[index]) else { continue };
        let database = if is(index.checked_sub(1), ".") {
            index.checked_sub(2).and_then(|before| self::name(&tokens[before]))
        } else {
            None
        };
        let name = Name { database, name, called: is(Some(index + 1), "(") };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Whether a query reads or sets a variable of the user's own, such as @x.
pub(super) fn has_user_variables(sql: &str, dialect: Dialect) -> bool {
    let at = |token: &Token<'_>| *token == Token::Code("@");
    let tokens: Vec<_> = tokens(sql, dialect).collect();
    // Two of them make a system variable.
    let alone = |index: &usize| {
        at(&tokens[*index])
            && !tokens.get(index + 1).is_some_and(at)
            && !index.checked_sub(1).is_some_and(|before| at(&tokens[before]))
    };
    (0..tokens.len()).any(|index| alone(&index))
}

fn name(token: &Token<'_>) -> Option<String> {
    match token {
        Token::Code(word) => {
            let begins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
            word.starts_with(begins).then(|| (*word).to_owned())
        }
        Token::Quoted(text) => ['`', '"'].into_iter().find_map(|quote| {
            let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
            Some(inner.replace(&format!("{quote}{quote}"), &quote.to_string()))
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MYSQL: Dialect = Dialect::MySql { backslashes: true };

    #[test]
    fn names_are_told_from_texts() {
        let found = names("select Rand /* x */ (), `odd ``t`.c, 'text' from shop . t, \"u\" -- v", MYSQL);
        let has = |database: Option<&str>, name: &str, called: bool| {
            found.contains(&Name { database: database.map(str::to_owned), name: name.to_owned(), called })
        };
        assert!(has(None, "Rand", true) && has(Some("shop"), "t", false) && has(Some("odd `t"), "c", false));
        assert!(has(None, "odd `t", false) && has(None, "u", false));
        assert!(!found.iter().any(|name| ["text", "v", "x"].contains(&name.name.as_str())));
    }

    #[test]
    fn a_users_variables_are_told_from_the_systems() {
        for (sql, expected) in [
            ("select @x", true),
            ("select @`x y`, 1", true),
            ("select @@x, @@session.y", false),
            ("select '@x', `@y`", false),
        ] {
            assert_eq!(has_user_variables(sql, MYSQL), expected, "{sql}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(sql in "[@.(a '\"`/*#\\\\-]{0,30}") {
            let _ = (names(&sql, MYSQL), has_user_variables(&sql, MYSQL));
        }
    }
}
