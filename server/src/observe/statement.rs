//! Statements in a form for the log.

use std::borrow::Cow;

use colonnade_sql::{Dialect, TokenKind, code};

/// Bytes of a statement that are shown.
const MOST: usize = 8 << 10;
/// Words that may precede a secret: in CREATE USER, ALTER ROLE, IDENTIFIED BY, CREATE SECRET, ATTACH, connection strings.
const SECRETIVE: [&str; 8] =
    ["password", "identified", "secret", "credential", "credentials", "token", "attach", "authid"];

/// The statement. If it may hold a secret, only its first two words; if it is long, its beginning.
pub(super) fn shown(statement: &str) -> Cow<'_, str> {
    let has = |text: &str| {
        let text = text.to_ascii_lowercase();
        SECRETIVE.iter().any(|word| text.contains(word))
    };
    if has(statement) {
        let words = code(statement, Dialect::Unknown).take(2).filter(|token| token.kind == TokenKind::Word);
        let words: Vec<_> = words.map(|token| token.text).collect();
        return Cow::Owned(format!("{} … (withheld)", words.join(" ")));
    }
    let end = statement.floor_char_boundary(MOST);
    if end < statement.len() { Cow::Owned(format!("{}…", &statement[..end])) } else { Cow::Borrowed(statement) }
}

/// The statement without its values, for readers who may not see these.
pub(crate) fn outline(statement: &str) -> String {
    /// Bytes of an outline.
    const MOST: usize = 400;
    let shown = shown(statement);
    let mut text = String::new();
    for token in code(&shown, Dialect::Unknown) {
        let is_value = matches!(token.kind, TokenKind::Text | TokenKind::Number);
        text.push_str(if is_value { "?" } else { token.text });
        text.push(' ');
    }
    text.truncate(text.floor_char_boundary(MOST));
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_has_no_values() {
        assert_eq!(outline("select 'x', 12,\n\"a b\" from t -- y"), "select ? , ? , \"a b\" from t");
        assert_eq!(outline("alter user x password 'p'"), "alter user … ( withheld )");
        assert!(outline(&"é, ".repeat(500)).len() <= 400);
    }

    #[test]
    fn secrets_are_withheld_and_the_long_is_cut() {
        assert_eq!(shown("select 'é'"), "select 'é'");
        for statement in
            ["ALTER USER a PASSWORD 'x'", "create user a identified by 'x'", "CREATE /* */ SECRET s (TOKEN 'x')"]
        {
            let shown = shown(statement);
            assert!(shown.ends_with("… (withheld)") && !shown.contains('x'), "{shown}");
        }
        assert_eq!(shown("'x password").as_ref(), " … (withheld)");
        let long = format!("select '{}'", "é".repeat(MOST));
        assert!(shown(&long).len() <= MOST + '…'.len_utf8());
    }
}
