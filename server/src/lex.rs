//! SQL's tokens, just well enough to find statements and to read a COPY: quotes, dollar quotes, comments.
//!
//! The rules are those of PostgreSQL (manual §4.1), which DuckDB's parser shares. Nothing here fails: what is not
//! closed reaches to the end, and the engine says what is wrong with it.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A keyword or a bare name.
    Word,
    /// A quoted name: `"…"`.
    Name,
    /// A string in any notation.
    Text,
    /// A number.
    Number,
    /// Any other character.
    Symbol(u8),
}

/// A token and its place, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its text.
    pub text: &'a str,
    /// Where it starts.
    pub start: usize,
}

impl Token<'_> {
    /// The byte after the token.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether it is this keyword, in any case.
    pub fn is_word(&self, keyword: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(keyword)
    }

    /// Whether it is this sign.
    pub fn is_symbol(&self, symbol: u8) -> bool {
        self.kind == Kind::Symbol(symbol)
    }

    /// The value of a name or a string: without quotes, doubled quotes made single, bare names in lower case.
    pub fn value(&self) -> String {
        match self.kind {
            Kind::Name => unquote(self.text, '"'),
            Kind::Text if self.text.starts_with('$') => {
                let tag = self.text[1..].find('$').map_or(self.text.len(), |end| end + 2);
                self.text.get(tag..self.text.len().saturating_sub(tag)).unwrap_or_default().to_owned()
            }
            Kind::Text if self.text.starts_with(['e', 'E']) => unescape(&unquote(&self.text[1..], '\'')),
            Kind::Text => unquote(self.text, '\''),
            Kind::Word => self.text.to_ascii_lowercase(),
            Kind::Number | Kind::Symbol(_) => self.text.to_owned(),
        }
    }
}

/// The tokens of a query string, one after the other.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    sql: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// The tokens of this text.
    pub fn new(sql: &'a str) -> Self {
        Self { sql, at: 0 }
    }

    fn skip_space_and_comments(&mut self) {
        let bytes = self.sql.as_bytes();
        loop {
            let rest = &bytes[self.at..];
            match rest {
                [b, ..] if b.is_ascii_whitespace() || *b == 0x0b => self.at += 1,
                [b'-', b'-', ..] => {
                    self.at += rest.iter().position(|&b| b == b'\n' || b == b'\r').unwrap_or(rest.len());
                }
                [b'/', b'*', ..] => self.at += comment(rest).unwrap_or(rest.len()),
                _ => return,
            }
        }
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_space_and_comments();
        let rest = &self.sql.as_bytes()[self.at..];
        let to_end = |length: Option<usize>| length.unwrap_or(rest.len());
        let (kind, length) = match *rest.first()? {
            b'\'' => (Kind::Text, to_end(quoted(rest, b'\'', false))),
            b'"' => (Kind::Name, to_end(quoted(rest, b'"', false))),
            b'e' | b'E' if rest.get(1) == Some(&b'\'') => {
                (Kind::Text, to_end(quoted(&rest[1..], b'\'', true).map(|length| 1 + length)))
            }
            b'$' => match dollar_quoted(&self.sql[self.at..]) {
                Some(length) => (Kind::Text, to_end(length)),
                None => (Kind::Symbol(b'$'), 1),
            },
            b if is_word_start(b) => (Kind::Word, rest.iter().position(|&b| !is_word(b)).unwrap_or(rest.len())),
            b if b.is_ascii_digit() => {
                (Kind::Number, rest.iter().position(|&b| !is_word(b) && b != b'.').unwrap_or(rest.len()))
            }
            b => (Kind::Symbol(b), 1),
        };
        let start = self.at;
        self.at += length;
        Some(Token { kind, text: &self.sql[start..self.at], start })
    }
}

fn is_word_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b >= 0x80
}

fn is_word(b: u8) -> bool {
    is_word_start(b) || b.is_ascii_digit() || b == b'$'
}

/// The length of the comment that `rest` begins with, if it is closed; comments nest.
pub fn comment(rest: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0usize, 0usize);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return Some(at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    None
}

/// The length of the quoted token that `rest` begins with, if it is closed; a doubled quote is part of it.
pub fn quoted(rest: &[u8], quote: u8, backslashes: bool) -> Option<usize> {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' if backslashes => at += 2,
            b if b == quote && rest.get(at + 1) == Some(&quote) => at += 2,
            b if b == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// The length of the `$tag$…$tag$` that `rest` begins with; inside `None` if it is not closed, outside if it is none.
pub fn dollar_quoted(rest: &str) -> Option<Option<usize>> {
    let bytes = rest.as_bytes();
    let inner = bytes[1..].iter().position(|&b| !is_word(b) || b == b'$')?;
    if bytes[1 + inner] != b'$' || bytes[1].is_ascii_digit() {
        return None;
    }
    let (tag, body) = rest.split_at(inner + 2);
    // Linear in the length of both, which a client chooses.
    Some(body.find(tag).map(|end| tag.len() * 2 + end))
}

fn unquote(text: &str, quote: char) -> String {
    let inner = text.strip_prefix(quote).unwrap_or(text);
    let inner = inner.strip_suffix(quote).unwrap_or(inner);
    inner.replace(&format!("{quote}{quote}"), &quote.to_string())
}

/// The C-style escapes of `E'…'` that a COPY option could want.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(sql: &str) -> Vec<&str> {
        Lexer::new(sql).map(|token| token.text).collect()
    }

    #[test]
    fn quotes_and_comments_hide_what_is_in_them() {
        assert_eq!(texts("a -- b ;\rc"), ["a", "c"]);
        assert_eq!(texts("a -- b ;\n/* c /* ; */ d */ e"), ["a", "e"]);
        assert_eq!(
            texts("'it''s;' \"a\"\"b\" E'\\';' $$;$$ $x$ $$ $x$"),
            ["'it''s;'", "\"a\"\"b\"", "E'\\';'", "$$;$$", "$x$ $$ $x$"]
        );
        assert_eq!(texts("$1+$2"), ["$", "1", "+", "$", "2"]);
        assert_eq!(texts("'open ; -- "), ["'open ; -- "]);
    }

    #[test]
    fn values_lose_their_quotes() {
        let values: Vec<_> = Lexer::new("'it''s' \"A\"\"b\" WoRd E'a\\tb' $x$ y $x$").map(|t| t.value()).collect();
        assert_eq!(values, ["it's", "A\"b", "word", "a\tb", " y "]);
    }

    proptest! {
        #[test]
        fn tokens_cover_the_text_in_order(sql in r#"[a-z0-9$'"\\;(),./* \n€-]{0,60}"#) {
            let mut end = 0;
            for token in Lexer::new(&sql) {
                prop_assert!(token.start >= end && !token.text.is_empty());
                prop_assert_eq!(&sql[token.start..token.end()], token.text);
                let _ = token.value();
                end = token.end();
            }
        }
    }
}
