//! Statements as a log may show them.

use std::borrow::Cow;

use crate::lex::{Kind, Lexer};

/// Bytes of a statement that are shown.
const MOST: usize = 8 << 10;
/// Words that a secret follows somewhere: of CREATE USER, ALTER ROLE, IDENTIFIED BY, CREATE SECRET, ATTACH, connection strings.
const SECRETIVE: [&str; 8] =
    ["password", "identified", "secret", "credential", "credentials", "token", "attach", "authid"];

/// The statement; of one that may hold a secret only its first two words, of a long one its beginning.
pub(super) fn shown(statement: &str) -> Cow<'_, str> {
    let has = |text: &str| {
        let text = text.to_ascii_lowercase();
        SECRETIVE.iter().any(|word| text.contains(word))
    };
    if has(statement) {
        let words = Lexer::new(statement).take(2).filter(|token| token.kind == Kind::Word);
        let words: Vec<_> = words.map(|token| token.text).collect();
        return Cow::Owned(format!("{} … (withheld)", words.join(" ")));
    }
    let end = statement.floor_char_boundary(MOST);
    if end < statement.len() { Cow::Owned(format!("{}…", &statement[..end])) } else { Cow::Borrowed(statement) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
