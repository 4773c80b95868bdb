//! Splits a statement into the same tokens as DuckDB's own lexer, or refuses it.
//!
//! [`colonnade_sql`]'s lexer never fails. It marks a token with a fault if DuckDB's lexer may split the text
//! differently, or if a quote or a comment is not closed. The fence refuses such statements.
//! `tests/attacks/test_tokens.py` compares both lexers.

use colonnade_sql::{Dialect, Token, TokenFault, TokenKind};

use super::Refusal;

/// The tokens, without white space and comments. A token with a fault is a refusal.
pub fn tokens(sql: &str) -> impl Iterator<Item = Result<Token<'_>, Refusal>> {
    let all = colonnade_sql::tokens(sql, Dialect::DuckDb).filter(|token| !token.is_blank() || token.fault.is_some());
    all.map(|token| match token.fault {
        None => Ok(token),
        Some(fault) => {
            Err(Refusal::Text { what: description(fault, token.kind), place: sql[..token.start].chars().count() })
        }
    })
}

fn description(fault: TokenFault, kind: TokenKind) -> &'static str {
    match fault {
        TokenFault::Unclosed if kind == TokenKind::Comment => "a comment that is not closed",
        TokenFault::Unclosed => "a quote that is not closed",
        TokenFault::Junk if kind == TokenKind::Number => "a number with letters after it; put a space between them",
        TokenFault::Junk => "a parameter with something after it; put a space between them",
        TokenFault::Control => "a control character",
        TokenFault::Conditional => "a comment that may run",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sql: &str) -> Vec<&str> {
        tokens(sql).map(|token| token.unwrap().text).collect()
    }

    #[test]
    fn spaces_of_all_kinds_and_comments_are_between_tokens() {
        assert_eq!(texts("\u{feff}a\u{a0}b/* /* ' */ */c -- '\rd"), ["a", "b", "c", "d"]);
    }

    #[test]
    fn every_quote_is_one_token() {
        for quoted in ["'a''b'", "\"a\"\"b\"", "`a``b`", "e'\\''", "X'00'", "$$'$$", "$é$ $x$ $é$"] {
            assert_eq!(texts(&format!("{quoted}(")), [quoted, "("]);
        }
    }

    #[test]
    fn unclosed_and_ambiguous_tokens_are_refused() {
        for sql in [
            "'a", "\"a", "`a", "e'\\'", "$$a", "/* /* */", "a\u{0}b", "\u{1}", "1e5x", "1ee5", "0x1f", "1$a$x$a$",
            "1e5e5", "1..2", "$1a", "$1.5",
        ] {
            assert!(tokens(sql).any(|token| token.is_err()), "{sql:?}");
        }
    }
}
