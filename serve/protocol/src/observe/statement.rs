//! Prepares statements for the log.

use std::borrow::Cow;

use colonnade_sql::{Dialect, TokenKind, code};

/// The length of a logged statement, in bytes.
const MAX_STATEMENT_BYTES: usize = 8 << 10;
/// Words that may precede a secret: in CREATE USER, ALTER ROLE, IDENTIFIED BY, CREATE SECRET, ATTACH, connection
/// strings.
const SECRET_WORDS: [&str; 8] =
    ["password", "identified", "secret", "credential", "credentials", "token", "attach", "authid"];

/// The text to log. Of a statement that may contain a secret, only the first two words. Of a long one, the beginning.
pub(super) fn loggable(statement: &str) -> Cow<'_, str> {
    let has = |text: &str| {
        let text = text.to_ascii_lowercase();
        SECRET_WORDS.iter().any(|word| text.contains(word))
    };
    if has(statement) {
        let words = code(statement, Dialect::Unknown).take(2).filter(|token| token.kind == TokenKind::Word);
        let words: Vec<_> = words.map(|token| token.text).collect();
        return Cow::Owned(format!("{} … (withheld)", words.join(" ")));
    }
    let end = statement.floor_char_boundary(MAX_STATEMENT_BYTES);
    if end < statement.len() { Cow::Owned(format!("{}…", &statement[..end])) } else { Cow::Borrowed(statement) }
}

/// The statement with `?` for each value, for readers who may not see values.
pub(crate) fn outline(statement: &str) -> String {
    const MAX_OUTLINE_BYTES: usize = 400;
    let text = loggable(statement);
    let mut outline = String::new();
    for token in code(&text, Dialect::Unknown) {
        let is_value = matches!(token.kind, TokenKind::Text | TokenKind::Number);
        outline.push_str(if is_value { "?" } else { token.text });
        outline.push(' ');
    }
    outline.truncate(outline.floor_char_boundary(MAX_OUTLINE_BYTES));
    outline.trim_end().to_owned()
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
    fn secrets_are_withheld_and_long_statements_are_cut() {
        assert_eq!(loggable("select 'é'"), "select 'é'");
        for statement in
            ["ALTER USER a PASSWORD 'x'", "create user a identified by 'x'", "CREATE /* */ SECRET s (TOKEN 'x')"]
        {
            let text = loggable(statement);
            assert!(text.ends_with("… (withheld)") && !text.contains('x'), "{text}");
        }
        assert_eq!(loggable("'x password").as_ref(), " … (withheld)");
        let long = format!("select '{}'", "é".repeat(MAX_STATEMENT_BYTES));
        assert!(loggable(&long).len() <= MAX_STATEMENT_BYTES + '…'.len_utf8());
    }
}
