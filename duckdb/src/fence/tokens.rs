//! The tokens of a statement exactly as DuckDB's own lexer cuts them, or a refusal.
//!
//! The server's lexer never fails, since it serves several dialects and the engine reports what is wrong. A fence cannot
//! afford that: where DuckDB's lexer is known to cut differently, or the text is not closed, the statement is refused.
//! `tests/attacks/test_tokens.py` compares both lexers.

use super::Refusal;
use crate::lex::{self, Kind, Token};

/// What DuckDB's parser takes for a space besides ASCII's, found by trying each code point.
const SPACES: [char; 18] = [
    '\u{a0}', '\u{2000}', '\u{2001}', '\u{2002}', '\u{2003}', '\u{2004}', '\u{2005}', '\u{2006}', '\u{2007}',
    '\u{2008}', '\u{2009}', '\u{200a}', '\u{200b}', '\u{202f}', '\u{205f}', '\u{2060}', '\u{3000}', '\u{feff}',
];

/// Whether DuckDB's parser takes this for a space.
pub fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r') || SPACES.contains(&c)
}

/// The tokens one after the other; none after a refusal.
pub struct Tokens<'a> {
    sql: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    /// The tokens of this text.
    pub fn new(sql: &'a str) -> Self {
        Self { sql, at: 0 }
    }

    fn refuse(&mut self, what: &'static str) -> Refusal {
        let place = self.sql[..self.at].chars().count();
        self.at = self.sql.len();
        Refusal::Text { what, place }
    }

    fn skip_space_and_comments(&mut self) -> Result<(), Refusal> {
        loop {
            let rest = &self.sql[self.at..];
            match *rest.as_bytes() {
                [b'-', b'-', ..] => self.at += rest.find(['\n', '\r']).unwrap_or(rest.len()),
                [b'/', b'*', ..] => match lex::comment(rest.as_bytes()) {
                    Some(length) => self.at += length,
                    None => return Err(self.refuse("a comment that is not closed")),
                },
                _ => match rest.chars().next().filter(|&c| is_space(c)) {
                    Some(space) => self.at += space.len_utf8(),
                    None => return Ok(()),
                },
            }
        }
    }

    /// The kind and the length of the token at `rest`'s beginning.
    fn token(&mut self, rest: &str) -> Result<(Kind, usize), Refusal> {
        let bytes = rest.as_bytes();
        let (quote, prefix, backslashes) = match *bytes {
            [quote @ (b'\'' | b'"' | b'`'), ..] => (quote, 0, false),
            [b'e' | b'E', b'\'', ..] => (b'\'', 1, true),
            [b'b' | b'B' | b'x' | b'X' | b'n' | b'N', b'\'', ..] => (b'\'', 1, false),
            _ => return self.unquoted(rest),
        };
        let kind = if quote == b'\'' { Kind::Text } else { Kind::Name };
        match lex::quoted(&bytes[prefix..], quote, backslashes) {
            Some(length) => Ok((kind, prefix + length)),
            None => Err(self.refuse("a quote that is not closed")),
        }
    }

    fn unquoted(&mut self, rest: &str) -> Result<(Kind, usize), Refusal> {
        let Some(first) = rest.chars().next() else { return Err(self.refuse("nothing")) };
        match first {
            '$' => match lex::dollar_quoted(rest) {
                None => Ok((Kind::Symbol(b'$'), 1)),
                Some(Some(length)) => Ok((Kind::Text, length)),
                Some(None) => Err(self.refuse("a quote that is not closed")),
            },
            _ if is_word_start(first) => Ok((Kind::Word, word(rest))),
            '0'..='9' => {
                let length = number(rest.as_bytes());
                // DuckDB takes `1e5x` for 1e5 and x, and `1ee5` for 1 and ee5.
                if rest[length..].starts_with(|c| is_word_start(c) || c == '$') {
                    return Err(self.refuse("a number with letters after it; put a space between them"));
                }
                Ok((Kind::Number, length))
            }
            _ if first.is_ascii_control() => Err(self.refuse("a control character")),
            _ => Ok((Kind::Symbol(bytes_of(rest)), 1)),
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Result<Token<'a>, Refusal>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(refusal) = self.skip_space_and_comments() {
            return Some(Err(refusal));
        }
        let sql = self.sql;
        let rest = &sql[self.at..];
        if rest.is_empty() {
            return None;
        }
        Some(self.token(rest).map(|(kind, length)| {
            let start = self.at;
            self.at += length;
            Token { kind, text: &sql[start..self.at], start }
        }))
    }
}

fn bytes_of(rest: &str) -> u8 {
    rest.as_bytes().first().copied().unwrap_or_default()
}

fn is_word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || (!c.is_ascii() && !is_space(c))
}

fn word(rest: &str) -> usize {
    rest.find(|c: char| !is_word_start(c) && !c.is_ascii_digit() && c != '$').unwrap_or(rest.len())
}

/// Digits, points and underscores, and an exponent.
fn number(bytes: &[u8]) -> usize {
    let digits = |from: usize| {
        let is_digit = |&&b: &&u8| b.is_ascii_digit() || b == b'.' || b == b'_';
        from + bytes[from..].iter().take_while(is_digit).count()
    };
    let mantissa = digits(0);
    match bytes[mantissa..] {
        [b'e' | b'E', b'0'..=b'9', ..] => digits(mantissa + 1),
        [b'e' | b'E', b'+' | b'-', b'0'..=b'9', ..] => digits(mantissa + 2),
        _ => mantissa,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sql: &str) -> Vec<&str> {
        Tokens::new(sql).map(|token| token.unwrap().text).collect()
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
    fn what_is_not_closed_or_ambiguous_is_refused() {
        for sql in
            ["'a", "\"a", "`a", "e'\\'", "$$a", "/* /* */", "a\u{0}b", "\u{1}", "1e5x", "1ee5", "0x1f", "1$a$x$a$"]
        {
            assert!(Tokens::new(sql).any(|token| token.is_err()), "{sql:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_cut_in_order_or_refused(sql in "[a-e0-2$'\"`\\\\;(),./*+ \\n\u{a0}€-]{0,60}") {
            let mut end = 0;
            for token in Tokens::new(&sql) {
                let Ok(token) = token else { break };
                proptest::prop_assert!(token.start >= end && !token.text.is_empty());
                end = token.end();
            }
        }
    }
}
