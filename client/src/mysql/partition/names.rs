//! The names in a query, as far as its text shows them.

use std::borrow::Cow;

use colonnade_sql::{Dialect, Token, TokenKind, code, tokens};

/// A name that may be that of a table, a view or a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name {
    /// The name before it, joined by a point.
    pub(super) database: Option<String>,
    pub(super) name: String,
    /// Whether it is followed by an argument list.
    pub(super) called: bool,
    /// Whether it stands where a query names its tables.
    pub(super) read: bool,
}

/// Words before names of tables, and words that end them. All are reserved, so no name is one of them.
const READS: [&str; 4] = ["from", "join", "straight_join", "table"];
const REST: [&str; 6] = ["select", "where", "group", "having", "order", "limit"];

/// For each token, whether it may be the name of a table. In doubt, the answer is yes.
fn reading(tokens: &[Token<'_>]) -> Vec<bool> {
    // For each open parenthesis: whether a list of tables continues after a comma, and whether a table may follow.
    let mut open = vec![(false, false)];
    let mut places = Vec::with_capacity(tokens.len());
    for (index, token) in tokens.iter().enumerate() {
        let (list, here) = open.last().copied().unwrap_or_default();
        let before = index.checked_sub(1).and_then(|before| tokens.get(before));
        // After AS, an alias follows.
        let renamed = before.is_some_and(|before| before.is_word("as"));
        places.push(here && !renamed);
        let next = match token.bare() {
            "" => continue,
            "(" => {
                open.push((here, here));
                continue;
            }
            ")" => {
                open.pop();
                continue;
            }
            "," => (list, list),
            _ if token.is_one_of(&READS) => (true, true),
            // After a point, any word may be a name.
            _ if before.is_some_and(|before| before.is_symbol(b'.')) => continue,
            _ if token.is_one_of(&["on", "using"]) => (list, false),
            _ if token.is_one_of(&REST) => (false, false),
            _ => continue,
        };
        if let Some(top) = open.last_mut() {
            *top = next;
        }
    }
    places
}

/// All different names in a query. If sql_mode says so, double quotes also enclose names.
pub(super) fn names(sql: &str, dialect: Dialect) -> Vec<Name> {
    let tokens: Vec<_> = code(sql, dialect).collect();
    let is = |index: Option<usize>, symbol| {
        index.and_then(|at| tokens.get(at)).is_some_and(|token: &Token<'_>| token.is_symbol(symbol))
    };
    let reading = reading(&tokens);
    let mut names = Vec::new();
    for index in 0..tokens.len() {
        let Some(name) = name(&tokens[index]) else { continue };
        let database = if is(index.checked_sub(1), b'.') {
            index.checked_sub(2).and_then(|before| self::name(&tokens[before]))
        } else {
            None
        };
        let name = Name { database, name, called: is(Some(index + 1), b'('), read: reading[index] };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Whether a query uses a user variable, such as @x.
pub(super) fn has_user_variables(sql: &str, dialect: Dialect) -> bool {
    let at = |token: &Token<'_>| token.is_symbol(b'@');
    let tokens: Vec<_> = tokens(sql, dialect).collect();
    // Two at signs mean a system variable.
    let alone = |index: &usize| {
        at(&tokens[*index])
            && !tokens.get(index + 1).is_some_and(at)
            && !index.checked_sub(1).is_some_and(|before| at(&tokens[before]))
    };
    (0..tokens.len()).any(|index| alone(&index))
}

fn name(token: &Token<'_>) -> Option<String> {
    let begins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    match token.kind {
        TokenKind::Name => token.name().map(Cow::into_owned),
        TokenKind::Text => {
            let inner = token.text.strip_prefix('"')?.strip_suffix('"')?;
            Some(inner.replace("\"\"", "\""))
        }
        _ => token.bare().starts_with(begins).then(|| token.text.to_owned()),
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
            let same =
                |found: &Name| found.database.as_deref() == database && found.name == name && found.called == called;
            found.iter().any(same)
        };
        assert!(has(None, "Rand", true) && has(Some("shop"), "t", false) && has(Some("odd `t"), "c", false));
        assert!(has(None, "odd `t", false) && has(None, "u", false));
        assert!(!found.iter().any(|name| ["text", "v", "x"].contains(&name.name.as_str())));
    }

    #[test]
    fn a_table_is_read_where_a_query_says_from() {
        let read = |sql| {
            let read = names(sql, MYSQL).into_iter().filter(|name| name.read && !name.called && name.name.len() == 1);
            read.map(|name| name.name).collect::<Vec<_>>().join(" ")
        };
        for (sql, expected) in [
            ("select a, t.b as c from t", "t"),
            ("select a from s.t as x where b in (select c from u) order by d, e", "s t u"),
            ("select a from t, u v join w on t.a = u.b and (c, d) = (1, 2), x using (e) where f", "t u v w x"),
            ("select a from (t cross join (u, v)) left join w on b, x", "t u v w x"),
            ("select (select a from t), b from u union table v union select c from w", "t u v w"),
            ("with q as (select a from t) select b from q, `from`, y.where, z group by c", "t q y z"),
            // A number, and no name behind a point.
            ("select 1.from t", "t"),
        ] {
            assert_eq!(read(sql), expected, "{sql}");
        }
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
